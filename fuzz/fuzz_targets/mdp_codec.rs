//! Bytes as packets and messages of CME.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::mdp::codec;

fuzz_target!(|data: &[u8]| codec(data));
