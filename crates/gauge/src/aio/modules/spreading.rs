//! One input to several outputs, and orders to executions.

use std::collections::HashMap;

use super::{Came, Module, Outlet, mixed, numbered, relay, share_of};
use crate::aio::flow::Route;
use crate::aio::tracked;

/// A copy to each output, over all of its connections.
pub(in crate::aio) struct Fanout {
    pub(in crate::aio) outputs: usize,
}

impl Module for Fanout {
    fn message(&mut self, came: Came, message: &mut [u8], outlet: &mut dyn Outlet) {
        // There may be an answer from each: nobody has asked for so many.
        if !came.is_answer {
            (0..self.outputs).for_each(|output| outlet.send_to_all(output, message));
        }
    }
}

/// Numbers of streams that begin here: owner, and which of his.
#[derive(Default)]
struct Renumbered(HashMap<(u64, u64), u64>);

impl Renumbered {
    /// Gives a message the next number of its stream, so that those who hear
    /// only this one miss nothing.
    fn number(&mut self, message: &mut [u8], stream: u64) {
        let Some((id, mut head)) = numbered(message) else { return };
        let next = self.0.entry((id, stream)).or_default();
        head.seq = *next;
        *next += 1;
        head.write(message);
    }
}

/// Each message to one of the outputs.
pub(in crate::aio) struct Router {
    by: Route,
    outputs: u64,
    next: u64,
    numbers: Renumbered,
}

impl Router {
    pub(in crate::aio) fn new(by: Route, outputs: usize) -> Self {
        Self { by, outputs: outputs.max(1) as u64, next: 0, numbers: Renumbered::default() }
    }
}

impl Module for Router {
    fn message(&mut self, came: Came, message: &mut [u8], outlet: &mut dyn Outlet) {
        if came.is_answer {
            return relay(came, message, outlet);
        }
        let (id, seq) = numbered(message).map_or((0, 0), |(id, head)| (id, head.seq));
        let output = match self.by {
            Route::Id => id,
            Route::RoundRobin => self.next,
            Route::Hash => mixed(mixed(id) ^ seq),
        } % self.outputs;
        self.next += 1;
        self.numbers.number(message, output);
        outlet.send(output as usize, message);
    }
}

/// Of orders, a share is executed, each so many times.
pub(in crate::aio) struct Match {
    share: f64,
    copies: u32,
    count: u64,
    numbers: Renumbered,
}

/// An execution's owner has the number of the copy in these bits.
const COPY_BITS: u32 = 48;

impl Match {
    pub(in crate::aio) fn new(share: f64, copies: u32) -> Self {
        Self { share, copies, count: 0, numbers: Renumbered::default() }
    }
}

impl Module for Match {
    fn message(&mut self, came: Came, message: &mut [u8], outlet: &mut dyn Outlet) {
        if came.is_answer {
            return relay(came, message, outlet);
        }
        self.count += 1;
        if share_of(self.count) >= self.share {
            return;
        }
        let id = tracked::id(message);
        for copy in 0..u64::from(self.copies) {
            tracked::set_id(message, id | copy << COPY_BITS);
            self.numbers.number(message, 0);
            outlet.send(0, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::given;
    use super::*;

    #[test]
    fn a_fan_out_copies_to_each() {
        let gone = given(&mut Fanout { outputs: 3 }, &[(0, 1, 5)]);
        assert_eq!(gone.places(), ["all 0", "all 1", "all 2"]);
        assert_eq!(gone.seqs(), [5, 5, 5]);
    }

    #[test]
    fn routes_are_by_owner_in_turn_or_by_hash_and_miss_nothing() {
        let all: Vec<(usize, u64, u64)> = (0..6).map(|seq| (0, seq % 2, seq)).collect();
        let gone = given(&mut Router::new(Route::Id, 2), &all);
        assert_eq!(gone.places(), ["out 0", "out 1", "out 0", "out 1", "out 0", "out 1"]);
        assert_eq!(gone.seqs(), [0, 0, 1, 1, 2, 2]);
        let gone = given(&mut Router::new(Route::RoundRobin, 3), &all);
        assert_eq!(gone.places(), ["out 0", "out 1", "out 2", "out 0", "out 1", "out 2"]);
        let many: Vec<(usize, u64, u64)> = (0..3_000).map(|seq| (0, seq % 7, seq)).collect();
        let gone = given(&mut Router::new(Route::Hash, 3), &many);
        for output in ["out 0", "out 1", "out 2"] {
            let count = gone.places().into_iter().filter(|place| *place == output).count();
            // 1,000 ± 4 √(3000·⅓·⅔).
            assert!((890..1_110).contains(&count), "{output}: {count}");
        }
    }

    #[test]
    fn a_match_executes_a_share_each_so_many_times() {
        let orders: Vec<(usize, u64, u64)> = (0..2_000).map(|seq| (0, 4, seq)).collect();
        let gone = given(&mut Match::new(1.0, 2), &orders);
        assert_eq!(gone.all.len(), 4_000);
        let ids: Vec<u64> = gone.messages[..2].iter().map(|of| tracked::id(of)).collect();
        assert_eq!((ids, &gone.seqs()[..4]), (vec![4, 4 | 1 << 48], &[0, 0, 1, 1][..]));
        let gone = given(&mut Match::new(0.25, 1), &orders);
        assert!((420..580).contains(&gone.all.len()), "{}", gone.all.len());
        // Those that are executed are numbered without holes.
        assert_eq!(gone.seqs(), (0..gone.all.len() as u64).collect::<Vec<_>>());
        assert_eq!(given(&mut Match::new(0.0, 1), &orders).all, []);
    }
}
