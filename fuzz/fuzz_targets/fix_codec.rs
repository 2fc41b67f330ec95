//! Bytes as FIX messages, as they are and as a body with its checksum.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::fix::codec;

fuzz_target!(|data: &[u8]| codec(data));
