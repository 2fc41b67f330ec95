//! Hubs and servers find each other and exchange item traffic in order.
//!
//! A [`Port`] is one member: a hub's or a server's. Both kinds are the same
//! type with a different [`Role`]; users are generic over [`Bus`], so that what
//! runs in one process ([`local`]) or over Aeron (`Engine::port`, with the
//! feature `aeron`) also runs in a simulation ([`sim`]) with loss, delay,
//! partitions and crashes at will. A program that has the choice at its start
//! takes a [`Backbone`]. Time is a parameter everywhere, and nothing here blocks
//! or has a thread.
//!
//! ```
//! use tapeline_backbone::sim::Network;
//! use tapeline_backbone::{Bus, BusEvent, FrameHeader, Incarnation, Kind, PortSettings, Role};
//! use tapeline_time::Time;
//!
//! let network = Network::new(1);
//! let mut hub = network.port(PortSettings::new(Role::Hub, "hub-a"));
//! let mut server = network.port(PortSettings::new(Role::Server, "edge-1"));
//! let mut prices = Vec::new();
//! for turn in 0..4 {
//!     let now = Time::from_nanos(turn * 1_000_000);
//!     hub.poll(now, 64, |event, outbound| {
//!         use tapeline_backbone::Publish;
//!         if let BusEvent::PeerUp { .. } = event {
//!             let header = FrameHeader::new(Kind::Item, Incarnation::ALL, 1);
//!             outbound.publish(header, &[b"101.25"]);
//!         }
//!     });
//!     hub.work(now);
//!     server.poll(now, 64, |event, _| {
//!         if let BusEvent::Frame { body, .. } = event {
//!             prices.push(body.to_vec());
//!         }
//!     });
//!     server.work(now);
//! }
//! assert_eq!(prices, [b"101.25"]);
//! ```
//!
//! # What can be relied on
//!
//! - Frames of one peer come in the order of their publication, once. When
//!   some are missing, [`BusEvent::Gap`] comes before the next one that is
//!   there. After silence, presence tells about a lost last frame.
//! - Nothing of a peer comes before its [`BusEvent::PeerUp`] or after its
//!   [`BusEvent::PeerDown`].
//! - A peer is up only if both sides hear each other. When one side forgets
//!   the other, by silence or because it was cut off in one direction only,
//!   the other side learns it and sees [`BusEvent::PeerDown`] too; so both
//!   begin anew together, and no frame to a peer of an earlier meeting is ever
//!   read in a later one.
//! - A frame may be as long as [`MAX_BODY_BYTES`]. One that the network does
//!   not carry at once goes in pieces, over several turns if it must; each
//!   piece is a sign of life, and what follows waits behind the last.
//! - [`Publish::publish`] never waits. Under back-pressure, frames queue up to
//!   a limit; beyond it they are dropped, and every peer sees a gap.
//!
//! # Meetings
//!
//! A port numbers each meeting with a peer (1 to 255, then from 1 again) and
//! lists in its presence whom it hears with these numbers. A frame with a
//! target carries both sides' numbers: the sender's own (*link*) and the
//! target's, as the sender knows it (*echo*).
//!
//! ```text
//!  hub H                                     server S
//!    | presence, hears nobody -------------------> |  S hears H: its meeting 4
//!    | <------------------- presence, hears H (4)  |
//!    |  H hears S, and S hears H: S is up          |
//!    | presence, hears S (9) --------------------> |  H is up
//!    | Directory to S, link 9, echo 4 -----------> |
//!    x   S is silent for too long: S is down       |
//!    | <------------------- presence, hears H (4)  |
//!    |  H hears S again: meeting 10                |
//!    | <--------- Open to H, link 4, echo 9 -----  |  stale: it echoes 9
//!    | presence, hears S (10) -------------------> |  H forgot S: H is down, and up
//!    | <--------- Open to H, link 4, echo 10 ----- |  all that S wants is opened anew
//! ```

mod backbone;
mod bus;
#[cfg(feature = "aeron")]
mod channel;
mod driver_files;
#[cfg_attr(not(feature = "aeron"), path = "without_aeron.rs")]
mod engine;
mod error;
mod frame;
pub mod local;
mod merge;
mod outbound;
mod paths;
mod pieces;
mod port;
mod presence;
mod queue;
pub mod repair;
mod rows;
mod settings;
pub mod sim;
mod stamps;

pub use backbone::{Backbone, BackbonePort, BackboneSink, BackboneSource, Carrier};
pub use bus::{Bus, Counters, Publish, Published};
pub use driver_files::{DriverFiles, DriverFilesError, DriverRow, DriverStreamRow};
#[cfg(feature = "aeron")]
pub use engine::{AeronPort, AeronSink, AeronSource, Channels, Engine};
pub use error::BackboneError;
pub use frame::{BusEvent, FrameFlags, FrameHeader, Incarnation, Kind, Role};
pub use merge::PathCounts;
pub use outbound::{FrameSink, Offer, Outbound};
pub use paths::{PathId, PathSink, PathSource};
pub use pieces::MAX_BODY_BYTES;
pub use port::{FrameSource, HostClock, Port, PortSettings};
pub use presence::{ClockOffset, Key, MAX_NAME_BYTES, MAX_PEERS};
pub use rows::PeerRow;
pub use settings::{Driver, EngineSettings};
pub use stamps::Stamps;
