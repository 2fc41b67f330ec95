//! When which item wants to be looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Deadlines of items. Whoever is woken looks for himself whether it is time:
/// a deadline that moved away is not taken out, only set again.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Timers {
    pub(crate) fn set(&mut self, at_ms: u64, item: u32) {
        self.heap.push(Reverse((at_ms, item)));
    }

    pub(crate) fn next_ms(&self) -> Option<u64> {
        self.heap.peek().map(|Reverse((at_ms, _))| *at_ms)
    }

    /// The next item whose time has come, with the time that was set.
    pub(crate) fn due(&mut self, now_ms: u64) -> Option<(u64, u32)> {
        if self.next_ms()? > now_ms {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }
}
