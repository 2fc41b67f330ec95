//! Why bytes are no message, or no packet.

use thiserror::Error;

/// Why bytes are no message of ITCH 5.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ItchError {
    /// There are none.
    #[error("a message of no bytes has no type")]
    Empty,
    /// The first byte is no type that is known.
    #[error("\"{}\" is no type of ITCH 5.0; is this another version?", .0.escape_ascii())]
    UnknownType(u8),
    /// The type has another length.
    #[error("messages of type {} have {said} bytes, this one {found}", char::from(*.kind))]
    Length {
        /// The type.
        kind: u8,
        /// By the document.
        said: usize,
        /// In fact.
        found: usize,
    },
}

/// Why bytes are no packet of `MoldUDP64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MoldError {
    /// Too short for a head.
    #[error("{0} bytes are too few for the head of a packet, which has 20")]
    Short(usize),
    /// Fewer messages than its head says.
    #[error("message {at} of the packet's {count} does not end within it")]
    Message {
        /// From 1.
        at: u16,
        /// By the head.
        count: u16,
    },
    /// More bytes than its messages have.
    #[error("{0} bytes follow the last message of the packet")]
    Surplus(usize),
    /// Numbers begin with 1, and the last there is must follow.
    #[error("{0} is no number that a packet can begin with")]
    Number(u64),
}
