//! Why bytes are no unit.

use thiserror::Error;

/// Why bytes are no unit of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MitchError {
    /// Too short for a head.
    #[error("{0} bytes are too few for the head of a unit")]
    Short(usize),
    /// Its head says another length.
    #[error("the head of the unit says {said} bytes, there are {found}")]
    Length {
        /// By the head.
        said: usize,
        /// In fact.
        found: usize,
    },
    /// Fewer messages than its head says, or more bytes than they have.
    #[error(
        "message {at} of the unit's {count} does not end where the next one, or the unit, does"
    )]
    Message {
        /// From 1.
        at: u8,
        /// By the head.
        count: u8,
    },
}
