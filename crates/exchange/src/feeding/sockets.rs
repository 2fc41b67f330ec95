//! The sockets of a feed handler: two lines by UDP, replay and snapshot by TCP.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};
use tapeline_time::Time;

use super::handler::FeedHandler;
use super::links::Links;
use crate::error::ExchangeError;
use crate::shell::{Line, Receiver};

/// A and B.
const MOST_LINES: usize = 2;

/// Units of a line in one turn.
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
        for (at, line) in lines.iter().take(MOST_LINES).enumerate() {
            let mut receiver = Receiver::new(line)?;
            poll.registry()
                .register(receiver.source(), Token(at), Interest::READABLE)
                .map_err(ExchangeError::Poll)?;
            receivers.push(receiver);
        }
        let registry = poll.registry().try_clone().map_err(ExchangeError::Poll)?;
        let links = Links::new(registry, [Some(replay), Some(snapshot)]);
        let (events, room) = (Events::with_capacity(64), vec![0; ROOM].into());
        Ok(Self { poll, events, lines: receivers, links, room })
    }

    /// Where what was missed can be had from now on.
    pub fn ask_at(&mut self, replay: SocketAddr, snapshot: SocketAddr) {
        self.links.go_to([Some(replay), Some(snapshot)]);
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
        let ready = Links::ready(&self.events);
        work += self.links.read(now, ready, &mut self.room, handler);
        handler.timeout(now, &mut self.links);
        self.links.settle(now, handler);
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
}
