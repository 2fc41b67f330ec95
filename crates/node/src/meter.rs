//! Counts of a thread and its members, published for whoever looks.

use std::time::Duration;

use tapeline_backbone::{
    Bus, Counters as BackboneCounters, DriverRow, DriverStreamRow, FrameSink, FrameSource, PeerRow,
    Port, PortSettings,
};
use tapeline_channel::{ChannelCounters, System};
use tapeline_counters::{Counted, Full, Registry, Rowed, Table, View, Writer};
use tapeline_hub::{Counters as HubCounters, Hub, HubItemRow, HubServiceRow, ServerRow, SourceRow};
use tapeline_server::{
    HopRow, ItemRow, MountRow, ProductRow, Server, ServiceRow, Statistics, TraceRow, UserRow,
};
use tapeline_time::Time;

use crate::Agent;
use crate::headroom::Traffic;

/// Counts are published this often while there are turns. High-water marks are of
/// what was published.
pub(super) const PUBLISH_INTERVAL: Duration = Duration::from_millis(10);

/// How busy the thread was is looked at over so long.
const SECOND: Duration = Duration::from_secs(1);

/// A turn that takes longer than it should.
const LONG_TURN: Duration = Duration::from_millis(1);

tapeline_counters::counts! {
    /// A thread that turns hubs and servers.
    pub struct ThreadCounters = "thread" {
        /// Turns in which there was something to do.
        turns: u64 = total;
        /// Time that these took.
        busy_ns: u64 = total(ns);
        /// Turns that took longer than a millisecond.
        turns_long: u64 = total;
        /// The longest turn since the start.
        turn_ns_most: u64 = most(ns);
        /// What one in a hundred turns of the last whole second took longer than, by an
        /// eighth at most too much; 0 if there were none.
        turn_ns_p99: u64 = now(ns);
        /// The part of the last whole second in which there was something to do, in
        /// thousandths.
        busy_permille: u64 = now;
        /// The same of the busiest 10 ms of that second: how near the thread came to
        /// all it can do.
        busiest_permille: u64 = now;
        /// How much of what it can do by the knee that was measured the busiest 10 ms of
        /// that second took, in percent; 0 without a knee.
        knee_percent: u64 = now;
        /// Whether it is on the backbone in both directions: 1, or 0.
        on_backbone: u64 = now;
        /// Slices of answers to the admin port.
        answer_slices: u64 = total;
        /// Which configuration it has, counted from the start on, which has 0.
        config_epoch: u64 = now;
        /// When this was published, on the host's monotonic clock: one that stands
        /// still is of a thread that hangs.
        published_ns: u64 = now(ns);
    }
}

/// How busy a thread is.
#[derive(Debug, Default)]
pub(super) struct Load {
    counters: ThreadCounters,
    /// When the present 10 ms began, and the time at work before it.
    bin: (Time, u64),
    /// The same of the present second.
    second: (Time, u64),
    busiest_permille: u64,
    /// How long the turns of the present second took.
    turns: Turns,
}

/// Turns by how long they took: eight bins for each power of two of nanoseconds.
#[derive(Debug)]
struct Turns {
    bins: [u32; BINS],
    count: u32,
}

/// Bins for turns of up to eight seconds; a longer one is in the last.
const BINS: usize = 8 * 31;

impl Default for Turns {
    fn default() -> Self {
        Self { bins: [0; BINS], count: 0 }
    }
}

impl Turns {
    fn note(&mut self, spent_ns: u64) {
        let magnitude = (spent_ns | 8).ilog2() - 3;
        let bin = 8 * magnitude as usize + (spent_ns >> magnitude) as usize;
        self.bins[bin.min(BINS - 1)] += 1;
        self.count += 1;
    }

    /// What one in a hundred took longer than, as where its bin ends; then it begins
    /// anew.
    fn take_p99_ns(&mut self) -> u64 {
        let beyond = self.count / 100;
        let mut left = self.count - beyond;
        let bin = self.bins.iter().position(|count| {
            left = left.saturating_sub(*count);
            left == 0
        });
        let p99_ns = bin.filter(|_| self.count > 0).map_or(0, |bin| {
            let magnitude = (bin / 8).saturating_sub(1);
            ((bin - 8 * magnitude + 1) as u64) << magnitude
        });
        *self = Self::default();
        p99_ns
    }
}

