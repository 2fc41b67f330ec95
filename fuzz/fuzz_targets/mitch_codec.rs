//! Bytes as messages and units of market data.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::mitch::codec;

fuzz_target!(|data: &[u8]| codec(data));
