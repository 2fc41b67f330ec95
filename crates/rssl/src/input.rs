//! The receive buffer: bytes from the socket at the back, frames taken from
//! the front, all in place.

use std::ops::Range;

use crate::chunked::{ChunkLimits, Dechunker};
use crate::error::CloseReason;

/// ```text
///   | taken |  ready: decoded bytes  | gap | raw: still in chunks |  free  |
///   0      head                    ready   raw                   tail   len
/// ```
///
/// Only the HTTP tunnel has a difference between raw and ready bytes: its
/// chunk framing is cut out in place, so that a frame is one slice whatever
/// the chunks were. Everywhere else `ready`, `raw` and `tail` are one.
pub(crate) struct Input {
    bytes: Vec<u8>,
    head: usize,
    ready: usize,
    raw: usize,
    tail: usize,
    /// Length of `bytes`, but while it rests.
    capacity: usize,
    dechunker: Option<Dechunker>,
}

impl Input {
    pub(crate) fn new(capacity: usize) -> Self {
        let bytes = vec![0; capacity];
        Self { bytes, head: 0, ready: 0, raw: 0, tail: 0, capacity, dechunker: None }
    }

    /// Gives the memory back until bytes come, if none wait to be taken.
    pub(crate) fn rest(&mut self) {
        if self.tail == 0 {
            self.bytes = Vec::new();
        }
    }

    /// Makes the buffer at least `capacity` bytes long.
    pub(crate) fn grow(&mut self, capacity: usize) {
        self.capacity = self.capacity.max(capacity);
        if self.bytes.len() < capacity {
            self.compact();
            self.bytes.reserve_exact(capacity - self.bytes.len());
            self.bytes.resize(capacity, 0);
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Room for received bytes. Moves what is left to the front when less
    /// than half of the buffer is free at the back.
    pub(crate) fn spare(&mut self) -> &mut [u8] {
        if self.bytes.is_empty() {
            self.bytes = vec![0; self.capacity];
        }
        if self.head > 0 && self.bytes.len() - self.tail < self.bytes.len() / 2 {
            self.compact();
        }
        &mut self.bytes[self.tail..]
    }

    /// Takes note of `count` bytes written into the spare room.
    pub(crate) fn filled(&mut self, count: usize) {
        self.tail = (self.tail + count).min(self.bytes.len());
        if self.dechunker.is_none() {
            self.ready = self.tail;
            self.raw = self.tail;
        }
    }

    fn compact(&mut self) {
        self.bytes.copy_within(self.head..self.ready, 0);
        self.ready -= self.head;
        self.head = 0;
        if self.raw > self.ready {
            self.bytes.copy_within(self.raw..self.tail, self.ready);
            self.tail = self.ready + (self.tail - self.raw);
        }
        self.raw = if self.dechunker.is_some() { self.ready } else { self.tail };
    }

    /// From here on the bytes come in chunks. What is in the buffer already
    /// is taken as chunked too.
    pub(crate) fn start_dechunking(&mut self) {
        self.dechunker = Some(Dechunker::default());
        self.ready = self.head;
        self.raw = self.head;
    }

    /// Cuts the chunk framing out of all raw bytes.
    pub(crate) fn dechunk(&mut self, limits: ChunkLimits) -> Result<(), CloseReason> {
        let Some(dechunker) = &mut self.dechunker else { return Ok(()) };
        while self.raw < self.tail {
            let Some(step) = dechunker.step(&self.bytes[self.raw..self.tail], limits)? else {
                break;
            };
            let payload = self.raw + step.skip..self.raw + step.skip + step.payload;
            self.raw = payload.end;
            let length = payload.len();
            self.bytes.copy_within(payload, self.ready);
            self.ready += length;
        }
        Ok(())
    }

    /// Whether the last chunk has come.
    pub(crate) fn is_ended(&self) -> bool {
        self.dechunker.as_ref().is_some_and(Dechunker::is_ended)
    }

    /// The bytes that are ready.
    pub(crate) fn ready(&self) -> &[u8] {
        &self.bytes[self.head..self.ready]
    }

    pub(crate) fn ready_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.head..self.ready]
    }

    /// Takes `count` ready bytes and tells where they lie until more bytes are
    /// received.
    pub(crate) fn take(&mut self, count: usize) -> Range<usize> {
        let start = self.head;
        self.head = (start + count).min(self.ready);
        if self.head == self.tail {
            // Nothing is left, so the next read may start at the front; the
            // taken bytes stay where they are until then.
            return self.rewind(start);
        }
        start..self.head
    }

    fn rewind(&mut self, start: usize) -> Range<usize> {
        let taken = start..self.head;
        self.head = 0;
        self.ready = 0;
        self.raw = 0;
        self.tail = 0;
        taken
    }

    pub(crate) fn slice(&self, range: Range<usize>) -> &[u8] {
        self.bytes.get(range).unwrap_or_default()
    }

    /// All bytes not taken, for another machine that goes on with them.
    pub(crate) fn unread(&self) -> &[u8] {
        &self.bytes[self.head..self.tail]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(input: &mut Input, bytes: &[u8]) {
        input.spare()[..bytes.len()].copy_from_slice(bytes);
        input.filled(bytes.len());
    }

    #[test]
    fn taken_bytes_stay_readable_until_more_come() {
        let mut input = Input::new(8);
        fill(&mut input, b"abcdef");
        let first = input.take(4);
        assert_eq!(input.slice(first), b"abcd");
        fill(&mut input, b"ghijk");
        assert_eq!(input.ready(), b"efghijk");
        let rest = input.take(7);
        assert_eq!(input.slice(rest), b"efghijk");
        assert_eq!(input.spare().len(), 8);
    }

    #[test]
    fn chunk_framing_is_cut_out_across_reads() {
        let limits = ChunkLimits { line_bytes: 16 };
        let mut input = Input::new(32);
        fill(&mut input, b"X3\r\nab");
        input.take(1);
        input.start_dechunking();
        input.dechunk(limits).unwrap();
        assert_eq!(input.ready(), b"ab");
        fill(&mut input, b"c\r");
        input.dechunk(limits).unwrap();
        input.take(1);
        fill(&mut input, b"\n4;;;\r\ndefg\r\n");
        input.dechunk(limits).unwrap();
        assert_eq!(input.ready(), b"bcdefg");
        assert!(!input.is_ended());
        fill(&mut input, b"0\r\n");
        input.dechunk(limits).unwrap();
        assert!(input.is_ended());
    }
}
