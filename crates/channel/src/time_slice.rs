//! A part of a turn, by the clock.

use std::time::Duration;

use tapeline_time::Time;

use crate::system::Clock;

/// A part of a turn that is over after a while, however much or little was done
/// in it: what a message takes depends on who wants it.
///
/// The clock is read only when it is asked whether it is over, so what is done
/// before the first time is not counted: turns with little to do cost no look
/// at a clock. In a simulation, where a turn takes no time, it is never over: a
/// count must bound the turn as well.
#[derive(Debug)]
pub struct TimeSlice<'c, C> {
    clock: &'c C,
    most: Duration,
    began_at: Option<Time>,
}

impl<'c, C: Clock> TimeSlice<'c, C> {
    /// One of this length.
    pub const fn new(clock: &'c C, most: Duration) -> Self {
        Self { clock, most, began_at: None }
    }

    /// Whether it is over. The first time it is asked it begins.
    pub fn is_over(&mut self) -> bool {
        let now = self.clock.now();
        now.since(*self.began_at.get_or_insert(now)) >= self.most
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[derive(Debug)]
    struct Hand(Cell<Time>);

    impl Clock for Hand {
        fn now(&self) -> Time {
            self.0.get()
        }
    }

    #[test]
    fn it_begins_when_it_is_first_asked() {
        let clock = Hand(Cell::new(Time::ZERO));
        let mut slice = TimeSlice::new(&clock, Duration::from_micros(500));
        let mut is_over_at = |us: u64| {
            clock.0.set(Time::from_nanos(us * 1_000));
            slice.is_over()
        };
        assert_eq!(
            [10, 300, 509, 510, 900].map(&mut is_over_at),
            [false, false, false, true, true]
        );
    }
}
