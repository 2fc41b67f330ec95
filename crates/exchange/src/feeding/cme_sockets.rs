//! The sockets of a feed handler of CME Group: two lines of changes, and loops of
//! snapshots and definitions, all by UDP.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use mio::{Events, Interest, Poll, Token};
use tapeline_time::Time;

use super::cme::{CmeHandler, CmeOrigin};
use crate::error::ExchangeError;
use crate::shell::{Line, Receiver};

const LINES: [CmeOrigin; 2] = [CmeOrigin::LineA, CmeOrigin::LineB];

/// Packets of one turn.
const READS: usize = 512;

/// The longest datagram there can be.
const ROOM: usize = 64 << 10;

/// The sockets of a feed handler of CME Group.
#[derive(Debug)]
pub struct CmeSockets {
    poll: Poll,
    events: Events,
    receivers: Vec<(CmeOrigin, Receiver)>,
    room: Box<[u8]>,
}

impl CmeSockets {
    /// Listens on one line of changes or two, and on loops.
    pub fn new(lines: &[Line], loops: &[Line]) -> Result<Self, ExchangeError> {
        let poll = Poll::new().map_err(ExchangeError::Poll)?;
        let origins = LINES.into_iter().zip(lines);
        let origins = origins.chain(loops.iter().map(|line| (CmeOrigin::Loop, line)));
        let mut receivers = Vec::new();
        for (at, (origin, line)) in origins.enumerate() {
            let mut receiver = Receiver::new(line)?;
            poll.registry()
                .register(receiver.source(), Token(at), Interest::READABLE)
                .map_err(ExchangeError::Poll)?;
            receivers.push((origin, receiver));
        }
        let (events, room) = (Events::with_capacity(16), vec![0; ROOM].into());
        Ok(Self { poll, events, receivers, room })
    }

    /// Where it listens, and for what.
    pub fn addresses(&self) -> impl Iterator<Item = (CmeOrigin, SocketAddr)> {
        let receivers = self.receivers.iter();
        receivers.filter_map(|(origin, receiver)| Some((*origin, receiver.address().ok()?)))
    }

    /// One turn: waits for up to `most` for something to come, and has it handled.
    /// Returns how much came.
    pub fn turn(
        &mut self,
        most: Duration,
        clock: impl Fn() -> Time,
        handler: &mut CmeHandler,
    ) -> usize {
        let until = handler.deadline().map_or(most, |deadline| deadline.since(clock()).min(most));
        if let Err(error) = self.poll.poll(&mut self.events, Some(until))
            && error.kind() != ErrorKind::Interrupted
        {
            tracing::error!(%error, "the system tells of no more sockets");
        }
        let Self { poll, receivers, room, .. } = self;
        let (now, mut work, mut are_empty) = (clock(), 0, false);
        while !are_empty && work < READS {
            are_empty = true;
            for (origin, receiver) in receivers.iter() {
                if let Some(packet) = receiver.receive(room) {
                    handler.packet(now, *origin, packet);
                    (work, are_empty) = (work + 1, false);
                }
            }
        }
        handler.timeout(now);
        if !are_empty {
            // Nobody tells again of what is left.
            for (at, (_, receiver)) in receivers.iter_mut().enumerate() {
                let registry = poll.registry();
                let _ = registry.reregister(receiver.source(), Token(at), Interest::READABLE);
            }
        }
        work
    }
}
