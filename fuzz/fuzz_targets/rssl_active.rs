//! Either side on a plain socket, after the handshake.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::rssl::{ACTIVE, target};

fuzz_target!(|data: &[u8]| target(data, 0xbc, ACTIVE));
