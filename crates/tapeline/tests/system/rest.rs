//! What a process costs that has nothing to do.

use std::time::{Duration, Instant};

use crate::program::{Program, report, wait_until};

/// Sleeps that are looked at.
const SLEEPS: u64 = 40;

/// The least they take together, where a driver's turn every 10 ms is all that
/// ends them. Half of that is left for what starts and what looks.
const LEAST: Duration = Duration::from_millis(200);

/// A busy machine makes them longer, never shorter.
#[test]
fn hub_and_server_in_one_process_sleep_while_nothing_comes() {
    let node = Program::start(&["run", "--rssl-port", "0", "--ni-port", "0", "--ws-port", "off"]);
    // Hub and server meet first.
    wait_until("the start to be over", || node.sleeps() > SLEEPS);
    let (before, started) = (node.sleeps(), Instant::now());
    wait_until("some sleeps", || node.sleeps() > before + SLEEPS);
    let took = started.elapsed();
    report(format_args!("{SLEEPS} sleeps of an idle hub and server took {took:?}"));
    assert!(took >= LEAST, "they took {took:?}");
}
