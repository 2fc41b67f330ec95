//! What a field dictionary knows that a cache has to know.

use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::DataType;

/// What changes of a field do beyond replacing its value.
///
/// A field [`FieldDictionary`] is the usual source of these rules.
pub trait FieldRules {
    /// The field that takes over the old value of `field_id` when it changes,
    /// if the image has that field.
    fn ripples_to(&self, field_id: i16) -> Option<i16>;

    /// Whether the field is an `RMTES_STRING`, so that its updates may be
    /// partial: cursor commands that change some bytes of the value.
    fn is_rmtes(&self, field_id: i16) -> bool {
        let _ = field_id;
        false
    }
}

impl FieldRules for FieldDictionary {
    fn ripples_to(&self, field_id: i16) -> Option<i16> {
        self.field(field_id)?.ripples_to
    }

    fn is_rmtes(&self, field_id: i16) -> bool {
        self.field(field_id).is_some_and(|field| field.rwf_type == DataType::RMTES_STRING)
    }
}
