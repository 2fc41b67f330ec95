//! When a system has reached the set rate.

use std::collections::VecDeque;
use std::time::Duration;

/// How far from the set rate counts as reached.
const TOLERANCE: f64 = 0.01;

/// At low rates this many updates more or less count as reached: one in the
/// air at each end.
const TOLERATED_UPDATES: f64 = 2.0;

/// Looks at what came until it was within 1 % of the set rate for a while.
#[derive(Debug)]
pub(crate) struct WarmUp {
    per_s: f64,
    window: Duration,
    /// What had come by which moment, oldest first.
    seen: VecDeque<(Duration, u64)>,
}

impl WarmUp {
    /// Updates a second that are to come; for how long they must.
    pub(crate) fn new(per_s: f64, window: Duration) -> Self {
        Self { per_s, window, seen: VecDeque::new() }
    }

    /// So many have come by `at` since the start: whether the rate was reached
    /// over the whole window.
    pub(crate) fn is_over(&mut self, at: Duration, received: u64) -> bool {
        self.seen.push_back((at, received));
        while self.seen.get(1).is_some_and(|(second, _)| at.saturating_sub(*second) >= self.window)
        {
            self.seen.pop_front();
        }
        let Some((from, before)) = self.seen.front().copied() else { return false };
        let time = at.saturating_sub(from);
        let expected = self.per_s * time.as_secs_f64();
        let tolerated = (expected * TOLERANCE).max(TOLERATED_UPDATES);
        time >= self.window && ((received - before) as f64 - expected).abs() <= tolerated
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments of a tenth of a second until the warm-up is over, at most 100.
    fn tenths_until_over(mut received: impl FnMut(u64) -> u64) -> Option<u64> {
        let mut warm_up = WarmUp::new(1000.0, Duration::from_secs(2));
        (0..100).find(|tenth| warm_up.is_over(Duration::from_millis(tenth * 100), received(*tenth)))
    }

    #[test]
    fn it_takes_the_whole_window_at_the_set_rate() {
        assert_eq!(tenths_until_over(|tenth| tenth * 100), Some(20));
        assert_eq!(tenths_until_over(|tenth| tenth * 101), Some(20));
    }

    #[test]
    fn a_slow_start_is_dropped() {
        // Half the rate for three seconds: then 2 s less the tolerance.
        let over = tenths_until_over(|tenth| tenth.min(30) * 50 + tenth.saturating_sub(30) * 100);
        assert_eq!(over, Some(50));
    }

    #[test]
    fn a_system_that_does_not_keep_up_never_is_warm() {
        assert_eq!(tenths_until_over(|tenth| tenth * 98), None);
        assert_eq!(tenths_until_over(|tenth| tenth * 102), None);
    }
}
