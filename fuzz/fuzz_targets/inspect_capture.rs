//! Capture files, from packets to messages.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tapeline_inspect::capture::{TcpLimits, read_capture};

fuzz_target!(|data: &[u8]| {
    let mut frames = 0;
    let (totals, _) = read_capture(data, TcpLimits::default(), &mut |_| frames += 1);
    assert!(frames == 0 || totals.sessions > 0);
});
