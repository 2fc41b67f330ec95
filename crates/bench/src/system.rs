//! Source, hub and server, clients; and runs of updates through them.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tapeline_measure::clock::now_ns;
use tapeline_measure::processor::{self, Pinned};
use tapeline_measure::schedule::{Pacing, Schedule};
use tapeline_measure::stop;

use crate::BenchError;
use crate::busy::Busy;
use crate::clients::{Clients, Reading};
use crate::plan::Plan;
use crate::publisher::Publisher;
use crate::run::{OURS, Run};
use crate::setup::Setup;
use crate::share::{Share, wrong_shares};
use crate::subject::{Counts, Site, Subject, Written};
use crate::warm_up::WarmUp;

/// Updates sent before the clients are looked at again.
const UPDATES_PER_TURN: usize = 512;

/// While it sends, the source looks at its own socket once in so many turns.
const TURNS_PER_SOURCE_POLL: u32 = 64;

/// How long the last updates may take to come before they are lost.
const DRAIN: Duration = Duration::from_secs(10);

/// When nothing came for so long, nothing will: longer than a host stands still
/// that has other work to do, or what is late would be told as lost.
const SILENCE: Duration = Duration::from_secs(5);

/// A system at which nothing moves for so long has all it wants.
const QUIET: Duration = Duration::from_millis(50);

/// Moves of a system that is never quiet are waited for no longer than this.
const MOST_QUIET: Duration = Duration::from_secs(2);

/// What came is looked at so often for the warm-up and the series.
const SLICE_NS: u64 = 100_000_000;

/// A system that is not warm after so many times the window never will be.
const MOST_WINDOWS: u32 = 4;

/// Updates to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    /// Updates a second.
    pub(crate) rate: u64,
    pub(crate) pacing: Pacing,
    /// For how long the rate must be reached before anything is measured.
    pub(crate) warm_up: Duration,
    /// How long is measured.
    pub(crate) time: Duration,
}

/// A system that is ready for updates.
pub(crate) struct System {
    // Clients and source first, so that nothing is recovered at the end.
    clients: Clients,
    publisher: Publisher,
    subject: Subject,
    plan: Plan,
    watchers: Vec<u32>,
    fan_out: f64,
    /// From the first connection to the last image.
    pub(crate) ready_after: Duration,
    busy: Busy,
    _pinned: Pinned,
}

impl System {
    /// Starts it and waits until every client has its images.
    pub(crate) fn start(
        plan: &Plan,
        setup: &Setup,
        patience: Duration,
    ) -> Result<Self, BenchError> {
        if let Some(affinity) = &setup.affinity {
            affinity.check()?;
        }
        let pinned = Pinned::to(setup.our_cores());
        let site = Site::prepare(setup)?;
        let (mut publisher, address) = Publisher::listen(plan)?;
        let subject = site.start(setup, address)?;
        let mut clients = Clients::connect(subject.addresses(), &plan.watchlists, plan.reading)?;
        let watchers = plan.watchers();
        let ready_after = await_images(&mut clients, &mut publisher, &watchers, patience)?;
        let mut system = Self {
            clients,
            publisher,
            subject,
            plan: plan.clone(),
            watchers,
            fan_out: plan.fan_out(),
            ready_after,
            busy: Busy::told_if(plan.reading == Reading::InPlace),
            _pinned: pinned,
        };
        system.settle();
        Ok(system)
    }

    /// Waits until nothing moves any more: what was lost in the rush of the
    /// opening has been asked for again by then, and come.
    fn settle(&mut self) {
        let began = Instant::now();
        let (mut last, mut quiet_since) = (self.moves(), began);
        while quiet_since.elapsed() < QUIET && began.elapsed() < MOST_QUIET {
            self.poll();
            let now = self.moves();
            if now != last {
                (last, quiet_since) = (now, Instant::now());
            }
        }
    }

