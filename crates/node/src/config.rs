//! What a node is made of.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tapeline_backbone::{Bus, Carrier, Driver, EngineSettings, PortSettings};
use tapeline_cache::FieldRules;
use tapeline_channel::{Idle, System};
use tapeline_counters::Registry;
use tapeline_entitle::EdgePort;
use tapeline_hub::{Hub, HubConfig, HubError};
use tapeline_server::{AcceptAll, LoginPolicy, Server, ServerConfig, ServerError, Siblings};

use crate::{Changes, Knee, Placement};

/// Makes the login policy of a server: each server of a process has its own.
#[derive(Clone)]
pub struct NewPolicy(Arc<dyn Fn() -> Box<dyn LoginPolicy> + Send + Sync>);

impl NewPolicy {
    /// Policies that `new` makes.
    pub fn new(new: impl Fn() -> Box<dyn LoginPolicy> + Send + Sync + 'static) -> Self {
        Self(Arc::new(new))
    }

    pub(crate) fn make(&self) -> Box<dyn LoginPolicy> {
        (self.0)()
    }
}

impl Default for NewPolicy {
    /// Everybody is accepted.
    fn default() -> Self {
        Self::new(|| Box::new(AcceptAll))
    }
}

impl fmt::Debug for NewPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewPolicy").finish_non_exhaustive()
    }
}

/// Makes the port of a server to the edge of the process: each server of a
/// process has its own.
#[derive(Clone)]
pub struct NewEdgePort(Arc<dyn Fn() -> EdgePort + Send + Sync>);

impl NewEdgePort {
    /// Ports that `new` makes.
    pub fn new(new: impl Fn() -> EdgePort + Send + Sync + 'static) -> Self {
        Self(Arc::new(new))
    }

    pub(crate) fn make(&self) -> EdgePort {
        (self.0)()
    }
}

impl fmt::Debug for NewEdgePort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewEdgePort").finish_non_exhaustive()
    }
}

/// A hub of a node.
#[derive(Clone)]
pub struct HubPart {
    /// Its own settings.
    pub config: HubConfig,
    /// Those of its port on the backbone.
    pub port: PortSettings,
    /// The fields by which images of non-interactive providers ripple. `None`:
    /// none ripple.
    pub field_rules: Option<Arc<dyn FieldRules + Send + Sync>>,
    /// Where its entitlement policy comes from; `None` for none: whoever calls
    /// itself a provider may publish.
    pub edge: Option<NewEdgePort>,
}

impl HubPart {
    /// The hub on a port that was made with [`port`](Self::port), and on the
    /// sockets of a system: the one way in which a hub is put together, for the
    /// program and for a simulation.
    ///
    /// Errors: as of [`Hub::with_system`].
    pub fn start<B: Bus, S: System>(self, bus: B, system: S) -> Result<Hub<B, S>, HubError> {
        let Self { config, port: _, field_rules, edge } = self;
        let mut hub = Hub::with_system(config, bus, system)?;
        if let Some(rules) = field_rules {
            hub.set_field_rules(rules);
        }
        if let Some(edge) = edge {
            hub.meet_edge(edge.make());
        }
        Ok(hub)
    }
}

/// A server of a node.
#[derive(Clone, Debug)]
pub struct ServerPart {
    /// Its own settings.
    pub config: ServerConfig,
    /// Those of its port on the backbone.
    pub port: PortSettings,
    /// Who may log in.
    pub policy: NewPolicy,
    /// Servers of this process with which it has its limits together; `None` for
    /// limits of its own. Shards of a server that has siblings are siblings, too.
    pub siblings: Option<Siblings>,
    /// Where its entitlement policy comes from; `None` for none: everybody sees
    /// everything.
    pub edge: Option<NewEdgePort>,
}

