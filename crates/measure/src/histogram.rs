//! Latencies summed up.
//!
//! All are kept in histograms, never as means of means: histograms of several
//! clients, seconds or rounds are added, and every percentile is of the sum.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};
use serde::{Deserialize, Serialize};

/// Latencies above this count as this, in nanoseconds.
const MAX_LATENCY_NS: u64 = 60_000_000_000;

/// An empty histogram of latencies in nanoseconds, to three digits.
#[expect(clippy::missing_panics_doc, reason = "the bounds are constants, in order")]
pub fn latencies() -> Histogram<u64> {
    Histogram::new_with_bounds(1, MAX_LATENCY_NS, 3).expect("the bounds are in order")
}

/// The middle of some figures; NaN of none.
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.into_iter().collect();
    figures.sort_unstable_by(f64::total_cmp);
    match (figures.len(), figures.len() / 2) {
        (0, _) => f64::NAN,
        (count, middle) if count % 2 == 1 => figures[middle],
        (_, middle) => f64::midpoint(figures[middle - 1], figures[middle]),
    }
}

/// What is told of latencies, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Distribution {
    /// How many there were.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Standard deviation of these, not an estimate for others.
    pub stddev_ns: f64,
    /// Smallest.
    pub min_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// Median.
    pub p50_ns: u64,
    /// 90 % are not above this.
    pub p90_ns: u64,
    /// 99 % are not above this.
    pub p99_ns: u64,
    /// 99.9 % are not above this.
    pub p999_ns: u64,
    /// 99.99 % are not above this.
    pub p9999_ns: u64,
}

impl Distribution {
    /// Sums up latencies in nanoseconds; `None` of none.
    ///
    /// All figures have the precision of the histogram, so with three digits
    /// they are right to 0.1 %.
    pub fn of(nanos: &Histogram<u64>) -> Option<Self> {
        (!nanos.is_empty()).then(|| Self {
            count: nanos.len(),
            mean_ns: nanos.mean(),
            stddev_ns: nanos.stdev(),
            min_ns: nanos.min(),
            max_ns: nanos.max(),
            p50_ns: nanos.value_at_quantile(0.5),
            p90_ns: nanos.value_at_quantile(0.9),
            p99_ns: nanos.value_at_quantile(0.99),
            p999_ns: nanos.value_at_quantile(0.999),
            p9999_ns: nanos.value_at_quantile(0.9999),
        })
    }
}

/// A histogram as text: the compressed V2 form of HDR histogram logs, in
/// base64. `None` of one with nothing in it.
pub fn to_hdr(nanos: &Histogram<u64>) -> Option<String> {
    let mut bytes = Vec::new();
    let is_written = V2DeflateSerializer::new().serialize(nanos, &mut bytes).is_ok();
    (is_written && !nanos.is_empty()).then(|| STANDARD.encode(bytes))
}

