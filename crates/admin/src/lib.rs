//! The admin port of a process: what its hubs and servers count and hold, over HTTP.
//! It is a task of the [edge thread](tapeline_edge).
//!
//! ```text
//!  tick threads                          the edge thread
//!  ┌────────────────┐  relaxed stores   ┌──────────────┐   HTTP
//!  │ hub, server …  │ ───────────────▶  │ counters     │ ─────────▶ /metrics
//!  │                │  bounded queues   │              │
//!  │  a slice each  │ ◀───────────────  │ questions    │ ─────────▶ /v1/mounts, the page
//!  │  millisecond   │ ───────────────▶  │              │
//!  └────────────────┘                   └──────────────┘ ─────────▶ /v1/events
//! ```
//!
//! Nobody on a tick thread waits for this thread: counts are read where they were
//! published, questions go through queues that are full rather than waited for,
//! and an event is given to whoever listens at the moment.
//!
//! Beyond the loopback interface it listens with TLS and a token only. Web pages of
//! other origins are answered 403. Without TLS so is a request whose `Host` is a name
//! that is not this host's: a page that had its own name lead here is such a one.

mod access;
mod config;
mod configure;
mod events;
mod health;
mod merge;
mod metrics;
mod page;
mod plain;
mod process;
mod series;
mod serve;
mod tls;
mod views;
mod vitals;
mod who;

pub use config::{AdminConfig, AdminError};
pub use configure::{ConfigAct, ConfigAnswer, ConfigRequest, ConfigSender, NewConfig};
pub use events::EventFeed;
pub use serve::Admin;
pub use vitals::{Decline, Normal, Vitals};
