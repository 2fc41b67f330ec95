//! The machine's monotonic clock, for shells.

use rustix::time::{ClockId, clock_gettime};

use crate::Time;

/// Nanoseconds in a second.
const NS_PER_S: u64 = 1_000_000_000;

/// Now, since the start of the host: the same in all of its processes, for what
/// one of them stamps and another reads.
#[inline]
pub fn host_now() -> Time {
    let now = clock_gettime(ClockId::Monotonic);
    Time::from_nanos(now.tv_sec as u64 * NS_PER_S + now.tv_nsec as u64)
}

/// Tells the time since it was started. A program has one, and hands its
/// readings to everything that takes a `now`.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Time,
}

impl MonotonicClock {
    /// Starts at [`Time::ZERO`].
    pub fn start() -> Self {
        Self { origin: host_now() }
    }

    /// Now.
    #[inline]
    pub fn now(&self) -> Time {
        Time::ZERO.after(host_now().since(self.origin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_never_runs_backwards() {
        let clock = MonotonicClock::start();
        let readings: Vec<Time> = (0..1000).map(|_| clock.now()).collect();
        assert!(readings.is_sorted());
    }

    #[test]
    fn what_passes_on_one_passes_on_the_other() {
        let clock = MonotonicClock::start();
        let (first, before) = (host_now(), clock.now());
        while host_now() == first {}
        assert!(clock.now() > before);
    }
}
