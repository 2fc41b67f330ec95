//! One priority's output: wire bytes in order, cut into frames.

use std::collections::VecDeque;

/// A queue longer than this is in several segments: nothing is moved to grow
/// it, and what was sent is given back piece by piece.
const SEGMENT_BYTES: usize = 128 * 1024;

/// Wire bytes in one piece.
///
/// ```text
///   | sent | frame | frame | ... |  frame being written  |  free  |
///   0     head                 sealed                   tail      len
/// ```
///
/// The buffer is always initialised to its full length, so that room is given
/// out without clearing it first.
#[derive(Default)]
struct Segment {
    bytes: Vec<u8>,
    head: usize,
    sealed: usize,
    tail: usize,
    /// Sealed frames that wait.
    frames: usize,
}

impl Segment {
    const fn queued_bytes(&self) -> usize {
        self.tail - self.head
    }

    /// Makes sure that `count` bytes fit behind what is there.
    fn reserve(&mut self, count: usize) {
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

    /// Takes the frame being written out, into a segment of its own with room
    /// for `count` bytes more; in `spare` if that is long enough.
    fn split_open(&mut self, count: usize, spare: Option<Box<Self>>) -> Self {
        let open = &self.bytes[self.sealed..self.tail];
        let tail = open.len();
        let length = SEGMENT_BYTES.max(tail + count);
        let spare = spare.map(|spare| spare.bytes).filter(|bytes| bytes.len() >= length);
        let mut bytes = spare.unwrap_or_else(|| vec![0; length]);
        bytes[..tail].copy_from_slice(open);
        self.tail = self.sealed;
        Self { bytes, tail, ..Self::default() }
    }
}

/// One priority's output: segments, of which the first is sent from and the
/// last is written to. Only the last may have no whole frame, or one that is
/// being written. It is at hand, as each message that is packed is written to it.
pub(crate) struct Queue {
    last: Segment,
    /// Those before it, of which the first is sent from.
    earlier: VecDeque<Segment>,
    /// Bytes of these.
    earlier_bytes: usize,
    /// The segment that was sent last, whose buffer is for the next one: of a
    /// queue that stays long the kernel would have to map and clear each anew.
    spare: Option<Box<Segment>>,
    /// Bytes left of each sealed frame.
    frames: VecDeque<u32>,
    /// A larger buffer gives its memory back when the queue is empty.
    retained_bytes: usize,
}

impl Queue {
    pub(crate) const fn new(retained_bytes: usize) -> Self {
        let last = Segment { bytes: Vec::new(), head: 0, sealed: 0, tail: 0, frames: 0 };
        Self {
            last,
            earlier: VecDeque::new(),
            earlier_bytes: 0,
            spare: None,
            frames: VecDeque::new(),
            retained_bytes,
        }
    }

    fn first(&self) -> &Segment {
        self.earlier.front().unwrap_or(&self.last)
    }

    /// Bytes that wait, the frame being written included.
    #[inline]
    pub(crate) const fn queued_bytes(&self) -> usize {
        self.earlier_bytes + self.last.queued_bytes()
    }

    /// Bytes of whole frames that are next to be sent: others may follow them.
    pub(crate) fn sealed_bytes(&self) -> usize {
        let first = self.first();
        first.sealed - first.head
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        let segments = core::iter::once(&self.last).chain(&self.earlier);
        let segments = segments.chain(self.spare.as_deref());
        segments.map(|segment| segment.bytes.capacity()).sum::<usize>()
            + self.frames.capacity() * size_of::<u32>()
    }

    /// Bytes of the frame being written.
    #[inline]
    pub(crate) const fn open_bytes(&self) -> usize {
        self.last.tail - self.last.sealed
    }

    /// Where the next byte goes: the same place until room is reserved.
    #[inline]
    pub(crate) const fn position(&self) -> usize {
        self.last.tail
    }

    /// Gives the memory back if nothing waits.
    pub(crate) fn rest(&mut self) {
        if self.queued_bytes() == 0 {
            *self = Self::new(self.retained_bytes);
        }
    }

