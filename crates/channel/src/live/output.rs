//! What a session has to send, and its bounds.

use tapeline_rssl::{CopyOf, Originals, Priority, SendError};
use tapeline_time::Time;

use super::{Live, Stage};
use crate::Sent;
use crate::deferred::Deferred;
use crate::link::Link;
use crate::system::System;

/// One priority: messages stay in their order and leave as one slice.
const PRIORITY: Priority = Priority::High;

/// What a text may add to the backlog beside itself: a comma, and for the first of
/// a frame the frame's header, in its largest form.
const TEXT_OVERHEAD_BYTES: usize = 34;

/// What the end of a packed frame may add to the backlog.
const FRAME_END_BYTES: usize = 32;

/// What a session that cannot be written to may be sent before its output is
/// counted among that of all sessions again.
const UNCOUNTED_BYTES: usize = 32 * 1024;

impl<S: System> Live<S> {
    /// Takes credit for a text of `length` bytes, if there is as much.
    #[inline]
    pub(crate) fn spend(&mut self, length: usize) -> bool {
        let cost = length + TEXT_OVERHEAD_BYTES;
        let is_granted = cost <= self.text_credit;
        if is_granted {
            self.text_credit -= cost;
        }
        is_granted
    }

    /// Packs a copy of a message that was granted; `None` when it has to go the long
    /// way.
    #[inline]
    pub(crate) fn pack_granted(&mut self, message: &[u8]) -> Option<&mut [u8]> {
        self.connection.pack_granted(PRIORITY, message)
    }

    /// Bytes that are granted, with the lengths of messages.
    #[inline]
    pub(crate) fn granted_bytes(&mut self) -> usize {
        self.connection.granted_bytes(PRIORITY)
    }

    /// Packs what was granted of these copies; how many that are.
    #[inline]
    pub(crate) fn pack_copies(&mut self, originals: &Originals, copies: &[CopyOf]) -> usize {
        self.connection.pack_copies(PRIORITY, originals, copies)
    }

    /// Lets as much be queued without another look as keeps the backlog below
    /// every threshold, of which `backlog_bytes` wait. The session is on the list of
    /// the dirty, or its socket takes nothing.
    pub(crate) fn grant(&mut self, backlog_bytes: usize, flush_bytes: usize, breach_bytes: usize) {
        // One whose socket takes nothing is not to be flushed; all are to be
        // counted from time to time.
        let next = match self.is_writable {
            true => flush_bytes,
            false => backlog_bytes + UNCOUNTED_BYTES,
        };
        let most = next.min(breach_bytes).min(self.options.output.max_bytes);
        let may_pack = self.stage == Stage::Open && self.options.packing && !self.is_slow;
        let bytes = match may_pack {
            true => most.saturating_sub(backlog_bytes + FRAME_END_BYTES).min(self.message_limit),
            false => 0,
        };
        match &mut self.connection {
            Link::Rssl(connection) => connection.grant(PRIORITY, bytes),
            Link::Text(_) => self.text_credit = bytes,
        }
    }

    /// Has a look at everything precede the next message.
    pub(super) fn revoke(&mut self) {
        self.text_credit = 0;
        if let Link::Rssl(connection) = &mut self.connection {
            connection.revoke(PRIORITY);
        }
    }

