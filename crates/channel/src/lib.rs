//! Sockets that drive RSSL sessions.
//!
//! A [`Reactor`] is all the RSSL sockets of one thread: listeners, accepted
//! sessions, outgoing ones. It moves bytes between them and their
//! [`tapeline_rssl::Connection`]s, and tells the program what came of it.
//! What the messages mean is none of its business, and neither is the time:
//! the program reads the clock and hands it in.
//!
//! ```
//! use std::time::Duration;
//! use tapeline_channel::{
//!     ConnectConfig, ListenConfig, Reactor, ReactorConfig, Sent, SessionEvent,
//! };
//! use tapeline_time::MonotonicClock;
//!
//! let clock = MonotonicClock::start();
//! let mut server = Reactor::new(ReactorConfig::default())?;
//! let listener = server.listen("127.0.0.1:0".parse()?, &ListenConfig::default())?;
//! let port = server.local_addr(listener).expect("it listens").port();
//!
//! let mut client = Reactor::new(ReactorConfig::default())?;
//! let session = client.connect("127.0.0.1", port, &ConnectConfig::default());
//!
//! let mut answer = Vec::new();
//! while answer.is_empty() {
//!     server.poll(clock.now(), Some(Duration::ZERO), |event, outbox| {
//!         if let SessionEvent::Message { session, bytes } = event {
//!             let sent = outbox.send_with(session, bytes, |copy| copy.reverse());
//!             assert_eq!(sent, Sent::Queued);
//!         }
//!     });
//!     client.poll(clock.now(), Some(Duration::ZERO), |event, outbox| match event {
//!         SessionEvent::Opened { .. } => assert_eq!(outbox.send(session, b"abc"), Sent::Queued),
//!         SessionEvent::Message { bytes, .. } => answer.extend_from_slice(bytes),
//!         other => panic!("{other:?}"),
//!     });
//! }
//! assert_eq!(answer, b"cba");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # A poll
//!
//! ```text
//!   what is ready?   one epoll_wait, without waiting
//!   connect          answers of the resolver, sockets that became connected
//!   accept           up to accepts_per_poll
//!   read             every session with bytes, up to read_bytes_per_poll and
//!                    messages_per_poll each, and messages_per_poll of all
//!   timers           pings, time-outs, handshakes, last words
//!   tell             Drained, Closed, Rejected
//!   flush            every session with new output: one write each
//!   wait             if there was nothing of all that
//! ```
//!
//! Readiness is edge-triggered: a socket is told of once and then read or
//! written until it is known to be empty or full. A session that used up its
//! share is read on in the next poll without the kernel being asked about it.
//!
//! # Sending
//!
//! [`Outbox::send_with`] copies a message into the frame that its session is
//! filling and has the copy patched: no allocation, no system call. All
//! messages of a session keep their order. [`OutputLimits`] tells what happens
//! when the peer does not keep up.
//!
//! # Who is admitted
//!
//! Anybody can connect. Until a connection is admitted, with its handshake or
//! by the program after a login ([`Admission`]), it has small bounds and no
//! place among the sessions, and gives way to others: see [`StrangerLimits`].
//!
//! # Ending
//!
//! A session that is closed, by whichever side, is `Closed` at once for the
//! program. Its socket stays until it has taken nothing for
//! [`SessionOptions::close_ms`], or for [`SessionOptions::close_max_ms`]: what is
//! queued is sent, then our end, and then the peer's end is awaited, since a
//! socket that is closed with unread bytes takes the last bytes sent from the
//! peer. A program ends with [`Reactor::close_all`] and polls until
//! [`Reactor::session_count`] is 0.
//!
//! # Beside RSSL
//!
//! A listener may take *text sessions*: WebSocket subprotocols whose messages
//! are texts ([`ListenConfig::text`]). Their messages are sent in pieces, so
//! that what many sessions share is copied once to each, and are packed into
//! frames that are arrays. With [`ConnectConfig::text`] a program is the client
//! of such a session. A plain `GET` may be answered with a page
//! ([`ListenConfig::pages`]). All of a listener, and of a connection to others, may go
//! through TLS ([`ListenConfig::tls`], [`ConnectConfig::tls`]).
//!
//! ```text
//!  bytes ─ [ TLS ] ─┬─ RSSL ────────────────────────────▶ Message
//!                   └─ GET ─┬─ rssl.rwf ── RSSL ────────▶ Message
//!                           ├─ tr_json2, rssl.json.v2 ──▶ Text
//!                           ├─ another ─────────────────▶ 400
//!                           └─ no upgrade ──────────────▶ a page, or 400
//! ```
//!
//! # Not here
//!
//! Name resolution is the system's, which blocks; each lookup has a thread for itself
//! ([`ReactorConfig::max_lookups`]).

mod active;
mod config;
mod connection_log;
mod counters;
mod deferred;
mod deliver;
mod dial;
mod error;
mod event;
mod heap;
mod idle;
mod kernel;
mod link;
mod listener;
mod live;
mod lookup;
mod outbox;
mod pages;
mod pool;
mod reactor;
mod session;
pub mod sim;
mod socket;
mod strangers;
mod stream;
pub mod system;
mod table;
mod tcp;
mod throttle;
mod throttles;
mod time_slice;
mod timers;
mod tls;
mod wait;

pub use config::{
    Admission, ConnectConfig, ListenConfig, OutputLimits, ReactorConfig, SessionOptions,
    SocketOptions, StrangerLimits, random_seed,
};
pub use connection_log::{ConnectionLine, ConnectionLog};
pub use counters::{ChannelCounters, ReactorCounters, SessionCounters, Traffic};
pub use error::{ChannelError, CloseReason};
pub use event::{ListenerId, SessionEvent, TextEvent, Via};
pub use heap::join_freed;
pub use idle::Idle;
pub use kernel::{Kernel, Wakeup};
pub use outbox::Outbox;
pub use pages::{Page, Pages};
pub use reactor::Reactor;
pub use session::{Sent, SessionId};
pub use system::{Clock, System};
pub use tapeline_websocket::{TextClient, TextConfig};
pub use throttle::{LeftOut, Throttle};
pub use throttles::Throttles;
pub use time_slice::TimeSlice;
pub use tls::{Tls, TlsClient, TlsClientFiles, TlsFiles};
pub use wait::Wait;
