//! The program, run as users run it.

mod bench;
mod config;
mod page;
mod path;
mod peers;
mod process;
pub(crate) mod support;
mod websocket;
