//! A server's and a client's reactor in one thread, and a record of what they
//! told.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use tapeline_channel::{
    ConnectConfig, ListenConfig, ListenerId, Outbox, OutputLimits, Reactor, ReactorConfig,
    SessionEvent, SessionId, SessionOptions, SocketOptions, TextEvent, Via,
};
use tapeline_time::{MonotonicClock, Time};

/// A test that takes longer is one that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const LOOPBACK: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// An event that can be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    Opened(SessionId, Via),
    Message(SessionId, Vec<u8>),
    TooLong(SessionId, usize),
    Drained(SessionId),
    Closed(SessionId, String),
    Rejected(String),
    AcceptFailed(String),
}

impl From<SessionEvent<'_>> for Told {
    fn from(event: SessionEvent<'_>) -> Self {
        match event {
            SessionEvent::Opened { session, via, .. } => Self::Opened(session, via),
            SessionEvent::Message { session, bytes } => Self::Message(session, bytes.to_vec()),
            SessionEvent::TooLong { session, length, .. } => Self::TooLong(session, length),
            SessionEvent::Drained { session } => Self::Drained(session),
            SessionEvent::Closed { session, reason } => Self::Closed(session, reason.to_string()),
            SessionEvent::Rejected { reason, .. } => Self::Rejected(reason.to_string()),
            SessionEvent::AcceptFailed { text, .. } => Self::AcceptFailed(text.to_owned()),
            SessionEvent::Text(TextEvent::Opened { session, via, .. }) => {
                Self::Opened(session, via)
            }
            SessionEvent::Text(TextEvent::Frame { session, text }) => {
                Self::Message(session, text.as_bytes().to_vec())
            }
        }
    }
}

/// A reactor and all it told.
pub(crate) struct Side {
    pub(crate) reactor: Reactor,
    pub(crate) told: Vec<Told>,
}

impl Side {
    pub(crate) fn new(config: ReactorConfig) -> Self {
        Self { reactor: Reactor::new(config).unwrap(), told: Vec::new() }
    }

    pub(crate) fn poll(&mut self, now: Time) -> usize {
        self.poll_with(now, |_, _| {})
    }

    /// Polls, and waits for so long if there was nothing to do.
    pub(crate) fn wait(&mut self, now: Time, most: Duration) -> usize {
        let told = &mut self.told;
        self.reactor.poll(now, Some(most), |event, _| told.push(event.into()))
    }

    /// Polls, and has `react` see the events after they are kept.
    pub(crate) fn poll_with(
        &mut self,
        now: Time,
        mut react: impl FnMut(SessionEvent<'_>, &mut Outbox<'_>),
    ) -> usize {
        let told = &mut self.told;
        self.reactor.poll(now, Some(Duration::ZERO), |event, outbox| {
            told.push(event.clone().into());
            react(event, outbox);
        })
    }

    pub(crate) fn opened(&self) -> Vec<SessionId> {
        self.pick(|told| match told {
            Told::Opened(session, _) => Some(*session),
            _ => None,
        })
    }

    pub(crate) fn messages(&self) -> Vec<Vec<u8>> {
        self.pick(|told| match told {
            Told::Message(_, bytes) => Some(bytes.clone()),
            _ => None,
        })
    }

    pub(crate) fn closed(&self) -> Vec<(SessionId, String)> {
        self.pick(|told| match told {
            Told::Closed(session, text) => Some((*session, text.clone())),
            _ => None,
        })
    }

    pub(crate) fn rejected(&self) -> Vec<String> {
        self.pick(|told| match told {
            Told::Rejected(text) => Some(text.clone()),
            _ => None,
        })
    }

    pub(crate) fn drained(&self) -> usize {
        self.told.iter().filter(|told| matches!(told, Told::Drained(_))).count()
    }

    fn pick<T>(&self, choose: impl FnMut(&Told) -> Option<T>) -> Vec<T> {
        self.told.iter().filter_map(choose).collect()
    }
}

/// Both sides, and the time they are told.
pub(crate) struct World {
    pub(crate) server: Side,
    pub(crate) client: Side,
    pub(crate) listener: ListenerId,
    pub(crate) address: SocketAddr,
    clock: MonotonicClock,
    /// Added to the clock: a test need not wait for a time-out.
    pub(crate) ahead: Duration,
}

impl World {
    pub(crate) fn new(listen: &ListenConfig) -> Self {
        Self::with(&ReactorConfig::default(), listen)
    }

    pub(crate) fn with(config: &ReactorConfig, listen: &ListenConfig) -> Self {
        let mut server = Side::new(config.clone());
        let listener = server.reactor.listen(LOOPBACK, listen).unwrap();
        let address = server.reactor.local_addr(listener).unwrap();
        Self {
            server,
            client: Side::new(config.clone()),
            listener,
            address,
            clock: MonotonicClock::start(),
            ahead: Duration::ZERO,
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now().after(self.ahead)
    }

    pub(crate) fn connect(&mut self, config: &ConnectConfig) -> SessionId {
        let host = self.address.ip().to_string();
        self.client.reactor.connect(&host, self.address.port(), config)
    }

    /// One session, open at both sides: the client's id and the server's.
    pub(crate) fn open(&mut self, config: &ConnectConfig) -> (SessionId, SessionId) {
        let before = self.server.opened().len();
        let client = self.connect(config);
        self.run_until(|world| {
            world.client.opened().contains(&client) && world.server.opened().len() > before
        });
        (client, self.server.opened()[before])
    }

    pub(crate) fn poll(&mut self) {
        let now = self.now();
        self.server.poll(now);
        self.client.poll(now);
    }

    #[track_caller]
    pub(crate) fn run_until(&mut self, done: impl Fn(&Self) -> bool) {
        let started = Instant::now();
        while !done(self) {
            self.poll();
            let told = (&self.server.told, &self.client.told);
            assert!(started.elapsed() < PATIENCE, "not done; told were {told:?}");
        }
    }

    /// A plain socket to the listener, that never waits for long.
    pub(crate) fn plain_client(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    }
}

/// Options with which a few kilobytes are much.
pub(crate) fn tight() -> SessionOptions {
    SessionOptions {
        socket: SocketOptions {
            send_buffer_bytes: Some(4096),
            recv_buffer_bytes: Some(4096),
            ..SocketOptions::default()
        },
        output: OutputLimits { breach_bytes: 60_000, ok_bytes: 20_000, max_bytes: 200_000 },
        ..SessionOptions::default()
    }
}
