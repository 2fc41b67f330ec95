//! When messages are due, and how long they are.

use tapeline_measure::schedule::{Pacing, Schedule};

use crate::GaugeError;
use crate::message::{HEAD_BYTES, MAX_BYTES};

const NS_PER_S: f64 = 1e9;

/// The most lines of a recording.
const MAX_LINES: usize = 10_000_000;

/// A message that is to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) seq: u64,
    /// When.
    pub(crate) at_ns: u64,
    pub(crate) bytes: usize,
}

/// Messages by their time.
#[derive(Clone, Debug)]
pub(crate) enum Timetable {
    /// Of a rate, all of one length.
    Rate { schedule: Schedule, bytes: usize },
    /// As they were once sent.
    Recorded { start_ns: u64, all: Vec<(u64, u32)>, next: usize },
}

impl Timetable {
    pub(crate) fn of_rate(start_ns: u64, rate_per_s: u64, pacing: Pacing, bytes: usize) -> Self {
        Self::Rate { schedule: Schedule::new(start_ns, rate_per_s, pacing), bytes }
    }

    /// When the next one is due; `None` behind the last.
    pub(crate) fn next_ns(&self) -> Option<u64> {
        match self {
            Self::Rate { schedule, .. } => Some(schedule.next_ns()),
            Self::Recorded { start_ns, all, next } => all.get(*next).map(|(at, _)| start_ns + at),
        }
    }

    /// The next one, if it is due by now: when, and its length.
    #[inline]
    pub(crate) fn take(&mut self, now_ns: u64) -> Option<(u64, usize)> {
        match self {
            Self::Rate { schedule, bytes } => schedule.take(now_ns).map(|due| (due, *bytes)),
            Self::Recorded { start_ns, all, next } => {
                let (at, bytes) = all.get(*next)?;
                let due = *start_ns + at;
                (due <= now_ns).then(|| {
                    *next += 1;
                    (due, *bytes as usize)
                })
            }
        }
    }

    /// How many are due in `from..to`.
    pub(crate) fn due_between(&self, from_ns: u64, to_ns: u64) -> u64 {
        if to_ns <= from_ns {
            return 0;
        }
        match self {
            Self::Rate { schedule, .. } => {
                let before = from_ns.checked_sub(1).map_or(0, |by| schedule.due_by(by));
                schedule.due_by(to_ns - 1) - before
            }
            Self::Recorded { start_ns, all, .. } => {
                let by = |at_ns: u64| all.partition_point(|(at, _)| start_ns + at < at_ns);
                (by(to_ns) - by(from_ns)) as u64
            }
        }
    }
}

/// Reads a recording as sockperf's: `seconds, bytes` a line, comments behind
/// `#`, times that do not fall.
pub(crate) fn recorded(text: &str, file: &str) -> Result<Vec<(u64, u32)>, GaugeError> {
    let mut all: Vec<(u64, u32)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |what: &str| GaugeError::Usage(format!("{file}, line {number}: {what}"));
        let (seconds, bytes) = line
            .split_once(',')
            .ok_or_else(|| wrong("give `seconds, bytes`, as in `0.001, 64`"))?;
        let seconds: f64 = seconds.trim().parse().unwrap_or(f64::NAN);
        if !(0.0..=86_400.0).contains(&seconds) {
            return Err(wrong("seconds are 0 to 86400"));
        }
        let bytes: usize = bytes.trim().parse().unwrap_or(0);
        if !(HEAD_BYTES..=MAX_BYTES).contains(&bytes) {
            return Err(wrong(&format!("bytes are {HEAD_BYTES} to {MAX_BYTES}")));
        }
        let at = (seconds * NS_PER_S) as u64;
        if all.last().is_some_and(|(before, _)| *before > at) {
            return Err(wrong("it is before the line above; times do not fall"));
        }
        if all.len() == MAX_LINES {
            return Err(wrong("at most 10,000,000 messages"));
        }
        all.push((at, bytes as u32));
    }
    match all.is_empty() {
        true => Err(GaugeError::Usage(format!("{file} has no messages"))),
        false => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_played_at_its_times() {
        let all = recorded("# a day\n0.0, 64\n\n0.001,100 # two\n 0.001 , 32\n2.5,1000\n", "f");
        let mut table = Timetable::Recorded { start_ns: 1_000, all: all.unwrap(), next: 0 };
        assert_eq!((table.take(999), table.take(1_000)), (None, Some((1_000, 64))));
        assert_eq!(table.next_ns(), Some(1_001_000));
        let rest: Vec<_> = std::iter::from_fn(|| table.take(u64::MAX)).collect();
        assert_eq!(rest, [(1_001_000, 100), (1_001_000, 32), (2_500_001_000, 1000)]);
        assert_eq!(table.due_between(1_000, 1_001_000), 1);
        assert_eq!((table.due_between(1_001, u64::MAX), table.next_ns()), (3, None));
    }

    #[test]
    fn what_is_wrong_in_a_recording_is_told_by_its_line() {
        let error = |text| recorded(text, "f.csv").unwrap_err().to_string();
        assert_eq!(error("0,64\n1\n"), "f.csv, line 2: give `seconds, bytes`, as in `0.001, 64`");
        assert!(error("1,64\n0.5,64\n").starts_with("f.csv, line 2: it is before the line above"));
        assert!(error("0,31").contains("bytes are 32 to 1048575"));
        assert!(error("-1,64").contains("seconds are 0 to 86400"));
        assert_eq!(error("# nothing\n"), "f.csv has no messages");
    }

    #[test]
    fn a_rate_has_what_is_due_between_two_moments() {
        let table = Timetable::of_rate(500, 1_000, Pacing::Even, 64);
        assert_eq!(table.due_between(500, 500 + 3_000_000_000), 3_000);
        assert_eq!(table.due_between(501, 1_000_501), 1);
        assert_eq!(table.due_between(0, 0), 0);
    }
}
