//! What was found, fault by fault: as a table, as histograms, as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};
use tapeline_measure::table::Table;

use crate::fault::Fault;
use crate::ledger::Times;

/// Bounds of the histograms' columns, in milliseconds.
const BOUNDS_MS: [u64; 7] = [10, 30, 100, 300, 1_000, 3_000, 10_000];

/// What one episode came to.
#[derive(Clone, Debug)]
pub struct Episode {
    /// What broke.
    pub fault: Fault,
    /// Items of consumers that were told of, with their times.
    pub times: Vec<Times>,
    /// All items of all consumers.
    pub items: usize,
    /// What must not be, in words.
    pub breaches: Vec<String>,
}

/// All episodes of a fault.
#[derive(Clone, Debug, Default)]
struct Row {
    episodes: u64,
    items: u64,
    told_us: Vec<u64>,
    healed_us: Vec<u64>,
    breaches: Vec<String>,
}

/// All episodes.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    rows: BTreeMap<Fault, Row>,
}

impl Tally {
    /// Adds one.
    pub fn add(&mut self, episode: Episode) {
        let row = self.rows.entry(episode.fault).or_default();
        row.episodes += 1;
        row.items += episode.items as u64;
        row.told_us.extend(episode.times.iter().map(|times| times.told_us));
        row.healed_us.extend(episode.times.iter().map(|times| times.healed_us));
        row.told_us.sort_unstable();
        row.healed_us.sort_unstable();
        row.breaches.extend(episode.breaches);
    }

    /// How many there were.
    pub fn episodes(&self) -> u64 {
        self.rows.values().map(|row| row.episodes).sum()
    }

    /// What must not be, in words, with the fault that it came with.
    pub fn breaches(&self) -> impl Iterator<Item = (Fault, &str)> {
        self.rows
            .iter()
            .flat_map(|(fault, row)| row.breaches.iter().map(|text| (*fault, text.as_str())))
    }

    /// Faults, and how long everything took; then how the times are spread.
    pub fn table(&self) -> String {
        let head =
            ["fault", "times", "told", "told p50", "worst", "healed p50", "worst", "unnoticed"];
        let mut table = Table::new(&head);
        for (fault, row) in &self.rows {
            let told = row.told_us.len() as u64 * 100;
            table.row(vec![
                fault.about().what.to_owned(),
                row.episodes.to_string(),
                format!("{} %", told.div_ceil(row.items.max(1))),
                ms(middle(&row.told_us)),
                ms(row.told_us.last().copied()),
                ms(middle(&row.healed_us)),
                ms(row.healed_us.last().copied()),
                row.breaches.len().to_string(),
            ]);
        }
        table.to_string()
    }

    /// How many items of consumers were told, and were well again, within how
    /// long.
    pub fn histograms(&self) -> String {
        let bounds = BOUNDS_MS.map(|bound| format!("{bound} ms"));
        let head: Vec<&str> =
            ["fault", "until"].into_iter().chain(bounds.iter().map(String::as_str)).collect();
        let mut table = Table::new(&[&head[..], &["more"]].concat());
        for (fault, row) in self.rows.iter().filter(|(_, row)| !row.told_us.is_empty()) {
            for (until, times_us) in [("told", &row.told_us), ("healed", &row.healed_us)] {
                let name = if until == "told" { fault.about().what } else { "" };
                let counts = spread(times_us).map(|count| match count {
                    0 => "·".to_owned(),
                    count => count.to_string(),
                });
                table.row([name.to_owned(), until.to_owned()].into_iter().chain(counts).collect());
            }
        }
        table.to_string()
    }

    /// All of it for a program.
    pub fn json(&self) -> Value {
        let row = |(fault, row): (&Fault, &Row)| {
            let times = |times_us: &[u64]| {
                json!({
                    "count": times_us.len(),
                    "p50_ms": middle(times_us).map(in_ms),
                    "worst_ms": times_us.last().copied().map(in_ms),
                    "histogram": spread(times_us),
                })
            };
            json!({
                "fault": fault.about().name,
                "what": fault.about().what,
                "episodes": row.episodes,
                "items": row.items,
                "told": times(&row.told_us),
                "healed": times(&row.healed_us),
                "unnoticed": row.breaches.len(),
                "breaches": row.breaches,
            })
        };
        json!({
            "histogram_bounds_ms": BOUNDS_MS,
            "faults": self.rows.iter().map(row).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Episode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let worst = |of: fn(&Times) -> u64| ms(self.times.iter().map(of).max());
        write!(
            f,
            "{:<16} told {:>4} of {} after {} ms, healed after {} ms",
            self.fault,
            self.times.len(),
            self.items,
            worst(|times| times.told_us),
            worst(|times| times.healed_us),
        )
    }
}

/// The middle of sorted times.
fn middle(sorted_us: &[u64]) -> Option<u64> {
    (!sorted_us.is_empty()).then(|| sorted_us[sorted_us.len() / 2])
}

fn in_ms(us: u64) -> f64 {
    us as f64 / 1e3
}

fn ms(us: Option<u64>) -> String {
    us.map_or_else(|| "–".to_owned(), |us| format!("{:.0}", in_ms(us)))
}

/// How many are in each column of the histogram, the last one without a bound.
fn spread(times_us: &[u64]) -> [u64; BOUNDS_MS.len() + 1] {
    let mut counts = [0; BOUNDS_MS.len() + 1];
    for time_us in times_us {
        let column = BOUNDS_MS.iter().position(|bound_ms| *time_us <= bound_ms * 1_000);
        counts[column.unwrap_or(BOUNDS_MS.len())] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally() -> Tally {
        let mut tally = Tally::default();
        let times = |told_us, healed_us| Times { told_us, healed_us };
        tally.add(Episode {
            fault: Fault::HubKilled,
            times: vec![times(500_000, 700_400), times(520_000, 20_000_000)],
            items: 4,
            breaches: Vec::new(),
        });
        tally.add(Episode {
            fault: Fault::DatagramsLost,
            times: Vec::new(),
            items: 4,
            breaches: vec!["item 3: lost without notice: 5 after 3".to_owned()],
        });
        tally
    }

    #[test]
    fn the_table_is_in_line() {
        assert_eq!(
            tally().table(),
            "fault                   times  told  told p50  worst  healed p50  worst  unnoticed\n\
             one of two hubs killed      1  50 %       520    520       20000  20000          0\n\
             5 % of datagrams lost       1   0 %         –      –           –      –          1\n"
        );
    }

    #[test]
    fn histograms_leave_out_who_was_told_nothing() {
        let text = tally().histograms();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(
            text.lines().nth(1).expect("told").ends_with("2        ·         ·     ·"),
            "{text}"
        );
        assert!(text.lines().nth(2).expect("healed").ends_with('1'), "{text}");
    }

    #[test]
    fn json_has_the_same() {
        let json = tally().json();
        let hub = &json["faults"][0];
        assert_eq!((&hub["fault"], &hub["told"]["count"]), (&json!("hub-killed"), &json!(2)));
        assert_eq!(hub["healed"]["worst_ms"], json!(20_000.0));
        assert_eq!(json["faults"][1]["told"]["p50_ms"], Value::Null);
        assert_eq!(json["faults"][1]["unnoticed"], json!(1));
    }
}
