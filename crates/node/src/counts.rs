//! What hub and server count, for the log.

use std::fmt::Write as _;
use std::time::Duration;

use tapeline_time::Time;

/// When counts are to be told.
#[derive(Debug)]
pub(super) struct Counts {
    interval: Option<Duration>,
    last: Time,
}

impl Counts {
    /// After each interval, or never.
    pub(super) const fn every(interval: Option<Duration>) -> Self {
        Self { interval, last: Time::ZERO }
    }

    /// Whether it is time.
    pub(super) fn are_due(&mut self, now: Time) -> bool {
        let is_due = self.interval.is_some_and(|interval| now.since(self.last) >= interval);
        if is_due {
            self.last = now;
        }
        is_due
    }
}

/// The counts of a hub or a server, as they were told last.
#[derive(Debug)]
pub(super) struct Tally {
    name: String,
    told: String,
}

impl Tally {
    pub(super) fn of(name: &str) -> Self {
        Self { name: name.to_owned(), told: String::new() }
    }

    /// Whose they are, and those that are not zero, if any is another one than
    /// last time.
    pub(super) fn news(&mut self, counts: &[(&'static str, u64)]) -> Option<(&str, &str)> {
        let mut line = String::new();
        for (name, count) in counts.iter().filter(|(_, count)| *count > 0) {
            let space = if line.is_empty() { "" } else { " " };
            let _ = write!(line, "{space}{name}={count}");
        }
        if line == self.told {
            return None;
        }
        self.told = line;
        Some((&self.name, &self.told))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    #[test]
    fn counts_are_due_after_each_interval_or_never() {
        let mut counts = Counts::every(Some(Duration::from_secs(60)));
        let due = [0, 59_999, 60_000, 60_001, 119_999, 130_000].map(|ms| counts.are_due(at(ms)));
        assert_eq!(due, [false, false, true, false, false, true]);
        assert!(!Counts::every(None).are_due(at(1_000_000)));
    }

    #[test]
    fn what_is_zero_or_known_is_not_told() {
        let mut tally = Tally::of("hub-1");
        let mut news = |items, gaps, updates| {
            let counts = [("items", items), ("gaps", gaps), ("updates", updates)];
            tally.news(&counts).map(|(name, counts)| format!("{name}: {counts}"))
        };
        assert_eq!(news(0, 0, 0), None);
        assert_eq!(news(2, 0, 7).as_deref(), Some("hub-1: items=2 updates=7"));
        assert_eq!(news(2, 0, 7), None);
        assert_eq!(news(0, 1, 7).as_deref(), Some("hub-1: gaps=1 updates=7"));
    }
}
