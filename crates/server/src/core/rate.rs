//! So many of something in a second.

use std::time::Duration;

use tapeline_time::Time;

/// What may be had at once by who had nothing for a while.
const BURST: Duration = Duration::from_secs(1);

/// Something of which there are so many in a second, a second's worth of them at
/// once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rate {
    /// Until then all is had, if it is had evenly.
    had_until: Time,
}

impl Rate {
    /// When the next one can be had: now, or later. `None` for no rate: at once.
    pub(super) fn next(&self, now: Time, per_s: u32) -> Option<Time> {
        let each = interval(per_s)?;
        let ahead = self.had_until.since(now) + each;
        ahead
            .checked_sub(BURST.max(each))
            .filter(|wait| !wait.is_zero())
            .map(|wait| now.after(wait))
    }

    /// Takes one, if one can be had now.
    pub(super) fn take(&mut self, now: Time, per_s: u32) -> bool {
        if self.next(now, per_s).is_some() {
            return false;
        }
        if let Some(each) = interval(per_s) {
            self.had_until = self.had_until.max(now).after(each);
        }
        true
    }
}

/// The time from one to the next; `None`: there is no rate.
fn interval(per_s: u32) -> Option<Duration> {
    Duration::from_secs(1).checked_div(per_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_second_is_had_at_once_and_the_rest_evenly() {
        let mut rate = Rate::default();
        let had = (0..20).filter(|_| rate.take(at(5_000), 10)).count();
        assert_eq!((had, rate.next(at(5_000), 10)), (10, Some(at(5_100))));
        assert!(!rate.take(at(5_099), 10) && rate.take(at(5_100), 10));
        assert_eq!(rate.next(at(5_100), 10), Some(at(5_200)));
        // Who had nothing for a while has a second's worth, and not more.
        let had = (0..20).filter(|_| rate.take(at(60_000), 10)).count();
        assert_eq!(had, 10);
    }

    #[test]
    fn one_a_second_is_one_a_second() {
        let mut rate = Rate::default();
        assert!(rate.take(at(0), 1) && !rate.take(at(999), 1) && rate.take(at(1_000), 1));
    }

    #[test]
    fn without_a_rate_there_is_no_end() {
        let mut rate = Rate::default();
        assert!((0..1_000).all(|_| rate.take(at(1), 0)));
        assert_eq!(rate.next(at(1), 0), None);
    }
}
