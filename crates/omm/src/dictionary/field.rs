//! What a dictionary says about one field.

use core::fmt;

use tapeline_rwf::DataType;

/// The definition of one field.
///
/// ```text
/// ACRONYM   "long name"        FID   RIPPLES TO  FIELD TYPE  LENGTH   RWF TYPE  RWF LEN
/// TRDPRC_1  "Last trade price"   6   TRDPRC_2    PRICE           17   REAL            7
/// RDN_EXCHID "Exchange"          4   NULL        ENUMERATED   3 ( 3 ) ENUM            1
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDef {
    /// The field's number, -32768 to 32767 and not 0: in a field list, 0 marks
    /// a change of dictionary.
    pub fid: i16,
    /// The field's unique name: a word of printable ASCII, as in `BID`.
    pub acronym: Box<str>,
    /// A name for people, which the file format calls DDE acronym.
    pub long_name: Box<str>,
    /// The field that takes over the old value when this field changes:
    /// `TRDPRC_1` ripples to `TRDPRC_2`, so that the last trades stay visible.
    pub ripples_to: Option<i16>,
    /// How Marketfeed carries the field.
    pub field_type: FieldType,
    /// Longest Marketfeed value in bytes; of an enumerated field, in digits.
    pub length: u16,
    /// Longest display text of an enumerated field in characters; 0 for others.
    pub enum_length: u8,
    /// How RWF carries the field: a primitive, an array or a container.
    pub rwf_type: DataType,
    /// Longest RWF value in bytes, for caches that reserve room; 0 if unknown.
    pub rwf_length: u16,
}

/// How Marketfeed carries a field. Every value passes through unchanged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldType(pub i8);

impl FieldType {
    /// Not carried at all.
    pub const NONE: Self = Self(-1);
    /// Time of day to the second, `HH:MM:SS`.
    pub const TIME_SECONDS: Self = Self(0);
    /// Whole number.
    pub const INTEGER: Self = Self(1);
    /// Number of digits, in old dictionaries.
    pub const NUMERIC: Self = Self(2);
    /// `DD MMM YYYY`.
    pub const DATE: Self = Self(3);
    /// Decimal number or fraction.
    pub const PRICE: Self = Self(4);
    /// Text, padded to the field's length.
    pub const ALPHANUMERIC: Self = Self(5);
    /// Index into an enumeration table, in digits.
    pub const ENUMERATED: Self = Self(6);
    /// Time of day to the minute, `HH:MM`.
    pub const TIME: Self = Self(7);
    /// Bytes in a printable form.
    pub const BINARY: Self = Self(8);
    /// Text of any length, in newer dictionaries.
    pub const LONG_ALPHANUMERIC: Self = Self(9);
    /// Bytes of no known form, in newer dictionaries.
    pub const OPAQUE: Self = Self(10);

    const NAMES: [(&'static str, Self); 12] = [
        ("NONE", Self::NONE),
        ("TIME_SECONDS", Self::TIME_SECONDS),
        ("INTEGER", Self::INTEGER),
        ("NUMERIC", Self::NUMERIC),
        ("DATE", Self::DATE),
        ("PRICE", Self::PRICE),
        ("ALPHANUMERIC", Self::ALPHANUMERIC),
        ("ENUMERATED", Self::ENUMERATED),
        ("TIME", Self::TIME),
        ("BINARY", Self::BINARY),
        ("LONG_ALPHANUMERIC", Self::LONG_ALPHANUMERIC),
        ("OPAQUE", Self::OPAQUE),
    ];

    /// The type's name in dictionary files, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Self::NAMES.iter().find(|(_, known)| *known == self).map(|(name, _)| *name)
    }

    /// The type of a name in dictionary files.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, code)| *code)
    }
}

impl fmt::Display for FieldType {
    /// The name, or the number of a type that has none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => fmt::Display::fmt(&self.0, f),
        }
    }
}

impl fmt::Debug for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FieldType({self})")
    }
}

/// The RWF type of a name in dictionary files. Older files tell the width of
/// numbers, which the wire does not: `REAL64` is `REAL`.
pub(super) fn rwf_type_from_name(name: &str) -> Option<DataType> {
    let code = match name {
        "INT32" | "INT64" => DataType::INT,
        "UINT32" | "UINT64" => DataType::UINT,
        "REAL32" | "REAL64" => DataType::REAL,
        "ELEM_LIST" => DataType::ELEMENT_LIST,
        _ => DataType::from_name(name)?,
    };
    is_field_type(code).then_some(code)
}

/// Whether a field can be of a type: not of the set-only forms, which are an
/// encoding and no type.
pub(super) fn is_field_type(code: DataType) -> bool {
    let primitive = DataType::INT.0..=DataType::RMTES_STRING.0;
    let container = DataType::OPAQUE.0..=DataType::JSON.0;
    code.name().is_some() && (primitive.contains(&code.0) || container.contains(&code.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn field_types_have_the_codes_of_the_wire() {
        for (name, code) in [("NONE", -1), ("TIME_SECONDS", 0), ("ENUMERATED", 6), ("BINARY", 8)] {
            assert_eq!(FieldType::from_name(name), Some(FieldType(code)));
            assert_eq!(FieldType(code).to_string(), name);
        }
        assert_eq!(FieldType(99).to_string(), "99");
        assert_eq!(FieldType::from_name("PRICES"), None);
    }

    #[test]
    fn widths_in_rwf_type_names_do_not_matter() {
        for name in ["REAL", "REAL32", "REAL64"] {
            assert_eq!(rwf_type_from_name(name), Some(DataType::REAL));
        }
        assert_eq!(rwf_type_from_name("ELEM_LIST"), rwf_type_from_name("ELEMENT_LIST"));
    }

    #[test]
    fn no_field_has_a_set_only_or_unknown_type() {
        for name in ["INT_1", "DATETIME_12", "UNKNOWN", "NO_DATA", "", "real"] {
            assert_eq!(rwf_type_from_name(name), None, "{name}");
        }
    }
}
