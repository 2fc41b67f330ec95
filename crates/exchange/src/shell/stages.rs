//! How long orders take from stage to stage in a market that runs.
//!
//! ```text
//!  read ──▶ asked ──▶ sequenced ──▶ kept ──▶ matched ──▶ told ──▶ published
//!   │ gateway │ sequencer │  journal  │ matching │ reports │ market data │
//!   └─────────────────────── order ──────────────────────┘
//! ```
//!
//! Of several requests that one entry has, the first is the one that has waited: the
//! sequencer and the whole are measured from there. Behind the first command of an entry,
//! matching is measured from where the command before was published.

use std::collections::VecDeque;

use hdrhistogram::Histogram;
use tapeline_counters::{Row, Rowed, View, Viewed};
use tapeline_time::{MonotonicClock, Time};

use crate::core::Stage;

/// What is told is of the last whole interval, of 10 s.
const INTERVAL_NS: u64 = 10_000_000_000;

/// Longer ones count as so long.
const LONGEST_NS: u64 = 60_000_000_000;

/// Entries that may be on their way to the journal and are measured.
const MOST_UNDER_WAY: usize = 100_000;

tapeline_counters::rows! {
    /// How long what clients ask for takes in each stage of the market, in the last whole
    /// 10 s. Sockets are not in it.
    pub struct StageRow = "stages" {
        /// `gateway`: from a client's bytes to the requests in them, looked at. `sequencer`:
        /// from the first request of an entry to the entry, with what its turn waits for.
        /// `journal`: until the entry is kept, and agreed on by replicas. `matching`: a
        /// command through the engine. `reports`: until owners of orders are told.
        /// `market data`: until it is given to the lines. `order`: from the first bytes of
        /// an entry to the reports of each of its commands.
        "stage" => stage: &'static str;
        /// How often.
        "samples" => samples: u64;
        /// The median.
        "p50Ns" => p50_ns: u64, in ns;
        /// What one in a hundred takes longer than.
        "p99Ns" => p99_ns: u64, in ns;
        /// What one in a thousand takes longer than.
        "p999Ns" => p999_ns: u64, in ns;
        /// The longest.
        "worstNs" => worst_ns: u64, in ns;
    }
}

const NAMES: [&str; 7] =
    ["gateway", "sequencer", "journal", "matching", "reports", "market data", "order"];

const GATEWAY: usize = 0;
const SEQUENCER: usize = 1;
const JOURNAL: usize = 2;
const MATCHING: usize = 3;
const REPORTS: usize = 4;
const MARKET_DATA: usize = 5;
const ORDER: usize = 6;

/// The times of one stage in one interval.
#[derive(Clone, Debug)]
struct Times {
    all_ns: Histogram<u32>,
    worst_ns: u64,
}

impl Times {
    fn new() -> Self {
        let all_ns = Histogram::new_with_bounds(1, LONGEST_NS, 2);
        // The bounds are as they must be, whatever the figures.
        Self { all_ns: all_ns.expect("the bounds of stages are in order"), worst_ns: 0 }
    }

    fn note(&mut self, ns: u64) {
        self.all_ns.saturating_record(ns.min(LONGEST_NS));
        self.worst_ns = self.worst_ns.max(ns);
    }

    fn clear(&mut self) {
        self.all_ns.reset();
        self.worst_ns = 0;
    }
}

/// An entry on its way to the journal.
#[derive(Clone, Copy, Debug)]
struct UnderWay {
    sequenced_ns: u64,
    /// When the first bytes of what it holds were read; none of what nobody asked for.
    read_ns: Option<u64>,
}

/// The stages of a market.
#[derive(Debug)]
pub struct Stages {
    clock: MonotonicClock,
    /// Of the interval that goes on, and of the last one.
    present: Vec<Times>,
    last: Vec<Times>,
    began_ns: u64,
    /// When the last stage was reached.
    reached_ns: u64,
    /// The first bytes, and the first request, that no entry has yet.
    read_ns: Option<u64>,
    asked_ns: Option<u64>,
    under_way: VecDeque<UnderWay>,
    /// When the first bytes were read of the entry that is being done.
    order_ns: Option<u64>,
}

