//! Latencies summed up.

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// Latencies above this count as this, in nanoseconds.
const MAX_NS: u64 = 60_000_000_000;

/// Latencies of one run, in nanoseconds, to three digits.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    nanos: Histogram<u64>,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        let nanos = Histogram::new_with_bounds(1, MAX_NS, 3).expect("the bounds are in order");
        Self { nanos }
    }

    #[inline]
    pub(crate) fn record(&mut self, nanos: u64) {
        self.nanos.saturating_record(nanos.max(1));
    }

    pub(crate) fn clear(&mut self) {
        self.nanos.reset();
    }

    pub(crate) fn summary(&self) -> Summary {
        let at = |share: f64| self.nanos.value_at_quantile(share) as f64 / 1000.0;
        Summary {
            count: self.nanos.len(),
            mean_us: self.nanos.mean() / 1000.0,
            stdev_us: self.nanos.stdev() / 1000.0,
            min_us: self.nanos.min() as f64 / 1000.0,
            p50_us: at(0.5),
            p99_us: at(0.99),
            p999_us: at(0.999),
            p9999_us: at(0.9999),
            max_us: self.nanos.max() as f64 / 1000.0,
        }
    }
}

/// What is told of latencies, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Summary {
    /// How many there were.
    pub(crate) count: u64,
    /// Mean.
    pub(crate) mean_us: f64,
    /// Standard deviation.
    pub(crate) stdev_us: f64,
    /// Smallest.
    pub(crate) min_us: f64,
    /// Median.
    pub(crate) p50_us: f64,
    /// 99 % are not above this.
    pub(crate) p99_us: f64,
    /// 99.9 % are not above this.
    pub(crate) p999_us: f64,
    /// 99.99 % are not above this.
    pub(crate) p9999_us: f64,
    /// Largest.
    pub(crate) max_us: f64,
}

impl Summary {
    pub(crate) fn to_json(self) -> Value {
        json!({
            "count": self.count,
            "mean_us": self.mean_us,
            "stdev_us": self.stdev_us,
            "min_us": self.min_us,
            "p50_us": self.p50_us,
            "p99_us": self.p99_us,
            "p999_us": self.p999_us,
            "p9999_us": self.p9999_us,
            "max_us": self.max_us,
        })
    }
}

/// The middle of some figures; NaN of none.
pub(crate) fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_unstable_by(f64::total_cmp);
    match (figures.len(), figures.len() / 2) {
        (0, _) => f64::NAN,
        (count, middle) if count % 2 == 1 => figures[middle],
        (_, middle) => f64::midpoint(figures[middle - 1], figures[middle]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(value: f64, expected: f64) -> bool {
        (value - expected).abs() <= expected * 0.002
    }

    #[test]
    fn figures_are_those_of_the_uniform_distribution() {
        let mut latencies = Latencies::new();
        (1..=100_000).for_each(|n| latencies.record(n * 10));
        let summary = latencies.summary();
        assert_eq!(summary.count, 100_000);
        assert!(near(summary.mean_us, 500.0), "{summary:?}");
        assert!(near(summary.stdev_us, 1000.0 / 12.0_f64.sqrt()), "{summary:?}");
        assert!(near(summary.p50_us, 500.0), "{summary:?}");
        assert!(near(summary.p99_us, 990.0), "{summary:?}");
        assert!(near(summary.p999_us, 999.0), "{summary:?}");
        assert!(near(summary.max_us, 1000.0), "{summary:?}");
        latencies.clear();
        assert_eq!(latencies.summary().count, 0);
    }

    #[test]
    fn a_stall_shows_when_latency_is_from_the_schedule() {
        // 1,000 updates a second for 10 s; nothing moves for one second.
        let (mut from_schedule, mut from_send) = (Latencies::new(), Latencies::new());
        for n in 0..10_000_u64 {
            let due = n * 1_000_000;
            let sent = if (4_000..5_000).contains(&n) { 5_000_000_000 } else { due };
            let received = sent + 10_000;
            from_schedule.record(received - due);
            from_send.record(received - sent);
        }
        assert!(from_schedule.summary().p99_us > 800_000.0, "{:?}", from_schedule.summary());
        assert!(near(from_send.summary().p99_us, 10.0), "{:?}", from_send.summary());
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert!(near(median([3.0, 1.0, 2.0]), 2.0));
        assert!(near(median([4.0, 1.0, 2.0, 3.0]), 2.5));
        assert!(median([]).is_nan());
    }
}
