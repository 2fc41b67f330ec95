//! Why a message was not applied, or an image not written.

use tapeline_rwf::{DataType, DecodeError};
use thiserror::Error;

/// Why a message could not be applied to an image, or the image not be written.
///
/// Whatever goes wrong while content is applied leaves the image incomplete
/// ([`Image::is_complete`](crate::Image::is_complete) is false) until the next
/// refresh: what is known of the item is then not all there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The payload is malformed.
    #[error("payload is malformed: {0}; the image is incomplete until the next refresh")]
    Decode(#[from] DecodeError),
    /// More entries than [`Limits::max_entries`](crate::Limits::max_entries), or
    /// a list of more than
    /// [`Limits::max_list_entries`](crate::Limits::max_list_entries).
    #[error("image has more than {limit} entries; it is incomplete until the next refresh")]
    TooManyEntries {
        /// The limit.
        limit: u32,
    },
    /// More bytes than [`Limits::max_bytes`](crate::Limits::max_bytes).
    #[error("image has more than {limit} bytes; it is incomplete until the next refresh")]
    TooManyBytes {
        /// The limit.
        limit: u32,
    },
    /// A part has grown longer than the wire can say.
    #[error("{what} has grown to {len} bytes, {max} are the most the wire can carry")]
    TooLong {
        /// The part.
        what: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The most it can have.
        max: usize,
    },
    /// An update, or a later part of an image, is of another container type
    /// than the image.
    #[error("content of type {found} cannot be applied to an image of type {expected}")]
    WrongContainer {
        /// The type of the image.
        expected: DataType,
        /// The type of the message.
        found: DataType,
    },
    /// An update that the image cannot follow: set-defined data without its
    /// definition, fields of a second dictionary in one list, entries of another
    /// type. A refresh of this kind is kept as it is instead.
    #[error("{what} cannot be applied; the image is incomplete until the next refresh")]
    NotApplicable {
        /// What cannot be applied.
        what: &'static str,
    },
    /// A part of a refresh is missing.
    #[error("part {found} of the refresh came where part {expected} was due")]
    MissedPart {
        /// The part that was due.
        expected: u16,
        /// The part that came.
        found: u16,
    },
    /// A map, vector or series is of more entries than one message can have, or
    /// content that cannot be applied came in several parts: use
    /// [`Image::parts`](crate::Image::parts).
    #[error("image needs more than one refresh part")]
    NeedsParts,
}
