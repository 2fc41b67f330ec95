//! When which item wants to be looked at.

use std::collections::BTreeSet;

use tapeline_time::Time;

/// Milliseconds of the clock, as the streams count.
pub(crate) const fn ms(now: Time) -> u64 {
    now.as_nanos() / 1_000_000
}

/// The moment of a count of milliseconds.
pub(crate) const fn at_ms(ms: u64) -> Time {
    Time::from_nanos(ms.saturating_mul(1_000_000))
}

/// Of those whose time has come, how many are dealt with in a turn: the others
/// are due in the next.
pub(crate) const DUE_PER_TURN: usize = 64;

/// Deadlines of items. Whoever is woken looks for himself whether it is time:
/// a deadline that moved away is not taken out, only set again. A tree and no
/// heap: that would be one table, to be moved as a whole when it grows.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    deadlines: BTreeSet<(u64, u32)>,
}

impl Timers {
    pub(crate) fn set(&mut self, at_ms: u64, item: u32) {
        self.deadlines.insert((at_ms, item));
    }

    pub(crate) fn contains(&self, at_ms: u64, item: u32) -> bool {
        self.deadlines.contains(&(at_ms, item))
    }

    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.deadlines.first().map(|(at_ms, _)| *at_ms)
    }

    /// The next item whose time has come, with the time that was set.
    pub(crate) fn due(&mut self, now_ms: u64) -> Option<(u64, u32)> {
        if self.next_ms()? > now_ms {
            return None;
        }
        self.deadlines.pop_first()
    }
}
