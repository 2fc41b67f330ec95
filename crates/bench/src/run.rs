//! What became of a run, and whether it counts.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;
use tapeline_measure::table::rate;

/// A system that needs longer than this for what is left at the end was
/// falling behind.
const BEHIND: Duration = Duration::from_millis(100);

/// Of the updates that are due, a source must send this share in time.
const KEPT_SCHEDULE: f64 = 0.99;

/// At low rates, this many updates to clients may be in the air at the end.
const IN_THE_AIR: f64 = 2.0;

/// What became of a run. Numbers of updates are of the whole run, warm-up
/// included, unless they say otherwise.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Updates a second that were to be sent.
    pub(crate) rate: u64,
    /// Time that was measured.
    pub(crate) time: Duration,
    /// What came before that.
    pub(crate) warm_up: Duration,
    pub(crate) scheduled: u64,
    pub(crate) sent: u64,
    /// Updates that were to reach clients.
    pub(crate) expected: u64,
    pub(crate) received: u64,
    /// Updates that reached clients in the time that was measured.
    pub(crate) received_measured: u64,
    /// How many clients an update is for, in the mean.
    pub(crate) fan_out: f64,
    pub(crate) bad: u64,
    /// `None` where hub and server do not tell.
    pub(crate) merged: Option<u64>,
    /// Of the time that was measured; `None` where hub and server do not tell.
    pub(crate) gaps: Option<u64>,
    /// Images that came again in the time that was measured.
    pub(crate) recovered: u64,
    /// Datagrams of the backbone that were dropped on purpose.
    pub(crate) dropped: Option<u64>,
    /// `None` where the server does not tell; the client then tells of it.
    pub(crate) cut: Option<u64>,
    pub(crate) trouble: Option<String>,
    pub(crate) was_slow: bool,
    pub(crate) drained_after: Duration,
    /// Whether updates still came when they were waited for no longer.
    pub(crate) is_still_coming: bool,
    /// Seconds on a processor in the time that was measured, by part.
    pub(crate) cpu_seconds: BTreeMap<String, f64>,
    /// Of that time, seconds in which there was something to do, by part; what spins is
    /// on a processor all the time.
    pub(crate) busy_seconds: BTreeMap<String, f64>,
    /// Bytes of a write of the server to a client, in the mean; `None` where it is not
    /// told.
    pub(crate) write_bytes: Option<u64>,
    /// Nanoseconds from when an update was due, and from when it was sent.
    pub(crate) from_schedule: Histogram<u64>,
    pub(crate) from_send: Histogram<u64>,
    /// Updates that reached clients in each second.
    pub(crate) series: Vec<u64>,
}

/// Why a run does not count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Flaw {
    Trouble(String),
    Lost(u64),
    Merged(u64),
    Gaps(u64),
    Recovered(u64),
    Cut(u64),
    Bad(u64),
    SourceHeldBack,
    SourceLate { percent: f64 },
    Behind { ms: u128 },
    NotReached { per_s: f64 },
}

impl Flaw {
    /// Whether other work on the machine, or what the start left behind, can
    /// have caused it. That updates were lost on their way is no accident.
    pub(crate) const fn may_be_chance(&self) -> bool {
        matches!(
            self,
            Self::Trouble(_)
                | Self::Cut(_)
                | Self::Gaps(_)
                | Self::Recovered(_)
                | Self::SourceHeldBack
                | Self::SourceLate { .. }
                | Self::Behind { .. }
                | Self::NotReached { .. }
        )
    }
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trouble(text) => write!(f, "trouble: {text}"),
            Self::Lost(count) => write!(f, "{count} updates were lost"),
            Self::Merged(count) => write!(f, "{count} updates were conflated"),
            Self::Gaps(count) => write!(f, "{count} gaps in the backbone"),
            Self::Recovered(count) => write!(f, "{count} images came again: something was lost"),
            Self::Cut(count) => write!(f, "{count} mounts were cut off: they read too slowly"),
            Self::Bad(count) => write!(f, "{count} updates came twice, out of order or broken"),
            Self::SourceHeldBack => {
                f.write_str("the hub reads too slowly: the source's queue grew")
            }
            Self::SourceLate { percent } => {
                write!(f, "the source sent {percent:.1} % of what was due")
            }
            Self::Behind { ms } => write!(f, "the last update came {ms} ms late: a queue grew"),
            Self::NotReached { per_s } => {
                write!(f, "the set rate was not reached: {}/s came", rate(*per_s))
            }
        }
    }
}

