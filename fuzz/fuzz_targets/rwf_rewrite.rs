//! Data of any type, decoded, encoded, and both again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::rwf::write_again;
use tapeline_rwf::{DataType, Encoded};

fuzz_target!(|data: &[u8]| {
    let [data_type, bytes @ ..] = data else { return };
    write_again(&Encoded::new(DataType(*data_type), bytes));
});
