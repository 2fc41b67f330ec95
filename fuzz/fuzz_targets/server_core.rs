//! A server's core with consumers and hubs that do anything in any order.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_fuzz::server::events;

fuzz_target!(|data: &[u8]| events(data));
