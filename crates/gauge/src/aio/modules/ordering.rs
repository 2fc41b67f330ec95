//! One order over all inputs.

use std::collections::VecDeque;

use super::{Came, Module, Outlet};
use crate::aio::tracked;

/// Numbers what comes over any of its inputs.
pub(in crate::aio) struct Sequencer {
    next: u32,
    /// In turn: what waits until its input has its turn.
    waiting: Option<Vec<VecDeque<Vec<u8>>>>,
    turn: usize,
    /// Messages that were sent, for those to come.
    spare: Vec<Vec<u8>>,
}

impl Sequencer {
    pub(in crate::aio) fn new(in_turn: bool, inputs: usize) -> Self {
        let waiting = in_turn.then(|| vec![VecDeque::new(); inputs]);
        Self { next: 0, waiting, turn: 0, spare: Vec::new() }
    }

    fn send(&mut self, message: &mut [u8], outlet: &mut dyn Outlet) {
        tracked::set_order(message, self.next);
        self.next = self.next.wrapping_add(1);
        outlet.send(0, message);
    }
}

impl Module for Sequencer {
    fn message(&mut self, came: Came, message: &mut [u8], outlet: &mut dyn Outlet) {
        // It cannot be told whose answer this is.
        if came.is_answer {
            return;
        }
        let Some(mut waiting) = self.waiting.take() else { return self.send(message, outlet) };
        let mut kept = self.spare.pop().unwrap_or_default();
        kept.clear();
        kept.extend_from_slice(message);
        waiting[came.port].push_back(kept);
        while let Some(mut first) = waiting[self.turn].pop_front() {
            self.send(&mut first, outlet);
            self.spare.push(first);
            self.turn = (self.turn + 1) % waiting.len();
        }
        self.waiting = Some(waiting);
    }

    fn is_clear(&self) -> bool {
        // What waits for an input that has nothing any more never goes.
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::given;
    use super::*;

    #[test]
    fn by_arrival_the_order_is_that_of_coming() {
        let mut module = Sequencer::new(false, 2);
        let gone = given(&mut module, &[(0, 1, 10), (1, 2, 20), (1, 2, 21), (0, 1, 11)]);
        assert_eq!(gone.seqs(), [10, 20, 21, 11]);
        let orders: Vec<u32> = gone.messages.iter().map(|of| tracked::order(of)).collect();
        assert_eq!(orders, [0, 1, 2, 3]);
    }

    #[test]
    fn in_turn_inputs_wait_for_each_other() {
        let mut module = Sequencer::new(true, 3);
        let gone = given(&mut module, &[(1, 2, 20), (2, 3, 30), (2, 3, 31)]);
        assert!(gone.all.is_empty());
        let gone = given(&mut module, &[(0, 1, 10), (0, 1, 11)]);
        assert_eq!(gone.seqs(), [10, 20, 30, 11]);
        assert_eq!(given(&mut module, &[(1, 2, 21)]).seqs(), [21, 31]);
    }
}
