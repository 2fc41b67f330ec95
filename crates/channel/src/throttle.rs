//! Lines of a log that peers can cause: some in each interval, and a count of
//! the others.

use std::time::Duration;

use tapeline_time::Time;

/// Decides which lines of one kind are written.
///
/// ```
/// use std::time::Duration;
/// use tapeline_channel::{LeftOut, Throttle};
/// use tapeline_time::Time;
///
/// let second = Duration::from_secs(1);
/// let mut lines = Throttle::new(2, 10 * second);
/// let now = Time::ZERO;
/// assert_eq!([(); 5].map(|()| lines.allows(now)), [true, true, false, false, false]);
/// assert_eq!(lines.deadline(), Some(now.after(10 * second)));
/// assert_eq!(lines.take_left_out(now), None);
/// let later = now.after(10 * second);
/// assert_eq!(lines.take_left_out(later), Some(LeftOut { count: 3, seconds: 10 }));
/// assert!(lines.allows(later));
/// ```
#[derive(Clone, Debug)]
pub struct Throttle {
    /// Lines written in one interval.
    most: u32,
    interval: Duration,
    /// When the interval began.
    began: Time,
    written: u32,
    left_out: u64,
}

/// Lines that were not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// How many.
    pub count: u64,
    /// In how many seconds.
    pub seconds: u64,
}

impl Throttle {
    /// At most so many lines in each interval.
    pub const fn new(most: u32, interval: Duration) -> Self {
        Self { most, interval, began: Time::ZERO, written: 0, left_out: 0 }
    }

    /// Whether to write a line at `now`; otherwise it is counted.
    pub fn allows(&mut self, now: Time) -> bool {
        // What was left out is told before the next interval begins.
        if self.left_out == 0 && (self.written == 0 || self.is_over(now)) {
            (self.began, self.written) = (now, 0);
        }
        let is_allowed = self.written < self.most;
        match is_allowed {
            true => self.written += 1,
            false => self.left_out += 1,
        }
        is_allowed
    }

    /// The lines that were left out, when the interval that they fell into is
    /// over: to be told in one line of their own.
    pub fn take_left_out(&mut self, now: Time) -> Option<LeftOut> {
        if self.left_out == 0 || !self.is_over(now) {
            return None;
        }
        self.written = 0;
        let count = std::mem::take(&mut self.left_out);
        Some(LeftOut { count, seconds: now.since(self.began).as_secs() })
    }

    /// When [`take_left_out`](Self::take_left_out) has something to tell.
    pub fn deadline(&self) -> Option<Time> {
        (self.left_out > 0).then(|| self.began.after(self.interval))
    }

    fn is_over(&self, now: Time) -> bool {
        now >= self.began.after(self.interval)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: Duration = Duration::from_secs(10);

    fn at(seconds: u64) -> Time {
        Time::ZERO.after(Duration::from_secs(seconds))
    }

    #[test]
    fn few_lines_are_all_written() {
        let mut lines = Throttle::new(3, INTERVAL);
        for seconds in [5, 6, 14, 15, 16, 17, 25, 26] {
            assert!(lines.allows(at(seconds)), "{seconds}");
            assert_eq!(lines.deadline(), None);
            assert_eq!(lines.take_left_out(at(seconds)), None);
        }
    }

    #[test]
    fn an_interval_begins_with_its_first_line() {
        let mut lines = Throttle::new(1, INTERVAL);
        assert!(lines.allows(at(100)));
        assert!(!lines.allows(at(109)));
        assert_eq!(lines.deadline(), Some(at(110)));
        assert_eq!(lines.take_left_out(at(110)), Some(LeftOut { count: 1, seconds: 10 }));
        assert_eq!(lines.deadline(), None);
    }

    #[test]
    fn a_flood_is_some_lines_and_a_count_however_long_it_takes() {
        let mut lines = Throttle::new(20, INTERVAL);
        let (mut written, mut counted) = (0, 0);
        for millis in 0..100_000 {
            let now = Time::ZERO.after(Duration::from_millis(millis));
            if let Some(left_out) = lines.take_left_out(now) {
                counted += left_out.count;
                assert_eq!(left_out.seconds, 10);
            }
            written += u64::from(lines.allows(now));
        }
        assert_eq!(written, 200);
        assert_eq!(counted, 9 * 9_980);
    }

    #[test]
    fn what_is_told_late_is_not_lost() {
        let mut lines = Throttle::new(1, INTERVAL);
        assert!(lines.allows(at(0)));
        assert!(!lines.allows(at(1)));
        assert!(!lines.allows(at(50)), "it was not told of the one before yet");
        assert_eq!(lines.take_left_out(at(60)), Some(LeftOut { count: 2, seconds: 60 }));
        assert!(lines.allows(at(60)));
    }
}