    /// Makes sure that `count` bytes fit behind what is there.
    pub(crate) fn reserve(&mut self, count: usize) {
        let Self { last, earlier, earlier_bytes, spare, .. } = self;
        if last.bytes.len() - last.tail >= count {
            return;
        }
        if last.frames > 0 && last.queued_bytes() + count > SEGMENT_BYTES {
            let next = last.split_open(count, spare.take());
            let full = std::mem::replace(last, next);
            *earlier_bytes += full.queued_bytes();
            return earlier.push_back(full);
        }
        last.reserve(count);
    }

    /// Adds `count` bytes to the frame being written, for the caller to fill.
    /// They are reserved already.
    #[inline]
    pub(crate) fn extend(&mut self, count: usize) -> &mut [u8] {
        let last = &mut self.last;
        let start = last.tail;
        last.tail += count;
        &mut last.bytes[start..last.tail]
    }

    /// The same, if they are before this [position](Self::position).
    #[inline]
    pub(crate) fn extend_before(&mut self, end: usize, count: usize) -> Option<&mut [u8]> {
        let last = &mut self.last;
        let room = last.bytes.get_mut(last.tail..end)?.get_mut(..count)?;
        last.tail += count;
        Some(room)
    }

    /// The room up to this [position](Self::position), to be
    /// [added](Self::extend) as far as it is filled; none if it is not reserved.
    #[inline]
    pub(crate) fn room_before(&mut self, end: usize) -> &mut [u8] {
        let last = &mut self.last;
        last.bytes.get_mut(last.tail..end).unwrap_or_default()
    }

    /// The frame being written.
    pub(crate) fn open(&mut self) -> &mut [u8] {
        let last = &mut self.last;
        &mut last.bytes[last.sealed..last.tail]
    }

    /// Reserved room behind the frame being written.
    pub(crate) fn room(&mut self, count: usize) -> &mut [u8] {
        let last = &mut self.last;
        &mut last.bytes[last.tail..last.tail + count]
    }

    /// [`Self::room`] to read.
    pub(crate) fn room_ref(&self, count: usize) -> &[u8] {
        let last = &self.last;
        &last.bytes[last.tail..last.tail + count]
    }

    /// Cuts the frame being written to its first `count` bytes.
    pub(crate) fn truncate_open(&mut self, count: usize) {
        let last = &mut self.last;
        last.tail = last.tail.min(last.sealed + count);
    }

    /// Ends the frame being written.
    pub(crate) fn seal(&mut self) {
        let last = &mut self.last;
        let bytes = last.tail - last.sealed;
        last.sealed = last.tail;
        last.frames += 1;
        self.frames.push_back(bytes as u32);
    }

    /// Bytes left of the first, second, ... of the frames that are next to be
    /// sent.
    pub(crate) fn frame(&self, index: usize) -> Option<usize> {
        let frame = self.frames.get(index).filter(|_| index < self.first().frames)?;
        Some(*frame as usize)
    }

    /// Whole frames that are next to be sent, from the head on.
    pub(crate) fn sealed(&self) -> &[u8] {
        let first = self.first();
        &first.bytes[first.head..first.sealed]
    }

    /// Takes note of `count` sent bytes; true when that ends in the middle of
    /// a frame.
    pub(crate) fn sent(&mut self, count: usize) -> bool {
        let mut left = count.min(self.sealed_bytes());
        let Self { last, earlier, earlier_bytes, frames, spare, .. } = self;
        let first = match earlier.front_mut() {
            Some(first) => {
                *earlier_bytes -= left;
                first
            }
            None => last,
        };
        first.head += left;
        let mut in_frame = false;
        while left > 0 {
            let Some(frame) = frames.front_mut() else { break };
            let bytes = *frame as usize;
            if bytes > left {
                *frame -= left as u32;
                in_frame = true;
                break;
            }
            left -= bytes;
            frames.pop_front();
            first.frames -= 1;
        }
        if first.head == first.tail {
            match earlier.pop_front() {
                Some(sent) if sent.bytes.len() <= 2 * SEGMENT_BYTES => {
                    *spare = Some(Box::new(sent));
                }
                Some(_) => {}
                None => self.empty(),
            }
        }
        in_frame
    }

