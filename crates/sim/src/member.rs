//! A hub or a server of the world: a place where one runs, and crashes, and
//! runs again.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};

use tapeline_backbone::sim::{Network as Backbone, SimPort};
use tapeline_backbone::{Incarnation, Key, PortSettings, Role};
use tapeline_channel::ReactorConfig;
use tapeline_channel::sim::{Host, Network};
use tapeline_hub::{
    Failback, Hub, HubConfig, Mirroring, Pick, Rebalance, Route, ServiceGroup, StandbyKeeps,
};
use tapeline_node::{Agent, HubPart, NewEdgePort, NewPolicy, ServerPart};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_server::{OutputThresholds, Server, ServerConfig, When};
use tapeline_time::Time;

use crate::plan::{MirrorWay, Shape};
use crate::source::{HUB_USER, output_limits};

/// A place for a party of the backbone.
pub(crate) struct Member<P> {
    pub(crate) index: usize,
    pub(crate) party: Option<P>,
    /// Who its port was first; the backbone knows it by that.
    pub(crate) incarnation: Incarnation,
    pub(crate) stalled_until: Time,
    down_since: Time,
    /// Since when it has been there, if it is.
    pub(crate) up_since: Time,
    /// It says goodbye until then.
    leaves_at: Option<Time>,
    /// Turns in which it did something since its tables were compared.
    unchecked_turns: u64,
}

impl<P: Agent> Member<P> {
    pub(crate) const fn new(index: usize) -> Self {
        Self {
            index,
            party: None,
            incarnation: Incarnation(0),
            stalled_until: Time::ZERO,
            down_since: Time::ZERO,
            up_since: Time::ZERO,
            leaves_at: None,
            unchecked_turns: 0,
        }
    }

    /// It is gone without a word.
    pub(crate) fn crash(&mut self, now: Time) {
        self.leaves_at = None;
        if self.party.take().is_some() {
            self.down_since = now;
        }
    }

    /// It says goodbye, and is gone after a while.
    pub(crate) fn stop(&mut self, now: Time, gone_at: Time) {
        if let Some(party) = self.party.as_mut().filter(|_| self.leaves_at.is_none()) {
            party.shutdown(now);
            self.leaves_at = Some(gone_at);
            self.down_since = now;
        }
    }

    /// Since when it is gone, or about to be, if it is.
    pub(crate) fn gone_since(&self) -> Option<Time> {
        let is_gone = self.party.is_none() || self.leaves_at.is_some();
        is_gone.then_some(self.down_since)
    }

    /// Who is there, be it that it stands still.
    pub(crate) fn present(&self) -> Option<&P> {
        self.party.as_ref().filter(|_| self.leaves_at.is_none())
    }

    /// One turn, if it runs.
    pub(crate) fn turn(&mut self, now: Time) -> usize {
        let Some(party) = self.party.as_mut().filter(|_| now >= self.stalled_until) else {
            return 0;
        };
        let is_due = party.next_deadline().is_some_and(|at| at <= now);
        let work = party.duty_cycle(now);
        self.unchecked_turns += u64::from(is_due || work > 0);
        if self.leaves_at.is_some_and(|at| at <= now || party.is_over()) {
            self.party = None;
            self.leaves_at = None;
        }
        work
    }

    /// Who is there, if it did something in so many turns since it was last asked
    /// for here.
    pub(crate) fn take_due_check(&mut self, turns: u64) -> Option<&P> {
        let is_due = self.unchecked_turns >= turns;
        self.unchecked_turns = if is_due { 0 } else { self.unchecked_turns };
        self.party.as_ref().filter(|_| is_due)
    }

    /// When it wants to be called.
    pub(crate) fn deadline(&self, now: Time) -> Option<Time> {
        self.party.as_ref().filter(|_| now >= self.stalled_until)?.next_deadline()
    }
}

pub(crate) type HubMember = Member<Hub<SimPort, Host>>;
pub(crate) type ServerMember = Member<Server<SimPort, Host>>;

/// The key of the system, where there are strangers.
pub(crate) fn key() -> Key {
    Key::new(b"the key of the simulated system").expect("it is long enough")
}

fn port(role: Role, index: usize, seed: u64, shape: &Shape) -> PortSettings {
    let incarnation = incarnation(seed);
    let queue_bytes = shape.queue_bytes;
    let key = shape.strangers.then(key);
    let name = format!("{role:?}{index}");
    PortSettings { incarnation, queue_bytes, key, ..PortSettings::new(role, &name) }
}

/// Who somebody is that starts with this seed.
pub(crate) const fn incarnation(seed: u64) -> Incarnation {
    Incarnation((seed >> 32) as u32 | 1)
}

/// The dictionary that all share, which is large.
fn dictionary() -> Arc<FieldDictionary> {
    static DICTIONARY: OnceLock<Arc<FieldDictionary>> = OnceLock::new();
    DICTIONARY.get_or_init(|| Arc::new(FieldDictionary::builtin().clone())).clone()
}

