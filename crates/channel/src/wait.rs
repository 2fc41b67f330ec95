//! A wait for whatever a thread has to do, in all of its reactors.

use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};

use crate::{ChannelError, Reactor};

/// What ended a wait does not matter: whoever waited looks everywhere.
const ANY: Token = Token(0);

/// Ends when one of several reactors, or another socket of the thread, has
/// something to read.
///
/// ```text
///   reactor ── its epoll ──┐
///   reactor ── its epoll ──┼── epoll ──▶ wait
///   socket ────────────────┘
/// ```
///
/// What is told of is told once. So a thread waits only when there is nothing
/// left to do, of which each reactor assures itself:
///
/// ```no_run
/// # use tapeline_channel::{Reactor, Wait};
/// # use std::time::Duration;
/// # fn rest(wait: &mut Wait, first: &mut Reactor, second: &mut Reactor) {
/// if first.is_quiet() && second.is_quiet() {
///     wait.wait(Duration::from_millis(1));
/// }
/// # }
/// ```
#[derive(Debug)]
pub struct Wait {
    poll: Poll,
    events: Events,
}

impl Wait {
    /// A wait for nothing yet.
    pub fn new() -> Result<Self, ChannelError> {
        let poll = Poll::new().map_err(ChannelError::Poll)?;
        Ok(Self { poll, events: Events::with_capacity(4) })
    }

    /// Waits for this reactor, too. It may be dropped at any time.
    pub fn watch(&self, reactor: &Reactor) -> Result<(), ChannelError> {
        self.watch_descriptor(reactor.as_raw_fd()).map_err(ChannelError::Poll)
    }

    /// Waits until this descriptor can be read, too; until it is closed.
    /// Whoever owns it must read it until it is empty before the next wait. To
    /// name one a second time changes nothing.
    pub fn watch_descriptor(&self, descriptor: RawFd) -> io::Result<()> {
        let mut source = SourceFd(&descriptor);
        match self.poll.registry().register(&mut source, ANY, Interest::READABLE) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    }

    /// Waits up to `most`.
    pub fn wait(&mut self, most: Duration) {
        // A signal ends a wait like anything else.
        let _ = self.poll.poll(&mut self.events, Some(most));
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::Instant;

    use super::*;
    use crate::{ConnectConfig, ListenConfig, ReactorConfig, Sent, SessionEvent};
    use tapeline_time::MonotonicClock;

    /// A test that takes longer is one that hangs.
    const PATIENCE: Duration = Duration::from_secs(60);

    fn reactors() -> [Reactor; 2] {
        std::array::from_fn(|_| Reactor::new(ReactorConfig::default()).unwrap())
    }

    #[test]
    fn a_message_to_any_of_the_reactors_ends_the_wait() {
        let clock = MonotonicClock::start();
        let mut servers = reactors();
        let mut wait = Wait::new().unwrap();
        let ports = servers.each_mut().map(|server| {
            wait.watch(server).unwrap();
            let at = server.listen(([127, 0, 0, 1], 0).into(), &ListenConfig::default()).unwrap();
            server.local_addr(at).unwrap().port()
        });
        // Each message is sent when the one before it was heard.
        let client = std::thread::spawn(move || {
            let mut client = Reactor::new(ReactorConfig::default()).unwrap();
            let config = ConnectConfig::default();
            let sessions = ports.map(|port| client.connect("127.0.0.1", port, &config));
            let clock = MonotonicClock::start();
            let (mut opened, mut heard) = (0, 0);
            while heard < 20 {
                client.poll(clock.now(), Some(PATIENCE), |event, outbox| {
                    match event {
                        SessionEvent::Opened { .. } => opened += 1,
                        SessionEvent::Message { .. } => heard += 1,
                        other => panic!("{other:?}"),
                    }
                    if opened == 2 {
                        assert_eq!(outbox.send(sessions[heard % 2], b"hello"), Sent::Queued);
                    }
                });
            }
        });
        let started = Instant::now();
        let mut heard = 0;
        while heard < 20 {
            let now = clock.now();
            let mut work = 0;
            for server in &mut servers {
                work += server.poll(now, Some(Duration::ZERO), |event, outbox| {
                    if let SessionEvent::Message { session, bytes } = event {
                        heard += 1;
                        assert_eq!(outbox.send(session, bytes), Sent::Queued);
                    }
                });
            }
            if work == 0 && servers.iter_mut().all(Reactor::is_quiet) {
                wait.wait(PATIENCE);
                assert!(started.elapsed() < PATIENCE, "{heard} messages were heard");
            }
        }
        for server in &mut servers {
            server.flush(clock.now());
        }
        client.join().unwrap();
    }

    #[test]
    fn a_reactor_is_not_quiet_while_it_has_something_to_read() {
        let [mut server, mut client] = reactors();
        assert!(server.is_quiet());
        let at = server.listen(([127, 0, 0, 1], 0).into(), &ListenConfig::default()).unwrap();
        let port = server.local_addr(at).unwrap().port();
        let clock = MonotonicClock::start();
        while server.poll(clock.now(), Some(Duration::ZERO), |_, _| {}) > 0 {}
        assert!(server.is_quiet());
        client.connect("127.0.0.1", port, &ConnectConfig::default());
        client.poll(clock.now(), Some(Duration::ZERO), |_, _| {});
        assert!(!server.is_quiet());
        assert!(!server.is_quiet(), "it was not polled yet");
        let work = server.poll(clock.now(), Some(Duration::ZERO), |_, _| {});
        assert!(work > 0, "what ended the quiet is done by the next poll");
    }

    #[test]
    fn a_datagram_ends_the_wait_and_nothing_lets_it_pass() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let mut wait = Wait::new().unwrap();
        wait.watch_descriptor(socket.as_raw_fd()).unwrap();
        wait.watch_descriptor(socket.as_raw_fd()).unwrap();
        let started = Instant::now();
        wait.wait(Duration::from_millis(2));
        assert!(started.elapsed() >= Duration::from_millis(2));
        socket.send_to(b"x", socket.local_addr().unwrap()).unwrap();
        wait.wait(PATIENCE);
        assert!(started.elapsed() < PATIENCE);
    }
}
