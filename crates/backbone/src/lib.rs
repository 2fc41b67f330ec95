//! Hubs and servers find each other and exchange item traffic in order.

mod bus;
mod channel;
mod engine;
mod error;
mod frame;
mod outbound;
mod port;
mod presence;
mod queue;
mod settings;
pub mod sim;

pub use bus::{Bus, Counters, Publish, Published};
pub use channel::Channels;
pub use engine::{AeronPort, AeronSink, AeronSource, Engine};
pub use error::BackboneError;
pub use frame::{BusEvent, FrameFlags, FrameHeader, Incarnation, Kind, Role};
pub use outbound::{Offer, Outbound, Sink};
pub use port::{Port, PortSettings, Source};
pub use settings::{Driver, EngineSettings};
