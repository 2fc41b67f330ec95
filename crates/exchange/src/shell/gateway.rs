//! A gateway on sockets: TCP for its clients, and the link to who leads its market.
//!
//! It reads, writes and knows the time; what anything means is the [`Gateway`]'s to say.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use tapeline_time::Time;

use super::dialer::{Dialer, Dialled, Linked};
use super::doors::{self, Connections, Core, Doors};
use super::outbox::Connection;
use crate::core::{Door, SessionId};
use crate::error::ExchangeError;
use crate::gateway::{Gateway, GatewayConfig, GatewayCounts, GatewayOutputs};

/// Where a gateway listens, and where its market is.
#[derive(Clone, Debug)]
pub struct GatewayVenueConfig {
    /// The gateway.
    pub gateway: GatewayConfig,
    /// The address at which it listens.
    pub host: IpAddr,
    /// The ports of orders and of the recovery channel; 0 for any.
    pub ports: [u16; 2],
    /// The same of orders by FIX; `None`: it does not speak FIX.
    pub fix_port: Option<u16>,
    /// Where the market, or each of its replicas, listens to gateways.
    pub markets: Vec<SocketAddr>,
    /// So long behind something that came it polls its sockets instead of waiting for
    /// them; zero: never.
    pub busy_poll: Duration,
}

/// What the gateway's outputs go to.
#[derive(Debug)]
pub(super) struct Sockets {
    connections: Connections,
    link: Option<Dialled>,
}

impl GatewayOutputs for Sockets {
    fn send(&mut self, session: SessionId, bytes: &[u8]) {
        self.connections.queue(session, bytes);
    }

    fn close(&mut self, session: SessionId) {
        self.connections.close(session);
    }

    fn queued(&self, session: SessionId) -> usize {
        self.connections.get(session).map_or(0, Connection::queued)
    }

    fn say(&mut self, bytes: &[u8]) {
        if let Some(link) = &mut self.link {
            link.queue(bytes);
        }
    }
}

impl Core for Gateway {
    type Sockets = Sockets;

    fn connections(sockets: &mut Sockets) -> &mut Connections {
        &mut sockets.connections
    }

    fn accepted(&mut self, now: Time, door: Door) -> Option<SessionId> {
        Self::accepted(self, now, door)
    }

    fn received(&mut self, now: Time, session: SessionId, bytes: &[u8], sockets: &mut Sockets) {
        Self::received(self, now, session, bytes, sockets);
    }

    fn closed(&mut self, now: Time, session: SessionId, sockets: &mut Sockets) {
        Self::closed(self, now, session, sockets);
    }

    fn deadline(&self) -> Time {
        Self::deadline(self)
    }

    fn end_turn(&mut self, now: Time, sockets: &mut Sockets) {
        self.timeout(now, sockets);
        self.cycle(now, sockets);
    }
}

impl Linked for Gateway {
    fn link(sockets: &mut Sockets) -> &mut Option<Dialled> {
        &mut sockets.link
    }

    fn link_up(&mut self, now: Time, sockets: &mut Sockets) {
        Self::link_up(self, now, sockets);
    }

    fn link_received(&mut self, now: Time, bytes: &[u8], sockets: &mut Sockets) -> bool {
        Self::link_received(self, now, bytes, sockets)
    }

    fn link_lost(&mut self, now: Time, sockets: &mut Sockets) {
        Self::link_lost(self, now, sockets);
    }

    fn is_link_silent(&self, now: Time) -> bool {
        Self::is_link_silent(self, now)
    }
}

/// A gateway on sockets.
#[derive(Debug)]
pub struct GatewayVenue {
    gateway: Gateway,
    doors: Doors,
    sockets: Sockets,
    dialer: Dialer,
}

impl GatewayVenue {
    /// Listens; nobody can log on before there is a link.
    ///
    /// # Errors
    /// A port cannot be listened on, or the system tells of no sockets.
    pub fn start(config: &GatewayVenueConfig, now: Time) -> Result<Self, ExchangeError> {
        let mut doors = Doors::new(config.busy_poll)?;
        let [orders, recovery] = config.ports.map(Some);
        let ports = [orders, recovery, config.fix_port];
        for (door, port) in [Door::Orders, Door::Recovery, Door::Fix].into_iter().zip(ports) {
            if let Some(port) = port {
                doors.listen(door, SocketAddr::new(config.host, port))?;
            }
        }
        let connections = Connections::new(config.gateway.max_sessions, now);
        Ok(Self {
            gateway: Gateway::new(config.gateway.clone()),
            doors,
            sockets: Sockets { connections, link: None },
            dialer: Dialer::new(&config.markets),
        })
    }

    /// What listens where.
    pub fn listening(&self) -> impl Iterator<Item = (Door, SocketAddr)> {
        self.doors.listening()
    }

    /// What it has counted.
    pub fn counts(&self) -> GatewayCounts {
        self.gateway.counts()
    }

    /// Logs everybody out: sockets are closed when this is dropped.
    pub fn close(&mut self) {
        let now = self.sockets.connections.now;
        self.gateway.log_out_all(now, &mut self.sockets);
        self.flush(now);
    }

    /// One turn at `now`: waits for up to `most` for something to come, and does it.
    pub fn turn(&mut self, now: Time, most: Duration, clock: impl Fn() -> Time) {
        self.doors.wait(now, self.dialer.most(most), &self.gateway);
        let now = clock();
        self.sockets.connections.now = now;
        self.dialer.look(now, &self.doors, &mut self.gateway, &mut self.sockets);
        self.doors.serve(now, &mut self.gateway, &mut self.sockets);
        self.flush(now);
    }

    fn flush(&mut self, now: Time) {
        doors::flush(now, &mut self.gateway, &mut self.sockets);
        self.dialer.flush(now, &mut self.gateway, &mut self.sockets);
    }
}
