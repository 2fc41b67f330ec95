//! The wire benchmark's messages and the work that is measured on them, shared
//! by the timer, the instruction counter and the allocation check.

pub mod decode;
pub mod encode;
pub mod load;

/// Size of the buffer that messages are encoded into, in bytes.
pub const OUTPUT_LEN: usize = 65_536;
