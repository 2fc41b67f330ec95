//! Which term each entry of a log is of.

use super::Position;

/// The terms of a log, by the first entry of each: there is one more with each
/// election, not with each entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The first index of each term, and the term; both rise.
    runs: Vec<(u64, u32)>,
    last: u64,
}

impl Terms {
    /// A log of which nothing is known up to an entry but the term of this one; (0, 0)
    /// for an empty one.
    pub fn behind(position: Position) -> Self {
        let runs =
            if position.index == 0 { Vec::new() } else { vec![(position.index, position.term)] };
        Self { runs, last: position.index }
    }

    /// One more entry.
    pub fn push(&mut self, term: u32) {
        self.last += 1;
        if self.runs.last().is_none_or(|(_, last)| *last != term) {
            self.runs.push((self.last, term));
        }
    }

    /// The last entry.
    pub fn end(&self) -> Position {
        Position { term: self.runs.last().map_or(0, |(_, term)| *term), index: self.last }
    }

    /// The term of an entry. `None` if it is not there, or not known.
    pub(super) fn at(&self, index: u64) -> Option<u32> {
        if index == 0 {
            return Some(0);
        }
        if index > self.last {
            return None;
        }
        let run = self.runs.iter().rev().find(|(first, _)| *first <= index);
        run.map(|(_, term)| *term)
    }

    /// The first known entry of the term that an entry is of.
    pub(super) fn first_of_term(&self, index: u64) -> u64 {
        let run = self.runs.iter().rev().find(|(first, _)| *first <= index);
        run.map_or(0, |(first, _)| *first)
    }

    /// Entries behind this one are gone.
    pub(super) fn cut(&mut self, last: u64) {
        self.runs.retain(|(first, _)| *first <= last);
        self.last = self.last.min(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_found_by_index_also_behind_a_cut() {
        let mut terms = Terms::behind(Position { term: 2, index: 10 });
        for term in [2, 2, 5, 5, 7] {
            terms.push(term);
        }
        let at: Vec<_> = (9..=16).map(|index| terms.at(index)).collect();
        assert_eq!(at, [None, Some(2), Some(2), Some(2), Some(5), Some(5), Some(7), None]);
        assert_eq!((terms.first_of_term(14), terms.end().index), (13, 15));
        terms.cut(13);
        assert_eq!((terms.at(13), terms.at(14)), (Some(5), None));
        terms.push(9);
        assert_eq!(terms.end(), Position { term: 9, index: 14 });
        assert_eq!(Terms::default().at(0), Some(0));
    }
}
