//! Why there is nothing to publish.

use std::io;

use tapeline_rwf::EncodeError;
use thiserror::Error;

/// Why a recording, a data file or an item list cannot be used, or what is in
/// it not be encoded.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FeedError {
    /// A file cannot be read.
    #[error("{file} cannot be read: {error}")]
    Io {
        /// The file.
        file: String,
        /// What the system says.
        error: io::Error,
    },
    /// A recording is damaged, or is no recording of the kind that is read.
    #[error("{file} is no usable recording: {error}")]
    Recording {
        /// The file.
        file: String,
        /// What its decoder says.
        error: String,
    },
    /// A data file says something that cannot be understood.
    #[error("{file}: {place}: {fault}")]
    DataFile {
        /// The file.
        file: String,
        /// The message and field, as `update 2, field BID`.
        place: String,
        /// What is wrong there, and what would be right.
        fault: String,
    },
    /// Content does not fit a message.
    #[error("content of {item} cannot be encoded: {error}")]
    Encode {
        /// The item.
        item: String,
        /// What the encoder says.
        error: EncodeError,
    },
}
