//! Sources, hubs, a server and clients on one thread, of which hubs and server
//! are measured.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tapeline_backbone::{BackbonePort, Bus, Carrier, EngineSettings, PortSettings, Role};
use tapeline_channel::random_seed;
use tapeline_hub::{Counters, Hub, HubConfig, Route};
use tapeline_node::{HubPart, NewPolicy, Node, NodeConfig, ServerPart};
use tapeline_server::{Limits, Server, ServerConfig, Statistics};
use tapeline_time::Time;

use crate::Failure;
use crate::clients::{Clients, Tally, Universe};
use crate::meter::Meter;
use crate::source::Source;

/// However long a turn took, the next one is told that so much time passed. A
/// long turn is what is measured; what hubs and servers do when they have not
/// heard of each other for long is not.
const LONGEST_STEP: Duration = Duration::from_millis(5);

/// Aeron's own time-outs are by its own clock.
const ENGINE_TIMEOUT: Duration = Duration::from_secs(120);

/// A system in which nothing was counted for so long is at rest.
const REST: Duration = Duration::from_millis(300);

/// A phase that is not over by then never will be.
const PATIENCE: Duration = Duration::from_secs(240);

/// What a world is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Hubs, each with a source of its own, all with the same services.
    pub(crate) hubs: usize,
    pub(crate) universe: Universe,
    /// Items that a source takes of each service.
    pub(crate) open_limit: Option<u64>,
    /// The kernel's buffer of each mount at the server, and at a client that
    /// stops.
    pub(crate) socket_bytes: Option<u32>,
}

/// What was measured while something happened.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    pub(crate) hub: Meter,
    pub(crate) server: Meter,
    /// Until it was over.
    pub(crate) time: Duration,
    /// Why the figures are of something else than what they should be of.
    pub(crate) trouble: Option<String>,
}

pub(crate) struct World {
    pub(crate) clients: Clients,
    /// Clients that read only if told to.
    pub(crate) stoppable: Clients,
    pub(crate) is_stopped: bool,
    pub(crate) sources: Vec<Option<Source>>,
    node: Node,
    clock: Clock,
    plan: Plan,
    hub_meter: Meter,
    server_meter: Meter,
}

/// Time that passes in short steps only.
struct Clock {
    now: Time,
    last: Instant,
}

impl Clock {
    fn step(&mut self) -> Time {
        let step = self.last.elapsed().min(LONGEST_STEP);
        self.last = Instant::now();
        self.now = self.now.after(step);
        self.now
    }
}

type Counts = (Vec<Counters>, Statistics, [Tally; 2], usize);

impl World {
    /// Hubs and a server that know of all services.
    pub(crate) fn start(plan: Plan) -> Result<Self, Failure> {
        let mut config = NodeConfig::on(Carrier::parse("aeron:ipc")?);
        config.engine = EngineSettings {
            client_liveness: ENGINE_TIMEOUT,
            driver_timeout: ENGINE_TIMEOUT,
            ..EngineSettings::default()
        };
        let mut sources = Vec::new();
        for number in 1..=plan.hubs {
            let source = Source::listen(plan.universe.services, plan.open_limit, 0)?;
            let name = format!("hub-{number}");
            config.hubs.push(HubPart {
                config: hub_config(&name, source.address()),
                port: PortSettings::new(Role::Hub, &name),
                field_rules: None,
                edge: None,
            });
            sources.push(Some(source));
        }
        config.servers.push(ServerPart {
            config: server_config(plan),
            port: PortSettings::new(Role::Server, "server"),
            policy: NewPolicy::default(),
            edge: None,
            siblings: None,
        });
        let node = Node::start(config)?;
        let address = listening(&node)?;
        let mut world = Self {
            clients: Clients::of(address, plan.universe, None)?,
            stoppable: Clients::of(
                address,
                plan.universe,
                plan.socket_bytes.map(|bytes| bytes as usize),
            )?,
            is_stopped: false,
            sources,
            node,
            clock: Clock { now: Time::ZERO, last: Instant::now() },
            plan,
            hub_meter: Meter::default(),
            server_meter: Meter::default(),
        };
        let start = Instant::now();
        while !world.is_complete() {
            world.step()?;
            if start.elapsed() > PATIENCE {
                return Err("hubs, server and sources do not find each other".into());
            }
        }
        Ok(world)
    }

    fn is_complete(&self) -> bool {
        let Plan { hubs, universe, .. } = self.plan;
        let statistics = self.statistics();
        self.node.hubs().all(|hub| hub.counters().services == universe.services as u64)
            && (statistics.hubs, statistics.services) == (hubs, universe.services)
    }

    /// One turn of everything.
    pub(crate) fn step(&mut self) -> Result<(), Failure> {
        let now = self.clock.step();
        for source in self.sources.iter_mut().flatten() {
            source.poll();
        }
        let Self { node, hub_meter, server_meter, .. } = self;
        node.turn_by(now, |agent| match agent.role() {
            Role::Hub => hub_meter.turn(|| agent.duty_cycle(now)),
            Role::Server => server_meter.turn(|| agent.duty_cycle(now)),
        });
        self.clients.poll(now);
        if !self.is_stopped {
            self.stoppable.poll(now);
        }
        match self.node.failure() {
            Some(failure) => Err(format!("the backbone failed: {failure}").into()),
            None => Ok(()),
        }
    }

