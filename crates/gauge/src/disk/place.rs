//! Where the next operation goes.

/// In which order a file is gone through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pattern {
    /// From its beginning to its end, and again.
    Sequential,
    /// Anywhere; the same seed goes the same way.
    Random(u64),
}

/// Blocks of a file, one after the other.
#[derive(Clone, Debug)]
pub(super) struct Places {
    blocks: u64,
    pattern: Pattern,
    next: u64,
    /// How often the end was reached.
    ends: u64,
}

impl Places {
    pub(super) fn new(blocks: u64, pattern: Pattern) -> Self {
        Self { blocks: blocks.max(1), pattern, next: 0, ends: 0 }
    }

    /// The block of the next operation.
    pub(super) fn take(&mut self) -> u64 {
        let count = self.next;
        self.next += 1;
        match self.pattern {
            Pattern::Sequential => {
                if count > 0 && count.is_multiple_of(self.blocks) {
                    self.ends += 1;
                }
                count % self.blocks
            }
            Pattern::Random(seed) => {
                let mut z = seed.wrapping_add(count.wrapping_mul(0x9E37_79B9_7F4A_7C15));
                z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
                (z ^ (z >> 31)) % self.blocks
            }
        }
    }

    /// How often the end was reached since the last call.
    pub(super) fn take_ends(&mut self) -> u64 {
        std::mem::take(&mut self.ends)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_gone_through_and_starts_over() {
        let mut of = Places::new(3, Pattern::Sequential);
        let all: Vec<u64> = (0..7).map(|_| of.take()).collect();
        assert_eq!((all, of.take_ends(), of.take_ends()), (vec![0, 1, 2, 0, 1, 2, 0], 2, 0));
    }

    #[test]
    fn a_seed_goes_the_same_way_over_all_blocks() {
        let way = |seed| {
            let mut of = Places::new(10, Pattern::Random(seed));
            (0..1_000).map(|_| of.take()).collect::<Vec<u64>>()
        };
        assert_eq!(way(1), way(1));
        assert_ne!(way(1), way(2));
        for block in 0..10 {
            let hits = way(3).iter().filter(|at| **at == block).count();
            assert!((60..140).contains(&hits), "{block}: {hits}");
        }
    }
}
