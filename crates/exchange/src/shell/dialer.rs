//! The link to who leads a market, of a process that is not the market: markets are
//! dialled one after the other until one of them leads.
//!
//! What is said on it is the core's to say.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Interest, Token};
use tapeline_time::Time;

use super::doors::{self, Core, Doors, READ_BYTES, READS};
use super::outbox::Connection;

const LINK: Token = Token(usize::MAX);

/// After so long the next market is dialled.
const REDIAL: Duration = Duration::from_millis(20);

/// A market that does not answer has so long.
const DIALLED: Duration = Duration::from_millis(500);

/// The connection to a market.
#[derive(Debug)]
pub(super) struct Dialled {
    connection: Connection,
    is_up: bool,
    since: Time,
}

impl Dialled {
    /// Bytes go to the market.
    pub(super) fn queue(&mut self, bytes: &[u8]) {
        self.connection.queue(bytes);
    }
}

/// Who has such a link.
pub(super) trait Linked: Core {
    /// Where the link is among what its outputs go to.
    fn link(sockets: &mut Self::Sockets) -> &mut Option<Dialled>;

    /// There is a connection to a market, which may lead or not.
    fn link_up(&mut self, now: Time, sockets: &mut Self::Sockets);

    /// Bytes of the market have come. Returns whether the link is of use.
    fn link_received(&mut self, now: Time, bytes: &[u8], sockets: &mut Self::Sockets) -> bool;

    /// It is gone.
    fn link_lost(&mut self, now: Time, sockets: &mut Self::Sockets);

    /// Whether a link is there on which nothing comes any more.
    fn is_link_silent(&self, now: Time) -> bool;
}

/// Dials, reads and writes.
#[derive(Debug)]
pub(super) struct Dialer {
    markets: Vec<SocketAddr>,
    /// The market that is dialled next, and when one was dialled last.
    next_market: usize,
    dialled: Option<Time>,
    /// The link has more to read than one turn takes.
    has_more: bool,
    buffer: Box<[u8]>,
}

impl Dialer {
    pub(super) fn new(markets: &[SocketAddr]) -> Self {
        let (markets, buffer) = (markets.to_vec(), vec![0; READ_BYTES].into());
        Self { markets, next_market: 0, dialled: None, has_more: false, buffer }
    }

    /// How long a turn may wait, if it may wait for so long.
    pub(super) const fn most(&self, most: Duration) -> Duration {
        if self.has_more { Duration::ZERO } else { most }
    }

    /// Dials who may lead, and reads what it says.
    pub(super) fn look<C: Linked>(
        &mut self,
        now: Time,
        doors: &Doors,
        core: &mut C,
        sockets: &mut C::Sockets,
    ) {
        let Some(link) = C::link(sockets) else {
            *C::link(sockets) = self.dial(now, doors);
            return;
        };
        if !link.is_up {
            match link.connection.is_connected() {
                Ok(true) => {
                    link.is_up = true;
                    self.has_more = true;
                    core.link_up(now, sockets);
                }
                Ok(false) if now.since(link.since) < DIALLED => return,
                Ok(false) | Err(_) => return *C::link(sockets) = None,
            }
        }
        let came = doors.came_at(LINK);
        if came.is_some() || self.has_more {
            self.read(now, came == Some(true), core, sockets);
        }
        if core.is_link_silent(now) {
            tracing::warn!("nothing comes from the market any more");
            self.hang_up(now, core, sockets);
        }
    }

    fn read<C: Linked>(
        &mut self,
        now: Time,
        is_ending: bool,
        core: &mut C,
        sockets: &mut C::Sockets,
    ) {
        self.has_more = true;
        for _ in 0..READS {
            let Some(link) = C::link(sockets) else { return self.has_more = false };
            match link.connection.read(&mut self.buffer) {
                Ok(0) => return self.hang_up(now, core, sockets),
                Ok(len) => {
                    if !core.link_received(now, &self.buffer[..len], sockets) {
                        return self.hang_up(now, core, sockets);
                    }
                    if doors::is_all(len, is_ending) {
                        return self.has_more = false;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return self.has_more = false;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.hang_up(now, core, sockets),
            }
        }
    }

    fn hang_up<C: Linked>(&mut self, now: Time, core: &mut C, sockets: &mut C::Sockets) {
        self.has_more = false;
        *C::link(sockets) = None;
        core.link_lost(now, sockets);
    }

    fn dial(&mut self, now: Time, doors: &Doors) -> Option<Dialled> {
        if self.dialled.is_some_and(|dialled| now.since(dialled) < REDIAL) {
            return None;
        }
        self.dialled = Some(now);
        let address = *self.markets.get(self.next_market % self.markets.len().max(1))?;
        self.next_market += 1;
        let mut stream = TcpStream::connect(address).ok()?;
        let interest = Interest::READABLE | Interest::WRITABLE;
        doors.registry().register(&mut stream, LINK, interest).ok()?;
        Some(Dialled { connection: Connection::new(stream), is_up: false, since: now })
    }

    /// Writes what the socket takes.
    pub(super) fn flush<C: Linked>(&mut self, now: Time, core: &mut C, sockets: &mut C::Sockets) {
        if let Some(link) = C::link(sockets).as_mut().filter(|link| link.is_up)
            && link.connection.flush().is_err()
        {
            self.hang_up(now, core, sockets);
        }
    }
}
