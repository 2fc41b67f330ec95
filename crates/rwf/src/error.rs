//! What can go wrong, when decoding and when encoding.

use core::fmt;

use thiserror::Error;

use crate::{DataType, MAX_DEPTH};

/// One level of the way to a piece of data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Level {
    Msg = 1,
    FieldList,
    ElementList,
    FilterList,
    Vector,
    Series,
    Map,
}

impl Level {
    const fn name(code: u64) -> &'static str {
        match code {
            1 => "MSG",
            2 => "FIELD_LIST",
            3 => "ELEMENT_LIST",
            4 => "FILTER_LIST",
            5 => "VECTOR",
            6 => "SERIES",
            _ => "MAP",
        }
    }
}

/// The containers around a piece of data, outermost first, as in
/// `MSG/MAP/FIELD_LIST`.
///
/// A path is one machine word: four bits for each of the at most
/// [`MAX_DEPTH`] levels, so that carrying it costs nothing that counts.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Path(u64);

impl Path {
    /// The path of the outermost data.
    pub const ROOT: Self = Self(0);

    /// How many containers are around the data, 0 to [`MAX_DEPTH`].
    pub const fn depth(self) -> usize {
        (u64::BITS - self.0.leading_zeros()).div_ceil(4) as usize
    }

    /// The path inside one more container; `None` when the nesting is too deep.
    #[inline]
    pub(crate) const fn enter(self, level: Level) -> Option<Self> {
        if self.0 >> (4 * (MAX_DEPTH - 1)) != 0 {
            return None;
        }
        Some(Self(self.0 << 4 | level as u64))
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("the outermost data");
        }
        for level in (0..self.depth()).rev() {
            f.write_str(Level::name(self.0 >> (4 * level) & 0xF))?;
            if level > 0 {
                f.write_str("/")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Path({self})")
    }
}

/// Bytes that are not RWF: what is wrong, at which byte, inside which containers.
///
/// `offset` counts from the start of the outermost data that was given to the
/// decoder. The text reads like
/// `field value needs 7 bytes, 3 are left (byte 37, in MSG/MAP/FIELD_LIST)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{kind} (byte {offset}, in {path})")]
// The order of data: a result is then either of both without taking it apart.
#[repr(C)]
pub struct DecodeError {
    /// What is wrong.
    pub kind: DecodeErrorKind,
    /// The containers around it.
    pub path: Path,
    /// Byte at which it is wrong, from the start of the outermost data.
    pub offset: u32,
}

impl DecodeError {
    #[cold]
    #[inline(never)]
    pub(crate) fn new(kind: DecodeErrorKind, offset: u32, path: Path) -> Self {
        Self { kind, path, offset }
    }
}

/// What is wrong with bytes that should be RWF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeErrorKind {
    /// A part or a length reaches past the end of what is around it.
    #[error("{what} needs {needed} bytes, {left} are left")]
    Truncated {
        /// The part that does not fit.
        what: &'static str,
        /// Bytes that it needs.
        needed: u32,
        /// Bytes that there are.
        left: u32,
    },
    /// A length byte of FF, which no encoder writes.
    #[error("{what} has the length byte FF, which has no meaning")]
    LengthByte {
        /// The part with that length.
        what: &'static str,
    },
    /// A message class that does not exist.
    #[error("message class {0} does not exist")]
    MsgClass(u8),
    /// A primitive of a length that its type does not have.
    #[error("{data_type} cannot have {len} bytes")]
    PrimitiveLength {
        /// Type of the primitive.
        data_type: DataType,
        /// Its length in bytes.
        len: u32,
    },
    /// A real with the reserved hint 31.
    #[error("REAL has the reserved hint 31")]
    ReservedHint,
    /// More containers inside each other than [`MAX_DEPTH`].
    #[error("more than {MAX_DEPTH} containers inside each other")]
    Depth,
    /// More local set definitions than 15.
    #[error("{0} local set definitions, 15 are the most")]
    TooManySetDefs(u8),
    /// A local set definition with an id above 15.
    #[error("local set definition {0}, 15 is the highest id")]
    SetDefId(u16),
    /// Two local set definitions with one id.
    #[error("set definition {0} is there twice")]
    DuplicateSetDef(u16),
    /// A set definition with a type that cannot be set-defined.
    #[error("{0} cannot be set-defined")]
    SetType(DataType),
    /// Data of another type than the one asked for.
    #[error("data is {found}, {expected} is needed here")]
    WrongType {
        /// The type that the caller decodes.
        expected: DataType,
        /// The type that the data has.
        found: DataType,
    },
}