    /// What changes as long as images are on their way.
    fn moves(&self) -> (Counts, u64, u64) {
        let tally = self.clients.tally();
        (self.subject.counts(), tally.recovered(), tally.troubles)
    }

    fn poll(&mut self) {
        self.publisher.source.poll();
        self.clients.poll();
    }

    /// Connects one more client and waits for its images.
    pub(crate) fn add_client(
        &mut self,
        watchlist: &[u32],
        patience: Duration,
    ) -> Result<Duration, BenchError> {
        self.clients.add(watchlist)?;
        for item in watchlist {
            self.watchers[*item as usize] += 1;
        }
        self.plan.watchlists.push(watchlist.to_vec());
        await_images(&mut self.clients, &mut self.publisher, &self.watchers, patience)
    }

    /// Reads and writes what there is for a while.
    pub(crate) fn idle_for(&mut self, time: Duration) {
        let began = Instant::now();
        while began.elapsed() < time {
            self.poll();
        }
    }

    /// Bytes of memory of hub and server, if they are processes.
    pub(crate) fn memory_bytes(&self) -> Option<(u64, u64)> {
        self.subject.memory_bytes()
    }

    /// Bytes of an update on the wire to a client: in a packed frame, with its
    /// length.
    pub(crate) fn update_wire_bytes(&self) -> usize {
        self.publisher.update_bytes() + 2
    }

    /// Sends updates until the rate was reached for the time of the warm-up,
    /// and then for the time that is measured.
    ///
    /// Errors: somebody wants the program to end.
    pub(crate) fn run(&mut self, load: &Load) -> Result<Run, BenchError> {
        let before = Before::of(self);
        self.clients.clear_latencies();
        let start_ns = now_ns() + 1_000_000;
        let mut schedule = Schedule::new(start_ns, load.rate, load.pacing);
        let mut watch = Watch::new(load, self, start_ns);
        let (mut expected, mut was_slow, mut turn) = (0_u64, false, 0_u32);
        loop {
            let now = now_ns();
            if now >= watch.next_ns {
                stop::check()?;
                if watch.look(now, self) {
                    break;
                }
            }
            let mut count = 0_usize;
            while count < UPDATES_PER_TURN
                && let Some(due_ns) = schedule.take(now)
            {
                let item = self.publisher.send(due_ns);
                expected += u64::from(self.watchers[item as usize]);
                count += 1;
            }
            if count > 0 {
                self.publisher.source.flush();
            }
            let sent_at = self.busy.note_source(now, count);
            turn = turn.wrapping_add(1);
            if turn.is_multiple_of(TURNS_PER_SOURCE_POLL) {
                self.publisher.source.poll();
                was_slow |= self.publisher.source.is_slow();
                if self.clients.tally().troubles > before.troubles {
                    watch.look(now_ns(), self);
                    break;
                }
            }
            // The source's look at its own socket is the clients' time: it is rare.
            let work = self.clients.poll();
            self.busy.note_clients(sent_at, work);
        }
        let scheduled = schedule.due_by(watch.last_ns);
        let drained = self.drain(before.received + expected);
        let outcome = Outcome { scheduled, expected, was_slow, drained };
        Ok(self.sum_up(load, &before, watch, &outcome))
    }

