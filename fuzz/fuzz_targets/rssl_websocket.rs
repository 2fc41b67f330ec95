//! Either side over WebSocket, before and after the handshake.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::rssl::{WEBSOCKET, target};

fuzz_target!(|data: &[u8]| target(data, 0xfc, WEBSOCKET));
