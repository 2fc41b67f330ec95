//! From a message to the output of a session.

use tapeline_rssl::{CopyOf, Originals};

use super::{Occupant, RETAINED_SCRATCH_BYTES, Slot, Table};
use crate::link::Link;
use crate::live::Live;
use crate::system::System;
use crate::{CloseReason, Sent, SessionId};

impl<S: System> Table<S> {
    /// Sends to a session, in the table or out of it.
    #[inline]
    pub(crate) fn send(
        &mut self,
        id: SessionId,
        message: &[u8],
        patch: impl FnOnce(&mut [u8]),
    ) -> Sent {
        if let Some(Slot { generation, occupant: Occupant::Live(live) }) =
            self.slots.get_mut(id.index as usize)
            && *generation == id.generation
            && let Some(copy) = live.pack_granted(message)
        {
            patch(copy);
            return Sent::Queued;
        }
        self.send_carefully(id, message, patch)
    }

    /// Sends with all thresholds, flags and lists looked at.
    #[cold]
    fn send_carefully(
        &mut self,
        id: SessionId,
        message: &[u8],
        patch: impl FnOnce(&mut [u8]),
    ) -> Sent {
        let live = match self.slots.get_mut(id.index as usize) {
            Some(Slot { generation, occupant: Occupant::Live(live) })
                if *generation == id.generation =>
            {
                live
            }
            _ if self.deferred.is_for(id) => return self.deferred.send(message, patch),
            _ => return Sent::Gone,
        };
        let breach_bytes = self.pool.breach_bytes(live.options.output.breach_bytes);
        let (sent, backlog_bytes) = match live.queue(message, patch, &mut self.scratch) {
            Ok(()) => live.keep_pace(self.flush_bytes, breach_bytes, self.now),
            Err(refused @ Sent::Full) => (refused, live.backlog_bytes()),
            Err(refused) => return refused,
        };
        if live.is_writable && !live.is_dirty {
            live.is_dirty = true;
            self.dirty.push(id.index);
        }
        live.grant(backlog_bytes, self.flush_bytes, breach_bytes);
        self.pool.change(&mut live.counted_bytes, backlog_bytes);
        sent
    }

    /// A session in the table that messages may be sent to.
    #[inline]
    fn at_hand(&mut self, id: SessionId) -> Option<&mut Live<S>> {
        match self.slots.get_mut(id.index as usize)? {
            Slot { generation, occupant: Occupant::Live(live) } if *generation == id.generation => {
                Some(live)
            }
            _ => None,
        }
    }

    /// See [`Outbox::granted_bytes`](crate::Outbox::granted_bytes).
    #[inline]
    pub(crate) fn granted_bytes(&mut self, id: SessionId) -> usize {
        self.at_hand(id).map_or(0, Live::granted_bytes)
    }

    /// See [`Outbox::send_copies`](crate::Outbox::send_copies).
    #[inline]
    pub(crate) fn send_copies(
        &mut self,
        id: SessionId,
        originals: &Originals,
        copies: &[CopyOf],
    ) -> usize {
        self.at_hand(id).map_or(0, |live| live.pack_copies(originals, copies))
    }

    /// Sends a text message that is in pieces, to a session in the table or out
    /// of it.
    #[inline]
    pub(crate) fn send_text(&mut self, id: SessionId, pieces: &[&[u8]], alone: bool) -> Sent {
        let length = pieces.iter().map(|piece| piece.len()).sum();
        if !alone
            && length > 0
            && let Some(Slot { generation, occupant: Occupant::Live(live) }) =
                self.slots.get_mut(id.index as usize)
            && *generation == id.generation
            && live.spend(length)
            && live.put_text(pieces, false).is_ok()
        {
            return Sent::Queued;
        }
        self.send_text_carefully(id, pieces, alone)
    }

    /// Sends with all thresholds, flags and lists looked at.
    #[cold]
    fn send_text_carefully(&mut self, id: SessionId, pieces: &[&[u8]], alone: bool) -> Sent {
        let live = match self.slots.get_mut(id.index as usize) {
            Some(Slot { generation, occupant: Occupant::Live(live) })
                if *generation == id.generation =>
            {
                live
            }
            _ if self.deferred.is_for(id) => return self.deferred.send_text(pieces, alone),
            _ => return Sent::Gone,
        };
        let breach_bytes = self.pool.breach_bytes(live.options.output.breach_bytes);
        let (sent, backlog_bytes) = match live.queue_text(pieces, alone) {
            Ok(()) => live.keep_pace(self.flush_bytes, breach_bytes, self.now),
            Err(refused @ Sent::Full) => (refused, live.backlog_bytes()),
            Err(refused) => return refused,
        };
        if live.is_writable && !live.is_dirty {
            live.is_dirty = true;
            self.dirty.push(id.index);
        }
        live.grant(backlog_bytes, self.flush_bytes, breach_bytes);
        self.pool.change(&mut live.counted_bytes, backlog_bytes);
        sent
    }

    /// See [`Outbox::allow`](crate::Outbox::allow).
    pub(crate) fn allow(&mut self, id: SessionId, bytes: usize) {
        if self.deferred.is_for(id) {
            self.deferred.allow(bytes);
        } else if let Some(Slot { generation, occupant: Occupant::Live(live) }) =
            self.slots.get_mut(id.index as usize)
            && *generation == id.generation
        {
            live.allowance_bytes = bytes;
        }
    }

    /// Has what was deferred take place.
    pub(crate) fn apply_deferred(&mut self, live: &mut Live<S>) {
        if self.deferred.take_admitted() {
            self.let_in(live);
        }
        let mut messages = std::mem::take(&mut self.deferred.messages);
        let mut lost = None;
        for message in messages.iter() {
            let put = match &live.connection {
                Link::Text(_) => live.put_text(&[message.bytes], message.alone),
                Link::Rssl(_) => live.put(message.bytes, |_| {}, &mut self.scratch),
            };
            lost = lost.or(put.err());
        }
        messages.clear(RETAINED_SCRATCH_BYTES);
        self.deferred.messages = messages;
        live.after_deferred(&mut self.deferred);
        if let Some(is_held) = self.deferred.hold.take() {
            live.is_held = is_held;
        }
        let breach_bytes = self.pool.breach_bytes(live.options.output.breach_bytes);
        let _ = live.keep_pace(self.flush_bytes, breach_bytes, self.now);
        if let Some((code, text)) = self.deferred.close.take() {
            live.close_code = code;
            self.end(live, CloseReason::Application(text));
        } else if let Some(sent) = lost {
            // It was told that the message is queued.
            let text = format!("an accepted message could not be queued ({sent:?})");
            self.end(live, CloseReason::Application(text));
        }
    }
}
