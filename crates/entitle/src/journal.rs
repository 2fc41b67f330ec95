//! The usage journal: records that are only ever appended.
//!
//! Whoever is killed while writing leaves a torn tail, which is recognised by its
//! length or its checksum. Damage before the tail costs the records that it hits:
//! reading goes on with the next whole one.

use crate::usage::Usage;

/// The records of a journal that are whole.
#[derive(Clone, Debug)]
pub struct Journal<'b> {
    bytes: &'b [u8],
    at: usize,
    damaged_bytes: usize,
}

impl<'b> Journal<'b> {
    /// Reads these bytes.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0, damaged_bytes: 0 }
    }

    /// Where the last record ends that was read: where a journal with a torn tail
    /// goes on, once it is cut here.
    pub fn good_bytes(&self) -> usize {
        self.at
    }

    /// How many bytes are left. At the end of the records, those of the torn
    /// tail.
    pub fn left_bytes(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// How many bytes between records were passed over so far, as they are no
    /// whole record.
    pub fn damaged_bytes(&self) -> usize {
        self.damaged_bytes
    }
}

impl<'b> Iterator for Journal<'b> {
    type Item = Usage<'b>;

    fn next(&mut self) -> Option<Usage<'b>> {
        let found = |from: usize| Some((from, Usage::decode(&self.bytes[from..])?));
        let (from, (usage, len)) = (self.at..self.bytes.len()).find_map(found)?;
        self.damaged_bytes += from - self.at;
        self.at = from + len;
        Some(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::Kind;

    fn three() -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (kind, item) in [(Kind::StartWatch, "VOD.L"), (Kind::Snapshot, ""), (Kind::Logout, "€")]
        {
            let lock = &[3, 1, 1, 0x62, 0xC0];
            Usage { user: "jdoe", item, lock, ..Usage::of(kind, 1 << 40) }.encode(&mut bytes);
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    #[test]
    fn what_is_written_is_read() {
        let (bytes, _) = three();
        let mut journal = Journal::new(&bytes);
        assert_eq!(journal.next().map(|it| (it.kind, it.item)), Some((Kind::StartWatch, "VOD.L")));
        assert_eq!(journal.by_ref().count(), 2);
        assert_eq!((journal.good_bytes(), journal.left_bytes()), (bytes.len(), 0));
    }

    #[test]
    fn a_tail_that_is_torn_anywhere_is_recognised() {
        let (bytes, ends) = three();
        for cut in 0..bytes.len() {
            let mut journal = Journal::new(&bytes[..cut]);
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(journal.by_ref().count(), whole, "{cut}");
            assert_eq!(journal.good_bytes(), if whole == 0 { 0 } else { ends[whole - 1] });
            assert_eq!(journal.damaged_bytes(), 0, "{cut}");
        }
    }

    #[test]
    fn a_bit_that_is_flipped_costs_the_record_that_it_hits() {
        let (bytes, ends) = three();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let hit = ends.iter().filter(|end| **end <= bit / 8).count();
            let mut journal = Journal::new(&damaged);
            assert_eq!(journal.by_ref().count(), 2, "{bit}");
            let begin = if hit == 0 { 0 } else { ends[hit - 1] };
            let lost = journal.damaged_bytes() + journal.left_bytes();
            assert_eq!(lost, ends[hit] - begin, "{bit}");
        }
    }

    #[test]
    fn what_is_behind_a_torn_record_is_read() {
        let (bytes, ends) = three();
        let torn = [&bytes[..ends[0]], &bytes[ends[0]..ends[1] - 20], &bytes[ends[1]..]].concat();
        let mut journal = Journal::new(&torn);
        let kinds: Vec<_> = journal.by_ref().map(|usage| usage.kind).collect();
        assert_eq!(kinds, [Kind::StartWatch, Kind::Logout]);
        assert_eq!(journal.damaged_bytes(), ends[1] - ends[0] - 20);
    }
}
