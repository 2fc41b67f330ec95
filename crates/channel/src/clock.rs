//! The machine's monotonic clock, for shells.

use std::time::Instant;

use tapeline_rssl::Time;

/// Tells the time since it was started. A program has one, and hands its
/// readings to everything that takes a `now`.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

impl MonotonicClock {
    /// Starts at [`Time::ZERO`].
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }

    /// Now.
    pub fn now(&self) -> Time {
        Time::ZERO.after(self.origin.elapsed())
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
}
