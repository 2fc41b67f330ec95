//! A client on a plain socket, of every version, from the server's first byte on.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::rssl::{CLIENT, target};

fuzz_target!(|data: &[u8]| target(data, 0x3c, CLIENT));
