//! Bytes as messages of the exchange's native protocol.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::ntg::codec;

fuzz_target!(|data: &[u8]| codec(data));
