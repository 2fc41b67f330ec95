//! Connections between replicas: each one dials every other one and says there what
//! it has to say; what it is told comes by the connections that others dialled.

use std::io::{self, ErrorKind, Read};
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::{TcpListener, TcpStream};
use mio::{Interest, Registry, Token};
use tapeline_layout::{Text, message};
use tapeline_sequence::{Identity, MAX_ENTRY, MESSAGE_HEAD, Member, ReplicaMessage};
use tapeline_time::Time;

use super::super::outbox::Connection;

/// Something about replicas has happened. They are all looked at each turn.
const REPLICAS: Token = Token(usize::MAX - 1);

/// How often one that is not there is dialled.
const REDIAL: Duration = Duration::from_millis(100);

/// Bytes that wait for one replica at most; it has the rest when it has these.
const MAX_QUEUED_BYTES: usize = 4 << 20;

/// The longest message: a slice of entries, or one entry.
const MAX_MESSAGE: usize = MESSAGE_HEAD + 2 * MAX_ENTRY;

/// Bytes of one read, and reads of a connection in one turn.
const READ_BYTES: usize = 64 << 10;
const READS: usize = 8;

/// Connections that others may dial at once.
const MAX_INCOMING: usize = 64;

const MAGIC: &str = "TAPEREPL";

/// Another form of messages is another version.
const VERSION: u32 = 1;

message! {
    /// What a connection begins with: who dialled, of which market.
    Hello: 56, fill 0 {
        0 => magic: Text<8>,
        8 => version: u32,
        12 => from: u8,
        13 => members: u8,
        14 => mode: u8,
        16 => identity_0: u64,
        24 => identity_1: u64,
        32 => identity_2: u64,
        40 => identity_3: u64,
    }
}

/// What all replicas must have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Common {
    pub(super) members: u8,
    pub(super) mode: u8,
    pub(super) identity: Identity,
}

impl Common {
    fn hello(&self, from: Member) -> Hello {
        let part = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&self.identity.0[at * 8..][..8]);
            u64::from_le_bytes(bytes)
        };
        Hello {
            magic: Text::new(MAGIC),
            version: VERSION,
            from: from.0,
            members: self.members,
            mode: self.mode,
            identity_0: part(0),
            identity_1: part(1),
            identity_2: part(2),
            identity_3: part(3),
        }
    }
}

/// The connection to one other.
#[derive(Debug)]
struct Outgoing {
    address: SocketAddr,
    connection: Option<Connection>,
    is_up: bool,
    dialled: Option<Time>,
}

/// A connection that another one dialled.
#[derive(Debug)]
struct Incoming {
    stream: TcpStream,
    from: Option<Member>,
    bytes: Vec<u8>,
}

/// What a look at the links brought.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Links to these broke.
    pub(super) lost: Vec<Member>,
    /// There is more to be read.
    pub(super) has_more: bool,
}

/// All connections of a replica.
#[derive(Debug)]
pub(super) struct Links {
    own: Member,
    common: Common,
    listener: TcpListener,
    outgoing: Vec<Option<Outgoing>>,
    incoming: Vec<Incoming>,
    buffer: Box<[u8]>,
    written: Vec<u8>,
}

impl Links {
    pub(super) fn new(
        own: Member,
        common: Common,
        members: &[SocketAddr],
        registry: &Registry,
    ) -> io::Result<Self> {
        let mut listener = TcpListener::bind(members[usize::from(own.0)])?;
        registry.register(&mut listener, REPLICAS, Interest::READABLE)?;
        let outgoing = |(at, address): (usize, &SocketAddr)| {
            let address = *address;
            let other = Outgoing { address, connection: None, is_up: false, dialled: None };
            (at != usize::from(own.0)).then_some(other)
        };
        Ok(Self {
            own,
            common,
            listener,
            outgoing: members.iter().enumerate().map(outgoing).collect(),
            incoming: Vec::new(),
            buffer: vec![0; READ_BYTES].into(),
            written: Vec::new(),
        })
    }

    /// How many others can be told something.
    pub(super) fn up(&self) -> usize {
        self.outgoing.iter().flatten().filter(|link| link.is_up).count()
    }

    /// A message goes to another one, if it is there.
    pub(super) fn send(&mut self, to: Member, message: &ReplicaMessage<'_>) {
        let Some(Some(link)) = self.outgoing.get_mut(usize::from(to.0)) else { return };
        if let Some(connection) = link.connection.as_mut().filter(|_| link.is_up) {
            self.written.clear();
            message.append_to(&mut self.written);
            connection.queue(&self.written);
        }
    }

    pub(super) fn has_room(&self, to: Member) -> bool {
        let link = self.outgoing.get(usize::from(to.0)).and_then(Option::as_ref);
        let connection = link.filter(|link| link.is_up).and_then(|link| link.connection.as_ref());
        connection.is_some_and(|connection| connection.queued() < MAX_QUEUED_BYTES)
    }

