//! When updates are due, whatever became of those before.

use std::fmt;
use std::str::FromStr;

const NS_PER_S: u64 = 1_000_000_000;

/// A burst takes this part of its period.
const BURST_PART: u64 = 20;

/// How many periods of bursts are in a second.
const BURSTS_PER_S: u64 = 5;

/// The highest rate, in updates a second: above it, times in nanoseconds are
/// too coarse.
pub const MAX_RATE: u64 = 1_000_000_000;

/// How updates of a set rate are spread over time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// One after the other, evenly apart.
    #[default]
    Even,
    /// So many times a second, all that are due since the last time: the
    /// `tps` of the classic tools. Within a tick the last update waits for the
    /// others.
    Ticks(u32),
    /// For 10 ms at 20 times the rate, then nothing for 190 ms.
    Bursts,
    /// At random, as if by many who know nothing of each other: the times
    /// between are exponentially distributed. The same seed gives the same.
    Poisson(u64),
}

impl fmt::Display for Pacing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Even => f.write_str("even"),
            Self::Ticks(tps) => write!(f, "ticks:{tps}"),
            Self::Bursts => f.write_str("bursts"),
            Self::Poisson(seed) => write!(f, "poisson:{seed}"),
        }
    }
}

impl FromStr for Pacing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "even" => Ok(Self::Even),
            "bursts" => Ok(Self::Bursts),
            "ticks" => Ok(Self::Ticks(1000)),
            "poisson" => Ok(Self::Poisson(1)),
            _ if text.starts_with("poisson:") => {
                let seed = text.trim_start_matches("poisson:").parse();
                seed.map(Self::Poisson).map_err(|_| wrong(text))
            }
            _ => {
                let tps = text.strip_prefix("ticks:").and_then(|tps| tps.parse().ok());
                tps.filter(|tps| (1..=1_000_000).contains(tps))
                    .map(Self::Ticks)
                    .ok_or_else(|| wrong(text))
            }
        }
    }
}

fn wrong(text: &str) -> String {
    format!(
        "`{text}` is no pacing; give even, bursts, ticks, ticks:PER_SECOND, poisson or poisson:SEED"
    )
}

/// Updates of a rate that come in groups: all groups have the same number of
/// updates, over the same time.
#[derive(Clone, Debug)]
pub struct Schedule {
    start_ns: u64,
    pacing: Pacing,
    /// Updates and length of what repeats.
    group: u64,
    period_ns: u64,
    /// The next update: in which group, and its place there.
    group_start_ns: u64,
    place: u64,
    next_ns: u64,
}

impl Schedule {
    /// `rate` updates a second (1 to [`MAX_RATE`]), the first at `start_ns`.
    pub fn new(start_ns: u64, rate: u64, pacing: Pacing) -> Self {
        let rate = rate.clamp(1, MAX_RATE);
        let (group, period_ns) = match pacing {
            Pacing::Even | Pacing::Ticks(_) => (rate, NS_PER_S),
            Pacing::Bursts => {
                let group = (rate / BURSTS_PER_S).max(1);
                (group, group * NS_PER_S / rate)
            }
            // Nothing repeats.
            Pacing::Poisson(_) => (u64::MAX, NS_PER_S / rate),
        };
        Self {
            start_ns,
            pacing,
            group,
            period_ns,
            group_start_ns: start_ns,
            place: 0,
            next_ns: start_ns,
        }
    }

    /// When the next update that is due by `now_ns` was to be sent. It counts
    /// as sent then.
    #[inline]
    pub fn take(&mut self, now_ns: u64) -> Option<u64> {
        let at = self.next_ns;
        if at > now_ns {
            return None;
        }
        self.place += 1;
        if let Pacing::Poisson(seed) = self.pacing {
            self.next_ns = at + gap_ns(seed, self.place, self.period_ns);
            return Some(at);
        }
        if self.place == self.group {
            self.place = 0;
            self.group_start_ns += self.period_ns;
        }
        self.next_ns = self.group_start_ns + self.offset_ns(self.place);
        Some(at)
    }

    /// When the next update is to be sent.
    pub const fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// When an update is due after the start of its group.
    #[inline]
    fn offset_ns(&self, place: u64) -> u64 {
        match self.pacing {
            Pacing::Even => place * NS_PER_S / self.group,
            Pacing::Ticks(tps) => {
                let tps = u64::from(tps);
                place * tps / self.group * NS_PER_S / tps
            }
            Pacing::Bursts => place * (self.period_ns / BURST_PART) / self.group,
            Pacing::Poisson(_) => place.saturating_mul(self.period_ns),
        }
    }

    /// How many were due by a moment.
    pub fn due_by(&self, now_ns: u64) -> u64 {
        let Some(since) = now_ns.checked_sub(self.start_ns) else { return 0 };
        if let Pacing::Poisson(seed) = self.pacing {
            let (mut at, mut due) = (0, 0);
            while at <= since {
                due += 1;
                at += gap_ns(seed, due, self.period_ns);
            }
            return due;
        }
        let within = since % self.period_ns;
        // The first place of the group that is not due yet.
        let (mut due, mut end) = (0, self.group);
        while due < end {
            let middle = due.midpoint(end);
            match self.offset_ns(middle) <= within {
                true => due = middle + 1,
                false => end = middle,
            }
        }
        since / self.period_ns * self.group + due
    }
}

