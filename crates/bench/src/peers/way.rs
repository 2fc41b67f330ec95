//! The way of updates through a system.

use super::error::PeerError;
use super::tally::Tally;
use crate::stamp::Stamp;

/// What a publisher that is part of the server is to do by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// Updates a second.
    pub(super) rate: u64,
    pub(super) start_ns: u64,
    pub(super) end_ns: u64,
    /// The number of the first update.
    pub(super) first: u64,
}

/// Publisher, server and clients of a system. Publisher and clients are of the
/// calling thread, the server is a process of its own.
pub(super) trait Way {
    /// Reads what there is for the clients. Returns how much was done.
    fn poll(&mut self, tally: &mut Tally) -> Result<usize, PeerError>;

    /// Publishes an update with the next [`flush`](Self::flush). Nothing where
    /// the server [publishes](Self::publish) by itself, as the next two.
    fn send(&mut self, _: Stamp) -> Result<(), PeerError> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        Ok(())
    }

    /// Whether the server takes so little that the publisher should hold back.
    fn is_behind(&self) -> bool {
        false
    }

    /// Seconds that the server was on a processor. `None` without a server, or
    /// where the kernel does not tell.
    fn server_seconds(&self) -> Option<f64> {
        None
    }

    /// Now and then: what else the publisher's connection needs.
    fn tidy(&mut self) -> Result<(), PeerError> {
        Ok(())
    }

    /// Has the server publish by itself, where it is the publisher. Returns
    /// whether it does.
    fn publish(&mut self, _: &Order) -> Result<bool, PeerError> {
        Ok(false)
    }

    /// How many updates such a server has published, once it has done so.
    fn published(&mut self) -> Option<u64> {
        None
    }
}