impl Stages {
    pub(super) fn new() -> Self {
        let times = || NAMES.iter().map(|_| Times::new()).collect();
        Self {
            clock: MonotonicClock::start(),
            present: times(),
            last: times(),
            began_ns: 0,
            reached_ns: 0,
            read_ns: None,
            asked_ns: None,
            under_way: VecDeque::with_capacity(1_024),
            order_ns: None,
        }
    }

    /// Something has come so far, now.
    pub(super) fn reached(&mut self, stage: Stage) {
        self.note(stage, self.clock.now().as_nanos());
    }

    fn note(&mut self, stage: Stage, now_ns: u64) {
        let since_last_ns = now_ns.saturating_sub(self.reached_ns);
        match stage {
            Stage::Read => {
                self.read_ns.get_or_insert(now_ns);
            }
            Stage::Asked => {
                self.add(GATEWAY, since_last_ns);
                self.asked_ns.get_or_insert(now_ns);
            }
            Stage::Sequenced => {
                let (read_ns, asked_ns) = (self.read_ns.take(), self.asked_ns.take());
                if let Some(asked_ns) = asked_ns {
                    self.add(SEQUENCER, now_ns.saturating_sub(asked_ns));
                }
                if self.under_way.len() < MOST_UNDER_WAY {
                    self.under_way.push_back(UnderWay { sequenced_ns: now_ns, read_ns });
                }
            }
            Stage::Kept => {
                let entry = self.under_way.pop_front();
                self.order_ns = entry.and_then(|entry| entry.read_ns);
                if let Some(UnderWay { sequenced_ns, .. }) = entry {
                    self.add(JOURNAL, now_ns.saturating_sub(sequenced_ns));
                }
            }
            Stage::Matched => self.add(MATCHING, since_last_ns),
            Stage::Told => {
                self.add(REPORTS, since_last_ns);
                if let Some(read_ns) = self.order_ns {
                    self.add(ORDER, now_ns.saturating_sub(read_ns));
                }
            }
            Stage::Published => self.add(MARKET_DATA, since_last_ns),
        }
        self.reached_ns = now_ns;
    }

    fn add(&mut self, stage: usize, ns: u64) {
        self.present[stage].note(ns);
    }

    /// A turn ends: what asked for something is in an entry by now.
    pub(super) fn end_turn(&mut self, now: Time) {
        (self.read_ns, self.asked_ns) = (None, None);
        let now_ns = now.as_nanos();
        if now_ns.saturating_sub(self.began_ns) >= INTERVAL_NS {
            self.began_ns = now_ns;
            std::mem::swap(&mut self.present, &mut self.last);
            self.present.iter_mut().for_each(Times::clear);
        }
    }
}

impl Viewed for Stages {
    fn views(&self) -> &'static [&'static View] {
        &[StageRow::VIEW]
    }

    fn places(&self, view: &View) -> u32 {
        if view.name == StageRow::VIEW.name { NAMES.len() as u32 } else { 0 }
    }

    /// Of the last whole interval, or of what there is of the first one.
    fn row(&self, view: &View, place: u32) -> Option<Row> {
        let place = place as usize;
        let stage = NAMES.get(place).filter(|_| view.name == StageRow::VIEW.name)?;
        let [last, present] = [&self.last[place], &self.present[place]];
        let shown = if last.all_ns.is_empty() { present } else { last };
        // They are known to one in a hundred, the worst one to the nanosecond.
        let at = |quantile| shown.all_ns.value_at_quantile(quantile).min(shown.worst_ns);
        let row = StageRow {
            stage,
            samples: shown.all_ns.len(),
            p50_ns: at(0.5),
            p99_ns: at(0.99),
            p999_ns: at(0.999),
            worst_ns: shown.worst_ns,
        };
        (!shown.all_ns.is_empty()).then(|| row.into_row())
    }
}

#[cfg(test)]
mod tests {
    use tapeline_counters::Value;

    use super::*;

