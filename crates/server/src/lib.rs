//! Point-to-Point Server: mounts, watchlists, fan-out, conflation.
//!
//! Consumers mount a server, log in, read the directory and dictionaries, and
//! open items. The server asks a hub once for each item, however many of its
//! mounts watch it, and copies what comes to each of them.
//!
//! [`Core`] is the whole of it without sockets and clocks: events in,
//! [`Outputs`] out. [`Server`] is the core with listeners for RSSL and
//! WebSocket and a place on the backbone.
//!
//! Mounts may speak JSON instead (WebSocket subprotocols `tr_json2` and
//! `rssl.json.v2`). The core works in RWF for them as well; an [`Interpreter`]
//! before it converts, an update once for all who watch it with the same view.
//!
//! What happens to an update:
//!
//! ```text
//! frame → hub's item id → slot → item ┬→ image, if there is a cache
//!                         (two tables) └→ watchers, 8 bytes each:
//!     as it is       the bytes are copied, the stream id patched
//!     in a form      view, key, without permission data: written once per form
//!     paused         nothing; the image that follows has it
//!     slow mount     merged with what waits on that stream
//! ```
//!
//! Nothing on this way is hashed or allocated, but for slow mounts, whose
//! merged updates are found by stream.
//!
//! A consumer connects and says something that is no message:
//!
//! ```
//! use tapeline_backbone::{FrameHeader, Published};
//! use tapeline_channel::{Sent, SessionId};
//! use tapeline_time::Time;
//! use tapeline_server::{AcceptAll, Core, Event, Outputs, ServerConfig};
//!
//! #[derive(Default)]
//! struct Closed(Vec<String>);
//!
//! impl Outputs for Closed {
//!     fn send(&mut self, _: SessionId, _: &[u8]) -> Sent {
//!         Sent::Queued
//!     }
//!     fn send_on(&mut self, _: SessionId, _: i32, _: &[u8]) -> Sent {
//!         Sent::Queued
//!     }
//!     fn close(&mut self, _: SessionId, reason: &str) {
//!         self.0.push(reason.to_owned());
//!     }
//!     fn publish(&mut self, _: FrameHeader, _: &[&[u8]]) -> Published {
//!         Published::Sent
//!     }
//! }
//!
//! let mut core = Core::new(ServerConfig::default(), Box::new(AcceptAll));
//! let mut out = Closed::default();
//! let session = SessionId { index: 0, generation: 1 };
//! let peer = ([127, 0, 0, 1], 1234).into();
//! core.handle(Time::ZERO, Event::Opened { session, peer }, &mut out);
//! core.handle(Time::ZERO, Event::Message { session, bytes: b"?" }, &mut out);
//! assert!(out.0[0].starts_with("a message cannot be read"));
//! assert_eq!(core.statistics().mounts, 0);
//! ```

mod change;
mod config;
mod core;
mod hops;
mod json;
mod log;
mod memory;
mod mount_drain;
mod outputs;
mod pace;
mod page;
mod policy;
mod rows;
mod seats;
mod shell;
mod siblings;
mod sockets;
mod statistics;
mod trace;
mod view;
mod warm_standby;

pub use crate::config::{
    ConfigError, JsonConfig, Limits, OutputThresholds, PortConfig, ServerConfig, UserLimits,
};
pub use crate::core::{Core, Event, When};
pub use crate::json::{Interpreter, JsonEvent};
pub use crate::outputs::{Note, Outputs, Shared};
pub use crate::page::pages;
pub use crate::policy::{AcceptAll, LoginContext, LoginPolicy, LoginVerdict};
pub use crate::rows::{HopRow, ItemRow, MountRow, ProductRow, ServiceRow, TraceRow, UserRow};
pub use crate::shell::{Server, ServerError, Transport};
pub use crate::siblings::Siblings;
pub use crate::statistics::Statistics;
pub use crate::trace::{MAX_TRACE_MS, TraceWanted};
pub use crate::warm_standby::{StandbyImage, StandbyPosts, WarmStandby};
