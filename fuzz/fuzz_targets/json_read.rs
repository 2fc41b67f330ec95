//! Texts of any kind as frames of JSON messages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::json::{options, read};

fuzz_target!(|data: &[u8]| {
    let [choice, bytes @ ..] = data else { return };
    read(options(*choice), &String::from_utf8_lossy(bytes));
});
