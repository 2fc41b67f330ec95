//! Who is there: presence frames, and the table of peers.

mod body;
mod clocks;
mod membership;
mod peers;

pub use body::MAX_NAME_BYTES;
pub(crate) use body::{Said, write_presence};
pub use clocks::ClockOffset;
pub use membership::Key;
pub(crate) use membership::Membership;
pub use peers::MAX_PEERS;
pub(crate) use peers::{Fault, Meeting, Peers, Verdict};
