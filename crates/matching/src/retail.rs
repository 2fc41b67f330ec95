//! Orders of retail investors, and of those who provide liquidity to them.
//!
//! Who provides it trades with retail investors alone. Its hidden orders stand in a queue of
//! their own, behind everything else at their price, which only orders of retail investors
//! walk through; auctions pass them over.

use tapeline_instrument::{Session, Side};

use crate::command::{BookId, OwnerType, SelfMatch};
use crate::engine::Engine;
use crate::event::{Ending, Event, Events, Part};
use crate::ladder::{Ladder, NONE, reach_of, tick_of};
use crate::queues::{Node, Queues};

/// A part of a resting order that an order may trade with.
pub(crate) struct Met {
    slot: Node,
    /// The place of its price.
    pub(crate) key: u32,
    pub(crate) firm: u16,
    pub(crate) size: u32,
}

impl Engine {
    /// Whether two orders may trade with each other, as far as that is up to whom they are
    /// for.
    pub(crate) fn may_meet(&self, one: Node, other: Node) -> bool {
        self.orders.owner_type(one).may_meet(self.orders.owner_type(other))
    }

    /// What an order may trade with, the best first: at each price what is shown, what is
    /// not, and what is there for retail investors, each by time.
    pub(crate) fn makers_for(&self, slot: Node) -> impl Iterator<Item = Met> {
        let order = self.orders.get(slot);
        let own = self.orders.owner_type(slot);
        let book = &self.books[usize::from(order.book.0)];
        let side = order.side().opposite() as usize;
        let is_retail = own == OwnerType::Retail;
        let ladders = [
            Some((&self.shown, &book.shown[side])),
            Some((&self.unshown, &book.unshown[side])),
            is_retail.then_some((&self.unshown, &book.provided[side])),
        ];
        let best = |of: Option<(&Queues, &Ladder)>| of.map_or(NONE, |(_, ladder)| ladder.best());
        let mut keys = ladders.map(best);
        let prices = std::iter::from_fn(move || {
            let key = keys.into_iter().min().filter(|key| *key != NONE)?;
            for (next, of) in keys.iter_mut().zip(ladders).filter(|(next, _)| **next == key) {
                *next = of.map_or(NONE, |(queues, ladder)| ladder.next(queues, key));
            }
            Some(key)
        });
        prices.flat_map(move |key| {
            let parts = [true, false, false].into_iter().zip(ladders);
            let parts = parts.filter_map(|(is_shown, of)| Some((is_shown, of?)));
            parts.flat_map(move |(is_shown, (queues, ladder))| {
                queues.at(ladder, key).filter_map(move |slot| {
                    let maker = self.orders.get(slot);
                    let size = if is_shown { maker.shown } else { maker.leaves - maker.shown };
                    let met = Met { slot, key, firm: maker.owner.firm, size };
                    own.may_meet(self.orders.owner_type(slot)).then_some(met)
                })
            })
        })
    }

    /// The best key of what an order may trade with; [`NONE`], or one beyond its limit, if
    /// there is nothing.
    pub(crate) fn best_for(&self, slot: Node) -> u32 {
        let order = self.orders.get(slot);
        let (book, maker) = (&self.books[usize::from(order.book.0)], order.side().opposite());
        match self.orders.owner_type(slot) {
            OwnerType::Any => book.best(maker),
            OwnerType::Retail => book.best(maker).min(book.provided[maker as usize].best()),
            OwnerType::RetailProvider => {
                let reach = reach_of(order.key);
                let mut within = self.makers_for(slot).take_while(|met| met.key <= reach);
                within.next().map_or(NONE, |met| met.key)
            }
        }
    }

