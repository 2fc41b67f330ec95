//! An exchange on sockets: TCP for clients and readers, UDP for market data.
//!
//! It reads, writes and knows the time; what anything means is the
//! [`Exchange`]'s to say. One thread turns all of it.

mod lines;
mod outbox;

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};
use tapeline_time::Time;

pub use lines::{Line, Receiver};

use crate::core::{Door, Exchange, ExchangeConfig, ExchangeCounts, Outputs, SessionId};
use crate::error::ExchangeError;
use lines::Sender;
use outbox::{Connection, Leaving};

/// Bytes that one read takes at most.
const READ_BYTES: usize = 16 << 10;

/// Reads of one connection in one turn.
const READS: usize = 4;

/// Connections that one turn accepts at each door.
const ACCEPTS: usize = 64;

/// Where an exchange listens and sends.
#[derive(Clone, Debug)]
pub struct VenueConfig {
    /// The market.
    pub exchange: ExchangeConfig,
    /// The address at which it listens.
    pub host: IpAddr,
    /// The port of each door, in the order of [`Door::ALL`]; 0 for any.
    pub ports: [u16; 4],
    /// Where market data goes: the same on each line.
    pub lines: Vec<Line>,
    /// Nanoseconds since 1970 UTC at [`Time::ZERO`].
    pub epoch_ns: u64,
}

/// An exchange on sockets.
#[derive(Debug)]
pub struct Venue {
    exchange: Exchange,
    poll: Poll,
    events: Events,
    doors: Vec<(Door, TcpListener, SocketAddr)>,
    sockets: Sockets,
    /// Connections with more to read than one turn takes.
    unread: Vec<SessionId>,
    buffer: Box<[u8]>,
}

/// What the market's outputs go to.
#[derive(Debug)]
struct Sockets {
    connections: Vec<Option<Connection>>,
    leaving: Vec<Leaving>,
    lines: Vec<Sender>,
    now: Time,
}

impl Outputs for Sockets {
    fn send(&mut self, session: SessionId, bytes: &[u8]) {
        if let Some(Some(connection)) = self.connections.get_mut(session.0 as usize) {
            connection.queue(bytes);
        }
    }

    fn close(&mut self, session: SessionId) {
        let connection = self.connections.get_mut(session.0 as usize).and_then(Option::take);
        self.leaving.extend(connection.and_then(|connection| connection.leave(self.now)));
    }

    fn publish(&mut self, unit: &[u8]) {
        for line in &mut self.lines {
            line.send(unit);
        }
    }

    fn queued(&self, session: SessionId) -> usize {
        let connection = self.connections.get(session.0 as usize).and_then(Option::as_ref);
        connection.map_or(0, Connection::queued)
    }
}

impl Venue {
    /// Listens, and opens the market.
    pub fn start(config: &VenueConfig, now: Time) -> Result<Self, ExchangeError> {
        let poll = Poll::new().map_err(ExchangeError::Poll)?;
        let mut doors = Vec::new();
        for (at, (door, port)) in Door::ALL.into_iter().zip(config.ports).enumerate() {
            let address = SocketAddr::new(config.host, port);
            let failed = |error| ExchangeError::Listen { what: door.name(), at: address, error };
            let mut listener = TcpListener::bind(address).map_err(failed)?;
            let bound = listener.local_addr().map_err(failed)?;
            poll.registry()
                .register(&mut listener, Token(at), Interest::READABLE)
                .map_err(failed)?;
            doors.push((door, listener, bound));
        }
        let lines = config.lines.iter().map(Sender::new).collect::<Result<_, _>>()?;
        let connections = (0..config.exchange.max_sessions).map(|_| None).collect();
        let mut sockets = Sockets { connections, leaving: Vec::new(), lines, now };
        let mut exchange = Exchange::new(&config.exchange, config.epoch_ns);
        exchange.open(now, &mut sockets);
        Ok(Self {
            exchange,
            poll,
            events: Events::with_capacity(256),
            doors,
            sockets,
            unread: Vec::with_capacity(16),
            buffer: vec![0; READ_BYTES].into(),
        })
    }

    /// What listens where.
    pub fn listening(&self) -> impl Iterator<Item = (Door, SocketAddr)> {
        self.doors.iter().map(|(door, _, address)| (*door, *address))
    }

