//! The tools over loopback, in threads of one process.

mod aio;
mod delayed;
mod mcast;
mod nwtool;
mod pingpong;
mod support;
