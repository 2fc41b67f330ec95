//! How late a thread wakes that wanted to at a set moment.

use std::num::NonZeroU64;
use std::time::Duration;

use rustix::thread::{ClockId, clock_nanosleep_absolute, set_current_timer_slack};
use tapeline_measure::clock::now_ns;
use tapeline_measure::stop;

use crate::mux::timespec;

/// The most samples that are kept one by one.
const MAX_SAMPLES: usize = 10_000_000;

/// Lateness at each wake-up, in nanoseconds, in their order: every `period`
/// for `runtime`. The thread's timer slack is 1 ns from now on.
pub fn lateness(period: Duration, runtime: Duration) -> Vec<u64> {
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let period_ns = (period.as_nanos() as u64).max(1_000);
    let count = ((runtime.as_nanos() as u64 / period_ns) as usize).clamp(1, MAX_SAMPLES);
    // Touched here, so that no page of it is what is late.
    let mut all = vec![1; count];
    all.clear();
    let mut at = now_ns() + period_ns;
    while all.len() < count && !stop::is_asked() {
        while clock_nanosleep_absolute(ClockId::Monotonic, &timespec(Duration::from_nanos(at)))
            .is_err()
        {
            if stop::is_asked() {
                return all;
            }
        }
        all.push(now_ns().saturating_sub(at));
        at += period_ns;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wake_up_is_a_sample() {
        let all = lateness(Duration::from_micros(500), Duration::from_millis(10));
        assert_eq!(all.len(), 20);
        assert!(all.iter().any(|late| *late > 0), "{all:?}");
    }
}
