//! What round trips are made of, by the moments that kernel and card tell.

use std::fmt::Write as _;

use hdrhistogram::Histogram;
use tapeline_measure::histogram::latencies;
use tapeline_measure::record::Hop;

use crate::wire::Stamped;

/// A part of a round trip: whose moments it has, and between which two it is.
struct Part {
    name: &'static str,
    teller: &'static str,
    between: fn(&Stamped) -> Option<(u64, u64)>,
}

/// `send`, `outside` and `receive` are the whole; the others are within
/// `outside`.
const PARTS: [Part; 5] = [
    Part { name: "send", teller: "kernel", between: |at| Some((at.called_ns, at.left_ns?)) },
    Part { name: "outside", teller: "kernel", between: |at| Some((at.left_ns?, at.came_ns?)) },
    Part {
        name: "cards",
        teller: "card",
        between: |at| Some((at.left_card_ns?, at.came_card_ns?)),
    },
    Part { name: "wire", teller: "card", between: |at| Some((at.came_card_ns?, at.came_ns?)) },
    Part { name: "receive", teller: "kernel", between: |at| Some((at.came_ns?, at.taken_ns)) },
];

/// The parts of the round trips of a size, in nanoseconds.
pub(super) struct Parts {
    times: [Histogram<u64>; PARTS.len()],
    round_trips: u64,
    /// Of a moment that is later than the one behind it.
    pub(super) clock_errors: u64,
    /// Round trips of which the kernel did not tell both of its moments.
    pub(super) untold: u64,
}

impl Parts {
    pub(super) fn new() -> Self {
        let times = std::array::from_fn(|_| latencies());
        Self { times, round_trips: 0, clock_errors: 0, untold: 0 }
    }

    pub(super) fn clear(&mut self) {
        self.times.iter_mut().for_each(Histogram::reset);
        (self.round_trips, self.clock_errors, self.untold) = (0, 0, 0);
    }

    pub(super) fn add(&mut self, at: &Stamped) {
        self.round_trips += 1;
        self.untold += u64::from(at.left_ns.is_none() || at.came_ns.is_none());
        for (part, times) in PARTS.iter().zip(&mut self.times) {
            let Some((from, to)) = (part.between)(at) else { continue };
            match to.checked_sub(from) {
                Some(nanos) => times.saturating_record(nanos),
                None => self.clock_errors += 1,
            }
        }
    }

    /// Those of which there is something.
    fn told(&self) -> impl Iterator<Item = (&'static Part, &Histogram<u64>)> {
        PARTS.iter().zip(&self.times).filter(|(_, times)| !times.is_empty())
    }

    pub(super) fn hops(&self) -> Vec<Hop> {
        let hop = |(part, times): (&Part, &Histogram<u64>)| {
            let at = |share: f64| times.value_at_quantile(share);
            let (name, kind) = (part.name.to_owned(), part.teller.to_owned());
            let (p50_ns, p99_ns, p999_ns) = (at(0.5), at(0.99), at(0.999));
            Hop { name, kind, predicted_ns: 0.0, p50_ns, p99_ns, p999_ns }
        };
        self.told().map(hop).collect()
    }

    /// A row a part, below the row of its size.
    pub(super) fn human_rows(&self) -> String {
        let mut text = String::new();
        for (part, times) in self.told() {
            let micros = |nanos: u64| format!("{:.2}", nanos as f64 / 1000.0);
            let told = |percentile: f64| {
                let beyond = times.len() as f64 * (100.0 - percentile) / 100.0;
                match beyond + 1e-6 < 10.0 {
                    true => "-".to_owned(),
                    false => micros(times.value_at_percentile(percentile)),
                }
            };
            let _ = writeln!(
                text,
                "{:>8}{:>10}{:>10}{:>10}{:>10}{:>10}{:>8}{:>10}",
                part.name,
                told(50.0),
                told(99.0),
                told(99.9),
                told(99.99),
                micros(times.max()),
                "",
                times.len()
            );
        }
        if self.untold + self.clock_errors > 0 {
            let _ = writeln!(
                text,
                "{:>8} of {} round trips the kernel did not tell both moments; {} were in the \
                 wrong order",
                self.untold, self.round_trips, self.clock_errors
            );
        }
        text
    }

    /// One line that readers of the classic rows pass over, in nanoseconds.
    pub(super) fn classic_line(&self, size: usize) -> String {
        let of = |(part, times): (&Part, &Histogram<u64>)| {
            let at = |share: f64| times.value_at_quantile(share);
            format!(" {} p50={} p99={} max={}", part.name, at(0.5), at(0.99), times.max())
        };
        let parts: Vec<String> = self.told().map(of).collect();
        let (untold, errors) = (self.untold, self.clock_errors);
        format!("# stamps {size}:{}; untold={untold} clock_errors={errors}\n", parts.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OF_KERNEL: Stamped = Stamped {
        called_ns: 1_000,
        left_ns: Some(2_000),
        left_card_ns: None,
        came_card_ns: None,
        came_ns: Some(12_000),
        taken_ns: 15_000,
    };

    #[test]
    fn a_round_trip_is_taken_apart() {
        let mut parts = Parts::new();
        // The card's clock is another one.
        let all = Stamped { left_card_ns: Some(100), came_card_ns: Some(9_100), ..OF_KERNEL };
        parts.add(&all);
        let expected = [
            ("send", "kernel", 1_000),
            ("outside", "kernel", 10_000),
            ("cards", "card", 9_000),
            ("wire", "card", 2_900),
            ("receive", "kernel", 3_000),
        ];
        let hops = parts.hops();
        assert_eq!(hops.len(), expected.len());
        for (hop, (name, teller, nanos)) in hops.iter().zip(expected) {
            assert_eq!((&hop.name[..], &hop.kind[..]), (name, teller));
            // To three digits.
            assert!(hop.p50_ns.abs_diff(nanos) <= nanos / 1000, "{hop:?}");
        }
    }

    #[test]
    fn what_was_not_told_is_absent_and_counted() {
        let mut parts = Parts::new();
        parts.add(&OF_KERNEL);
        parts.add(&Stamped { left_ns: None, ..OF_KERNEL });
        // The system's clock was set back meanwhile.
        parts.add(&Stamped { taken_ns: 11_000, ..OF_KERNEL });
        assert_eq!((parts.untold, parts.clock_errors), (1, 1));
        let names: Vec<_> = parts.hops().into_iter().map(|hop| hop.name).collect();
        assert_eq!(names, ["send", "outside", "receive"]);
        let line = parts.classic_line(64);
        assert!(line.starts_with("# stamps 64: send p50="), "{line}");
        assert!(line.ends_with("untold=1 clock_errors=1\n"), "{line}");
        let rows = parts.human_rows();
        assert_eq!(rows.lines().count(), 4, "{rows}");
        parts.clear();
        assert_eq!((parts.hops().len(), parts.human_rows().len()), (0, 0));
    }
}
