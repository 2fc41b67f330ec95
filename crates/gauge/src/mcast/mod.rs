//! Multicast at a rate and what of it arrives: the drop-in for `MCastNwTool`.
//!
//! Each thread has a group's port of its own. Messages are datagrams with the
//! head of `crate::message`, in which the sender's number stands where a
//! stream has the length: a sender that starts again has another number, and
//! its own count.

mod arrivals;
mod drops;
mod options;
mod run;

pub use arrivals::{GroupArrivals, IntervalFigures};
pub use run::run;