    /// Where market data goes.
    pub fn lines(&self) -> impl Iterator<Item = SocketAddr> {
        self.sockets.lines.iter().map(Sender::to)
    }

    /// The market.
    pub const fn exchange(&self) -> &Exchange {
        &self.exchange
    }

    /// What the market has counted.
    pub fn counts(&self) -> ExchangeCounts {
        let lost = self.sockets.lines.iter().map(Sender::lost).sum();
        ExchangeCounts { units_lost: lost, ..self.exchange.counts() }
    }

    /// One turn at `now`: waits for up to `most` for something to come, and does it.
    pub fn turn(&mut self, now: Time, most: Duration, clock: impl Fn() -> Time) {
        let wait = if self.unread.is_empty() { most } else { Duration::ZERO };
        let wait = wait.min(self.exchange.deadline().since(now));
        if let Err(error) = self.poll.poll(&mut self.events, Some(wait))
            && error.kind() != ErrorKind::Interrupted
        {
            tracing::error!(%error, "the system tells of no more sockets");
        }
        let now = clock();
        self.sockets.now = now;
        let mut ready = std::mem::take(&mut self.unread);
        let mut knocked = [false; Door::ALL.len()];
        for event in &self.events {
            match event.token().0.checked_sub(Door::ALL.len()) {
                None => knocked[event.token().0] = true,
                Some(place) if event.is_readable() || event.is_read_closed() => {
                    ready.push(SessionId(place as u32));
                }
                Some(_) => {}
            }
        }
        for (at, _) in knocked.iter().enumerate().filter(|(_, knocked)| **knocked) {
            self.accept(now, at);
        }
        for session in ready.drain(..) {
            self.read(now, session);
        }
        if self.unread.is_empty() {
            self.unread = ready;
        }
        self.exchange.timeout(now, &mut self.sockets);
        self.flush(now);
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
            if let Err(error) = self.seat(now, *door, stream, peer) {
                tracing::warn!(%error, %peer, "a connection was not accepted");
            }
        }
        // There may be more, of which nobody tells again.
        let (_, listener, _) = &mut self.doors[door];
        let _ = self.poll.registry().reregister(listener, Token(door), Interest::READABLE);
    }

    fn seat(
        &mut self,
        now: Time,
        door: Door,
        mut stream: TcpStream,
        peer: SocketAddr,
    ) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let Some(session) = self.exchange.accepted(now, door) else {
            tracing::warn!(%peer, door = door.name(), "turned away: too many connections");
            return Ok(());
        };
        let token = Token(Door::ALL.len() + session.0 as usize);
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.poll.registry().register(&mut stream, token, interest) {
            self.exchange.closed(now, session, &mut self.sockets);
            return Err(error);
        }
        tracing::debug!(%peer, door = door.name(), "connected");
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
                    self.exchange.received(now, session, bytes, &mut self.sockets);
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
        self.exchange.closed(now, session, &mut self.sockets);
    }

    fn flush(&mut self, now: Time) {
        for place in 0..self.sockets.connections.len() {
            let Some(connection) = &mut self.sockets.connections[place] else { continue };
            if connection.flush().is_err() {
                self.lose(now, SessionId(place as u32));
            }
        }
        self.sockets.leaving.retain_mut(|leaving| leaving.stays(now));
    }

    /// Says goodbye to everybody: sockets are closed when this is dropped.
    pub fn close(&mut self) {
        for connection in self.sockets.connections.iter_mut().filter_map(Option::take) {
            self.sockets.leaving.extend(connection.leave(self.sockets.now));
        }
    }

    // ---- who is in this process

    /// Somebody of this process comes through a door, without a socket.
    pub fn join(&mut self, now: Time, door: Door) -> Option<SessionId> {
        let session = self.exchange.accepted(now, door)?;
        self.sockets.connections[session.0 as usize] = Some(Connection::here());
        Some(session)
    }

    /// Who joined says something.
    pub fn say(&mut self, now: Time, session: SessionId, bytes: &[u8]) {
        self.exchange.received(now, session, bytes, &mut self.sockets);
    }

    /// What has come for who joined, into `out`.
    pub fn hear(&mut self, session: SessionId, out: &mut Vec<u8>) {
        out.clear();
        if let Some(Some(connection)) = self.sockets.connections.get_mut(session.0 as usize) {
            connection.take(out);
        }
    }
}