/// The time between the update before place `place` and the one there:
/// exponentially distributed, and the same whenever it is asked for.
fn gap_ns(seed: u64, place: u64, mean_ns: u64) -> u64 {
    // SplitMix64, of which every number is as good as the next.
    let mut z = seed.wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^= z >> 31;
    let share = ((z >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    (-share.ln() * mean_ns as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_updates_have_the_rate_in_the_mean_and_its_spread() {
        let all = times(10_000, Pacing::Poisson(7), 20 * NS_PER_S);
        // 200,000 ± 4 √200,000.
        assert!((198_000..202_000).contains(&all.len()), "{}", all.len());
        let gaps: Vec<f64> = all.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let squares = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>();
        let stddev = (squares / gaps.len() as f64).sqrt();
        assert!((stddev / mean - 1.0).abs() < 0.02, "{stddev} of {mean}");
        assert_ne!(all, times(10_000, Pacing::Poisson(8), 20 * NS_PER_S));
    }

    fn times(rate: u64, pacing: Pacing, until_ns: u64) -> Vec<u64> {
        let mut schedule = Schedule::new(1_000, rate, pacing);
        std::iter::from_fn(|| schedule.take(until_ns)).collect()
    }

    #[test]
    fn updates_are_evenly_apart() {
        let expected = [1_000, 250_001_000, 500_001_000, 750_001_000, 1_000_001_000];
        assert_eq!(times(4, Pacing::Even, 1_000_001_000), expected);
        let thirds = times(3, Pacing::Even, 2_000_001_000);
        assert_eq!(thirds[..4], [1_000, 333_334_333, 666_667_666, 1_000_001_000]);
    }

    #[test]
    fn a_tick_sends_what_became_due_since_the_last() {
        // 10 a second in 4 ticks: 3, 2, 3, 2.
        let all = times(10, Pacing::Ticks(4), 1_000_000_999);
        let in_tick =
            |tick: u64| all.iter().filter(|at| **at == 1_000 + tick * 250_000_000).count();
        assert_eq!([0, 1, 2, 3].map(in_tick), [3, 2, 3, 2]);
    }

    #[test]
    fn a_burst_is_ten_milliseconds_at_twenty_times_the_rate() {
        let all = times(50_000, Pacing::Bursts, 1_000 + NS_PER_S - 1);
        assert_eq!(all.len(), 50_000);
        let first = &all[..10_000];
        assert!(first[9_999] - first[0] < 10_000_000, "{}", first[9_999]);
        assert_eq!(first[1] - first[0], 1_000);
        assert_eq!(all[10_000], 200_001_000);
    }

    #[test]
    fn a_source_that_was_away_owes_all_that_was_due() {
        let mut schedule = Schedule::new(0, 1_000_000, Pacing::Even);
        assert_eq!(schedule.take(0), Some(0));
        let owed = std::iter::from_fn(|| schedule.take(1_000_000)).count();
        assert_eq!(owed, 1_000);
        assert_eq!(schedule.due_by(1_000_000), 1_001);
    }

    /// A source that looks every 10 µs, and a system that takes 10 µs for each
    /// update, for 10 s; for one second nothing moves. Latencies at 99 %, in
    /// microseconds: from when an update was due, and from when it was sent.
    fn p99_us_with_a_stall(stall: bool) -> (u64, u64) {
        let mut schedule = Schedule::new(0, 1_000, Pacing::Even);
        let (mut from_schedule, mut from_send) = (Vec::new(), Vec::new());
        let mut now = 0;
        while now < 10 * NS_PER_S {
            while let Some(due) = schedule.take(now) {
                from_schedule.push(now + 10_000 - due);
                from_send.push(10_000);
            }
            let is_first = stall && (4 * NS_PER_S..5 * NS_PER_S).contains(&now);
            now = if is_first { 5 * NS_PER_S } else { now + 10_000 };
        }
        let p99_us = |all: &mut Vec<u64>| {
            all.sort_unstable();
            all[all.len() * 99 / 100] / 1_000
        };
        (p99_us(&mut from_schedule), p99_us(&mut from_send))
    }

    #[test]
    fn a_stall_shows_from_the_schedule_and_hides_from_the_sending() {
        assert_eq!(p99_us_with_a_stall(false), (10, 10));
        let (from_schedule, from_send) = p99_us_with_a_stall(true);
        assert!(from_schedule > 890_000, "{from_schedule}");
        assert_eq!(from_send, 10);
    }

    #[test]
    fn what_is_due_is_what_is_taken() {
        let pacings = [
            Pacing::Even,
            Pacing::Ticks(7),
            Pacing::Ticks(1000),
            Pacing::Bursts,
            Pacing::Poisson(5),
        ];
        for pacing in pacings {
            for rate in [1, 3, 7, 999, 12_345] {
                for until in [0, 1_000, 1_001, 999_999_999, 1_234_567_890, 3_000_000_000] {
                    let due = Schedule::new(1_000, rate, pacing).due_by(until);
                    let taken = times(rate, pacing, until).len() as u64;
                    assert_eq!(due, taken, "{pacing} {rate} {until}");
                }
            }
        }
    }

    #[test]
    fn pacings_are_read_as_they_are_written() {
        for pacing in [Pacing::Even, Pacing::Bursts, Pacing::Ticks(500), Pacing::Poisson(3)] {
            assert_eq!(pacing.to_string().parse(), Ok(pacing));
        }
        assert_eq!("ticks".parse(), Ok(Pacing::Ticks(1000)));
        let error = "ticks:0".parse::<Pacing>().unwrap_err();
        assert!(error.starts_with("`ticks:0` is no pacing; give even, bursts, "), "{error}");
    }
}