/// Why a value or a container could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum EncodeError {
    /// The buffer is too small. Encoding went on to the end without writing,
    /// so `missing` is exact: a buffer that is larger by that is enough.
    #[error("the buffer is {missing} bytes too small")]
    BufferTooSmall {
        /// Bytes that were missing.
        missing: usize,
    },
    /// A part is longer than its length field can say.
    #[error("{what} of {len} bytes is too long, {max} are the most")]
    TooLong {
        /// The part that is too long.
        what: &'static str,
        /// Its length in bytes.
        len: usize,
        /// The longest that can be written.
        max: usize,
    },
    /// More entries than a count can say.
    #[error("{what} has more than {max} entries")]
    TooMany {
        /// The container.
        what: &'static str,
        /// The most entries it can have.
        max: usize,
    },
    /// A number outside what the wire can hold here.
    #[error("{what} is out of range")]
    OutOfRange {
        /// The part that is out of range.
        what: &'static str,
    },
    /// A value or container of another type than the place wants.
    #[error("{found} does not fit where {expected} is needed")]
    WrongType {
        /// The type of the place.
        expected: DataType,
        /// The type of the value.
        found: DataType,
    },
    /// More containers inside each other than [`MAX_DEPTH`].
    #[error("more than {MAX_DEPTH} containers inside each other")]
    Depth,
    /// A builder inside this one was begun and dropped without `finish`.
    #[error("a container inside this one was begun and not finished")]
    Unfinished,
    /// A part came too late or too early: summary data after an entry, a field
    /// out of the order of its set definition, a list finished before its set
    /// data was complete.
    #[error("{what} is not possible at this point")]
    Order {
        /// The part that came at the wrong time.
        what: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_its_levels_from_the_outside() {
        let path = [Level::Msg, Level::Map, Level::FieldList]
            .iter()
            .try_fold(Path::ROOT, |path, level| path.enter(*level));
        assert_eq!(path.map(|p| p.to_string()).as_deref(), Some("MSG/MAP/FIELD_LIST"));
        assert_eq!(path.map(Path::depth), Some(3));
        assert_eq!(Path::ROOT.to_string(), "the outermost data");
        assert_eq!(Path::ROOT.depth(), 0);
    }

    #[test]
    fn a_path_ends_at_the_deepest_level() {
        let mut path = Path::ROOT;
        for depth in 0..MAX_DEPTH {
            assert_eq!(path.depth(), depth);
            path = path.enter(Level::Series).expect("room for this level");
        }
        assert_eq!(path.depth(), MAX_DEPTH);
        assert_eq!(path.enter(Level::Series), None);
    }

    #[test]
    fn errors_say_what_where_and_in_what() {
        let path = Path::ROOT.enter(Level::Msg).and_then(|p| p.enter(Level::Map));
        let error = DecodeError {
            kind: DecodeErrorKind::Truncated { what: "map key", needed: 7, left: 3 },
            offset: 37,
            path: path.expect("two levels fit"),
        };
        assert_eq!(error.to_string(), "map key needs 7 bytes, 3 are left (byte 37, in MSG/MAP)");
        let error = EncodeError::BufferTooSmall { missing: 12 };
        assert_eq!(error.to_string(), "the buffer is 12 bytes too small");
    }
}