impl ServerPart {
    /// The server on a port that was made with [`port`](Self::port), and on the
    /// sockets of a system: the one way in which a server is put together.
    ///
    /// Errors: as of [`Server::with_system`].
    pub fn start<B: Bus, S: System>(self, bus: B, system: S) -> Result<Server<B, S>, ServerError> {
        let Self { config, port: _, policy, siblings, edge } = self;
        let mut server = Server::with_system(config, policy.make(), bus, system)?;
        if let Some(siblings) = siblings {
            server.share_limits(&siblings);
        }
        if let Some(edge) = edge {
            server.meet_edge(edge.make());
        }
        Ok(server)
    }
}

/// What one thread turns.
#[derive(Clone)]
pub struct NodeConfig {
    /// What carries frames between hubs and servers.
    pub carrier: Carrier,
    /// Settings of the engine; without effect for [`Carrier::LOCAL`].
    pub engine: EngineSettings,
    /// The hubs.
    pub hubs: Vec<HubPart>,
    /// The servers.
    pub servers: Vec<ServerPart>,
    /// What the thread does after a turn with nothing to do.
    pub idle: Idle,
    /// How often what is counted is told in the log; `None` for at the end alone.
    pub counters_interval: Option<Duration>,
    /// Threads that serve behind the ports of the first server, its own among
    /// them; see [`Shards`](crate::Shards). At least 1.
    pub shards: usize,
    /// Where all counts are published.
    pub registry: Registry,
    /// Where the threads run.
    pub placement: Placement,
    /// What a thread can do on this machine, if it was measured: who comes near it is
    /// told in the log.
    pub knee: Option<Knee>,
    /// By which hubs and servers are given another configuration while they run.
    pub changes: Changes,
}

impl NodeConfig {
    /// Nothing yet, on this carrier: spins, and tells counts every minute.
    pub fn on(carrier: Carrier) -> Self {
        Self {
            carrier,
            engine: EngineSettings::default(),
            hubs: Vec::new(),
            servers: Vec::new(),
            idle: Idle::Spin,
            counters_interval: Some(Duration::from_secs(60)),
            shards: 1,
            registry: Registry::default(),
            placement: Placement::default(),
            knee: None,
            changes: Changes::default(),
        }
    }

    /// Whether everything that comes to the thread can wake it. What another
    /// process or thread writes into the driver's memory, or into a ring, wakes
    /// nobody.
    pub(crate) fn is_woken(&self) -> bool {
        let has_guests = self.engine.driver != Driver::Embedded { directory: None };
        let is_whole = !self.hubs.is_empty() && !self.servers.is_empty();
        let is_reached = is_whole || self.carrier.is_network();
        self.shards <= 1 && is_reached && !has_guests
    }
}

#[cfg(test)]
mod tests {
    use tapeline_backbone::Role;

    use super::*;

    fn hub() -> HubPart {
        let port = PortSettings::new(Role::Hub, "hub");
        HubPart { config: HubConfig::named("hub"), port, field_rules: None, edge: None }
    }

    fn server() -> ServerPart {
        let port = PortSettings::new(Role::Server, "server");
        ServerPart {
            config: ServerConfig::default(),
            port,
            policy: NewPolicy::default(),
            siblings: None,
            edge: None,
        }
    }

    #[test]
    fn a_thread_is_woken_by_all_that_comes_or_by_nothing() {
        let whole = NodeConfig {
            hubs: vec![hub()],
            servers: vec![server()],
            ..NodeConfig::on(Carrier::LOCAL)
        };
        assert!(whole.is_woken());
        let sharded = NodeConfig { shards: 2, ..whole.clone() };
        assert!(!sharded.is_woken(), "rings of other threads wake nobody");
        let shard = NodeConfig { hubs: Vec::new(), ..whole.clone() };
        assert!(!shard.is_woken(), "nor do those of the hub's thread");
        let engine = EngineSettings {
            driver: Driver::Embedded { directory: Some("/dev/shm/x".into()) },
            ..EngineSettings::default()
        };
        let joined = NodeConfig { engine, ..whole };
        assert!(!joined.is_woken(), "others may write into the driver's memory");
    }
}
