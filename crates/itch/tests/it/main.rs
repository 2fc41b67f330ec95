//! Messages as they are on the wire, and beside another reader of them.

mod counterpart;
mod golden;
mod random;
