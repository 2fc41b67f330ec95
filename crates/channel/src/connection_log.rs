//! What can be logged of those who connect, in bounds.

use std::fmt::Display;
use std::net::SocketAddr;
use std::time::Duration;

use tapeline_time::Time;

use crate::{CloseReason, LeftOut, SessionEvent, SessionId, TextEvent, Throttle};

/// Lines of one kind are counted for so long before the count is logged.
const INTERVAL: Duration = Duration::from_secs(10);

/// Lines of each kind in that time.
const LINES: u32 = 20;

/// The log of connections: who came, who went, who was not let in.
///
/// It decides which lines are written; the program has the words. Of each kind
/// there are 20 in ten seconds, then a count of the others.
#[derive(Clone, Debug)]
pub struct ConnectionLog {
    opened: Throttle,
    closed: Throttle,
    rejected: Throttle,
    /// Nothing can be accepted: told at once, whatever else is.
    no_descriptors: Throttle,
}

/// A line of a [`ConnectionLog`].
#[derive(Clone, Copy)]
pub enum ConnectionLine<'a> {
    /// A session is open.
    Opened {
        /// Which one.
        session: SessionId,
        /// The other end.
        peer: SocketAddr,
        /// Of a text session, its subprotocol.
        subprotocol: Option<&'a str>,
    },
    /// A session is closed.
    Closed {
        /// Which one.
        session: SessionId,
        /// Why.
        reason: &'a CloseReason,
    },
    /// A page was asked for.
    Page {
        /// By whom.
        peer: SocketAddr,
        /// What became of the connection.
        reason: &'a CloseReason,
    },
    /// A connection did not become a session.
    Rejected {
        /// The other end.
        peer: SocketAddr,
        /// Why.
        reason: &'a CloseReason,
    },
    /// No connection can be accepted for lack of descriptors.
    NoneAccepted {
        /// The other end of the one that was given up for that.
        peer: Option<SocketAddr>,
        /// What the system says.
        reason: &'a dyn Display,
    },
    /// More sessions were opened than there are lines.
    MoreOpened(LeftOut),
    /// More were closed.
    MoreClosed(LeftOut),
    /// More connections did not become sessions.
    MoreRejected(LeftOut),
    /// More could not be accepted.
    MoreNotAccepted(LeftOut),
}

impl Default for ConnectionLog {
    fn default() -> Self {
        Self::new()
    }
}

impl ConnectionLog {
    /// A log with nothing in it.
    pub const fn new() -> Self {
        Self {
            opened: Throttle::new(LINES, INTERVAL),
            closed: Throttle::new(LINES, INTERVAL),
            rejected: Throttle::new(LINES, INTERVAL),
            no_descriptors: Throttle::new(1, INTERVAL),
        }
    }

    /// Writes a line about what happened to a connection, unless there were too
    /// many of its kind.
    pub fn note(
        &mut self,
        now: Time,
        event: &SessionEvent<'_>,
        write: impl FnOnce(ConnectionLine<'_>),
    ) {
        let (is_allowed, line) = match event {
            SessionEvent::Opened { session, peer, .. } => {
                let (session, peer) = (*session, *peer);
                let line = ConnectionLine::Opened { session, peer, subprotocol: None };
                (self.opened.allows(now), line)
            }
            SessionEvent::Text(TextEvent::Opened { session, peer, subprotocol, .. }) => {
                let (session, peer, subprotocol) = (*session, *peer, Some(*subprotocol));
                let line = ConnectionLine::Opened { session, peer, subprotocol };
                (self.opened.allows(now), line)
            }
            SessionEvent::Closed { session, reason } => {
                (self.closed.allows(now), ConnectionLine::Closed { session: *session, reason })
            }
            SessionEvent::AcceptFailed { text, .. } => {
                let line = ConnectionLine::NoneAccepted { peer: None, reason: text };
                (self.no_descriptors.allows(now), line)
            }
            SessionEvent::Rejected { peer, reason, .. } => match reason {
                CloseReason::Page => (true, ConnectionLine::Page { peer: *peer, reason }),
                CloseReason::NoDescriptors { .. } => {
                    let line = ConnectionLine::NoneAccepted { peer: Some(*peer), reason };
                    (self.no_descriptors.allows(now), line)
                }
                _ => (self.rejected.allows(now), ConnectionLine::Rejected { peer: *peer, reason }),
            },
            _ => return,
        };
        if is_allowed {
            write(line);
        }
    }

    /// When [`report`](Self::report) has something to say.
    pub fn deadline(&self) -> Option<Time> {
        let Self { opened, closed, rejected, no_descriptors } = self;
        let deadlines = [opened, closed, rejected, no_descriptors].map(Throttle::deadline);
        deadlines.into_iter().flatten().min()
    }

    /// Writes how many lines were left out.
    pub fn report(&mut self, now: Time, mut write: impl FnMut(ConnectionLine<'_>)) {
        if let Some(left_out) = self.opened.take_left_out(now) {
            write(ConnectionLine::MoreOpened(left_out));
        }
        if let Some(left_out) = self.closed.take_left_out(now) {
            write(ConnectionLine::MoreClosed(left_out));
        }
        if let Some(left_out) = self.rejected.take_left_out(now) {
            write(ConnectionLine::MoreRejected(left_out));
        }
        if let Some(left_out) = self.no_descriptors.take_left_out(now) {
            write(ConnectionLine::MoreNotAccepted(left_out));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ListenerId;

    #[test]
    fn a_flood_of_one_kind_leaves_room_for_the_others_and_is_counted() {
        let (mut log, now) = (ConnectionLog::new(), Time::ZERO);
        let session = SessionId { index: 3, generation: 1 };
        let mut written = Vec::new();
        for _ in 0..LINES + 5 {
            let reason = &CloseReason::Page;
            log.note(now, &SessionEvent::Closed { session, reason }, |line| {
                written.push(matches!(line, ConnectionLine::Closed { .. }));
            });
        }
        assert_eq!(written, [true; LINES as usize]);
        for expected in [1, 0] {
            let event = SessionEvent::AcceptFailed { listener: ListenerId(0), text: "full" };
            let mut lines = 0;
            log.note(now, &event, |line| {
                lines += u32::from(matches!(line, ConnectionLine::NoneAccepted { .. }));
            });
            assert_eq!(lines, expected);
        }
        let later = now.after(INTERVAL);
        assert_eq!(log.deadline(), Some(later));
        let mut counts = Vec::new();
        log.report(later, |line| match line {
            ConnectionLine::MoreClosed(left_out) => counts.push(("closed", left_out.count)),
            ConnectionLine::MoreNotAccepted(left_out) => counts.push(("none", left_out.count)),
            _ => counts.push(("another", 0)),
        });
        assert_eq!(counts, [("closed", 5), ("none", 1)]);
        assert_eq!(log.deadline(), None);
    }
}
