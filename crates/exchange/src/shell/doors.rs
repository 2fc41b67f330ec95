//! The loop over sockets that a market and a gateway have in common: doors at which
//! connections come, what they say, and what goes out to them.
//!
//! What anything means is the [`Core`]'s to say.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Registry, Token};
use tapeline_time::Time;

use super::outbox::{Connection, Leaving};
use crate::core::{Door, SessionId};
use crate::error::ExchangeError;

/// Bytes that one read takes at most.
pub(super) const READ_BYTES: usize = 16 << 10;

/// Reads of one connection in one turn.
pub(super) const READS: usize = 4;

/// Connections that one turn accepts at each door.
const ACCEPTS: usize = 64;

/// Who decides what becomes of connections and their bytes.
pub(super) trait Core {
    /// What its outputs go to.
    type Sockets;

    /// Where connections are among these.
    fn connections(sockets: &mut Self::Sockets) -> &mut Connections;

    /// A connection has come. `None`: there are too many.
    fn accepted(&mut self, now: Time, door: Door) -> Option<SessionId>;

    /// Bytes have come.
    fn received(
        &mut self,
        now: Time,
        session: SessionId,
        bytes: &[u8],
        sockets: &mut Self::Sockets,
    );

    /// A connection has ended.
    fn closed(&mut self, now: Time, session: SessionId, sockets: &mut Self::Sockets);

    /// When [`end_turn`](Self::end_turn) is to come at the latest.
    fn deadline(&self) -> Time;

    /// All that came is there, and time has passed.
    fn end_turn(&mut self, now: Time, sockets: &mut Self::Sockets);

    /// Whether connections are to wait in their sockets.
    fn is_backed_up(&self) -> bool {
        false
    }
}

/// The connections, by their places.
#[derive(Debug)]
pub(super) struct Connections {
    all: Vec<Option<Connection>>,
    /// Those that have something to write, so that a turn does not look at all.
    to_write: Vec<SessionId>,
    leaving: Vec<Leaving>,
    pub(super) now: Time,
}

impl Connections {
    /// Room for so many.
    pub(super) fn new(most: usize, now: Time) -> Self {
        let all = (0..most).map(|_| None).collect();
        Self { all, to_write: Vec::with_capacity(64), leaving: Vec::new(), now }
    }

    pub(super) fn get(&self, session: SessionId) -> Option<&Connection> {
        self.all.get(session.0 as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, session: SessionId) -> Option<&mut Connection> {
        self.all.get_mut(session.0 as usize)?.as_mut()
    }

    /// Bytes go out to one.
    pub(super) fn queue(&mut self, session: SessionId, bytes: &[u8]) {
        self.write_to(session, |connection| connection.queue(bytes));
    }

    /// Something for a client of a gateway goes out by its link.
    pub(super) fn queue_report(&mut self, link: SessionId, client: u32, bytes: &[u8]) {
        self.write_to(link, |connection| connection.queue_report(client, bytes));
    }

    fn write_to(&mut self, session: SessionId, write: impl FnOnce(&mut Connection)) {
        if let Some(connection) = self.get_mut(session) {
            write(connection);
            if connection.list() {
                self.to_write.push(session);
            }
        }
    }

    /// Somebody is at a place from now on, or nobody.
    pub(super) fn set(&mut self, session: SessionId, connection: Option<Connection>) {
        if let Some(place) = self.all.get_mut(session.0 as usize) {
            *place = connection;
        }
    }

    /// One is closed when what was sent is out.
    pub(super) fn close(&mut self, session: SessionId) {
        let connection = self.all.get_mut(session.0 as usize).and_then(Option::take);
        self.leaving.extend(connection.and_then(|connection| connection.leave(self.now)));
    }

    /// All are.
    pub(super) fn close_all(&mut self) {
        for place in 0..self.all.len() {
            self.close(SessionId(place as u32));
        }
    }
}

/// The doors, and what is read from who came through them.
#[derive(Debug)]
pub(super) struct Doors {
    poll: Poll,
    events: Events,
    all: Vec<(Door, TcpListener, SocketAddr)>,
    /// Connections with more to read than one turn takes, and whether to their end.
    unread: Vec<(SessionId, bool)>,
    buffer: Box<[u8]>,
    /// So long behind something that came it polls without waiting.
    busy_poll: Duration,
    /// When something came last.
    came: Option<Time>,
}

impl Doors {
    pub(super) fn new(busy_poll: Duration) -> Result<Self, ExchangeError> {
        Ok(Self {
            poll: Poll::new().map_err(ExchangeError::Poll)?,
            events: Events::with_capacity(256),
            all: Vec::new(),
            unread: Vec::with_capacity(16),
            buffer: vec![0; READ_BYTES].into(),
            busy_poll,
            came: None,
        })
    }

    /// For sockets that are nobody's who came: their tokens are from the other end.
    pub(super) fn registry(&self) -> &Registry {
        self.poll.registry()
    }