/// What all sources call a service, in their order, or wherever it is least used.
fn group(shape: &Shape, service: usize) -> ServiceGroup {
    ServiceGroup {
        name: format!("S{service}"),
        members: (0..shape.sources).map(|source| shape.name_at(source, service)).collect(),
        pick: if service.is_multiple_of(2) { Pick::Order } else { Pick::Items },
    }
}

impl HubMember {
    pub(crate) fn start(
        &mut self,
        shape: &Shape,
        (sources, publishers): (&[SocketAddr], SocketAddr),
        (network, backbone): (&Network, &Backbone),
        seed: u64,
    ) {
        let mut config = HubConfig::named(format!("hub{}", self.index));
        let is_mine = |index: usize| !shape.own_sources || index == self.index;
        let mine = sources.iter().enumerate().filter(|(index, _)| is_mine(*index));
        let to = |(_, at): (usize, &SocketAddr)| {
            let mut route = Route::to(at.ip().to_string(), at.port());
            route.login.user = format!("{HUB_USER}{:05}", self.index);
            route
        };
        config.routes = mine.map(to).collect();
        let is_published = shape.publishers > 0 || shape.forger;
        config.ni_listen = is_published.then_some(publishers);
        // Where it is not said, a service that is published before its source is
        // there goes to the first who has it.
        let published = shape.services..shape.all_services();
        config.ni_services =
            shape.forger.then(|| published.map(|service| format!("S{service}")).collect());
        if shape.mirrored {
            let mirroring = |service: usize| mirroring(shape.mirror_way, service);
            let services = 0..shape.services;
            config.mirrored =
                services.map(|service| (format!("S{service}"), mirroring(service))).collect();
        }
        if shape.balanced {
            let slow = |service: usize| (format!("S{service}"), Rebalance::Slow { per_s: 3 });
            config.rebalance = (0..shape.services).map(slow).collect();
        }
        if shape.grouped {
            config.service_groups = (0..shape.services).map(|it| group(shape, it)).collect();
        }
        config.ni_stale_ms = 10_000;
        config.cache_interactive = shape.hub_cache;
        config.pause_upstream = shape.pause_upstream;
        config.source_timeout_ms = 3000;
        config.request_timeout_ms = 3000;
        config.image_timeout_ms = 6000;
        config.retry_delay_ms = 1000;
        if let Some(output) = output_limits(shape.provider_output_bytes) {
            config.sessions.output = output;
        }
        config.reactor = ReactorConfig { seed, ..ReactorConfig::default() };
        let port = port(Role::Hub, self.index, seed, shape);
        self.incarnation = port.incarnation;
        let bus = backbone.port(port.clone());
        let part = HubPart { config, port, field_rules: Some(dictionary()), edge: None };
        let system = network.host([10, 0, 4, self.index as u8 + 1]);
        self.party = Some(part.start(bus, system).expect("it has its routes"));
    }
}

impl ServerMember {
    pub(crate) fn start(
        &mut self,
        shape: &Shape,
        ([rssl, websocket], edge): ([SocketAddr; 2], Option<NewEdgePort>),
        (network, backbone): (&Network, &Backbone),
        seed: u64,
    ) {
        let mut config = ServerConfig {
            listen: vec![rssl],
            listen_websocket: vec![websocket],
            cache: shape.server_cache,
            output: OutputThresholds {
                max_bytes: shape.output_bytes,
                ..OutputThresholds::default()
            },
            dictionary: dictionary(),
            seed,
            ..server_config()
        };
        if shape.server_window > 0 {
            config.limits.open_window = shape.server_window;
        }
        if shape.merged_bytes > 0 {
            config.limits.max_merged_bytes = 4 * shape.merged_bytes;
            config.limits.max_merged_bytes_per_mount = shape.merged_bytes;
        }
        let port = port(Role::Server, self.index, seed, shape);
        self.incarnation = port.incarnation;
        let bus = backbone.port(port.clone());
        let part = ServerPart { config, port, policy: NewPolicy::default(), siblings: None, edge };
        let server = part.start(bus, network.host(rssl.ip()));
        let mut server = server.expect("nobody else listens there");
        // Few worlds are so busy that updates would wait by themselves.
        server.copy_by_mount(match seed % 4 {
            0 => When::Busy,
            _ => When::Always,
        });
        self.party = Some(server);
    }
}

/// The default, with its dictionary, which is large.
pub(crate) fn server_config() -> ServerConfig {
    static DEFAULT: OnceLock<ServerConfig> = OnceLock::new();
    DEFAULT.get_or_init(ServerConfig::default).clone()
}

/// How the sources of a service stand by for each other.
fn mirroring(way: MirrorWay, service: usize) -> Mirroring {
    let is_even = service.is_multiple_of(2);
    let failback = match way {
        MirrorWay::Patience => Failback::Idle,
        _ if is_even => Failback::After(4_000),
        _ => Failback::Never,
    };
    Mirroring {
        keeps: match way {
            MirrorWay::Streams => StandbyKeeps::Stream,
            _ => StandbyKeeps::Image,
        },
        has_shared_numbers: way == MirrorWay::Numbers,
        failover_after_ms: if way == MirrorWay::Patience { 2_000 } else { 0 },
        failback,
        outlives_close: !is_even,
    }
}
