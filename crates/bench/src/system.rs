//! Source, hub and server, clients; and one run of updates through them.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tapeline_channel::Idle;

use crate::BenchError;
use crate::clients::{Clients, Reading};
use crate::clock::now_ns;
use crate::latency_stats::Summary;
use crate::node::{Counts, NodeThread};
use crate::schedule::Schedule;
use crate::source::Source;

/// Updates sent before the clients are looked at again.
const UPDATES_PER_TURN: usize = 512;

/// While it sends, the source looks at its own socket once in so many turns.
const TURNS_PER_SOURCE_POLL: u32 = 64;

/// How long the last updates may take to come before they are lost.
const DRAIN: Duration = Duration::from_secs(3);

/// A system that needs longer than this for what is left at the end was
/// falling behind.
const BEHIND: Duration = Duration::from_millis(100);

/// Of the updates that are due, a source must send this share in time.
const KEPT_SCHEDULE: f64 = 0.99;

/// Who watches what, and what is published.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) items: usize,
    pub(crate) watchlists: Vec<Vec<u32>>,
    /// The items of updates, one after the other, again and again.
    pub(crate) order: Vec<u32>,
    pub(crate) reading: Reading,
    pub(crate) cache: bool,
    pub(crate) idle: Idle,
}

impl Plan {
    /// One client that watches all items, which are published in turn.
    pub(crate) fn one_client(items: usize, reading: Reading, cache: bool, idle: Idle) -> Self {
        let all: Vec<u32> = (0..items as u32).collect();
        Self { items, watchlists: vec![all.clone()], order: all, reading, cache, idle }
    }

    /// Producer 50/50: every mount has all of `common` items and `own` ones
    /// that nobody else has. Every other update is of a common item.
    pub(crate) fn fifty_fifty(
        mounts: usize,
        common: usize,
        own: usize,
        cache: bool,
        idle: Idle,
    ) -> Self {
        let items = common + mounts * own;
        let watchlist = |mount: usize| {
            let first = common + mount * own;
            (0..common).chain(first..first + own).map(|item| item as u32).collect()
        };
        let of_one = |n: usize| {
            // One of each mount in turn.
            (common + n % mounts * own + n / mounts % own) as u32
        };
        let order = (0..mounts * own).flat_map(|n| [(n % common) as u32, of_one(n)]).collect();
        Self {
            items,
            watchlists: (0..mounts).map(watchlist).collect(),
            order,
            reading: Reading::Headers,
            cache,
            idle,
        }
    }

    /// How many mounts have each item.
    pub(crate) fn watchers(&self) -> Vec<u32> {
        let mut watchers = vec![0; self.items];
        for item in self.watchlists.iter().flatten() {
            watchers[*item as usize] += 1;
        }
        watchers
    }
}

/// A system that is ready for updates.
pub(crate) struct System {
    // Clients and source first, so that nothing is recovered at the end.
    clients: Clients,
    source: Source,
    node: NodeThread,
    watchers: Vec<u32>,
    /// From the first connection to the last image.
    pub(crate) ready_after: Duration,
}

impl System {
    /// Starts it and waits until every client has its images.
    pub(crate) fn start(plan: &Plan, patience: Duration) -> Result<Self, BenchError> {
        let (mut source, address) = Source::start(plan.items, plan.order.clone())?;
        let node = NodeThread::start(address, plan.cache, plan.idle)?;
        let mut clients = Clients::connect(node.address(), &plan.watchlists, plan.reading)?;
        let began = Instant::now();
        while !clients.is_ready() {
            source.poll();
            clients.poll();
            if began.elapsed() > patience {
                let (images, items) = (clients.tally().images, clients.wanted());
                return Err(BenchError::NotReady { seconds: patience.as_secs(), images, items });
            }
        }
        let ready_after = began.elapsed();
        Ok(Self { clients, source, node, watchers: plan.watchers(), ready_after })
    }

    /// Bytes of an update on the wire to a client: in a packed frame, with its
    /// length.
    pub(crate) fn update_wire_bytes(&self) -> usize {
        self.source.update_bytes() + 2
    }

