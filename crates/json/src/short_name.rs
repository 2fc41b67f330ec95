//! Names that are compared as numbers.

/// A name of at most [`MOST_BYTES`](Self::MOST_BYTES) as two words: equal if and
/// only if the names are, which two comparisons tell where the bytes of a length
/// that only the processor knows take a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShortName {
    /// The first eight bytes, zeros behind the end.
    head: u64,
    /// The last eight bytes of a name that has more than eight, else 0. Bytes
    /// that are in both words do no harm, as the length is known.
    tail: u64,
    len: u8,
}

impl ShortName {
    /// The longest name that is short.
    pub(crate) const MOST_BYTES: usize = 16;

    /// A name, if it is short.
    pub(crate) const fn new(name: &[u8]) -> Option<Self> {
        let mut head = [0; 8];
        let mut at = 0;
        while at < name.len() && at < head.len() {
            head[at] = name[at];
            at += 1;
        }
        Self::with_head(u64::from_le_bytes(head), name)
    }

    /// The same where the first word is known.
    #[inline]
    pub(crate) const fn with_head(head: u64, name: &[u8]) -> Option<Self> {
        if name.len() > Self::MOST_BYTES {
            return None;
        }
        let tail = match name.last_chunk() {
            Some(last) if name.len() > last.len() => u64::from_le_bytes(*last),
            _ => 0,
        };
        Some(Self { head, tail, len: name.len() as u8 })
    }

    /// A hash which differs by `factor`. Each of its bits depends on all of the
    /// name: a bit of a product is made of the bits at and below its place, so
    /// that the low half alone would say little of the last bytes; the high half
    /// says the rest.
    ///
    /// Nothing here is secret: what is looked up may come from strangers, but
    /// what is in the tables does not, so that none of them can fill one place.
    #[inline]
    pub(crate) const fn hash(self, factor: u64) -> u64 {
        let Self { head, tail, len } = self;
        let product = (head ^ tail.rotate_left(29) ^ len as u64) as u128 * factor as u128;
        product as u64 ^ (product >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_names_are_equal_if_their_bytes_are() {
        let names: Vec<Vec<u8>> = (0..=ShortName::MOST_BYTES)
            .flat_map(|len| {
                let same = [vec![b'a'; len], vec![0; len]];
                let other = (0..len).map(move |at| {
                    let mut name = vec![b'a'; len];
                    name[at] = b'b';
                    name
                });
                same.into_iter().chain(other)
            })
            .collect();
        for (at, name) in names.iter().enumerate() {
            let short = ShortName::new(name);
            assert!(short.is_some(), "{name:?}");
            for (other_at, other) in names.iter().enumerate() {
                let is_same = name == other;
                assert_eq!(short == ShortName::new(other), is_same, "{at} {other_at}");
            }
        }
        assert_eq!(ShortName::new(&[b'a'; 17]), None);
    }
}
