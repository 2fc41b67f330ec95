//! Whether the process is well.

use std::fmt::Write as _;
use std::time::Duration;

use axum::http::StatusCode;
use tapeline_counters::{Block, Registry};
use tapeline_time::Time;

/// What a probe is answered: a status, and why.
pub(crate) type Verdict = (StatusCode, String);

/// What threads are measured by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// When the admin port was opened: a thread that has never turned has not done so
    /// since then.
    pub(crate) opened: Time,
    pub(crate) now: Time,
    /// How long a thread may take.
    pub(crate) patience: Duration,
}

/// Whether all threads turn.
pub(crate) fn is_alive(registry: &Registry, probe: Probe) -> Verdict {
    let mut text = String::new();
    for thread in threads(registry) {
        let published_ns = thread.value_of("published_ns").unwrap_or(0);
        let since = Time::from_nanos(published_ns).max(probe.opened);
        let age = probe.now.since(since);
        if age <= probe.patience {
            continue;
        }
        let (name, ms) = (thread.name(), age.as_millis());
        let _ = match published_ns {
            0 => writeln!(text, "thread {name} has never turned; it was started {ms} ms ago"),
            _ => writeln!(text, "thread {name} has not turned for {ms} ms"),
        };
    }
    verdict(text)
}

/// Whether all threads turn and are on the backbone, and no server is drained of its
/// mounts.
pub(crate) fn is_ready(registry: &Registry, probe: Probe) -> Verdict {
    let (_, mut text) = is_alive(registry, probe);
    if text == GOOD {
        text.clear();
    }
    for thread in threads(registry) {
        if thread.value_of("on_backbone") == Some(0) {
            let _ = writeln!(text, "thread {} is not on the backbone", thread.name());
        }
    }
    for server in registry.blocks().filter(|block| block.table().group == "server") {
        if server.value_of("drain_per_s").is_some_and(|per_s| per_s > 0) {
            let _ = writeln!(text, "{} is drained of its mounts", server.name());
        }
    }
    verdict(text)
}

const GOOD: &str = "good\n";

fn verdict(text: String) -> Verdict {
    match text.is_empty() {
        true => (StatusCode::OK, GOOD.to_owned()),
        false => (StatusCode::SERVICE_UNAVAILABLE, text),
    }
}

fn threads(registry: &Registry) -> impl Iterator<Item = &Block> {
    registry.blocks().filter(|block| block.table().group == "thread")
}

#[cfg(test)]
mod tests {
    use super::*;

    tapeline_counters::counts! {
        /// As a thread has them.
        struct Thread = "thread" {
            /// When.
            published_ns: u64 = now(ns);
            /// Whether.
            on_backbone: u64 = now;
        }
    }

    #[test]
    fn a_thread_that_hangs_or_is_cut_off_is_named() {
        let registry = Registry::default();
        let mut main = registry.enter::<Thread>("main", &[]).expect("room");
        let mut shard = registry.enter::<Thread>("shard-1", &[]).expect("room");
        let now = Time::from_nanos(10_000_000_000);
        let patience = Duration::from_secs(1);
        let probe = Probe { opened: Time::from_nanos(5_000_000_000), now, patience };
        main.publish(&Thread { published_ns: 9_900_000_000, on_backbone: 1 });
        shard.publish(&Thread { published_ns: 9_500_000_000, on_backbone: 0 });
        assert_eq!(is_alive(&registry, probe).0, StatusCode::OK);
        let ready = is_ready(&registry, probe);
        assert_eq!(ready.0, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(ready.1, "thread shard-1 is not on the backbone\n");
        shard.publish(&Thread { published_ns: 7_000_000_000, on_backbone: 1 });
        let alive = is_alive(&registry, probe);
        assert_eq!(alive.1, "thread shard-1 has not turned for 3000 ms\n");
        assert_eq!(is_ready(&registry, probe).0, StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    fn one_that_has_never_turned_is_given_time_and_then_named_as_such() {
        let registry = Registry::default();
        let _main = registry.enter::<Thread>("main", &[]).expect("room");
        let opened = Time::from_nanos(90_000_000_000_000);
        let after = |ms| {
            let now = opened.after(Duration::from_millis(ms));
            is_alive(&registry, Probe { opened, now, patience: Duration::from_secs(1) })
        };
        assert_eq!(after(1_000).0, StatusCode::OK);
        assert_eq!(after(1_001).1, "thread main has never turned; it was started 1001 ms ago\n");
    }
}
