//! A consumer on sockets.

use std::time::Duration;

use tapeline_channel::{
    ConnectConfig, MonotonicClock, Outbox, Reactor, ReactorConfig, Sent, SessionEvent, SessionId,
    Wakeup, random_seed,
};

use super::core::{ConsumerCore, ConsumerInput, ConsumerOutputs};
use super::{ConsumerConfig, ConsumerHandler, Handle, ItemSpec, Requests};
use crate::ApiError;

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
pub struct Consumer {
    core: ConsumerCore,
    reactor: Reactor,
    clock: MonotonicClock,
    connect: ConnectConfig,
    link: Link,
}

/// The connection, and what the core wants of it that only the reactor can do.
#[derive(Debug, Default)]
struct Link {
    session: Option<SessionId>,
    dial: Option<usize>,
}

struct Connection<'o, 'r> {
    outbox: &'o mut Outbox<'r>,
    link: &'o mut Link,
}

impl ConsumerOutputs for Connection<'_, '_> {
    fn connect(&mut self, server: usize) {
        self.link.dial = Some(server);
    }

    #[inline]
    fn send(&mut self, message: &[u8]) -> Sent {
        match self.link.session {
            Some(session) => self.outbox.send(session, message),
            None => Sent::Gone,
        }
    }

    fn disconnect(&mut self, reason: &str) {
        self.link.dial = None;
        if let Some(session) = self.link.session.take() {
            tracing::info!(reason, "closing the connection");
            self.outbox.close(session, reason);
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
        if config.servers.is_empty() {
            return Err(ApiError::NoServers);
        }
        Ok(Self {
            core: ConsumerCore::new(config),
            reactor: Reactor::new(reactor)?,
            clock: MonotonicClock::start(),
            connect,
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
        let now = self.clock.now();
        let until = self.core.next_deadline().map(|deadline| deadline.since(now));
        let wait = match (timeout, until) {
            (Some(timeout), Some(until)) => Some(timeout.min(until)),
            (timeout, until) => timeout.or(until),
        };
        let (core, link) = (&mut self.core, &mut self.link);
        let work = self.reactor.poll(now, wait, |event, outbox| {
            *events += 1;
            let is_ours = |session: SessionId| link.session == Some(session);
            let input = match &event {
                SessionEvent::Message { session, bytes } if is_ours(*session) => {
                    ConsumerInput::Message(bytes)
                }
                SessionEvent::Opened { session, peer, .. } if is_ours(*session) => {
                    tracing::info!(%peer, "connected");
                    ConsumerInput::Opened
                }
                SessionEvent::Closed { session, reason } if is_ours(*session) => {
                    link.session = None;
                    tracing::warn!(%reason, "connection lost");
                    let reason = reason.to_string();
                    let out = &mut Connection { outbox, link };
                    return core.handle(
                        now,
                        ConsumerInput::Closed { reason: &reason },
                        out,
                        handler,
                    );
                }
                _ => return,
            };
            core.handle(now, input, &mut Connection { outbox, link }, handler);
        });
        self.dial();
        work
    }

    fn run_timers(&mut self, handler: &mut impl ConsumerHandler) {
        let now = self.clock.now();
        if self.core.next_deadline().is_some_and(|deadline| deadline <= now) {
            let mut outbox = self.reactor.outbox();
            let out = &mut Connection { outbox: &mut outbox, link: &mut self.link };
            self.core.handle_timeout(now, out, handler);
        }
        self.dial();
    }

    fn dial(&mut self) {
        if let Some(server) = self.link.dial.take()
            && let Some(server) = self.core.server(server)
        {
            tracing::info!(%server, "connecting");
            self.link.session =
                Some(self.reactor.connect(&server.host, server.port, &self.connect));
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
        let mut out = Connection { outbox: &mut outbox, link: &mut self.link };
        ask(&mut self.core.requests(now, &mut out))
    }

    /// Polls until `go_on` says that it is enough; it is asked after each poll.
    pub fn run<H: ConsumerHandler>(&mut self, handler: &mut H, go_on: impl Fn(&H) -> bool) {
        while go_on(handler) {
            self.poll(None, handler);
        }
    }

    /// Wakes a waiting [`poll`](Self::poll) from another thread.
    pub fn wakeup(&self) -> Wakeup {
        self.reactor.wakeup()
    }
}
