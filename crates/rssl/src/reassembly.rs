//! Messages in several fragments: what has come of each.

use crate::error::{CloseReason, ProtocolError};
use crate::limits::RETAINED_REASSEMBLY_BYTES;
use crate::{Limit, Limits};

/// A slot for one message. Slots and their buffers are used again.
#[derive(Default)]
struct Slot {
    /// `None` in a free slot.
    id: Option<u16>,
    total: usize,
    bytes: Vec<u8>,
}

/// All messages in reassembly, by fragment id.
pub(crate) struct Reassembly {
    slots: Vec<Slot>,
    /// The slot that was delivered and is free once the caller is done.
    delivered: Option<usize>,
    /// Sum of `total` over all used slots.
    announced: usize,
    /// [`Limits::message_bytes`], [`Limits::reassembly_bytes`],
    /// [`Limits::reassembly_count`].
    max_message: usize,
    max_announced: usize,
    max_slots: usize,
}

impl Reassembly {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            slots: Vec::new(),
            delivered: None,
            announced: 0,
            max_message: limits.message_bytes,
            max_announced: limits.reassembly_bytes,
            max_slots: limits.reassembly_count,
        }
    }

    /// Has other bounds hold for messages that begin from here on.
    pub(crate) fn set_limits(&mut self, limits: &Limits) {
        self.max_message = limits.message_bytes;
        self.max_announced = limits.reassembly_bytes;
        self.max_slots = limits.reassembly_count;
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.slots.iter().map(|slot| slot.bytes.capacity()).sum()
    }

    /// The bound that a message of `total` bytes would break, if it does.
    pub(crate) const fn exceeded(&self, total: usize) -> Option<usize> {
        if total > self.max_message {
            Some(self.max_message)
        } else if self.announced + total > self.max_announced {
            Some(self.max_announced)
        } else {
            None
        }
    }

    /// A first fragment of a message that breaks no bound. Returns the slot
    /// when the message is complete.
    ///
    /// An id that is in progress starts anew: its old message was given up by
    /// the sender.
    pub(crate) fn first(
        &mut self,
        id: u16,
        total: usize,
        payload: &[u8],
    ) -> Result<Option<usize>, CloseReason> {
        self.abandon(id);
        let index = self.free_slot()?;
        let slot = &mut self.slots[index];
        slot.id = Some(id);
        slot.total = total;
        self.announced += total;
        self.add(index, payload)
    }

    /// A later fragment. One of an unknown id belongs to a message that was
    /// given up and is dropped.
    pub(crate) fn next(&mut self, id: u16, payload: &[u8]) -> Result<Option<usize>, CloseReason> {
        match self.find(id) {
            Some(index) => self.add(index, payload),
            None => Ok(None),
        }
    }

    /// Gives up the message of this id, if there is one.
    pub(crate) fn abandon(&mut self, id: u16) {
        if let Some(index) = self.find(id) {
            self.free(index);
        }
    }

    /// Whether a message with this id has begun and is not yet complete.
    pub(crate) fn is_in_progress(&self, id: u16) -> bool {
        self.find(id).is_some_and(|index| self.delivered != Some(index))
    }

    /// The bytes of a slot that was reported complete.
    pub(crate) fn bytes(&self, index: usize) -> &[u8] {
        self.slots.get(index).map_or(&[], |slot| &slot.bytes)
    }

    /// Gives back the slot of the last complete message.
    pub(crate) fn release(&mut self) {
        if let Some(index) = self.delivered.take() {
            self.free(index);
        }
    }

    fn find(&self, id: u16) -> Option<usize> {
        self.slots.iter().position(|slot| slot.id == Some(id))
    }

    fn free_slot(&mut self) -> Result<usize, CloseReason> {
        if let Some(index) = self.slots.iter().position(|slot| slot.id.is_none()) {
            return Ok(index);
        }
        if self.slots.len() >= self.max_slots {
            let count = self.slots.len() + 1;
            return Err(CloseReason::limit(Limit::ReassemblyCount, count, self.max_slots));
        }
        self.slots.push(Slot::default());
        Ok(self.slots.len() - 1)
    }

    fn add(&mut self, index: usize, payload: &[u8]) -> Result<Option<usize>, CloseReason> {
        let slot = &mut self.slots[index];
        let got = slot.bytes.len() + payload.len();
        if got > slot.total {
            let (id, total) = (slot.id.unwrap_or(0), slot.total);
            self.free(index);
            return Err(ProtocolError::FragmentOverrun { id, got, total }.into());
        }
        slot.reserve(got);
        slot.bytes.extend_from_slice(payload);
        if got < slot.total {
            return Ok(None);
        }
        self.delivered = Some(index);
        Ok(Some(index))
    }

    fn free(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        self.announced -= slot.total;
        slot.total = 0;
        slot.id = None;
        slot.bytes.clear();
        if slot.bytes.capacity() > RETAINED_REASSEMBLY_BYTES {
            slot.bytes = Vec::new();
        }
    }
}

