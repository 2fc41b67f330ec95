//! The sockets of a feed handler of Nasdaq: two lines, one for requests and their
//! answers, all by UDP; and a connection for snapshots.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};
use tapeline_time::Time;

use super::links::Links;
use super::nasdaq::{NasdaqHandler, Origin};
use crate::error::ExchangeError;
use crate::shell::{Line, Receiver};

const LINES: [Origin; 2] = [Origin::LineA, Origin::LineB];

/// The token of the socket for requests.
const REQUESTS: Token = Links::NEXT_TOKEN;

/// Packets of one turn.
const READS: usize = 512;

/// The longest datagram there can be.
const ROOM: usize = 64 << 10;

/// The sockets of a feed handler of Nasdaq.
#[derive(Debug)]
pub struct NasdaqSockets {
    poll: Poll,
    events: Events,
    lines: Vec<Receiver>,
    /// Where messages can be had again, and the socket for it.
    requests: Option<mio::net::UdpSocket>,
    links: Links,
    room: Box<[u8]>,
}

impl NasdaqSockets {
    /// Listens on one line or two; what they lack can be had at `again`, and all that
    /// there is at `snapshot`, if anywhere.
    pub fn new(
        lines: &[Line],
        again: Option<SocketAddr>,
        snapshot: Option<SocketAddr>,
    ) -> Result<Self, ExchangeError> {
        let poll = Poll::new().map_err(ExchangeError::Poll)?;
        let mut receivers = Vec::new();
        for (at, line) in lines.iter().take(LINES.len()).enumerate() {
            let mut receiver = Receiver::new(line)?;
            poll.registry()
                .register(receiver.source(), Token(at), Interest::READABLE)
                .map_err(ExchangeError::Poll)?;
            receivers.push(receiver);
        }
        let requests = again.map(|to| {
            // Connected, so that nobody else can answer.
            let open = || {
                let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
                socket.connect(to)?;
                socket.set_nonblocking(true)?;
                let mut socket = mio::net::UdpSocket::from_std(socket);
                poll.registry().register(&mut socket, REQUESTS, Interest::READABLE)?;
                Ok(socket)
            };
            open().map_err(|error| ExchangeError::Line { at: to, error })
        });
        let requests = requests.transpose()?;
        let registry = poll.registry().try_clone().map_err(ExchangeError::Poll)?;
        let links = Links::new(registry, [None, snapshot]);
        let (events, room) = (Events::with_capacity(16), vec![0; ROOM].into());
        Ok(Self { poll, events, lines: receivers, requests, links, room })
    }

    /// Where it listens, line by line.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.lines.iter().filter_map(|line| line.address().ok())
    }

    /// One turn: waits for up to `most` for something to come, and has it handled; a
    /// clock, and one on the wall in nanoseconds since 1970 UTC, say when. Returns how
    /// much came.
    pub fn turn(
        &mut self,
        most: Duration,
        (clock, wall_ns): (impl Fn() -> Time, impl Fn() -> u64),
        handler: &mut NasdaqHandler,
    ) -> usize {
        let until = handler.deadline().map_or(most, |deadline| deadline.since(clock()).min(most));
        if let Err(error) = self.poll.poll(&mut self.events, Some(until))
            && error.kind() != ErrorKind::Interrupted
        {
            tracing::error!(%error, "the system tells of no more sockets");
        }
        let Self { poll, events, lines, requests, links, room } = self;
        let (now, wall_ns) = (clock(), wall_ns());
        let times = (now, wall_ns);
        let mut work = links.read(now, Links::ready(&*events), room, handler);
        let mut are_empty = false;
        while !are_empty && work < READS {
            are_empty = true;
            for (line, origin) in lines.iter().zip(LINES) {
                if let Some(packet) = line.receive(room) {
                    handler.packet(times, origin, packet, links);
                    (work, are_empty) = (work + 1, false);
                }
            }
            if let Some(Ok(len)) = requests.as_ref().map(|socket| socket.recv(room)) {
                handler.packet(times, Origin::Again, &room[..len], links);
                (work, are_empty) = (work + 1, false);
            }
        }
        handler.timeout(now, links);
        links.settle(now, handler);
        for request in handler.requests() {
            // One that the kernel does not take is sent again, as a lost one is.
            if let Some(socket) = requests.as_ref() {
                let _ = socket.send(&request);
            }
        }
        if !are_empty {
            // Nobody tells again of what is left.
            let registry = poll.registry();
            for (at, line) in lines.iter_mut().enumerate() {
                let _ = registry.reregister(line.source(), Token(at), Interest::READABLE);
            }
            if let Some(socket) = requests {
                let _ = registry.reregister(socket, REQUESTS, Interest::READABLE);
            }
        }
        work
    }
}
