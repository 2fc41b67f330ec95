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
#[derive(Debug)]
pub(crate) struct Queue {
    buffer: Vec<u8>,
    head: usize,
    limit_bytes: usize,
}

const LENGTH_BYTES: usize = size_of::<u32>();

impl Queue {
    /// `limit_bytes` includes four bytes for the length of each record.
    pub(crate) const fn new(limit_bytes: usize) -> Self {
        Self { buffer: Vec::new(), head: 0, limit_bytes }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.buffer.len() - self.head
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Adds the concatenation of `head` and `parts`; false when it is full.
    pub(crate) fn push(&mut self, head: &[u8], parts: &[&[u8]]) -> bool {
        let length = head.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        if self.bytes() + LENGTH_BYTES + length > self.limit_bytes {
            return false;
        }
        let Ok(length) = u32::try_from(length) else { return false };
        self.buffer.extend_from_slice(&length.to_le_bytes());
        self.buffer.extend_from_slice(head);
        for part in parts {
            self.buffer.extend_from_slice(part);
        }
        true
    }

    /// The oldest record.
    pub(crate) fn front(&self) -> Option<&[u8]> {
        let (length, rest) = self.buffer[self.head..].split_first_chunk::<LENGTH_BYTES>()?;
        rest.get(..u32::from_le_bytes(*length) as usize)
    }

    /// Takes the oldest record away.
    pub(crate) fn pop(&mut self) {
        let Some(length) = self.front().map(<[u8]>::len) else { return };
        self.head += LENGTH_BYTES + length;
        if self.is_empty() {
            self.buffer.clear();
            self.head = 0;
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
        assert_eq!(queue.bytes(), 20);
        queue.pop();
        assert_eq!(queue.front(), Some(&b"ab"[..]));
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
