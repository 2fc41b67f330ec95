//! What the program may do to sessions, inside of a poll or outside.

use tapeline_rssl::{CopyOf, Negotiated, Originals};
use tapeline_websocket::close_code;

use crate::live::Stage;
use crate::system::System;
use crate::table::Table;
use crate::{ConnectConfig, Kernel, Sent, SessionCounters, SessionId};

/// Sends to the sessions of a reactor.
///
/// A message is copied into the packed frame that its session is filling; no
/// system call is made before the flush, unless a backlog reaches
/// [`ReactorConfig::flush_bytes`](crate::ReactorConfig). To the session whose
/// message is just being delivered it is copied once more, on the way through
/// a buffer that all sessions share.
pub struct Outbox<'a, S: System = Kernel> {
    table: &'a mut Table<S>,
}

impl<'a, S: System> Outbox<'a, S> {
    pub(crate) fn new(table: &'a mut Table<S>) -> Self {
        Self { table }
    }

    /// Queues a copy of `message`.
    pub fn send(&mut self, session: SessionId, message: &[u8]) -> Sent {
        self.table.send(session, message, |_| {})
    }

    /// Queues a copy of `message` as `patch` changes it: the stream id of one
    /// receiver among many. `patch` is not called unless the copy is queued.
    pub fn send_with(
        &mut self,
        session: SessionId,
        message: &[u8],
        patch: impl FnOnce(&mut [u8]),
    ) -> Sent {
        self.table.send(session, message, patch)
    }

    /// So many bytes of messages, and two more for each, are queued for a session
    /// with nothing looked at, as long as nothing but
    /// [`send_copies`](Self::send_copies) is done with it, and no poll or flush
    /// comes: to queue them later does what it does now. 0 for text sessions.
    #[inline]
    pub fn granted_bytes(&mut self, session: SessionId) -> usize {
        self.table.granted_bytes(session)
    }

    /// Queues copies of messages, each with its stream id, one behind the other: as
    /// many as are [granted](Self::granted_bytes). How many that are.
    #[inline]
    pub fn send_copies(
        &mut self,
        session: SessionId,
        originals: &Originals,
        copies: &[CopyOf],
    ) -> usize {
        self.table.send_copies(session, originals, copies)
    }

    /// Queues a copy of a message of a text session that is in one or more
    /// pieces. It shares a frame with what is sent before the next flush;
    /// `alone`: it does not.
    #[inline]
    pub fn send_text(&mut self, session: SessionId, pieces: &[&[u8]], alone: bool) -> Sent {
        self.table.send_text(session, pieces, alone)
    }

    /// Lets the backlog of a session exceed its bound by `bytes` until told
    /// otherwise: for what belongs together, as the parts of an image, to be
    /// sent whole or not at all. What is sent so leaves the usual room for what
    /// comes behind it.
    pub fn allow(&mut self, session: SessionId, bytes: usize) {
        self.table.allow(session, bytes);
    }

    /// Connects to `host`, a name or an address, as
    /// [`Reactor::connect`](crate::Reactor::connect) does.
    pub fn connect(&mut self, host: &str, port: u16, config: &ConnectConfig) -> SessionId {
        self.table.connect(host, port, config)
    }

    /// Closes a session, or gives up an attempt to connect.
    ///
    /// What is queued is still sent, for as long as the peer reads, within
    /// [`SessionOptions::close_max_ms`](crate::SessionOptions). `Closed` with
    /// `reason` comes in this poll or the next. Nothing happens when the
    /// session is closed already.
    pub fn close(&mut self, session: SessionId, reason: &str) {
        self.table.close(session, close_code::NORMAL, reason);
    }

    /// Closes a text session as [`close`](Self::close) does, with this code in
    /// the WebSocket's close frame, 1000 to 4999. A session that is closed for
    /// its output being full has code 1013 whatever is said here.
    pub fn close_text(&mut self, session: SessionId, code: u16, reason: &str) {
        self.table.close(session, code, reason);
    }

    /// Delivers no messages of a session for now, or again: what comes waits in
    /// its buffers, and then at its peer. A session is to be held for moments
    /// only, lest its pings are missed.
    pub fn hold(&mut self, session: SessionId, is_held: bool) {
        self.table.hold(session, is_held);
    }

    /// Delivers no more in this poll than what is being delivered, and one end of
    /// a session: what is left is the first of the next.
    pub fn end_poll(&mut self) {
        self.table.end_poll();
    }

    /// Admits a session whose client has shown who it is: it takes one of the
    /// [`max_sessions`](crate::ListenConfig::max_sessions), also beyond that
    /// number, and gets the bounds of its listener in place of those of
    /// [`StrangerLimits`](crate::StrangerLimits). Nothing happens to one that is
    /// admitted already.
    pub fn admit(&mut self, session: SessionId) {
        self.table.admit(session);
    }

    /// Whether messages can be sent to the session.
    pub fn is_open(&self, session: SessionId) -> bool {
        match self.table.live(session) {
            Some(live) => live.stage == Stage::Open,
            None => self.table.deferred.is_for(session) && self.table.deferred.is_open(),
        }
    }

    /// Bytes that wait for the session's socket, 0 when it is gone.
    pub fn backlog_bytes(&self, session: SessionId) -> usize {
        match self.table.live(session) {
            Some(live) => live.backlog_bytes(),
            None if self.table.deferred.is_for(session) => self.table.deferred.backlog_bytes(),
            None => 0,
        }
    }

    /// What the session's two sides agreed on; `None` before and after it is
    /// open, and while one of its own events is delivered.
    pub fn negotiated(&self, session: SessionId) -> Option<&Negotiated> {
        self.table.live(session)?.connection.negotiated()
    }

    /// What the session has done so far; `None` when it is gone, and while one
    /// of its own events is delivered.
    pub fn counters(&self, session: SessionId) -> Option<SessionCounters> {
        self.table.live(session).map(crate::live::Live::counters)
    }
}
