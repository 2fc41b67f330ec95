//! A gateway on sockets: TCP for its clients, and the link to who leads its market.
//!
//! It reads, writes and knows the time; what anything means is the [`Gateway`]'s to say.
//! Markets are dialled one after the other until one of them leads.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use tapeline_time::Time;

use super::outbox::{Connection, Leaving};
use super::{ACCEPTS, READ_BYTES, READS};
use crate::core::{Door, SessionId};
use crate::error::ExchangeError;
use crate::gateway::{Gateway, GatewayConfig, GatewayCounts, GatewayOutputs};

/// The doors of a gateway.
const DOORS: [Door; 2] = [Door::Orders, Door::Recovery];

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
    /// Where the market, or each of its replicas, listens to gateways.
    pub markets: Vec<SocketAddr>,
}

/// What the gateway's outputs go to.
#[derive(Debug)]
struct Sockets {
    connections: Vec<Option<Connection>>,
    leaving: Vec<Leaving>,
    link: Option<Dialled>,
    now: Time,
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
        if let Some(Some(connection)) = self.connections.get_mut(session.0 as usize) {
            connection.queue(bytes);
        }
    }

    fn close(&mut self, session: SessionId) {
        let connection = self.connections.get_mut(session.0 as usize).and_then(Option::take);
        self.leaving.extend(connection.and_then(|connection| connection.leave(self.now)));
    }

    fn queued(&self, session: SessionId) -> usize {
        let connection = self.connections.get(session.0 as usize).and_then(Option::as_ref);
        connection.map_or(0, Connection::queued)
    }

    fn say(&mut self, bytes: &[u8]) {
        if let Some(link) = &mut self.link {
            link.connection.queue(bytes);
        }
    }
}

/// A gateway on sockets.
#[derive(Debug)]
pub struct GatewayVenue {
    gateway: Gateway,
    poll: Poll,
    events: Events,
    doors: Vec<(Door, TcpListener, SocketAddr)>,
    sockets: Sockets,
    markets: Vec<SocketAddr>,
    /// The market that is dialled next, and when one was dialled last.
    next_market: usize,
    dialled: Option<Time>,
    /// Connections with more to read than one turn takes, and whether the link has more.
    unread: Vec<SessionId>,
    has_more: bool,
    buffer: Box<[u8]>,
}

impl GatewayVenue {
    /// Listens; nobody can log on before there is a link.
    ///
    /// # Errors
    /// A port cannot be listened on, or the system tells of no sockets.
    pub fn start(config: &GatewayVenueConfig, now: Time) -> Result<Self, ExchangeError> {
        let poll = Poll::new().map_err(ExchangeError::Poll)?;
        let mut doors = Vec::new();
        for (at, (door, port)) in DOORS.into_iter().zip(config.ports).enumerate() {
            let address = SocketAddr::new(config.host, port);
            let failed = |error| ExchangeError::Listen { what: door.name(), at: address, error };
            let mut listener = TcpListener::bind(address).map_err(failed)?;
            let bound = listener.local_addr().map_err(failed)?;
            let registry = poll.registry();
            registry.register(&mut listener, Token(at), Interest::READABLE).map_err(failed)?;
            doors.push((door, listener, bound));
        }
        let connections = (0..config.gateway.max_sessions).map(|_| None).collect();
        Ok(Self {
            gateway: Gateway::new(config.gateway.clone()),
            poll,
            events: Events::with_capacity(256),
            doors,
            sockets: Sockets { connections, leaving: Vec::new(), link: None, now },
            markets: config.markets.clone(),
            next_market: 0,
            dialled: None,
            unread: Vec::with_capacity(16),
            has_more: false,
            buffer: vec![0; READ_BYTES].into(),
        })
    }

    /// What listens where.
    pub fn listening(&self) -> impl Iterator<Item = (Door, SocketAddr)> {
        self.doors.iter().map(|(door, _, address)| (*door, *address))
    }

    /// What it has counted.
    pub fn counts(&self) -> GatewayCounts {
        self.gateway.counts()
    }

    /// Logs everybody out: sockets are closed when this is dropped.
    pub fn close(&mut self) {
        let now = self.sockets.now;
        self.gateway.log_out_all(now, &mut self.sockets);
        self.flush(now);
    }

