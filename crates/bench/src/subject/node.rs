//! A hub and a server with shared memory or rings between them, worked by the
//! caller.

use std::net::SocketAddr;

use tapeline_backbone::{Backbone, BackbonePort, Bus, Carrier, EngineSettings, PortSettings, Role};
use tapeline_channel::random_seed;
use tapeline_hub::{Hub, HubConfig, Route};
use tapeline_server::{AcceptAll, Limits, Server, ServerConfig};
use tapeline_time::MonotonicClock;

use super::Counts;
use crate::BenchError;
use crate::setup::Setup;

/// Most mounts of any procedure.
pub(super) const MAX_MOUNTS: usize = 100_000;

/// Most items of any procedure.
pub(super) const MAX_ITEMS: usize = 16_000_000;

/// Hub and server, worked by the caller.
pub(crate) struct Node {
    // Ports close before the backbone.
    hub: Hub<BackbonePort>,
    server: Server<BackbonePort>,
    backbone: Backbone,
    clock: MonotonicClock,
}

impl Node {
    /// A hub that takes from a provider, and a server for clients.
    pub(crate) fn start(provider: SocketAddr, setup: &Setup) -> Result<Self, BenchError> {
        let carrier = Carrier::parse(setup.between.channel())?;
        let mut backbone = Backbone::start(&carrier, EngineSettings::default())?;
        let port = backbone.port(PortSettings::new(Role::Hub, "hub"))?;
        let mut config = HubConfig::named("hub");
        config.routes.push(Route::to(provider.ip().to_string(), provider.port()));
        config.cache_interactive = setup.cache;
        config.limits.max_items = MAX_ITEMS;
        config.reactor.seed = random_seed();
        let hub = Hub::new(config, port)?;
        let port = backbone.port(PortSettings::new(Role::Server, "server"))?;
        let server = Server::new(server_config(setup), Box::new(AcceptAll), port)?;
        Ok(Self { hub, server, backbone, clock: MonotonicClock::start() })
    }

    /// Where clients connect.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.server.listening().first().copied()
    }

    /// Why the backbone is of no use any more.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.backbone.failure()
    }

    /// One turn of all three. Returns how much was done.
    pub(crate) fn turn(&mut self) -> usize {
        let now = self.clock.now();
        let mut work = self.hub.duty_cycle(now);
        work += self.backbone.work(now);
        work + self.server.duty_cycle(now)
    }

    pub(crate) fn counts(&self) -> Counts {
        let statistics = self.server.statistics();
        let (hub_bus, server_bus) = (self.hub.bus().counters(), self.server.bus().counters());
        Counts {
            merged: Some(statistics.updates_merged),
            cut: Some(statistics.mounts_cut),
            gaps: Some(statistics.gaps + hub_bus.dropped + server_bus.gaps),
        }
    }
}

fn server_config(setup: &Setup) -> ServerConfig {
    let tuning = setup.tuning;
    let defaults = ServerConfig::default();
    ServerConfig {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        cache: setup.cache,
        flush_interval_ms: tuning.flush_interval_ms(),
        tcp_no_delay: tuning.tcp_no_delay(),
        tcp_send_buffer_bytes: tuning.tcp_send_buffer_bytes,
        fragment_bytes: tuning.fragment_bytes.unwrap_or(defaults.fragment_bytes),
        limits: Limits {
            max_mounts: MAX_MOUNTS,
            max_items: MAX_ITEMS,
            item_limit: MAX_ITEMS,
            ..defaults.limits
        },
        seed: random_seed(),
        ..defaults
    }
}
