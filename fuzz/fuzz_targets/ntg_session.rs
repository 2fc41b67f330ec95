//! Both ends of a native session, and any bytes and messages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::ntg::session;

fuzz_target!(|data: &[u8]| session(data));
