//! A text session, with bytes, time, messages and a slow socket in any order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::websocket::text_session;

fuzz_target!(|data: &[u8]| text_session(data));
