//! Hubs and servers on threads, with the backbone between them.
//!
//! ```text
//!  a thread                                another thread
//! ┌──────────────── Node ───────────────┐ ┌───── Node ─────┐
//! │ Hub … ─▶ Backbone ─▶ Server …  Rest │ │ Server    Rest │  a shard
//! └──────────┬──────────────────────────┘ └───┬────────────┘
//!            └──── rings, or a media driver ──┘
//! ```
//!
//! A [`Node`] is what one thread turns: any number of hubs and servers, each an
//! [`Agent`], and what carries frames between them. One turn has the hubs work,
//! which send, then the backbone, then the servers, which receive. Between turns
//! the thread rests as [`NodeConfig::idle`] says, and where nothing but sockets
//! of its own can wake it, it waits for those.
//!
//! [`Shards`] are further servers of the process on threads of their own, behind
//! the same ports.
//!
//! What all of them count is published in [`NodeConfig::registry`] each 10 ms while
//! there are turns; [`TABLES`] say what each count is.
//!
//! [`Changes`] gives all of them another configuration while they turn, or none.
//!
//! Everything comes as values: the program reads files and flags, and so do the
//! benchmarks, which measure this composition and no other.

mod agent;
mod changes;
mod config;
mod counts;
mod desk;
mod error;
mod headroom;
mod health;
mod memory;
mod meter;
mod node;
mod placement;
mod rest;
mod shards;

pub use agent::Agent;
pub use changes::{Change, Changes, Parts};
pub use config::{HubPart, NewEdgePort, NewPolicy, NodeConfig, ServerPart};
pub use error::NodeError;
pub use headroom::Knee;
pub use meter::{TABLES, ThreadCounters, VIEWS};
pub use node::Node;
pub use placement::Placement;
pub use rest::PARK_MICROS;
pub use shards::Shards;
