//! Which items are requested when.

use std::ops::Range;

/// Requests items in their order, and only so many that few enough are without
/// an answer.
#[derive(Clone, Debug)]
pub(super) struct Opening {
    items: usize,
    next: usize,
    window: usize,
    unanswered: usize,
}

impl Opening {
    /// So many items, of which so many may be without an answer at one time.
    pub(super) fn new(items: usize, window: usize) -> Self {
        Self { items, next: 0, window: window.max(1), unanswered: 0 }
    }

    /// The items to request now; they count as requested.
    pub(super) fn take(&mut self) -> Range<usize> {
        let room = self.window.saturating_sub(self.unanswered);
        let end = self.items.min(self.next.saturating_add(room));
        let taken = self.next..end;
        self.next = end;
        self.unanswered += taken.len();
        taken
    }

    /// An item that was requested is answered for the first time.
    pub(super) fn note_answer(&mut self) {
        self.unanswered = self.unanswered.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_are_unanswered_than_the_window_allows() {
        let mut opening = Opening::new(5, 2);
        assert_eq!((opening.take(), opening.take()), (0..2, 2..2));
        opening.note_answer();
        assert_eq!(opening.take(), 2..3);
        opening.note_answer();
        opening.note_answer();
        assert_eq!((opening.take(), opening.take()), (3..5, 5..5));
    }

    #[test]
    fn without_a_window_all_are_requested_at_once() {
        assert_eq!(Opening::new(3, usize::MAX).take(), 0..3);
        assert_eq!(Opening::new(1, 0).take(), 0..1, "a window of none would never open");
    }
}
