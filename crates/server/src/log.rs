//! What connections can have logged, in bounds.

use std::time::Duration;

use tapeline_channel::{CloseReason, LeftOut, SessionEvent, TextEvent, Throttle, Time};

/// Lines of one kind are counted for so long before the count is logged.
const INTERVAL: Duration = Duration::from_secs(10);

/// Lines of each kind in that time.
const LINES: u32 = 20;

/// The log of connections: who came, who went, who was not let in.
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

    /// Logs what happened to a connection, if that is not too much.
    pub(crate) fn note(&mut self, now: Time, event: &SessionEvent<'_>) {
        match event {
            SessionEvent::Opened { session, peer, .. } if self.opened.allows(now) => {
                tracing::info!(?session, %peer, "a mount is open");
            }
            SessionEvent::Text(TextEvent::Opened { session, peer, subprotocol, .. })
                if self.opened.allows(now) =>
            {
                tracing::info!(?session, %peer, subprotocol, "a JSON mount is open");
            }
            SessionEvent::Closed { session, reason } if self.closed.allows(now) => {
                tracing::info!(?session, %reason, "a mount is closed");
            }
            SessionEvent::AcceptFailed { text, .. } if self.no_descriptors.allows(now) => {
                tracing::error!(error = text, "no connection can be accepted");
            }
            SessionEvent::Rejected { peer, reason, .. } => self.rejected(now, peer, reason),
            _ => {}
        }
    }

    fn rejected(&mut self, now: Time, peer: &dyn std::fmt::Display, reason: &CloseReason) {
        match reason {
            CloseReason::Page => tracing::debug!(%peer, %reason, "a page"),
            CloseReason::NoDescriptors { .. } => {
                if self.no_descriptors.allows(now) {
                    tracing::error!(%peer, %reason, "no connection can be accepted");
                }
            }
            _ => {
                if self.rejected.allows(now) {
                    tracing::warn!(%peer, %reason, "a connection did not become a mount");
                }
            }
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
            tracing::info!(count, seconds, "more mounts are open");
        }
        if let Some(LeftOut { count, seconds }) = self.closed.take_left_out(now) {
            tracing::info!(count, seconds, "more mounts are closed");
        }
        if let Some(LeftOut { count, seconds }) = self.rejected.take_left_out(now) {
            tracing::warn!(count, seconds, "more connections did not become mounts");
        }
        if let Some(LeftOut { count, seconds }) = self.no_descriptors.take_left_out(now) {
            tracing::error!(count, seconds, "more connections could not be accepted");
        }
    }
}
