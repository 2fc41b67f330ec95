//! Whether the process is well.

use std::fmt::Write as _;
use std::time::Duration;

use axum::http::StatusCode;
use tapeline_counters::{Block, Registry};
use tapeline_time::Time;

/// What a probe is answered: a status, and why.
pub(crate) type Verdict = (StatusCode, String);

/// Whether all threads turn.
pub(crate) fn is_alive(registry: &Registry, now: Time, patience: Duration) -> Verdict {
    let mut text = String::new();
    for thread in threads(registry) {
        let age = age(thread, now);
        if age > patience {
            let _ = writeln!(
                text,
                "thread {} has not turned for {} ms",
                thread.name(),
                age.as_millis()
            );
        }
    }
    verdict(text)
}

/// Whether all threads turn and are on the backbone, and no server is drained of its
/// mounts.
pub(crate) fn is_ready(registry: &Registry, now: Time, patience: Duration) -> Verdict {
    let (_, mut text) = is_alive(registry, now, patience);
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

/// How long ago a thread published its counts.
fn age(thread: &Block, now: Time) -> Duration {
    now.since(Time::from_nanos(thread.value_of("published_ns").unwrap_or(0)))
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
        let second = Duration::from_secs(1);
        main.publish(&Thread { published_ns: 9_900_000_000, on_backbone: 1 });
        shard.publish(&Thread { published_ns: 9_500_000_000, on_backbone: 0 });
        assert_eq!(is_alive(&registry, now, second).0, StatusCode::OK);
        let ready = is_ready(&registry, now, second);
        assert_eq!(ready.0, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(ready.1, "thread shard-1 is not on the backbone\n");
        shard.publish(&Thread { published_ns: 7_000_000_000, on_backbone: 1 });
        let alive = is_alive(&registry, now, second);
        assert_eq!(alive.1, "thread shard-1 has not turned for 3000 ms\n");
        assert_eq!(is_ready(&registry, now, second).0, StatusCode::SERVICE_UNAVAILABLE);
    }
}
