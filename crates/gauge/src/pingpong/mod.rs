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
mod ends;
pub(crate) mod header;
pub(crate) mod interface;
mod options;
mod run;
mod server;

use std::io;
use std::os::fd::OwnedFd;
use std::process::Child;

pub use options::PORT;
pub use run::{run, serve_parent};

/// Starts a process that serves over the socket that it gets as its standard
/// input.
pub type StartProcess<'a> = dyn Fn(OwnedFd) -> io::Result<Child> + 'a;

/// How a server on this host is started.
pub enum StartServer<'a> {
    /// As a thread: a switch to it is cheaper than to a process.
    Thread,
    /// As a process.
    Process(&'a StartProcess<'a>),
}

/// A server that was started here, and goes with its client.
enum LocalServer {
    /// Elsewhere, or a thread that sees the end of its connection.
    None,
    Process(Child),
}

impl Drop for LocalServer {
    fn drop(&mut self) {
        if let Self::Process(child) = self {
            // It ends by itself once its connection is closed, unless it stands
            // still.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
