//! How near a thread comes to what it can do.
//!
//! `tapeline bench knee` finds, on a machine, the rate of updates behind which they
//! come late. While it works, a thread compares with it what came and went in the
//! busiest 10 ms of each second: rates of a whole second hide the bursts in which
//! updates come late.

use std::time::Duration;

use tapeline_time::Time;

/// Of so much of the knee a person is told, in percent.
const NEAR_PERCENT: u64 = 70;
const FULL_PERCENT: u64 = 90;

/// That it is near is said again after so long, and that it is not any more when it
/// was not for as long.
const REMINDER: Duration = Duration::from_secs(60);
const CALM: Duration = Duration::from_secs(10);

const SECOND: Duration = Duration::from_secs(1);

/// The rates behind which updates come late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knee {
    /// Updates a second from hubs.
    pub updates_in_per_s: u64,
    /// Updates a second to mounts.
    pub updates_out_per_s: u64,
}

/// How near it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    #[default]
    Calm,
    Near,
    Full,
}

impl Level {
    const fn of(percent: u64) -> Self {
        match percent {
            FULL_PERCENT.. => Self::Full,
            NEAR_PERCENT.. => Self::Near,
            _ => Self::Calm,
        }
    }
}

/// A word to be said about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) level: Level,
    /// How much of the knee the busiest 10 ms took.
    pub(super) percent: u64,
}

/// Counts of updates so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Traffic {
    pub(super) updates_in: u64,
    pub(super) updates_out: u64,
}

/// What came and went lately, beside the knee.
#[derive(Debug)]
pub(super) struct Headroom {
    knee: Option<Knee>,
    bin: (Time, Traffic),
    second: Time,
    busiest_percent: u64,
    /// Of the last whole second.
    percent: u64,
    told: Level,
    told_at: Time,
    /// Since when it is below what was told.
    below_since: Option<Time>,
}

impl Headroom {
    pub(super) const fn beside(knee: Option<Knee>) -> Self {
        Self {
            knee,
            bin: (Time::ZERO, Traffic { updates_in: 0, updates_out: 0 }),
            second: Time::ZERO,
            busiest_percent: 0,
            percent: 0,
            told: Level::Calm,
            told_at: Time::ZERO,
            below_since: None,
        }
    }

    /// How much of the knee the busiest 10 ms of the last second took; 0 without one.
    pub(super) const fn percent(&self) -> u64 {
        self.percent
    }

    /// Some 10 ms have passed. Returns what is to be said, if anything.
    pub(super) fn note(&mut self, now: Time, traffic: Traffic) -> Option<Word> {
        let knee = self.knee?;
        let (began, before) = std::mem::replace(&mut self.bin, (now, traffic));
        let passed_ns = now.since(began).as_nanos().max(1) as u64;
        let percent = |now: u64, before: u64, knee_per_s: u64| {
            let per_s = now.saturating_sub(before).saturating_mul(1_000_000_000) / passed_ns;
            per_s.saturating_mul(100) / knee_per_s.max(1)
        };
        let incoming = percent(traffic.updates_in, before.updates_in, knee.updates_in_per_s);
        let outgoing = percent(traffic.updates_out, before.updates_out, knee.updates_out_per_s);
        self.busiest_percent = self.busiest_percent.max(incoming).max(outgoing);
        if now.since(self.second) < SECOND {
            return None;
        }
        self.second = now;
        self.percent = std::mem::take(&mut self.busiest_percent);
        self.word(now)
    }

    fn word(&mut self, now: Time) -> Option<Word> {
        let level = Level::of(self.percent);
        if level >= self.told {
            self.below_since = None;
        }
        let is_old = now.since(self.told_at) >= REMINDER;
        let is_to_be_told = match level.cmp(&self.told) {
            std::cmp::Ordering::Greater => true,
            std::cmp::Ordering::Equal => level > Level::Calm && is_old,
            std::cmp::Ordering::Less => now.since(*self.below_since.get_or_insert(now)) >= CALM,
        };
        is_to_be_told.then(|| {
            (self.told, self.told_at, self.below_since) = (level, now, None);
            Word { level, percent: self.percent }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNEE: Knee = Knee { updates_in_per_s: 100_000, updates_out_per_s: 1_000_000 };

    /// Seconds in which `of_bin` says what came in each 10 ms; what was said.
    fn said(
        headroom: &mut Headroom,
        from_s: u64,
        of_seconds: &[fn(u64) -> u64],
    ) -> Vec<(u64, Word)> {
        let (mut words, mut updates_in) = (Vec::new(), headroom.bin.1.updates_in);
        for (second, of_bin) in (from_s..).zip(of_seconds) {
            for bin in 1..=100 {
                updates_in += of_bin(bin);
                let now = Time::ZERO.after(Duration::from_millis(second * 1_000 + bin * 10));
                let word = headroom.note(now, Traffic { updates_in, updates_out: 0 });
                words.extend(word.map(|word| (second, word)));
            }
        }
        words
    }

    #[test]
    fn a_burst_of_10_ms_in_a_calm_second_is_told() {
        let mut headroom = Headroom::beside(Some(KNEE));
        let words = said(&mut headroom, 0, &[|_| 100, |bin| if bin == 50 { 750 } else { 100 }]);
        assert_eq!(words, [(1, Word { level: Level::Near, percent: 75 })]);
        assert_eq!(headroom.percent(), 75);
        let words = said(&mut headroom, 2, &[|_| 950]);
        assert_eq!(words, [(2, Word { level: Level::Full, percent: 95 })]);
    }

    #[test]
    fn it_is_said_again_after_a_minute_and_that_it_is_over_after_ten_seconds() {
        let mut headroom = Headroom::beside(Some(KNEE));
        let mut seconds: Vec<fn(u64) -> u64> = vec![|_| 800; 62];
        seconds.extend(vec![(|_| 10) as fn(u64) -> u64; 12]);
        let words = said(&mut headroom, 0, &seconds);
        let told: Vec<_> = words.iter().map(|(second, word)| (*second, word.level)).collect();
        assert_eq!(told, [(0, Level::Near), (60, Level::Near), (72, Level::Calm)]);
    }

    #[test]
    fn what_goes_out_counts_too_and_without_a_knee_nothing_does() {
        let traffic = |updates_out| Traffic { updates_in: 0, updates_out };
        let at = |ms| Time::ZERO.after(Duration::from_millis(ms));
        let mut headroom = Headroom::beside(Some(KNEE));
        headroom.note(at(990), traffic(0));
        let word = headroom.note(at(1_000), traffic(9_000));
        assert_eq!(word, Some(Word { level: Level::Full, percent: 90 }));
        let mut none = Headroom::beside(None);
        assert_eq!(none.note(at(1_000), traffic(u64::MAX)), None);
        assert_eq!(none.percent(), 0);
    }
}
