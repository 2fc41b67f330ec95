//! A gateway on sockets: TCP for its clients, and the link to who leads its market.
//!
//! It reads, writes and knows the time; what anything means is the [`Gateway`]'s to say.
//! Markets are dialled one after the other until one of them leads.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Interest, Token};
use tapeline_time::Time;

use super::doors::{self, Connections, Core, Doors, READ_BYTES, READS};
use super::outbox::Connection;
use crate::core::{Door, SessionId};
use crate::error::ExchangeError;
use crate::gateway::{Gateway, GatewayConfig, GatewayCounts, GatewayOutputs};

const LINK: Token = Token(usize::MAX);

/// After so long the next market is dialled.
const REDIAL: Duration = Duration::from_millis(20);

/// A market that does not answer has so long.
const DIALLED: Duration = Duration::from_millis(500);

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

/// The connection to a market.
#[derive(Debug)]
struct Dialled {
    connection: Connection,
    is_up: bool,
    since: Time,
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
            link.connection.queue(bytes);
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

/// A gateway on sockets.
#[derive(Debug)]
pub struct GatewayVenue {
    gateway: Gateway,
    doors: Doors,
    sockets: Sockets,
    markets: Vec<SocketAddr>,
    /// The market that is dialled next, and when one was dialled last.
    next_market: usize,
    dialled: Option<Time>,
    /// The link has more to read than one turn takes.
    has_more: bool,
    buffer: Box<[u8]>,
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
            markets: config.markets.clone(),
            next_market: 0,
            dialled: None,
            has_more: false,
            buffer: vec![0; READ_BYTES].into(),
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
        let most = if self.has_more { Duration::ZERO } else { most };
        self.doors.wait(now, most, &self.gateway);
        let now = clock();
        self.sockets.connections.now = now;
        self.look_at_link(now);
        self.doors.serve(now, &mut self.gateway, &mut self.sockets);
        self.flush(now);
    }

    /// Dials who may lead, and reads what it says.
    fn look_at_link(&mut self, now: Time) {
        let Some(link) = &mut self.sockets.link else { return self.dial(now) };
        if !link.is_up {
            match link.connection.is_connected() {
                Ok(true) => {
                    link.is_up = true;
                    self.has_more = true;
                    self.gateway.link_up(now, &mut self.sockets);
                }
                Ok(false) if now.since(link.since) < DIALLED => return,
                Ok(false) | Err(_) => return self.sockets.link = None,
            }
        }
        let came = self.doors.came_at(LINK);
        if came.is_some() || self.has_more {
            self.read_link(now, came == Some(true));
        }
        if self.gateway.is_link_silent(now) {
            tracing::warn!("nothing comes from the market any more");
            self.hang_up(now);
        }
    }

    fn read_link(&mut self, now: Time, is_ending: bool) {
        self.has_more = true;
        for _ in 0..READS {
            let Some(link) = &mut self.sockets.link else { return self.has_more = false };
            match link.connection.read(&mut self.buffer) {
                Ok(0) => return self.hang_up(now),
                Ok(len) => {
                    let bytes = &self.buffer[..len];
                    if !self.gateway.link_received(now, bytes, &mut self.sockets) {
                        return self.hang_up(now);
                    }
                    if doors::is_all(len, is_ending) {
                        return self.has_more = false;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.has_more = false;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.hang_up(now),
            }
        }
    }

    fn hang_up(&mut self, now: Time) {
        self.has_more = false;
        self.sockets.link = None;
        self.gateway.link_lost(now, &mut self.sockets);
    }

    fn dial(&mut self, now: Time) {
        if self.dialled.is_some_and(|dialled| now.since(dialled) < REDIAL) {
            return;
        }
        self.dialled = Some(now);
        let Some(address) = self.markets.get(self.next_market % self.markets.len().max(1)) else {
            return;
        };
        self.next_market += 1;
        let Ok(mut stream) = TcpStream::connect(*address) else { return };
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self.doors.registry().register(&mut stream, LINK, interest).is_ok() {
            let connection = Connection::new(stream);
            self.sockets.link = Some(Dialled { connection, is_up: false, since: now });
        }
    }

    fn flush(&mut self, now: Time) {
        doors::flush(now, &mut self.gateway, &mut self.sockets);
        if let Some(link) = self.sockets.link.as_mut().filter(|link| link.is_up)
            && link.connection.flush().is_err()
        {
            self.hang_up(now);
        }
    }
}
