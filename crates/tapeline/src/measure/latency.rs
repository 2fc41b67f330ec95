//! Latency by time stamps in the data.

use hdrhistogram::Histogram;

/// Latencies above this count as this, in microseconds: a minute.
const MAX_US: u64 = 60_000_000;

/// Latencies summed up: mean, deviation and extremes exactly, quantiles to
/// three digits.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    micros: Histogram<u64>,
    sum: u128,
    sum_of_squares: u128,
    min: u64,
    max: u64,
}

impl Latency {
    pub(crate) fn new() -> Self {
        let micros = Histogram::new_with_bounds(1, MAX_US, 3).expect("the bounds are in order");
        Self { micros, sum: 0, sum_of_squares: 0, min: u64::MAX, max: 0 }
    }

    /// Counts one.
    pub(crate) fn record_us(&mut self, micros: u64) {
        let micros = micros.min(MAX_US);
        self.micros.saturating_record(micros);
        self.sum += u128::from(micros);
        self.sum_of_squares += u128::from(micros) * u128::from(micros);
        self.min = self.min.min(micros);
        self.max = self.max.max(micros);
    }

    /// Counts all that others were.
    pub(crate) fn add(&mut self, other: &Self) {
        // Both have the same bounds.
        let _ = self.micros.add(&other.micros);
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Begins again.
    pub(crate) fn clear(&mut self) {
        self.micros.reset();
        (self.sum, self.sum_of_squares) = (0, 0);
        (self.min, self.max) = (u64::MAX, 0);
    }

    /// How many there were.
    pub(crate) fn count(&self) -> u64 {
        self.micros.len()
    }

    /// What is told of them; `None` if there were none.
    pub(crate) fn summary(&self) -> Option<Summary> {
        let count = self.count();
        (count > 0).then(|| Summary {
            count,
            mean_us: self.sum as f64 / count as f64,
            std_dev_us: self.std_dev_us(),
            max_us: self.max,
            min_us: self.min,
            p50_us: self.quantile_us(0.5),
            p90_us: self.quantile_us(0.9),
            p99_us: self.quantile_us(0.99),
            p999_us: self.quantile_us(0.999),
            p9999_us: self.quantile_us(0.9999),
        })
    }

    /// That of a sample, with n − 1 below; 0 of a single latency.
    fn std_dev_us(&self) -> f64 {
        let count = u128::from(self.count());
        // n Σx² − (Σx)² is whole and never negative, so nothing cancels out.
        let spread = count * self.sum_of_squares - self.sum * self.sum;
        let below = count * count.saturating_sub(1).max(1);
        (spread as f64 / below as f64).sqrt()
    }

    /// The latency that this share of all does not exceed.
    fn quantile_us(&self, share: f64) -> u64 {
        self.micros.value_at_quantile(share).min(self.max)
    }
}

/// What is told of latencies, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Summary {
    /// How many there were.
    pub(crate) count: u64,
    /// Mean.
    pub(crate) mean_us: f64,
    /// Standard deviation of the sample.
    pub(crate) std_dev_us: f64,
    /// Largest.
    pub(crate) max_us: u64,
    /// Smallest.
    pub(crate) min_us: u64,
    /// Median.
    pub(crate) p50_us: u64,
    /// 90 % are not above this.
    pub(crate) p90_us: u64,
    /// 99 % are not above this.
    pub(crate) p99_us: u64,
    /// 99.9 % are not above this.
    pub(crate) p999_us: u64,
    /// 99.99 % are not above this.
    pub(crate) p9999_us: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(latencies: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::new();
        latencies.into_iter().for_each(|micros| latency.record_us(micros));
        latency
    }

    #[test]
    fn figures_are_exact_and_quantiles_to_three_digits() {
        let summary = of(1..=1000).summary().expect("latencies");
        assert_eq!((summary.count, summary.min_us, summary.max_us), (1000, 1, 1000));
        assert!((summary.mean_us - 500.5).abs() < 1e-9);
        // The numbers 1 to n deviate by √(n (n + 1) / 12).
        assert!((summary.std_dev_us - (1000.0 * 1001.0 / 12.0_f64).sqrt()).abs() < 1e-9);
        assert_eq!((summary.p50_us, summary.p99_us, summary.p9999_us), (500, 990, 1000));
    }

    #[test]
    fn the_deviation_is_that_of_a_sample() {
        let deviation = |latencies: &[u64]| {
            of(latencies.iter().copied()).summary().expect("latencies").std_dev_us
        };
        assert!((deviation(&[2, 4, 4, 4, 5, 5, 7, 9]) - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert!(deviation(&[7]).abs() < 1e-12);
        // Far from zero, where a sum of floating squares would cancel out.
        assert!((deviation(&[59_999_998, 60_000_000]) - 2.0_f64.sqrt()).abs() < 1e-9);
    }

    #[test]
    fn nothing_is_told_of_none() {
        let mut latency = of([5]);
        latency.clear();
        assert_eq!((latency.count(), latency.summary()), (0, None));
    }

    #[test]
    fn what_is_too_long_is_counted_all_the_same() {
        let summary = of([u64::MAX, 0]).summary().expect("latencies");
        assert_eq!((summary.count, summary.max_us, summary.min_us), (2, MAX_US, 0));
    }
}
