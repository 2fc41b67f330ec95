//! The clients: consumers on one loop.

use std::net::SocketAddr;
use std::time::Duration;

use hdrhistogram::Histogram;
use tapeline_api::{
    ConsumerConfig, ConsumerCore, ConsumerEvent, ConsumerHandler, ConsumerInput, ConsumerOutputs,
    ItemSpec, Login, Requests, Server,
};
use tapeline_channel::{
    ConnectConfig, MonotonicClock, Outbox, Reactor, ReactorConfig, Sent, SessionEvent, SessionId,
    random_seed,
};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataState, Domain, MsgClass, MsgHeader};

use crate::BenchError;
use crate::clock::now_ns;
use crate::latency_stats::latencies;
use crate::source::{SERVICE, item_name};
use crate::update;

/// Deadlines of consumers that have all they want are looked at once in so
/// many turns.
const TURNS_PER_TIMERS: u32 = 1024;

/// How far clients read updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The header of the message.
    Headers,
    /// Every field, and the times in it.
    Fields,
}

/// Consumers of one server on one loop.
pub(crate) struct Clients {
    reactor: Reactor,
    clock: MonotonicClock,
    /// Of each server; mounts take them in turn.
    addresses: Vec<SocketAddr>,
    mounts: Vec<Mount>,
    /// Mounts by the place of their session.
    by_session: Vec<usize>,
    reading: Reading,
    tally: Tally,
    turn: u32,
}

struct Mount {
    core: ConsumerCore,
    link: Link,
}

#[derive(Default)]
struct Link {
    session: Option<SessionId>,
    wants_session: bool,
}

/// What came.
pub(crate) struct Tally {
    /// First images.
    pub(crate) images: usize,
    /// Images beyond those that the clients asked for.
    recovered: u64,
    wanted: usize,
    pub(crate) updates: u64,
    /// Updates that cannot be read, or came out of order.
    pub(crate) bad: u64,
    /// States of items that were not good, and lost connections.
    pub(crate) troubles: u64,
    pub(crate) last_trouble: String,
    /// In nanoseconds.
    pub(crate) from_schedule: Histogram<u64>,
    pub(crate) from_send: Histogram<u64>,
    dictionary: &'static FieldDictionary,
    last_due_ns: u64,
}

impl Tally {
    /// Images that came because a server or a hub had lost something.
    pub(crate) fn recovered(&self) -> u64 {
        self.recovered
    }

    fn trouble(&mut self, text: impl Into<String>) {
        self.troubles += 1;
        self.last_trouble = text.into();
    }
}

impl ConsumerHandler for Tally {
    fn event(&mut self, event: ConsumerEvent<'_>, _: &mut Requests<'_>) {
        match event {
            ConsumerEvent::Update { msg, .. } => {
                self.updates += 1;
                let Some(times) = update::decode(msg, self.dictionary) else {
                    self.bad += 1;
                    return;
                };
                let now = now_ns();
                self.from_schedule.saturating_record(now.saturating_sub(times.due_ns));
                self.from_send.saturating_record(now.saturating_sub(times.sent_ns));
                self.bad += u64::from(times.due_ns < self.last_due_ns);
                self.last_due_ns = times.due_ns;
            }
            ConsumerEvent::Refresh { .. } if self.images < self.wanted => self.images += 1,
            ConsumerEvent::Refresh { .. } => self.recovered += 1,
            ConsumerEvent::Status { msg, .. } => {
                if let Some(state) = msg.state.filter(|state| state.data != DataState::OK) {
                    self.trouble(String::from_utf8_lossy(state.text));
                }
            }
            ConsumerEvent::Down { reason, .. } => self.trouble(reason),
            _ => {}
        }
    }
}

struct Connection<'o, 'r> {
    outbox: &'o mut Outbox<'r>,
    link: &'o mut Link,
}

impl ConsumerOutputs for Connection<'_, '_> {
    fn connect(&mut self, _: usize) {
        self.link.wants_session = true;
    }

    fn send(&mut self, message: &[u8]) -> Sent {
        match self.link.session {
            Some(session) => self.outbox.send(session, message),
            None => Sent::Gone,
        }
    }

    fn disconnect(&mut self, reason: &str) {
        if let Some(session) = self.link.session.take() {
            self.outbox.close(session, reason);
        }
    }
}

