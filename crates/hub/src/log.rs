//! What connections of non-interactive providers can have logged, in bounds.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_channel::{CloseReason, LeftOut, SessionId, Throttle, Time};

/// Lines of one kind are counted for so long before the count is logged.
const INTERVAL: Duration = Duration::from_secs(10);

/// Lines of each kind in that time.
const LINES: u32 = 20;

/// The log of those who connect: who came, who went, who was not let in.
pub(crate) struct ConnectionLog {
    opened: Throttle,
    closed: Throttle,
    rejected: Throttle,
    /// Nothing can be accepted: told at once, whatever else is.
    no_descriptors: Throttle,
}

impl ConnectionLog {
    pub(crate) const fn new() -> Self {
        Self {
            opened: Throttle::new(LINES, INTERVAL),
            closed: Throttle::new(LINES, INTERVAL),
            rejected: Throttle::new(LINES, INTERVAL),
            no_descriptors: Throttle::new(1, INTERVAL),
        }
    }

    pub(crate) fn opened(&mut self, now: Time, session: SessionId, peer: SocketAddr) {
        if self.opened.allows(now) {
            tracing::info!(?session, %peer, "a provider connected");
        }
    }

    pub(crate) fn closed(&mut self, now: Time, session: SessionId, reason: &CloseReason) {
        if self.closed.allows(now) {
            tracing::info!(?session, %reason, "a provider is gone");
        }
    }

    pub(crate) fn rejected(&mut self, now: Time, peer: SocketAddr, reason: &CloseReason) {
        match reason {
            CloseReason::NoDescriptors { .. } => {
                if self.no_descriptors.allows(now) {
                    tracing::error!(%peer, %reason, "no provider can be accepted");
                }
            }
            _ => {
                if self.rejected.allows(now) {
                    tracing::warn!(%peer, %reason, "a provider was refused");
                }
            }
        }
    }

    pub(crate) fn accept_failed(&mut self, now: Time, error: &str) {
        if self.no_descriptors.allows(now) {
            tracing::error!(error, "no provider can be accepted");
        }
    }

    /// When [`report`](Self::report) has something to say.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let Self { opened, closed, rejected, no_descriptors } = self;
        let deadlines = [opened, closed, rejected, no_descriptors].map(Throttle::deadline);
        deadlines.into_iter().flatten().min()
    }

    /// Logs how many lines were left out.
    pub(crate) fn report(&mut self, now: Time) {
        if let Some(LeftOut { count, seconds }) = self.opened.take_left_out(now) {
            tracing::info!(count, seconds, "more providers connected");
        }
        if let Some(LeftOut { count, seconds }) = self.closed.take_left_out(now) {
            tracing::info!(count, seconds, "more providers are gone");
        }
        if let Some(LeftOut { count, seconds }) = self.rejected.take_left_out(now) {
            tracing::warn!(count, seconds, "more providers were refused");
        }
        if let Some(LeftOut { count, seconds }) = self.no_descriptors.take_left_out(now) {
            tracing::error!(count, seconds, "more providers could not be accepted");
        }
    }
}
