//! One run of updates through a system.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tapeline_measure::clock::now_ns;
use tapeline_measure::stop;

use super::error::PeerError;
use super::tally::Tally;
use super::way::{Order, Way};
use super::workload::Workload;
use crate::record::Distribution;
use crate::stamp::Stamp;

/// Updates published before the clients are looked at again.
const UPDATES_PER_TURN: usize = 64;

/// The publisher's connection is looked after once in so many turns.
const TURNS_PER_TIDY: u32 = 64;

/// What has not come when nothing came for so long is lost.
const SILENCE: Duration = Duration::from_millis(500);

/// A system that needs longer than this for what is left at the end was
/// falling behind.
const BEHIND: Duration = Duration::from_millis(100);

/// Of the updates that are due, this share is published in time.
const KEPT_SCHEDULE: f64 = 0.99;

/// From the order to the first update, so that who publishes by himself has
/// heard of it.
const AHEAD_NS: u64 = 20_000_000;

/// At which rate, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan {
    /// Updates a second that reach clients.
    pub(super) rate_out: u64,
    /// How long before it is measured.
    pub(super) warm_up: Duration,
    pub(super) time: Duration,
}

/// A system, and what was published through it so far.
pub(super) struct Run {
    pub(super) way: Box<dyn Way>,
    pub(super) tally: Tally,
    workload: Workload,
    published: u64,
}

/// The middle of a run: the part that is measured.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    received: u64,
    seconds: Option<f64>,
    at_ns: u64,
}

impl Run {
    pub(super) fn new(way: Box<dyn Way>, tally: Tally, workload: Workload) -> Self {
        Self { way, tally, workload, published: 0 }
    }

    /// Publishes at an even pace and reads what comes.
    ///
    /// Errors: a connection or the server is gone. That updates are lost or
    /// late is a result.
    pub(super) fn trial(&mut self, plan: &Plan) -> Result<Trial, PeerError> {
        let rate = (plan.rate_out / self.workload.watchers as u64).max(1);
        let start_ns = now_ns() + AHEAD_NS;
        let measured_ns = start_ns + plan.warm_up.as_nanos() as u64;
        let end_ns = measured_ns + plan.time.as_nanos() as u64;
        let order = Order { rate, start_ns, end_ns, first: self.published };
        let (received, bad) = (self.tally.received, self.tally.bad);
        self.tally.begin(measured_ns);
        let publishes_itself = self.way.publish(&order)?;
        let (sent, from, to) = self.pass(&order, measured_ns, publishes_itself)?;
        let (sent, drained_after) = self.drain(sent, received)?;
        self.published += sent;
        let due = u128::from(end_ns - start_ns) * u128::from(rate) / 1_000_000_000;
        Ok(Trial {
            rate_out: self.workload.copies(rate),
            seconds: (to.at_ns - from.at_ns) as f64 / 1e9,
            due: due as u64,
            sent,
            expected: self.workload.copies(sent),
            received: self.tally.received - received,
            bad: self.tally.bad - bad,
            drained_after,
            measured: to.received - from.received,
            server_seconds: to.seconds.zip(from.seconds).map(|(to, from)| to - from),
            latency: Distribution::of(&self.tally.latencies),
        })
    }

    /// The time of the run. Returns how many updates were published by us, and
    /// the two ends of what is measured.
    fn pass(
        &mut self,
        order: &Order,
        measured_ns: u64,
        publishes_itself: bool,
    ) -> Result<(u64, Mark, Mark), PeerError> {
        let (mut sent, mut from, mut turn) = (0, None, 0_u32);
        loop {
            let now = now_ns();
            if now >= order.end_ns {
                break;
            }
            if from.is_none() && now >= measured_ns {
                from = Some(self.mark());
            }
            if !publishes_itself {
                sent = self.publish(order, sent, now)?;
            }
            turn = turn.wrapping_add(1);
            if turn.is_multiple_of(TURNS_PER_TIDY) {
                stop::check()?;
                self.way.tidy()?;
            }
            self.way.poll(&mut self.tally)?;
        }
        let to = self.mark();
        Ok((sent, from.unwrap_or(to), to))
    }

