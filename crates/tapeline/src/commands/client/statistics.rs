//! Counts of what came, second by second.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::console::{Align, Table, rate};
use crate::measure::Latency;

/// How often counts are shown.
const INTERVAL: Duration = Duration::from_secs(1);

/// What came in an interval.
pub(super) struct Statistics {
    started: Instant,
    interval_began: Instant,
    pub(super) updates: u64,
    pub(super) statuses: u64,
    pub(super) latency: Latency,
    table: Table,
}

impl Statistics {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        let heads =
            ["second", "images", "updates/s", "statuses", "mean us", "p50 us", "p99 us", "max us"];
        Self {
            started: now,
            interval_began: now,
            updates: 0,
            statuses: 0,
            latency: Latency::new(),
            table: Table::new(&heads.map(|head| (head, Align::Right))),
        }
    }

    /// How long until the next counts.
    pub(super) fn next_tick(&self) -> Duration {
        INTERVAL.saturating_sub(self.interval_began.elapsed())
    }

    /// The lines of an interval that is over; `images` are those of `items`.
    pub(super) fn lines(&mut self, images: usize, items: usize, is_json: bool) -> Vec<String> {
        let now = Instant::now();
        let seconds = now.duration_since(self.interval_began).as_secs_f64();
        if seconds < INTERVAL.as_secs_f64() {
            return Vec::new();
        }
        let second = now.duration_since(self.started).as_secs();
        let updates_per_s = (self.updates as f64 / seconds).round() as u64;
        let lines = match is_json {
            true => vec![self.object(second, images, updates_per_s)],
            false => self.row(second, (images, items), updates_per_s),
        };
        self.updates = 0;
        self.statuses = 0;
        self.latency.clear();
        self.interval_began = now;
        lines
    }

    fn row(&mut self, second: u64, images: (usize, usize), updates_per_s: u64) -> Vec<String> {
        let is_first = self.table.lines().len() == 1;
        let mut cells = vec![
            second.to_string(),
            format!("{}/{}", images.0, images.1),
            rate(updates_per_s),
            rate(self.statuses),
        ];
        let latency = &self.latency;
        match latency.count() {
            0 => cells.extend(std::iter::repeat_n("-".to_owned(), 4)),
            _ => cells.extend(
                [
                    latency.mean_us(),
                    latency.quantile_us(0.5),
                    latency.quantile_us(0.99),
                    latency.max_us(),
                ]
                .map(|micros| format!("{micros:.0}")),
            ),
        }
        self.table.clear();
        self.table.row(cells);
        let lines = self.table.lines();
        lines.into_iter().skip(usize::from(!is_first)).collect()
    }

    fn object(&self, second: u64, images: usize, updates_per_s: u64) -> String {
        let latency = &self.latency;
        let mut object = json!({
            "second": second,
            "images": images,
            "updatesPerSecond": updates_per_s,
            "statuses": self.statuses,
        });
        if latency.count() > 0 {
            object["latencyUs"] = json!({
                "count": latency.count(),
                "mean": latency.mean_us(),
                "p50": latency.quantile_us(0.5),
                "p99": latency.quantile_us(0.99),
                "max": latency.max_us(),
            });
        }
        object.to_string()
    }
}
