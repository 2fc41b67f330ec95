//! When updates are due.

use tapeline_time::Time;

const NS_PER_S: u128 = 1_000_000_000;

/// Spreads a rate over the ticks of each second, exactly: after a whole second
/// neither one update too few nor one too many was due.
///
/// ```text
/// rate 7, 3 ticks a second:   2  2  3 │ 2  2  3 │ …
/// ```
#[derive(Clone, Debug)]
pub struct Pace {
    rate: u64,
    ticks_per_s: u64,
    start: Time,
    /// The tick that comes next, counted from the start.
    tick: u64,
    missed: u64,
}

impl Pace {
    /// `rate` updates a second in `ticks_per_s` bursts, the first one tick from
    /// now.
    pub fn new(now: Time, rate: u64, ticks_per_s: u64) -> Self {
        Self { rate, ticks_per_s: ticks_per_s.max(1), start: now, tick: 0, missed: 0 }
    }

    /// Changes the rate from now on.
    pub fn set_rate(&mut self, now: Time, rate: u64) {
        *self = Self { missed: self.missed, ..Self::new(now, rate, self.ticks_per_s) };
    }

    /// The updates a second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// Ticks that came so late that the next one was due as well.
    pub fn missed(&self) -> u64 {
        self.missed
    }

    /// When the next tick is; `None` while the rate is zero.
    pub fn next(&self) -> Option<Time> {
        (self.rate > 0).then(|| self.time_of(self.tick))
    }

    /// How many updates are due by now that were not due before, late ticks
    /// included.
    pub fn due(&mut self, now: Time) -> u64 {
        let ticks_due = self.ticks_by(now);
        if self.rate == 0 || ticks_due <= self.tick {
            return 0;
        }
        self.missed += ticks_due - self.tick - 1;
        let due = self.updates_by(ticks_due) - self.updates_by(self.tick);
        self.tick = ticks_due;
        due
    }

    /// Lets the ticks that are due by now go by, as nobody wants them.
    pub fn skip(&mut self, now: Time) {
        self.tick = self.tick.max(self.ticks_by(now));
    }

    /// Updates of the first ticks.
    fn updates_by(&self, ticks: u64) -> u64 {
        (u128::from(ticks) * u128::from(self.rate) / u128::from(self.ticks_per_s)) as u64
    }

    /// Ticks that are due by a time.
    fn ticks_by(&self, now: Time) -> u64 {
        let passed = u128::from(now.as_nanos().saturating_sub(self.start.as_nanos()));
        (passed * u128::from(self.ticks_per_s) / NS_PER_S) as u64
    }

    /// When a tick is due: the first nanosecond of which [`Self::ticks_by`]
    /// counts it.
    fn time_of(&self, tick: u64) -> Time {
        let after = (u128::from(tick) + 1) * NS_PER_S;
        let after = after.div_ceil(u128::from(self.ticks_per_s)) as u64;
        Time::from_nanos(self.start.as_nanos().saturating_add(after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn every_second_has_exactly_its_updates() {
        for (rate, ticks_per_s) in [(7, 3), (1, 1000), (999, 1000), (100_000, 1000), (5, 7)] {
            let mut pace = Pace::new(at(17), rate, ticks_per_s);
            for second in 1..=3 {
                let mut sent = 0;
                while let Some(next) = pace.next().filter(|next| *next <= at(17 + second * SECOND))
                {
                    let due = pace.due(next);
                    assert!(due <= rate.div_ceil(ticks_per_s), "no burst is larger than its share");
                    sent += due;
                }
                assert_eq!(sent, rate, "rate {rate} in {ticks_per_s} ticks");
            }
            assert_eq!(pace.missed(), 0);
        }
    }

    #[test]
    fn nothing_is_due_before_its_time() {
        let mut pace = Pace::new(at(0), 1000, 1000);
        assert_eq!(pace.next(), Some(at(1_000_000)));
        assert_eq!(pace.due(at(999_999)), 0);
        assert_eq!(pace.due(at(1_000_000)), 1);
        assert_eq!(pace.due(at(1_000_000)), 0);
    }

    #[test]
    fn what_was_late_is_made_up_for_and_counted() {
        let mut pace = Pace::new(at(0), 10_000, 1000);
        assert_eq!(pace.due(at(5_500_000)), 50);
        assert_eq!(pace.missed(), 4);
    }

    #[test]
    fn what_nobody_wanted_is_neither_late_nor_made_up_for() {
        let mut pace = Pace::new(at(0), 10_000, 1000);
        pace.skip(at(5_500_000));
        assert_eq!((pace.due(at(5_900_000)), pace.missed()), (0, 0));
        assert_eq!(pace.due(at(6_000_000)), 10);
    }

    #[test]
    fn a_new_rate_holds_from_now_on() {
        let mut pace = Pace::new(at(0), 10, 10);
        assert_eq!(pace.due(at(SECOND)), 10);
        pace.set_rate(at(SECOND), 1000);
        assert_eq!(pace.due(at(2 * SECOND)), 1000);
        pace.set_rate(at(2 * SECOND), 0);
        assert_eq!((pace.next(), pace.due(at(9 * SECOND))), (None, 0));
    }
}
