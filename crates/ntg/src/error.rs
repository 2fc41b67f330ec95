//! Why bytes are no message.

use thiserror::Error;

/// Why a stream of bytes cannot be read on; the session ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NtgError {
    /// A message does not begin with 2.
    #[error("a message begins with {0}, not with 2: the stream is out of step")]
    Start(u8),
    /// A message is longer than any there is.
    #[error("a message of {0} bytes: the longest has 155")]
    Long(usize),
}