impl Run {
    /// Why the run does not count; `None` if it does.
    pub(crate) fn flaw(&self) -> Option<Flaw> {
        let kept = self.sent as f64 / self.scheduled.max(1) as f64;
        let told = |count: Option<u64>| count.unwrap_or(0);
        let (merged, cut, gaps) = (told(self.merged), told(self.cut), told(self.gaps));
        if cut > 0 {
            // Which is why its client was in trouble.
            return Some(Flaw::Cut(cut));
        }
        if let Some(text) = &self.trouble {
            return Some(Flaw::Trouble(text.clone()));
        }
        let flaws = [
            (merged > 0, Flaw::Merged(merged)),
            (self.lost() > 0, Flaw::Lost(self.lost())),
            (gaps > 0, Flaw::Gaps(gaps)),
            (self.recovered > 0, Flaw::Recovered(self.recovered)),
            (self.bad > 0 || self.beyond() > 0, Flaw::Bad(self.bad.max(self.beyond()))),
            (self.was_slow, Flaw::SourceHeldBack),
            (kept < KEPT_SCHEDULE, Flaw::SourceLate { percent: kept * 100.0 }),
            (self.drained_after > BEHIND, Flaw::Behind { ms: self.drained_after.as_millis() }),
            (self.is_below_rate(), Flaw::NotReached { per_s: self.achieved_per_s() }),
        ];
        flaws.into_iter().find(|(is_so, _)| *is_so).map(|(_, flaw)| flaw)
    }

    /// Whether less than 99 % of the set rate came; at low rates, two updates
    /// in the air are none too few.
    fn is_below_rate(&self) -> bool {
        let expected = self.rate as f64 * self.fan_out * self.time.as_secs_f64();
        (self.received_measured as f64) < (expected * KEPT_SCHEDULE).min(expected - IN_THE_AIR)
    }

    /// Updates that never came. Where some still came when they were waited for
    /// no longer, the rest is late and not lost.
    pub(crate) fn lost(&self) -> u64 {
        let missing = self.expected.saturating_sub(self.received);
        if self.is_still_coming { 0 } else { missing }
    }

    /// Updates that came and were none of this run: twice, or of one before.
    fn beyond(&self) -> u64 {
        self.received.saturating_sub(self.expected)
    }

    /// Updates that reached clients in a second. What the warm-up left in queues
    /// is not of the rate, so it is never more than the set one.
    pub(crate) fn out_per_s(&self) -> f64 {
        let came = self.received_measured as f64 / self.time.as_secs_f64().max(1e-9);
        came.min(self.rate as f64 * self.fan_out)
    }

    /// The rate at the source that this is.
    pub(crate) fn achieved_per_s(&self) -> f64 {
        self.out_per_s() / self.fan_out
    }

    /// Whether the system can be used for another run: all connections are
    /// there, each item is good, and no update of this run comes in the next.
    pub(crate) fn is_clean(&self) -> bool {
        self.trouble.is_none()
            && self.cut.unwrap_or(0) == 0
            && self.bad == 0
            && self.beyond() == 0
            && !self.is_still_coming
            && self.gaps.unwrap_or(0) == 0
            && self.recovered == 0
    }

    /// Updates to clients for each second that hub and server were on a
    /// processor; `None` if that was not measured.
    pub(crate) fn per_cpu_second(&self) -> Option<f64> {
        let seconds: f64 =
            self.cpu_seconds.iter().filter(|(part, _)| !is_ours(part)).map(|(_, s)| s).sum();
        (seconds > 0.0).then(|| self.received_measured as f64 / seconds)
    }

    /// The share of the time that was measured in which each part had something to do.
    pub(crate) fn busy_shares(&self) -> BTreeMap<String, f64> {
        let time = self.time.as_secs_f64().max(f64::MIN_POSITIVE);
        self.busy_seconds.iter().map(|(part, busy)| (part.clone(), busy / time)).collect()
    }

    /// Updates to clients for each second in which hub and server were on a processor
    /// and had something to do; `None` where that is not told.
    pub(crate) fn per_busy_cpu_second(&self) -> Option<f64> {
        let shares = self.busy_shares();
        let of = |(part, seconds): (&String, &f64)| Some(seconds * shares.get(part)?.min(1.0));
        let theirs = self.cpu_seconds.iter().filter(|(part, _)| !is_ours(part));
        let seconds = theirs.map(of).sum::<Option<f64>>()?;
        (seconds > 0.0).then(|| self.received_measured as f64 / seconds)
    }

    /// Which side could do no more, by how busy each was; `None` where it is not told.
    pub(crate) fn full(&self) -> Option<String> {
        let shares = self.busy_shares();
        let ours: f64 = shares.iter().filter(|(part, _)| is_ours(part)).map(|its| its.1).sum();
        let theirs = shares.iter().filter(|(part, _)| !is_ours(part));
        let mut full: Vec<&str> =
            theirs.clone().filter(|(_, share)| **share >= FULL).map(|its| its.0.as_str()).collect();
        theirs.clone().next()?;
        if ours >= FULL {
            // They share a thread: the greater part of it is what fills it.
            let share = |part: &str| shares.get(part).copied().unwrap_or(0.0);
            full.push(if share(SOURCE) > share(CLIENTS) { SOURCE } else { CLIENTS });
        }
        Some(if full.is_empty() { "none".to_owned() } else { full.join(" and ") })
    }
}

/// The name of source and clients among the parts.
pub(crate) const OURS: &str = "source+clients";
/// The same of each of them.
pub(crate) const SOURCE: &str = "source";
pub(crate) const CLIENTS: &str = "clients";

/// A side that has something to do for this share of the time can do no more.
const FULL: f64 = 0.95;

