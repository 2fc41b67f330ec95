//! Messages of any bytes, written as JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::json::{options, write};

fuzz_target!(|data: &[u8]| {
    let [choice, bytes @ ..] = data else { return };
    write(options(*choice), bytes);
});
