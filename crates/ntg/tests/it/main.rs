//! Scenarios of the native gateway.

mod sessions;
