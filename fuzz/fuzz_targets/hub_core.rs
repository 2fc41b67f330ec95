//! A hub's core with providers and servers that do anything in any order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::hub::events;

fuzz_target!(|data: &[u8]| events(data));
