//! The native trading gateway of Millennium Exchange (MIT203, issue 21.2):
//! messages, and both ends of a session, as decisions without I/O.
//!
//! | room | holds |
//! |---|---|
//! | [`client`] | what clients send: orders, quotes, cancels |
//! | [`exchange`] | what they get: reports and rejects |
//! | [`session`] | what both send about the session itself |
//! | [`Message`], [`Frames`] | any message, and messages out of a stream of bytes |
//! | [`Acceptor`] | the exchange's end: logon, heartbeats, throttle, checks of what comes |
//! | [`Initiator`] | the client's end |
//!
//! Every message begins with four bytes, little-endian like all numbers:
//!
//! ```text
//!  | 0            | 1 … 2                      | 3    | 4 …
//!  | 2, its start | length of all behind this, | type | fields
//!  |              | this included: LEN - 3     |      |
//! ```
//!
//! Requests for quotes (types `a` to `g`) are refused; nothing of them is built.

mod acceptor;
mod check;
pub mod client;
mod error;
pub mod exchange;
mod frame;
mod initiator;
pub mod session;

pub use acceptor::{Acceptor, Admission, Channel, Input, Limits, Outputs, Verdict};
pub use error::NtgError;
pub use frame::{Frames, HEAD, Message, START};
pub use initiator::Initiator;