impl Load {
    /// A turn with something to do took so long.
    pub(super) fn note(&mut self, spent: Duration) {
        let counters = &mut self.counters;
        let spent_ns = spent.as_nanos() as u64;
        counters.turns += 1;
        counters.busy_ns += spent_ns;
        counters.turn_ns_most = counters.turn_ns_most.max(spent_ns);
        counters.turns_long += u64::from(spent > LONG_TURN);
        self.turns.note(spent_ns);
    }

    /// Time at work since the start.
    pub(super) const fn busy(&self) -> Duration {
        Duration::from_nanos(self.counters.busy_ns)
    }

    /// A slice of an answer was done.
    pub(super) fn note_slice(&mut self) {
        self.counters.answer_slices += 1;
    }

    /// So much of the knee was taken.
    pub(super) fn note_knee(&mut self, percent: u64) {
        self.counters.knee_percent = percent;
    }

    /// Another configuration holds.
    pub(super) fn note_epoch(&mut self, epoch: u64) {
        self.counters.config_epoch = epoch;
    }

    /// What is to be published at `now`.
    pub(super) fn counters(&mut self, now: Time, is_on_backbone: bool) -> ThreadCounters {
        self.counters.on_backbone = is_on_backbone.into();
        let busy_ns = self.counters.busy_ns;
        let permille = |(began, before): (Time, u64)| {
            let passed_ns = now.since(began).as_nanos().max(1) as u64;
            ((busy_ns - before) * 1_000 / passed_ns).min(1_000)
        };
        self.busiest_permille = self.busiest_permille.max(permille(self.bin));
        self.bin = (now, busy_ns);
        if now.since(self.second.0) >= SECOND {
            self.counters.busy_permille = permille(self.second);
            self.counters.busiest_permille = std::mem::take(&mut self.busiest_permille);
            self.counters.turn_ns_p99 = self.turns.take_p99_ns();
            self.second = (now, busy_ns);
        }
        self.counters.published_ns = tapeline_time::host_now().as_nanos();
        self.counters
    }
}

/// An agent whose counts can be published.
pub(super) trait Metered: Agent {
    /// What it counts itself.
    type Own: Counted;

    /// What it has and did.
    fn own(&self) -> Self::Own;

    /// The updates among it.
    fn traffic(own: &Self::Own) -> Traffic;

    /// The limits of these.
    fn limits(&self) -> Vec<(&'static str, u64)>;

    /// Its sockets.
    fn channel(&self) -> ChannelCounters;

    /// Its port on the backbone.
    fn backbone(&self) -> BackboneCounters;
}

impl<K: FrameSink, R: FrameSource, S: System> Metered for Hub<Port<K, R>, S> {
    type Own = HubCounters;

    fn own(&self) -> HubCounters {
        self.counters()
    }

    fn traffic(own: &HubCounters) -> Traffic {
        Traffic { updates_in: own.updates, updates_out: 0 }
    }

    fn limits(&self) -> Vec<(&'static str, u64)> {
        Self::limits(self).to_vec()
    }

    fn channel(&self) -> ChannelCounters {
        self.reactor().counters_so_far()
    }

    fn backbone(&self) -> BackboneCounters {
        self.bus().counters()
    }
}

impl<K: FrameSink, R: FrameSource, S: System> Metered for Server<Port<K, R>, S> {
    type Own = Statistics;

    fn own(&self) -> Statistics {
        self.statistics()
    }

    fn traffic(own: &Statistics) -> Traffic {
        Traffic { updates_in: own.updates_in, updates_out: own.updates_out }
    }

    fn limits(&self) -> Vec<(&'static str, u64)> {
        Self::limits(self).to_vec()
    }

    fn channel(&self) -> ChannelCounters {
        self.reactor().counters_so_far()
    }