    /// Each stage with samples: how many, and the longest.
    fn shown(stages: &Stages) -> Vec<(String, u64, u64)> {
        let rows = (0..NAMES.len() as u32).filter_map(|at| stages.row(StageRow::VIEW, at));
        let number = |value: &Value| match value {
            Value::Number(number) => *number,
            other => panic!("{other:?}"),
        };
        rows.map(|row| {
            let Value::Text(stage) = &row[0] else { panic!("{row:?}") };
            (stage.to_string(), number(&row[1]), number(&row[5]))
        })
        .collect()
    }

    fn walk(stages: &mut Stages, way: &[(Stage, u64)]) {
        for (stage, at_ns) in way {
            stages.note(*stage, *at_ns);
        }
    }

    fn expected(all: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
        all.iter().map(|(stage, samples, worst)| ((*stage).to_owned(), *samples, *worst)).collect()
    }

    #[test]
    fn two_requests_of_one_entry_are_measured_from_the_first() {
        let mut stages = Stages::new();
        walk(
            &mut stages,
            &[
                (Stage::Read, 1_000),
                (Stage::Asked, 1_020),
                (Stage::Read, 1_100),
                (Stage::Asked, 1_130),
                (Stage::Sequenced, 1_200),
                (Stage::Kept, 1_205),
                (Stage::Matched, 1_215),
                (Stage::Told, 1_222),
                (Stage::Published, 1_226),
                (Stage::Matched, 1_240),
                (Stage::Told, 1_245),
                (Stage::Published, 1_248),
            ],
        );
        assert_eq!(
            shown(&stages),
            expected(&[
                ("gateway", 2, 30),
                ("sequencer", 1, 180),
                ("journal", 1, 5),
                ("matching", 2, 14),
                ("reports", 2, 7),
                ("market data", 2, 4),
                ("order", 2, 245),
            ])
        );
    }

    #[test]
    fn entries_are_kept_in_their_order_while_others_come() {
        let mut stages = Stages::new();
        walk(
            &mut stages,
            &[
                (Stage::Read, 0),
                (Stage::Asked, 10),
                (Stage::Sequenced, 20),
                (Stage::Read, 500),
                (Stage::Asked, 510),
                (Stage::Sequenced, 520),
                // A tick, which nobody asked for.
                (Stage::Sequenced, 600),
                (Stage::Kept, 1_020),
                (Stage::Told, 1_030),
                (Stage::Kept, 1_120),
                (Stage::Told, 1_130),
                (Stage::Kept, 1_700),
                (Stage::Told, 1_800),
                // An entry that another one made, who led before.
                (Stage::Kept, 9_000),
                (Stage::Told, 9_100),
            ],
        );
        let found = shown(&stages);
        let of = |name: &str| found.iter().find(|(stage, ..)| stage == name).cloned();
        assert_eq!(of("journal"), Some(("journal".to_owned(), 3, 1_100)));
        assert_eq!(of("order"), Some(("order".to_owned(), 2, 1_030)));
    }

    #[test]
    fn what_is_told_is_of_the_last_whole_interval() {
        let mut stages = Stages::new();
        let mut sample = |at_ns, ns| {
            stages.end_turn(Time::from_nanos(at_ns));
            walk(&mut stages, &[(Stage::Read, at_ns), (Stage::Asked, at_ns + ns)]);
            shown(&stages)[0].clone()
        };
        assert_eq!(sample(1, 50), ("gateway".to_owned(), 1, 50));
        assert_eq!(sample(INTERVAL_NS, 60), ("gateway".to_owned(), 1, 50));
        assert_eq!(sample(INTERVAL_NS + 1, 70), ("gateway".to_owned(), 1, 50));
        assert_eq!(sample(2 * INTERVAL_NS, 80), ("gateway".to_owned(), 2, 70));
    }

    #[test]
    fn bytes_that_ask_for_nothing_do_not_count_for_what_comes_later() {
        let mut stages = Stages::new();
        // A heartbeat, in a turn that makes no entry.
        walk(&mut stages, &[(Stage::Read, 0), (Stage::Asked, 5)]);
        stages.end_turn(Time::from_nanos(1_000_000));
        walk(&mut stages, &[(Stage::Read, 1_000_000), (Stage::Asked, 1_000_010)]);
        walk(&mut stages, &[(Stage::Sequenced, 1_000_030)]);
        assert_eq!(shown(&stages)[1], ("sequencer".to_owned(), 1, 20));
    }
}
