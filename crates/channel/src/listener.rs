//! A listening socket and the connections it accepts.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tapeline_rssl::websocket::PLAIN_HTTP;
use tapeline_rssl::{Connection, ServerConfig};
use tapeline_time::Time;

use crate::link::Link;
use crate::live::{Live, Origin};
use crate::strangers::{Stranger, network};
use crate::stream::Stream;
use crate::system::{Socket, System};
use crate::table::{ListenRules, Notice, Occupant, Table};
use crate::tls::TlsStream;
use crate::{
    Admission, ChannelError, CloseReason, ListenConfig, ListenerId, SessionId, SessionOptions,
};

/// How long accepting rests after it failed for want of something.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The words of the connect nak.
pub(crate) const REFUSAL: &str = "Too many connections. Try again later, or another server.";

pub(crate) struct Listener<S: System> {
    id: ListenerId,
    socket: S::Listener,
    address: SocketAddr,
    config: ListenConfig,
    /// What a client over the number is answered.
    refusal: ServerConfig,
    /// What a client gets before it is admitted.
    strangers: (ServerConfig, SessionOptions),
    /// Connections may wait.
    pub(crate) is_ready: bool,
    /// Accepting rests until then, or until there is room for strangers.
    retry_at: Option<Time>,
    awaits_room: bool,
}

/// What a listener has for those who connect.
struct Grants {
    config: ListenConfig,
    refusal: ServerConfig,
    strangers: (ServerConfig, SessionOptions),
}

impl Grants {
    fn of(config: &ListenConfig) -> Result<Self, ChannelError> {
        config.session.output.check()?;
        let mut config = config.clone();
        let limits = &mut config.rssl.limits;
        limits.output_bytes = config.session.output.connection_bytes(limits.send_bytes);
        let texts = config.text.iter().flat_map(|text| text.subprotocols.iter().cloned());
        config.rssl.other_subprotocols.extend(texts);
        let plain = config.pages.as_ref().map(|_| PLAIN_HTTP.to_owned());
        config.rssl.other_subprotocols.extend(plain);
        Connection::server(&config.rssl, 0, Time::ZERO)?;
        let mut refusal = config.rssl.clone();
        refusal.refusal.get_or_insert_with(|| REFUSAL.to_owned());
        let mut strangers = (config.rssl.clone(), config.session);
        if config.admission == Admission::Program {
            strangers.0.limits = config.strangers.rssl(&config.rssl.limits);
            strangers.1 = config.strangers.session(&config.session);
        }
        Ok(Self { config, refusal, strangers })
    }
}

impl<S: System> Listener<S> {
    pub(crate) fn new(
        system: &mut S,
        (id, token): (ListenerId, usize),
        address: SocketAddr,
        config: &ListenConfig,
    ) -> Result<Self, ChannelError> {
        let Grants { config, refusal, strangers } = Grants::of(config)?;
        let failed = |error| ChannelError::Listen { address, error };
        let (socket, address) = system.listen(address, &config, token).map_err(failed)?;
        Ok(Self {
            id,
            socket,
            address,
            config,
            refusal,
            strangers,
            is_ready: true,
            retry_at: None,
            awaits_room: false,
        })
    }

    /// Has other settings for those who connect from now on.
    ///
    /// Errors: they cannot be; the settings before stay.
    pub(crate) fn grant(&mut self, config: &ListenConfig) -> Result<(), ChannelError> {
        let Grants { config, refusal, strangers } = Grants::of(config)?;
        (self.config, self.refusal, self.strangers) = (config, refusal, strangers);
        // There may be room now.
        self.is_ready = true;
        Ok(())
    }

