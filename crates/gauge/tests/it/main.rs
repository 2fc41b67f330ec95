//! The tools over loopback, in threads of one process.

mod delayed;
mod mcast;
mod nwtool;
mod pingpong;
