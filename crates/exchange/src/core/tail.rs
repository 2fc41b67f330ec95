//! The last entries, in memory, for who is a little behind.

use std::collections::VecDeque;

use tapeline_sequence::Entry;

/// Bytes that replicas keep at least, if there are so many.
pub(crate) const KEPT_BYTES: usize = 16 << 20;

/// Room for the places of so many bytes' entries, of the usual length.
const BYTES_OF_ENTRY: usize = 128;

/// The last entries.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: Vec<u8>,
    /// The index of the first one, and where each begins in all bytes that ever were.
    first: u64,
    starts: VecDeque<u64>,
    /// So many bytes are gone.
    gone: u64,
    kept_bytes: usize,
}

impl Default for Tail {
    fn default() -> Self {
        let (bytes, starts) = (Vec::new(), VecDeque::new());
        Self { bytes, first: 0, starts, gone: 0, kept_bytes: KEPT_BYTES }
    }
}

impl Tail {
    /// One that keeps at least so many bytes, if there are so many, and has its room from
    /// the start.
    pub(crate) fn with_room(kept_bytes: usize) -> Self {
        let bytes = Vec::with_capacity(2 * kept_bytes);
        let starts = VecDeque::with_capacity(2 * kept_bytes / BYTES_OF_ENTRY);
        Self { bytes, first: 0, starts, gone: 0, kept_bytes }
    }

    /// Some entries follow the last one.
    pub(crate) fn push(&mut self, mut entries: &[u8]) {
        while let Some(entry) = Entry::own(entries) {
            if self.starts.is_empty() {
                self.first = entry.head().index;
            }
            self.starts.push_back(self.gone + self.bytes.len() as u64);
            self.bytes.extend_from_slice(entry.bytes());
            entries = &entries[entry.bytes().len()..];
        }
        if self.bytes.len() > 2 * self.kept_bytes {
            self.shorten();
        }
    }

    fn shorten(&mut self) {
        let most = self.gone + (self.bytes.len() - self.kept_bytes) as u64;
        // The last one stays, however long it is.
        let last = self.starts.len().saturating_sub(1);
        let old = self.starts.partition_point(|start| *start < most).min(last);
        let start = self.starts.get(old).copied().unwrap_or(self.gone + self.bytes.len() as u64);
        self.starts.drain(..old);
        self.first += old as u64;
        self.bytes.drain(..(start - self.gone) as usize);
        self.gone = start;
    }

    /// Whether it has an entry.
    pub(crate) fn has(&self, index: u64) -> bool {
        index.checked_sub(self.first).is_some_and(|at| at < self.starts.len() as u64)
    }

    /// Entries behind this one are gone.
    pub(crate) fn cut(&mut self, last: u64) {
        let kept = (last + 1).saturating_sub(self.first) as usize;
        if let Some(start) = self.starts.get(kept).copied() {
            self.bytes.truncate((start - self.gone) as usize);
            self.starts.truncate(kept);
        }
    }

    /// Appends entries from this one on: at least one, not many more bytes than
    /// `most_bytes`. Returns whether it has it.
    pub(crate) fn read(&self, from: u64, most_bytes: usize, out: &mut Vec<u8>) -> bool {
        let start = from.checked_sub(self.first).and_then(|at| self.starts.get(at as usize));
        let Some(start) = start.filter(|_| !self.starts.is_empty()) else { return false };
        let mut rest = &self.bytes[(start - self.gone) as usize..];
        let begin = out.len();
        while let Some(entry) = Entry::own(rest)
            && (out.len() == begin || out.len() - begin + entry.bytes().len() <= most_bytes)
        {
            out.extend_from_slice(entry.bytes());
            rest = &rest[entry.bytes().len()..];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use tapeline_sequence::{Command, Kind, Limits, Sequencer, Source};

    use super::*;

    #[test]
    fn the_last_entries_are_there_by_their_index_and_old_ones_are_not() {
        let mut sequencer = Sequencer::new(Limits::default());
        let (mut tail, mut all) = (Tail::default(), Vec::new());
        assert!(!tail.read(0, 100, &mut Vec::new()) && !tail.read(1, 100, &mut Vec::new()));
        let mut number = 0;
        let mut next = |sequencer: &mut Sequencer| {
            for _ in 0..3_000 {
                number += 1;
                let payload = &[7; 128];
                let command = Command {
                    kind: Kind::NEW,
                    source: Source(1),
                    number,
                    payload,
                    ..Command::default()
                };
                sequencer.offer(&command).expect("room");
            }
            let mut bytes = Vec::new();
            sequencer.sequence(number, &mut bytes).expect("commands");
            bytes
        };
        for _ in 0..100 {
            let entry = next(&mut sequencer);
            tail.push(&entry);
            all.push(entry);
        }
        let mut out = Vec::new();
        assert!(!tail.read(1, 1, &mut out) && tail.first > 1, "the first is gone");
        assert!(!tail.read(101, 1, &mut out) && out.is_empty());
        for index in tail.first..=100 {
            out.clear();
            assert!(tail.read(index, 1, &mut out));
            assert_eq!(out, all[index as usize - 1], "entry {index}");
        }
        out.clear();
        assert!(tail.read(98, usize::MAX, &mut out));
        assert_eq!(out, all[97..].concat());
        tail.cut(98);
        out.clear();
        assert!(!tail.read(99, 1, &mut out) && tail.read(98, 1, &mut out));
        tail.push(&all[98]);
        out.clear();
        assert!(tail.read(98, usize::MAX, &mut out));
        assert_eq!(out, all[97..99].concat());
        tail.cut(2);
        assert!(!tail.read(98, 1, &mut out), "nothing of it is left");
    }
}
