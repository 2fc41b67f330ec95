//! Connections of a feed handler for what it missed, by TCP.

use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;

use mio::event::Event;
use mio::net::TcpStream;
use mio::{Interest, Registry, Token};
use tapeline_time::Time;

use super::handler::{FeedOutputs, Link};

const LINKS: [Link; 2] = [Link::Replay, Link::Snapshot];

/// The token of the first link, behind those of lines.
const FIRST_LINK: usize = 2;

/// Whoever has such connections.
pub trait Calling {
    /// A connection is there.
    fn connected(&mut self, now: Time, link: Link, out: &mut impl FeedOutputs);

    /// Bytes of a connection have come.
    fn received(&mut self, now: Time, link: Link, bytes: &[u8], out: &mut impl FeedOutputs);

    /// A connection has ended, or could not be made.
    fn closed(&mut self, now: Time, link: Link, out: &mut impl FeedOutputs);
}

/// For whoever has nobody to connect to, as with a capture.
#[derive(Clone, Copy, Debug)]
pub struct NoLinks;

impl FeedOutputs for NoLinks {
    fn connect(&mut self, _: Link) {}

    fn send(&mut self, _: Link, _: &[u8]) {}

    fn disconnect(&mut self, _: Link) {}
}

/// The connections.
#[derive(Debug)]
pub(super) struct Links {
    registry: Registry,
    /// Where they go; none that goes nowhere is asked for.
    to: [Option<SocketAddr>; LINKS.len()],
    streams: [Option<Stream>; LINKS.len()],
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
        let Some(to) = self.to[at] else {
            debug_assert!(false, "no {link:?} is asked for where there is none");
            return;
        };
        let begun = TcpStream::connect(to).and_then(|mut socket| {
            let interest = Interest::READABLE | Interest::WRITABLE;
            self.registry.register(&mut socket, Token(FIRST_LINK + at), interest)?;
            Ok(Stream { socket, is_connected: false, queue: Vec::new() })
        });
        match begun {
            Ok(stream) => self.streams[at] = Some(stream),
            Err(error) => {
                tracing::warn!(%error, %to, "cannot connect");
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

impl Links {
    /// The first token that is not of a line or of a link.
    pub(super) const NEXT_TOKEN: Token = Token(FIRST_LINK + LINKS.len());

    /// Of replay and of snapshot.
    pub(super) const fn new(registry: Registry, to: [Option<SocketAddr>; LINKS.len()]) -> Self {
        Self { registry, to, streams: [const { None }; LINKS.len()], failed: Vec::new() }
    }

    /// Where they go from now on.
    pub(super) const fn go_to(&mut self, to: [Option<SocketAddr>; LINKS.len()]) {
        self.to = to;
    }

    /// Which of them a socket is told of.
    pub(super) fn ready<'e>(events: impl IntoIterator<Item = &'e Event>) -> [bool; LINKS.len()] {
        let mut ready = [false; LINKS.len()];
        for event in events {
            let at = event.token().0.checked_sub(FIRST_LINK);
            if let Some(is_ready) = at.and_then(|at| ready.get_mut(at)) {
                *is_ready = true;
            }
        }
        ready
    }

    /// Reads those that are ready. Returns how much came.
    pub(super) fn read(
        &mut self,
        now: Time,
        ready: [bool; LINKS.len()],
        room: &mut [u8],
        handler: &mut impl Calling,
    ) -> usize {
        let ready = LINKS.into_iter().zip(ready).filter(|(_, is_ready)| *is_ready);
        ready.map(|(link, _)| self.read_one(now, link, room, handler)).sum()
    }

    fn read_one(
        &mut self,
        now: Time,
        link: Link,
        room: &mut [u8],
        handler: &mut impl Calling,
    ) -> usize {
        let mut work = 0;
        loop {
            let Some(stream) = &mut self.streams[place(link)] else { return work };
            if !stream.is_connected {
                match stream.socket.peer_addr() {
                    Ok(_) => {
                        stream.is_connected = true;
                        handler.connected(now, link, self);
                        continue;
                    }
                    Err(_) if matches!(stream.socket.take_error(), Ok(None)) => return work,
                    Err(_) => {
                        self.lose(now, link, handler);
                        return work;
                    }
                }
            }
            match stream.socket.read(room) {
                Ok(0) => {
                    self.lose(now, link, handler);
                    return work;
                }
                Ok(len) => {
                    work += 1;
                    handler.received(now, link, &room[..len], self);
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

    /// Tells of connections that could not be begun, and writes what there is to write.
    pub(super) fn settle(&mut self, now: Time, handler: &mut impl Calling) {
        for link in std::mem::take(&mut self.failed) {
            handler.closed(now, link, self);
        }
        for link in LINKS {
            let stream = self.streams[place(link)].as_mut();
            if stream.is_some_and(|stream| stream.flush().is_err()) {
                self.lose(now, link, handler);
            }
        }
    }

    fn lose(&mut self, now: Time, link: Link, handler: &mut impl Calling) {
        self.streams[place(link)] = None;
        handler.closed(now, link, self);
    }
}