impl Clients {
    /// Clients with these watchlists, spread over the servers.
    pub(crate) fn connect(
        addresses: &[SocketAddr],
        watchlists: &[Vec<u32>],
        reading: Reading,
    ) -> Result<Self, BenchError> {
        let reactor = ReactorConfig { seed: random_seed(), ..ReactorConfig::default() };
        let mut clients = Self {
            reactor: Reactor::new(reactor)?,
            clock: MonotonicClock::start(),
            addresses: addresses.to_vec(),
            mounts: Vec::new(),
            by_session: Vec::new(),
            reading,
            tally: Tally {
                images: 0,
                recovered: 0,
                wanted: 0,
                updates: 0,
                bad: 0,
                troubles: 0,
                last_trouble: String::new(),
                from_schedule: latencies(),
                from_send: latencies(),
                dictionary: FieldDictionary::builtin(),
                last_due_ns: 0,
            },
            turn: 0,
        };
        for watchlist in watchlists {
            clients.add(watchlist)?;
        }
        Ok(clients)
    }

    /// One more client.
    pub(crate) fn add(&mut self, watchlist: &[u32]) -> Result<(), BenchError> {
        let number = self.mounts.len();
        let address = self.addresses[number % self.addresses.len()];
        let server = Server::new(address.ip().to_string(), address.port());
        let mut config = ConsumerConfig::new([server], Login::new(format!("bench-{number}")));
        config.obey_open_window = false;
        config.request_timeout = Duration::from_secs(120);
        let mut mount = Mount { core: ConsumerCore::new(config), link: Link::default() };
        let mut outbox = self.reactor.outbox();
        let mut out = Connection { outbox: &mut outbox, link: &mut mount.link };
        let mut requests = mount.core.requests(self.clock.now(), &mut out);
        for item in watchlist {
            requests.open(&ItemSpec::new(SERVICE, &item_name(*item as usize)))?;
        }
        self.tally.wanted += watchlist.len();
        self.mounts.push(mount);
        Ok(())
    }

    /// Whether all images are there.
    pub(crate) fn is_ready(&self) -> bool {
        self.tally.images >= self.tally.wanted
    }

    /// Items of all watchlists.
    pub(crate) fn wanted(&self) -> usize {
        self.tally.wanted
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Begins counting latencies anew.
    pub(crate) fn clear_latencies(&mut self) {
        self.tally.from_schedule.reset();
        self.tally.from_send.reset();
    }

    /// Reads and writes what there is.
    pub(crate) fn poll(&mut self) -> usize {
        self.turn = self.turn.wrapping_add(1);
        if !self.is_ready() || self.turn.is_multiple_of(TURNS_PER_TIMERS) {
            self.run_timers();
        }
        let Self { reactor, mounts, by_session, tally, reading, clock, .. } = self;
        let now = clock.now();
        let is_quick = *reading == Reading::Headers;
        reactor.poll(now, Some(Duration::ZERO), |event, outbox| {
            let session = match &event {
                SessionEvent::Message { session, bytes } => {
                    if is_quick && is_update(bytes) {
                        tally.updates += 1;
                        return;
                    }
                    *session
                }
                SessionEvent::Opened { session, .. } | SessionEvent::Closed { session, .. } => {
                    *session
                }
                _ => return,
            };
            let Some(mount) = by_session
                .get(session.index as usize)
                .and_then(|mount| mounts.get_mut(*mount))
                .filter(|mount| mount.link.session == Some(session))
            else {
                return;
            };
            let text;
            let input = match event {
                SessionEvent::Message { bytes, .. } => ConsumerInput::Message(bytes),
                SessionEvent::Opened { .. } => ConsumerInput::Opened,
                SessionEvent::Closed { reason, .. } => {
                    mount.link.session = None;
                    text = reason.to_string();
                    ConsumerInput::Closed { reason: &text }
                }
                _ => return,
            };
            let mut out = Connection { outbox, link: &mut mount.link };
            mount.core.handle(now, input, &mut out, tally);
        })
    }

    fn run_timers(&mut self) {
        let now = self.clock.now();
        for (number, mount) in self.mounts.iter_mut().enumerate() {
            if mount.core.next_deadline().is_some_and(|deadline| deadline <= now) {
                let mut outbox = self.reactor.outbox();
                let mut out = Connection { outbox: &mut outbox, link: &mut mount.link };
                mount.core.handle_timeout(now, &mut out, &mut self.tally);
            }
            if std::mem::take(&mut mount.link.wants_session) {
                let address = self.addresses[number % self.addresses.len()];
                let (host, port) = (address.ip().to_string(), address.port());
                let session = self.reactor.connect(&host, port, &ConnectConfig::default());
                mount.link.session = Some(session);
                let place = session.index as usize;
                if self.by_session.len() <= place {
                    self.by_session.resize(place + 1, usize::MAX);
                }
                self.by_session[place] = number;
            }
        }
    }
}

/// An update of an item: those of the directory are for the consumer.
#[inline]
fn is_update(bytes: &[u8]) -> bool {
    MsgHeader::decode(bytes).is_ok_and(|header| {
        std::hint::black_box(header.stream_id);
        header.class == MsgClass::Update && header.domain == Domain::MARKET_PRICE
    })
}
