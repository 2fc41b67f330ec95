//! The admin port of a source or a client: what it counts, for whoever looks.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tapeline_admin::{Admin, AdminConfig, EventFeed};
use tapeline_channel::ChannelCounters;
use tapeline_counters::{Counted, Registry, Table, Writer};
use tapeline_edge::Edge;
use tapeline_time::Time;

use crate::addresses::Addresses;
use crate::failure::Failure;

/// Counts are published this often while there are turns, as hubs and servers do.
const INTERVAL: Duration = Duration::from_millis(10);

/// What sources and clients count beyond what hubs and servers do.
pub(crate) const TABLES: [&Table; 3] = [
    tapeline_api::ConsumerCounters::TABLE,
    tapeline_api::ProviderCounters::TABLE,
    tapeline_api::PublisherCounters::TABLE,
];

/// The option of a source or a client.
#[derive(clap::Args)]
pub(crate) struct AdminPort {
    /// Show what is counted at this port of the loopback address, at /metrics and
    /// /v1/counters; port 0 for any port
    #[arg(long, value_name = "PORT")]
    admin_port: Option<u16>,
}

/// A source or a client that can be watched, if somebody wants to.
pub(crate) struct Watched<C>(Option<Open<C>>);

struct Open<C> {
    /// Its thread serves the port.
    _edge: Edge,
    own: Writer<C>,
    channel: Writer<ChannelCounters>,
    due: Time,
}

impl AdminPort {
    /// Listens, if that is wanted.
    ///
    /// Errors: the port is taken, or there is no thread to serve it.
    pub(crate) fn open<C: Counted>(
        &self,
        name: &str,
        bounds: &[(&str, u64)],
        addresses: &mut Addresses,
    ) -> Result<Watched<C>, Failure> {
        let Some(port) = self.admin_port else { return Ok(Watched(None)) };
        let registry = Registry::default();
        let own = registry.enter(name, bounds).map_err(tapeline_node::NodeError::from)?;
        let channel = registry.enter(name, &[]).map_err(tapeline_node::NodeError::from)?;
        let edge = Edge::start()?;
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let config = AdminConfig { version: env!("CARGO_PKG_VERSION"), ..AdminConfig::at(at) };
        let admin = Admin::start(&edge, config, registry, EventFeed::default(), None)?;
        addresses.add("admin", admin.address());
        Ok(Watched(Some(Open { _edge: edge, own, channel, due: Time::ZERO })))
    }
}

impl<C: Counted> Watched<C> {
    /// The end of a turn: publishes what was counted, when it is time to.
    pub(crate) fn turn(&mut self, now: Time, counts: impl FnOnce() -> (C, ChannelCounters)) {
        let Some(open) = self.0.as_mut().filter(|open| open.due <= now) else { return };
        open.due = now.after(INTERVAL);
        let (own, channel) = counts();
        open.own.publish(&own);
        open.channel.publish(&channel);
    }
}
