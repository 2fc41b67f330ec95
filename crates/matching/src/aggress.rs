//! An incoming order walks through the other side, price by price: at each all
//! that is shown by time, then all that is not by time. Icebergs show their next
//! part when it is done.

use tapeline_instrument::Side;

use crate::command::SelfMatch;
use crate::engine::Engine;
use crate::event::{Ending, Event, Events, Order, Part};
use crate::ladder::{reach_of, tick_of};
use crate::orders::Resting;
use crate::queues::Node;

/// The incoming order while it trades.
struct Taker {
    order: Order,
    side: Side,
    self_match: SelfMatch,
}

impl Taker {
    fn is_own(&self, maker: &Resting) -> bool {
        self.self_match != SelfMatch::Allowed && maker.owner.firm == self.order.owner.firm
    }
}

impl Engine {
    /// Trades what an order, which is in no queue, can. What is left of it is in
    /// its slot; says why it must end if it must.
    #[inline]
    pub(crate) fn aggress<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        out: &mut E,
    ) -> Option<Ending> {
        let order = self.orders.get(slot);
        let reach = reach_of(order.key);
        match self.books[usize::from(order.book.0)].is_watched {
            true => self.aggress_within(now_ns, slot, reach, out),
            false => self.walk(now_ns, slot, reach, out),
        }
    }

    /// The same as far as a key.
    #[inline]
    pub(crate) fn walk<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        reach: u32,
        out: &mut E,
    ) -> Option<Ending> {
        let order = self.orders.get(slot);
        let at = usize::from(order.book.0);
        let self_match = match order.is_special() {
            true => self.orders.special(slot).self_match,
            false => SelfMatch::Allowed,
        };
        let mut taker = Taker { order: self.order(slot), side: order.side(), self_match };
        let maker_side = taker.side.opposite();
        let mut ending = None;
        while taker.order.leaves > 0 && ending.is_none() {
            let book = &self.books[at];
            let shown = book.shown[maker_side as usize].best();
            let hidden = book.unshown[maker_side as usize].best();
            if shown.min(hidden) > reach {
                break;
            }
            ending = match shown <= hidden {
                true => self.meet_shown(now_ns, &mut taker, shown, out),
                false => self.meet_hidden(now_ns, &mut taker, hidden, out),
            };
        }
        let order = self.orders.get_mut(slot);
        (order.leaves, order.filled) = (taker.order.leaves, taker.order.filled);
        if !self.replenish.is_empty() {
            self.replenish_all(now_ns, out);
        }
        ending
    }

    /// Trades with what is shown at one price, by time.
    #[inline]
    fn meet_shown<E: Events>(
        &mut self,
        now_ns: u64,
        taker: &mut Taker,
        key: u32,
        out: &mut E,
    ) -> Option<Ending> {
        let Self { orders, shown, books, index, config, trades, replenish, .. } = self;
        let maker_side = taker.side.opposite();
        let (book_id, head) = (orders.get(taker.order.slot).book, config.ids);
        let book = &mut books[usize::from(book_id.0)];
        let tick = tick_of(maker_side, key);
        let price = book.instrument.ticks.price(tick);
        let ladder = &mut book.shown[maker_side as usize];
        let level = ladder.level_for(shown, key);
        loop {
            let slot = shown.next(level);
            if slot == level || taker.order.leaves == 0 {
                return None;
            }
            let maker = orders.get_mut(slot);
            if taker.is_own(maker) {
                return self.meet_own(taker, slot, out);
            }
            let quantity = maker.shown.min(taker.order.leaves);
            maker.shown -= quantity;
            maker.leaves -= quantity;
            maker.filled += quantity;
            taker.order.leaves -= quantity;
            taker.order.filled += quantity;
            let maker_order = Order {
                id: maker.id,
                slot,
                owner: maker.owner,
                leaves: maker.leaves,
                filled: maker.filled,
            };
            let displays = maker.shown;
            let is_iceberg = maker.is_iceberg();
            let maker_shown =
                if is_iceberg { orders.special(slot).shown_id } else { maker_order.id };
            *trades = trades.wrapping_add(1);
            book.last = Some(tick);
            out.event(Event::Traded {
                book: book_id,
                id: head.trade(now_ns, *trades),
                price,
                quantity,
                taker: taker.order,
                maker: maker_order,
                maker_shown,
                taker_shown: taker.order.id,
                maker_displays: displays,
                taker_displays: 0,
                side: taker.side,
                part: Part::Shown,
            });
            if displays == 0 {
                shown.remove(ladder, slot);
                if maker_order.leaves == 0 {
                    index.remove(maker_order.id);
                    orders.give(slot);
                } else {
                    debug_assert!(is_iceberg, "all else shows what is left of it");
                    replenish.push(slot);
                }
            }
        }
    }

    /// Trades with the first of what is not shown at one price.
    #[cold]
    fn meet_hidden<E: Events>(
        &mut self,
        now_ns: u64,
        taker: &mut Taker,
        key: u32,
        out: &mut E,
    ) -> Option<Ending> {
        let book_id = self.orders.get(taker.order.slot).book;
        let book = &mut self.books[usize::from(book_id.0)];
        let maker_side = taker.side.opposite();
        let ladder = &mut book.unshown[maker_side as usize];
        let slot = self.unshown.first(ladder).filter(|_| ladder.best() == key);
        let Some(slot) = slot else {
            debug_assert!(false, "the best level has an order");
            return Some(Ending::Expired);
        };
        let maker = self.orders.get_mut(slot);
        if taker.is_own(maker) {
            return self.meet_own(taker, slot, out);
        }
        debug_assert_eq!(maker.shown, 0, "what is shown at this price has traded before");
        let quantity = maker.leaves.min(taker.order.leaves);
        maker.leaves -= quantity;
        maker.filled += quantity;
        taker.order.leaves -= quantity;
        taker.order.filled += quantity;
        let tick = tick_of(maker_side, key);
        book.last = Some(tick);
        let price = book.instrument.ticks.price(tick);
        if maker.leaves == 0 {
            self.unshown.remove(ladder, slot);
        }
        self.trades = self.trades.wrapping_add(1);
        let maker = self.order(slot);
        out.event(Event::Traded {
            book: book_id,
            id: self.config.ids.trade(now_ns, self.trades),
            price,
            quantity,
            taker: taker.order,
            maker,
            maker_shown: self.orders.shown_id(slot),
            taker_shown: taker.order.id,
            maker_displays: 0,
            taker_displays: 0,
            side: taker.side,
            part: Part::Hidden,
        });
        if maker.leaves == 0 {
            self.forget(slot, maker.id);
        }
        None
    }

    /// The next order to trade with is of the same firm.
    #[cold]
    fn meet_own<E: Events>(&mut self, taker: &Taker, slot: Node, out: &mut E) -> Option<Ending> {
        if taker.self_match == SelfMatch::CancelIncoming {
            return Some(Ending::SelfMatch);
        }
        self.end_linked(slot, Ending::SelfMatch, out);
        None
    }

    /// Icebergs whose shown part is used up show another one, in the order in
    /// which that happened.
    #[cold]
    pub(crate) fn replenish_all<E: Events>(&mut self, now_ns: u64, out: &mut E) {
        for at in 0..self.replenish.len() {
            let slot = self.replenish[at];
            let order = *self.orders.get(slot);
            if order.leaves == 0 {
                // Its hidden part traded, too, or it met its own firm.
                continue;
            }
            let special = *self.orders.special(slot);
            let peak = self.next_peak(special.peak, special.is_random_peak);
            // Its hidden part, which is all of it now, stands behind others as well.
            let ladder = &mut self.books[usize::from(order.book.0)].unshown[order.side() as usize];
            self.unshown.remove(ladder, slot);
            self.orders.get_mut(slot).shown = peak.min(order.leaves);
            self.orders.special_mut(slot).shown_id = self.new_id(now_ns);
            self.link(slot);
            let (book, order, shown) = (order.book, self.order(slot), self.shown(slot));
            out.event(Event::Replenished { book, order, shown });
        }
        self.replenish.clear();
    }

    /// Whether all of an order would trade at once.
    pub(crate) fn is_fillable(&self, slot: Node) -> bool {
        let order = self.orders.get(slot);
        let book = &self.books[usize::from(order.book.0)];
        let (self_match, firm) = (self.orders.special(slot).self_match, order.owner.firm);
        let mut wanted = u64::from(order.leaves);
        // What would stop trading before it is done is not begun.
        let tolerated = book.tolerated(order.side().opposite());
        for met in self.makers_for(slot) {
            if met.key > reach_of(order.key) || !tolerated.has(met.key) {
                return false;
            }
            match self_match {
                SelfMatch::CancelIncoming if met.firm == firm => return false,
                SelfMatch::CancelResting if met.firm == firm => continue,
                _ => {}
            }
            wanted = wanted.saturating_sub(met.size.into());
            if wanted == 0 {
                return true;
            }
        }
        false
    }
}
