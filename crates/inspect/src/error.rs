//! Why bytes could not be shown, and why a value could not be written.

use thiserror::Error;

use tapeline_rwf::{DecodeError, EncodeError};

/// Bytes that cannot be described.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InspectError {
    /// The bytes are not RWF.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// More nodes than [`Limits::max_nodes`](crate::Limits::max_nodes): a few
    /// bytes can claim many thousand entries.
    #[error("the data has more than {limit} entries and values; raise the limit to see them all")]
    TooManyNodes {
        /// The limit.
        limit: usize,
    },
}

/// A value that cannot be written as bytes, and where in the JSON it is wrong.
///
/// The text reads like `value.entries[3].data.std[0].fid: 70000 is outside
/// -32768 to 32767`.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{path}: {kind}")]
pub struct BuildError {
    /// The way to the place, from `value` on.
    pub path: String,
    /// What is wrong there.
    pub kind: BuildErrorKind,
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum BuildErrorKind {
    /// A key that the type needs is not there.
    #[error("the key {0:?} is missing")]
    Missing(String),
    /// JSON of another kind than the place wants.
    #[error("{expected} must be here, found {found}")]
    Kind {
        /// What the place wants.
        expected: &'static str,
        /// What is there, shortened.
        found: String,
    },
    /// A number outside the range of its place.
    #[error("{found} is outside {min} to {max}")]
    Range {
        /// The number.
        found: String,
        /// Smallest number of the place.
        min: i64,
        /// Largest number of the place.
        max: u64,
    },
    /// The name of no data type.
    #[error("{0:?} is the name of no data type")]
    DataType(String),
    /// The name of no message class.
    #[error("{0:?} is the name of no message class")]
    MsgClass(String),
    /// A date, time or floating point number with a length that its type does
    /// not have, or that is too short for its parts.
    #[error("a {data_type} of {len} bytes cannot hold this value")]
    Length {
        /// The type.
        data_type: String,
        /// The length in bytes.
        len: u64,
    },
    /// An item of another type than its array, an entry of another type than
    /// its container.
    #[error("{found} does not fit where {expected} is needed")]
    WrongType {
        /// The type of the place.
        expected: String,
        /// The type of the value.
        found: String,
    },
    /// Text with characters that have no byte of their own.
    #[error("this text has characters above U+{max:04X}")]
    Text {
        /// The highest character that the place can hold.
        max: u32,
    },
    /// Flags that contradict the parts that are there.
    #[error("the flags are {given}, but the parts that are there make {derived}")]
    Flags {
        /// The flags of the value.
        given: u64,
        /// The flags that follow from its parts.
        derived: u64,
    },
    /// More containers inside each other than a decoder accepts.
    #[error("more than {limit} containers inside each other")]
    Depth {
        /// The limit.
        limit: usize,
    },
    /// The encoder refused.
    #[error(transparent)]
    Encode(#[from] EncodeError),
}
