//! How far a session is with its numbers.

/// How far a session is: at its own end, and at the market's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The number that the next message gets.
    pub(crate) next_out: u32,
    /// The reports of the market that have one.
    pub(crate) told: u64,
}

impl Progress {
    /// That of a session that has said nothing.
    pub(crate) const START: Self = Self { next_out: 1, told: 0 };

    /// Numbers that were used since, and for no report of the market: those that whoever
    /// goes on with the session cannot know of by counting reports.
    pub(crate) const fn unreported_since(self, before: Self) -> u32 {
        let used = self.next_out.saturating_sub(before.next_out);
        used.saturating_sub(self.told.saturating_sub(before.told) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_reports_do_not_count() {
        let before = Progress { next_out: 10, told: 4 };
        let unreported = |next_out, told| Progress { next_out, told }.unreported_since(before);
        assert_eq!(unreported(10, 4), 0);
        assert_eq!(unreported(15, 6), 3);
        // Reports that wait have no number yet, and numbers begin anew at a change of day.
        assert_eq!((unreported(12, 9), unreported(1, 4)), (0, 0));
    }
}
