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

    /// Has another interval from now on.
    pub(super) const fn set_interval(&mut self, interval: Option<Duration>) {
        self.interval = interval;
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

/// Counts of which a line tells when they grow: what it says, and whether it may
/// need a person.
const WORTH_A_LINE: [(&str, &str, bool); 12] = [
    ("failovers", "items moved to other sources", true),
    ("preempted", "items gave way to others", false),
    ("request_timeouts", "requests were not answered by their source in time", true),
    ("images_given_up", "images did not come to their end in time", true),
    ("holds", "times that sources were not read, as the backbone took no more", false),
    ("pressures", "times that the queue to the backbone was too full", true),
    ("publishers_held", "times that publishers were read no faster than that", false),
    ("limited", "items came to nothing because of a limit", true),
    ("gaps", "holes in what peers sent, or items that missed something", true),
    ("requests_lost", "requests to hubs were lost and made again", true),
    ("merges_dropped", "items had too many updates to be merged for slow mounts", false),
    ("posts_refused", "posts were refused: too many wait for their acks", false),
];

/// A line of the log about a count that grew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Growth {
    pub(super) what: &'static str,
    pub(super) count: u64,
    /// Whether it may need a person.
    pub(super) is_odd: bool,
}

/// Tells what grew, once a second at most however fast it does.
#[derive(Debug, Default)]
pub(super) struct Growths {
    told: [u64; WORTH_A_LINE.len()],
    last: Time,
}

impl Growths {
    /// Whether it is time to look.
    pub(super) fn are_due(&self, now: Time) -> bool {
        now.since(self.last) >= Duration::from_secs(1)
    }

    /// What grew since it was last asked.
    pub(super) fn take(
        &mut self,
        now: Time,
        counts: &[(&'static str, u64)],
    ) -> impl Iterator<Item = Growth> {
        self.last = now;
        let before = self.told;
        for (told, (name, ..)) in self.told.iter_mut().zip(WORTH_A_LINE) {
            *told = counts.iter().find(|(known, _)| *known == name).map_or(*told, |(_, now)| *now);
        }
        let grown = self.told.into_iter().zip(before).zip(WORTH_A_LINE);
        grown
            .filter(|((now, before), _)| now > before)
            .map(|((now, before), (_, what, is_odd))| Growth { what, count: now - before, is_odd })
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
    fn what_grew_is_told_once_with_how_much() {
        let mut growths = Growths::default();
        let mut take = |ms, failovers| {
            let counts = [("items", 9), ("failovers", failovers)];
            growths.take(at(ms), &counts).map(|it| (it.what, it.count)).collect::<Vec<_>>()
        };
        assert_eq!(take(1_000, 0), []);
        assert_eq!(take(2_000, 12), [("items moved to other sources", 12)]);
        assert_eq!(take(3_000, 12), []);
        assert_eq!(take(4_000, 13), [("items moved to other sources", 1)]);
        assert!(!growths.are_due(at(4_999)) && growths.are_due(at(5_000)));
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
