//! Bytes as messages and packets of Nasdaq.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::itch::codec;

fuzz_target!(|data: &[u8]| codec(data));