    /// Writes what the sockets take.
    pub(super) fn flush(&mut self) {
        for link in self.outgoing.iter_mut().flatten().filter(|link| link.is_up) {
            if let Some(connection) = &mut link.connection
                && connection.flush().is_err()
            {
                // It is found out at the next look.
                connection.break_off();
            }
        }
    }

    /// Dials who is not there, and finds out who went.
    pub(super) fn look(&mut self, now: Time, registry: &Registry, news: &mut News) {
        let hello = self.common.hello(self.own).to_bytes();
        for (at, link) in self.outgoing.iter_mut().enumerate() {
            let Some(link) = link else { continue };
            let member = Member(at as u8);
            match &mut link.connection {
                None => link.dial(now, registry),
                Some(connection) if !link.is_up => match connection.is_connected() {
                    Ok(true) => {
                        link.is_up = true;
                        connection.queue(&hello);
                        tracing::info!(replica = at + 1, "connected to a replica");
                    }
                    Ok(false) => {}
                    Err(_) => link.connection = None,
                },
                // Nobody says anything on it: what comes is its end.
                Some(connection) => match connection.read(&mut self.buffer) {
                    Err(error) if is_for_later(&error) => {}
                    Ok(len) if len > 0 => {}
                    Ok(_) | Err(_) => {
                        tracing::warn!(replica = at + 1, "the connection to a replica ended");
                        (link.connection, link.is_up) = (None, false);
                        news.lost.push(member);
                    }
                },
            }
        }
        self.accept(registry);
    }

    fn accept(&mut self, registry: &Registry) {
        while let Ok((mut stream, peer)) = self.listener.accept() {
            let registered = registry.register(&mut stream, REPLICAS, Interest::READABLE);
            if self.incoming.len() >= MAX_INCOMING || registered.is_err() {
                tracing::warn!(%peer, "a replica's connection was not accepted");
                continue;
            }
            self.incoming.push(Incoming { stream, from: None, bytes: Vec::new() });
        }
    }

    /// Appends what others say: whole messages, one behind the other.
    pub(super) fn read(&mut self, news: &mut News, messages: &mut Vec<u8>) {
        let Self { incoming, buffer, common, .. } = self;
        incoming.retain_mut(|link| {
            for _ in 0..READS {
                match link.stream.read(buffer) {
                    // What it said before it went counts.
                    Ok(0) => {
                        link.hear(common, messages);
                        return false;
                    }
                    Ok(len) => link.bytes.extend_from_slice(&buffer[..len]),
                    Err(error) if is_for_later(&error) => return link.hear(common, messages),
                    Err(_) => return false,
                }
            }
            news.has_more = true;
            link.hear(common, messages)
        });
    }
}

impl Incoming {
    /// Takes whole messages. Returns whether the connection goes on.
    fn hear(&mut self, common: &Common, messages: &mut Vec<u8>) -> bool {
        let link = self;
        let mut at = 0;
        if link.from.is_none() {
            let Some(hello) = link.bytes.get(..Hello::LEN).and_then(Hello::read) else {
                return true;
            };
            let from = Member(hello.from);
            if hello != common.hello(from) {
                tracing::error!(
                    replica = u32::from(hello.from) + 1,
                    "a replica of another market, version or configuration was turned away"
                );
                return false;
            }
            link.from = Some(from);
            at = Hello::LEN;
        }
        while let Some(length) = link.bytes.get(at..).and_then(length) {
            if !(MESSAGE_HEAD..=MAX_MESSAGE).contains(&length) {
                return false;
            }
            let Some(bytes) = link.bytes.get(at..at + length) else { break };
            let message = ReplicaMessage::read(bytes);
            if message.is_none_or(|message| Some(message.from) != link.from) {
                return false;
            }
            messages.extend_from_slice(bytes);
            at += length;
        }
        link.bytes.drain(..at);
        true
    }
}

/// What the first message of some bytes says that its length is.
pub(super) fn length(bytes: &[u8]) -> Option<usize> {
    let mut own = [0; 4];
    own.copy_from_slice(bytes.get(..4)?);
    Some(u32::from_le_bytes(own) as usize)
}

fn is_for_later(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::NotConnected)
}

impl Outgoing {
    fn dial(&mut self, now: Time, registry: &Registry) {
        if self.dialled.is_some_and(|dialled| now.since(dialled) < REDIAL) {
            return;
        }
        self.dialled = Some(now);
        let Ok(mut stream) = TcpStream::connect(self.address) else { return };
        let interest = Interest::READABLE | Interest::WRITABLE;
        if registry.register(&mut stream, REPLICAS, interest).is_ok() {
            self.connection = Some(Connection::new(stream));
        }
    }
}
