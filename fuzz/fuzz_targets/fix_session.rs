//! Both ends of a FIX session, with bytes, bodies, time and reports in any order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::fix::session;

fuzz_target!(|data: &[u8]| session(data));
