//! Why a dictionary is refused.

use core::fmt;

use super::{MAX_ENUM_VALUES, MAX_TEXT_LEN};

/// The first fault of a dictionary file: where and what.
///
/// One bad line makes the whole file invalid, because a field that is missing
/// or wrong shows up much later, as data that nobody can explain. The text
/// reads like
/// `field dictionary line 12, column 34: a field type is expected, found "PRICES"`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{dictionary} line {line}, column {column}: {kind}")]
pub struct TextError {
    /// Which of the two files.
    pub dictionary: DictionaryType,
    /// Line, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// What is wrong there.
    pub kind: TextErrorKind,
}

/// What is wrong in a line of a dictionary file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TextErrorKind {
    /// Something else than the format wants at this place.
    #[error("{what} is expected, found {found}")]
    Expected {
        /// What the format wants.
        what: &'static str,
        /// What is there, shortened and in quotes; or that nothing is.
        found: Box<str>,
    },
    /// A text that has no closing quote or hash on its line.
    #[error("this text has no closing {0}")]
    Unterminated(char),
    /// The file says that it is of another type.
    #[error("file type {wanted} is expected, found {found}")]
    FileType {
        /// Type that the file should have.
        wanted: i64,
        /// Type that it says it has.
        found: i64,
    },
    /// A definition that contradicts itself or an earlier one.
    #[error("{error}{}", FirstLine(*first))]
    Definition {
        /// The contradiction.
        error: DefinitionError,
        /// Line of the earlier definition, if it is in the same file.
        first: Option<u32>,
    },
    /// A value line with no field in front of it.
    #[error("a value without a field; a line with acronym and field id must come first")]
    ValueWithoutField,
    /// Fields at the end of the file, with no values behind them.
    #[error("no values follow this field")]
    TableWithoutValues,
}

/// Ends the text of a contradiction with the line of the earlier definition.
struct FirstLine(Option<u32>);

impl fmt::Display for FirstLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |line| write!(f, " (first in line {line})"))
    }
}

/// The two halves of a dictionary, as files and as messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DictionaryType {
    /// Field definitions: a file often named `RDMFieldDictionary`, an item
    /// often named `RWFFld`.
    Fields,
    /// Enumeration tables: a file often named `enumtype.def`, an item often
    /// named `RWFEnum`.
    Enums,
}

impl DictionaryType {
    /// The number that files and messages tell the type by.
    pub const fn code(self) -> i64 {
        match self {
            Self::Fields => 1,
            Self::Enums => 2,
        }
    }

    /// The type of a number. Other dictionaries have other numbers, up to 8.
    pub const fn from_code(code: i64) -> Option<Self> {
        match code {
            1 => Some(Self::Fields),
            2 => Some(Self::Enums),
            _ => None,
        }
    }
}

impl fmt::Display for DictionaryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fields => "field dictionary",
            Self::Enums => "enumeration file",
        })
    }
}

/// Why a definition does not fit into a dictionary.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DefinitionError {
    /// A field id of 0, which marks a change of dictionary in field lists.
    #[error("field id 0 cannot be defined, it marks a change of dictionary")]
    ReservedFid,
    /// An acronym that cannot stand in a dictionary file: empty, with blanks,
    /// quotes or other than printable ASCII, with `!` in front, all digits, or
    /// `NULL`.
    #[error("field {fid} has the acronym {acronym:?}, which cannot name a field")]
    Acronym {
        /// The field.
        fid: i16,
        /// Its acronym.
        acronym: Box<str>,
    },
    /// A name or a display text above [`MAX_TEXT_LEN`].
    #[error("field {fid} has a name or display text of {len} bytes, {MAX_TEXT_LEN} are the most")]
    TextTooLong {
        /// The field, or the first field of the table.
        fid: i16,
        /// Length of the text in bytes.
        len: usize,
    },
    /// A type that no field can have.
    #[error("field {fid} has the RWF type {code}, which no field can have")]
    RwfType {
        /// The field.
        fid: i16,
        /// Code of the type.
        code: u8,
    },
    /// Two fields of one number.
    #[error("field {0} is defined twice")]
    DuplicateFid(i16),
    /// Two fields of one acronym.
    #[error("acronym {acronym} is used by the fields {first} and {second}")]
    DuplicateAcronym {
        /// The acronym.
        acronym: Box<str>,
        /// The field that has it already.
        first: i16,
        /// The field that wants it.
        second: i16,
    },
    /// A value that a table has twice.
    #[error("the table of field {fid} has the value {value} twice")]
    DuplicateValue {
        /// First field of the table.
        fid: i16,
        /// The value.
        value: u16,
    },
    /// More values in all tables than
    /// [`MAX_ENUM_VALUES`].
    #[error("the enumeration tables have more than {MAX_ENUM_VALUES} values")]
    TooManyValues,
    /// A field with two enumeration tables.
    #[error("field {0} has two enumeration tables")]
    SecondTable(i16),
    /// A table that no field uses.
    #[error("an enumeration table has no field")]
    TableWithoutField,
}
