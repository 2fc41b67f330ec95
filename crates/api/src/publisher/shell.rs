//! A publisher on sockets.

use std::time::Duration;

use tapeline_channel::system::Clock as _;
use tapeline_channel::{
    ChannelCounters, ConnectConfig, Kernel, Outbox, Reactor, ReactorConfig, Sent, SessionEvent,
    SessionId, System, Wakeup, random_seed,
};
use tapeline_rwf::patch_stream_id;

use super::core::{PublisherCore, PublisherInput, PublisherOutputs};
use super::{PublisherConfig, PublisherHandler, Submissions};
use crate::{ApiError, PublisherCounters};

/// A non-interactive provider: connects to a hub, and publishes what it has.
///
/// ```no_run
/// use tapeline_api::{
///     Login, PublishSpec, Publisher, PublisherConfig, PublisherEvent, RefreshHead, ServiceSpec,
///     Submissions,
/// };
/// use tapeline_rwf::Real;
///
/// let hubs = ["hub1:14003".parse()?];
/// let services = [ServiceSpec::new(1, "NI_FEED").entry()];
/// let mut publisher =
///     Publisher::new(PublisherConfig::new(hubs, Login::new("feed"), services))?;
/// let item = publisher.with(|submissions| {
///     let item = submissions.open(&PublishSpec::new("NI_FEED", "TRI.N"))?;
///     let quote = [(22, Real::decimal(4512, 2).into())];
///     submissions.refresh(item, &RefreshHead::default(), &quote)?;
///     Ok::<_, tapeline_api::ApiError>(item)
/// })?;
/// # let _ = item;
/// loop {
///     publisher.poll(None, &mut |_: PublisherEvent<'_>, _: &mut Submissions<'_>| {});
/// }
/// # #[allow(unreachable_code)]
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Publisher<S: System = Kernel> {
    core: PublisherCore,
    reactor: Reactor<S>,
    clock: S::Clock,
    connect: ConnectConfig,
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
}

impl<S: System> PublisherOutputs for Connection<'_, '_, S> {
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

    #[inline]
    fn send_on(&mut self, stream_id: i32, message: &[u8]) -> Sent {
        match self.link.session {
            Some(session) => self.outbox.send_with(session, message, |copy| {
                // Whoever encoded it made it long enough for a stream id.
                let _ = patch_stream_id(copy, stream_id);
            }),
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

impl Publisher {
    /// A publisher that connects as soon as it is [polled](Self::poll).
    ///
    /// Errors: no server is configured; the system gives no socket events.
    pub fn new(config: PublisherConfig) -> Result<Self, ApiError> {
        let reactor = ReactorConfig { seed: random_seed(), ..ReactorConfig::default() };
        Self::with_channel(config, reactor, ConnectConfig::default())
    }

    /// The same with another configuration of its socket.
    ///
    /// Errors: as of [`new`](Self::new).
    pub fn with_channel(
        config: PublisherConfig,
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

impl<S: System> Publisher<S> {
    /// The same with sockets, and the time, of another system.
    ///
    /// Errors: no server is configured.
    pub fn with_system(
        config: PublisherConfig,
        reactor: ReactorConfig,
        connect: ConnectConfig,
        system: S,
    ) -> Result<Self, ApiError> {
        if config.servers.is_empty() {
            return Err(ApiError::NoServers);
        }
        Ok(Self {
            core: PublisherCore::new(config),
            clock: system.clock(),
            reactor: Reactor::with_system(reactor, system),
            connect,
            link: Link::default(),
        })
    }

    /// Reads and writes what there is, and waits for up to `timeout` if there
    /// is nothing; `None`: for as long as it takes. Returns how much was done.
    pub fn poll(
        &mut self,
        timeout: Option<Duration>,
        handler: &mut impl PublisherHandler,
    ) -> usize {
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
        handler: &mut impl PublisherHandler,
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
                    PublisherInput::Message(bytes)
                }
                SessionEvent::Opened { session, peer, .. } if is_ours(*session) => {
                    tracing::info!(%peer, "connected");
                    PublisherInput::Opened
                }
                SessionEvent::Drained { session } if is_ours(*session) => PublisherInput::Drained,
                SessionEvent::Closed { session, reason } if is_ours(*session) => {
                    link.session = None;
                    tracing::warn!(%reason, "connection lost");
                    let reason = reason.to_string();
                    let out = &mut Connection { outbox, link };
                    return core.handle(
                        now,
                        PublisherInput::Closed { reason: &reason },
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

    fn run_timers(&mut self, handler: &mut impl PublisherHandler) {
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

    /// Publishes outside of [`poll`](Self::poll). What is sent goes out with
    /// the next poll, or with [`flush`](Self::flush).
    pub fn with<R>(&mut self, publish: impl FnOnce(&mut Submissions<'_>) -> R) -> R {
        let mut outbox = self.reactor.outbox();
        let mut out = Connection { outbox: &mut outbox, link: &mut self.link };
        publish(&mut self.core.submissions(&mut out))
    }

    /// What it has done so far, and what there is now.
    pub fn counters(&self) -> PublisherCounters {
        self.core.counters()
    }

    /// What its socket has done so far.
    pub fn channel_counters(&self) -> ChannelCounters {
        self.reactor.counters_so_far()
    }

    /// Writes out what was sent.
    pub fn flush(&mut self) {
        self.reactor.flush(self.clock.now());
    }
}
