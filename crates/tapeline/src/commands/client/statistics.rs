//! Counts of what came, interval by interval and of the whole run.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::console::{Align, Table, rate};
use crate::measure::{Latency, Summary};

/// What came: in an interval, and since the start.
pub(super) struct Statistics {
    /// How often counts are shown; `None` for only at the end.
    interval: Option<Duration>,
    started: Instant,
    interval_began: Instant,
    now: Counts,
    /// Of all intervals that are over.
    total: Counts,
    /// When every item had its answer, and how many updates had come by then.
    answered: Option<(Instant, u64)>,
    /// When updates came after that, and how many had come by then.
    steady: Option<(Instant, u64)>,
    table: Table,
    has_head: bool,
}

/// What came in some time.
#[derive(Clone, Debug)]
struct Counts {
    updates: u64,
    statuses: u64,
    latency: Latency,
}

/// How far the items are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Images {
    pub(super) complete: usize,
    pub(super) refused: usize,
    pub(super) wanted: usize,
}

impl Images {
    /// Whether there is no item without an image or a refusal.
    pub(super) const fn are_answered(self) -> bool {
        self.complete + self.refused == self.wanted
    }
}

/// What a published result tells of latencies, in its order.
const CLASSIC_HEADS: [&str; 5] = ["mean us", "std dev us", "max us", "min us", "points"];

/// A table with columns before and behind those of a published result.
fn table(before: &[&'static str], behind: &[&'static str]) -> Table {
    let heads = before.iter().chain(&CLASSIC_HEADS).chain(behind);
    let heads: Vec<_> = heads.map(|head| (*head, Align::Right)).collect();
    Table::new(&heads)
}

impl Statistics {
    pub(super) fn new(interval: Option<Duration>, now: Instant) -> Self {
        let counts = Counts { updates: 0, statuses: 0, latency: Latency::new() };
        Self {
            interval,
            started: now,
            interval_began: now,
            now: counts.clone(),
            total: counts,
            answered: None,
            steady: None,
            table: table(&["second", "images", "updates/s", "statuses"], &["p50 us", "p99 us"]),
            has_head: false,
        }
    }

    /// An update came, so long after it was made if it says so.
    pub(super) fn update(&mut self, age_us: Option<u64>) {
        self.now.updates += 1;
        if let Some(age_us) = age_us {
            self.now.latency.record_us(age_us);
            self.total.latency.record_us(age_us);
        }
    }

    /// A status came.
    pub(super) fn status(&mut self) {
        self.now.statuses += 1;
    }

    /// A turn of the client is over. The state is steady as soon as every item
    /// has its answer and updates come.
    pub(super) fn note_turn(&mut self, now: Instant, images: Images) {
        let updates = self.updates();
        match self.answered {
            None if images.are_answered() => self.answered = Some((now, updates)),
            Some((_, before)) if self.steady.is_none() && updates > before => {
                self.steady = Some((now, updates));
            }
            _ => {}
        }
    }

    /// Updates since the start.
    fn updates(&self) -> u64 {
        self.total.updates + self.now.updates
    }

    /// How long until the next counts.
    pub(super) fn next_tick(&self, now: Instant) -> Duration {
        let since = now.saturating_duration_since(self.interval_began);
        self.interval.map_or(Duration::MAX, |interval| interval.saturating_sub(since))
    }

    /// The lines of an interval, if it is over.
    pub(super) fn lines(&mut self, now: Instant, images: Images, is_json: bool) -> Vec<String> {
        let since = now.saturating_duration_since(self.interval_began);
        if self.interval.is_none_or(|interval| since < interval) {
            return Vec::new();
        }
        let second = now.saturating_duration_since(self.started).as_secs();
        let updates_per_s = per_s(self.now.updates, since);
        let lines = match is_json {
            true => vec![self.object(second, images, updates_per_s)],
            false => self.row(second, images, updates_per_s),
        };
        self.end_interval();
        self.interval_began = now;
        lines
    }

    fn end_interval(&mut self) {
        self.total.updates += self.now.updates;
        self.total.statuses += self.now.statuses;
        self.now.latency.clear();
        (self.now.updates, self.now.statuses) = (0, 0);
    }

