//! A reader of Nasdaq, with packets in any order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::itch::reader;

fuzz_target!(|data: &[u8]| reader(data));
