//! What a thread does between two rounds of its loop.

use std::time::Duration;

/// How a polling thread spends the time between two rounds of its loop.
///
/// | strategy | latency added | processor |
/// |---|---|---|
/// | `Spin` | none | a core, whole |
/// | `Yield` | a scheduler's turn when others want the core | a core, shared |
/// | `Park` | up to its time, and the scheduler's slack (about 50 us) | little |
///
/// A loop with nothing but a reactor to poll gives it
/// [`wait`](Self::wait) instead: it is then woken by the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Idle {
    /// Go on at once.
    Spin,
    /// Let other threads run, after a round with work too: what it did is
    /// waited for by the thread that wants this core next.
    Yield,
    /// Sleep.
    Park {
        /// Microseconds of sleep.
        micros: u32,
    },
}

impl Idle {
    /// What comes after a round that did `work`.
    pub fn idle(&mut self, work: usize) {
        match *self {
            Self::Yield => std::thread::yield_now(),
            Self::Park { micros } if work == 0 => {
                std::thread::park_timeout(Duration::from_micros(u64::from(micros)));
            }
            Self::Spin if work == 0 => std::hint::spin_loop(),
            Self::Spin | Self::Park { .. } => {}
        }
    }

    /// The longest wait inside of [`Reactor::poll`](crate::Reactor::poll) that
    /// suits this strategy.
    pub const fn wait(self) -> Duration {
        match self {
            Self::Spin | Self::Yield => Duration::ZERO,
            Self::Park { micros } => Duration::from_micros(micros as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_round_is_not_slept_after() {
        let started = std::time::Instant::now();
        Idle::Park { micros: 60_000_000 }.idle(1);
        Idle::Yield.idle(0);
        Idle::Spin.idle(0);
        Idle::Park { micros: 1 }.idle(0);
        assert!(started.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn only_parking_waits_in_a_poll() {
        let waits = [Idle::Spin, Idle::Yield, Idle::Park { micros: 50 }].map(Idle::wait);
        assert_eq!(waits, [Duration::ZERO, Duration::ZERO, Duration::from_micros(50)]);
    }
}
