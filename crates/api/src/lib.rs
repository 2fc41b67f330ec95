//! What applications link: [`Consumer`], [`Provider`] and [`Publisher`].
//!
//! ```text
//!                 asks for items                     is asked for items
//!  ┌──────────┐  ──────────────▶  ┌────────────┐  ──────────────▶  ┌──────────┐
//!  │ Consumer │                   │  servers   │                   │ Provider │
//!  └──────────┘  ◀──────────────  │  and hubs  │  ◀──────────────  └──────────┘
//!                images, updates  └────────────┘   images, updates
//!                                       ▲
//!                  publishes unasked    │
//!  ┌───────────┐ ───────────────────────┘
//!  │ Publisher │   images, updates
//!  └───────────┘
//! ```
//!
//! A consumer may be connected to a provider directly; nothing in between is
//! needed.
//!
//! | | is told of | by | does things with |
//! |---|---|---|---|
//! | [`Consumer`] | [`ConsumerEvent`] | [`ConsumerHandler`] | [`Requests`] |
//! | [`Provider`] | [`ProviderEvent`] | [`ProviderHandler`] | [`Responses`] |
//! | [`Publisher`] | [`PublisherEvent`] | [`PublisherHandler`] | [`Submissions`] |
//!
//! All three work the same way. `poll` reads, waits and writes on the thread
//! that calls it, and hands each event to the handler, which is a closure or
//! a type of the application's. With the event comes what can be done about it,
//! to be used at once; `with` does the same outside of `poll`. There are no
//! threads and no locks inside, and what is done for every update allocates
//! nothing.
//!
//! Messages in events are views of the bytes as they were received
//! ([`tapeline_rwf`]). Content that is sent is any [`Payload`]: values, code
//! that writes, or bytes that are there already.
//!
//! # Recovery
//!
//! Consumers and publishers have a list of servers. When a connection is lost
//! they go on with the next, log in there and bring everything back: items on
//! the handles they had, directory and images. What happens meanwhile is told
//! as states of the items; see [`ConsumerEvent::Status`].
//!
//! # Without sockets
//!
//! Each has a core ([`ConsumerCore`], [`ProviderCore`], [`PublisherCore`])
//! that does no I/O and reads no clock: what happens goes in, what to do comes
//! out. That is how they are tested, and how they run on another loop.
//!
//! # Examples
//!
//! `examples/` has one program for each: `consumer`, `provider`, `publisher`;
//! and `throughput`, which measures. A consumer and a provider in a few lines:
//!
//! ```
//! use std::time::Duration;
//! use tapeline_api::{
//!     Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Provider, ProviderConfig,
//!     ProviderEvent, RefreshHead, Requests, Responses, Server, ServiceSpec,
//! };
//! use tapeline_rwf::{DataType, Real};
//!
//! let mut provider = Provider::new(ProviderConfig::new([ServiceSpec::new(1, "FEED").entry()]))?;
//! let address = provider.listen("127.0.0.1:0".parse()?)?;
//!
//! let server = Server::new("127.0.0.1", address.port());
//! let mut consumer = Consumer::new(ConsumerConfig::new([server], Login::new("user")))?;
//! consumer.open(&ItemSpec::new("FEED", "TRI.N"))?;
//!
//! let mut bid = None;
//! while bid.is_none() {
//!     provider.poll(Some(Duration::ZERO), &mut |event: ProviderEvent<'_>,
//!                                               responses: &mut Responses<'_>| {
//!         if let ProviderEvent::Request { stream, .. } = event {
//!             let quote = [(22, Real::decimal(4512, 2).into())];
//!             responses.refresh(stream, &RefreshHead::default(), &quote).expect("connected");
//!         }
//!     });
//!     consumer.poll(Some(Duration::from_millis(1)), &mut |event: ConsumerEvent<'_>,
//!                                                         _: &mut Requests<'_>| {
//!         if let ConsumerEvent::Refresh { msg, .. } = event {
//!             let field = msg.payload.field_list().ok().and_then(|list| list.field(22).ok()?);
//!             bid = field.and_then(|field| field.typed(DataType::REAL).real().ok()?);
//!         }
//!     });
//! }
//! assert_eq!(bid, Some(Real::decimal(4512, 2)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod by_handle;
mod consumer;
mod counters;
mod error;
mod flow;
mod heads;
mod payload;
mod protocol;
mod provider;
mod publisher;
mod reconnect;
mod server;
mod slab;
mod too_long;

pub use by_handle::ByHandle;
pub use consumer::*;
pub use counters::{ConsumerCounters, ProviderCounters, PublisherCounters};
pub use error::ApiError;
pub use flow::Flow;
pub use heads::{GenericHead, PostHead, RefreshHead, StatusHead, UpdateHead};
pub use payload::{Container, Fields, NoPayload, Payload, container, fields};
pub use protocol::Protocol;
pub use provider::*;
pub use publisher::*;
pub use reconnect::ReconnectPolicy;
pub use server::{Login, Server, ServerError};

/// The longest message that is encoded, in bytes.
pub const MAX_MESSAGE_BYTES: usize = (64 << 20) + (128 << 10);
