//! The sockets of a feed handler: two lines by UDP, replay and snapshot by TCP.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::time::Duration;

use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use tapeline_time::Time;

use super::handler::{FeedHandler, FeedOutputs, Link};
use crate::error::ExchangeError;
use crate::shell::{Line, Receiver};

const LINKS: [Link; 2] = [Link::Replay, Link::Snapshot];

/// The token of the first link, behind those of lines.
const FIRST_LINK: usize = 2;

/// Units of a line, and reads of a link, in one turn.
const READS: usize = 256;

/// The longest datagram there can be.
const ROOM: usize = 64 << 10;

/// The sockets of a feed handler.
#[derive(Debug)]
pub struct FeedSockets {
    poll: Poll,
    events: Events,
    lines: Vec<Receiver>,
    links: Links,
    room: Box<[u8]>,
}

#[derive(Debug)]
struct Links {
    registry: mio::Registry,
    to: [SocketAddr; 2],
    streams: [Option<Stream>; 2],
    /// Connections that could not be begun.
    failed: Vec<Link>,
}

#[derive(Debug)]
struct Stream {
    socket: TcpStream,
    is_connected: bool,
    queue: Vec<u8>,
}

const fn place(link: Link) -> usize {
    match link {
        Link::Replay => 0,
        Link::Snapshot => 1,
    }
}

impl FeedOutputs for Links {
    fn connect(&mut self, link: Link) {
        let at = place(link);
        let token = Token(FIRST_LINK + at);
        let begun = TcpStream::connect(self.to[at]).and_then(|mut socket| {
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.registry.register(&mut socket, token, interest)?;
            Ok(Stream { socket, is_connected: false, queue: Vec::new() })
        });
        match begun {
            Ok(stream) => self.streams[at] = Some(stream),
            Err(error) => {
                tracing::warn!(%error, to = %self.to[at], "cannot connect");
                self.failed.push(link);
            }
        }
    }

    fn send(&mut self, link: Link, bytes: &[u8]) {
        if let Some(stream) = &mut self.streams[place(link)] {
            stream.queue.extend_from_slice(bytes);
        }
    }

    fn disconnect(&mut self, link: Link) {
        if let Some(mut stream) = self.streams[place(link)].take() {
            // The logout, if the socket takes it.
            let _ = stream.flush();
        }
    }
}

impl Stream {
    fn flush(&mut self) -> std::io::Result<()> {
        while self.is_connected && !self.queue.is_empty() {
            match self.socket.write(&self.queue) {
                Ok(len) => drop(self.queue.drain(..len)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl FeedSockets {
    /// Listens on the lines; `replay` and `snapshot` are where what was missed can
    /// be had.
    pub fn new(
        lines: &[Line],
        replay: SocketAddr,
        snapshot: SocketAddr,
    ) -> Result<Self, ExchangeError> {
        let poll = Poll::new().map_err(ExchangeError::Poll)?;
        let mut receivers = Vec::new();
        for (at, line) in lines.iter().take(FIRST_LINK).enumerate() {
            let mut receiver = Receiver::new(line)?;
            poll.registry()
                .register(receiver.source(), Token(at), Interest::READABLE)
                .map_err(ExchangeError::Poll)?;
            receivers.push(receiver);
        }
        let registry = poll.registry().try_clone().map_err(ExchangeError::Poll)?;
        let to = [replay, snapshot];
        let links = Links { registry, to, streams: [None, None], failed: Vec::new() };
        let (events, room) = (Events::with_capacity(64), vec![0; ROOM].into());
        Ok(Self { poll, events, lines: receivers, links, room })
    }

    /// Where what was missed can be had from now on.
    pub fn ask_at(&mut self, replay: SocketAddr, snapshot: SocketAddr) {
        self.links.to = [replay, snapshot];
    }

    /// Where it listens, line by line.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.lines.iter().filter_map(|line| line.address().ok())
    }

    /// One turn: waits for up to `most` for something to come, and has it handled.
    /// Returns how much came.
    pub fn turn(
        &mut self,
        most: Duration,
        clock: impl Fn() -> Time,
        handler: &mut FeedHandler,
    ) -> usize {
        if let Err(error) = self.poll.poll(&mut self.events, Some(most))
            && error.kind() != ErrorKind::Interrupted
        {
            tracing::error!(%error, "the system tells of no more sockets");
        }
        let now = clock();
        let mut work = self.read_lines(now, handler);
        let mut ready = [false; LINKS.len()];
        for event in &self.events {
            if let Some(at) = event.token().0.checked_sub(FIRST_LINK) {
                ready[at] = true;
            }
        }
        for (link, _) in LINKS.into_iter().zip(ready).filter(|(_, ready)| *ready) {
            work += self.read_link(now, link, handler);
        }
        handler.timeout(now, &mut self.links);
        for link in std::mem::take(&mut self.links.failed) {
            handler.closed(now, link, &mut self.links);
        }
        for link in LINKS {
            let stream = self.links.streams[place(link)].as_mut();
            if stream.is_some_and(|stream| stream.flush().is_err()) {
                self.lose(now, link, handler);
            }
        }
        work
    }

    /// Reads the lines in turns, so that neither falls behind.
    fn read_lines(&mut self, now: Time, handler: &mut FeedHandler) -> usize {
        let (mut work, mut are_empty) = (0, false);
        while !are_empty && work < READS {
            are_empty = true;
            for (at, line) in self.lines.iter().enumerate() {
                if let Some(unit) = line.receive(&mut self.room) {
                    handler.unit(now, at, unit, &mut self.links);
                    (work, are_empty) = (work + 1, false);
                }
            }
        }
        if !are_empty {
            // Nobody tells again of what is left.
            for (at, line) in self.lines.iter_mut().enumerate() {
                let source = line.source();
                let _ = self.poll.registry().reregister(source, Token(at), Interest::READABLE);
            }
        }
        work
    }

    fn read_link(&mut self, now: Time, link: Link, handler: &mut FeedHandler) -> usize {
        let mut work = 0;
        loop {
            let Some(stream) = &mut self.links.streams[place(link)] else { return work };
            if !stream.is_connected {
                match stream.socket.peer_addr() {
                    Ok(_) => {
                        stream.is_connected = true;
                        handler.connected(now, link, &mut self.links);
                        continue;
                    }
                    Err(_) if matches!(stream.socket.take_error(), Ok(None)) => return work,
                    Err(_) => {
                        self.lose(now, link, handler);
                        return work;
                    }
                }
            }
            match stream.socket.read(&mut self.room) {
                Ok(0) => {
                    self.lose(now, link, handler);
                    return work;
                }
                Ok(len) => {
                    work += 1;
                    handler.received(now, link, &self.room[..len], &mut self.links);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return work,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => {
                    self.lose(now, link, handler);
                    return work;
                }
            }
        }
    }

    fn lose(&mut self, now: Time, link: Link, handler: &mut FeedHandler) {
        self.links.streams[place(link)] = None;
        handler.closed(now, link, &mut self.links);
    }
}
