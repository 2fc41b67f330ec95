//! A set number of updates with everything in one thread: for instruction
//! counts, which do not depend on what else the machine does.

use std::time::{Duration, Instant};

use tapeline_measure::clock::now_ns;
use tapeline_node::Node;
use tapeline_time::Time;

use crate::clients::Clients;
use crate::plan::Plan;
use crate::publisher::Publisher;
use crate::setup::Setup;
use crate::subject::node;
use crate::{BenchError, Options};

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// One client, one update in a turn: the latency path.
    Single,
    /// One client, 64 updates in a turn: the throughput path.
    Batch,
    /// Producer 50/50, 64 updates in a turn.
    Fanout,
}

impl Workload {
    const fn per_turn(self) -> u64 {
        match self {
            Self::Single => 1,
            Self::Batch | Self::Fanout => 64,
        }
    }

    fn plan(self, options: &Options) -> Plan {
        match self {
            Self::Single | Self::Batch => {
                Plan::one_client(options.latency_items, crate::clients::Reading::Fields)
            }
            Self::Fanout => {
                let Options { mounts, common_items: common, own_items: own, .. } = *options;
                let reading = options.clients.reading();
                Plan { reading, ..Plan::fifty_fifty(mounts, common, own) }
            }
        }
    }
}

/// What is on beside the path itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Eyes {
    /// Nothing: hub, server and what is between them.
    Closed,
    /// All that a running process has: counts are published, questions looked for,
    /// the log told, some updates carry stamps. Turns are 20 µs apart.
    Open,
}

/// Between two turns, where time is ours: that of a thread that is half busy.
const TURN: Duration = Duration::from_micros(20);

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Updates that came out at clients.
    pub out: u64,
    /// Turns of hub and server: a little more or less from run to run, as the
    /// network takes its time.
    pub turns: u64,
}

/// Turns a node at a time of its own.
struct Turner {
    eyes: Eyes,
    now: Time,
    turns: u64,
}

impl Turner {
    // By its name callgrind knows what is a turn, and what the clients do.
    #[inline(never)]
    fn turn(&mut self, node: &mut Node) {
        self.now = self.now.after(TURN);
        self.turns += 1;
        match self.eyes {
            Eyes::Closed => node.turn(self.now),
            Eyes::Open => node.step_at(self.now),
        };
    }
}

/// Sends `updates` through hub and server, all on the calling thread.
///
/// For the cost of one: run it twice under callgrind, with `updates` and twice
/// as many, and divide the difference.
///
/// Errors: the system cannot be started, or the updates do not come.
pub fn count(
    workload: Workload,
    updates: u64,
    eyes: Eyes,
    options: &Options,
) -> Result<Counted, BenchError> {
    let plan = workload.plan(options);
    let (mut publisher, address) = Publisher::listen(&plan)?;
    let setup = Setup { stamps: eyes == Eyes::Open, ..options.setup.clone() };
    let mut node = node::start(address, &setup)?;
    let server =
        node::address(&node).ok_or_else(|| BenchError::Ended("it does not listen".to_owned()))?;
    let mut clients = Clients::connect(&[server], &plan.watchlists, plan.reading)?;
    let began = Instant::now();
    let mut turner = Turner { eyes, now: node.now(), turns: 0 };
    while !clients.is_ready() {
        publisher.source.poll();
        turner.turn(&mut node);
        clients.poll();
        if began.elapsed() > options.patience {
            let (images, items) = (clients.tally().images, clients.wanted());
            let seconds = options.patience.as_secs();
            return Err(BenchError::NotReady { seconds, images, items });
        }
    }
    let watchers = plan.watchers();
    let mut expected = 0;
    let mut left = updates;
    while left > 0 {
        let now = left.min(workload.per_turn());
        for _ in 0..now {
            let item = publisher.send(now_ns());
            expected += u64::from(watchers[item as usize]);
        }
        publisher.source.flush();
        left -= now;
        let began = Instant::now();
        while clients.tally().updates < expected {
            turner.turn(&mut node);
            clients.poll();
            if began.elapsed() > options.patience {
                return Err(BenchError::Ended("updates did not come out".to_owned()));
            }
        }
    }
    Ok(Counted { out: clients.tally().updates, turns: turner.turns })
}
