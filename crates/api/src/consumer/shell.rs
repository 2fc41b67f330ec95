//! A consumer on sockets.

use std::time::Duration;

use tapeline_channel::system::Clock as _;
use tapeline_channel::{
    ChannelCounters, ConnectConfig, Kernel, Outbox, Reactor, ReactorConfig, Sent, SessionEvent,
    SessionId, System, TextEvent, Wakeup, random_seed,
};
use tapeline_json::PONG;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::directory::Directory;
use tapeline_time::Time;

use super::core::{ConsumerCore, ConsumerInput, ConsumerOutputs};
use super::json::{Edge, Heard, Words};
use super::set::SetCore;
use super::standby::ServerOrder;
use super::{ConsumerConfig, ConsumerHandler, DictionarySource, Handle, ItemSpec, Requests};
use crate::reconnect::next_in_turn;
use crate::too_long::{Ended, ended};
use crate::{ApiError, ConsumerCounters, Protocol, Server};

/// A consumer: asks for items, and is told of all that happens to them.
///
/// ```no_run
/// use tapeline_api::{Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Requests};
///
/// let servers = ["mds1:14002".parse()?, "mds2:14002".parse()?];
/// let mut consumer = Consumer::new(ConsumerConfig::new(servers, Login::new("user")))?;
/// consumer.open(&ItemSpec::new("FEED", "TRI.N"))?;
/// loop {
///     consumer.poll(None, &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
///         if let ConsumerEvent::Update { msg, .. } = event {
///             println!("{:?}", msg.payload);
///         }
///     });
/// }
/// # #[allow(unreachable_code)]
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Consumer<S: System = Kernel> {
    logic: Logic,
    reactor: Reactor<S>,
    clock: S::Clock,
    connect: ConnectConfig,
    protocol: Protocol,
    /// One for each server that is connected at a time.
    links: Vec<Link>,
    /// As many, where they speak JSON.
    edges: Vec<Edge>,
}

/// Of one server, or of several at a time.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "the usual case is not behind a pointer")]
enum Logic {
    One(ConsumerCore),
    Set(Box<SetCore>),
}

/// A connection, and what the core wants of it that only the reactor can do.
#[derive(Clone, Debug, Default)]
struct Link {
    session: Option<SessionId>,
    dial: Option<usize>,
}

struct Connections<'o, 'r, S: System> {
    outbox: &'o mut Outbox<'r, S>,
    links: &'o mut [Link],
    /// The one that is meant.
    at: usize,
    words: AllWords<'o>,
}

/// How to say it in JSON, at each connection.
struct AllWords<'o> {
    /// The connection that is dealt with. It may be reading a frame.
    own: usize,
    of_own: Option<Words<'o>>,
    before: &'o mut [Edge],
    after: &'o mut [Edge],
}

impl<'o> AllWords<'o> {
    /// The words of all connections; there are none unless they speak JSON.
    #[inline]
    fn of(edges: &'o mut [Edge], own: usize) -> Self {
        if edges.is_empty() {
            return Self { own, of_own: None, before: &mut [], after: &mut [] };
        }
        let (before, edge, after) = split(edges, own);
        Self { own, of_own: Some(edge.words()), before, after }
    }

    #[inline]
    fn at(&mut self, place: usize) -> Option<Words<'_>> {
        match place.checked_sub(self.own) {
            Some(0) => {
                let Words { names, writer } = self.of_own.as_mut()?;
                Some(Words { names, writer })
            }
            None => self.before.get_mut(place).map(Edge::words),
            Some(behind) => self.after.get_mut(behind - 1).map(Edge::words),
        }
    }
}

/// The edge of a place, and those before and behind it.
fn split(edges: &mut [Edge], place: usize) -> (&mut [Edge], &mut Edge, &mut [Edge]) {
    let (before, rest) = edges.split_at_mut(place);
    let (edge, after) = rest.split_first_mut().expect("each connection has an edge");
    (before, edge, after)
}

impl<S: System> ConsumerOutputs for Connections<'_, '_, S> {
    fn turn_to(&mut self, place: usize) {
        self.at = place;
    }

