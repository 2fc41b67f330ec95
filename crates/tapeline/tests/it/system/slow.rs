//! Consumers that stop reading, and those beside them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tapeline_chaos::market::{Source, Tape, Watcher, loopback};
use tapeline_chaos::program::report;

use super::program::tapeline;

/// How long a consumer may be without an update although they come all the
/// time: generous, as other tests have the processors as well.
const LONGEST_GAP: Duration = Duration::from_secs(2);

#[test]
fn twenty_consumers_that_stop_reading_and_go_on_keep_nobody_waiting_and_are_not_cut() {
    const STOPPED: usize = 20;
    let tape = Tape::new(500);
    let source = Source::start(&tape, loopback());
    // Small enough that the test fills it: the kernel's buffers come on top.
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("small-output.toml");
    let text = "[server]\noutput-max-bytes = 1000000\ntcp-send-buffer-bytes = 65536\n";
    std::fs::write(&config, text).expect("room on the disk");
    let (config, source) = (config.to_str().expect("a plain path"), source.address.to_string());
    let program = tapeline(
        &[
            &["run", "--config", config, "--source", &source][..],
            &["--rssl-port", "0", "--ni-port", "0", "--backbone", "aeron:ipc"],
        ]
        .concat(),
    );
    let servers = [program.address("rssl")];
    let sleepers: Vec<_> = (0..STOPPED).map(|_| Watcher::start(&tape, &servers)).collect();
    let reader = Watcher::start(&tape, &servers);
    sleepers.iter().chain([&reader]).for_each(|watcher| {
        watcher.wait_fresh();
    });
    let gap_while = |what: &str| {
        let gap = reader.seen.take_longest_gap();
        report(format_args!("{what}: others were {} ms without an update", gap.as_millis()));
        assert!(gap < LONGEST_GAP, "{what}: {gap:?}");
    };
    tape.publish(5_000, 20_000);
    reader.wait_all_of(&tape);
    reader.seen.take_longest_gap();

    for sleeper in &sleepers {
        sleeper.seen.asleep.store(true, Ordering::Relaxed);
    }
    tape.publish(100_000, 20_000);
    gap_while("20 consumers stopped");
    for sleeper in &sleepers {
        sleeper.seen.asleep.store(false, Ordering::Relaxed);
    }
    tape.publish(20_000, 20_000);
    gap_while("20 consumers go on");
    reader.wait_all_of(&tape);
    assert_eq!(reader.holes(), 0);
    assert_eq!(reader.updates(), tape.published());
    for sleeper in &sleepers {
        sleeper.wait_all_of(&tape);
        assert!(sleeper.updates() < tape.published(), "some were merged");
        assert!(sleeper.is_fresh());
        let ends = (&sleeper.seen.downs, &sleeper.seen.closed);
        let ends = (ends.0.load(Ordering::Relaxed), ends.1.load(Ordering::Relaxed));
        assert_eq!(ends, (0, 0), "connections and streams lost");
    }
    assert!(program.is_running());
}