    /// As [`aggress`](Self::aggress), of an order for which it matters whom it is for.
    #[cold]
    pub(crate) fn aggress_by_owner<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        out: &mut E,
    ) -> Option<Ending> {
        let order = self.orders.get(slot);
        let reach = reach_of(order.key);
        match self.books[usize::from(order.book.0)].is_watched {
            true => self.aggress_within(now_ns, slot, reach, out),
            false => self.walk_by_owner(now_ns, slot, reach, out),
        }
    }

    /// As [`walk`](Self::walk), of any order.
    pub(crate) fn walk_by_owner<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        reach: u32,
        out: &mut E,
    ) -> Option<Ending> {
        match self.orders.owner_type(slot) {
            OwnerType::Any => self.walk(now_ns, slot, reach, out),
            OwnerType::Retail => self.walk_as_retail(now_ns, slot, reach, out),
            OwnerType::RetailProvider => self.walk_as_provider(now_ns, slot, reach, out),
        }
    }

    /// At each price what others have comes before what is there for retail investors.
    fn walk_as_retail<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        reach: u32,
        out: &mut E,
    ) -> Option<Ending> {
        let order = self.orders.get(slot);
        let (at, side) = (usize::from(order.book.0), order.side().opposite());
        loop {
            let key = self.books[at].provided[side as usize].best();
            let ending = self.walk(now_ns, slot, reach.min(key), out);
            if key > reach || ending.is_some() || self.orders.get(slot).leaves == 0 {
                return ending;
            }
            let first = self.unshown.first(&self.books[at].provided[side as usize]);
            let ending = first.and_then(|maker| self.meet_resting(now_ns, slot, maker, out));
            if ending.is_some() {
                return ending;
            }
        }
    }

    /// Everybody but retail investors is passed over.
    fn walk_as_provider<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        reach: u32,
        out: &mut E,
    ) -> Option<Ending> {
        let mut ending = None;
        while ending.is_none() && self.orders.get(slot).leaves > 0 {
            let first = self.makers_for(slot).next().filter(|met| met.key <= reach);
            let Some(met) = first else { break };
            ending = self.meet_resting(now_ns, slot, met.slot, out);
        }
        self.replenish_all(now_ns, out);
        ending
    }

    /// Trades with what a resting order has first, or ends one of both as its firm wants.
    fn meet_resting<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        maker: Node,
        out: &mut E,
    ) -> Option<Ending> {
        let (order, resting) = (*self.orders.get(slot), *self.orders.get(maker));
        let is_own = order.owner.firm == resting.owner.firm;
        match self.orders.special(slot).self_match {
            SelfMatch::CancelIncoming if is_own => return Some(Ending::SelfMatch),
            SelfMatch::CancelResting if is_own => {
                self.end_linked(maker, Ending::SelfMatch, out);
                return None;
            }
            _ => {}
        }
        let is_shown = resting.shown > 0;
        let part = if is_shown { resting.shown } else { resting.leaves };
        let quantity = part.min(order.leaves);
        let taker = self.orders.get_mut(slot);
        taker.leaves -= quantity;
        taker.filled += quantity;
        let taker = self.order(slot);
        let maker = self.fill(maker, quantity);
        self.trades = self.trades.wrapping_add(1);
        let book = &mut self.books[usize::from(order.book.0)];
        let tick = tick_of(resting.side(), resting.key);
        book.last = Some(tick);
        out.event(Event::Traded {
            book: order.book,
            id: self.config.ids.trade(now_ns, self.trades),
            price: book.instrument.ticks.price(tick),
            quantity,
            taker,
            maker: maker.order,
            maker_shown: maker.shown,
            taker_shown: taker.id,
            maker_displays: maker.displays,
            taker_displays: 0,
            side: order.side(),
            part: if is_shown { Part::Shown } else { Part::Hidden },
        });
        if maker.order.leaves == 0 {
            self.forget(maker.order.slot, maker.order.id);
        }
        None
    }

    /// Continuous trading begins: who provides liquidity trades with retail investors whose
    /// orders came in the call, the best first, and stays where it stood.
    pub(crate) fn meet_providers<E: Events>(&mut self, now_ns: u64, id: BookId, out: &mut E) {
        if !self.books[usize::from(id.0)].has_providers() {
            return;
        }
        let mut providers = std::mem::take(&mut self.ending);
        providers.clear();
        for side in Side::BOTH {
            let ladder = &self.books[usize::from(id.0)].provided[side as usize];
            let mut key = ladder.best();
            while key != NONE {
                providers.extend(self.unshown.at(ladder, key));
                key = ladder.next(&self.unshown, key);
            }
        }
        for slot in providers.drain(..) {
            self.unlink(slot);
            // A circuit breaker may have begun a call.
            let is_regular = self.books[usize::from(id.0)].session == Session::Regular;
            let ending = if is_regular { self.aggress_by_owner(now_ns, slot, out) } else { None };
            let order = self.orders.get(slot);
            match ending {
                _ if order.leaves == 0 => self.forget(slot, order.id),
                Some(ending) => self.end(slot, ending, out),
                None => self.link(slot),
            }
        }
        self.ending = providers;
    }
}
