//! Sockets that drive RSSL sessions.

mod clock;
mod config;
mod counters;
mod deferred;
mod deliver;
mod dial;
mod error;
mod event;
mod idle;
mod listener;
mod live;
mod lookup;
mod outbox;
mod reactor;
mod session;
mod socket;
mod stream;
mod table;
mod timers;

pub use clock::MonotonicClock;
pub use config::{
    ConnectConfig, ListenConfig, OutputLimits, ReactorConfig, SessionOptions, SocketOptions,
    random_seed,
};
pub use counters::{ReactorCounters, SessionCounters, Traffic};
pub use error::{ChannelError, CloseReason};
pub use event::{ListenerId, SessionEvent, Via};
pub use idle::Idle;
pub use outbox::Outbox;
pub use reactor::{Reactor, Wakeup};
pub use session::{Sent, SessionId};
pub use tapeline_rssl::Time;
