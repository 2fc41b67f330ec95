//! Data of any type as a JSON value, that value as bytes, and those as a value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::rwf::field_type;
use tapeline_inspect::{Fields, Inspector, Limits, to_bytes};
use tapeline_rwf::{DataType, Encoded};

struct FieldTypes;

impl Fields for FieldTypes {
    fn data_type(&self, field_id: i16) -> Option<DataType> {
        Some(field_type(field_id))
    }
}

fuzz_target!(|data: &[u8]| {
    let [data_type, bytes @ ..] = data else { return };
    let data_type = DataType(*data_type);
    let limits = Limits { max_nodes: 20_000, ..Limits::default() };
    let inspector = Inspector::new(&FieldTypes).with_limits(limits);
    let Ok(value) = inspector.to_value(&Encoded::new(data_type, bytes), None) else { return };
    // Some values have no encoding, and say so: a name that is no UTF-8 in a set.
    let Ok(again) = to_bytes(&value) else { return };
    let read = inspector.to_value(&Encoded::new(data_type, &again), None);
    assert_eq!(read.expect("what was written can be read"), value);
});
