//! A server from its first byte on, whatever the client opens with.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::rssl::target;

fuzz_target!(|data: &[u8]| target(data, 0x0c, 0));