    /// Listens at one more.
    pub(super) fn listen(&mut self, door: Door, address: SocketAddr) -> Result<(), ExchangeError> {
        let failed = |error| ExchangeError::Listen { what: door.name(), at: address, error };
        let mut listener = TcpListener::bind(address).map_err(failed)?;
        let bound = listener.local_addr().map_err(failed)?;
        let token = Token(self.all.len());
        self.registry().register(&mut listener, token, Interest::READABLE).map_err(failed)?;
        self.all.push((door, listener, bound));
        Ok(())
    }

    /// What listens where.
    pub(super) fn listening(&self) -> impl Iterator<Item = (Door, SocketAddr)> {
        self.all.iter().map(|(door, _, address)| (*door, *address))
    }

    /// Waits for something to come.
    pub(super) fn poll(&mut self, most: Duration) -> io::Result<()> {
        self.poll.poll(&mut self.events, Some(most)).or_else(|error| match error.kind() {
            ErrorKind::Interrupted => Ok(()),
            _ => Err(error),
        })
    }

    /// The same, but not past what is due, and not while there is more to read or it
    /// polls.
    pub(super) fn wait(&mut self, now: Time, most: Duration, core: &impl Core) {
        let has_more = !self.unread.is_empty() && !core.is_backed_up();
        let is_polling = self.came.is_some_and(|came| now.since(came) < self.busy_poll);
        let most = if has_more || is_polling { Duration::ZERO } else { most };
        if let Err(error) = self.poll(most.min(core.deadline().since(now))) {
            tracing::error!(%error, "the system tells of no more sockets");
        }
        if is_polling && self.events.is_empty() {
            // With fewer cores than processes, what is polled for may wait for this one.
            thread::yield_now();
        }
    }

    /// Whether something came at a socket that is nobody's who came through a door, and
    /// whether that is its end.
    pub(super) fn came_at(&self, token: Token) -> Option<bool> {
        let mut events = self.events.iter().filter(|event| event.token() == token);
        events.next().map(|event| event.is_read_closed() || event.is_error())
    }

    /// Takes what has come.
    pub(super) fn serve<C: Core>(&mut self, now: Time, core: &mut C, sockets: &mut C::Sockets) {
        if !self.events.is_empty() {
            self.came = Some(now);
        }
        let mut ready = std::mem::take(&mut self.unread);
        let mut knocked = [false; Door::ALL.len()];
        let places = C::connections(sockets).all.len();
        for event in &self.events {
            match event.token().0.checked_sub(Door::ALL.len()) {
                None => knocked[event.token().0] = true,
                Some(place)
                    if place < places && (event.is_readable() || event.is_read_closed()) =>
                {
                    ready.push((SessionId(place as u32), event.is_read_closed()));
                }
                Some(_) => {}
            }
        }
        for (at, _) in knocked.iter().enumerate().filter(|(_, knocked)| **knocked) {
            self.accept(now, at, core, sockets);
        }
        match core.is_backed_up() {
            true => std::mem::swap(&mut self.unread, &mut ready),
            false => ready.drain(..).for_each(|it| self.read(now, it, core, sockets)),
        }
        if self.unread.is_empty() {
            self.unread = ready;
        }
        core.end_turn(now, sockets);
    }

    fn accept<C: Core>(&mut self, now: Time, at: usize, core: &mut C, sockets: &mut C::Sockets) {
        for _ in 0..ACCEPTS {
            let (door, listener, _) = &self.all[at];
            let (stream, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) => {
                    tracing::warn!(%error, door = door.name(), "a connection was not accepted");
                    return;
                }
            };
            if let Err(error) = self.seat(now, *door, (stream, peer), core, sockets) {
                tracing::warn!(%error, %peer, "a connection was not accepted");
            }
        }
        // There may be more, of which nobody tells again.
        let (_, listener, _) = &mut self.all[at];
        let _ = self.poll.registry().reregister(listener, Token(at), Interest::READABLE);
    }

