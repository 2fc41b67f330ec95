//! Why bytes are no message, no packet, or no connection that goes on.

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

/// Why a connection of `SoupBinTCP` is of no use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SoupError {
    /// The server does not let the client in.
    #[error("the login is rejected ({}): A asks for another user or password, S for another session", char::from(*.0))]
    Rejected(u8),
    /// A login, or its answer, is damaged.
    #[error("a login, or its answer, has a wrong length or no number")]
    Login,
    /// A packet that has nothing to do there.
    #[error("a packet of type {} is not due here", .0.escape_ascii())]
    Unexpected(u8),
    /// A packet of no bytes.
    #[error("a packet has no type")]
    Empty,
    /// Nothing has come for too long.
    #[error("nothing has come for 15 seconds")]
    Silent,
}
