//! Frames that wait for the network.

/// A bounded first-in first-out of byte records in one buffer.
///
/// ```text
///  buffer: .. taken .. | length u32 | bytes | length u32 | bytes |
///                      head                                      end
/// ```
///
/// What was taken is given back when the queue becomes empty, or by moving the
/// rest when it is the smaller half; so the buffer never exceeds twice the
/// limit, and each byte moves at most once on average.
///
/// Pieces of long frames stand in the same line, as the order must stay, but
/// have a limit of their own: what is short is not lost because something long
/// waits. They are marked in the top bit of the length.
#[derive(Debug)]
pub(crate) struct Queue {
    buffer: Vec<u8>,
    head: usize,
    limit_bytes: usize,
    /// How much of it are pieces of long frames, lengths included.
    long_bytes: usize,
}

const LENGTH_BYTES: usize = size_of::<u32>();
const LONG: u32 = 1 << 31;

impl Queue {
    /// `limit_bytes` includes four bytes for the length of each record.
    pub(crate) const fn new(limit_bytes: usize) -> Self {
        Self { buffer: Vec::new(), head: 0, limit_bytes, long_bytes: 0 }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.buffer.len() - self.head
    }

    /// Of them, those of long frames.
    pub(crate) const fn long_bytes(&self) -> usize {
        self.long_bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// How much of the limit is used by what is not long.
    pub(crate) fn percent(&self) -> u8 {
        if self.is_empty() {
            return 0;
        }
        let short_bytes = self.bytes() - self.long_bytes;
        (short_bytes.saturating_mul(100) / self.limit_bytes.max(1)).min(100) as u8
    }

    /// Adds the concatenation of `head` and `parts`; false when it is full.
    pub(crate) fn push(&mut self, head: &[u8], parts: &[&[u8]]) -> bool {
        let length = head.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        let fits = self.has_room(length);
        if fits {
            self.add(length, 0, head, parts);
        }
        fits
    }

    /// Whether a record of so many bytes fits.
    pub(crate) fn has_room(&self, length: usize) -> bool {
        self.bytes() - self.long_bytes + LENGTH_BYTES + length <= self.limit_bytes
    }

    /// Gets ready for a long frame of `bytes`, whose pieces follow.
    pub(crate) fn reserve(&mut self, bytes: usize) {
        self.buffer.reserve_exact(bytes);
    }

    /// Adds a piece of a long frame, which the caller has found room for.
    pub(crate) fn push_piece(&mut self, head: &[u8], parts: &[&[u8]]) {
        let length = head.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        self.long_bytes += LENGTH_BYTES + length;
        self.add(length, LONG, head, parts);
    }

    fn add(&mut self, length: usize, mark: u32, head: &[u8], parts: &[&[u8]]) {
        debug_assert!(length < LONG as usize, "the longest frame is far below it");
        self.buffer.extend_from_slice(&(length as u32 | mark).to_le_bytes());
        self.buffer.extend_from_slice(head);
        for part in parts {
            self.buffer.extend_from_slice(part);
        }
    }

    /// The oldest record.
    pub(crate) fn front(&self) -> Option<&[u8]> {
        self.oldest().map(|(_, record)| record)
    }

    /// The oldest record, and whether it is a piece of a long frame.
    fn oldest(&self) -> Option<(bool, &[u8])> {
        let (length, rest) = self.buffer[self.head..].split_first_chunk::<LENGTH_BYTES>()?;
        let length = u32::from_le_bytes(*length);
        Some((length & LONG != 0, rest.get(..(length & !LONG) as usize)?))
    }

    /// Takes the oldest record away.
    pub(crate) fn pop(&mut self) {
        let Some((is_long, record)) = self.oldest() else { return };
        let bytes = LENGTH_BYTES + record.len();
        self.head += bytes;
        self.long_bytes -= if is_long { bytes } else { 0 };
        if self.is_empty() {
            self.buffer.clear();
            self.head = 0;
            // What a long frame took is not kept.
            self.buffer.shrink_to(self.limit_bytes);
        } else if self.head > self.buffer.len() / 2 {
            self.buffer.drain(..self.head);
            self.head = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_out_in_order_and_whole() {
        let mut queue = Queue::new(1000);
        assert!(queue.push(b"ab", &[b"c", b"", b"de"]));
        assert!(queue.push(b"", &[]));
        assert!(queue.push(b"x", &[]));
        for expected in [&b"abcde"[..], b"", b"x"] {
            assert_eq!(queue.front(), Some(expected));
            queue.pop();
        }
        assert_eq!(queue.front(), None);
        queue.pop();
        assert!(queue.is_empty());
    }

    #[test]
    fn what_does_not_fit_leaves_the_rest_as_it_was() {
        let mut queue = Queue::new(20);
        assert!(queue.push(b"0123456789", &[]));
        assert!(!queue.push(b"abc", &[]));
        assert!(queue.push(b"ab", &[]));
        assert_eq!((queue.bytes(), queue.percent()), (20, 100));
        queue.pop();
        assert_eq!(queue.front(), Some(&b"ab"[..]));
    }

    #[test]
    fn what_is_long_takes_no_room_from_what_is_short_and_gives_its_own_back() {
        let mut queue = Queue::new(100);
        queue.reserve(5_000);
        for piece in 0..5_u8 {
            queue.push_piece(&[piece], &[&[7; 999]]);
        }
        assert!(queue.push(b"short", &[]));
        assert_eq!((queue.bytes(), queue.long_bytes()), (5 * 1004 + 9, 5 * 1004));
        assert_eq!(queue.percent(), 9);
        assert!(!queue.push(&[0; 90], &[]));
        for piece in 0..5 {
            assert_eq!(queue.front().map(|record| record[0]), Some(piece));
            queue.pop();
        }
        assert_eq!((queue.front(), queue.long_bytes()), (Some(&b"short"[..]), 0));
        queue.pop();
        assert!(queue.is_empty() && queue.buffer.capacity() <= 256);
    }

    #[test]
    fn a_queue_that_is_never_empty_stays_within_twice_its_limit() {
        let mut queue = Queue::new(100);
        let mut next_in = 0_u32;
        let mut next_out = 0_u32;
        for _ in 0..1000 {
            while queue.push(&next_in.to_le_bytes(), &[b"pad"]) {
                next_in += 1;
            }
            for _ in 0..3 {
                assert_eq!(queue.front().unwrap()[..4], next_out.to_le_bytes());
                queue.pop();
                next_out += 1;
            }
            assert!(queue.buffer.capacity() <= 256, "{}", queue.buffer.capacity());
        }
    }
}
