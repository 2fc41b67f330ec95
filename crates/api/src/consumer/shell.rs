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

use super::core::{ConsumerCore, ConsumerInput, ConsumerOutputs};
use super::json::{Edge, Heard, Words};
use super::{ConsumerConfig, ConsumerHandler, DictionarySource, Handle, ItemSpec, Requests};
use crate::too_long::{Ended, ended};
use crate::{ApiError, ConsumerCounters, Protocol};

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
    core: ConsumerCore,
    reactor: Reactor<S>,
    clock: S::Clock,
    connect: ConnectConfig,
    protocol: Protocol,
    /// Where it is JSON.
    edge: Option<Box<Edge>>,
    link: Link,
}

/// The connection, and what the core wants of it that only the reactor can do.
#[derive(Debug, Default)]
struct Link {
    session: Option<SessionId>,
    dial: Option<usize>,
}

struct Connection<'o, 'r, S: System> {
    outbox: &'o mut Outbox<'r, S>,
    link: &'o mut Link,
    /// To say it in JSON.
    words: Option<Words<'o>>,
}

impl<S: System> ConsumerOutputs for Connection<'_, '_, S> {
    fn connect(&mut self, server: usize) {
        self.link.dial = Some(server);
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Sent {
        match (self.link.session, &mut self.words) {
            (Some(session), None) => self.outbox.send(session, message),
            (Some(session), Some(words)) => {
                let alone = words.writer.sends_alone();
                words.writer.send(message, |text| self.outbox.send_text(session, &[text], alone))
            }
            (None, _) => Sent::Gone,
        }
    }

    fn disconnect(&mut self, reason: &str) {
        self.link.dial = None;
        if let Some(session) = self.link.session.take() {
            tracing::info!(reason, "closing the connection");
            self.outbox.close(session, reason);
        }
    }

    fn directory(&mut self, directory: &Directory) {
        if let Some(words) = &self.words {
            words.names.learn(directory);
        }
    }

    fn dictionary(&mut self, dictionary: &FieldDictionary) {
        if let Some(words) = &mut self.words {
            words.writer.learn(dictionary);
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
        let edge = (config.protocol == Protocol::Json).then(|| match &config.dictionary {
            DictionarySource::Given(dictionary) => Edge::new(Some(dictionary)),
            DictionarySource::None | DictionarySource::Download => Edge::new(None),
        });
        Ok(Self {
            protocol: config.protocol,
            core: ConsumerCore::new(config),
            clock: system.clock(),
            reactor: Reactor::with_system(reactor, system),
            connect,
            edge: edge.map(Box::new),
            link: Link::default(),
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
        let until = self.core.next_deadline().map(|deadline| deadline.since(now));
        let wait = match (timeout, until) {
            _ if has_answered => Some(Duration::ZERO),
            (Some(timeout), Some(until)) => Some(timeout.min(until)),
            (timeout, until) => timeout.or(until),
        };
        let (core, link, edge) = (&mut self.core, &mut self.link, &mut self.edge);
        let mut edge = edge.as_deref_mut();
        let work = self.reactor.poll(now, wait, |event, outbox| {
            *events += 1;
            if link.session.is_none() || session_of(&event) != link.session {
                return;
            }
            let reason;
            let ended_by;
            let input = match event {
                SessionEvent::Message { bytes, .. } => ConsumerInput::Message(bytes),
                SessionEvent::Text(TextEvent::Frame { session, text }) => {
                    let Some(edge) = &mut edge else { return };
                    return edge.frame(text, |heard, words| {
                        // The core may have closed it in the middle of a frame.
                        if link.session != Some(session) {
                            return;
                        }
                        match heard {
                            Heard::Ping => {
                                // A server that reads nothing will be missed by the core.
                                let _ = outbox.send_text(session, &[PONG], false);
                            }
                            Heard::Message(bytes) => {
                                let out = &mut Connection { outbox, link, words: Some(words) };
                                core.handle(now, ConsumerInput::Message(bytes), out, handler);
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
                    link.session = None;
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
            let words = edge.as_deref_mut().map(Edge::words);
            core.handle(now, input, &mut Connection { outbox, link, words }, handler);
        });
        self.dial();
        work
    }

    /// Hands in the answers to posts that were not sent. Whether there were
    /// any.
    fn answer_unsent(&mut self, handler: &mut impl ConsumerHandler) -> bool {
        let Some(edge) = &mut self.edge else { return false };
        let now = self.clock.now();
        let count = edge.answers();
        for _ in 0..count {
            let Some(answer) = edge.next_answer() else { break };
            let mut outbox = self.reactor.outbox();
            let words = Some(edge.words());
            let out = &mut Connection { outbox: &mut outbox, link: &mut self.link, words };
            self.core.handle(now, ConsumerInput::Message(&answer), out, handler);
        }
        count > 0
    }

    fn run_timers(&mut self, handler: &mut impl ConsumerHandler) {
        let now = self.clock.now();
        if self.core.next_deadline().is_some_and(|deadline| deadline <= now) {
            let mut outbox = self.reactor.outbox();
            let words = self.edge.as_deref_mut().map(Edge::words);
            let out = &mut Connection { outbox: &mut outbox, link: &mut self.link, words };
            self.core.handle_timeout(now, out, handler);
        }
        self.dial();
    }

    fn dial(&mut self) {
        if let Some(server) = self.link.dial.take()
            && let Some(server) = self.core.server(server)
        {
            tracing::info!(%server, "connecting");
            if let Some(edge) = &mut self.edge {
                edge.restart();
            }
            let connect = self.protocol.configured(&self.connect, server);
            self.link.session = Some(self.reactor.connect(&server.host, server.port, &connect));
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
        let words = self.edge.as_deref_mut().map(Edge::words);
        let mut out = Connection { outbox: &mut outbox, link: &mut self.link, words };
        ask(&mut self.core.requests(now, &mut out))
    }

    /// What it has done so far, and what there is now.
    pub fn counters(&self) -> ConsumerCounters {
        self.core.counters()
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
