//! One hub with one source, and servers with a consumer or more each, over one
//! [`Wire`], in virtual time.
//!
//! Each party is a thread of a machine of its own: in a round each takes one turn, and
//! the round takes as long as the longest of them. What a source and consumers take
//! counts for nothing.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_backbone::{Incarnation, PortSettings, Role};
use tapeline_channel::ReactorConfig;
use tapeline_channel::sim::{Host, Network};
use tapeline_hub::{Hub, HubConfig, HubLimits, Route};
use tapeline_node::{Agent, HubPart, NewPolicy, ServerPart};
use tapeline_server::{Server, ServerConfig};
use tapeline_time::Time;

use super::feed::Feed;
use super::gauges::{Gauges, TurnClock};
use super::mount::Mount;
use super::wire::{Wire, WirePort};
use crate::member::server_config;

/// How long bytes and frames take: a switch, and the kernels at both ends.
const SOCKET_DELAY: Duration = Duration::from_micros(30);
const WIRE_DELAY: Duration = Duration::from_micros(20);

/// Nothing is looked at more often.
const LEAST_ROUND: Duration = Duration::from_micros(20);

/// Nor, while nothing happens, less often: ports have timers that they do not tell.
const LONGEST_ROUND: Duration = Duration::from_millis(5);

/// What turns may take, of a thread that others wait for.
const LONG_TURN: Duration = Duration::from_millis(1);

/// Items of one consumer; a server has as many consumers as it takes.
const ITEMS_PER_MOUNT: u32 = 250_000;

/// What the turns of a party took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub(super) time: Duration,
    pub(super) longest: Duration,
    /// Turns of more than a millisecond.
    pub(super) long: u64,
}

/// A hub or a server.
pub(super) struct Party<A> {
    pub(super) agent: A,
    pub(super) me: Incarnation,
    pub(super) spent: Spent,
}

impl<A: Agent> Party<A> {
    fn turn(&mut self, now: Time, clock: &TurnClock) -> (usize, Duration) {
        let (work, took) = clock.time(|| self.agent.duty_cycle(now));
        let Spent { time, longest, long } = &mut self.spent;
        *time += took;
        *longest = (*longest).max(took);
        *long += u64::from(took > LONG_TURN);
        (work, took)
    }
}

pub(super) type HubParty = Party<Hub<WirePort, Host>>;
pub(super) type ServerParty = Party<Server<WirePort, Host>>;

/// All of it.
pub(super) struct Town {
    network: Network,
    pub(super) wire: Wire,
    clock: TurnClock,
    pub(super) feed: Feed,
    pub(super) hub: HubParty,
    pub(super) servers: Vec<ServerParty>,
    /// With the number of its server.
    pub(super) mounts: Vec<(usize, Mount)>,
    started: u32,
    mounts_per_server: usize,
    /// Changes a second, of how many items, and which is next.
    pub(super) changes: Option<Changes>,
}

/// Items that change one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changes {
    pub(super) per_s: u32,
    pub(super) items: u32,
    began: Time,
    made: u64,
}

fn at(kind: u8, number: usize, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 1, kind, number as u8 + 1], port))
}

fn limits(interests: usize) -> HubLimits {
    let usual = HubLimits::default();
    HubLimits {
        max_items: usual.max_items.max(interests + interests / 8),
        max_requests_per_server: usual.max_requests_per_server.max(interests + interests / 8),
        ..usual
    }
}

impl Town {
    /// Servers and items, as many each server's consumers have at most.
    pub(super) fn new(servers: usize, items_per_server: u32, gauges: Gauges) -> Self {
        let network = Network::new(1);
        network.set_delay(SOCKET_DELAY);
        let clock = TurnClock::new(gauges);
        let of_turn = clock.clone();
        network.set_time_in_turn(move || of_turn.look());
        let wire = Wire::new(WIRE_DELAY);
        let source = at(0, 0, 14002);
        let feed = Feed::new(&network, source);
        let hub = hub(&network, &wire, source, 1);
        let mounts_per_server = items_per_server.div_ceil(ITEMS_PER_MOUNT).max(1) as usize;
        let mut town = Self {
            network,
            wire,
            clock,
            feed,
            hub,
            servers: Vec::new(),
            mounts: Vec::new(),
            started: 1,
            mounts_per_server,
            changes: None,
        };
        (0..servers).for_each(|_| town.add_server());
        town
    }

    /// Another server, with its consumers.
    pub(super) fn add_server(&mut self) {
        let number = self.servers.len();
        let listen = at(1, number, 14002);
        self.started += 1;
        self.servers.push(server(&self.network, &self.wire, (number, listen), self.started));
        for _ in 0..self.mounts_per_server {
            let mount = Mount::new(&self.network, self.mounts.len(), listen);
            self.mounts.push((number, mount));
        }
    }