    /// Sends updates at an even pace for `warm_up` and then for `time`.
    pub(crate) fn run(&mut self, rate: u64, warm_up: Duration, time: Duration) -> Run {
        let before = (self.node.counts(), self.clients.tally().updates);
        let tally = self.clients.tally();
        let (bad, troubles) = (tally.bad, tally.troubles);
        self.clients.clear_latencies();
        let start_ns = now_ns() + 1_000_000;
        let measured_ns = start_ns + warm_up.as_nanos() as u64;
        let end_ns = measured_ns + time.as_nanos() as u64;
        let mut schedule = Schedule::new(start_ns, rate);
        let (mut sent, mut expected, mut was_slow) = (0_u64, 0_u64, false);
        let (mut is_warm, mut turn) = (false, 0_u32);
        let mut measured_from = before.0;
        loop {
            let now = now_ns();
            if now >= end_ns {
                break;
            }
            if !is_warm && now >= measured_ns {
                is_warm = true;
                self.clients.clear_latencies();
                measured_from = self.node.counts();
            }
            let mut count = 0;
            while count < UPDATES_PER_TURN
                && let Some(due_ns) = schedule.take(now)
            {
                let item = self.source.send(due_ns);
                expected += u64::from(self.watchers[item as usize]);
                count += 1;
            }
            if count > 0 {
                self.source.flush();
                sent += count as u64;
            }
            turn = turn.wrapping_add(1);
            if turn.is_multiple_of(TURNS_PER_SOURCE_POLL) {
                self.source.poll();
                was_slow |= self.source.is_slow();
                if was_slow && rate > 1 && self.clients.tally().troubles > troubles {
                    break;
                }
            }
            self.clients.poll();
        }
        let scheduled = schedule.due_by(now_ns().min(end_ns));
        let measured_to = self.node.counts();
        let drained_after = self.drain(before.1 + expected);
        let tally = self.clients.tally();
        let (from_schedule, from_send) = (tally.from_schedule.summary(), tally.from_send.summary());
        let counts = self.node.counts();
        Run {
            rate,
            seconds: time.as_secs_f64(),
            scheduled,
            sent,
            expected,
            received: tally.updates - before.1,
            bad: tally.bad - bad,
            merged: counts.merged - before.0.merged,
            gaps: counts.gaps - before.0.gaps,
            cut: counts.cut - before.0.cut,
            trouble: (tally.troubles > troubles)
                .then(|| tally.last_trouble.clone())
                .or(self.source.trouble()),
            was_slow,
            drained_after,
            busy: busy(measured_from, measured_to, time),
            from_schedule,
            from_send,
        }
    }

    /// Polls until all is there, or nothing comes any more.
    fn drain(&mut self, expected: u64) -> Duration {
        let began = Instant::now();
        while self.clients.tally().updates < expected && began.elapsed() < DRAIN {
            self.source.poll();
            self.clients.poll();
        }
        began.elapsed()
    }
}

/// Share of the time in which hub and server had something to do.
fn busy(from: Counts, to: Counts, time: Duration) -> f64 {
    (to.busy_ns - from.busy_ns) as f64 / (time.as_nanos() as f64).max(1.0)
}

/// What became of a run.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Updates a second that were to be sent.
    pub(crate) rate: u64,
    pub(crate) seconds: f64,
    /// Updates that were due, warm-up included.
    pub(crate) scheduled: u64,
    pub(crate) sent: u64,
    /// Updates that were to reach clients.
    pub(crate) expected: u64,
    pub(crate) received: u64,
    pub(crate) bad: u64,
    pub(crate) merged: u64,
    pub(crate) gaps: u64,
    pub(crate) cut: u64,
    pub(crate) trouble: Option<String>,
    pub(crate) was_slow: bool,
    pub(crate) drained_after: Duration,
    pub(crate) busy: f64,
    pub(crate) from_schedule: Summary,
    pub(crate) from_send: Summary,
}

