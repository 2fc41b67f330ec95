//! Market price: one field list.

use tapeline_rwf::{DataType, Encoded, FieldList};

use crate::ModelError;
use crate::error::expect_type;

/// The fields of a market price payload. Images name the record template (field
/// list number) and the dictionary; updates have only the fields that changed.
///
/// Errors: the payload is another container, or is malformed.
pub fn market_price<'a>(payload: &Encoded<'a>) -> Result<FieldList<'a>, ModelError> {
    const MODEL: &str = "market price";
    expect_type(MODEL, "payload", DataType::FIELD_LIST, payload.data_type())?;
    payload.field_list().map_err(ModelError::in_part(MODEL, "payload"))
}