/// Reads what [`to_hdr`] has written; `None` of anything else.
pub fn from_hdr(text: &str) -> Option<Histogram<u64>> {
    let bytes = STANDARD.decode(text).ok()?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: u32 = 1_000_000;

    /// The distribution whose share `q` of values is below `value(q)`.
    fn of(value_ns: impl Fn(f64) -> f64) -> Distribution {
        let mut nanos = latencies();
        for n in 0..COUNT {
            let share = (f64::from(n) + 0.5) / f64::from(COUNT);
            nanos.record(value_ns(share).round() as u64).unwrap();
        }
        Distribution::of(&nanos).unwrap()
    }

    /// Within the 0.1 % of a histogram of three digits.
    #[track_caller]
    fn assert_near(figure: f64, expected: f64) {
        assert!((figure - expected).abs() <= expected * 0.001 + 1.0, "{figure} is not {expected}");
    }

    #[track_caller]
    fn assert_percentiles(of: &Distribution, value_ns: impl Fn(f64) -> f64) {
        assert_near(of.p50_ns as f64, value_ns(0.5));
        assert_near(of.p90_ns as f64, value_ns(0.9));
        assert_near(of.p99_ns as f64, value_ns(0.99));
        assert_near(of.p999_ns as f64, value_ns(0.999));
        assert_near(of.p9999_ns as f64, value_ns(0.9999));
    }

    #[test]
    fn figures_are_those_of_the_uniform_distribution() {
        // Of 10 to 1,010 µs.
        let value = |share: f64| 10_000.0 + share * 1_000_000.0;
        let figures = of(value);
        assert_percentiles(&figures, value);
        assert_eq!(figures.count, u64::from(COUNT));
        assert_near(figures.mean_ns, 510_000.0);
        assert_near(figures.stddev_ns, 1_000_000.0 / 12.0_f64.sqrt());
        assert_near(figures.min_ns as f64, 10_000.0);
        assert_near(figures.max_ns as f64, 1_010_000.0);
    }

    #[test]
    fn figures_are_those_of_the_exponential_distribution() {
        let mean = 250_000.0;
        let value = |share: f64| -mean * (1.0 - share).ln();
        let figures = of(value);
        assert_percentiles(&figures, value);
        assert_near(figures.mean_ns, mean);
        assert_near(figures.stddev_ns, mean);
    }

    #[test]
    fn figures_are_those_of_a_distribution_with_two_modes() {
        // 98 % at 10 µs, 2 % at 5 ms: a cache that misses.
        let value = |share: f64| if share < 0.98 { 10_000.0 } else { 5_000_000.0 };
        let figures = of(value);
        assert_percentiles(&figures, value);
        let mean = 0.98 * 10_000.0 + 0.02 * 5_000_000.0;
        assert_near(figures.mean_ns, mean);
        assert_near(figures.stddev_ns, (0.98_f64 * 0.02).sqrt() * 4_990_000.0);
    }

    #[test]
    fn added_histograms_are_as_if_all_were_recorded_in_one() {
        let (mut all, mut even, mut odd) = (latencies(), latencies(), latencies());
        for n in 1..=100_000_u64 {
            let value = n * n;
            all.record(value).unwrap();
            if n % 2 == 0 { &mut even } else { &mut odd }.record(value).unwrap();
        }
        even.add(odd).unwrap();
        assert_eq!(Distribution::of(&even), Distribution::of(&all));
    }

    #[test]
    fn a_latency_beyond_the_bounds_counts_as_the_largest() {
        let mut nanos = latencies();
        nanos.saturating_record(u64::MAX);
        let figures = Distribution::of(&nanos).unwrap();
        assert_eq!(figures.count, 1);
        assert_near(figures.max_ns as f64, MAX_LATENCY_NS as f64);
    }

    #[test]
    fn a_stall_shows_from_schedule_and_hides_from_send() {
        // 10,000 updates a second for 10 s through a system that needs 5 µs for
        // each, one at a time, and stands still for 100 ms.
        const EVERY_NS: u64 = 100_000;
        const NEEDED_NS: u64 = 5_000;
        let stall = 4_000_000_000..4_100_000_000;
        let (mut from_schedule, mut from_send) = (latencies(), latencies());
        let mut free_ns = 0;
        for n in 0..100_000 {
            let due_ns = n * EVERY_NS;
            let mut sent_ns = free_ns.max(due_ns);
            if stall.contains(&sent_ns) {
                sent_ns = stall.end;
            }
            let received_ns = sent_ns + NEEDED_NS;
            free_ns = received_ns;
            from_schedule.record(received_ns - due_ns).unwrap();
            from_send.record(received_ns - sent_ns).unwrap();
        }
        let from_schedule = Distribution::of(&from_schedule).unwrap();
        let from_send = Distribution::of(&from_send).unwrap();
        // What was due when it began waited for all of it, each later one for
        // 95 µs less; the thousandth part of all are the first hundred.
        assert_near(from_schedule.max_ns as f64, 100_005_000.0);
        assert_near(from_schedule.p999_ns as f64, 100_005_000.0 - 100.0 * 95_000.0);
        assert_near(from_schedule.p50_ns as f64, 5_000.0);
        assert_near(from_send.max_ns as f64, 5_000.0);
        assert_near(from_send.p9999_ns as f64, 5_000.0);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        let middles = [median([3.0, 1.0, 2.0]), median([4.0, 1.0, 2.0, 3.0])];
        assert_eq!(middles.map(|middle| middle.to_string()), ["2", "2.5"]);
        assert!(median([]).is_nan());
    }

    #[test]
    fn a_histogram_comes_back_from_its_text() {
        let nanos = thousand();
        assert_eq!(from_hdr(&to_hdr(&nanos).unwrap()), Some(nanos.clone()));
        assert_eq!(to_hdr(&Histogram::<u64>::new(3).unwrap()), None);
        assert_eq!(from_hdr("no histogram"), None);
        assert_eq!(from_hdr(&STANDARD.encode("no histogram")), None);
    }

    #[test]
    fn nothing_has_no_figures() {
        assert_eq!(Distribution::of(&Histogram::<u64>::new(3).unwrap()), None);
    }

    fn thousand() -> Histogram<u64> {
        let mut nanos = latencies();
        (1..=1000).for_each(|n| nanos.record(n * 1000).unwrap());
        nanos
    }
}