    fn empty(&mut self) {
        let Self { last, earlier, spare, frames, retained_bytes, .. } = self;
        (last.head, last.sealed, last.tail) = (0, 0, 0);
        let spare_bytes = spare.as_ref().map_or(0, |spare| spare.bytes.len());
        if last.bytes.len() + spare_bytes > *retained_bytes {
            *spare = None;
        }
        if last.bytes.len() > *retained_bytes {
            last.bytes = Vec::new();
            *frames = VecDeque::new();
            *earlier = VecDeque::new();
        }
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
    fn a_long_queue_is_in_segments_and_given_back_as_it_is_sent() {
        const FRAME: usize = 6_000;
        let mut queue = Queue::new(100_000);
        for number in 0..1_000_usize {
            queue.reserve(FRAME);
            queue.extend(FRAME).fill(number as u8);
            assert_eq!(queue.open_bytes(), FRAME);
            queue.seal();
        }
        assert_eq!(queue.queued_bytes(), 1_000 * FRAME);
        assert!(queue.memory_bytes() < 1_000 * FRAME * 11 / 10 + SEGMENT_BYTES);
        // One that is being written stays where it is.
        queue.reserve(FRAME);
        queue.extend(10).fill(7);
        let mut wire = Vec::new();
        while queue.sealed_bytes() > 0 {
            let frames = (0..).map_while(|index| queue.frame(index)).sum::<usize>();
            assert_eq!(frames, queue.sealed_bytes(), "frames are in one segment");
            let count = queue.sealed_bytes().min(10_007);
            wire.extend_from_slice(&queue.sealed()[..count]);
            let in_frame = queue.sent(count);
            assert_eq!(in_frame, !wire.len().is_multiple_of(FRAME));
            let most = 3 * SEGMENT_BYTES + (queue.queued_bytes()) * 11 / 10;
            assert!(queue.memory_bytes() <= most + 8_192, "{}", queue.memory_bytes());
        }
        assert_eq!(wire.len(), 1_000 * FRAME);
        let is_right = |(at, byte): (usize, &u8)| *byte == (at / FRAME) as u8;
        assert!(wire.iter().enumerate().all(is_right));
        assert_eq!(queue.open(), [7; 10]);
        queue.seal();
        assert_eq!(queue.sealed(), [7; 10]);
        assert!(!queue.sent(10));
        assert_eq!((queue.queued_bytes(), queue.memory_bytes()), (0, 0));
    }

    #[test]
    fn a_queue_that_stays_long_writes_into_what_it_has_sent() {
        let mut queue = Queue::new(0);
        let frame = [5; 1_000];
        for _ in 0..4 * SEGMENT_BYTES / frame.len() {
            push(&mut queue, &frame);
        }
        let place = |segment: &Segment| segment.bytes.as_ptr();
        for _ in 0..10 {
            while queue.spare.is_none() {
                assert_eq!(queue.sealed()[..frame.len()], frame);
                queue.sent(frame.len());
            }
            // It is still there when the next one is begun, so that this is no
            // chance of the allocator.
            let spare = queue.spare.as_deref().map(place);
            while queue.spare.is_some() {
                push(&mut queue, &frame);
                assert!(queue.queued_bytes() < 8 * SEGMENT_BYTES, "the spare one is not used");
            }
            assert_eq!(spare, Some(place(&queue.last)));
        }
        while queue.queued_bytes() > 0 {
            queue.sent(queue.sealed_bytes());
        }
        assert_eq!(queue.memory_bytes(), 0);
    }

    #[test]
    fn a_frame_longer_than_a_segment_is_in_one_piece() {
        let mut queue = Queue::new(0);
        push(&mut queue, &[1; 100]);
        push(&mut queue, &vec![2; 3 * SEGMENT_BYTES]);
        push(&mut queue, &[3; 100]);
        assert!(!queue.sent(100));
        assert_eq!(queue.sealed_bytes(), 3 * SEGMENT_BYTES);
        assert!(!queue.sent(3 * SEGMENT_BYTES));
        assert_eq!(queue.sealed(), [3; 100]);
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