/// Why a run does not count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Flaw {
    Trouble(String),
    Lost(u64),
    Merged(u64),
    Gaps(u64),
    Cut(u64),
    Bad(u64),
    SourceHeldBack,
    SourceLate { percent: f64 },
    Behind { ms: u128 },
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Trouble(text) => write!(f, "trouble: {text}"),
            Self::Lost(count) => write!(f, "{count} updates were lost"),
            Self::Merged(count) => write!(f, "{count} updates were conflated"),
            Self::Gaps(count) => write!(f, "{count} gaps in the backbone"),
            Self::Cut(count) => write!(f, "{count} mounts were cut off"),
            Self::Bad(count) => write!(f, "{count} updates came out of order or broken"),
            Self::SourceHeldBack => {
                f.write_str("the hub reads too slowly: the source's queue grew")
            }
            Self::SourceLate { percent } => {
                write!(f, "the source sent {percent:.1} % of what was due")
            }
            Self::Behind { ms } => write!(f, "the last update came {ms} ms late: a queue grew"),
        }
    }
}

impl Run {
    /// Why the run does not count; `None` if it does.
    pub(crate) fn flaw(&self) -> Option<Flaw> {
        let kept = self.sent as f64 / self.scheduled.max(1) as f64;
        if let Some(text) = &self.trouble {
            return Some(Flaw::Trouble(text.clone()));
        }
        let flaws = [
            (self.merged > 0, Flaw::Merged(self.merged)),
            (
                self.received < self.expected,
                Flaw::Lost(self.expected - self.received.min(self.expected)),
            ),
            (self.cut > 0, Flaw::Cut(self.cut)),
            (self.gaps > 0, Flaw::Gaps(self.gaps)),
            (self.bad > 0 || self.received > self.expected, Flaw::Bad(self.bad)),
            (self.was_slow, Flaw::SourceHeldBack),
            (kept < KEPT_SCHEDULE, Flaw::SourceLate { percent: kept * 100.0 }),
            (self.drained_after > BEHIND, Flaw::Behind { ms: self.drained_after.as_millis() }),
        ];
        flaws.into_iter().find(|(is_so, _)| *is_so).map(|(_, flaw)| flaw)
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "rate": self.rate,
            "seconds": self.seconds,
            "sent": self.sent,
            "scheduled": self.scheduled,
            "expected": self.expected,
            "received": self.received,
            "lost": self.expected.saturating_sub(self.received),
            "conflated": self.merged,
            "gaps": self.gaps,
            "node_busy": self.busy,
            "invalid": self.flaw().map(|flaw| flaw.to_string()),
            "from_schedule": self.from_schedule.to_json(),
            "from_send": self.from_send.to_json(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Run {
        Run {
            rate: 1000,
            seconds: 1.0,
            scheduled: 1000,
            sent: 1000,
            expected: 1000,
            received: 1000,
            bad: 0,
            merged: 0,
            gaps: 0,
            cut: 0,
            trouble: None,
            was_slow: false,
            drained_after: Duration::ZERO,
            busy: 0.1,
            from_schedule: Summary::default(),
            from_send: Summary::default(),
        }
    }

    #[test]
    fn a_run_counts_only_if_all_came_in_time() {
        assert_eq!(good().flaw(), None);
        let lost = Run { received: 999, ..good() };
        assert_eq!(lost.flaw(), Some(Flaw::Lost(1)));
        let late = Run { sent: 980, expected: 980, received: 980, ..good() };
        assert_eq!(late.flaw(), Some(Flaw::SourceLate { percent: 98.0 }));
        let behind = Run { drained_after: Duration::from_millis(101), ..good() };
        assert_eq!(behind.flaw(), Some(Flaw::Behind { ms: 101 }));
        assert_eq!(Run { merged: 2, ..good() }.flaw(), Some(Flaw::Merged(2)));
        assert_eq!(Run { was_slow: true, ..good() }.flaw(), Some(Flaw::SourceHeldBack));
    }

    #[test]
    fn half_of_the_updates_go_to_all_mounts_and_half_to_one() {
        let plan = Plan::fifty_fifty(100, 7, 3, false, Idle::Yield);
        assert_eq!(plan.items, 307);
        let watchers = plan.watchers();
        let copies: u32 = plan.order.iter().map(|item| watchers[*item as usize]).sum();
        assert_eq!(copies as usize * 2, plan.order.len() * 101);
        let mut seen: Vec<u32> = plan.order.clone();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 307);
    }
}
