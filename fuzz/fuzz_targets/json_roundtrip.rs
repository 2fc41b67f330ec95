//! JSON to RWF, to JSON, to RWF, to JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::json::{options, settles};

fuzz_target!(|data: &[u8]| {
    let [choice, bytes @ ..] = data else { return };
    settles(options(*choice), &String::from_utf8_lossy(bytes));
});