    fn sum_up(&self, load: &Load, before: &Before, watch: Watch, outcome: &Outcome) -> Run {
        let tally = self.clients.tally();
        let counts = self.subject.counts();
        let sent = self.publisher.published() - before.published;
        let received = tally.updates - before.received;
        let written = self.subject.written().zip(before.written);
        // Where something is missing, that is what is wrong with the shares.
        let wrong_shares = match received == outcome.expected && !before.shares.is_empty() {
            true => {
                wrong_shares(&self.plan, (before.published, sent), &before.shares, tally.shares())
            }
            false => 0,
        };
        Run {
            rate: load.rate,
            time: nanos(watch.measured_from_ns, watch.last_ns),
            warm_up: nanos(watch.start_ns, watch.measured_from_ns),
            scheduled: outcome.scheduled,
            sent,
            expected: outcome.expected,
            received,
            received_measured: watch.last_received - watch.measured_received,
            fan_out: self.fan_out,
            bad: tally.bad - before.bad + wrong_shares as u64,
            merged: since(counts.merged, before.counts.merged),
            gaps: since(counts.gaps, watch.measured_gaps),
            recovered: tally.recovered() - watch.measured_recovered,
            dropped: since(self.subject.dropped(), before.dropped),
            cut: since(counts.cut, before.counts.cut),
            trouble: (tally.troubles > before.troubles)
                .then(|| tally.last_trouble.clone())
                .or(self.publisher.source.trouble().map(ToString::to_string)),
            was_slow: outcome.was_slow,
            drained_after: outcome.drained.after,
            is_still_coming: outcome.drained.is_given_up,
            cpu_seconds: watch.cpu_seconds,
            busy_seconds: watch.busy_seconds,
            write_bytes: written.and_then(|(now, before)| now.mean_bytes_since(before)),
            from_schedule: tally.from_schedule.clone(),
            from_send: tally.from_send.clone(),
            series: watch.series,
        }
    }

    fn cpu_seconds(&self) -> BTreeMap<String, f64> {
        let mut seconds = self.subject.cpu_seconds();
        let ours = processor::thread_seconds(processor::thread_id());
        seconds.extend(ours.map(|ours| (OURS.to_owned(), ours)));
        seconds
    }

    fn busy_seconds(&self) -> BTreeMap<String, f64> {
        let mut seconds = self.subject.busy_seconds();
        seconds.extend(self.busy.seconds());
        seconds
    }

    /// Polls until all is there, or nothing comes any more.
    fn drain(&mut self, expected: u64) -> Drained {
        let began = Instant::now();
        let (mut last_received, mut last_at) = (self.clients.tally().updates, began);
        loop {
            let received = self.clients.tally().updates;
            let now = Instant::now();
            if received > last_received {
                (last_received, last_at) = (received, now);
            }
            let is_over = received >= expected || now - last_at > SILENCE;
            if is_over || now - began > DRAIN {
                return Drained { after: last_at - began, is_given_up: !is_over };
            }
            self.poll();
        }
    }
}

/// By how much each part has grown. What was not told at both ends is not known.
fn grown(before: &BTreeMap<String, f64>, now: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let all = now.into_iter();
    all.filter_map(|(part, end)| before.get(&part).map(|from| (part, end - from))).collect()
}

/// How far a count has come, if it is told.
fn since(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
}

fn nanos(from_ns: u64, to_ns: u64) -> Duration {
    Duration::from_nanos(to_ns.saturating_sub(from_ns))
}

fn await_images(
    clients: &mut Clients,
    publisher: &mut Publisher,
    watchers: &[u32],
    patience: Duration,
) -> Result<Duration, BenchError> {
    let began = Instant::now();
    let watched = watchers.iter().filter(|count| **count > 0).count();
    // An image may come twice, so the number of images alone does not say it.
    while !(clients.is_ready() && publisher.source.open_items() >= watched) {
        stop::check()?;
        publisher.source.poll();
        clients.poll();
        if began.elapsed() > patience {
            let (images, items) = (clients.tally().images, clients.wanted());
            return Err(BenchError::NotReady { seconds: patience.as_secs(), images, items });
        }
    }
    Ok(began.elapsed())
}

/// What there was before a run.
struct Before {
    counts: Counts,
    dropped: Option<u64>,
    written: Option<Written>,
    published: u64,
    received: u64,
    shares: Vec<Share>,
    bad: u64,
    troubles: u64,
}

