//! All that is in a simulated network, and what happens there.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::io::{self, ErrorKind, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;

use tapeline_time::Time;

use super::Tape;
use super::pipe::{Content, Found, Pipe};
use crate::system::{Answer, Readiness};
use crate::timers::NEVER;

/// Bytes that a direction of a connection holds unless told otherwise.
const WINDOW_BYTES: usize = 256 * 1024;

/// The first port that is given to who asks for none.
const FIRST_PORT: u16 = 49_152;

pub(super) type HostId = u64;
pub(super) type ConnectionId = u64;

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Client,
    Server,
}

use Side::{Client, Server};

impl Side {
    const fn other(self) -> Self {
        match self {
            Client => Server,
            Server => Client,
        }
    }
}

/// How it is on the way to an address, and back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Path {
    pub(super) delay: Option<Duration>,
    pub(super) bytes_per_s: Option<u64>,
    pub(super) window_bytes: Option<usize>,
    pub(super) is_refusing: bool,
    pub(super) is_cut: bool,
}

/// What waits for the sockets of one reactor, by the time of its arrival.
#[derive(Debug, Default)]
struct Inbox {
    news: BTreeMap<(Time, u64), (Target, Readiness)>,
    answers: BTreeMap<(Time, u64), Answer>,
}

#[derive(Clone, Copy, Debug)]
enum Target {
    Listener(SocketAddr),
    End(ConnectionId, Side),
}

/// A listening socket.
#[derive(Debug)]
struct Listener {
    host: HostId,
    token: usize,
    backlog: usize,
    queue: VecDeque<(Time, ConnectionId)>,
}

#[derive(Debug)]
struct End {
    host: Option<HostId>,
    token: Option<usize>,
    is_closed: bool,
}

#[derive(Debug)]
struct Connection {
    client: SocketAddr,
    server: SocketAddr,
    ends: [End; 2],
    /// What the client writes, and what the server does.
    pipes: [Pipe; 2],
    /// When the client hears how it went; `None`: it is not decided.
    outcome: Option<(Time, bool)>,
    tape: Option<usize>,
}

impl Connection {
    /// What a side writes to.
    const fn outgoing(&mut self, side: Side) -> &mut Pipe {
        &mut self.pipes[side as usize]
    }

    /// What a side reads from.
    const fn incoming(&mut self, side: Side) -> &mut Pipe {
        &mut self.pipes[side.other() as usize]
    }

    /// Whether it was reset, as far as a side knows.
    fn is_reset(&mut self, side: Side, now: Time) -> bool {
        self.incoming(side).arrive(now);
        self.pipes.iter().any(Pipe::is_reset)
    }
}

/// How far a turn is, if anybody says so.
#[derive(Clone, Default)]
pub(super) struct InTurn(pub(super) Option<Rc<dyn Fn() -> Duration>>);

impl InTurn {
    /// So much later.
    pub(super) fn after(&self, now: Time) -> Time {
        self.0.as_ref().map_or(now, |so_far| now.after(so_far()))
    }
}

impl fmt::Debug for InTurn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "InTurn(told)" } else { "InTurn(none)" })
    }
}

