//! A hub and a server of one thread, as the program composes them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use tapeline_backbone::{Bus, Carrier, PortSettings, Role};
use tapeline_channel::random_seed;
use tapeline_hub::{HubConfig, Route};
use tapeline_node::{HubPart, NewPolicy, Node, NodeConfig, ServerPart};
use tapeline_server::{Limits, ServerConfig, Transport};

use super::{Counts, Written};
use crate::BenchError;
use crate::setup::Setup;

/// Most mounts of any procedure.
pub(super) const MAX_MOUNTS: usize = 100_000;

/// One that the system chooses, of this host alone.
const ANY_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Most items of any procedure.
pub(super) const MAX_ITEMS: usize = 16_000_000;

/// A hub that takes from a provider, and a server for clients.
pub(crate) fn start(provider: SocketAddr, setup: &Setup) -> Result<Node, BenchError> {
    let mut hub = HubConfig::named("hub");
    hub.routes.push(Route::to(provider.ip().to_string(), provider.port()));
    hub.cache_interactive = setup.cache;
    if !setup.stamps {
        hub.stamp_every = 0;
    }
    hub.limits.max_items = MAX_ITEMS;
    hub.reactor.seed = random_seed();
    let config = NodeConfig {
        hubs: vec![HubPart {
            config: hub,
            port: PortSettings::new(Role::Hub, "hub"),
            field_rules: None,
            edge: None,
        }],
        servers: vec![ServerPart {
            config: server_config(setup),
            port: PortSettings::new(Role::Server, "server"),
            policy: NewPolicy::default(),
            edge: None,
            siblings: None,
        }],
        idle: setup.idle(),
        counters_interval: None,
        ..NodeConfig::on(Carrier::parse(setup.between.channel())?)
    };
    Ok(Node::start(config)?)
}

/// Where clients connect.
pub(crate) fn address(node: &Node) -> Option<SocketAddr> {
    node.servers().next().and_then(|server| server.listening().first().copied())
}

/// Where those connect that speak JSON, if they may.
pub(crate) fn websocket_address(node: &Node) -> Option<SocketAddr> {
    let server = node.servers().next()?;
    server.listening_at(Transport::WebSocket).first().copied()
}

/// What it did so far.
pub(crate) fn counts(node: &Node) -> Counts {
    let mut counts = Counts { merged: Some(0), cut: Some(0), gaps: Some(0) };
    let add = |count: &mut Option<u64>, more| *count = count.map(|count| count + more);
    for hub in node.hubs() {
        add(&mut counts.gaps, hub.bus().counters().dropped);
    }
    for server in node.servers() {
        let statistics = server.statistics();
        add(&mut counts.merged, statistics.updates_merged);
        add(&mut counts.cut, statistics.mounts_cut);
        add(&mut counts.gaps, statistics.gaps + server.bus().counters().gaps);
    }
    counts
}

/// What its servers wrote to clients so far.
pub(crate) fn written(node: &Node) -> Written {
    let all = node.servers().map(|server| server.reactor().counters_so_far());
    all.fold(Written::default(), |sum, its| Written {
        bytes: sum.bytes + its.bytes_sent,
        writes: sum.writes + its.writes,
    })
}

fn server_config(setup: &Setup) -> ServerConfig {
    let tuning = setup.tuning;
    let defaults = ServerConfig::default();
    ServerConfig {
        listen: vec![ANY_PORT],
        listen_websocket: if setup.websocket { vec![ANY_PORT] } else { Vec::new() },
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
