//! The tools over loopback, in threads of one process.

mod delayed;
mod pingpong;
