//! The system that is measured: a hub and a server in one thread, with shared
//! memory between them.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use tapeline_backbone::{AeronPort, Bus, Channels, Engine, EngineSettings, PortSettings, Role};
use tapeline_channel::{Idle, MonotonicClock, random_seed};
use tapeline_hub::{Hub, HubConfig, Route};
use tapeline_rssl::Time;
use tapeline_server::{AcceptAll, Server, ServerConfig};

use crate::BenchError;

/// Counts are told once in so many turns.
const TURNS_PER_COUNT: u32 = 64;

/// Hub and server, worked by the caller.
pub(crate) struct Node {
    // Ports close before the engine.
    hub: Hub<AeronPort>,
    server: Server<AeronPort>,
    engine: Engine,
    clock: MonotonicClock,
}

impl Node {
    /// A hub that takes from a provider, and a server for clients.
    pub(crate) fn start(provider: SocketAddr, cache: bool) -> Result<Self, BenchError> {
        let channels = Channels::parse("aeron:ipc")?;
        let mut engine = Engine::new(EngineSettings::default())?;
        let port = engine.port(PortSettings::new(Role::Hub, "hub"), &channels)?;
        let mut config = HubConfig::named("hub");
        config.routes.push(Route::to(provider.ip().to_string(), provider.port()));
        config.cache_interactive = cache;
        config.reactor.seed = random_seed();
        let hub = Hub::new(config, port)?;
        let port = engine.port(PortSettings::new(Role::Server, "server"), &channels)?;
        let config = ServerConfig {
            listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
            cache,
            seed: random_seed(),
            ..ServerConfig::default()
        };
        let server = Server::new(config, Box::new(AcceptAll), port)?;
        Ok(Self { hub, server, engine, clock: MonotonicClock::start() })
    }

    /// Where clients connect.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.server.listening().first().copied()
    }

    pub(crate) fn turn(&mut self) -> usize {
        let now = self.clock.now();
        self.turn_at(now)
    }

    fn turn_at(&mut self, now: Time) -> usize {
        let mut work = self.engine.work(now);
        work += self.hub_turn(now);
        work + self.server_turn(now)
    }

    // Not inlined, so that profiles name them.
    #[inline(never)]
    fn hub_turn(&mut self, now: Time) -> usize {
        self.hub.duty_cycle(now)
    }

    #[inline(never)]
    fn server_turn(&mut self, now: Time) -> usize {
        self.server.duty_cycle(now)
    }

    pub(crate) fn counts(&self) -> Counts {
        let statistics = self.server.statistics();
        let (hub_bus, server_bus) = (self.hub.bus().counters(), self.server.bus().counters());
        Counts {
            updates_in: self.hub.counters().updates,
            updates_out: statistics.updates_out,
            merged: statistics.updates_merged,
            cut: statistics.mounts_cut,
            gaps: statistics.gaps + hub_bus.dropped + server_bus.gaps,
            busy_ns: 0,
            turns: 0,
        }
    }
}

/// What hub and server have done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) updates_in: u64,
    pub(crate) updates_out: u64,
    /// Updates that were conflated.
    pub(crate) merged: u64,
    /// Mounts that were cut off.
    pub(crate) cut: u64,
    /// Holes in the backbone, and frames that it dropped.
    pub(crate) gaps: u64,
    /// Time of turns in which there was something to do.
    pub(crate) busy_ns: u64,
    pub(crate) turns: u64,
}

#[derive(Debug, Default)]
struct Shared {
    is_over: AtomicBool,
    updates_in: AtomicU64,
    updates_out: AtomicU64,
    merged: AtomicU64,
    cut: AtomicU64,
    gaps: AtomicU64,
    busy_ns: AtomicU64,
    turns: AtomicU64,
}

impl Shared {
    fn set(&self, counts: Counts) {
        let pairs = [
            (&self.updates_in, counts.updates_in),
            (&self.updates_out, counts.updates_out),
            (&self.merged, counts.merged),
            (&self.cut, counts.cut),
            (&self.gaps, counts.gaps),
            (&self.busy_ns, counts.busy_ns),
            (&self.turns, counts.turns),
        ];
        for (place, value) in pairs {
            place.store(value, Ordering::Relaxed);
        }
    }

    fn get(&self) -> Counts {
        let of = |place: &AtomicU64| place.load(Ordering::Relaxed);
        Counts {
            updates_in: of(&self.updates_in),
            updates_out: of(&self.updates_out),
            merged: of(&self.merged),
            cut: of(&self.cut),
            gaps: of(&self.gaps),
            busy_ns: of(&self.busy_ns),
            turns: of(&self.turns),
        }
    }
}

/// A node on a thread of its own. It ends when this is dropped.
pub(crate) struct NodeThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    address: SocketAddr,
}

impl NodeThread {
    pub(crate) fn start(provider: SocketAddr, cache: bool, idle: Idle) -> Result<Self, BenchError> {
        let shared = Arc::new(Shared::default());
        let its = Arc::clone(&shared);
        let (tell, told) = mpsc::channel();
        // The engine stays on the thread that made it.
        let thread = std::thread::spawn(move || match Node::start(provider, cache) {
            Ok(node) => {
                let _ = tell.send(Ok(node.address()));
                run(node, idle, &its);
            }
            Err(error) => {
                let _ = tell.send(Err(error));
            }
        });
        let gone = || BenchError::Node("its thread is gone".to_owned());
        let address = told.recv().map_err(|_| gone())??.ok_or_else(gone)?;
        Ok(Self { shared, thread: Some(thread), address })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn counts(&self) -> Counts {
        self.shared.get()
    }
}

impl Drop for NodeThread {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(mut node: Node, mut idle: Idle, shared: &Shared) {
    let (mut turns, mut busy_ns, mut began) = (0_u32, 0, node.clock.now());
    let mut turn_count = 0;
    while !shared.is_over.load(Ordering::Relaxed) && node.engine.failure().is_none() {
        let work = node.turn_at(began);
        let now = node.clock.now();
        if work > 0 {
            busy_ns += (now.since(began)).as_nanos() as u64;
        }
        began = now;
        turn_count += 1;
        turns = turns.wrapping_add(1);
        if turns.is_multiple_of(TURNS_PER_COUNT) {
            shared.set(Counts { busy_ns, turns: turn_count, ..node.counts() });
        }
        idle.idle(work);
    }
}
