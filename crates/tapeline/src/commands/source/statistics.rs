//! Lines of what a source did.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::console::{Align, Table, rate};
use crate::failure::warn;
use tapeline_playback::Counts;

/// Lines of what was done in each interval.
pub(super) struct Statistics {
    interval: Duration,
    is_json: bool,
    began: Instant,
    interval_began: Instant,
    last: Counts,
    table: Table,
    has_head: bool,
    has_warned: bool,
}

impl Statistics {
    pub(super) fn new(interval_s: u64, is_json: bool) -> Self {
        let now = Instant::now();
        let heads =
            ["second", "items", "wanted/s", "updates/s", "stamped", "images", "posts", "missed"];
        Self {
            interval: Duration::from_secs(interval_s),
            is_json,
            began: now,
            interval_began: now,
            last: Counts::default(),
            table: Table::new(&heads.map(|head| (head, Align::Right))),
            has_head: false,
            has_warned: false,
        }
    }

    /// Says once that no update carries the time although some should: nobody
    /// has the item open whose updates do.
    fn look_for_stamps(&mut self, counts: &Counts, stamped: u64) {
        let is_full_interval = self.last.rate > 0 && self.last.open_items > 0;
        let interval_s = self.interval.as_secs();
        let is_missed = stamped == 0 && counts.stamp_rate.saturating_mul(interval_s) > 1;
        if is_full_interval && is_missed && counts.open_items > 0 && !self.has_warned {
            self.has_warned = true;
            warn("no update carries the time: the item of -tsn is not open; let a client open it");
        }
    }

    /// Writes a line if it is time to.
    pub(super) fn turn(&mut self, counts: impl Fn() -> Counts) -> io::Result<()> {
        let elapsed = self.interval_began.elapsed();
        if self.interval.is_zero() || elapsed < self.interval {
            return Ok(());
        }
        let counts = counts();
        let per_s =
            |now: u64, before: u64| ((now - before) as f64 / elapsed.as_secs_f64()).round() as u64;
        let updates_per_s = per_s(counts.updates, self.last.updates);
        let stamped = counts.stamped - self.last.stamped;
        let missed = counts.missed;
        self.look_for_stamps(&counts, stamped);
        let second = self.began.elapsed().as_secs();
        let mut out = io::stdout().lock();
        if self.is_json {
            let object = json!({
                "second": second,
                "items": counts.open_items,
                "wantedPerSecond": counts.rate,
                "updatesPerSecond": updates_per_s,
                "stamped": stamped,
                "images": counts.images - self.last.images,
                "posts": counts.posts - self.last.posts,
                "missed": missed - self.last.missed,
            });
            writeln!(out, "{object}")?;
        } else {
            self.table.clear();
            self.table.row(vec![
                second.to_string(),
                rate(counts.open_items),
                rate(counts.rate),
                rate(updates_per_s),
                rate(stamped),
                rate(counts.images - self.last.images),
                rate(counts.posts - self.last.posts),
                rate(missed - self.last.missed),
            ]);
            for line in self.table.lines().iter().skip(usize::from(self.has_head)) {
                writeln!(out, "{line}")?;
            }
            self.has_head = true;
        }
        self.last = counts;
        self.interval_began = Instant::now();
        out.flush()
    }
}