fn is_ours(part: &str) -> bool {
    [OURS, SOURCE, CLIENTS].contains(&part)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Run {
        let none = Histogram::new(3).unwrap();
        Run {
            rate: 1000,
            time: Duration::from_secs(1),
            warm_up: Duration::ZERO,
            scheduled: 1000,
            sent: 1000,
            expected: 2000,
            received: 2000,
            received_measured: 2000,
            fan_out: 2.0,
            bad: 0,
            merged: Some(0),
            gaps: Some(0),
            recovered: 0,
            dropped: None,
            cut: None,
            trouble: None,
            was_slow: false,
            drained_after: Duration::ZERO,
            is_still_coming: false,
            cpu_seconds: BTreeMap::from([
                (OURS.to_owned(), 1.0),
                ("hub".to_owned(), 0.1),
                ("server".to_owned(), 0.3),
            ]),
            busy_seconds: BTreeMap::new(),
            write_bytes: None,
            from_schedule: none.clone(),
            from_send: none,
            series: Vec::new(),
        }
    }

    #[test]
    fn a_run_counts_only_if_all_came_in_time() {
        assert_eq!(good().flaw(), None);
        let lost = Run { received: 1999, ..good() };
        assert_eq!(lost.flaw(), Some(Flaw::Lost(1)));
        let after = Duration::from_secs(10);
        let coming = Run { received: 1999, is_still_coming: true, drained_after: after, ..good() };
        assert_eq!(coming.flaw(), Some(Flaw::Behind { ms: 10_000 }));
        let late = Run { sent: 980, expected: 980, received: 980, ..good() };
        assert_eq!(late.flaw(), Some(Flaw::SourceLate { percent: 98.0 }));
        let behind = Run { drained_after: Duration::from_millis(101), ..good() };
        assert_eq!(behind.flaw(), Some(Flaw::Behind { ms: 101 }));
        let cut = Run { cut: Some(1), trouble: Some(String::new()), received: 0, ..good() };
        assert_eq!(cut.flaw(), Some(Flaw::Cut(1)));
        assert_eq!(Run { merged: Some(2), ..good() }.flaw(), Some(Flaw::Merged(2)));
        assert_eq!(Run { was_slow: true, ..good() }.flaw(), Some(Flaw::SourceHeldBack));
        let slow = Run { received_measured: 1979, ..good() };
        assert_eq!(slow.flaw(), Some(Flaw::NotReached { per_s: 989.5 }));
        assert_eq!(Run { received_measured: 1980, ..good() }.flaw(), None);
        assert_eq!(Run { received: 2003, ..good() }.flaw(), Some(Flaw::Bad(3)));
    }

    #[test]
    fn rates_are_at_the_source_and_at_the_clients() {
        let run = good();
        assert!((run.out_per_s() - 2000.0).abs() < 1e-6);
        assert!((run.achieved_per_s() - 1000.0).abs() < 1e-6);
        let caught_up = Run { received_measured: 2300, ..good() };
        assert!((caught_up.achieved_per_s() - 1000.0).abs() < 1e-6);
        let per_cpu_second = run.per_cpu_second().unwrap();
        assert!((per_cpu_second - 5000.0).abs() < 1e-6, "{per_cpu_second}");
    }

    #[test]
    fn a_side_that_always_has_something_to_do_is_full() {
        let busy = |theirs: f64, source: f64, clients: f64| Run {
            busy_seconds: BTreeMap::from([
                ("hub+server".to_owned(), theirs),
                (SOURCE.to_owned(), source),
                (CLIENTS.to_owned(), clients),
            ]),
            cpu_seconds: BTreeMap::from([(OURS.to_owned(), 1.0), ("hub+server".to_owned(), 0.9)]),
            ..good()
        };
        assert_eq!(good().full(), None, "processes do not tell");
        assert_eq!(busy(0.96, 0.2, 0.3).full().as_deref(), Some("hub+server"));
        assert_eq!(busy(0.5, 0.2, 0.3).full().as_deref(), Some("none"));
        assert_eq!(busy(0.5, 0.2, 0.8).full().as_deref(), Some("clients"));
        assert_eq!(busy(0.99, 0.9, 0.1).full().as_deref(), Some("hub+server and source"));
        // On a core for 0.9 s, half of which it only span.
        let per_s = busy(0.5, 0.2, 0.3).per_busy_cpu_second().unwrap();
        assert!((per_s - 2000.0 / 0.45).abs() < 1e-6, "{per_s}");
        assert_eq!(good().per_busy_cpu_second(), None);
    }

    #[test]
    fn a_system_that_only_was_too_slow_can_go_on() {
        assert!(Run { merged: Some(5), received: 10, ..good() }.is_clean());
        assert!(!Run { cut: Some(1), ..good() }.is_clean());
        assert!(!Run { trouble: Some(String::new()), ..good() }.is_clean());
    }

    #[test]
    fn updates_of_a_run_are_none_of_the_next() {
        assert!(good().is_clean());
        assert!(!Run { received: 10, is_still_coming: true, ..good() }.is_clean());
        assert!(!Run { received: 2001, ..good() }.is_clean());
    }
}
