//! The circuit breaker: where a match would be too far from the prices before it, it
//! does not happen. A call begins, and its auction finds the price.
//!
//! The last trade is the one before the order came: however many prices an order walks
//! through, all of them are measured from there.

use tapeline_instrument::{Cause, Price, Session, Side, Tick};

use crate::average::Summed;
use crate::book::Book;
use crate::command::BookId;
use crate::engine::Engine;
use crate::event::{Ending, Event, Events};
use crate::ladder::{NONE, key_of};
use crate::queues::Node;

const BP: i128 = 10_000;

/// The keys of resting orders that may be traded with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tolerated {
    from: u32,
    to: u32,
}

impl Tolerated {
    const ALL: Self = Self { from: 0, to: NONE };

    #[inline]
    pub(crate) const fn has(self, key: u32) -> bool {
        key >= self.from && key <= self.to
    }
}

impl Book {
    /// What may be traded with on a side.
    #[inline]
    pub(crate) fn tolerated(&self, maker: Side) -> Tolerated {
        if self.is_watched { self.tolerated_on(maker) } else { Tolerated::ALL }
    }

    fn tolerated_on(&self, maker: Side) -> Tolerated {
        let ticks = &self.instrument.ticks;
        let of_tick = |tick: Tick| ticks.price(tick);
        let dynamic = self.last.map(of_tick);
        let fixed = self.last_auction.map(of_tick).or(self.instrument.previous_close);
        let tolerances = self.instrument.tolerances;
        let (mut lowest, mut highest) = (0, ticks.highest());
        for (reference, bp) in [(dynamic, tolerances.dynamic_bp), (fixed, tolerances.static_bp)] {
            let Some(reference) = reference.filter(|_| bp > 0) else { continue };
            let [from, to] = self.within(reference, bp);
            (lowest, highest) = (lowest.max(from), highest.min(to));
        }
        let [one, other] = [lowest, highest].map(|tick| key_of(maker, tick));
        match maker {
            Side::Sell => Tolerated { from: one, to: other },
            Side::Buy => Tolerated { from: other, to: one },
        }
    }

    /// The first and the last tick so far from a price.
    pub(crate) fn within(&self, reference: Price, bp: u32) -> [Tick; 2] {
        let ticks = &self.instrument.ticks;
        let away = (i128::from(reference.0) * i128::from(bp) / BP).min(i128::from(i64::MAX)) as i64;
        let [low, high] = [reference.0.saturating_sub(away), reference.0.saturating_add(away)];
        let [first, last] = [low, high].map(|price| ticks.nearest(Price(price)));
        let first = first + Tick::from(ticks.price(first).0 < low);
        let last = last.saturating_sub(Tick::from(ticks.price(last).0 > high));
        [first, last]
    }
}

impl Engine {
    /// Trades what an order can within the tolerances of its book, and stops continuous
    /// trading if it would go on.
    #[cold]
    pub(crate) fn aggress_within<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        reach: u32,
        out: &mut E,
    ) -> Option<Ending> {
        let order = self.orders.get(slot);
        let (id, maker) = (order.book, order.side().opposite());
        let tolerated = self.books[usize::from(id.0)].tolerated(maker);
        let mut summed = Summed { out, quantity: 0, value: 0 };
        let ending = match self.best_for(slot) >= tolerated.from {
            true => self.walk_by_owner(now_ns, slot, reach.min(tolerated.to), &mut summed),
            false => None,
        };
        let (quantity, value) = (summed.quantity, summed.value);
        self.books[usize::from(id.0)].average.add(now_ns, quantity, value);
        let is_left = ending.is_none() && self.orders.get(slot).leaves > 0;
        if is_left && self.best_for(slot) <= reach {
            self.trip(now_ns, id, out);
        }
        ending
    }

    /// Continuous trading stops, and what waited for a call comes in.
    fn trip<E: Events>(&mut self, now_ns: u64, id: BookId, out: &mut E) {
        self.time_call(now_ns, id);
        let book = &mut self.books[usize::from(id.0)];
        let (session, before) = (Session::BreakerCall, book.session);
        (book.session, book.is_dirty) = (session, true);
        book.indicated_ns = 0;
        let cause = Cause::PriceOutside;
        out.event(Event::Session { book: id, session, before, cause });
        self.release(id, out);
    }

    /// Draws when a circuit breaker's call ends.
    pub(crate) fn time_call(&mut self, now_ns: u64, id: BookId) {
        let random_ns = self.draw() % self.config.breaker_random_ns.saturating_add(1).max(1);
        let length_ns = self.config.breaker_call_ns.saturating_add(random_ns);
        self.books[usize::from(id.0)].call_ends_ns = now_ns.saturating_add(length_ns);
    }
}