    fn connect(&mut self, server: usize) {
        self.links[self.at].dial = Some(server);
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Sent {
        let Some(session) = self.links[self.at].session else { return Sent::Gone };
        match self.words.at(self.at) {
            None => self.outbox.send(session, message),
            Some(Words { writer, .. }) => {
                let alone = writer.sends_alone();
                writer.send(message, |text| self.outbox.send_text(session, &[text], alone))
            }
        }
    }

    fn disconnect(&mut self, reason: &str) {
        let link = &mut self.links[self.at];
        link.dial = None;
        if let Some(session) = link.session.take() {
            tracing::info!(reason, "closing the connection");
            self.outbox.close(session, reason);
        }
    }

    fn directory(&mut self, directory: &Directory) {
        if let Some(words) = self.words.at(self.at) {
            words.names.learn(directory);
        }
    }

    fn dictionary(&mut self, dictionary: &FieldDictionary) {
        if let Some(words) = self.words.at(self.at) {
            words.writer.learn(dictionary);
        }
    }
}

impl Logic {
    #[inline]
    fn handle<S: System>(
        &mut self,
        place: usize,
        now: Time,
        input: ConsumerInput<'_>,
        out: &mut Connections<'_, '_, S>,
        handler: &mut impl ConsumerHandler,
    ) {
        match self {
            Self::One(core) => core.handle(now, input, out, handler),
            Self::Set(set) => set.handle(place, now, input, out, handler),
        }
    }

    fn next_deadline(&mut self) -> Option<Time> {
        match self {
            Self::One(core) => core.next_deadline(),
            Self::Set(set) => set.next_deadline(),
        }
    }

    fn server(&self, place: usize, server: usize) -> Option<&Server> {
        match self {
            Self::One(core) => core.server(server),
            Self::Set(set) => set.server(place, server),
        }
    }
}

impl Consumer {
    /// A consumer that connects as soon as it is [polled](Self::poll).
    ///
    /// Errors: no server is configured; the system gives no socket events.
    pub fn new(config: ConsumerConfig) -> Result<Self, ApiError> {
        let reactor = ReactorConfig { seed: random_seed(), ..ReactorConfig::default() };
        Self::with_channel(config, reactor, ConnectConfig::default())
    }

    /// The same with another configuration of its socket.
    ///
    /// Errors: as of [`new`](Self::new).
    pub fn with_channel(
        config: ConsumerConfig,
        reactor: ReactorConfig,
        connect: ConnectConfig,
    ) -> Result<Self, ApiError> {
        Self::with_system(config, reactor, connect, Kernel::new()?)
    }

    /// Wakes a waiting [`poll`](Self::poll) from another thread.
    pub fn wakeup(&self) -> Wakeup {
        self.reactor.wakeup()
    }
}

impl<S: System> Consumer<S> {
    /// The same with sockets, and the time, of another system.
    ///
    /// Errors: no server is configured.
    pub fn with_system(
        config: ConsumerConfig,
        reactor: ReactorConfig,
        connect: ConnectConfig,
        system: S,
    ) -> Result<Self, ApiError> {
        if config.servers.is_empty() {
            return Err(ApiError::NoServers);
        }
        let first = match config.order {
            ServerOrder::InOrder => 0,
            ServerOrder::RoundRobin => next_in_turn(reactor.seed),
        };
        let protocol = config.protocol;
        let edge = |config: &ConsumerConfig| match &config.dictionary {
            DictionarySource::Given(dictionary) => Edge::new(Some(dictionary)),
            DictionarySource::None | DictionarySource::Download => Edge::new(None),
        };
        let standby = config.standby.as_ref().filter(|standby| !standby.servers.is_empty());
        let places = standby.map_or(1, |standby| standby.servers.len() + 1);
        let edges = if protocol == Protocol::Json { places } else { 0 };
        let edges = (0..edges).map(|_| edge(&config)).collect();
        let logic = match standby {
            Some(standby) => Logic::Set(Box::new(SetCore::new(&config, standby, first))),
            None => Logic::One(ConsumerCore::beginning_with(config, first)),
        };
        Ok(Self {
            logic,
            clock: system.clock(),
            reactor: Reactor::with_system(reactor, system),
            connect,
            protocol,
            links: vec![Link::default(); places],
            edges,
        })
    }