impl Slot {
    /// Grows with what came, never by what was announced: a first fragment
    /// that promises megabytes costs what it brings.
    fn reserve(&mut self, needed: usize) {
        if needed > self.bytes.capacity() {
            let target = (2 * self.bytes.capacity()).clamp(needed, self.total.max(needed));
            self.bytes.reserve_exact(target - self.bytes.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reassembly() -> Reassembly {
        Reassembly::new(&Limits {
            message_bytes: 100,
            reassembly_bytes: 150,
            reassembly_count: 2,
            ..Limits::default()
        })
    }

    #[test]
    fn interleaved_messages_come_out_whole() {
        let mut all = reassembly();
        assert_eq!(all.first(1, 4, b"ab"), Ok(None));
        assert_eq!(all.first(2, 3, b"x"), Ok(None));
        assert_eq!(all.next(9, b"unknown"), Ok(None));
        let done = all.next(1, b"cd").unwrap().unwrap();
        assert_eq!(all.bytes(done), b"abcd");
        all.release();
        let done = all.next(2, b"yz").unwrap().unwrap();
        assert_eq!(all.bytes(done), b"xyz");
        all.release();
        assert_eq!(all.announced, 0);
    }

    #[test]
    fn a_repeated_first_fragment_replaces_the_old_message() {
        let mut all = reassembly();
        assert_eq!(all.first(1, 4, b"ab"), Ok(None));
        assert_eq!(all.first(1, 3, b"x"), Ok(None));
        let done = all.next(1, b"yz").unwrap().unwrap();
        assert_eq!(all.bytes(done), b"xyz");
    }

    #[test]
    fn each_bound_is_named() {
        let limit = |result: Result<Option<usize>, CloseReason>| match result {
            Err(CloseReason::Limit { limit, .. }) => limit,
            other => panic!("{other:?}"),
        };
        assert_eq!((reassembly().exceeded(100), reassembly().exceeded(101)), (None, Some(100)));
        let mut all = reassembly();
        assert_eq!(all.first(1, 100, b"a"), Ok(None));
        assert_eq!((all.exceeded(50), all.exceeded(51)), (None, Some(150)));
        let mut all = reassembly();
        assert_eq!(all.first(1, 10, b"a"), Ok(None));
        assert_eq!(all.first(2, 10, b"a"), Ok(None));
        assert_eq!(limit(all.first(3, 10, b"a")), Limit::ReassemblyCount);
        let overrun = ProtocolError::FragmentOverrun { id: 1, got: 11, total: 10 };
        assert_eq!(all.next(1, &[0; 10]), Err(overrun.into()));
        assert!(!all.is_in_progress(1) && all.is_in_progress(2));
    }

    #[test]
    fn a_small_buffer_is_kept_and_a_large_one_given_back() {
        let mut all = Reassembly::new(&Limits::default());
        for (length, kept) in [(1000, 1000), (RETAINED_REASSEMBLY_BYTES + 1, 0)] {
            let payload = vec![7; length - 1];
            assert_eq!(all.first(1, length, &payload), Ok(None));
            assert!(all.next(1, &[7]).unwrap().is_some());
            all.release();
            assert_eq!(all.memory_bytes(), kept);
        }
    }

    #[test]
    fn a_promise_costs_nothing() {
        let mut all = Reassembly::new(&Limits::default());
        assert_eq!(all.first(1, 8 << 20, b"abc"), Ok(None));
        assert!(all.memory_bytes() < 64);
    }
}
