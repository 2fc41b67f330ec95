//! Sets of permission codes.

/// Permission codes (PEs) as ranges: ascending, apart from each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codes(Vec<(u32, u32)>);

impl Codes {
    /// The codes of these ranges, both ends included, in any order.
    pub fn of(mut ranges: Vec<(u32, u32)>) -> Self {
        ranges.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::with_capacity(ranges.len());
        for (first, last) in ranges {
            debug_assert!(first <= last, "a range is read with its ends in order");
            match joined.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }

    /// Whether a code is among them.
    pub fn contains(&self, code: u32) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= code);
        after > 0 && code <= self.0[after - 1].1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The ranges, ascending.
    pub fn ranges(&self) -> &[(u32, u32)] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_and_overlaps_become_one_range() {
        let codes =
            Codes::of(vec![(144, 160), (62, 62), (63, 70), (150, 170), (u32::MAX, u32::MAX)]);
        assert_eq!(codes.ranges(), [(62, 70), (144, 170), (u32::MAX, u32::MAX)]);
        for (code, is_in) in [(61, false), (62, true), (70, true), (71, false), (170, true)] {
            assert_eq!(codes.contains(code), is_in, "{code}");
        }
        assert!(codes.contains(u32::MAX) && !Codes::default().contains(0));
    }
}