    /// Has `begin` make something happen, and measures until `is_over` holds
    /// and nothing moves any more.
    pub(crate) fn phase(
        &mut self,
        name: &'static str,
        begin: impl FnOnce(&mut Self) -> Result<(), Failure>,
        is_over: impl Fn(&Self) -> bool,
    ) -> Result<Phase, Failure> {
        self.phase_with(name, begin, |_| {}, is_over)
    }

    /// The same with something to be done in each turn.
    pub(crate) fn phase_with(
        &mut self,
        name: &'static str,
        begin: impl FnOnce(&mut Self) -> Result<(), Failure>,
        mut meanwhile: impl FnMut(&mut Self),
        is_over: impl Fn(&Self) -> bool,
    ) -> Result<Phase, Failure> {
        let (cut_before, dropped_before) = (self.cut(), self.dropped());
        begin(self)?;
        tidy_memory();
        (self.hub_meter, self.server_meter) = (Meter::default(), Meter::default());
        let start = Instant::now();
        while !is_over(self) && start.elapsed() < PATIENCE {
            meanwhile(self);
            self.step()?;
        }
        let is_late = !is_over(self);
        self.rest()?;
        let (cut, dropped) = (self.cut() - cut_before, self.dropped() - dropped_before);
        let troubles = [
            (is_late, format!("not over after {} s", PATIENCE.as_secs())),
            (cut > 0, format!("{cut} mounts were cut")),
            (dropped > 0, format!("the backbone dropped {dropped} frames")),
        ];
        let troubles: Vec<String> =
            troubles.into_iter().filter_map(|(is_so, text)| is_so.then_some(text)).collect();
        let trouble = (!troubles.is_empty()).then(|| troubles.join(", "));
        Ok(Phase {
            name,
            hub: std::mem::take(&mut self.hub_meter),
            server: std::mem::take(&mut self.server_meter),
            time: start.elapsed(),
            trouble,
        })
    }

    /// Goes on until nothing moves.
    fn rest(&mut self) -> Result<(), Failure> {
        let start = Instant::now();
        let (mut last, mut since) = (self.counts(), Instant::now());
        while since.elapsed() < REST && start.elapsed() < PATIENCE {
            for _ in 0..64 {
                self.step()?;
            }
            let counts = self.counts();
            if counts != last {
                (last, since) = (counts, Instant::now());
            }
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        (
            self.node.hubs().map(Hub::counters).collect(),
            self.statistics(),
            [self.clients.tally().clone(), self.stoppable.tally().clone()],
            self.sources.iter().flatten().map(Source::open).sum(),
        )
    }

    fn cut(&self) -> u64 {
        self.clients.tally().cut + self.stoppable.tally().cut
    }

    /// Items at all hubs.
    pub(crate) fn hub_items(&self) -> u64 {
        self.node.hubs().map(|hub| hub.counters().items).sum()
    }

    /// Of the server.
    pub(crate) fn statistics(&self) -> Statistics {
        self.node.servers().map(Server::statistics).next().unwrap_or_default()
    }

    fn dropped(&self) -> u64 {
        let dropped = |port: &BackbonePort| port.counters().dropped;
        let of_hubs: u64 = self.node.hubs().map(|hub| dropped(hub.bus())).sum();
        let of_servers: u64 = self.node.servers().map(|server| dropped(server.bus())).sum();
        of_hubs + of_servers
    }

    /// The source of the first hub; of worlds that have not lost it.
    pub(crate) fn source(&mut self) -> Result<&mut Source, Failure> {
        self.sources.iter_mut().flatten().next().ok_or_else(|| "no source".into())
    }

    /// Has the clients leave all at once.
    pub(crate) fn drop_clients(&mut self) -> Result<(), Failure> {
        let address = listening(&self.node)?;
        self.clients = Clients::of(address, self.plan.universe, None)?;
        Ok(())
    }
}

/// Has the allocator put in order what was freed. A source of 500,000 items that
/// is dropped leaves that to whoever asks for a large block next: a hub in a
/// process of its own would not pay for it.
fn tidy_memory() {
    drop(std::hint::black_box(Vec::<u8>::with_capacity(64 << 10)));
}

/// Where clients mount.
fn listening(node: &Node) -> Result<SocketAddr, Failure> {
    let address = node.servers().next().and_then(|server| server.listening().first().copied());
    address.ok_or_else(|| "the server does not listen".into())
}

fn hub_config(name: &str, source: SocketAddr) -> HubConfig {
    let mut config = HubConfig::named(name);
    config.routes.push(Route::to(source.ip().to_string(), source.port()));
    config.limits.max_items = 4_000_000;
    config.limits.max_requests_per_server = 4_000_000;
    config.reactor.seed = random_seed();
    config
}

fn server_config(plan: Plan) -> ServerConfig {
    let defaults = ServerConfig::default();
    ServerConfig {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        tcp_send_buffer_bytes: plan.socket_bytes,
        limits: Limits {
            max_mounts: 10_000,
            max_items: 4_000_000,
            item_limit: 16_000_000,
            item_limit_per_mount: 4_000_000,
            ..defaults.limits
        },
        seed: random_seed(),
        ..defaults
    }
}
