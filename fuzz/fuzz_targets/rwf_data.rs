//! Data of any type, decoded in full.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::rwf::decode;
use tapeline_rwf::{DataType, Encoded};

fuzz_target!(|data: &[u8]| {
    let [data_type, bytes @ ..] = data else { return };
    decode(&Encoded::new(DataType(*data_type), bytes));
});