    fn row(&mut self, second: u64, images: Images, updates_per_s: u64) -> Vec<String> {
        let summary = self.now.latency.summary();
        let mut cells = vec![
            second.to_string(),
            format!("{}/{}", images.complete, images.wanted),
            rate(updates_per_s),
            rate(self.now.statuses),
        ];
        cells.extend(classic_cells(summary.as_ref()));
        cells.extend(quantile_cells(summary.as_ref(), |s| [s.p50_us, s.p99_us]));
        self.table.clear();
        self.table.row(cells);
        let lines = self.table.lines();
        let lines = lines.into_iter().skip(usize::from(self.has_head)).collect();
        self.has_head = true;
        lines
    }

    fn object(&self, second: u64, images: Images, updates_per_s: u64) -> String {
        let mut object = json!({
            "second": second,
            "images": images.complete,
            "updatesPerSecond": updates_per_s,
            "statuses": self.now.statuses,
        });
        if let Some(summary) = self.now.latency.summary() {
            object["latencyUs"] = latency_object(&summary);
        }
        object.to_string()
    }

    /// The lines of the whole run.
    pub(super) fn total(&mut self, now: Instant, images: Images, is_json: bool) -> Vec<String> {
        self.end_interval();
        let run = now.saturating_duration_since(self.started);
        let images_in = self.answered.map(|(at, _)| at.saturating_duration_since(self.started));
        let (from, before) = self.steady.unwrap_or((self.started, 0));
        let since = now.saturating_duration_since(from);
        let updates_per_s = per_s(self.total.updates - before, since);
        let summary = self.total.latency.summary();
        if is_json {
            let mut object = json!({
                "total": true,
                "seconds": run.as_secs_f64(),
                "images": images.complete,
                "imagesSeconds": images_in.map(|time| time.as_secs_f64()),
                "updates": self.total.updates,
                "updatesPerSecond": updates_per_s,
                "statuses": self.total.statuses,
            });
            if let Some(summary) = &summary {
                object["latencyUs"] = latency_object(summary);
            }
            return vec![object.to_string()];
        }
        let quantiles = ["p50 us", "p90 us", "p99 us", "p99.9 us", "p99.99 us"];
        let mut table = table(&["update rate"], &quantiles);
        let mut cells = vec![rate(updates_per_s)];
        cells.extend(classic_cells(summary.as_ref()));
        cells.extend(quantile_cells(summary.as_ref(), |s| {
            [s.p50_us, s.p90_us, s.p99_us, s.p999_us, s.p9999_us]
        }));
        table.row(cells);
        let mut lines = vec![String::new(), images_line(images, images_in)];
        lines.extend(table.lines());
        lines
    }
}

fn per_s(count: u64, time: Duration) -> u64 {
    match time.is_zero() {
        true => 0,
        false => (count as f64 / time.as_secs_f64()).round() as u64,
    }
}

/// How many images came, and how fast.
fn images_line(images: Images, time: Option<Duration>) -> String {
    let Images { complete, refused, wanted } = images;
    let mut line = format!("{} of {} images", rate(complete as u64), rate(wanted as u64));
    if refused > 0 {
        let _ = write!(line, ", {} refused", rate(refused as u64));
    }
    if let Some(time) = time {
        let images_per_s = per_s(complete as u64, time);
        let _ = write!(line, " in {:.3} s ({}/s)", time.as_secs_f64(), rate(images_per_s));
    }
    line
}

/// Mean, standard deviation, max, min and number of points.
fn classic_cells(summary: Option<&Summary>) -> [String; 5] {
    summary.map_or_else(
        || ["-", "-", "-", "-", "0"].map(str::to_owned),
        |summary| {
            [
                format!("{:.1}", summary.mean_us),
                format!("{:.1}", summary.std_dev_us),
                summary.max_us.to_string(),
                summary.min_us.to_string(),
                rate(summary.count),
            ]
        },
    )
}

fn quantile_cells<const N: usize>(
    summary: Option<&Summary>,
    quantiles: impl Fn(&Summary) -> [u64; N],
) -> [String; N] {
    match summary {
        Some(summary) => quantiles(summary).map(|micros| micros.to_string()),
        None => [(); N].map(|()| "-".to_owned()),
    }
}

