//! RSSL consumers of one or more servers on one loop.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::{
    ConsumerConfig, ConsumerCore, ConsumerHandler, ConsumerInput, ConsumerOutputs, ItemSpec, Login,
    Server,
};
use tapeline_channel::{
    ConnectConfig, Outbox, Reactor, ReactorConfig, Sent, SessionEvent, SessionId, random_seed,
};
use tapeline_time::{MonotonicClock, Time};

use crate::BenchError;

/// Deadlines of consumers that have all they want are looked at once in so
/// many turns.
const TURNS_PER_TIMERS: u32 = 1024;

/// How long a consumer waits for an image. Longer than anybody here does.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(120);

/// What hears the consumers, and may read messages before they do.
pub(crate) trait Reader: ConsumerHandler {
    /// Reads a message of a client by itself. False leaves it to the consumer.
    fn takes(&mut self, client: usize, message: &[u8]) -> bool;
}

/// Consumers that share a loop; clients are counted from 0.
pub(crate) struct Consumers {
    reactor: Reactor,
    clock: MonotonicClock,
    /// Of each server; clients take them in turn.
    addresses: Vec<SocketAddr>,
    all: Vec<Client>,
    /// Clients by the place of their session.
    by_session: Vec<usize>,
    turn: u32,
}

struct Client {
    core: ConsumerCore,
    link: Link,
}

#[derive(Default)]
struct Link {
    session: Option<SessionId>,
    wants_session: bool,
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
        self.link.session.map_or(Sent::Gone, |session| self.outbox.send(session, message))
    }

    fn disconnect(&mut self, reason: &str) {
        if let Some(session) = self.link.session.take() {
            self.outbox.close(session, reason);
        }
    }
}

/// The consumer of a client, which has asked for items.
pub(crate) fn core_of(
    number: usize,
    address: SocketAddr,
    (service, items): (&str, impl Iterator<Item = String>),
    (now, out): (Time, &mut impl ConsumerOutputs),
) -> Result<ConsumerCore, BenchError> {
    let server = Server::new(address.ip().to_string(), address.port());
    let mut config = ConsumerConfig::new([server], Login::new(format!("bench-{number}")));
    config.obey_open_window = false;
    config.request_timeout = REQUEST_TIMEOUT;
    let mut core = ConsumerCore::new(config);
    let mut requests = core.requests(now, out);
    for item in items {
        requests.open(&ItemSpec::new(service, &item))?;
    }
    Ok(core)
}

impl Consumers {
    /// None yet; those to come are spread over these servers.
    pub(crate) fn of(addresses: &[SocketAddr]) -> Result<Self, BenchError> {
        let config = ReactorConfig { seed: random_seed(), ..ReactorConfig::default() };
        Ok(Self {
            reactor: Reactor::new(config)?,
            clock: MonotonicClock::start(),
            addresses: addresses.to_vec(),
            all: Vec::new(),
            by_session: Vec::new(),
            turn: 0,
        })
    }

    /// One more client, which opens these items when it is connected.
    pub(crate) fn add(
        &mut self,
        service: &str,
        items: impl Iterator<Item = String>,
    ) -> Result<(), BenchError> {
        let number = self.all.len();
        let address = self.address(number);
        let mut link = Link::default();
        let mut outbox = self.reactor.outbox();
        let mut out = Connection { outbox: &mut outbox, link: &mut link };
        let core = core_of(number, address, (service, items), (self.clock.now(), &mut out))?;
        self.all.push(Client { core, link });
        Ok(())
    }

    fn address(&self, client: usize) -> SocketAddr {
        self.addresses[client % self.addresses.len()]
    }

    /// Reads and writes what there is. As long as somebody waits for something,
    /// deadlines are looked at in every turn.
    pub(crate) fn poll<R: Reader>(&mut self, is_waiting: bool, reader: &mut R) -> usize {
        self.turn = self.turn.wrapping_add(1);
        if is_waiting || self.turn.is_multiple_of(TURNS_PER_TIMERS) {
            self.run_timers(reader);
        }
        let Self { reactor, all, by_session, clock, .. } = self;
        let now = clock.now();
        reactor.poll(now, Some(Duration::ZERO), |event, outbox| {
            let session = match &event {
                SessionEvent::Message { session, .. }
                | SessionEvent::Drained { session }
                | SessionEvent::Opened { session, .. }
                | SessionEvent::Closed { session, .. } => *session,
                _ => return,
            };
            let Some((number, client)) = by_session
                .get(session.index as usize)
                .and_then(|number| Some((*number, all.get_mut(*number)?)))
                .filter(|(_, client)| client.link.session == Some(session))
            else {
                return;
            };
            let text;
            let input = match event {
                SessionEvent::Message { bytes, .. } if reader.takes(number, bytes) => return,
                SessionEvent::Message { bytes, .. } => ConsumerInput::Message(bytes),
                SessionEvent::Drained { .. } => ConsumerInput::Drained,
                SessionEvent::Opened { .. } => ConsumerInput::Opened,
                SessionEvent::Closed { reason, .. } => {
                    client.link.session = None;
                    text = reason.to_string();
                    ConsumerInput::Closed { reason: &text }
                }
                _ => return,
            };
            let mut out = Connection { outbox, link: &mut client.link };
            client.core.handle(now, input, &mut out, reader);
        })
    }

    fn run_timers<R: Reader>(&mut self, reader: &mut R) {
        let now = self.clock.now();
        for number in 0..self.all.len() {
            let address = self.address(number);
            let Client { core, link } = &mut self.all[number];
            if core.next_deadline().is_some_and(|deadline| deadline <= now) {
                let mut outbox = self.reactor.outbox();
                core.handle_timeout(now, &mut Connection { outbox: &mut outbox, link }, reader);
            }
            if std::mem::take(&mut link.wants_session) {
                let (host, port) = (address.ip().to_string(), address.port());
                let session = self.reactor.connect(&host, port, &ConnectConfig::default());
                link.session = Some(session);
                let place = session.index as usize;
                if self.by_session.len() <= place {
                    self.by_session.resize(place + 1, usize::MAX);
                }
                self.by_session[place] = number;
            }
        }
    }
}
