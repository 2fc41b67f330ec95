//! Who is there: presence frames, and the table of peers.

mod body;
mod peers;

pub(crate) use body::write_presence;
pub(crate) use peers::{Fault, Meeting, Peers, Verdict};
