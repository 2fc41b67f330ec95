//! What a session is sent while its own message is being delivered.
//!
//! The message lies in the session's buffers, so the session cannot be written
//! to at that moment. Its sends are kept here, in order, and take place when
//! the callback returns.

use crate::link::Link;
use crate::live::{Live, Stage};
use crate::system::System;
use crate::{ListenerId, OutputLimits, Sent, SessionId};

#[derive(Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts, in any combination")]
pub(crate) struct Deferred {
    /// The session that is out of the table.
    session: Option<SessionId>,
    is_open: bool,
    /// Its messages are texts.
    is_text: bool,
    is_slow: bool,
    message_limit: usize,
    allowance_bytes: usize,
    excess_bytes: usize,
    output: OutputLimits,
    /// The listener that it waits at to be admitted.
    waits_at: Option<ListenerId>,
    is_admitted: bool,
    /// What will wait when all this is queued.
    backlog_bytes: usize,
    pub(crate) full_count: u64,
    pub(crate) messages: Messages,
    /// The close code of a text session, and the words.
    pub(crate) close: Option<(u16, String)>,
    /// Whether its messages are delivered no more for now, or again.
    pub(crate) hold: Option<bool>,
}

/// Messages, one behind the other in one buffer that is used again.
#[derive(Default)]
pub(crate) struct Messages {
    bytes: Vec<u8>,
    ends: Vec<End>,
}

#[derive(Clone, Copy)]
struct End {
    at: usize,
    alone: bool,
}

/// A message that waits.
pub(crate) struct Message<'a> {
    pub(crate) bytes: &'a [u8],
    /// Of a text session: whether it has a frame for itself.
    pub(crate) alone: bool,
}

impl Messages {
    fn push(&mut self, pieces: &[&[u8]], alone: bool) -> &mut [u8] {
        let start = self.bytes.len();
        for piece in pieces {
            self.bytes.extend_from_slice(piece);
        }
        self.ends.push(End { at: self.bytes.len(), alone });
        &mut self.bytes[start..]
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Message<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |end| {
            let bytes = &self.bytes[start..end.at];
            start = end.at;
            Message { bytes, alone: end.alone }
        })
    }

    /// Keeps the memory, unless a burst made it large.
    pub(crate) fn clear(&mut self, retained_bytes: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(retained_bytes);
        self.ends.clear();
    }
}

impl Deferred {
    /// `live` is about to be out of the table.
    pub(crate) fn begin<S: System>(&mut self, live: &Live<S>) {
        self.session = Some(live.id);
        self.is_open = live.stage == Stage::Open;
        self.is_text = matches!(live.connection, Link::Text(_));
        self.is_slow = live.is_slow;
        self.message_limit = live.message_limit;
        self.allowance_bytes = live.allowance_bytes;
        self.excess_bytes = live.excess_bytes;
        self.output = live.options.output;
        self.waits_at = live.stranger_since.and_then(|_| live.origin.listener());
        self.backlog_bytes = live.backlog_bytes();
    }

    /// Its handshake is over.
    pub(crate) fn open(&mut self) {
        self.is_open = true;
    }

    pub(crate) fn end(&mut self) {
        self.session = None;
    }

    pub(crate) fn is_for(&self, session: SessionId) -> bool {
        self.session == Some(session)
    }

    pub(crate) fn has_work(&self) -> bool {
        !self.messages.ends.is_empty()
            || self.full_count > 0
            || self.close.is_some()
            || self.hold.is_some()
            || self.is_admitted
    }

    /// Where it waits to be admitted, if it does.
    pub(crate) const fn waits_at(&self) -> Option<ListenerId> {
        self.waits_at
    }

    /// It is admitted: these bounds hold from here on.
    pub(crate) fn admit(&mut self, send_bytes: usize, output: OutputLimits) {
        self.waits_at = None;
        self.is_admitted = true;
        self.message_limit = send_bytes;
        self.output = output;
    }

    /// Whether it was admitted meanwhile.
    pub(crate) fn take_admitted(&mut self) -> bool {
        std::mem::take(&mut self.is_admitted)
    }

    /// Whether it is a text session.
    pub(crate) const fn is_text(&self) -> bool {
        self.is_text
    }

    /// Whether sends were told that the session is slow.
    pub(crate) const fn is_slow(&self) -> bool {
        self.is_slow
    }

    pub(crate) const fn excess_bytes(&self) -> usize {
        self.excess_bytes
    }

    pub(crate) const fn backlog_bytes(&self) -> usize {
        self.backlog_bytes
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.is_open && self.close.is_none()
    }

    /// See [`Outbox::allow`](crate::Outbox::allow).
    pub(crate) const fn allow(&mut self, bytes: usize) {
        self.allowance_bytes = bytes;
    }

    pub(crate) fn send(&mut self, message: &[u8], patch: impl FnOnce(&mut [u8])) -> Sent {
        match self.is_text {
            false => self.keep(&[message], false, patch),
            true => Sent::Gone,
        }
    }

    pub(crate) fn send_text(&mut self, pieces: &[&[u8]], alone: bool) -> Sent {
        match self.is_text {
            true => self.keep(pieces, alone, |_| {}),
            false => Sent::Gone,
        }
    }

    fn keep(&mut self, pieces: &[&[u8]], alone: bool, patch: impl FnOnce(&mut [u8])) -> Sent {
        if !self.is_open() {
            return Sent::Gone;
        }
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        if length == 0 || length > self.message_limit {
            return Sent::TooLarge;
        }
        let (output, backlog) = (self.output, self.backlog_bytes);
        let wanted = (length, self.allowance_bytes);
        let Some(excess) = output.admit(self.excess_bytes, backlog, wanted) else {
            self.full_count += 1;
            self.is_slow = true;
            return Sent::Full;
        };
        self.excess_bytes = excess;
        patch(self.messages.push(pieces, alone));
        self.backlog_bytes += length;
        self.is_slow |= self.backlog_bytes >= self.output.breach_bytes;
        if self.is_slow { Sent::Slow } else { Sent::Queued }
    }

    pub(crate) fn close(&mut self, code: u16, reason: &str) {
        if self.is_open() {
            self.close = Some((code, reason.to_owned()));
        }
    }
}
