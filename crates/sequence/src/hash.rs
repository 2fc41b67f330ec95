//! One number for all events so far.

/// A hash over everything that entries have led to, which replicas compare: the
/// bytes of each message, with its length. It finds differences; it is no proof
/// against somebody who makes them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventHash(pub u64);

/// Odd, with its bits well spread: the fraction of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl EventHash {
    /// Adds a message.
    #[inline]
    pub fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        // One more, so that a message without bytes counts, too.
        self.mix(bytes.len() as u64 + 1);
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let mut last = [0; 8];
            last[..rest.len()].copy_from_slice(rest);
            self.mix(u64::from_le_bytes(last));
        }
    }

    #[inline]
    fn mix(&mut self, word: u64) {
        // The shift brings what the multiplication left at the top back down.
        let mixed = (self.0 ^ word).wrapping_mul(FACTOR);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(messages: &[&[u8]]) -> EventHash {
        let mut hash = EventHash::default();
        for message in messages {
            hash.add(message);
        }
        hash
    }

    #[test]
    fn what_differs_has_another_hash() {
        let plain: [&[u8]; 2] = [b"12345678", b"90"];
        // It is part of journals and snapshots: another value is another version.
        assert_eq!(of(&plain), EventHash(VALUE), "{:#x}", of(&plain).0);
        let others: [&[&[u8]]; 5] = [
            &[b"90", b"12345678"],
            &[b"1234567890"],
            &[b"12345678", b"90\0"],
            &[b"12345679", b"90"],
            &[b"", b"12345678", b"90"],
        ];
        for other in others {
            assert_ne!(of(other), of(&plain), "{other:?}");
        }
    }

    /// Worked out by another program.
    const VALUE: u64 = 0x4bf8_4d49_3b6a_6e74;
}
