//! From the configuration to what runs: hubs, servers, and what is between them.

mod bounds;
mod credentials;
mod flags;
mod hub;
mod meeting;
mod settings;
mod sources;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tapeline_admin::{Admin, ConfigSender, EventFeed};
use tapeline_backbone::{Bus, Carrier, EngineSettings, Role};
use tapeline_channel::Idle;
use tapeline_counters::Registry;
use tapeline_edge::{Edge, JournalConfig, Logins, Policies, PolicyConfig};
use tapeline_node::{
    HubPart, NewEdgePort, NewPolicy, Node, NodeConfig, PARK_MICROS, Placement, ServerPart,
};
use tapeline_server::{Server, Siblings, Transport};

pub(crate) use credentials::Credentials;
pub(crate) use flags::{Common, HubFlags, ServerFlags};
pub(crate) use settings::token;

use crate::addresses::Addresses;
use crate::config::{IdleWhen, Settings};
use crate::descriptors;
use crate::failure::Failure;

/// What runs in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Roles {
    pub(crate) is_hub: bool,
    pub(crate) is_server: bool,
}

/// The policy and the usage journal, if there are any.
pub(crate) fn policies(edge: &Edge, settings: &Settings) -> Result<Option<Arc<Policies>>, Failure> {
    let entitle = &settings.entitle;
    let Some(policy) = entitle.policy.clone() else { return Ok(None) };
    let name = settings.server.name.clone();
    let config = PolicyConfig {
        policy,
        check_interval: Duration::from_millis(entitle.check_interval_ms.into()),
        journal: entitle.usage_dir.clone().map(|folder| JournalConfig {
            folder,
            name,
            max_bytes: entitle.usage_max_bytes,
            is_compressed: entitle.usage_compress,
        }),
    };
    Ok(Some(Arc::new(Policies::start(edge, config)?)))
}

/// Who is asked about logins, if anybody is.
fn logins(edge: &Edge, settings: &Settings, has_policy: bool) -> Result<Option<Logins>, Failure> {
    let Some(config) = settings::login_config(settings)? else { return Ok(None) };
    if !has_policy {
        let text = "[token] jwks or [authoriser] url is there, and no policy; give both".to_owned();
        return Err(Failure::Setting(text));
    }
    Ok(Some(Logins::start(edge, config)?))
}

/// What each hub and server has of the edge: the policy, and who is asked about logins.
pub(crate) fn edge_port(
    edge: &Edge,
    settings: &Settings,
    policies: Option<&Arc<Policies>>,
) -> Result<Option<NewEdgePort>, Failure> {
    let logins = logins(edge, settings, policies.is_some())?.map(Arc::new);
    Ok(policies.map(|policies| {
        let policies = Arc::clone(policies);
        NewEdgePort::new(move || match &logins {
            Some(logins) => policies.port().with_logins(logins.port()),
            None => policies.port(),
        })
    }))
}

/// What the settings say that runs. `edge` is what hubs and servers have of it.
pub(crate) fn node_config(
    settings: &Settings,
    roles: Roles,
    edge: Option<&NewEdgePort>,
    credentials: &Credentials,
) -> Result<NodeConfig, Failure> {
    let carrier = meeting::carrier(settings, roles)?;
    meeting::check(settings, &carrier, roles)?;
    let engine = match carrier == Carrier::LOCAL {
        true => EngineSettings::default(),
        false => settings::engine_settings(settings)?,
    };
    let has_clock_of_hubs = !carrier.is_network();
    let max_descriptor = Some(descriptors::max_accepted(settings, descriptors::raise()));
    let mut config = NodeConfig::on(carrier);
    if roles.is_hub {
        let mut hub = hub::hub_config(settings, credentials)?;
        hub.reactor.max_accepted_descriptor = max_descriptor;
        config.hubs.push(HubPart {
            config: hub,
            port: settings::port_settings(settings, Role::Hub)?,
            field_rules: Some(settings::field_rules(settings)?),
            edge: edge.cloned(),
        });
    }
    if roles.is_server {
        let mut server = settings::server_config(settings, credentials)?;
        server.max_accepted_descriptor = max_descriptor;
        server.has_clock_of_hubs = has_clock_of_hubs;
        let shards = settings.server.shards;
        // Who is not logged in yet is bounded where it comes in: of a crowd the kernel
        // gives each shard its part.
        for limit in
            [&mut server.limits.max_without_login, &mut server.limits.max_without_login_per_address]
        {
            *limit = limit.div_ceil(shards);
        }
        config.servers.push(ServerPart {
            config: server,
            port: settings::port_settings(settings, Role::Server)?,
            policy: NewPolicy::default(),
            edge: edge.cloned(),
            siblings: (shards > 1).then(Siblings::default),
        });
        config.shards = shards;
    }
    let interval_s = settings.log.counters_interval_s;
    config.engine = engine;
    config.placement = Placement {
        cores: settings.profile.cores.iter().map(|core| usize::from(*core)).collect(),
        fifo_priority: settings.profile.fifo_priority,
    };
    config.knee = settings::knee(settings)?;
    config.idle = match settings.profile.idle {
        IdleWhen::Spin => Idle::Spin,
        IdleWhen::Yield => Idle::Yield,
        IdleWhen::Park => Idle::Park { micros: PARK_MICROS },
    };
    config.counters_interval = (interval_s > 0).then(|| Duration::from_secs(interval_s.into()));
    Ok(config)
}

/// Starts the admin port of a process, if it is to have one.
pub(crate) fn start_admin(
    edge: &Edge,
    (settings, credentials): (&Settings, &Credentials),
    registry: &Registry,
    (events, configure): (EventFeed, ConfigSender),
) -> Result<Option<Admin>, Failure> {
    let Some(config) = settings::admin_config(settings, credentials)? else { return Ok(None) };
    let admin = Admin::start(edge, config, registry.clone(), events, Some(configure))?;
    tracing::info!(address = %admin.address(), "admin");
    Ok(Some(admin))
}

/// Says what listens where, also in the ready file.
pub(crate) fn announce(
    node: &Node,
    admin: Option<&Admin>,
    ready_file: Option<&Path>,
) -> Result<(), Failure> {
    let mut all = Addresses::default();
    if let Some(admin) = admin {
        all.add("admin", admin.address());
    }
    for server in node.servers() {
        add_server(&mut all, server);
    }
    for hub in node.hubs() {
        if let Some(address) = hub.listening().first() {
            all.add("ni", *address);
        }
        if let Some(address) = hub.listening_tls().first() {
            all.add("ni-tls", *address);
        }
    }
    if let Some(path) = ready_file {
        all.write(path)?;
    }
    tracing::info!("ready");
    Ok(())
}

fn add_server<B: Bus>(all: &mut Addresses, server: &Server<B>) {
    for (name, transport) in [
        ("rssl", Transport::Rssl),
        ("rssl-tls", Transport::RsslTls),
        ("ws", Transport::WebSocket),
        ("wss", Transport::WebSocketTls),
    ] {
        if let Some(address) = server.listening_at(transport).first() {
            all.add(name, *address);
        }
    }
}
