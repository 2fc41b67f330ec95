//! The field dictionary: what a field id means.
//!
//! A field list on the wire is numbers and bytes. The dictionary gives each
//! number its name and type, and each value of an enumerated field the text to
//! show. It comes from two classic text files (`RDMFieldDictionary` and
//! `enumtype.def`), from a provider as messages, or from the program itself:
//! [`FieldDictionary::builtin`].
//!
//! ```
//! use tapeline_omm::dictionary::FieldDictionary;
//!
//! let dictionary = FieldDictionary::parse(
//!     b"TRD_UNITS \"Units\"  53  NULL  ENUMERATED  2 ( 4 )  ENUM  1",
//!     b"TRD_UNITS 53\n 0 \"INT \" whole\n 2 \"2DP \" hundredths",
//! )?;
//! let field = dictionary.field(53).ok_or("no field 53")?;
//! assert_eq!(&*field.acronym, "TRD_UNITS");
//! let value = dictionary.enum_value(53, 2).ok_or("no value 2")?;
//! assert_eq!(&*value.display, b"2DP ");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod builder;
mod builtin;
mod enums;
mod error;
mod field;
mod parts;
mod tags;
mod text;

use std::collections::HashMap;

pub use builder::{DictionaryBuilder, MAX_ENUM_VALUES, MAX_TEXT_LEN};
pub use enums::{EnumTable, EnumValue};
pub use error::{DefinitionError, DictionaryType, TextError, TextErrorKind};
pub use field::{FieldDef, FieldType};
pub use parts::{
    ENUM_PART_LEN, FIELD_PART_LEN, Part, PartError, Parts, SetDefDictionary, SetDefTable, Verbosity,
};
pub use tags::Tags;

/// Stands for "none" in the dense indexes. It is no index: there are at most
/// 65,535 fields, since 0 is no field.
const NONE: u16 = u16::MAX;

/// Field definitions and enumeration tables, fixed once built.
///
/// Finding a field or a table by number is two loads and no hashing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDictionary {
    /// Ascending by field id.
    fields: Vec<FieldDef>,
    /// Index into `fields` by field id, as unsigned number.
    field_by_fid: Box<[u16]>,
    fid_by_acronym: HashMap<Box<str>, i16>,
    tables: Vec<EnumTable>,
    /// Index into `tables` by field id, as unsigned number.
    table_by_fid: Box<[u16]>,
    field_tags: Tags,
    enum_tags: Tags,
}

impl FieldDictionary {
    /// Reads the text of a field dictionary and of an enumeration file.
    ///
    /// Tables of fields that are not defined are kept: vendors publish one
    /// enumeration file for several field dictionaries. A field that ripples
    /// to one that is not defined does not ripple.
    ///
    /// # Errors
    /// The first fault of either file.
    pub fn parse(fields: &[u8], enums: &[u8]) -> Result<Self, TextError> {
        let mut builder = DictionaryBuilder::default();
        builder.parse_fields(fields)?;
        builder.parse_enums(enums)?;
        Ok(builder.build())
    }

    /// The definition of a field.
    #[inline]
    pub fn field(&self, fid: i16) -> Option<&FieldDef> {
        self.fields.get(usize::from(self.field_by_fid[dense(fid)]))
    }

    /// The definition of the field of an acronym, as `BID`.
    pub fn field_by_acronym(&self, acronym: &str) -> Option<&FieldDef> {
        self.field(*self.fid_by_acronym.get(acronym)?)
    }

    /// All fields, ascending by field id.
    pub fn fields(&self) -> &[FieldDef] {
        &self.fields
    }

    /// The enumeration table of a field.
    #[inline]
    pub fn enum_table(&self, fid: i16) -> Option<&EnumTable> {
        self.tables.get(usize::from(self.table_by_fid[dense(fid)]))
    }

    /// What a number in an enumerated field stands for.
    #[inline]
    pub fn enum_value(&self, fid: i16, number: u16) -> Option<&EnumValue> {
        self.enum_table(fid)?.value(number)
    }

    /// All enumeration tables, in the order they were given.
    pub fn enum_tables(&self) -> &[EnumTable] {
        &self.tables
    }

    /// What the field dictionary file says of itself.
    pub fn field_tags(&self) -> &Tags {
        &self.field_tags
    }

    /// What the enumeration file says of itself.
    pub fn enum_tags(&self) -> &Tags {
        &self.enum_tags
    }

    /// The fields in the classic text form, as [`parse`](Self::parse) reads it.
    pub fn print_fields(&self) -> String {
        text::print_fields(self)
    }

    /// The enumeration tables in the classic text form, as
    /// [`parse`](Self::parse) reads it.
    pub fn print_enums(&self) -> String {
        text::print_enums(self)
    }
}

/// The place of a field id in a dense index of 65,536 places.
#[inline]
fn dense(fid: i16) -> usize {
    usize::from(fid as u16)
}
