//! A provider on sockets.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_channel::system::Clock as _;
use tapeline_channel::{
    ChannelCounters, Kernel, ListenConfig, ListenerId, Outbox, Reactor, ReactorConfig, Sent,
    SessionEvent, SessionId, System, Wakeup, random_seed,
};
use tapeline_rwf::patch_stream_id;

use super::core::{ProviderCore, ProviderInput, ProviderOutputs};
use super::{ProviderConfig, ProviderHandler, Responses};
use crate::too_long::refused;
use crate::{ApiError, ProviderCounters};

/// An interactive provider: listens, and answers what clients ask for.
///
/// ```no_run
/// use tapeline_api::{
///     Provider, ProviderConfig, ProviderEvent, RefreshHead, Responses, ServiceSpec,
/// };
/// use tapeline_rwf::Real;
///
/// let config = ProviderConfig::new([ServiceSpec::new(1, "FEED").entry()]);
/// let mut provider = Provider::new(config)?;
/// provider.listen("0.0.0.0:14002".parse()?)?;
/// loop {
///     provider.poll(None, &mut |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
///         if let ProviderEvent::Request { stream, .. } = event {
///             let quote = [(22, Real::decimal(4512, 2).into())];
///             let _ = responses.refresh(stream, &RefreshHead::default(), &quote);
///         }
///     });
/// }
/// # #[allow(unreachable_code)]
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Provider<S: System = Kernel> {
    core: ProviderCore,
    reactor: Reactor<S>,
    clock: S::Clock,
}

struct Connections<'o, 'r, S: System>(&'o mut Outbox<'r, S>);

impl<S: System> ProviderOutputs for Connections<'_, '_, S> {
    #[inline]
    fn send(&mut self, client: SessionId, message: &[u8]) -> Sent {
        self.0.send(client, message)
    }

    #[inline]
    fn send_on(&mut self, client: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        self.0.send_with(client, message, |copy| {
            // Whoever encoded it made it long enough for a stream id.
            let _ = patch_stream_id(copy, stream_id);
        })
    }

    fn close(&mut self, client: SessionId, reason: &str) {
        tracing::info!(?client, reason, "closing a client");
        self.0.close(client, reason);
    }
}

impl Provider {
    /// A provider that does not listen yet.
    ///
    /// Errors: the system gives no socket events.
    pub fn new(config: ProviderConfig) -> Result<Self, ApiError> {
        let reactor = ReactorConfig { seed: random_seed(), ..ReactorConfig::default() };
        Self::with_reactor(config, reactor)
    }

    /// The same with another configuration of its sockets.
    ///
    /// Errors: as of [`new`](Self::new).
    pub fn with_reactor(config: ProviderConfig, reactor: ReactorConfig) -> Result<Self, ApiError> {
        Ok(Self::with_system(config, reactor, Kernel::new()?))
    }

    /// Wakes a waiting [`poll`](Self::poll) from another thread.
    pub fn wakeup(&self) -> Wakeup {
        self.reactor.wakeup()
    }
}

impl<S: System> Provider<S> {
    /// The same with sockets, and the time, of another system.
    pub fn with_system(config: ProviderConfig, reactor: ReactorConfig, system: S) -> Self {
        Self {
            core: ProviderCore::new(config),
            clock: system.clock(),
            reactor: Reactor::with_system(reactor, system),
        }
    }

    /// Listens at an address, at port 0 for one that is free. May be called
    /// several times.
    ///
    /// Errors: the address cannot be listened at.
    pub fn listen(&mut self, address: SocketAddr) -> Result<SocketAddr, ApiError> {
        self.listen_with(address, &ListenConfig::default()).map(|(_, address)| address)
    }

    /// The same with limits, buffers and whatever else a listener has.
    ///
    /// Errors: as of [`listen`](Self::listen).
    pub fn listen_with(
        &mut self,
        address: SocketAddr,
        config: &ListenConfig,
    ) -> Result<(ListenerId, SocketAddr), ApiError> {
        let listener = self.reactor.listen(address, config)?;
        let address = self.reactor.local_addr(listener).unwrap_or(address);
        tracing::info!(%address, "provider listens");
        Ok((listener, address))
    }

    /// Reads and writes what there is, and waits for up to `timeout` if there
    /// is nothing; `None`: for as long as it takes. Returns how much was done.
    pub fn poll(&mut self, timeout: Option<Duration>, handler: &mut impl ProviderHandler) -> usize {
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
        handler: &mut impl ProviderHandler,
        events: &mut usize,
    ) -> usize {
        let core = &mut self.core;
        self.reactor.poll(self.clock.now(), timeout, |event, outbox| {
            *events += 1;
            let out = &mut Connections(outbox);
            match event {
                SessionEvent::Message { session, bytes } => {
                    core.handle(ProviderInput::Message(session, bytes), out, handler);
                }
                SessionEvent::TooLong { session, head, length, max } => {
                    tracing::warn!(?session, length, max, "a message of a client is too long");
                    if let Some(answer) = refused(head, length, max) {
                        let _ = out.0.send(session, &answer);
                    }
                }
                SessionEvent::Opened { session, peer, .. } => {
                    tracing::info!(?session, %peer, "client connected");
                    core.handle(ProviderInput::Opened(session), out, handler);
                }
                SessionEvent::Drained { session } => {
                    core.handle(ProviderInput::Drained(session), out, handler);
                }
                SessionEvent::Closed { session, reason } => {
                    tracing::info!(?session, %reason, "client gone");
                    core.handle(ProviderInput::Closed(session, &reason.to_string()), out, handler);
                }
                SessionEvent::Rejected { peer, reason, .. } => {
                    tracing::warn!(%peer, %reason, "client rejected");
                }
                SessionEvent::AcceptFailed { text, .. } => {
                    tracing::error!(error = text, "no client can be accepted");
                }
                // Its listener has none.
                SessionEvent::Text(_) => {}
            }
        })
    }

    /// Sends outside of [`poll`](Self::poll). What is sent goes out with the
    /// next poll, or with [`flush`](Self::flush).
    pub fn with<R>(&mut self, send: impl FnOnce(&mut Responses<'_>) -> R) -> R {
        let mut outbox = self.reactor.outbox();
        let mut out = Connections(&mut outbox);
        send(&mut self.core.responses(&mut out))
    }

    /// What it has done so far, and what there is now.
    pub fn counters(&self) -> ProviderCounters {
        self.core.counters()
    }

    /// What its sockets have done so far.
    pub fn channel_counters(&self) -> ChannelCounters {
        self.reactor.counters_so_far()
    }

    /// Writes out what was sent.
    pub fn flush(&mut self) {
        self.reactor.flush(self.clock.now());
    }
}
