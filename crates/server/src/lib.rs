//! Point-to-Point Server: mounts, watchlists, fan-out, conflation.
//!
//! Consumers mount a server, log in, read the directory and dictionaries, and
//! open items. The server asks a hub once for each item, however many of its
//! mounts watch it, and copies what comes to each of them.
//!
//! [`Core`] is the whole of it without sockets and clocks: events in,
//! [`Outputs`] out. [`Server`] is the core with RSSL listeners and a place on
//! the backbone.

mod config;
mod core;
mod outputs;
mod policy;
mod shell;

pub use crate::config::{ConfigError, Limits, OutputThresholds, ServerConfig};
pub use crate::core::{Core, Event, Statistics};
pub use crate::outputs::Outputs;
pub use crate::policy::{AcceptAll, LoginContext, LoginPolicy, LoginVerdict};
pub use crate::shell::{Server, ServerError};