#[derive(Debug)]
pub(super) struct World {
    pub(super) now: Time,
    /// What passes when somebody looks at a clock.
    pub(super) look_at_clock: Duration,
    /// How far whoever works is in its turn.
    pub(super) time_in_turn: InTurn,
    random: u64,
    pub(super) jitter: Duration,
    pub(super) segment_bytes: usize,
    /// Holds where an address has nothing of its own.
    pub(super) usual: Path,
    paths: BTreeMap<SocketAddr, Path>,
    pub(super) names: BTreeMap<String, Vec<IpAddr>>,
    pub(super) is_recording: bool,
    pub(super) tapes: Vec<Tape>,
    hosts: BTreeMap<HostId, Inbox>,
    listeners: BTreeMap<SocketAddr, Listener>,
    connections: BTreeMap<ConnectionId, Connection>,
    last_port: u16,
    /// Numbers hosts and connections, and gives what arrives at the same time
    /// the order of its sending.
    serial: u64,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            now: Time::ZERO,
            look_at_clock: Duration::ZERO,
            time_in_turn: InTurn::default(),
            random: seed,
            jitter: Duration::ZERO,
            segment_bytes: usize::MAX,
            usual: Path::default(),
            paths: BTreeMap::new(),
            names: BTreeMap::new(),
            is_recording: false,
            tapes: Vec::new(),
            hosts: BTreeMap::new(),
            listeners: BTreeMap::new(),
            connections: BTreeMap::new(),
            last_port: FIRST_PORT - 1,
            serial: 0,
        }
    }

    pub(super) fn path(&mut self, to: SocketAddr) -> &mut Path {
        self.paths.entry(to).or_default()
    }

    fn path_to(&self, to: SocketAddr) -> Path {
        let own = self.paths.get(&to).copied().unwrap_or_default();
        Path { delay: own.delay.or(self.usual.delay), ..own }
    }

    fn serial(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// The next number of `SplitMix64`, below `bound`.
    fn chance(&mut self, bound: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn free_port(&mut self, ip: IpAddr) -> u16 {
        loop {
            self.last_port = self.last_port.checked_add(1).unwrap_or(FIRST_PORT);
            if !self.listeners.contains_key(&SocketAddr::new(ip, self.last_port)) {
                return self.last_port;
            }
        }
    }

    pub(super) fn add_host(&mut self) -> HostId {
        let id = self.serial();
        self.hosts.insert(id, Inbox::default());
        id
    }

    pub(super) fn remove_host(&mut self, host: HostId) {
        self.hosts.remove(&host);
    }

    fn tell(&mut self, host: Option<HostId>, at: Time, target: Target, readiness: Readiness) {
        let serial = self.serial();
        if let Some(inbox) = host.and_then(|host| self.hosts.get_mut(&host))
            && at < NEVER
        {
            inbox.news.insert((at, serial), (target, readiness));
        }
    }

    /// Tells a side of a connection.
    fn tell_end(&mut self, id: ConnectionId, side: Side, at: Time, readiness: Readiness) {
        let host = self.connections.get(&id).and_then(|it| it.ends[side as usize].host);
        self.tell(host, at, Target::End(id, side), readiness);
    }

    /// Hands over what has arrived for a host.
    pub(super) fn take_news(&mut self, host: HostId, ready: &mut Vec<(usize, Readiness)>) {
        let Self { now, hosts, listeners, connections, .. } = self;
        let Some(inbox) = hosts.get_mut(&host) else { return };
        while let Some(first) = inbox.news.first_entry().filter(|first| first.key().0 <= *now) {
            let (target, readiness) = first.remove();
            let token = match target {
                Target::Listener(address) => listeners.get(&address).map(|listener| listener.token),
                Target::End(id, side) => {
                    connections.get(&id).and_then(|it| it.ends[side as usize].token)
                }
            };
            ready.extend(token.map(|token| (token, readiness)));
        }
    }

    pub(super) fn look_up(&mut self, host: HostId, answer: Answer) {
        let (at, serial) = (self.now.after(self.usual.delay.unwrap_or_default()), self.serial());
        if let Some(inbox) = self.hosts.get_mut(&host) {
            inbox.answers.insert((at, serial), answer);
        }
    }

    pub(super) fn has_answer(&self, host: HostId) -> bool {
        let first = self.hosts.get(&host).and_then(|inbox| inbox.answers.keys().next());
        first.is_some_and(|(at, _)| *at <= self.now)
    }

    pub(super) fn next_answer(&mut self, host: HostId) -> Option<Answer> {
        let first = self.hosts.get_mut(&host)?.answers.first_entry()?;
        (first.key().0 <= self.now).then(|| first.remove())
    }

    pub(super) fn next_arrival(&self) -> Option<Time> {
        let of_inbox = |inbox: &Inbox| {
            let first = [inbox.news.keys().next(), inbox.answers.keys().next()];
            first.into_iter().flatten().map(|&(at, _)| at).min()
        };
        self.hosts.values().filter_map(of_inbox).min()
    }

    pub(super) fn listen(
        &mut self,
        host: HostId,
        ip: IpAddr,
        address: SocketAddr,
        (backlog, token): (usize, usize),
    ) -> io::Result<SocketAddr> {
        let ip = if address.ip().is_unspecified() { ip } else { address.ip() };
        let port = if address.port() == 0 { self.free_port(ip) } else { address.port() };
        let address = SocketAddr::new(ip, port);
        if self.listeners.contains_key(&address) {
            return Err(ErrorKind::AddrInUse.into());
        }
        self.listeners.insert(address, Listener { host, token, backlog, queue: VecDeque::new() });
        Ok(address)
    }

    pub(super) fn stop_listening(&mut self, address: SocketAddr) {
        let Some(listener) = self.listeners.remove(&address) else { return };
        for (_, id) in listener.queue {
            self.close(id, Server);
        }
    }

    pub(super) fn accept(&mut self, at: SocketAddr) -> Option<(ConnectionId, SocketAddr)> {
        let now = self.now;
        let listener = self.listeners.get_mut(&at)?;
        let (_, id) = *listener.queue.front().filter(|(arrives, _)| *arrives <= now)?;
        listener.queue.pop_front();
        let client = self.connections.get(&id)?.client;
        Some((id, client))
    }

    /// Has the readiness of an accepted socket told from here on, as it is now
    /// first.
    pub(super) fn register(&mut self, id: ConnectionId, side: Side, token: usize) {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.ends[side as usize].token = Some(token);
        let readiness = Readiness { readable: true, ends: false, writable: true };
        self.tell_end(id, side, now, readiness);
    }

    pub(super) fn connect(
        &mut self,
        (host, ip): (HostId, IpAddr),
        server: SocketAddr,
        token: usize,
    ) -> ConnectionId {
        let id = self.serial();
        let client = SocketAddr::new(ip, self.free_port(ip));
        let tape = self.is_recording.then_some(self.tapes.len());
        if self.is_recording {
            let (to_server, to_client) = (Vec::new(), Vec::new());
            self.tapes.push(Tape { client, server, to_server, to_client });
        }
        let ends = [(Some(host), Some(token)), (None, None)];
        let ends = ends.map(|(host, token)| End { host, token, is_closed: false });
        let pipes = [Pipe::default(), Pipe::default()];
        let connection = Connection { client, server, ends, pipes, outcome: None, tape };
        self.connections.insert(id, connection);
        self.establish(id);
        id
    }

    /// Decides about a connection, unless the way is cut.
    fn establish(&mut self, id: ConnectionId) {
        let Some(server) = self.connections.get(&id).map(|it| it.server) else { return };
        let path = self.path_to(server);
        if path.is_cut {
            return;
        }
        let there = self.now.after(path.delay.unwrap_or_default());
        let back = there.after(path.delay.unwrap_or_default());
        let listener = self.listeners.get_mut(&server);
        let host = match listener
            .filter(|listener| !path.is_refusing && listener.queue.len() < listener.backlog)
        {
            Some(listener) => {
                listener.queue.push_back((there, id));
                Some(listener.host)
            }
            None => None,
        };
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.outcome = Some((back, host.is_some()));
            connection.ends[Server as usize].host = host;
        }
        let refused = host.is_none();
        let waits = Readiness { readable: true, ..Readiness::default() };
        self.tell(host, there, Target::Listener(server), waits);
        let decided = Readiness { readable: refused, ends: refused, writable: true };
        self.tell_end(id, Client, back, decided);
    }

    /// The server's address, when the client knows that it is connected.
    pub(super) fn connected(&mut self, id: ConnectionId) -> io::Result<Option<SocketAddr>> {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(None) };
        let is_reset = connection.is_reset(Client, now);
        match connection.outcome {
            Some((at, false)) if at <= now => Err(ErrorKind::ConnectionRefused.into()),
            _ if is_reset => Err(ErrorKind::ConnectionReset.into()),
            Some((at, true)) if at <= now => Ok(Some(connection.server)),
            _ => Ok(None),
        }
    }

    pub(super) fn read(
        &mut self,
        id: ConnectionId,
        side: Side,
        room: &mut [u8],
    ) -> io::Result<usize> {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else {
            return Err(ErrorKind::NotConnected.into());
        };
        if connection.is_reset(side, now) {
            return Err(ErrorKind::ConnectionReset.into());
        }
        let incoming = connection.incoming(side);
        match incoming.read(room, now) {
            Found::Nothing => Err(ErrorKind::WouldBlock.into()),
            Found::Reset => Err(ErrorKind::ConnectionReset.into()),
            Found::End => Ok(0),
            Found::Bytes(count) => {
                if incoming.wants_room {
                    self.tell_of_room(id, side.other());
                }
                Ok(count)
            }
        }
    }

    /// Tells a writer that there is room, unless the way is cut.
    fn tell_of_room(&mut self, id: ConnectionId, writer: Side) {
        let Some(server) = self.connections.get(&id).map(|it| it.server) else { return };
        let path = self.path_to(server);
        if path.is_cut {
            return;
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.outgoing(writer).wants_room = false;
        }
        let at = self.now.after(path.delay.unwrap_or_default());
        self.tell_end(id, writer, at, Readiness { writable: true, ..Readiness::default() });
    }

    pub(super) fn write(
        &mut self,
        id: ConnectionId,
        side: Side,
        slices: &[IoSlice<'_>],
    ) -> io::Result<usize> {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(&id) else {
            return Err(ErrorKind::NotConnected.into());
        };
        if connection.is_reset(side, now) || connection.outgoing(side).is_ended {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let (server, tape) = (connection.server, connection.tape);
        let is_heard = !connection.ends[side.other() as usize].is_closed;
        let window_bytes = self.path_to(server).window_bytes.unwrap_or(WINDOW_BYTES);
        let Some(connection) = self.connections.get_mut(&id) else { return Ok(0) };
        let outgoing = connection.outgoing(side);
        let room = outgoing.room(window_bytes);
        outgoing.wants_room = room == 0;
        if room == 0 {
            return Err(ErrorKind::WouldBlock.into());
        }
        let mut bytes = Vec::with_capacity(room.min(slices.iter().map(|slice| slice.len()).sum()));
        for slice in slices {
            let taken = slice.len().min(room - bytes.len());
            bytes.extend_from_slice(&slice[..taken]);
        }
        if let Some(tape) = tape.and_then(|index| self.tapes.get_mut(index)) {
            match side {
                Client => tape.to_server.extend_from_slice(&bytes),
                Server => tape.to_client.extend_from_slice(&bytes),
            }
        }
        if is_heard {
            self.send_segments(id, side, &bytes);
        } else {
            // They find nobody, who says so.
            self.send(id, side.other(), Content::Reset);
        }
        Ok(bytes.len())
    }

    fn send_segments(&mut self, id: ConnectionId, side: Side, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let most = self.segment_bytes.min(bytes.len());
            let length = match self.segment_bytes {
                usize::MAX => most,
                _ => 1 + self.chance(most as u64) as usize,
            };
            let (segment, rest) = bytes.split_at(length);
            self.send(id, side, Content::Bytes(segment.to_vec()));
            bytes = rest;
        }
    }

    fn send(&mut self, id: ConnectionId, side: Side, content: Content) {
        let now = self.now;
        let jitter = match self.jitter.as_nanos() as u64 {
            0 => 0,
            most => self.chance(most + 1),
        };
        let Some(server) = self.connections.get(&id).map(|it| it.server) else { return };
        let path = self.path_to(server);
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let pipe = connection.outgoing(side);
        if let (Content::Bytes(bytes), Some(bytes_per_s)) = (&content, path.bytes_per_s) {
            let nanos = bytes.len() as u64 * 1_000_000_000 / bytes_per_s;
            pipe.busy_until = pipe.busy_until.max(now).after(Duration::from_nanos(nanos));
        }
        let late = path.delay.unwrap_or_default() + Duration::from_nanos(jitter);
        let arrives = if path.is_cut { NEVER } else { pipe.busy_until.max(now).after(late) };
        let ends = !matches!(content, Content::Bytes(_));
        let arrives = pipe.send(arrives, content);
        let readiness = Readiness { readable: true, ends, writable: ends };
        self.tell_end(id, side.other(), arrives, readiness);
    }

    /// Sends the end of a side.
    pub(super) fn end(&mut self, id: ConnectionId, side: Side) {
        let is_ended = self.connections.get_mut(&id).is_none_or(|it| it.outgoing(side).is_ended);
        if !is_ended {
            self.send(id, side, Content::End);
        }
    }

    /// The socket of a side is dropped.
    pub(super) fn close(&mut self, id: ConnectionId, side: Side) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.ends[side as usize].is_closed = true;
        let is_made = matches!(connection.outcome, Some((_, true)));
        if !is_made || connection.ends.iter().all(|end| end.is_closed) {
            self.connections.remove(&id);
        } else if connection.incoming(side).holds_bytes() {
            self.send(id, side, Content::Reset);
        } else {
            self.end(id, side);
        }
    }

    pub(super) fn heal(&mut self, to: SocketAddr) {
        self.path(to).is_cut = false;
        let path = self.path_to(to);
        let arrives = self.now.after(path.delay.unwrap_or_default());
        for id in self.connections_to(to) {
            let Some(connection) = self.connections.get_mut(&id) else { continue };
            if connection.outcome.is_none() {
                self.establish(id);
                continue;
            }
            for side in [Client, Server] {
                let Some(connection) = self.connections.get_mut(&id) else { continue };
                let wants_room = connection.outgoing(side).wants_room;
                if connection.outgoing(side).resend(arrives) {
                    let readiness = Readiness { readable: true, ends: true, writable: true };
                    self.tell_end(id, side.other(), arrives, readiness);
                }
                if wants_room {
                    self.tell_of_room(id, side);
                }
            }
        }
    }

    pub(super) fn reset(&mut self, to: SocketAddr) -> usize {
        let now = self.now;
        let ids = self.connections_to(to);
        for id in &ids {
            if let Some(connection) = self.connections.get_mut(id) {
                connection.pipes.iter_mut().for_each(Pipe::reset);
            }
            for side in [Client, Server] {
                let readiness = Readiness { readable: true, ends: true, writable: true };
                self.tell_end(*id, side, now, readiness);
            }
        }
        ids.len()
    }

    fn connections_to(&self, to: SocketAddr) -> Vec<ConnectionId> {
        let all = self.connections.iter();
        all.filter(|(_, connection)| connection.server == to).map(|(id, _)| *id).collect()
    }
}
