//! Sockets that drive RSSL sessions.

mod session;

pub use session::{Sent, SessionId};
