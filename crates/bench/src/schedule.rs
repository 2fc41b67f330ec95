//! When updates are due, whatever became of those before.

const NS_PER_S: u128 = 1_000_000_000;

/// An even pace: update `n` is due `n / rate` seconds after the start.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    start_ns: u64,
    rate: u64,
    next: u64,
}

impl Schedule {
    /// `rate` updates a second, the first at `start_ns`.
    pub(crate) fn new(start_ns: u64, rate: u64) -> Self {
        Self { start_ns, rate: rate.max(1), next: 0 }
    }

    /// When the next update that is due by `now_ns` was to be sent. It counts
    /// as sent then.
    #[inline]
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<u64> {
        let at = self.start_ns + (u128::from(self.next) * NS_PER_S / u128::from(self.rate)) as u64;
        (at <= now_ns).then(|| {
            self.next += 1;
            at
        })
    }

    /// How many were due by a moment.
    pub(crate) fn due_by(&self, now_ns: u64) -> u64 {
        let since = u128::from(now_ns.saturating_sub(self.start_ns));
        (since * u128::from(self.rate) / NS_PER_S) as u64 + 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_evenly_apart() {
        let mut schedule = Schedule::new(1_000, 4);
        let times: Vec<_> = std::iter::from_fn(|| schedule.take(1_000_001_000)).collect();
        assert_eq!(times, [1_000, 250_001_000, 500_001_000, 750_001_000, 1_000_001_000]);
        assert_eq!(schedule.due_by(1_000_001_000), 5);
        assert_eq!(schedule.take(1_000_001_000), None);
    }

    #[test]
    fn a_source_that_was_away_owes_all_that_was_due() {
        let mut schedule = Schedule::new(0, 1_000_000);
        assert_eq!(schedule.take(0), Some(0));
        let owed = std::iter::from_fn(|| schedule.take(1_000_000)).count();
        assert_eq!(owed, 1_000);
        assert_eq!(schedule.due_by(1_000_000), 1_001);
    }
}
