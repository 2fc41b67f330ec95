//! What became of numbered messages: lost, reordered, duplicated, late.
//!
//! A number is settled once the highest one is a window further: what has not
//! come by then is lost, and if it comes after all it is late.

use serde::{Deserialize, Serialize};

/// How far behind the highest number one may still come.
pub(crate) const WINDOW: u64 = 4096;

const WORDS: usize = (WINDOW / 64) as usize;

/// Counts of numbered messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Arrivals {
    /// Different ones that came in time.
    pub received: u64,
    /// That did not come.
    pub lost: u64,
    /// That came after a higher one.
    pub reordered: u64,
    /// That had come before.
    pub duplicated: u64,
    /// That came when they counted as lost.
    pub late: u64,
}

impl Arrivals {
    /// Adds those of another sender.
    pub fn add(&mut self, other: &Self) {
        self.received += other.received;
        self.lost += other.lost;
        self.reordered += other.reordered;
        self.duplicated += other.duplicated;
        self.late += other.late;
    }
}

/// Follows the numbers of one sender.
#[derive(Clone, Debug)]
pub struct Sequence {
    counts: Arrivals,
    /// The highest number so far, and the first.
    highest: Option<u64>,
    first: u64,
    gaps: u64,
    /// Whether a number of the window has come, by its remainder.
    seen: [u64; WORDS],
}

impl Default for Sequence {
    fn default() -> Self {
        Self::new()
    }
}

impl Sequence {
    /// Begins with the first number that comes.
    pub fn new() -> Self {
        Self { counts: Arrivals::default(), highest: None, first: 0, gaps: 0, seen: [0; WORDS] }
    }

    /// Begins with `first`: those from it on that never come are lost.
    pub fn from(first: u64) -> Self {
        let mut all = Self::new();
        all.first = first;
        all.highest = Some(first.wrapping_sub(1));
        // What was before counts as seen, so that nothing of it is lost.
        all.seen = [u64::MAX; WORDS];
        all
    }

    /// Takes note of a message. Returns whether it came for the first time, in
    /// time.
    #[inline]
    pub fn came(&mut self, seq: u64) -> bool {
        let Some(highest) = self.highest else {
            *self =
                Self { highest: Some(seq), first: seq, seen: [u64::MAX; WORDS], ..self.clone() };
            self.counts.received = 1;
            return true;
        };
        let ahead = seq.wrapping_sub(highest);
        if ahead > 0 && ahead < u64::MAX / 2 {
            self.advance(highest, ahead);
            self.gaps += u64::from(ahead > 1);
            self.counts.received += 1;
            return true;
        }
        if highest.wrapping_sub(seq) >= WINDOW || self.is_before_first(seq) {
            self.counts.late += 1;
            return false;
        }
        let (word, bit) = place(seq);
        if self.seen[word] & bit != 0 {
            self.counts.duplicated += 1;
            return false;
        }
        self.seen[word] |= bit;
        self.counts.reordered += 1;
        self.counts.received += 1;
        true
    }

    fn is_before_first(&self, seq: u64) -> bool {
        seq.wrapping_sub(self.first) > u64::MAX / 2
    }

    /// Makes `highest + ahead` the highest: what falls out of the window
    /// unseen is lost.
    fn advance(&mut self, highest: u64, ahead: u64) {
        if ahead > WINDOW {
            // All of the window falls out, and what lies between was never seen.
            let unseen: u64 = self.seen.iter().map(|word| u64::from(word.count_zeros())).sum();
            self.counts.lost += unseen + (ahead - WINDOW);
            self.seen = [0; WORDS];
        } else {
            for seq in 1..=ahead {
                let (word, bit) = place(highest.wrapping_add(seq));
                self.counts.lost += u64::from(self.seen[word] & bit == 0);
                self.seen[word] &= !bit;
            }
        }
        let now = highest.wrapping_add(ahead);
        let (word, bit) = place(now);
        self.seen[word] |= bit;
        self.highest = Some(now);
    }

    /// How often numbers were missing before one that came.
    pub const fn gaps(&self) -> u64 {
        self.gaps
    }

    /// What is known by now; numbers of the window that are missing may come.
    pub fn counts(&self) -> Arrivals {
        self.counts
    }

