//! When the next message of a stream is due, as sfnt-stream has it: who is more
//! than a burst late starts anew.

/// Messages of a rate.
#[derive(Clone, Debug)]
pub(super) struct Pacer {
    start_ns: u64,
    rate_per_s: u64,
    /// Since the start, or the last restart.
    count: u64,
    max_burst: u64,
    behind: u64,
}

impl Pacer {
    pub(super) const fn new(start_ns: u64, rate_per_s: u64, max_burst: u64) -> Self {
        Self { start_ns, rate_per_s, count: 0, max_burst, behind: 0 }
    }

    fn due_ns(&self, count: u64) -> u64 {
        let since = u128::from(count) * 1_000_000_000 / u128::from(self.rate_per_s);
        self.start_ns + since as u64
    }

    /// When the next message is due. If it is by now, it counts as sent.
    pub(super) fn take(&mut self, now_ns: u64) -> Result<u64, u64> {
        let due_ns = self.due_ns(self.count);
        if due_ns > now_ns {
            return Err(due_ns);
        }
        let late = u128::from(now_ns - due_ns) * u128::from(self.rate_per_s) / 1_000_000_000;
        if late > u128::from(self.max_burst) {
            self.behind += 1;
            (self.start_ns, self.count) = (now_ns, 1);
            return Ok(now_ns);
        }
        self.count += 1;
        Ok(due_ns)
    }

    /// How often it started anew.
    pub(super) const fn behind(&self) -> u64 {
        self.behind
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_evenly_apart() {
        let mut pacer = Pacer::new(1_000, 1_000_000, 100);
        assert_eq!(pacer.take(999), Err(1_000));
        let all: Vec<u64> = std::iter::from_fn(|| pacer.take(6_000).ok()).collect();
        assert_eq!(all, [1_000, 2_000, 3_000, 4_000, 5_000, 6_000]);
        assert_eq!((pacer.take(6_000), pacer.behind()), (Err(7_000), 0));
    }

    #[test]
    fn who_is_more_than_a_burst_late_starts_anew() {
        let mut pacer = Pacer::new(0, 1_000_000, 100);
        assert_eq!(pacer.take(0), Ok(0));
        // 100 late is a burst; 102 are more.
        assert_eq!((pacer.take(101_000), pacer.behind()), (Ok(1_000), 0));
        assert_eq!((pacer.take(104_000), pacer.behind()), (Ok(104_000), 1));
        assert_eq!(pacer.take(104_000), Err(105_000));
    }
}
