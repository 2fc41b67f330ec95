//! Consumers of our own that come back with more than one output takes.

use std::sync::atomic::Ordering;

use tapeline_chaos::market::{Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{Program, report, wait_until};

use super::faults::{backbone, hub, server_arguments};
use super::program::tapeline;

/// Their requests in JSON are longer than a consumer's output may be.
const ITEMS: usize = 56_000;

fn server(backbone: &str) -> Program {
    let mut arguments = server_arguments(backbone, 0);
    arguments.extend(["--ws-port", "0"].map(str::to_owned));
    tapeline(&arguments)
}

#[test]
fn a_json_consumer_of_56_000_items_comes_back_at_another_server() {
    let tape = Tape::new(ITEMS);
    let source = Source::start(&tape, loopback());
    let backbone = backbone();
    let _hub = hub(&backbone, source.address);
    let (first, second) = (server(&backbone), server(&backbone));
    let addresses = [&first, &second].map(|server| server.address("ws"));
    let watcher = Watcher::start_json(&tape, &addresses);
    let opened = watcher.wait_fresh();
    first.kill();
    // They are fresh again one by one.
    let noticed = wait_until("every item to have been stale", || {
        watcher.seen.stale.load(Ordering::Relaxed) >= ITEMS as u64
    });
    let back = watcher.wait_fresh();
    tape.publish(2_000, 20_000);
    watcher.wait_all_of(&tape);
    assert_eq!(watcher.downs(), 1, "it came back at the first attempt");
    assert_eq!(tape.streams(), ITEMS);
    report(format_args!(
        "{ITEMS} items over JSON: open after {} ms; of a dead server after {} ms, at another one \
         {} ms later",
        opened.as_millis(),
        noticed.as_millis(),
        back.as_millis(),
    ));
}
