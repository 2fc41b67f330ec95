//! The last messages, in a ring of bytes that never grows.

use std::collections::VecDeque;

use tapeline_layout::Text;

use crate::frame::MAX_MESSAGE;

/// Bytes that are set aside for each message. Reports are a little shorter; if they
/// are longer, fewer are kept.
const BYTES_EACH: usize = 512;

/// The longest type of a message.
const MAX_TYPE: usize = 4;

/// A message without its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its number; 0 while it has none.
    pub(crate) number: u32,
    /// When it was sent first.
    pub(crate) sent_ns: u64,
    /// Whether it went out with `PossResend`.
    pub(crate) is_resent: bool,
    /// The running number of the report that it is, or that was the last before it.
    pub(crate) report: u64,
    msg_type: Text<MAX_TYPE>,
    start: usize,
    len: usize,
}

impl Entry {
    pub(crate) fn msg_type(&self) -> &[u8] {
        self.msg_type.as_bytes()
    }
}

/// The last messages, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    messages: usize,
    entries: VecDeque<Entry>,
    bytes: Vec<u8>,
    /// Where the next one goes, if it fits there.
    at: usize,
    /// How many made room for others.
    evicted: u64,
}

impl Kept {
    /// All that there will ever be is set aside at once; the system gives memory
    /// where it is first written.
    pub(crate) fn new(messages: usize) -> Self {
        let room = messages.saturating_mul(BYTES_EACH);
        let room = if messages == 0 { 0 } else { room.max(MAX_MESSAGE) };
        Self {
            messages,
            entries: VecDeque::with_capacity(messages),
            bytes: vec![0; room],
            at: 0,
            evicted: 0,
        }
    }

    pub(crate) fn push(&mut self, msg_type: &[u8], number: u32, sent_ns: u64, body: &[u8]) {
        let len = body.len();
        // Each has a place of its own, also if it is empty.
        let room = len.max(1);
        if room > self.bytes.len() {
            self.evicted += 1;
            return;
        }
        if self.at + room > self.bytes.len() {
            // What lies between here and the end is the oldest of all.
            let at = self.at;
            self.evict_while(|entry| entry.start >= at);
            self.at = 0;
        }
        let (start, end) = (self.at, self.at + room);
        self.evict_while(|entry| entry.start >= start && entry.start < end);
        if self.entries.len() == self.messages {
            self.entries.pop_front();
            self.evicted += 1;
        }
        self.bytes[start..start + len].copy_from_slice(body);
        let msg_type = Text::from_bytes(msg_type);
        let entry = Entry { number, sent_ns, is_resent: false, report: 0, msg_type, start, len };
        self.entries.push_back(entry);
        self.at = end;
    }

    fn evict_while(&mut self, is_gone: impl Fn(&Entry) -> bool) {
        while self.entries.front().is_some_and(&is_gone) {
            self.entries.pop_front();
            self.evicted += 1;
        }
    }

    /// The last one went out with `PossResend`.
    pub(crate) fn mark_last_resent(&mut self) {
        if let Some(entry) = self.entries.back_mut() {
            entry.is_resent = true;
        }
    }

    /// The last one is this report.
    pub(crate) fn name_last(&mut self, report: u64) {
        if let Some(entry) = self.entries.back_mut() {
            entry.report = report;
        }
    }

    /// Where the first of at least that report is. They do not fall.
    pub(crate) fn find_report(&self, report: u64) -> usize {
        self.entries.partition_point(|entry| entry.report < report)
    }

    /// Where the first of at least that number is. Numbers rise.
    pub(crate) fn find(&self, number: u32) -> usize {
        self.entries.partition_point(|entry| entry.number < number)
    }

    pub(crate) fn get(&self, index: usize) -> Option<(Entry, &[u8])> {
        let entry = *self.entries.get(index)?;
        Some((entry, &self.bytes[entry.start..entry.start + entry.len]))
    }

    /// Forgets the oldest.
    pub(crate) fn pop(&mut self) {
        self.entries.pop_front();
    }

    pub(crate) fn clear(&mut self) {
        self.entries.clear();
        self.at = 0;
    }

    /// How many made room for others.
    pub(crate) const fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(kept: &Kept) -> Vec<(u32, Vec<u8>)> {
        let each = |at| kept.get(at).map(|(entry, body)| (entry.number, body.to_vec()));
        (0..kept.len()).map_while(each).collect()
    }

    #[test]
    fn the_last_ones_are_kept() {
        let mut kept = Kept::new(2);
        for number in 1..=3 {
            kept.push(b"8", number, 7, &[number as u8; 3]);
        }
        assert_eq!(all(&kept), [(2, vec![2; 3]), (3, vec![3; 3])]);
        assert_eq!((kept.evicted(), kept.find(1), kept.find(3), kept.find(4)), (1, 0, 1, 2));
        kept.pop();
        assert_eq!(all(&kept), [(3, vec![3; 3])]);
    }

    #[test]
    fn nothing_is_kept_where_nothing_is_to_be() {
        let mut kept = Kept::new(0);
        kept.push(b"8", 1, 7, b"x");
        kept.push(b"8", 2, 7, b"");
        assert_eq!((kept.len(), kept.evicted()), (0, 2));
    }

    #[test]
    fn empty_bodies_are_kept_like_others() {
        let mut kept = Kept::new(2);
        for (number, body) in [(1, &b""[..]), (2, b""), (3, b"x")] {
            kept.push(b"8", number, 7, body);
        }
        assert_eq!(all(&kept), [(2, vec![]), (3, b"x".to_vec())]);
    }

    proptest! {
        /// Against a queue that keeps all: the last ones are there, whole, and as many
        /// as have room.
        #[test]
        fn bodies_stay_whole_round_and_round(
            messages in 1..40_usize,
            lens in prop::collection::vec(0..8000_usize, 1..200),
        ) {
            let mut kept = Kept::new(messages);
            let mut sent = Vec::new();
            for (number, &len) in (1_u32..).zip(&lens) {
                let body = vec![number as u8; len];
                kept.push(b"8", number, 0, &body);
                sent.push((number, body));
                let found = all(&kept);
                prop_assert!(found.len() <= messages && !found.is_empty());
                prop_assert_eq!(&found[..], &sent[sent.len() - found.len()..]);
                prop_assert_eq!(kept.evicted() as usize, sent.len() - found.len());
                // Less than half of the room is given up for want of a whole piece.
                let held: usize = found.iter().map(|(_, body)| body.len()).sum();
                let one_more = sent.len().checked_sub(found.len() + 1).map_or(0, |at| sent[at].1.len());
                let is_full = found.len() == messages || found.len() == sent.len();
                prop_assert!(is_full || held + one_more + 8000 > kept.bytes.len());
            }
        }
    }
}
