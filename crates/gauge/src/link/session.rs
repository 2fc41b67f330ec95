//! Sessions of ours, polled instead of waited for.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tapeline_channel::{
    ConnectConfig, ListenConfig, Reactor, ReactorConfig, Sent, SessionEvent, SessionId,
};
use tapeline_measure::stop;
use tapeline_time::MonotonicClock;

use super::Link;

const PATIENCE: Duration = Duration::from_secs(10);

/// One end of a session, with a reactor of its own.
pub(super) struct SessionLink {
    reactor: Reactor,
    clock: MonotonicClock,
    id: SessionId,
    /// What came while nobody polled.
    early: VecDeque<Vec<u8>>,
    is_over: bool,
}

/// Where sessions are accepted: a reactor, since each has one of its own.
pub(super) struct SessionMeeting {
    reactor: Reactor,
    address: SocketAddr,
}

impl SessionMeeting {
    pub(super) fn listen(address: SocketAddr) -> io::Result<Self> {
        let mut reactor = Reactor::new(ReactorConfig::default()).map_err(io::Error::other)?;
        let listener =
            reactor.listen(address, &ListenConfig::default()).map_err(io::Error::other)?;
        let address = reactor.local_addr(listener).unwrap_or(address);
        Ok(Self { reactor, address })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn accept(self) -> io::Result<SessionLink> {
        SessionLink::opened(self.reactor)
    }
}

impl SessionLink {
    pub(super) fn connect(address: SocketAddr) -> io::Result<Self> {
        let mut reactor = Reactor::new(ReactorConfig::default()).map_err(io::Error::other)?;
        reactor.connect(&address.ip().to_string(), address.port(), &ConnectConfig::default());
        Self::opened(reactor)
    }

    fn opened(mut reactor: Reactor) -> io::Result<Self> {
        let clock = MonotonicClock::start();
        let until = Instant::now() + PATIENCE;
        let (mut opened, mut early, mut is_over) = (None, VecDeque::new(), false);
        while !is_over {
            if let Some(id) = opened {
                return Ok(Self { reactor, clock, id, early, is_over });
            }
            if stop::is_asked() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if Instant::now() >= until {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no session within 10 s"));
            }
            reactor.poll(clock.now(), Some(super::LOOK), |event, _| match event {
                SessionEvent::Opened { session, .. } => opened = Some(session),
                SessionEvent::Message { bytes, .. } => early.push_back(bytes.to_vec()),
                SessionEvent::Closed { .. } => is_over = true,
                _ => {}
            });
        }
        Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the session was closed"))
    }

    fn turn(&mut self, wait: Duration, each: &mut dyn FnMut(&[u8])) {
        let is_over = &mut self.is_over;
        self.reactor.poll(self.clock.now(), Some(wait), |event, _| match event {
            SessionEvent::Message { bytes, .. } => each(bytes),
            SessionEvent::Closed { .. } => *is_over = true,
            _ => {}
        });
    }
}

impl Link for SessionLink {
    fn offer(&mut self, message: &[u8]) -> io::Result<bool> {
        if self.is_over {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let sent = self.reactor.outbox().send(self.id, message);
        let is_taken = matches!(sent, Sent::Queued | Sent::Slow);
        self.reactor.flush(self.clock.now());
        Ok(is_taken)
    }

    fn poll(&mut self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        while let Some(message) = self.early.pop_front() {
            each(&message);
        }
        self.turn(Duration::ZERO, each);
        if self.is_over { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    fn nap(&mut self, most: Duration) {
        let mut early = std::mem::take(&mut self.early);
        self.turn(most, &mut |message| early.push_back(message.to_vec()));
        self.early = early;
    }
}