    /// Publishes what is due. Returns how many are published in all.
    fn publish(&mut self, order: &Order, sent: u64, now: u64) -> Result<u64, PeerError> {
        let mut next = sent;
        for _ in 0..UPDATES_PER_TURN {
            let after_ns = u128::from(next) * 1_000_000_000 / u128::from(order.rate);
            let due_ns = order.start_ns + after_ns as u64;
            if due_ns > now || self.way.is_behind() {
                break;
            }
            self.way.send(Stamp { due_ns, number: order.first + next })?;
            next += 1;
        }
        // What the socket did not take before is there even if nothing is due.
        self.way.flush()?;
        Ok(next)
    }

    fn mark(&self) -> Mark {
        Mark { received: self.tally.received, seconds: self.way.server_seconds(), at_ns: now_ns() }
    }

    /// Reads until all is there, or nothing comes any more.
    fn drain(&mut self, sent: u64, before: u64) -> Result<(u64, Duration), PeerError> {
        let (began, mut all) = (Instant::now(), Some(sent).filter(|sent| *sent > 0));
        let (mut last, mut last_at) = (self.tally.received, began);
        loop {
            all = all.or_else(|| self.way.published());
            let is_there = |sent| self.tally.received - before >= self.workload.copies(sent);
            if all.is_some_and(is_there) || last_at.elapsed() > SILENCE {
                return Ok((all.unwrap_or(0), began.elapsed()));
            }
            self.way.flush()?;
            self.way.tidy()?;
            self.way.poll(&mut self.tally)?;
            if self.tally.received != last {
                (last, last_at) = (self.tally.received, Instant::now());
            }
        }
    }
}

/// What became of a run.
#[derive(Clone, Debug)]
pub(super) struct Trial {
    /// Updates a second that were to reach clients.
    pub(super) rate_out: u64,
    /// How long was measured.
    pub(super) seconds: f64,
    /// Updates that were due, and those that were published.
    pub(super) due: u64,
    pub(super) sent: u64,
    /// Copies that were to reach clients, and those that did.
    pub(super) expected: u64,
    pub(super) received: u64,
    pub(super) bad: u64,
    pub(super) drained_after: Duration,
    /// Copies that reached clients while it was measured.
    pub(super) measured: u64,
    /// Seconds that the server was on a processor meanwhile.
    pub(super) server_seconds: Option<f64>,
    /// From when updates were due, in nanoseconds; `None` when none came.
    pub(super) latency: Option<Distribution>,
}

/// Why a run does not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Flaw {
    Lost(u64),
    Bad(u64),
    Late { percent: f64 },
    Behind { ms: u128 },
}

impl fmt::Display for Flaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(count) => write!(f, "{count} updates were lost"),
            Self::Bad(count) => write!(f, "{count} updates came twice, out of order or broken"),
            Self::Late { percent } => {
                write!(f, "{percent:.1} % of what was due was published in time")
            }
            Self::Behind { ms } => write!(f, "the last update came {ms} ms late: a queue grew"),
        }
    }
}

impl Trial {
    /// Why it does not count; `None` if it does.
    pub(super) fn flaw(&self) -> Option<Flaw> {
        let kept = self.sent as f64 / self.due.max(1) as f64;
        if self.received < self.expected {
            Some(Flaw::Lost(self.expected - self.received))
        } else if self.bad > 0 || self.received > self.expected {
            Some(Flaw::Bad(self.bad.max(self.received - self.expected)))
        } else if kept < KEPT_SCHEDULE {
            Some(Flaw::Late { percent: kept * 100.0 })
        } else if self.drained_after > BEHIND {
            Some(Flaw::Behind { ms: self.drained_after.as_millis() })
        } else {
            None
        }
    }

    /// Whether the system may be used for another run: all came in the end.
    pub(super) fn is_whole(&self) -> bool {
        self.received == self.expected && self.bad == 0
    }

    /// Copies that reached clients for each second that the server was on a
    /// processor.
    pub(super) fn per_server_second(&self) -> Option<f64> {
        let seconds = self.server_seconds.filter(|seconds| *seconds > 0.0)?;
        Some(self.measured as f64 / seconds)
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "rate_out_per_s": self.rate_out,
            "seconds": self.seconds,
            "due": self.due,
            "sent": self.sent,
            "expected": self.expected,
            "received": self.received,
            "bad": self.bad,
            "drained_after_ms": self.drained_after.as_secs_f64() * 1e3,
            "measured": self.measured,
            "server_cpu_seconds": self.server_seconds,
            "updates_out_per_server_cpu_second": self.per_server_second(),
            "latency": self.latency,
            "invalid": self.flaw().map(|flaw| flaw.to_string()),
        })
    }
}

