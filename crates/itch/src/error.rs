//! Why bytes are no message.

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