fn latency_object(summary: &Summary) -> Value {
    json!({
        "mean": summary.mean_us,
        "stdDev": summary.std_dev_us,
        "max": summary.max_us,
        "min": summary.min_us,
        "count": summary.count,
        "p50": summary.p50_us,
        "p90": summary.p90_us,
        "p99": summary.p99_us,
        "p99.9": summary.p999_us,
        "p99.99": summary.p9999_us,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const IMAGES: Images = Images { complete: 2, refused: 0, wanted: 2 };

    fn words(line: &str) -> Vec<&str> {
        line.split_whitespace().collect()
    }

    /// Three seconds: 2 updates, then 1 and images, then 5 after an update; with
    /// latencies of 10 to 30 µs.
    fn three_seconds(interval_s: Option<u64>) -> (Statistics, Instant, Vec<String>) {
        let start = Instant::now();
        let interval = interval_s.map(Duration::from_secs);
        let second = |count| start + Duration::from_secs(count);
        let mut statistics = Statistics::new(interval, start);
        statistics.update(Some(10));
        statistics.update(None);
        let mut lines = statistics.lines(second(1), IMAGES, false);
        statistics.note_turn(second(1), IMAGES);
        statistics.update(Some(20));
        lines.extend(statistics.lines(second(2), IMAGES, false));
        statistics.note_turn(second(2), IMAGES);
        for age in [Some(30), None, None, None, None] {
            statistics.update(age);
        }
        lines.extend(statistics.lines(second(3), IMAGES, false));
        statistics.note_turn(second(3), IMAGES);
        (statistics, second(3), lines)
    }

    #[test]
    fn each_interval_has_a_line_of_its_own() {
        let (_, _, lines) = three_seconds(Some(1));
        assert_eq!(lines.len(), 4, "{lines:?}");
        let first = ["1", "2/2", "2", "0", "10.0", "0.0", "10", "10", "1", "10", "10"];
        assert_eq!(words(&lines[1]), first);
        let third = ["3", "2/2", "5", "0", "30.0", "0.0", "30", "30", "1", "30", "30"];
        assert_eq!(words(&lines[3]), third);
    }

    #[test]
    fn the_last_table_has_all_latencies_and_the_rate_of_the_steady_state() {
        for interval_s in [Some(1), None] {
            let (mut statistics, end, lines) = three_seconds(interval_s);
            assert_eq!(lines.is_empty(), interval_s.is_none());
            let lines = statistics.total(end, IMAGES, false);
            assert_eq!(lines[1], "2 of 2 images in 1.000 s (2/s)");
            let heads = "update rate  mean us  std dev us  max us  min us  points  p50 us";
            assert!(lines[2].starts_with(heads), "{}", lines[2]);
            let figures = ["5", "20.0", "10.0", "30", "10", "3", "20", "30", "30", "30", "30"];
            assert_eq!(words(&lines[3]), figures);
        }
    }

    #[test]
    fn the_same_figures_are_there_as_json() {
        let (mut statistics, end, _) = three_seconds(Some(1));
        let lines = statistics.total(end, IMAGES, true);
        let object: Value = serde_json::from_str(&lines[0]).expect("JSON");
        assert_eq!((&object["total"], &object["images"]), (&true.into(), &2.into()));
        assert_eq!((&object["updates"], &object["updatesPerSecond"]), (&8.into(), &5.into()));
        let latency = &object["latencyUs"];
        assert_eq!((&latency["count"], &latency["mean"]), (&3.into(), &20.0.into()));
        assert_eq!((&latency["stdDev"], &latency["p99.99"]), (&10.0.into(), &30.into()));
    }

    #[test]
    fn without_latencies_their_cells_are_empty() {
        let start = Instant::now();
        let mut statistics = Statistics::new(None, start);
        let none = Images { complete: 0, refused: 1, wanted: 2 };
        let lines = statistics.total(start + Duration::from_secs(1), none, false);
        assert_eq!(lines[1], "0 of 2 images, 1 refused");
        assert_eq!(words(&lines[3]), ["0", "-", "-", "-", "-", "0", "-", "-", "-", "-", "-"]);
    }
}
