//! The hub: sources on one side, the backbone on the other. In the vendor's
//! words a Source Distributor, or ADH.
//!
//! *Interactive providers* are connected to over [routes](Route): the hub logs
//! in, takes their directory and asks them for items, each once however many
//! servers want it. *Non-interactive providers* connect to the hub, publish
//! what they have, and are never asked; the hub keeps their images.
//!
//! ```text
//!  interactive        ┌──────────────────────── hub ────────────────────────┐
//!  provider ◀─ login ─┤ sources      services        items        interests ├─▶ Directory
//!           ─ images ▶│ directory ─▶ merged by name  one stream   of each    ├─▶ Accept, Item
//!           ─ ticks ─▶│ streams ───────────────────▶ each         server     │   Refuse, Ack
//!  non-interactive    │              choice, window, failover, time-outs     │◀─ Open, Close
//!  provider ─────────▶│ kept images, posts, counters                         │◀─ Post, Resync ...
//!                     └─────────────────────────────────────────────────────┘
//! ```
//!
//! [`Core`] is all of it without sockets and clock: [events](Event) and time
//! in, [`Outputs`] out. [`Hub`] is the core with its sockets and its port on
//! the backbone. [`HubConfig`] is what either is told.
//!
//! # What servers see
//!
//! Services go by name. Each has an id of the hub's own that stays while the
//! hub runs, and so does what the service is; one that no source offers is
//! down. Its `INFO` has what all its sources offer together, its `STATE` is up
//! while one of them is. Group ids mean nothing downstream: a state of a
//! group, or of a service, becomes a state of each item.
//!
//! Frames of an item carry messages without key and on stream 0, with two
//! exceptions that need theirs: generic messages, and a status that redirects.
//!
//! | what happens upstream | what servers get |
//! |---|---|
//! | first image | to all that wait |
//! | image for one that joined | to that one, part by part; who comes in the middle waits for the next, as a `Defer` says |
//! | image nobody asked for | to all |
//! | update, status, generic | to all |
//! | `CLOSED_RECOVER` | `OPEN`, suspect; asked for elsewhere at once, here after [`retry_delay_ms`](HubConfig::retry_delay_ms) |
//! | `CLOSED`, `REDIRECTED` | the same, and the end of the item |
//! | no answer in time | `OPEN`, suspect, `TIMEOUT`; closed and asked for again |
//! | image that does not end | `OPEN`, suspect, and an image that is asked for; a non-interactive provider may still complete its own |
//! | source lost, service has another | `OPEN`, suspect, `FAILOVER_STARTED`; then an image with `CLEAR_CACHE` and `FAILOVER_COMPLETED` |
//! | source lost, no other | `OPEN`, suspect; the service down; an image with `CLEAR_CACHE` on return |
//! | non-interactive source lost, another one stands by | nothing if it has the same; else its image, with `CLEAR_CACHE` and `FAILOVER_COMPLETED` |
//! | non-interactive source lost, no other | `OPEN`, suspect; closed after [`ni_stale_ms`](HubConfig::ni_stale_ms) unless published again |
//! | private stream lost | `CLOSED_RECOVER`, and the end of it |
//!
//! # Which source
//!
//! Of the sources that are up, take requests, are for the item's name
//! ([`Route::items`]), offer domain and quality and have room: the one with the
//! lowest [order](Route::order), then the lowest load factor, then the fewest items
//! for its [weight](Route::weight), then in turn. An item stays where it is for as
//! long as it can. Requests wait for room in the source's open window; when all
//! sources are at their open limit, what is wanted least gives way to what is
//! wanted more.
//!
//! # Slow sources
//!
//! To a source that does not read what it is sent, nothing more goes that a
//! consumer has caused: posts are refused, generic messages dropped, requests
//! and changes wait. Closes wait too, and go first. Images for servers that
//! join are requests like others: they wait for room in the open window.
//!
//! # Cost
//!
//! An update costs its header and three lookups by index, is not copied but by
//! the port, and allocates nothing (`tests/it/no_allocation.rs`). Measure with
//! `cargo bench -p tapeline-hub`.

mod change;
mod config;
mod core;
mod counters;
mod dialled;
mod door;
mod hold;
mod item_names;
mod log;
mod outputs;
mod restraint;
mod rows;
mod sampler;
mod secret;
mod shell;
mod view;

pub use crate::core::{Core, RouteChanges};
pub use config::{
    Endpoint, Failback, HubConfig, HubLimits, Mirroring, Pick, PressureConfig, Rebalance, Route,
    RouteLogin, ServiceGroup, ServiceKind, StandbyKeeps, Unpublished,
};
pub use counters::Counters;
pub use item_names::ItemNames;
pub use outputs::{Event, Outputs};
pub use rows::{HubItemRow, HubServiceRow, ServerRow, SourceRow};
pub use secret::RouteSecret;
pub use shell::{Hub, HubError};
