//! The program, run as users run it.

mod config;
mod elsewhere;
mod entitled;
mod page;
mod path;
mod process;
pub(crate) mod support;
mod websocket;