    /// What it has for its clients.
    pub(crate) fn rules(&self) -> ListenRules {
        let config = &self.config;
        ListenRules {
            text: config.text.clone(),
            pages: config.pages.clone(),
            admission: config.admission,
            max_sessions: config.max_sessions,
            strangers: config.strangers,
            session: config.session,
            limits: config.rssl.limits.clone(),
        }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// When to try again after a failure.
    pub(crate) const fn retry_at(&self) -> Option<Time> {
        self.retry_at
    }

    /// Accepts up to `most` connections, with descriptors below `max_descriptor`;
    /// their number.
    pub(crate) fn accept(
        &mut self,
        table: &mut Table<S>,
        system: &mut S,
        (most, max_descriptor): (usize, Option<u32>),
        mut seed: impl FnMut() -> u64,
    ) -> usize {
        let has_room = self.awaits_room && self.has_room(table);
        if self.retry_at.take_if(|at| has_room || *at <= table.now).is_some() {
            self.awaits_room = false;
            self.is_ready = true;
        }
        let mut count = 0;
        while self.is_ready && count < most && self.can_take(table) {
            match system.accept(&mut self.socket) {
                Ok((socket, peer)) => {
                    count += 1;
                    table.counters.accepted += 1;
                    let socket = match max_descriptor {
                        Some(max) if !socket.is_below(max) => {
                            self.renumber(table, socket, peer, max)
                        }
                        _ => Some(socket),
                    };
                    if let Some(socket) = socket {
                        self.receive(table, system, socket, peer, seed());
                    }
                }
                Err(error) => self.accept_failed(&error, table),
            }
        }
        count
    }

    fn has_room(&self, table: &Table<S>) -> bool {
        let strangers = &table.occupancy[self.id.index()].strangers;
        strangers.len() < self.config.strangers.max_connections.max(1)
    }

    /// Whether there is room for one more stranger, or one who has been there
    /// long enough to give way. Otherwise accepting rests.
    fn can_take(&mut self, table: &Table<S>) -> bool {
        if self.has_room(table) {
            return true;
        }
        let strangers = &table.occupancy[self.id.index()].strangers;
        let Some((since, _)) = strangers.oldest_of_most() else { return true };
        let may_leave_at = since.after(self.config.strangers.min_stay());
        let can_take = may_leave_at <= table.now;
        if !can_take {
            self.is_ready = false;
            self.awaits_room = true;
            self.retry_at = Some(may_leave_at);
        }
        can_take
    }

    /// Makes room for one more stranger: the oldest of its own address gives
    /// way if that has too many, otherwise the oldest of the address with most.
    fn make_room(&self, table: &mut Table<S>, peer: SocketAddr) {
        let strangers = &table.occupancy[self.id.index()].strangers;
        let network = network(peer);
        if strangers.of(network) >= self.config.strangers.max_per_address.max(1) {
            self.evict(table, strangers.oldest_of(network));
        }
        if !self.has_room(table) {
            let strangers = &table.occupancy[self.id.index()].strangers;
            self.evict(table, strangers.oldest_of_most());
        }
    }

    /// Closes a stranger who has been there long enough.
    fn evict(&self, table: &mut Table<S>, stranger: Option<Stranger>) {
        if let Some((since, session)) = stranger
            && since.after(self.config.strangers.min_stay()) <= table.now
        {
            table.evict(self.id, session);
        }
    }

    /// The descriptors that are left are for connections to others. A client
    /// takes that of a stranger who has been there long enough; without one, it
    /// is dropped.
    fn renumber(
        &self,
        table: &mut Table<S>,
        socket: S::Socket,
        peer: SocketAddr,
        max: u32,
    ) -> Option<S::Socket> {
        let strangers = &table.occupancy[self.id.index()].strangers;
        self.evict(table, strangers.oldest_of_most());
        let renumbered = socket.renumbered().ok().filter(|socket| socket.is_below(max));
        if renumbered.is_none() {
            table.counters.no_descriptors += 1;
            let reason = CloseReason::NoDescriptors { max };
            table.notices.push_back(Notice::Rejected(self.id, peer, reason));
        }
        renumbered
    }

    fn accept_failed(&mut self, error: &io::Error, table: &mut Table<S>) {
        match error.kind() {
            io::ErrorKind::WouldBlock => self.is_ready = false,
            // The client gave up, or a signal came.
            io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted => {}
            _ => {
                // No more files, or no memory. The connection still waits, but
                // its edge is over.
                self.is_ready = false;
                self.retry_at = Some(table.now.after(ACCEPT_RETRY));
                table.counters.accept_errors += 1;
                table.notices.push_back(Notice::AcceptFailed(self.id, error.to_string()));
            }
        }
    }

    /// A connection that was accepted becomes a session, or is refused.
    fn receive(
        &mut self,
        table: &mut Table<S>,
        system: &mut S,
        socket: S::Socket,
        peer: SocketAddr,
        seed: u64,
    ) {
        self.make_room(table, peer);
        let occupancy = &table.occupancy[self.id.index()];
        let origin = if occupancy.sessions < self.config.max_sessions {
            Origin::Listener(self.id)
        } else if occupancy.refusals < self.config.max_refusals {
            table.counters.refused += 1;
            Origin::Refused(self.id)
        } else {
            table.counters.dropped += 1;
            let max_sessions = self.config.max_sessions;
            let reason = CloseReason::TooManySessions { max_sessions };
            table.notices.push_back(Notice::Rejected(self.id, peer, reason));
            return;
        };
        let is_refused = matches!(origin, Origin::Refused(_));
        match self.start(table, system, socket, (is_refused, seed)) {
            Ok((id, stream, connection)) => {
                let (rssl, session) = &self.strangers;
                let sizes = (*session, rssl.limits.send_bytes);
                let mut live = Live::new(id, stream, Link::Rssl(connection), peer, origin, sizes);
                table.enter(&mut live);
                table.settle(Box::new(live));
            }
            Err(error) => {
                let reason = CloseReason::socket("setting up", &error);
                table.notices.push_back(Notice::Rejected(self.id, peer, reason));
            }
        }
    }

    /// Makes what a session consists of.
    fn start(
        &self,
        table: &mut Table<S>,
        system: &mut S,
        socket: S::Socket,
        (is_refused, seed): (bool, u64),
    ) -> io::Result<(SessionId, Stream<S::Socket>, Connection)> {
        let config = if is_refused { &self.refusal } else { &self.strangers.0 };
        let connection = Connection::server(config, seed, table.now).map_err(io::Error::other)?;
        let mut stream = match &self.config.tls {
            Some(tls) => Stream::Tls(TlsStream::server(socket, tls)?),
            None => Stream::Tcp(socket),
        };
        let id = table.insert(|_| Occupant::Out);
        let options = &self.config.session.socket;
        match system.register(stream.socket(), options, id.index as usize) {
            Ok(()) => Ok((id, stream, connection)),
            Err(error) => {
                table.free(id);
                Err(error)
            }
        }
    }
}
