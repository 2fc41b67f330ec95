//! How many frames of the backbone are read in one turn.
//!
//! What a frame costs depends on who watches its item: one copy, or ten
//! thousand. So frames are read a few at a time until the turn has done its
//! share; the dearer the last ones were, the fewer are read at once.
//!
//! The share is large, so that the writes at the end of a turn are few and
//! long. Where copies are dear, because there are many mounts or the machine is
//! slow, the turn is over [after a while](TimeSlice) all the same.

use tapeline_channel::TimeSlice;
use tapeline_channel::system::Clock;

/// What is done in one turn at most, in copies: as a rule ten to twenty
/// nanoseconds each.
const COST_PER_TURN: usize = 32_768;

/// What a frame costs beside its copies.
const FRAME_COST: usize = 16;

/// Most frames that are read at once.
pub(crate) const MOST_AT_ONCE: usize = 64;

/// And before it is known what they cost.
const FIRST_AT_ONCE: usize = 16;

/// What is read at once should cost no more than this.
const COST_AT_ONCE: usize = 1_024;

/// How many frames are read at once, and in this turn.
#[derive(Debug)]
pub(crate) struct Pace {
    at_once: usize,
    /// There may be more frames than the last turn read.
    is_busy: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self { at_once: FIRST_AT_ONCE, is_busy: false }
    }
}

impl Pace {
    /// Whether the last turn may have left frames.
    pub(crate) const fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Has `read` read frames, at most so many each time, `most` at the most, until
    /// this turn has done its share or its time is over. It returns how many came, and
    /// how many copies it made. Returns how many came in all.
    pub(crate) fn turn(
        &mut self,
        time: &mut TimeSlice<'_, impl Clock>,
        most: usize,
        mut read: impl FnMut(usize) -> (usize, usize),
    ) -> usize {
        let (mut count, mut cost) = (0, 0);
        self.at_once = self.at_once.min(most);
        loop {
            let (came, copies) = read(self.at_once);
            let spent = came * FRAME_COST + copies;
            (count, cost) = (count + came, cost + spent);
            let is_more = came >= self.at_once;
            if is_more {
                self.adapt(spent, most);
            }
            self.is_busy = is_more && (cost >= COST_PER_TURN || time.is_over());
            if !is_more || self.is_busy {
                return count;
            }
        }
    }

    /// To read so many frames as may be read at once cost so much.
    fn adapt(&mut self, cost: usize, most: usize) {
        let fitting = self.at_once * COST_AT_ONCE / cost.max(1);
        // Not so fast up as down: the next ones may be dear.
        self.at_once = fitting.min(2 * self.at_once).clamp(1, most);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::time::Duration;

    use tapeline_time::Time;

    use super::*;

    /// A clock of a simulation, in which a turn takes no time.
    #[derive(Debug)]
    struct Still;

    impl Clock for Still {
        fn now(&self) -> Time {
            Time::ZERO
        }
    }

    const TIME: Duration = Duration::from_micros(500);

    fn still() -> TimeSlice<'static, Still> {
        TimeSlice::new(&Still, TIME)
    }

    /// A clock that each copy puts forward.
    #[derive(Debug)]
    struct Hand(Cell<u64>);

    impl Clock for Hand {
        fn now(&self) -> Time {
            Time::from_nanos(self.0.get())
        }
    }

    #[test]
    fn frames_with_many_watchers_are_read_one_at_a_time_and_others_many() {
        let mut pace = Pace::default();
        pace.adapt(4 * COST_AT_ONCE, MOST_AT_ONCE);
        assert_eq!(pace.at_once, 4, "of {FIRST_AT_ONCE}");
        pace.adapt(400 * COST_AT_ONCE, MOST_AT_ONCE);
        assert_eq!(pace.at_once, 1);
        for at_once in [2, 4, 8, 16, 32, 64, 64] {
            pace.adapt(1, MOST_AT_ONCE);
            assert_eq!(pace.at_once, at_once);
        }
        pace.adapt(0, MOST_AT_ONCE);
        assert_eq!(pace.at_once, MOST_AT_ONCE);
    }

    #[test]
    fn a_turn_ends_when_there_is_no_more() {
        let mut pace = Pace::default();
        let mut left = 40;
        let mut read = |most: usize| {
            let came = most.min(left);
            left -= came;
            (came, came)
        };
        assert_eq!((pace.turn(&mut still(), MOST_AT_ONCE, &mut read), pace.is_busy()), (40, false));
        assert_eq!((pace.turn(&mut still(), MOST_AT_ONCE, &mut read), pace.is_busy()), (0, false));
    }

    #[test]
    fn a_turn_ends_when_it_has_done_its_share() {
        for watchers in [0, 1, 100, 1_000, 3_000] {
            let mut pace = Pace::default();
            // What comes first may be dearer than what came before.
            pace.turn(&mut still(), MOST_AT_ONCE, |most| (most, most * watchers));
            for _ in 0..10 {
                let frames = pace.turn(&mut still(), MOST_AT_ONCE, |most| (most, most * watchers));
                let cost = frames * (watchers + FRAME_COST);
                let most = COST_PER_TURN + COST_AT_ONCE.max(watchers + FRAME_COST);
                assert!((COST_PER_TURN..=most).contains(&cost), "{watchers}: {frames}");
                assert!(pace.is_busy());
            }
        }
    }

    #[test]
    fn a_turn_with_dear_copies_ends_when_its_time_is_over() {
        for (watchers, ns_each) in [(0, 5_000), (50, 100), (3_000, 200), (10_000, 100)] {
            let (mut pace, clock) = (Pace::default(), Hand(Cell::new(0)));
            let mut longest_ns = 0;
            let mut read = |most: usize| {
                let ns = (most * (watchers + 1) * ns_each) as u64;
                longest_ns = longest_ns.max(ns);
                clock.0.set(clock.0.get() + ns);
                (most, most * watchers)
            };
            pace.turn(&mut TimeSlice::new(&clock, TIME), MOST_AT_ONCE, &mut read);
            let before = clock.0.get();
            pace.turn(&mut TimeSlice::new(&clock, TIME), MOST_AT_ONCE, &mut read);
            let took = Duration::from_nanos(clock.0.get() - before);
            assert!(pace.is_busy());
            assert!(took >= TIME, "{watchers}: {took:?}");
            assert!(took <= TIME + 2 * Duration::from_nanos(longest_ns), "{took:?}");
        }
    }

    #[test]
    fn where_one_at_a_time_is_to_be_read_the_clock_is_looked_at_behind_each() {
        let (mut pace, clock) = (Pace::default(), Hand(Cell::new(0)));
        let mut read = |most: usize| {
            clock.0.set(clock.0.get() + 100_000);
            (most, 0)
        };
        pace.turn(&mut TimeSlice::new(&clock, TIME), MOST_AT_ONCE, &mut read);
        let frames = pace.turn(&mut TimeSlice::new(&clock, TIME), 1, &mut read);
        assert_eq!(frames, 6, "of 100 µs each, the first before the clock is looked at");
        assert!(pace.is_busy());
    }
}