    fn backbone(&self) -> BackboneCounters {
        self.bus().counters()
    }
}

/// Where the counts of an agent go.
#[derive(Debug)]
pub(super) struct Meter<C> {
    own: Writer<C>,
    channel: Writer<ChannelCounters>,
    backbone: Writer<BackboneCounters>,
}

impl<C: Counted> Meter<C> {
    /// Enters an agent.
    ///
    /// Errors: the registry is full.
    pub(super) fn enter<A: Metered<Own = C>>(
        agent: &A,
        port: &PortSettings,
        registry: &Registry,
    ) -> Result<Self, Full> {
        let name = agent.name();
        let of_port = [("queue_bytes", port.queue_bytes as u64), ("peers", port.max_peers as u64)];
        Ok(Self {
            own: registry.enter(name, &agent.limits())?,
            channel: registry.enter(name, &[])?,
            backbone: registry.enter(name, &of_port)?,
        })
    }

    /// Shows the limits of the agent, which have changed.
    pub(super) fn set_limits<A: Metered<Own = C>>(&mut self, agent: &A) {
        self.own.set_limits(&agent.limits());
    }

    /// Shows what the agent has counted. Returns its updates.
    pub(super) fn publish<A: Metered<Own = C>>(&mut self, agent: &A) -> Traffic {
        let own = agent.own();
        self.own.publish(&own);
        self.channel.publish(&agent.channel());
        self.backbone.publish(&agent.backbone());
        A::traffic(&own)
    }
}

/// All tables that are published.
pub const TABLES: [&Table; 5] = [
    ThreadCounters::TABLE,
    HubCounters::TABLE,
    Statistics::TABLE,
    ChannelCounters::TABLE,
    BackboneCounters::TABLE,
];

/// All views that can be asked for.
pub const VIEWS: [&View; 14] = [
    ServiceRow::VIEW,
    SourceRow::VIEW,
    MountRow::VIEW,
    UserRow::VIEW,
    ItemRow::VIEW,
    ProductRow::VIEW,
    HopRow::VIEW,
    TraceRow::VIEW,
    HubServiceRow::VIEW,
    HubItemRow::VIEW,
    ServerRow::VIEW,
    PeerRow::VIEW,
    DriverRow::VIEW,
    DriverStreamRow::VIEW,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    #[test]
    fn a_thread_tells_how_busy_its_last_second_was_and_the_busiest_part_of_it() {
        let mut load = Load::default();
        for ms in 1..=100 {
            if ms == 50 {
                load.note(Duration::from_millis(8));
            } else if ms % 10 == 0 {
                load.note(Duration::from_millis(1));
            }
            load.counters(at(ms * 10), true);
        }
        let counters = load.counters(at(1_000), true);
        assert_eq!((counters.busy_permille, counters.busiest_permille), (17, 800));
        assert_eq!((counters.turns, counters.turns_long), (10, 1));
        assert_eq!(counters.turn_ns_most, 8_000_000);
        assert!((8_000_000..9_000_000).contains(&counters.turn_ns_p99), "{counters:?}");
        load.counters(at(2_000), true);
        assert_eq!(load.counters(at(2_000), true).busiest_permille, 0, "it is of each second anew");
    }

    #[test]
    fn one_turn_in_a_hundred_took_longer_than_is_told() {
        let p99_ns = |turns: &[u64]| {
            let mut all = Turns::default();
            for ns in turns {
                all.note(*ns);
            }
            (all.take_p99_ns(), all.take_p99_ns())
        };
        assert_eq!(p99_ns(&[]), (0, 0));
        assert_eq!(p99_ns(&[5]), (6, 0), "up to 16 ns each number has a bin");
        assert_eq!([p99_ns(&[15]).0, p99_ns(&[16]).0, p99_ns(&[17]).0], [16, 18, 18]);
        // 98 short ones and two long ones: one of the two is more than one in a hundred.
        let mut turns = [1_000; 100];
        (turns[7], turns[9]) = (100_000, 200_000);
        let told = p99_ns(&turns).0;
        assert!((100_000..112_500).contains(&told), "{told}");
        turns[9] = 1_000;
        let told = p99_ns(&turns).0;
        assert!((1_000..1_125).contains(&told), "{told}");
        assert!(p99_ns(&[u64::MAX]).0 > 8_000_000_000);
    }
}
