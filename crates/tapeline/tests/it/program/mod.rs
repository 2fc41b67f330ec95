//! The program, run as users run it.

mod alerts;
mod backbone;
mod change;
mod config;
mod elsewhere;
mod entitled;
mod eyes;
mod hardened;
mod page;
mod path;
mod policies;
mod process;
pub(crate) mod support;
mod websocket;
