//! Services of several sources that are one to consumers.

use std::sync::atomic::Ordering;

use tapeline_chaos::market::{SERVICE, Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{report, wait_until};

use super::program::tapeline;

const ITEMS: usize = 100;

#[test]
fn items_of_a_member_that_dies_go_on_at_the_next_for_binary_and_json_consumers() {
    let [east, west] = [(); 2].map(|()| Tape::new(ITEMS));
    let first = Source::start_of("EAST", &east, loopback());
    let second = Source::start_of("WEST", &west, loopback());
    let config = tempfile::NamedTempFile::with_suffix(".toml").expect("room");
    let group = format!("[[service]]\nname = \"{SERVICE}\"\nmembers = [\"EAST\", \"WEST\"]\n");
    std::fs::write(config.path(), group).expect("room");
    let [first_at, second_at] = [&first, &second].map(|source| source.address.to_string());
    let config = config.path().to_str().expect("a plain path");
    let program = tapeline(&[
        "run",
        "--config",
        config,
        "--source",
        &first_at,
        "--source",
        &second_at,
        "--rssl-port",
        "0",
        "--ws-port",
        "0",
    ]);
    // Consumers know the name of the group alone.
    let watchers = [
        Watcher::start(&east, &[program.address("rssl")]),
        Watcher::start_json(&east, &[program.address("ws")]),
    ];
    for watcher in &watchers {
        let _ = watcher.wait_fresh();
    }
    wait_until("the first member to have all", || east.streams() == ITEMS);
    assert_eq!(west.streams(), 0);
    east.publish_to(&watchers, 1_000, 5_000);
    for watcher in &watchers {
        let _ = watcher.wait_all_of(&east);
        assert_eq!(watcher.holes(), 0);
    }

    drop(first);
    for watcher in &watchers {
        let stale = || watcher.seen.stale.load(Ordering::Relaxed) == ITEMS as u64;
        wait_until("everything to be stale", stale);
    }
    let healed = watchers.each_ref().map(Watcher::wait_fresh);
    report(format_args!(
        "a member of a service group killed: fresh at the next {} ms later, in JSON {} ms",
        healed[0].as_millis(),
        healed[1].as_millis()
    ));
    for watcher in &watchers {
        let _ = watcher.wait_all_of(&west);
    }
    let holes = watchers.each_ref().map(Watcher::holes);
    west.publish_to(&watchers, 1_000, 5_000);
    for (watcher, holes) in watchers.iter().zip(holes) {
        let _ = watcher.wait_all_of(&west);
        assert_eq!(watcher.holes(), holes);
        assert_eq!(watcher.images(), 2 * ITEMS as u64);
        assert_eq!(watcher.seen.closed.load(Ordering::Relaxed), 0);
        assert_eq!(watcher.seen.downs.load(Ordering::Relaxed), 0);
    }
    assert_eq!(west.requests(), ITEMS as u64, "once each, for both");
}
