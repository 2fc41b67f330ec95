//! What became of one rate: its row.

use crate::statistics::Classic;

/// Figures of a rate, in nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct RateDone {
    pub(super) target_per_s: u64,
    pub(super) sent_per_s: u64,
    pub(super) received_per_s: u64,
    pub(super) latency: Classic,
    /// How much later than due messages were sent.
    pub(super) jitter_mean: u64,
    pub(super) jitter_min: u64,
    pub(super) jitter_max: u64,
    pub(super) behind: u64,
    pub(super) gaps: u64,
    pub(super) drops: u64,
    pub(super) out_of_order: u64,
}

/// The two lines above the rows.
pub(super) const HEAD: &str = "\
#\tmps\tmps\tmps\tlatency\tlatency\tlatency\tlatency\tlatency\tlatency\tlatency\t\
sendjit\tsendjit\tsendjit\tsendjit\tgaps\tgaps\tgaps
#\ttarget\tsend\trecv\tmean\tmin\tmedian\tmax\t%ile\tstddev\tsamples\t\
mean\tmin\tmax\tbehind\tn_gaps\tn_drops\tn_ooo
";

impl RateDone {
    pub(super) fn row(&self) -> String {
        let Classic { mean, min, median, max, percentile, stddev, iter } = self.latency;
        let all = [
            self.target_per_s,
            self.sent_per_s,
            self.received_per_s,
            mean,
            min,
            median,
            max,
            percentile,
            stddev,
            iter,
            self.jitter_mean,
            self.jitter_min,
            self.jitter_max,
            self.behind,
            self.gaps,
            self.drops,
            self.out_of_order,
        ];
        let cells: String =
            all.iter().flat_map(|figure| ["\t".to_owned(), figure.to_string()]).collect();
        cells + "\n"
    }

    /// Whether less was sent than the rate's `percent`.
    pub(super) fn is_below(&self, percent: f64) -> bool {
        (self.sent_per_s as f64) < self.target_per_s as f64 * percent / 100.0
    }
}

/// A round trip less the half of a quiet one's: the way there.
pub(super) const fn one_way_ns(round_trip_ns: u64, quiet_half_ns: u64) -> u64 {
    round_trip_ns.saturating_sub(quiet_half_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_has_seventeen_whole_numbers_under_seventeen_heads() {
        let latency =
            Classic { mean: 5, min: 4, median: 5, max: 9, percentile: 8, stddev: 1, iter: 7 };
        let done = RateDone {
            target_per_s: 50_000,
            sent_per_s: 49_000,
            received_per_s: 48_999,
            latency,
            behind: 2,
            ..RateDone::default()
        };
        assert_eq!(done.row(), "\t50000\t49000\t48999\t5\t4\t5\t9\t8\t1\t7\t0\t0\t0\t2\t0\t0\t0\n");
        for line in HEAD.lines() {
            assert_eq!(line.split('\t').count(), 18, "{line}");
        }
        assert!(!done.is_below(90.0) && done.is_below(99.0));
        assert_eq!((one_way_ns(30, 10), one_way_ns(5, 10)), (20, 0));
    }
}