    /// What is known when nothing comes any more, with all up to `last` sent.
    pub fn settled(&self, last: Option<u64>) -> Arrivals {
        let mut all = self.clone();
        let Some(highest) = all.highest else { return all.counts };
        let behind = last.map_or(0, |last| last.wrapping_sub(highest));
        if behind > 0 && behind < u64::MAX / 2 {
            all.advance(highest, behind);
            // It did not come, although it is the highest now.
            let (word, bit) = place(highest.wrapping_add(behind));
            all.seen[word] &= !bit;
        }
        let unseen: u64 = all.seen.iter().map(|word| u64::from(word.count_zeros())).sum();
        Arrivals { lost: all.counts.lost + unseen, ..all.counts }
    }
}

fn place(seq: u64) -> (usize, u64) {
    let within = seq % WINDOW;
    ((within / 64) as usize, 1 << (within % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(numbers: impl IntoIterator<Item = u64>) -> Sequence {
        let mut sequence = Sequence::new();
        for seq in numbers {
            sequence.came(seq);
        }
        sequence
    }

    #[test]
    fn all_in_order_is_all() {
        let counts = of(5..100_005).settled(Some(100_004));
        assert_eq!(counts, Arrivals { received: 100_000, ..Arrivals::default() });
    }

    #[test]
    fn every_hundredth_lost_250th_doubled_and_500th_swapped_is_counted() {
        let mut numbers: Vec<u64> = Vec::new();
        for seq in 1..=100_000_u64 {
            if seq % 100 == 0 && seq % 500 != 0 {
                continue;
            }
            numbers.push(seq);
            if seq % 250 == 0 && seq % 500 != 0 {
                numbers.push(seq);
            }
            if seq % 500 == 1 && seq > 1 {
                // It changes its place with the 500th before it.
                let last = numbers.len() - 1;
                numbers.swap(last, last - 1);
            }
        }
        let counts = of(numbers).settled(Some(100_000));
        // 1,000 hundredths without the 200 five-hundredths; half of 400 that
        // are not five-hundredths are doubled; of 200, the last has no next.
        let expected =
            Arrivals { received: 99_200, lost: 800, reordered: 199, duplicated: 200, late: 0 };
        assert_eq!(counts, expected);
    }

    #[test]
    fn behind_the_window_is_late_and_counts_as_lost() {
        let mut sequence = of([0, 2]);
        assert_eq!(sequence.counts().lost, 0);
        sequence.came(2 + WINDOW);
        assert_eq!(sequence.counts().lost, 1);
        assert!(!sequence.came(1));
        // Numbers 3 to 4097 are missing, and 1.
        let counts = sequence.settled(None);
        assert_eq!((counts.late, counts.lost, counts.received), (1, 1 + WINDOW - 1, 3));
    }

    #[test]
    fn a_leap_beyond_the_window_loses_all_between() {
        let counts = of([10, 1_000_010]).settled(None);
        assert_eq!((counts.received, counts.lost), (2, 999_999));
    }

    #[test]
    fn what_came_before_the_first_is_late() {
        let mut sequence = of([100]);
        assert!(!sequence.came(50));
        assert_eq!(
            sequence.settled(None),
            Arrivals { received: 1, late: 1, ..Arrivals::default() }
        );
    }

    #[test]
    fn a_known_first_and_last_that_never_came_are_lost() {
        let mut sequence = Sequence::from(0);
        for seq in 3..10 {
            sequence.came(seq);
        }
        assert_eq!(sequence.settled(Some(11)).lost, 3 + 2);
        assert_eq!(Sequence::from(0).settled(Some(9)).lost, 10);
    }

    #[test]
    fn random_arrivals_are_counted_as_a_set_counts_them() {
        use std::collections::BTreeSet;
        let mut random = 88_172_645_463_325_252_u64;
        let mut draw = |below: u64| {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            random % below
        };
        for _ in 0..50 {
            let (mut sequence, mut seen, mut highest) = (Sequence::from(0), BTreeSet::new(), 0);
            let (mut duplicated, mut reordered) = (0, 0);
            for at in 0..5_000_u64 {
                let seq = (at + 20).saturating_sub(draw(40));
                match seen.insert(seq) {
                    false => duplicated += 1,
                    true if seq < highest => reordered += 1,
                    true => {}
                }
                highest = highest.max(seq);
                sequence.came(seq);
            }
            let counts = sequence.settled(Some(highest));
            let expected = Arrivals {
                received: seen.len() as u64,
                lost: highest + 1 - seen.len() as u64,
                reordered,
                duplicated,
                late: 0,
            };
            assert_eq!(counts, expected);
        }
    }
}