    /// Reads and writes what there is, and waits for up to `timeout` if there
    /// is nothing; `None`: for as long as it takes. Returns how much was done.
    pub fn poll(&mut self, timeout: Option<Duration>, handler: &mut impl ConsumerHandler) -> usize {
        let mut events = 0;
        let mut work = self.poll_once(timeout, handler, &mut events);
        if work > 0 && events == 0 {
            // What ended the wait is still to be read.
            work += self.poll_once(Some(Duration::ZERO), handler, &mut events);
        }
        work
    }

    fn poll_once(
        &mut self,
        timeout: Option<Duration>,
        handler: &mut impl ConsumerHandler,
        events: &mut usize,
    ) -> usize {
        self.run_timers(handler);
        let has_answered = self.answer_unsent(handler);
        let now = self.clock.now();
        let until = self.logic.next_deadline().map(|deadline| deadline.since(now));
        let wait = match (timeout, until) {
            _ if has_answered => Some(Duration::ZERO),
            (Some(timeout), Some(until)) => Some(timeout.min(until)),
            (timeout, until) => timeout.or(until),
        };
        let Self { logic, links, edges, reactor, .. } = self;
        let work = reactor.poll(now, wait, |event, outbox| {
            *events += 1;
            let Some(session) = session_of(&event) else { return };
            let Some(place) = links.iter().position(|link| link.session == Some(session)) else {
                return;
            };
            let reason;
            let ended_by;
            let input = match event {
                SessionEvent::Message { bytes, .. } => ConsumerInput::Message(bytes),
                SessionEvent::Text(TextEvent::Frame { session, text }) => {
                    if edges.is_empty() {
                        return;
                    }
                    let (before, edge, after) = split(edges, place);
                    return edge.frame(text, |heard, words| {
                        // The core may have closed it in the middle of a frame.
                        if links[place].session != Some(session) {
                            return;
                        }
                        match heard {
                            Heard::Ping => {
                                // A server that reads nothing will be missed by the core.
                                let _ = outbox.send_text(session, &[PONG], false);
                            }
                            Heard::Message(bytes) => {
                                let (before, after) = (&mut *before, &mut *after);
                                let words =
                                    AllWords { own: place, of_own: Some(words), before, after };
                                let out = &mut Connections { outbox, links, at: place, words };
                                logic.handle(
                                    place,
                                    now,
                                    ConsumerInput::Message(bytes),
                                    out,
                                    handler,
                                );
                            }
                        }
                    });
                }
                SessionEvent::Opened { peer, .. }
                | SessionEvent::Text(TextEvent::Opened { peer, .. }) => {
                    tracing::info!(%peer, "connected");
                    ConsumerInput::Opened
                }
                SessionEvent::Closed { reason: why, .. } => {
                    links[place].session = None;
                    tracing::warn!(reason = %why, "connection lost");
                    reason = why.to_string();
                    ConsumerInput::Closed { reason: &reason }
                }
                SessionEvent::TooLong { session, head, length, max } => {
                    tracing::warn!(length, max, "a message is too long; its stream is closed");
                    let Some(Ended { status, close }) = ended(head, length, max) else { return };
                    let _ = outbox.send(session, &close);
                    ended_by = status;
                    ConsumerInput::Message(&ended_by)
                }
                SessionEvent::Drained { .. } => ConsumerInput::Drained,
                SessionEvent::Rejected { .. } | SessionEvent::AcceptFailed { .. } => return,
            };
            let words = AllWords::of(edges, place);
            let out = &mut Connections { outbox, links, at: place, words };
            logic.handle(place, now, input, out, handler);
        });
        self.dial();
        work
    }

