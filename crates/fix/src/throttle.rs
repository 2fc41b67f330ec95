//! Messages of one user, counted by the second.

use tapeline_time::Time;

use crate::limits::Limits;

/// What a message is, by how many there were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rate {
    Fine,
    /// One too many in this second.
    Exceeded,
    /// Too many for too many seconds in a row.
    Lasting,
}

/// Messages of one user, counted by the second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Throttle {
    second: u64,
    count: u32,
    /// Seconds in a row, before this one, with too many.
    strikes: u32,
}

impl Throttle {
    pub(crate) fn count(&mut self, now: Time, limits: &Limits) -> Rate {
        let second = now.as_nanos() / 1_000_000_000;
        if second != self.second {
            let was_over = self.count > limits.throttle_per_s;
            let is_next = second == self.second + 1;
            self.strikes = if was_over && is_next { self.strikes + 1 } else { 0 };
            (self.second, self.count) = (second, 0);
        }
        self.count = self.count.saturating_add(1);
        if self.count <= limits.throttle_per_s {
            Rate::Fine
        } else if self.strikes >= limits.throttle_seconds {
            Rate::Lasting
        } else {
            Rate::Exceeded
        }
    }
}