#[cfg(test)]
pub(super) fn good() -> Trial {
    Trial {
        rate_out: 1_000,
        seconds: 1.0,
        due: 100,
        sent: 100,
        expected: 1_000,
        received: 1_000,
        bad: 0,
        drained_after: Duration::ZERO,
        measured: 1_000,
        server_seconds: Some(0.5),
        latency: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use std::collections::VecDeque;
    use std::rc::Rc;

    #[test]
    fn a_trial_counts_only_if_all_came_in_time() {
        assert_eq!(good().flaw(), None);
        let lost = Trial { received: 990, ..good() };
        assert_eq!((lost.flaw(), lost.is_whole()), (Some(Flaw::Lost(10)), false));
        let late = Trial { sent: 90, expected: 900, received: 900, ..good() };
        assert_eq!((late.flaw(), late.is_whole()), (Some(Flaw::Late { percent: 90.0 }), true));
        let behind = Trial { drained_after: Duration::from_millis(101), ..good() };
        assert_eq!(behind.flaw(), Some(Flaw::Behind { ms: 101 }));
        assert_eq!(Trial { bad: 2, ..good() }.flaw(), Some(Flaw::Bad(2)));
        assert_eq!(Trial { received: 1_001, ..good() }.flaw(), Some(Flaw::Bad(1)));
    }

    #[test]
    fn what_costs_no_time_has_no_figure() {
        assert_eq!(good().per_server_second(), Some(2_000.0));
        assert_eq!(Trial { server_seconds: None, ..good() }.per_server_second(), None);
        assert_eq!(Trial { server_seconds: Some(0.0), ..good() }.per_server_second(), None);
    }

    /// Gives everything to every client, but for an update that it is told to
    /// lose for the first one.
    #[derive(Clone, Default)]
    struct Simple {
        queue: VecDeque<Stamp>,
        numbers: Rc<RefCell<Vec<u64>>>,
        loses_next: Rc<Cell<bool>>,
    }

    const CLIENTS: usize = 4;

    impl Way for Simple {
        fn poll(&mut self, tally: &mut Tally) -> Result<usize, PeerError> {
            let waiting: Vec<Stamp> = self.queue.drain(..).collect();
            for stamp in &waiting {
                for client in usize::from(self.loses_next.take())..CLIENTS {
                    tally.update(client, Some(*stamp));
                }
            }
            Ok(waiting.len())
        }

        fn send(&mut self, stamp: Stamp) -> Result<(), PeerError> {
            self.numbers.borrow_mut().push(stamp.number);
            self.queue.push_back(stamp);
            Ok(())
        }
    }

    /// A trial of which at least one update was sent, whatever else the machine
    /// does meanwhile.
    fn trial(run: &mut Run) -> Trial {
        let time = Duration::from_millis(20);
        let plan = Plan { rate_out: 40_000, warm_up: time, time };
        loop {
            let trial = run.trial(&plan).unwrap();
            if trial.sent > 0 {
                return trial;
            }
        }
    }

    #[test]
    fn numbers_go_on_from_trial_to_trial_and_a_lost_update_is_told() {
        let workload = Workload { clients: CLIENTS, items: 3, watchers: CLIENTS };
        let simple = Simple::default();
        let mut run = Run::new(Box::new(simple.clone()), Tally::new(workload), workload);
        let first = trial(&mut run);
        assert!(first.is_whole(), "{first:?}");
        assert_eq!(first.received, first.sent * CLIENTS as u64);
        simple.loses_next.set(true);
        let second = trial(&mut run);
        assert_eq!(second.flaw(), Some(Flaw::Lost(1)), "{second:?}");
        let third = trial(&mut run);
        assert!(third.is_whole(), "{third:?}");
        let all = first.sent + second.sent + third.sent;
        assert!(simple.numbers.borrow().iter().copied().eq(0..all), "{all} updates");
    }
}