    /// The hub is gone, and another one is there. The memory that it had.
    pub(super) fn restart_hub(&mut self) -> Option<u64> {
        self.started += 1;
        let other = hub(&self.network, &self.wire, at(0, 0, 14002), self.started);
        self.clock.weigh(std::mem::replace(&mut self.hub, other))
    }

    /// The first server is gone. The memory that it had.
    pub(super) fn end_server(&mut self) -> Option<u64> {
        let server = self.servers.remove(0);
        self.clock.weigh(server)
    }

    pub(super) fn now(&self) -> Time {
        self.network.now()
    }

    /// Items change from now on, each in its turn.
    pub(super) fn begin_changes(&mut self, per_s: u32, items: u32) {
        let began = self.now();
        self.changes = Some(Changes { per_s, items, began, made: 0 });
    }

    fn change(&mut self) {
        let now = self.now();
        let Some(changes) = &mut self.changes else { return };
        let due = now.since(changes.began).as_nanos() as u64 / 1_000 * u64::from(changes.per_s)
            / 1_000_000;
        while changes.made < due {
            self.feed.change((changes.made % u64::from(changes.items)) as u32);
            changes.made += 1;
        }
    }

    /// One round.
    pub(super) fn round(&mut self) {
        let now = self.now();
        self.change();
        let mut work = self.feed.turn();
        let (of_hub, mut longest) = self.hub.turn(now, &self.clock);
        work += of_hub;
        for server in &mut self.servers {
            let (of_server, took) = server.turn(now, &self.clock);
            work += of_server;
            longest = longest.max(took);
        }
        for (_, mount) in &mut self.mounts {
            work += mount.turn();
        }
        self.wire.trim();
        let round = if work > 0 { longest.max(LEAST_ROUND) } else { self.pause(now) };
        self.network.advance(round);
    }

    /// How long nothing happens.
    fn pause(&self, now: Time) -> Duration {
        let of_servers = self.servers.iter().filter_map(|server| server.agent.next_deadline());
        let of_hub = self.hub.agent.next_deadline();
        let arrivals = [self.network.next_arrival(), self.wire.next_arrival(), of_hub];
        let moments = arrivals.into_iter().flatten().chain(of_servers);
        let wait = moments.map(|at| at.since(now)).min().unwrap_or(LONGEST_ROUND);
        let change = self.changes.map(|changes| Duration::from_secs(1) / changes.per_s.max(1));
        wait.min(change.unwrap_or(wait)).clamp(LEAST_ROUND, LONGEST_ROUND)
    }

    /// All that consumers want is there.
    pub(super) fn is_well(&self) -> bool {
        self.mounts.iter().all(|(_, mount)| mount.is_well())
    }

    /// And it is what the source has.
    pub(super) fn is_current(&self) -> bool {
        self.is_well() && self.mounts.iter().all(|(_, mount)| mount.is_current(&self.feed))
    }
}

fn port(role: Role, number: usize, started: u32) -> PortSettings {
    let incarnation = Incarnation(started.wrapping_mul(0x9e37_79b1));
    PortSettings { incarnation, ..PortSettings::new(role, &format!("{role:?}{number}")) }
}

fn hub(network: &Network, wire: &Wire, source: SocketAddr, started: u32) -> HubParty {
    let mut config = HubConfig::named("hub");
    config.routes = vec![Route::to(source.ip().to_string(), source.port())];
    config.limits = limits(1_000_000);
    config.reactor = ReactorConfig { seed: u64::from(started), ..ReactorConfig::default() };
    let port = port(Role::Hub, 0, started);
    let me = port.incarnation;
    let bus = wire.port(port.clone());
    let part = HubPart { config, port, field_rules: None, edge: None };
    let agent = part.start(bus, network.host([10, 1, 2, 1])).expect("it has its route");
    Party { agent, me, spent: Spent::default() }
}

fn server(
    network: &Network,
    wire: &Wire,
    (number, listen): (usize, SocketAddr),
    started: u32,
) -> ServerParty {
    let mut config =
        ServerConfig { listen: vec![listen], seed: u64::from(started), ..server_config() };
    config.limits.max_items += config.limits.max_items / 8;
    let port = port(Role::Server, number, started);
    let me = port.incarnation;
    let bus = wire.port(port.clone());
    let policy = NewPolicy::default();
    let part = ServerPart { config, port, policy, siblings: None, edge: None };
    let agent = part.start(bus, network.host(listen.ip())).expect("nobody else listens there");
    Party { agent, me, spent: Spent::default() }
}
