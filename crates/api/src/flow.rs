//! How it goes with sending.

use tapeline_channel::Sent;

use crate::ApiError;

/// A message is on its way; how its receiver keeps up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flow {
    /// It keeps up.
    Free,
    /// It reads too slowly, and its backlog is long. Sending less would be
    /// wise, until the event that says that it was read.
    Slow,
}

impl Flow {
    /// What became of a message of `len` bytes.
    #[inline]
    pub(crate) const fn of(sent: Sent, len: usize) -> Result<Self, ApiError> {
        match sent {
            Sent::Queued => Ok(Self::Free),
            Sent::Slow => Ok(Self::Slow),
            Sent::Full => Err(ApiError::Full),
            Sent::Gone => Err(ApiError::NotConnected),
            Sent::TooLarge => Err(ApiError::TooLarge(len)),
        }
    }
}
