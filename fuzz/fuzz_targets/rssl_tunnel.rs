//! Either side of an HTTP tunnel, before and after the handshake.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::rssl::{TUNNEL, target};

fuzz_target!(|data: &[u8]| target(data, 0xfc, TUNNEL));