    /// Whether the layer below has taken what it has not written yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.stream.is_pending()
    }

    /// Bytes that wait for the socket, whatever they wait in.
    #[inline]
    pub(crate) fn backlog_bytes(&self) -> usize {
        self.connection.queued_bytes() + self.stream.pending_bytes()
    }

    /// Queues a copy of `message`, patched, if it may.
    pub(crate) fn queue(
        &mut self,
        message: &[u8],
        patch: impl FnOnce(&mut [u8]),
        scratch: &mut Vec<u8>,
    ) -> Result<(), Sent> {
        self.admit(message.len())?;
        self.put(message, patch, scratch)
    }

    /// Queues a text message that is in pieces, if it may.
    pub(crate) fn queue_text(&mut self, pieces: &[&[u8]], alone: bool) -> Result<(), Sent> {
        self.admit(pieces.iter().map(|piece| piece.len()).sum())?;
        self.put_text(pieces, alone)
    }

    /// Queues an admitted text message.
    pub(crate) fn put_text(&mut self, pieces: &[&[u8]], alone: bool) -> Result<(), Sent> {
        let Link::Text(session) = &mut self.connection else { return Err(Sent::Gone) };
        session.push(pieces, alone);
        Ok(())
    }

    /// Queues a copy of an admitted `message`, patched.
    pub(crate) fn put(
        &mut self,
        message: &[u8],
        patch: impl FnOnce(&mut [u8]),
        scratch: &mut Vec<u8>,
    ) -> Result<(), Sent> {
        let queued = if self.options.packing && message.len() <= self.connection.pack_limit() {
            self.connection.pack(PRIORITY, message).map(patch)
        } else {
            scratch.clear();
            scratch.extend_from_slice(message);
            patch(scratch);
            self.connection.send(PRIORITY, scratch)
        };
        queued.map_err(|error| match error {
            SendError::NotActive => Sent::Gone,
            SendError::Empty | SendError::TooLong { .. } => Sent::TooLarge,
            SendError::OutputFull { .. } => self.full(),
        })
    }

    /// Whether a message of `length` bytes may join the backlog.
    #[inline]
    fn admit(&mut self, length: usize) -> Result<(), Sent> {
        if self.stage != Stage::Open {
            return Err(Sent::Gone);
        }
        if length == 0 || length > self.message_limit {
            return Err(Sent::TooLarge);
        }
        let backlog_bytes = self.backlog_bytes();
        let is_usual = self.excess_bytes == 0 && self.allowance_bytes == 0;
        match is_usual && backlog_bytes + length <= self.options.output.max_bytes {
            true => Ok(()),
            false => self.admit_beyond(backlog_bytes, length),
        }
    }

    /// The same of one that may be allowed more than the bound, now or before.
    #[cold]
    fn admit_beyond(&mut self, backlog_bytes: usize, length: usize) -> Result<(), Sent> {
        let wanted = (length, self.allowance_bytes);
        let excess = self.options.output.admit(self.excess_bytes, backlog_bytes, wanted);
        self.excess_bytes = excess.ok_or_else(|| self.full())?;
        Ok(())
    }

    fn full(&mut self) -> Sent {
        self.full_count += 1;
        self.set_slow();
        Sent::Full
    }

    /// Has what was told about deferred messages hold.
    pub(crate) fn after_deferred(&mut self, deferred: &mut Deferred) {
        self.revoke();
        self.excess_bytes = deferred.excess_bytes();
        self.full_count += std::mem::take(&mut deferred.full_count);
        if deferred.is_slow() {
            self.set_slow();
        }
    }

    fn set_slow(&mut self) {
        self.revoke();
        if !self.is_slow {
            self.slow_count += 1;
            self.is_slow = true;
            // One that is slow for the sake of others, with less than its own
            // limit, has drained with so much less.
            let output = &self.options.output;
            let part = self.backlog_bytes().min(output.breach_bytes) as f64;
            let part = part / output.breach_bytes.max(1) as f64;
            self.ok_bytes = (output.ok_bytes as f64 * part) as usize;
        }
    }

    /// What to tell after a message was queued, and how much waits then. A session
    /// with much to write is written to before it is called slow.
    pub(crate) fn keep_pace(
        &mut self,
        flush_bytes: usize,
        breach_bytes: usize,
        now: Time,
    ) -> (Sent, usize) {
        let mut backlog_bytes = self.backlog_bytes();
        // The flush has its turns for those who are slow.
        if backlog_bytes >= flush_bytes.min(breach_bytes) && self.is_writable && !self.is_slow {
            self.flush(now);
            backlog_bytes = self.backlog_bytes();
        }
        if backlog_bytes >= breach_bytes {
            self.set_slow();
        }
        (if self.is_slow { Sent::Slow } else { Sent::Queued }, backlog_bytes)
    }

    /// Whether a slow session just drained.
    pub(crate) fn has_drained(&mut self) -> bool {
        let drained =
            self.is_slow && self.stage == Stage::Open && self.backlog_bytes() <= self.ok_bytes;
        self.is_slow &= !drained;
        drained
    }
}