    fn seat<C: Core>(
        &self,
        now: Time,
        door: Door,
        (mut stream, peer): (TcpStream, SocketAddr),
        core: &mut C,
        sockets: &mut C::Sockets,
    ) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let Some(session) = core.accepted(now, door) else {
            tracing::warn!(%peer, door = door.name(), "turned away: too many connections");
            return Ok(());
        };
        let token = Token(Door::ALL.len() + session.0 as usize);
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = self.registry().register(&mut stream, token, interest) {
            core.closed(now, session, sockets);
            return Err(error);
        }
        tracing::debug!(%peer, door = door.name(), "connected");
        C::connections(sockets).set(session, Some(Connection::new(stream)));
        Ok(())
    }

    fn read<C: Core>(
        &mut self,
        now: Time,
        (session, is_ending): (SessionId, bool),
        core: &mut C,
        sockets: &mut C::Sockets,
    ) {
        for _ in 0..READS {
            let Some(connection) = C::connections(sockets).get_mut(session) else { return };
            match connection.read(&mut self.buffer) {
                Ok(0) => return lose(now, session, core, sockets),
                Ok(len) => {
                    core.received(now, session, &self.buffer[..len], sockets);
                    if is_all(len, is_ending) {
                        return;
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return lose(now, session, core, sockets),
            }
        }
        if !self.unread.iter().any(|(other, _)| *other == session) {
            self.unread.push((session, is_ending));
        }
    }
}

/// Whether a read has taken all there was: what comes later is told of again. The end
/// of a connection is not, once that was told.
pub(super) const fn is_all(len: usize, is_ending: bool) -> bool {
    len < READ_BYTES && !is_ending
}

fn lose<C: Core>(now: Time, session: SessionId, core: &mut C, sockets: &mut C::Sockets) {
    C::connections(sockets).set(session, None);
    core.closed(now, session, sockets);
}

/// Writes what the sockets take.
pub(super) fn flush<C: Core>(now: Time, core: &mut C, sockets: &mut C::Sockets) {
    let mut to_write = std::mem::take(&mut C::connections(sockets).to_write);
    to_write.retain(|session| {
        let Some(connection) = C::connections(sockets).get_mut(*session) else { return false };
        if connection.flush().is_err() {
            lose(now, *session, core, sockets);
            return false;
        }
        if connection.queued() == 0 {
            connection.strike();
            return false;
        }
        true
    });
    // Whoever was lost may have made others write.
    let connections = C::connections(sockets);
    to_write.append(&mut connections.to_write);
    connections.to_write = to_write;
    C::connections(sockets).leaving.retain_mut(|leaving| leaving.stays(now));
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::Ipv4Addr;
    use std::time::Instant;

    use super::*;

    /// Whoever notes what comes.
    #[derive(Default)]
    struct Noted {
        bytes: Vec<u8>,
        comers: u32,
        is_closed: bool,
    }

    impl Core for Noted {
        type Sockets = Connections;

        fn connections(sockets: &mut Connections) -> &mut Connections {
            sockets
        }

        fn accepted(&mut self, _: Time, _: Door) -> Option<SessionId> {
            self.comers += 1;
            Some(SessionId(self.comers - 1))
        }

        fn received(&mut self, _: Time, _: SessionId, bytes: &[u8], _: &mut Connections) {
            self.bytes.extend_from_slice(bytes);
        }

        fn closed(&mut self, _: Time, _: SessionId, _: &mut Connections) {
            self.is_closed = true;
        }

        fn deadline(&self) -> Time {
            Time::ZERO.after(Duration::from_secs(3600))
        }

        fn end_turn(&mut self, _: Time, _: &mut Connections) {}
    }

    #[test]
    fn who_says_something_and_goes_at_once_is_heard_and_gone() {
        let mut doors = Doors::new(Duration::ZERO).expect("a poll");
        doors.listen(Door::Orders, (Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
        let (_, at) = doors.listening().next().expect("a door");
        let (mut core, mut sockets) = (Noted::default(), Connections::new(1, Time::ZERO));
        let begun = Instant::now();
        let mut until = |is_so: fn(&Noted) -> bool| {
            while !is_so(&core) {
                assert!(begun.elapsed() < Duration::from_secs(30), "it does not come to that");
                doors.wait(Time::ZERO, Duration::from_millis(10), &core);
                doors.serve(Time::ZERO, &mut core, &mut sockets);
            }
        };
        let mut client = std::net::TcpStream::connect(at).expect("it listens");
        until(|core| core.comers == 1);
        // Its bytes and its end are there together, and are told of once.
        client.write_all(b"bye").expect("it reads");
        drop(client);
        until(|core| core.is_closed);
        assert_eq!(core.bytes, b"bye");
    }

    #[test]
    fn who_polls_does_not_wait_for_a_while_behind_something_that_came() {
        const WHILE: Duration = Duration::from_secs(60);
        let mut doors = Doors::new(WHILE).expect("a poll");
        doors.listen(Door::Orders, (Ipv4Addr::LOCALHOST, 0).into()).expect("a port");
        let (_, at) = doors.listening().next().expect("a door");
        let (mut core, mut sockets) = (Noted::default(), Connections::new(1, Time::ZERO));
        let waited = |doors: &mut Doors, now, most| {
            let begun = Instant::now();
            doors.wait(now, most, &Noted::default());
            begun.elapsed()
        };
        let short = Duration::from_millis(20);
        assert!(waited(&mut doors, Time::ZERO, short) >= short, "nothing has come yet");
        let _client = std::net::TcpStream::connect(at).expect("it listens");
        while core.comers == 0 {
            doors.wait(Time::ZERO, WHILE, &core);
            doors.serve(Time::ZERO, &mut core, &mut sockets);
        }
        let soon = Time::ZERO.after(WHILE / 2);
        assert!(waited(&mut doors, soon, WHILE) < WHILE / 2, "it polls");
        assert!(waited(&mut doors, Time::ZERO.after(WHILE), short) >= short, "the while is over");
    }
}
