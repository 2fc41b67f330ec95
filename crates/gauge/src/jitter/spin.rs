//! Gaps in a thread that does nothing but read the clock: what took the core
//! away from it.

use std::time::Duration;

use tapeline_measure::stop;
use tapeline_measure::ticks::TickClock;

/// The most gaps that are kept one by one.
const MAX_GAPS: usize = 1 << 20;

/// Turns between two looks at whether somebody wants the program to end.
const TURNS: u32 = 1 << 20;

/// What a core did by itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gaps {
    /// How long it was looked at, in nanoseconds.
    pub runtime_ns: u64,
    /// Gaps that were long enough, in nanoseconds and in their order. Of very
    /// many, the first 1,048,576.
    pub gaps_ns: Vec<u64>,
    /// How many there were.
    pub count: u64,
    /// All of them together, in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub max_ns: u64,
}

impl Gaps {
    fn add(&mut self, gap_ns: u64) {
        self.count += 1;
        self.total_ns += gap_ns;
        self.max_ns = self.max_ns.max(gap_ns);
        if self.gaps_ns.len() < MAX_GAPS {
            self.gaps_ns.push(gap_ns);
        }
    }

    /// Share of the time that was lost in gaps, in percent.
    pub fn lost_percent(&self) -> f64 {
        self.total_ns as f64 * 100.0 / self.runtime_ns.max(1) as f64
    }

    /// Gaps a second.
    pub fn per_second(&self) -> f64 {
        self.count as f64 * 1e9 / self.runtime_ns.max(1) as f64
    }
}

/// Reads the clock in a loop; each difference of at least `threshold_ns` is a
/// gap. Ends early when somebody wants the program to end.
pub fn spin(clock: &TickClock, threshold_ns: u64, runtime: Duration) -> Gaps {
    // Touched here, so that no page of it is the gap.
    let mut gaps = Gaps { gaps_ns: vec![1; MAX_GAPS], ..Gaps::default() };
    gaps.gaps_ns.clear();
    let threshold = clock.ticks(threshold_ns);
    let from = clock.now();
    let until = from + clock.ticks(runtime.as_nanos() as u64);
    let (mut last, mut turns) = (from, 0_u32);
    loop {
        let now = clock.now();
        let gap = now.saturating_sub(last);
        if gap >= threshold {
            gaps.add(clock.nanos(gap));
        }
        last = now;
        if now >= until {
            break;
        }
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(TURNS) && stop::is_asked() {
            break;
        }
    }
    gaps.runtime_ns = clock.nanos(last - from);
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_summed_up() {
        let mut gaps = Gaps { runtime_ns: 1_000_000_000, ..Gaps::default() };
        for gap in [300, 5_000, 700] {
            gaps.add(gap);
        }
        assert_eq!((gaps.count, gaps.total_ns, gaps.max_ns), (3, 6_000, 5_000));
        assert!((gaps.lost_percent() - 0.0006).abs() < 1e-9);
        assert!((gaps.per_second() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn a_threshold_below_a_turn_finds_every_turn_and_none_above_the_runtime() {
        for clock in [TickClock::best(), TickClock::monotonic()] {
            // On a busy machine the thread may not have the core for all of it.
            let tries = (0..50).map(|_| spin(&clock, 1, Duration::from_millis(2)));
            let every = tries.max_by_key(|gaps| gaps.count).unwrap();
            assert!(every.count > 1_000, "{}", every.count);
            assert!(every.total_ns <= every.runtime_ns, "{every:?}");
            assert!(every.runtime_ns >= 2_000_000);
            let none = spin(&clock, 3_600_000_000_000, Duration::from_millis(2));
            assert_eq!((none.count, none.gaps_ns.len()), (0, 0));
        }
    }
}