impl Before {
    fn of(system: &System) -> Self {
        let tally = system.clients.tally();
        let is_numbered = system.plan.reading != Reading::Fields;
        Self {
            counts: system.subject.counts(),
            dropped: system.subject.dropped(),
            written: system.subject.written(),
            published: system.publisher.published(),
            received: tally.updates,
            shares: if is_numbered { tally.shares().to_vec() } else { Vec::new() },
            bad: tally.bad,
            troubles: tally.troubles,
        }
    }
}

/// What became of the sending.
struct Outcome {
    scheduled: u64,
    expected: u64,
    was_slow: bool,
    drained: Drained,
}

/// The end of a run.
struct Drained {
    /// When the last update came.
    after: Duration,
    /// Whether more were coming still.
    is_given_up: bool,
}

/// Looks at a run ten times a second: when it is warm, and when it is over.
struct Watch {
    warm_up: WarmUp,
    give_up_ns: u64,
    time_ns: u64,
    start_ns: u64,
    start_received: u64,
    is_measuring: bool,
    measured_from_ns: u64,
    measured_received: u64,
    /// Gaps and images again of the warm-up are none of what is measured: the
    /// start may have left them behind. Updates that they cost count as lost.
    measured_gaps: Option<u64>,
    measured_recovered: u64,
    cpu_seconds: BTreeMap<String, f64>,
    busy_seconds: BTreeMap<String, f64>,
    series: Vec<u64>,
    next_ns: u64,
    last_ns: u64,
    last_received: u64,
}

impl Watch {
    fn new(load: &Load, system: &System, start_ns: u64) -> Self {
        let per_s = load.rate as f64 * system.fan_out;
        let window_ns = load.warm_up.as_nanos() as u64;
        let tally = system.clients.tally();
        let received = tally.updates;
        Self {
            warm_up: WarmUp::new(per_s, load.warm_up),
            give_up_ns: start_ns + window_ns * u64::from(MOST_WINDOWS),
            time_ns: load.time.as_nanos() as u64,
            start_ns,
            start_received: received,
            is_measuring: false,
            measured_from_ns: start_ns,
            measured_received: received,
            measured_gaps: system.subject.counts().gaps,
            measured_recovered: tally.recovered(),
            cpu_seconds: BTreeMap::new(),
            busy_seconds: BTreeMap::new(),
            series: Vec::new(),
            next_ns: start_ns,
            last_ns: start_ns,
            last_received: received,
        }
    }

    /// Returns whether the run is over.
    fn look(&mut self, now_ns: u64, system: &mut System) -> bool {
        let received = system.clients.tally().updates;
        self.count(now_ns, received);
        if !self.is_measuring {
            let since_start = nanos(self.start_ns, now_ns);
            if self.warm_up.is_over(since_start, received) || now_ns >= self.give_up_ns {
                self.is_measuring = true;
                (self.measured_from_ns, self.measured_received) = (now_ns, received);
                self.measured_gaps = system.subject.counts().gaps;
                self.measured_recovered = system.clients.tally().recovered();
                self.cpu_seconds = system.cpu_seconds();
                self.busy_seconds = system.busy_seconds();
                system.clients.clear_latencies();
            }
        }
        let end_ns = self.measured_from_ns + self.time_ns;
        self.next_ns = now_ns + SLICE_NS;
        if !self.is_measuring {
            return false;
        }
        if now_ns < end_ns {
            self.next_ns = self.next_ns.min(end_ns);
            return false;
        }
        self.cpu_seconds = grown(&self.cpu_seconds, system.cpu_seconds());
        self.busy_seconds = grown(&self.busy_seconds, system.busy_seconds());
        true
    }

    /// Adds what came since the last look to its second.
    fn count(&mut self, now_ns: u64, received: u64) {
        let second = (now_ns.saturating_sub(self.start_ns + 1) / 1_000_000_000) as usize;
        if self.series.len() <= second {
            self.series.resize(second + 1, 0);
        }
        let before = self.last_received.max(self.start_received);
        self.series[second] += received - before;
        (self.last_ns, self.last_received) = (now_ns, received);
    }
}
