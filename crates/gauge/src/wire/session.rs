//! A session of ours: what the RSSL protocol and the reactor add to TCP.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tapeline_channel::{
    ConnectConfig, ListenConfig, Reactor, ReactorConfig, Sent, SessionEvent, SessionId,
};
use tapeline_measure::stop;
use tapeline_time::MonotonicClock;

use super::Wire;

/// How long a handshake may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long a side that sleeps does so before it looks whether it is to end.
const NAP: Duration = Duration::from_millis(100);

/// The side that listens, before somebody came.
pub(crate) struct SessionListener {
    reactor: Reactor,
    address: SocketAddr,
}

impl SessionListener {
    pub(crate) fn open(address: SocketAddr) -> io::Result<Self> {
        let mut reactor = Reactor::new(ReactorConfig::default()).map_err(io::Error::other)?;
        let listener =
            reactor.listen(address, &ListenConfig::default()).map_err(io::Error::other)?;
        let address = reactor.local_addr(listener).unwrap_or(address);
        Ok(Self { reactor, address })
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn accept(self, is_spinning: bool) -> io::Result<Session> {
        Session::opened(self.reactor, is_spinning)
    }
}

/// One end of a session.
pub(crate) struct Session {
    reactor: Reactor,
    clock: MonotonicClock,
    id: SessionId,
    is_spinning: bool,
    /// Messages that came with the one that was wanted.
    early: VecDeque<Vec<u8>>,
}

/// What one poll brought.
#[derive(Default)]
struct Came {
    bytes: Option<usize>,
    over: Option<String>,
}

impl Session {
    pub(crate) fn connect(address: SocketAddr, is_spinning: bool) -> io::Result<Self> {
        let mut reactor = Reactor::new(ReactorConfig::default()).map_err(io::Error::other)?;
        reactor.connect(&address.ip().to_string(), address.port(), &ConnectConfig::default());
        Self::opened(reactor, is_spinning)
    }

    fn opened(mut reactor: Reactor, is_spinning: bool) -> io::Result<Self> {
        let clock = MonotonicClock::start();
        let until = Instant::now() + PATIENCE;
        let (mut opened, mut early, mut over) = (None, VecDeque::new(), None);
        while opened.is_none() {
            if stop::is_asked() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if Instant::now() >= until || over.is_some() {
                let why = over.unwrap_or_else(|| "no session within 10 s".to_owned());
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            reactor.poll(clock.now(), Some(NAP), |event, _| match event {
                SessionEvent::Opened { session, .. } => opened = Some(session),
                SessionEvent::Message { bytes, .. } => early.push_back(bytes.to_vec()),
                SessionEvent::Closed { .. } => over = Some("the session was closed".to_owned()),
                _ => {}
            });
        }
        let id = opened.ok_or_else(|| io::Error::other("no session"))?;
        Ok(Self { reactor, clock, id, is_spinning, early })
    }

    fn poll(&mut self, buffer: &mut [u8]) -> Came {
        let wait = if self.is_spinning { Duration::ZERO } else { NAP };
        let (mut came, early) = (Came::default(), &mut self.early);
        self.reactor.poll(self.clock.now(), Some(wait), |event, _| match event {
            SessionEvent::Message { bytes, .. } => match came.bytes {
                None => {
                    let length = bytes.len().min(buffer.len());
                    buffer[..length].copy_from_slice(&bytes[..length]);
                    came.bytes = Some(length);
                }
                Some(_) => early.push_back(bytes.to_vec()),
            },
            SessionEvent::Closed { .. } => came.over = Some("the session was closed".to_owned()),
            _ => {}
        });
        came
    }
}

impl Wire for Session {
    fn send(&mut self, message: &[u8], more: bool) -> io::Result<()> {
        match self.reactor.outbox().send(self.id, message) {
            Sent::Queued | Sent::Slow => {}
            refused => {
                return Err(io::Error::other(format!("the session took nothing: {refused:?}")));
            }
        }
        if !more {
            self.reactor.flush(self.clock.now());
        }
        Ok(())
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(message) = self.early.pop_front() {
            let length = message.len().min(buffer.len());
            buffer[..length].copy_from_slice(&message[..length]);
            return Ok(length);
        }
        let mut turns = 0_u32;
        loop {
            let came = self.poll(buffer);
            if let Some(bytes) = came.bytes {
                return Ok(bytes);
            }
            if let Some(why) = came.over {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
            }
            turns = turns.wrapping_add(1);
            if (!self.is_spinning || turns.is_multiple_of(1 << 12)) && stop::is_asked() {
                return Err(io::ErrorKind::Interrupted.into());
            }
        }
    }
}
