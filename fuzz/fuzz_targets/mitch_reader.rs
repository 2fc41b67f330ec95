//! A reader of market data, with units in any order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::mitch::reader;

fuzz_target!(|data: &[u8]| reader(data));
