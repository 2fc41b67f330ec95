//! One stream of one requester, as a state machine on either end.
//!
//! [`ConsumerStream`] is what a requester knows of its stream: what to make of
//! each message, when to give up waiting, when to ask again. [`ProviderStream`]
//! is what a provider may send next. Neither touches messages, sockets or
//! clocks: they are told what happened and say what to do, and the same events
//! give the same answers. Sharing one upstream stream among requesters is not
//! done here.

mod consumer;
mod policy;
mod provider;
mod reject;

pub use consumer::{ConsumerStream, Deliver, Reaction, Reissue, StreamOptions, ToProvider};
pub use policy::{RecoveryPolicy, convert};
pub use provider::{Allowed, Held, ProviderStream, ReissueEffect};
pub use reject::{Reject, check_reissue};