    /// One turn at `now`: waits for up to `most` for something to come, and does it.
    pub fn turn(&mut self, now: Time, most: Duration, clock: impl Fn() -> Time) {
        let is_idle = self.unread.is_empty() && !std::mem::take(&mut self.has_more);
        let wait = if is_idle { most } else { Duration::ZERO };
        let wait = wait.min(self.gateway.deadline().since(now));
        if let Err(error) = self.poll.poll(&mut self.events, Some(wait))
            && error.kind() != ErrorKind::Interrupted
        {
            tracing::error!(%error, "the system tells of no more sockets");
        }
        let now = clock();
        self.sockets.now = now;
        let mut ready = std::mem::take(&mut self.unread);
        let mut knocked = [false; DOORS.len()];
        for event in self.events.iter().filter(|event| event.token() != LINK) {
            match event.token().0.checked_sub(DOORS.len()) {
                None => knocked[event.token().0] = true,
                Some(place) if event.is_readable() || event.is_read_closed() => {
                    ready.push(SessionId(place as u32));
                }
                Some(_) => {}
            }
        }
        self.look_at_link(now);
        for (at, _) in knocked.iter().enumerate().filter(|(_, knocked)| **knocked) {
            self.accept(now, at);
        }
        ready.drain(..).for_each(|session| self.read(now, session));
        if self.unread.is_empty() {
            self.unread = ready;
        }
        self.gateway.timeout(now, &mut self.sockets);
        self.gateway.cycle(now, &mut self.sockets);
        self.flush(now);
    }

    /// Dials who may lead, and reads what it says.
    fn look_at_link(&mut self, now: Time) {
        let Some(link) = &mut self.sockets.link else { return self.dial(now) };
        if !link.is_up {
            match link.connection.is_connected() {
                Ok(true) => {
                    link.is_up = true;
                    self.gateway.link_up(now, &mut self.sockets);
                }
                Ok(false) if now.since(link.since) < DIALLED => return,
                Ok(false) | Err(_) => return self.sockets.link = None,
            }
        }
        self.has_more = true;
        for _ in 0..READS {
            let Some(link) = &mut self.sockets.link else { return };
            match link.connection.read(&mut self.buffer) {
                Ok(0) => return self.hang_up(now),
                Ok(len) => {
                    let bytes = &self.buffer[..len];
                    if !self.gateway.link_received(now, bytes, &mut self.sockets) {
                        return self.hang_up(now);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.has_more = false;
                    break;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.hang_up(now),
            }
        }
        if self.gateway.is_link_silent(now) {
            tracing::warn!("nothing comes from the market any more");
            self.hang_up(now);
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
        if self.poll.registry().register(&mut stream, LINK, interest).is_ok() {
            let connection = Connection::new(stream);
            self.sockets.link = Some(Dialled { connection, is_up: false, since: now });
        }
    }

    fn accept(&mut self, now: Time, door: usize) {
        for _ in 0..ACCEPTS {
            let (door, listener, _) = &self.doors[door];
            let (stream, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    tracing::warn!(%error, door = door.name(), "a connection was not accepted");
                    return;
                }
            };
            if let Err(error) = self.seat(now, *door, stream) {
                tracing::warn!(%error, %peer, "a connection was not accepted");
            }
        }
        // There may be more, of which nobody tells again.
        let (_, listener, _) = &mut self.doors[door];
        let _ = self.poll.registry().reregister(listener, Token(door), Interest::READABLE);
    }

    fn seat(&mut self, now: Time, door: Door, mut stream: TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let Some(session) = self.gateway.accepted(now, door) else {
            tracing::warn!(door = door.name(), "turned away: too many connections");
            return Ok(());
        };
        let token = Token(DOORS.len() + session.0 as usize);
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.poll.registry().register(&mut stream, token, interest) {
            self.gateway.closed(now, session, &mut self.sockets);
            return Err(error);
        }
        self.sockets.connections[session.0 as usize] = Some(Connection::new(stream));
        Ok(())
    }

    fn read(&mut self, now: Time, session: SessionId) {
        for _ in 0..READS {
            let connection = self.sockets.connections.get_mut(session.0 as usize);
            let Some(Some(connection)) = connection else { return };
            match connection.read(&mut self.buffer) {
                Ok(0) => return self.lose(now, session),
                Ok(len) => {
                    let bytes = &self.buffer[..len];
                    self.gateway.received(now, session, bytes, &mut self.sockets);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.lose(now, session),
            }
        }
        if !self.unread.contains(&session) {
            self.unread.push(session);
        }
    }

    fn lose(&mut self, now: Time, session: SessionId) {
        self.sockets.connections[session.0 as usize] = None;
        self.gateway.closed(now, session, &mut self.sockets);
    }

    fn flush(&mut self, now: Time) {
        for place in 0..self.sockets.connections.len() {
            let Some(connection) = &mut self.sockets.connections[place] else { continue };
            if connection.flush().is_err() {
                self.lose(now, SessionId(place as u32));
            }
        }
        self.sockets.leaving.retain_mut(|leaving| leaving.stays(now));
        if let Some(link) = self.sockets.link.as_mut().filter(|link| link.is_up)
            && link.connection.flush().is_err()
        {
            self.hang_up(now);
        }
    }
}
