//! What a field id means, asked of a dictionary.

use std::collections::HashMap;
use std::hash::BuildHasher;

use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::DataType;

/// Names and types of fields, which the wire does not carry.
///
/// Only the type is needed to decode; names and enumeration texts are for
/// people and may be missing.
pub trait Fields {
    /// The type of a field; a field without one is shown as `BUFFER`.
    fn data_type(&self, field_id: i16) -> Option<DataType>;

    /// The short name of a field, as `BID`.
    fn acronym(&self, field_id: i16) -> Option<&str> {
        let _ = field_id;
        None
    }

    /// What an enumerated field shows for a number: RMTES bytes.
    fn enum_display(&self, field_id: i16, number: u16) -> Option<&[u8]> {
        let _ = (field_id, number);
        None
    }
}

/// No dictionary: every field is a `BUFFER`.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFields;

impl Fields for NoFields {
    fn data_type(&self, _: i16) -> Option<DataType> {
        None
    }
}

impl<S: BuildHasher> Fields for HashMap<i16, DataType, S> {
    fn data_type(&self, field_id: i16) -> Option<DataType> {
        self.get(&field_id).copied()
    }
}

impl Fields for FieldDictionary {
    fn data_type(&self, field_id: i16) -> Option<DataType> {
        self.field(field_id).map(|field| field.rwf_type)
    }

    fn acronym(&self, field_id: i16) -> Option<&str> {
        self.field(field_id).map(|field| &*field.acronym)
    }

    fn enum_display(&self, field_id: i16, number: u16) -> Option<&[u8]> {
        self.enum_value(field_id, number).map(|value| &*value.display)
    }
}
