//! Round trips over every transport: the drop-in for sfnt-pingpong.
//!
//! ```text
//!  client                              server
//!    │── control: version, how ──────────▶│   JSON lines, not measured
//!    │◀───────────── ready, at this port ─│
//!    │── control: 1000 of 64 bytes ──────▶│
//!    │── ping ───────────────────────────▶│   one, not measured
//!    │◀───────────────────────────── pong─│
//!    │── ping ───────────────────────────▶│   1000, each measured
//!    │◀───────────────────────────── pong─│
//! ```

mod client;
#[cfg(test)]
mod effects;
mod ends;
pub(crate) mod header;
pub(crate) mod interface;
mod options;
mod parts;
mod run;
mod server;

pub use options::PORT;
pub use run::{run, serve_parent};

use crate::StartProcess;

/// How a server on this host is started.
pub enum StartServer<'a> {
    /// As a thread: a switch to it is cheaper than to a process.
    Thread,
    /// As a process.
    Process(&'a StartProcess<'a>),
}
