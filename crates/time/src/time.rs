//! A moment.

use std::time::Duration;

/// A moment on a clock that never runs backwards, in nanoseconds since an
/// origin of the caller's choice (process start, simulation start).
///
/// Whoever decides by it never reads a clock: a shell passes the monotonic time
/// of its machine, a simulator whatever time its world has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The origin of the clock.
    pub const ZERO: Self = Self(0);

    /// The moment `nanos` nanoseconds after the origin; 2^64 ns are 584 years.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The moment `wait` later; stops at the end of the clock instead of
    /// wrapping.
    pub fn after(self, wait: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX)))
    }

    /// The time from `earlier` until this moment; zero when `earlier` is later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_stops_at_both_ends() {
        assert_eq!(Time::ZERO.since(Time::from_nanos(5)), Duration::ZERO);
        assert_eq!(Time::from_nanos(u64::MAX).after(Duration::MAX).as_nanos(), u64::MAX);
        let second = Time::ZERO.after(Duration::from_secs(1));
        assert_eq!(second.since(Time::ZERO), Duration::from_secs(1));
    }
}
