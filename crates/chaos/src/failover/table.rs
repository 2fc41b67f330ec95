//! All interruptions of a case, as a row of a table.

use serde_json::{Value, json};
use tapeline_measure::table::Table;

use super::{Case, Interruption};

/// What all rounds of a case came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    case: Case,
    seen: Vec<Interruption>,
    requests: Vec<u64>,
    broken: Vec<String>,
}

impl Outcome {
    /// One without rounds yet.
    pub fn new(case: Case) -> Self {
        Self { case, seen: Vec::new(), requests: Vec::new(), broken: Vec::new() }
    }

    /// Adds a round, in which sources had so many requests.
    pub fn add(&mut self, seen: Interruption, requests: u64) {
        self.broken.extend(self.case.broken_by(&seen, requests));
        self.seen.push(seen);
        self.requests.push(requests);
    }

    /// What broke the promise of the case, in words.
    pub fn broken(&self) -> &[String] {
        &self.broken
    }

    /// A figure of all rounds: the middle one and the largest.
    fn spread(&self, figure: impl Fn(&Interruption) -> u64) -> Spread {
        Spread::of(self.seen.iter().map(figure))
    }

    /// All figures of it.
    pub fn json(&self) -> Value {
        let requests = Spread::of(self.requests.iter().copied());
        json!({
            "case": self.case.name(),
            "what": self.case.what(),
            "rounds": self.seen.len(),
            "firstUs": self.spread(|it| it.first_us).json(),
            "lastUs": self.spread(|it| it.last_us).json(),
            "silenceUs": self.spread(|it| it.silence_us).json(),
            "images": self.spread(|it| it.images).json(),
            "stale": self.spread(|it| it.stale).json(),
            "closed": self.spread(|it| it.closed).json(),
            "requests": requests.json(),
            "broken": self.broken,
        })
    }

    /// All figures of all of them.
    pub fn all_json(outcomes: &[Self]) -> Value {
        json!({ "failovers": outcomes.iter().map(Self::json).collect::<Vec<_>>() })
    }

    /// All outcomes as a table, times in milliseconds.
    pub fn table(outcomes: &[Self]) -> String {
        let mut table = Table::new(&[
            "what dies",
            "times",
            "first item",
            "worst",
            "last item",
            "worst",
            "silence",
            "worst",
            "stale",
            "images",
            "requests",
        ]);
        for outcome in outcomes {
            let mut row = vec![outcome.case.what().to_owned(), outcome.seen.len().to_string()];
            for spread in [
                outcome.spread(|it| it.first_us),
                outcome.spread(|it| it.last_us),
                outcome.spread(|it| it.silence_us),
            ] {
                row.extend([spread.middle, spread.most].map(milliseconds));
            }
            row.push(outcome.spread(|it| it.stale).middle.to_string());
            row.push(outcome.spread(|it| it.images).middle.to_string());
            row.push(Spread::of(outcome.requests.iter().copied()).middle.to_string());
            table.row(row);
        }
        table.to_string()
    }
}

fn milliseconds(us: u64) -> String {
    format!("{:.1}", us as f64 / 1_000.0)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spread {
    middle: u64,
    most: u64,
}

impl Spread {
    fn of(figures: impl Iterator<Item = u64>) -> Self {
        let mut figures: Vec<_> = figures.collect();
        figures.sort_unstable();
        let middle = figures.get(figures.len() / 2).copied().unwrap_or(0);
        Self { middle, most: figures.last().copied().unwrap_or(0) }
    }

    fn json(self) -> Value {
        json!({ "p50": self.middle, "worst": self.most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_the_middle_and_the_worst_of_all_rounds() {
        let mut outcome = Outcome::new(Case::Mirrored);
        for (first_us, requests) in [(3_000, 0), (9_000, 0), (1_000, 2)] {
            let seen = Interruption { first_us, last_us: 2 * first_us, ..Default::default() };
            outcome.add(seen, requests);
        }
        assert_eq!(outcome.broken(), ["sources had 2 requests"]);
        let row = &Outcome::all_json(&[outcome.clone()])["failovers"][0];
        assert_eq!(row["firstUs"], json!({ "p50": 3_000, "worst": 9_000 }));
        assert_eq!(row["lastUs"]["worst"], json!(18_000));
        assert_eq!(row["requests"], json!({ "p50": 0, "worst": 2 }));
        let table = Outcome::table(&[outcome]);
        assert!(table.contains("mirrored ones killed"), "{table}");
        let figures = table.lines().nth(1).unwrap_or_default().split_whitespace();
        let figures: Vec<_> = figures.rev().take(10).collect();
        assert_eq!(figures[3..], ["0.0", "0.0", "18.0", "6.0", "9.0", "3.0", "3"]);
    }
}
