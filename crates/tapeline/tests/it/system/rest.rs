//! What a process costs that has nothing to do.

use std::time::Instant;

use tapeline_chaos::program::{report, wait_until};

use super::faults::backbone;
use super::program::tapeline;

/// The share of a processor that hub and server in one process take over so
/// many sleeps, once they have met.
fn share_while_idle(name: &str, sleeps: u64, arguments: &[&str]) -> f64 {
    let ports = ["run", "--rssl-port", "0", "--ni-port", "0", "--ws-port", "off"];
    let node = tapeline(&[&ports, arguments].concat());
    wait_until("the start to be over", || node.sleeps() > sleeps);
    let (before, took_before, started) = (node.sleeps(), node.processor_time(), Instant::now());
    wait_until("some sleeps", || node.sleeps() > before + sleeps);
    let took = node.processor_time().saturating_sub(took_before);
    let share = took.as_secs_f64() / started.elapsed().as_secs_f64();
    report(format_args!("hub and server idle over {name}: {:.1} % of a core", share * 100.0));
    share
}

#[test]
fn hub_and_server_over_shared_memory_take_almost_nothing_while_nothing_comes() {
    assert!(share_while_idle("shared memory", 40, &["--backbone", "aeron:ipc"]) < 0.05);
}

#[test]
fn hub_and_server_without_a_media_driver_take_almost_nothing_while_nothing_comes() {
    assert!(share_while_idle("rings", 40, &[]) < 0.05);
}

#[test]
fn hub_and_server_over_a_network_take_little_while_nothing_comes() {
    assert!(share_while_idle("multicast", 400, &["--backbone", &backbone()]) < 0.2);
}