    /// Hands in the answers to posts that were not sent. Whether there were
    /// any.
    fn answer_unsent(&mut self, handler: &mut impl ConsumerHandler) -> bool {
        let now = self.clock.now();
        let mut has_answered = false;
        for place in 0..self.edges.len() {
            for _ in 0..self.edges[place].answers() {
                let Some(answer) = self.edges[place].next_answer() else { break };
                has_answered = true;
                let mut outbox = self.reactor.outbox();
                let words = AllWords::of(&mut self.edges, place);
                let links = &mut self.links;
                let out = &mut Connections { outbox: &mut outbox, links, at: place, words };
                self.logic.handle(place, now, ConsumerInput::Message(&answer), out, handler);
            }
        }
        has_answered
    }

    fn run_timers(&mut self, handler: &mut impl ConsumerHandler) {
        let now = self.clock.now();
        if self.logic.next_deadline().is_some_and(|deadline| deadline <= now) {
            let mut outbox = self.reactor.outbox();
            let (links, words) = (&mut self.links, AllWords::of(&mut self.edges, 0));
            let out = &mut Connections { outbox: &mut outbox, links, at: 0, words };
            match &mut self.logic {
                Logic::One(core) => core.handle_timeout(now, out, handler),
                Logic::Set(set) => set.handle_timeout(now, out, handler),
            }
        }
        self.dial();
    }

    fn dial(&mut self) {
        for place in 0..self.links.len() {
            if let Some(server) = self.links[place].dial.take()
                && let Some(server) = self.logic.server(place, server)
            {
                tracing::info!(%server, "connecting");
                if let Some(edge) = self.edges.get_mut(place) {
                    edge.restart();
                }
                let connect = self.protocol.configured(&self.connect, server);
                let session = self.reactor.connect(&server.host, server.port, &connect);
                self.links[place].session = Some(session);
            }
        }
    }

    /// Opens an item; see [`Requests::open`]. It is requested with the next
    /// [`poll`](Self::poll).
    ///
    /// Errors: as of [`Requests::open`].
    pub fn open(&mut self, spec: &ItemSpec<'_>) -> Result<Handle, ApiError> {
        self.with(|requests| requests.open(spec))
    }

    /// Closes an item; see [`Requests::close`].
    pub fn close(&mut self, handle: Handle) {
        self.with(|requests| requests.close(handle));
    }

    /// Asks for anything outside of [`poll`](Self::poll). What is sent goes out
    /// with the next poll.
    pub fn with<R>(&mut self, ask: impl FnOnce(&mut Requests<'_>) -> R) -> R {
        let now = self.clock.now();
        let mut outbox = self.reactor.outbox();
        let (links, words) = (&mut self.links, AllWords::of(&mut self.edges, 0));
        let mut out = Connections { outbox: &mut outbox, links, at: 0, words };
        ask(&mut match &mut self.logic {
            Logic::One(core) => core.requests(now, &mut out),
            Logic::Set(set) => set.requests(now, &mut out),
        })
    }

    /// What it has done so far, and what there is now.
    pub fn counters(&self) -> ConsumerCounters {
        match &self.logic {
            Logic::One(core) => core.counters(),
            Logic::Set(set) => set.counters(),
        }
    }

    /// What its socket has done so far.
    pub fn channel_counters(&self) -> ChannelCounters {
        self.reactor.counters_so_far()
    }

    /// Polls until `go_on` says that it is enough; it is asked after each poll.
    pub fn run<H: ConsumerHandler>(&mut self, handler: &mut H, go_on: impl Fn(&H) -> bool) {
        while go_on(handler) {
            self.poll(None, handler);
        }
    }
}

/// The session that an event is about.
const fn session_of(event: &SessionEvent<'_>) -> Option<SessionId> {
    match event {
        SessionEvent::Opened { session, .. }
        | SessionEvent::Message { session, .. }
        | SessionEvent::TooLong { session, .. }
        | SessionEvent::Drained { session }
        | SessionEvent::Text(
            TextEvent::Opened { session, .. } | TextEvent::Frame { session, .. },
        )
        | SessionEvent::Closed { session, .. } => Some(*session),
        SessionEvent::Rejected { .. } | SessionEvent::AcceptFailed { .. } => None,
    }
}
