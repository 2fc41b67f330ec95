//! Scenarios of publisher and reader.

mod lossy;
