//! What actions have changed of a book, with what was there before.

use super::{Level, Order, Side, Trades};
use crate::market_state::MarketState;

/// From how many orders or levels on an event is a new image rather than an update: the
/// opening snapshot of a session is one event of all its orders.
const MANY_ORDERS: usize = 1_000;

/// Notes until those of the same order or level are taken together.
const MOST_NOTES: usize = 8 * MANY_ORDERS;

/// Who wants to know what is changed.
pub(super) trait Notes {
    /// An order is changed that was so before.
    fn order(&mut self, id: u64, before: Option<Order>);

    /// A level is.
    fn level(&mut self, place: (Side, i64), before: Option<Level>);

    /// What was traded is.
    fn trades(&mut self, before: &Trades);

    /// Orders or levels are about to be; the best of both sides can be asked for.
    fn quote(&mut self, best: impl FnOnce() -> [Option<(i64, Level)>; 2]);

    /// All orders and levels are gone.
    fn clear(&mut self);
}

/// Nobody does.
pub(super) struct Unnoted;

impl Notes for Unnoted {
    fn order(&mut self, _: u64, _: Option<Order>) {}

    fn level(&mut self, _: (Side, i64), _: Option<Level>) {}

    fn trades(&mut self, _: &Trades) {}

    fn quote(&mut self, _: impl FnOnce() -> [Option<(i64, Level)>; 2]) {}

    fn clear(&mut self) {}
}

/// What several actions have changed, with what was there before the first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    /// Once [settled](Self::settle) by id, each of them once.
    orders: Vec<(u64, Option<Order>)>,
    /// Once settled by side and price.
    levels: Vec<((Side, i64), Option<Level>)>,
    is_unsettled: bool,
    /// The best of both sides before the first action, if any touched orders.
    pub(crate) best: Option<[Option<(i64, Level)>; 2]>,
    pub(crate) trades: Option<Trades>,
    /// What the market said before, if it has said something else.
    pub(crate) market: Option<MarketState>,
    /// Too much to tell one by one: there is a new image.
    pub(crate) is_cleared: bool,
}

impl Touched {
    pub(crate) fn is_empty(&self) -> bool {
        let is_same = self.orders.is_empty() && self.levels.is_empty() && !self.is_cleared;
        is_same && self.trades.is_none() && self.market.is_none()
    }

    pub(crate) fn clear(&mut self) {
        self.orders.clear();
        self.levels.clear();
        (self.best, self.trades, self.market) = (None, None, None);
        (self.is_cleared, self.is_unsettled) = (false, false);
    }

    /// Takes the notes of the same order or level together: the first one says what was
    /// before all of them.
    pub(crate) fn settle(&mut self) {
        if !std::mem::take(&mut self.is_unsettled) {
            return;
        }
        self.orders.sort_by_key(|(id, _)| *id);
        self.orders.dedup_by_key(|(id, _)| *id);
        self.levels.sort_by_key(|(place, _)| *place);
        self.levels.dedup_by_key(|(place, _)| *place);
        if self.orders.len().max(self.levels.len()) > MANY_ORDERS {
            Notes::clear(self);
        }
    }

    /// The orders, ascending by id, with what they were before.
    pub(crate) fn orders(&self) -> &[(u64, Option<Order>)] {
        debug_assert!(!self.is_unsettled, "it is settled before it is read");
        &self.orders
    }

    /// The levels, by side and price, with what they were before.
    pub(crate) fn levels(&self) -> &[((Side, i64), Option<Level>)] {
        debug_assert!(!self.is_unsettled, "it is settled before it is read");
        &self.levels
    }
}

impl Notes for Touched {
    fn order(&mut self, id: u64, before: Option<Order>) {
        if self.is_cleared {
            return;
        }
        self.orders.push((id, before));
        self.is_unsettled = true;
        if self.orders.len() >= MOST_NOTES {
            self.settle();
        }
    }

    fn level(&mut self, place: (Side, i64), before: Option<Level>) {
        if self.is_cleared {
            return;
        }
        self.levels.push((place, before));
        self.is_unsettled = true;
        if self.levels.len() >= MOST_NOTES {
            self.settle();
        }
    }

    fn trades(&mut self, before: &Trades) {
        self.trades.get_or_insert(*before);
    }

    fn quote(&mut self, best: impl FnOnce() -> [Option<(i64, Level)>; 2]) {
        self.best.get_or_insert_with(best);
    }

    fn clear(&mut self) {
        self.orders.clear();
        self.levels.clear();
        (self.is_cleared, self.is_unsettled) = (true, false);
    }
}
