//! One priority's output: wire bytes in order, cut into frames.

use std::collections::VecDeque;

/// ```text
///   | sent | frame | frame | ... |  frame being written  |  free  |
///   0     head                 sealed                   tail      len
/// ```
///
/// The buffer is always initialised to its full length, so that room is given
/// out without clearing it first.
pub(crate) struct Queue {
    bytes: Vec<u8>,
    head: usize,
    sealed: usize,
    tail: usize,
    /// Bytes left of each sealed frame.
    frames: VecDeque<u32>,
    /// A larger buffer gives its memory back when the queue is empty.
    retained_bytes: usize,
}

impl Queue {
    pub(crate) const fn new(retained_bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            head: 0,
            sealed: 0,
            tail: 0,
            frames: VecDeque::new(),
            retained_bytes,
        }
    }

    /// Bytes that wait, the frame being written included.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.tail - self.head
    }

    /// Bytes of whole frames that wait.
    pub(crate) fn sealed_bytes(&self) -> usize {
        self.sealed - self.head
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.frames.capacity() * size_of::<u32>()
    }

    /// Bytes of the frame being written.
    pub(crate) fn open_bytes(&self) -> usize {
        self.tail - self.sealed
    }

    /// Gives the memory back if nothing waits.
    pub(crate) fn rest(&mut self) {
        if self.queued_bytes() == 0 {
            *self = Self::new(self.retained_bytes);
        }
    }

    /// Makes sure that `count` bytes fit behind what is there.
    pub(crate) fn reserve(&mut self, count: usize) {
        if self.bytes.len() - self.tail >= count {
            return;
        }
        // Moving costs as much as what waits; it must pay for itself.
        if self.head > 0 && self.head >= self.bytes.len() / 4 {
            self.bytes.copy_within(self.head..self.tail, 0);
            self.sealed -= self.head;
            self.tail -= self.head;
            self.head = 0;
        }
        if self.bytes.len() - self.tail < count {
            let length = (self.tail + count).max(2 * self.bytes.len());
            self.bytes.resize(length, 0);
        }
    }

    /// Adds `count` bytes to the frame being written, for the caller to fill.
    /// They are reserved already.
    pub(crate) fn extend(&mut self, count: usize) -> &mut [u8] {
        let start = self.tail;
        self.tail += count;
        &mut self.bytes[start..self.tail]
    }

    /// The frame being written.
    pub(crate) fn open(&mut self) -> &mut [u8] {
        &mut self.bytes[self.sealed..self.tail]
    }

    /// Reserved room behind the frame being written.
    pub(crate) fn room(&mut self, count: usize) -> &mut [u8] {
        &mut self.bytes[self.tail..self.tail + count]
    }

    /// [`Self::room`] to read.
    pub(crate) fn room_ref(&self, count: usize) -> &[u8] {
        &self.bytes[self.tail..self.tail + count]
    }

    /// Cuts the frame being written to its first `count` bytes.
    pub(crate) fn truncate_open(&mut self, count: usize) {
        self.tail = self.tail.min(self.sealed + count);
    }

    /// Ends the frame being written.
    pub(crate) fn seal(&mut self) {
        self.frames.push_back((self.tail - self.sealed) as u32);
        self.sealed = self.tail;
    }

    /// Bytes left of the first, second, ... waiting frame.
    pub(crate) fn frame(&self, index: usize) -> Option<usize> {
        self.frames.get(index).map(|bytes| *bytes as usize)
    }

    /// Whole frames that wait from the head on.
    pub(crate) fn sealed(&self) -> &[u8] {
        &self.bytes[self.head..self.sealed]
    }

    /// Takes note of `count` sent bytes; true when that ends in the middle of
    /// a frame.
    pub(crate) fn sent(&mut self, count: usize) -> bool {
        let mut left = count.min(self.sealed_bytes());
        self.head += left;
        let mut in_frame = false;
        while left > 0 {
            let Some(first) = self.frames.front_mut() else { break };
            let frame = *first as usize;
            if frame > left {
                *first -= left as u32;
                in_frame = true;
                break;
            }
            left -= frame;
            self.frames.pop_front();
        }
        if self.head == self.tail {
            (self.head, self.sealed, self.tail) = (0, 0, 0);
            if self.bytes.len() > self.retained_bytes {
                self.bytes = Vec::new();
            }
        }
        in_frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(queue: &mut Queue, frame: &[u8]) {
        queue.reserve(frame.len());
        queue.extend(frame.len()).copy_from_slice(frame);
        queue.seal();
    }

    #[test]
    fn sent_bytes_are_accounted_by_frame() {
        let mut queue = Queue::new(100_000);
        push(&mut queue, b"abc");
        push(&mut queue, b"defgh");
        assert!(!queue.sent(3));
        assert_eq!(queue.sealed(), b"defgh");
        assert!(queue.sent(2));
        assert_eq!((queue.frame(0), queue.frame(1)), (Some(3), None));
        push(&mut queue, b"ij");
        assert_eq!(queue.sealed(), b"fghij");
        assert!(!queue.sent(5));
        assert_eq!(queue.queued_bytes(), 0);
    }

    #[test]
    fn room_is_used_again_instead_of_growing() {
        let mut queue = Queue::new(100_000);
        push(&mut queue, &[1; 1000]);
        for _ in 0..1000 {
            push(&mut queue, &[2; 500]);
            queue.sent(500);
        }
        assert!(queue.memory_bytes() <= 4096, "{}", queue.memory_bytes());
        assert_eq!(queue.queued_bytes(), 1000);
    }

    #[test]
    fn a_burst_is_given_back() {
        let mut queue = Queue::new(100_000);
        for (length, is_kept) in [(100_000, true), (100_001, false)] {
            push(&mut queue, &vec![0; length]);
            queue.sent(length);
            assert_eq!(queue.memory_bytes() >= length, is_kept);
        }
    }
}
