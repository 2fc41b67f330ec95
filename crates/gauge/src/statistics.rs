//! The figures of a row, as sfnt-pingpong reckons them, so that rows of both
//! can stand side by side.

use serde::{Deserialize, Serialize};

/// A row of sfnt-pingpong, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Classic {
    /// Mean, truncated.
    pub mean: u64,
    /// Least.
    pub min: u64,
    /// Element n/2 of n sorted ones, from 0.
    pub median: u64,
    /// Greatest.
    pub max: u64,
    /// Element ⌊n·p/100⌋ of the sorted ones, at most the last.
    pub percentile: u64,
    /// Of a sample (n−1), around the truncated mean; truncated.
    pub stddev: u64,
    /// How many there were.
    pub iter: u64,
}

impl Classic {
    /// Sums up samples, which are sorted afterwards; `None` of none.
    pub fn of(samples: &mut [u64], percentile: f64) -> Option<Self> {
        samples.sort_unstable();
        let (min, max) = (*samples.first()?, *samples.last()?);
        let count = samples.len();
        let sum: u128 = samples.iter().map(|sample| u128::from(*sample)).sum();
        let mean = (sum / count as u128) as u64;
        let squares: f64 = samples
            .iter()
            .map(|sample| sample.abs_diff(mean) as f64)
            .map(|difference| difference * difference)
            .sum();
        let stddev = if count > 1 { (squares / (count - 1) as f64).sqrt() as u64 } else { 0 };
        let at = (count as f64 * percentile / 100.0) as usize;
        Some(Self {
            mean,
            min,
            median: samples[count / 2],
            max,
            percentile: samples[at.min(count - 1)],
            stddev,
            iter: count as u64,
        })
    }

    /// The row: eight whole numbers, a tab before each.
    pub fn row(&self, size: usize) -> String {
        let Self { mean, min, median, max, percentile, stddev, iter } = self;
        format!("\t{size}\t{mean}\t{min}\t{median}\t{max}\t{percentile}\t{stddev}\t{iter}")
    }

    /// Reads a row; `None` of anything else.
    pub fn of_row(line: &str) -> Option<(usize, Self)> {
        if !line.starts_with([' ', '\t']) && !line.starts_with(|first: char| first.is_ascii_digit())
        {
            return None;
        }
        let numbers: Vec<u64> =
            line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
        let [size, mean, min, median, max, percentile, stddev, iter] = numbers[..] else {
            return None;
        };
        let size = usize::try_from(size).ok()?;
        Some((size, Self { mean, min, median, max, percentile, stddev, iter }))
    }
}

/// The element of rank ⌈p·n/100⌉ of `sorted`; `None` of none.
pub fn nearest_rank(sorted: &[u64], percentile: f64) -> Option<u64> {
    let rank = (sorted.len() as f64 * percentile / 100.0).ceil() as usize;
    sorted.get(rank.max(1) - 1).or(sorted.last()).copied()
}

/// The same, where at least ten samples lie beyond it: fewer say nothing.
pub fn told_percentile(sorted: &[u64], percentile: f64) -> Option<u64> {
    let beyond = sorted.len() as f64 * (100.0 - percentile) / 100.0;
    if beyond + 1e-6 < 10.0 { None } else { nearest_rank(sorted, percentile) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_reckoned_and_written_as_theirs() {
        // Out of order, with a mean of 110.6 that is truncated.
        let mut samples = [105, 101, 104, 103, 102, 99, 100, 98, 97, 197];
        let row = Classic::of(&mut samples, 99.0).unwrap();
        // Σ(x−110)² = 25+81+36+49+64+121+100+144+169+7569 = 8358; /9 = 928.67; √ = 30.47.
        let expected = Classic {
            mean: 110,
            min: 97,
            median: 102,
            max: 197,
            percentile: 197,
            stddev: 30,
            iter: 10,
        };
        assert_eq!(row, expected);
        assert_eq!(row.row(64), "\t64\t110\t97\t102\t197\t197\t30\t10");
        assert_eq!(Classic::of_row(&row.row(64)), Some((64, row)));
    }

    #[test]
    fn a_percentile_is_an_element_and_at_most_the_last() {
        let mut samples: Vec<u64> = (0..1000).rev().collect();
        let at = |samples: &mut Vec<u64>, p| Classic::of(samples, p).unwrap().percentile;
        assert_eq!(at(&mut samples, 99.0), 990);
        assert_eq!(at(&mut samples, 99.95), 999);
        assert_eq!(at(&mut samples, 100.0), 999);
        assert_eq!(Classic::of(&mut [], 99.0), None);
        assert_eq!(Classic::of(&mut [7], 50.0).map(|row| (row.median, row.stddev)), Some((7, 0)));
    }

    #[test]
    fn only_rows_are_read_as_rows() {
        for other in ["# size mean", "", "\t1\t2\t3", "\t1\t2\t3\t4\t5\t6\t7\tx", "a 1 2 3 4 5 6 7"]
        {
            assert_eq!(Classic::of_row(other), None, "{other}");
        }
        assert!(Classic::of_row("\t1\t1768\t1676\t1719\t50581\t2166\t158\t842000").is_some());
    }

    #[test]
    fn ranks_are_nearest_and_told_with_ten_beyond() {
        let sorted: Vec<u64> = (1..=1000).collect();
        assert_eq!(nearest_rank(&sorted, 99.0), Some(990));
        assert_eq!(nearest_rank(&sorted, 50.05), Some(501));
        assert_eq!(nearest_rank(&sorted, 0.0), Some(1));
        assert_eq!(told_percentile(&sorted, 99.0), Some(990));
        assert_eq!(told_percentile(&sorted, 99.9), None);
        assert_eq!(nearest_rank(&[], 50.0), None);
    }
}
