//! A hub or a server of the world: a place where one runs, and crashes, and
//! runs again.

use std::net::SocketAddr;
use std::sync::OnceLock;

use tapeline_backbone::sim::{Network as Backbone, SimPort};
use tapeline_backbone::{Incarnation, PortSettings, Role};
use tapeline_channel::ReactorConfig;
use tapeline_channel::sim::{Host, Network};
use tapeline_hub::{Hub, HubConfig, Route};
use tapeline_server::{AcceptAll, OutputThresholds, Server, ServerConfig};
use tapeline_time::Time;

use crate::plan::Shape;

/// A place for a party of the backbone.
pub(crate) struct Member<P> {
    pub(crate) index: usize,
    pub(crate) party: Option<P>,
    /// Who its port was first; the backbone knows it by that.
    pub(crate) incarnation: Incarnation,
    pub(crate) stalled_until: Time,
    down_since: Time,
}

impl<P> Member<P> {
    pub(crate) const fn new(index: usize) -> Self {
        Self {
            index,
            party: None,
            incarnation: Incarnation(0),
            stalled_until: Time::ZERO,
            down_since: Time::ZERO,
        }
    }

    /// It is gone without a word.
    pub(crate) fn crash(&mut self, now: Time) {
        if self.party.take().is_some() {
            self.down_since = now;
        }
    }

    /// Since when it is gone, if it is.
    pub(crate) fn gone_since(&self) -> Option<Time> {
        self.party.is_none().then_some(self.down_since)
    }

    /// Who runs now.
    pub(crate) fn running(&mut self, now: Time) -> Option<&mut P> {
        self.party.as_mut().filter(|_| now >= self.stalled_until)
    }
}

pub(crate) type HubMember = Member<Hub<SimPort, Host>>;
pub(crate) type ServerMember = Member<Server<SimPort, Host>>;

fn port(backbone: &Backbone, role: Role, index: usize, seed: u64, shape: &Shape) -> SimPort {
    let name = format!("{role:?}{index}");
    let incarnation = incarnation(seed);
    let queue_bytes = shape.queue_bytes;
    backbone.port(PortSettings { incarnation, queue_bytes, ..PortSettings::new(role, &name) })
}

/// Who somebody is that starts with this seed.
const fn incarnation(seed: u64) -> Incarnation {
    Incarnation((seed >> 32) as u32 | 1)
}

impl HubMember {
    pub(crate) fn start(
        &mut self,
        shape: &Shape,
        sources: &[SocketAddr],
        (network, backbone): (&Network, &Backbone),
        seed: u64,
    ) {
        let mut config = HubConfig::named(format!("hub{}", self.index));
        let is_mine = |index: usize| !shape.own_sources || index == self.index;
        let mine = sources.iter().enumerate().filter(|(index, _)| is_mine(*index));
        config.routes = mine.map(|(_, at)| Route::to(at.ip().to_string(), at.port())).collect();
        config.cache_interactive = shape.hub_cache;
        config.pause_upstream = shape.pause_upstream;
        config.source_timeout_ms = 3000;
        config.request_timeout_ms = 3000;
        config.retry_delay_ms = 1000;
        config.reactor = ReactorConfig { seed, ..ReactorConfig::default() };
        let system = network.host([10, 0, 4, self.index as u8 + 1]);
        self.incarnation = incarnation(seed);
        let port = port(backbone, Role::Hub, self.index, seed, shape);
        self.party = Some(Hub::with_system(config, port, system).expect("it has its routes"));
    }
}

/// The default, with its dictionary, which is large.
fn server_config() -> ServerConfig {
    static DEFAULT: OnceLock<ServerConfig> = OnceLock::new();
    DEFAULT.get_or_init(ServerConfig::default).clone()
}

impl ServerMember {
    pub(crate) fn start(
        &mut self,
        shape: &Shape,
        [rssl, websocket]: [SocketAddr; 2],
        (network, backbone): (&Network, &Backbone),
        seed: u64,
    ) {
        let config = ServerConfig {
            listen: vec![rssl],
            listen_websocket: vec![websocket],
            cache: shape.server_cache,
            output: OutputThresholds {
                max_bytes: shape.output_bytes,
                ..OutputThresholds::default()
            },
            seed,
            ..server_config()
        };
        self.incarnation = incarnation(seed);
        let port = port(backbone, Role::Server, self.index, seed, shape);
        let server =
            Server::with_system(config, Box::new(AcceptAll), port, network.host(rssl.ip()));
        self.party = Some(server.expect("nobody else listens there"));
    }
}
