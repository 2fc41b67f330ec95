//! Figures of each interval of a run, and what a classic tool makes of them.

use serde::{Deserialize, Serialize};

use crate::statistics::nearest_rank;

/// Figures of one interval, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// How many there were.
    pub count: u64,
    /// All together.
    pub total_ns: u64,
    /// The least.
    pub min_ns: u64,
    /// The greatest.
    pub max_ns: u64,
}

impl Default for Interval {
    fn default() -> Self {
        Self { count: 0, total_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Interval {
    /// Adds one figure.
    #[inline]
    pub fn add(&mut self, nanos: u64) {
        self.count += 1;
        self.total_ns += nanos;
        self.min_ns = self.min_ns.min(nanos);
        self.max_ns = self.max_ns.max(nanos);
    }

    /// The mean; 0 of none.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.total_ns as f64 / self.count as f64 }
    }
}

/// The moments between which messages that are due are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

impl Measured {
    #[inline]
    pub(crate) const fn holds(self, due_ns: u64) -> bool {
        due_ns >= self.from_ns && due_ns < self.to_ns
    }

    pub(crate) const fn seconds(self) -> f64 {
        (self.to_ns - self.from_ns) as f64 / 1e9
    }
}

/// The intervals of a run by their number.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Intervals {
    from_ns: u64,
    length_ns: u64,
    all: Vec<Interval>,
}

impl Intervals {
    /// So many, from a moment on; memory is taken now.
    pub fn new(from_ns: u64, length_ns: u64, count: usize) -> Self {
        Self { from_ns, length_ns: length_ns.max(1), all: vec![Interval::default(); count] }
    }

    /// Adds a figure to the interval in which it was due. Those outside count
    /// nowhere.
    #[inline]
    pub fn add(&mut self, at_ns: u64, nanos: u64) {
        let Some(since) = at_ns.checked_sub(self.from_ns) else { return };
        if let Some(interval) = self.all.get_mut((since / self.length_ns) as usize) {
            interval.add(nanos);
        }
    }

    /// Those that there are.
    pub fn all(&self) -> &[Interval] {
        &self.all
    }

    /// The number, count, minimum, mean and maximum of each.
    pub fn series(&self) -> Vec<[u64; 5]> {
        let told = self.all.iter().zip(0..).filter(|(interval, _)| interval.count > 0);
        told.map(|(of, at)| [at, of.count, of.min_ns, of.mean_ns() as u64, of.max_ns]).collect()
    }

    /// What is made of them; `None` if none has a figure.
    pub fn summed(&self) -> Option<PerSecond> {
        let told: Vec<&Interval> = self.all.iter().filter(|of| of.count > 0).collect();
        let mut maxima: Vec<u64> = told.iter().map(|of| of.max_ns).collect();
        maxima.sort_unstable();
        let means = || told.iter().map(|of| of.mean_ns());
        let at = |percentile| nearest_rank(&maxima, percentile);
        Some(PerSecond {
            min: told.iter().map(|of| of.min_ns).min()?,
            mean_mean: means().sum::<f64>() / told.len() as f64,
            mean_min: means().fold(f64::INFINITY, f64::min),
            mean_max: means().fold(0.0, f64::max),
            max_min: *maxima.first()?,
            max_p90: at(90.0)?,
            max_p95: at(95.0)?,
            max_p99_5: at(99.5)?,
            max_max: *maxima.last()?,
        })
    }
}

/// What a run's seconds have in common, in nanoseconds: percentiles are of the
/// maxima of the seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PerSecond {
    /// The least of all.
    pub min: u64,
    /// The mean of the seconds' means.
    pub mean_mean: f64,
    /// The least of the means.
    pub mean_min: f64,
    /// The greatest of the means.
    pub mean_max: f64,
    /// The least of the maxima.
    pub max_min: u64,
    /// 90 % of the maxima are not above this.
    pub max_p90: u64,
    /// 95 % are not.
    pub max_p95: u64,
    /// 99.5 % are not.
    pub max_p99_5: u64,
    /// The greatest.
    pub max_max: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_go_to_the_second_in_which_they_were_due() {
        let mut all = Intervals::new(1_000, 1_000_000_000, 3);
        for (at, nanos) in [(999, 1), (1_000, 20), (1_000_000_999, 40), (1_000_001_000, 7)] {
            all.add(at, nanos);
        }
        all.add(3_000_001_000, 9);
        assert_eq!(all.series(), [[0, 2, 20, 30, 40], [1, 1, 7, 7, 7]]);
    }

    #[test]
    fn a_cell_has_the_mean_of_means_and_percentiles_of_maxima() {
        let mut all = Intervals::new(0, 10, 20);
        for second in 0..20_u64 {
            all.add(second * 10, 100);
            all.add(second * 10, 200 + second * 10);
        }
        let of = all.summed().unwrap();
        assert_eq!((of.min, of.max_min, of.max_max), (100, 200, 390));
        assert_eq!((of.max_p90, of.max_p95, of.max_p99_5), (370, 380, 390));
        assert_eq!((of.mean_min, of.mean_max, of.mean_mean), (150.0, 245.0, 197.5));
        assert_eq!(Intervals::new(0, 1, 5).summed(), None);
    }
}
