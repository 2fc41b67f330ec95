//! A listening socket and the connections it accepts.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Registry, Token};
use tapeline_rssl::websocket::PLAIN_HTTP;
use tapeline_rssl::{Connection, ServerConfig, Time};

use crate::link::Link;
use crate::live::{Live, Origin};
use crate::stream::Stream;
use crate::table::{Notice, Place, Table};
use crate::tcp::TcpSocket;
use crate::tls::TlsStream;
use crate::{ChannelError, CloseReason, ListenConfig, ListenerId, SessionId, socket};

/// How long accepting rests after it failed for want of something.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// The words of the connect nak.
pub(crate) const REFUSAL: &str = "Too many connections. Try again later, or another server.";

pub(crate) struct Listener {
    id: ListenerId,
    socket: TcpListener,
    address: SocketAddr,
    config: ListenConfig,
    /// What a client over the number is answered.
    refusal: ServerConfig,
    /// Connections may wait.
    pub(crate) is_ready: bool,
    retry_at: Option<Time>,
}

impl Listener {
    pub(crate) fn new(
        id: ListenerId,
        address: SocketAddr,
        config: &ListenConfig,
    ) -> Result<Self, ChannelError> {
        config.session.output.check()?;
        let mut config = config.clone();
        config.rssl.limits.output_bytes = config.session.output.connection_bytes();
        let texts = config.text.iter().flat_map(|text| text.subprotocols.iter().cloned());
        config.rssl.other_subprotocols.extend(texts);
        let plain = config.pages.as_ref().map(|_| PLAIN_HTTP.to_owned());
        config.rssl.other_subprotocols.extend(plain);
        Connection::server(&config.rssl, 0, Time::ZERO)?;
        let failed = |error| ChannelError::Listen { address, error };
        let socket = socket::listen(address, &config).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let mut refusal = config.rssl.clone();
        refusal.refusal.get_or_insert_with(|| REFUSAL.to_owned());
        Ok(Self { id, socket, address, config, refusal, is_ready: true, retry_at: None })
    }

    pub(crate) fn register(&mut self, registry: &Registry, token: Token) -> io::Result<()> {
        registry.register(&mut self.socket, token, mio::Interest::READABLE)
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    /// When to try again after a failure.
    pub(crate) const fn retry_at(&self) -> Option<Time> {
        self.retry_at
    }

    /// Accepts up to `most` connections; their number.
    pub(crate) fn accept(
        &mut self,
        table: &mut Table,
        registry: &Registry,
        most: usize,
        mut seed: impl FnMut() -> u64,
    ) -> usize {
        if self.retry_at.take_if(|at| *at <= table.now).is_some() {
            self.is_ready = true;
        }
        let mut count = 0;
        while self.is_ready && count < most {
            match self.socket.accept() {
                Ok((stream, peer)) => {
                    count += 1;
                    self.admit(table, registry, stream, peer, seed());
                }
                Err(error) => self.accept_failed(&error, table),
            }
        }
        count
    }

    fn accept_failed(&mut self, error: &io::Error, table: &mut Table) {
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
            }
        }
    }

    fn admit(
        &mut self,
        table: &mut Table,
        registry: &Registry,
        stream: mio::net::TcpStream,
        peer: SocketAddr,
        seed: u64,
    ) {
        table.counters.accepted += 1;
        let occupancy = &mut table.occupancy[self.id.index()];
        let origin = if occupancy.sessions < self.config.max_sessions {
            occupancy.sessions += 1;
            Origin::Listener(self.id)
        } else if occupancy.refusals < self.config.max_refusals {
            occupancy.refusals += 1;
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
        match self.start(table, registry, stream, (is_refused, seed)) {
            Ok((id, stream, connection)) => {
                let sizes = (self.config.session, self.config.rssl.limits.message_bytes);
                let live = Live::new(id, stream, Link::Rssl(connection), peer, origin, sizes);
                table.settle(Box::new(live));
            }
            Err(error) => {
                table.leave(&origin);
                let reason = CloseReason::socket("setting up", &error);
                table.notices.push_back(Notice::Rejected(self.id, peer, reason));
            }
        }
    }

    /// Makes what a session consists of.
    fn start(
        &self,
        table: &mut Table,
        registry: &Registry,
        stream: mio::net::TcpStream,
        (is_refused, seed): (bool, u64),
    ) -> io::Result<(SessionId, Stream, Connection)> {
        let config = if is_refused { &self.refusal } else { &self.config.rssl };
        let connection = Connection::server(config, seed, table.now).map_err(io::Error::other)?;
        socket::set_accepted(&stream, &self.config.session.socket)?;
        let mut stream = match &self.config.tls {
            Some(tls) => Stream::Tls(TlsStream::new(stream, tls)?),
            None => Stream::Tcp(TcpSocket::new(stream)),
        };
        let id = table.insert(|_| Place::Out);
        match stream.register(registry, Token(id.index as usize)) {
            Ok(()) => Ok((id, stream, connection)),
            Err(error) => {
                table.free(id);
                Err(error)
            }
        }
    }
}
