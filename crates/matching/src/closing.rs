//! Trading at the price of the closing auction, behind it.
//!
//! What the auction has left of orders for auctions trades at its price with orders that
//! were kept for that ("auction volume discovery"), by time. Then there may be a session
//! in which orders trade at that price and at no other: whatever limit an order has, it
//! stands at the closing price if its limit reaches that, and ends if it does not.

use tapeline_instrument::{Session, Side, Tick};

use crate::command::{BookId, SelfMatch, TimeInForce};
use crate::engine::Engine;
use crate::event::{Ending, Entry, Event, Events, Part};
use crate::ladder::key_of;
use crate::queues::Node;
use crate::uncross::Half;
use crate::wait::{CLOSING_PRICE, VOLUME, VOLUME_AND_PRICE};

impl Engine {
    /// Matches what the closing auction has left with what was kept for that, at its
    /// price and by time. Returns how much trades.
    pub(crate) fn discover_volume<E: Events>(
        &mut self,
        now_ns: u64,
        id: BookId,
        tick: Tick,
        out: &mut E,
    ) -> u64 {
        let mut taking_part = std::mem::take(&mut self.ending);
        taking_part.clear();
        let slots = self.orders.slots();
        taking_part.extend(slots.filter(|slot| self.is_for_volume(*slot, id, tick)));
        // Ids rise with time.
        taking_part.sort_unstable_by_key(|slot| self.orders.get(*slot).id);
        let mut volume = 0;
        let mut places = [0; 2];
        while let [Some(buyer), Some(seller)] =
            Side::BOTH.map(|side| self.next_for_volume(&taking_part, &mut places, side))
        {
            let quantity = self.part_of(buyer).min(self.part_of(seller));
            volume += u64::from(quantity);
            self.meet_for_volume(now_ns, (buyer, seller), quantity, tick, out);
        }
        taking_part.clear();
        self.ending = taking_part;
        self.replenish_all(now_ns, out);
        volume
    }

    fn is_for_volume(&self, slot: Node, id: BookId, tick: Tick) -> bool {
        let order = self.orders.get(slot);
        if order.leaves == 0 || order.book != id || !order.is_special() {
            return false;
        }
        let is_meant = match self.orders.special(slot).time_in_force {
            TimeInForce::AtClosingVolume | TimeInForce::FromClosingVolume => true,
            TimeInForce::NextAuction | TimeInForce::EveryAuction => !order.is_parked(),
            _ => false,
        };
        is_meant && order.key <= key_of(order.side(), tick)
    }

    /// The first of a side that has not traded all.
    fn next_for_volume(
        &self,
        taking_part: &[Node],
        places: &mut [usize; 2],
        side: Side,
    ) -> Option<Node> {
        let place = &mut places[side as usize];
        while let Some(slot) = taking_part.get(*place) {
            let order = self.orders.get(*slot);
            if order.side() == side && order.leaves > 0 {
                return Some(*slot);
            }
            *place += 1;
        }
        None
    }

    /// How much of an order trades at once: what is shown before what is not.
    fn part_of(&self, slot: Node) -> u32 {
        let order = self.orders.get(slot);
        let is_shown = order.shown > 0 && !order.is_parked();
        if is_shown { order.shown } else { order.leaves }
    }

    fn meet_for_volume<E: Events>(
        &mut self,
        now_ns: u64,
        (buyer, seller): (Node, Node),
        quantity: u32,
        tick: Tick,
        out: &mut E,
    ) {
        let book = self.orders.get(buyer).book;
        let [taker, maker] = [buyer, seller].map(|slot| match self.orders.get(slot).is_parked() {
            true => self.fill_parked(slot, quantity),
            false => self.fill(slot, quantity),
        });
        self.trades = self.trades.wrapping_add(1);
        out.event(Event::Traded {
            book,
            id: self.config.ids.trade(now_ns, self.trades),
            price: self.books[usize::from(book.0)].instrument.ticks.price(tick),
            quantity,
            taker: taker.order,
            maker: maker.order,
            maker_shown: maker.shown,
            taker_shown: taker.shown,
            maker_displays: maker.displays,
            taker_displays: taker.displays,
            side: Side::Buy,
            part: Part::Auction(Session::ClosingCall),
        });
        for half in [taker, maker] {
            if half.order.leaves == 0 {
                self.forget(half.order.slot, half.order.id);
            }
        }
    }

    /// Takes a quantity off an order that waits.
    fn fill_parked(&mut self, slot: Node, quantity: u32) -> Half {
        let order = self.orders.get_mut(slot);
        order.leaves -= quantity;
        order.filled += quantity;
        if order.leaves == 0 {
            self.unlink(slot);
        }
        Half { order: self.order(slot), shown: self.orders.shown_id(slot), displays: 0 }
    }

    /// Orders that were for what the closing auction has left end.
    pub(crate) fn end_volume_orders<E: Events>(&mut self, id: BookId, out: &mut E) {
        let first = |engine: &Self| {
            let waiting = &engine.books[usize::from(id.0)].waiting;
            engine.unshown.at(waiting, VOLUME).next()
        };
        while let Some(slot) = first(self) {
            self.end_linked(slot, Ending::Expired, out);
        }
    }

    /// Trading at the closing price begins: orders that waited for it come in, by time.
    pub(crate) fn begin_closing_price<E: Events>(&mut self, now_ns: u64, id: BookId, out: &mut E) {
        let mut awake = std::mem::take(&mut self.ending);
        awake.clear();
        for class in [VOLUME_AND_PRICE, CLOSING_PRICE] {
            while let Some(slot) = self.first_waiting(id, class) {
                awake.push(slot);
            }
        }
        awake.sort_unstable_by_key(|slot| self.orders.get(*slot).id);
        for slot in awake.drain(..) {
            self.wake(slot);
            self.run_at_closing_price(now_ns, slot, Entry::Awake, out);
        }
        self.ending = awake;
    }

    /// An order that is in no queue trades what it can at the closing price; what is left
    /// stands there.
    pub(crate) fn run_at_closing_price<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        entry: Entry,
        out: &mut E,
    ) {
        let order = self.orders.get_mut(slot);
        let (id, own) = (order.book, order.key);
        let Some(tick) = self.books[usize::from(id.0)].closing else {
            debug_assert!(false, "the session does not begin without a closing price");
            return self.end(slot, Ending::Expired, out);
        };
        let key = key_of(order.side(), tick);
        if own > key {
            return self.end(slot, Ending::Expired, out);
        }
        order.key = key;
        let ending = self.trade_at_closing_price(now_ns, slot, tick, out);
        let traded = *self.orders.get(slot);
        if traded.leaves == 0 {
            return self.forget(slot, traded.id);
        }
        if let Some(ending) = ending {
            return self.end(slot, ending, out);
        }
        self.rest(slot, entry, out);
        // There may have been no room for it.
        let is_alive = self.orders.get(slot).id == traded.id;
        if own != key && is_alive {
            let (order, shown) = (self.order(slot), self.shown(slot));
            out.event(Event::Repriced { book: id, order, shown });
        }
    }

    fn trade_at_closing_price<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        tick: Tick,
        out: &mut E,
    ) -> Option<Ending> {
        let (id, side) = (self.orders.get(slot).book, self.orders.get(slot).side());
        let self_match = self.orders.special(slot).self_match;
        let mut ending = None;
        while self.orders.get(slot).leaves > 0 {
            let Some((maker, part)) = self.head(id, side.opposite()) else { break };
            let resting = *self.orders.get(maker);
            if resting.key > key_of(side.opposite(), tick) {
                break;
            }
            let is_own = resting.owner.firm == self.orders.get(slot).owner.firm;
            match self_match {
                SelfMatch::CancelIncoming if is_own => {
                    ending = Some(Ending::SelfMatch);
                    break;
                }
                SelfMatch::CancelResting if is_own => {
                    self.end_linked(maker, Ending::SelfMatch, out);
                    continue;
                }
                _ => {}
            }
            self.meet_at_closing_price(now_ns, slot, (maker, part), tick, out);
        }
        self.replenish_all(now_ns, out);
        ending
    }

    /// Trades with what a resting order has first.
    fn meet_at_closing_price<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        (maker, part): (Node, u32),
        tick: Tick,
        out: &mut E,
    ) {
        let is_shown = self.orders.get(maker).shown > 0;
        let taker = self.orders.get_mut(slot);
        let (id, side) = (taker.book, taker.side());
        let quantity = part.min(taker.leaves);
        taker.leaves -= quantity;
        taker.filled += quantity;
        let taker = self.order(slot);
        let maker = self.fill(maker, quantity);
        self.trades = self.trades.wrapping_add(1);
        let book = &mut self.books[usize::from(id.0)];
        book.last = Some(tick);
        out.event(Event::Traded {
            book: id,
            id: self.config.ids.trade(now_ns, self.trades),
            price: book.instrument.ticks.price(tick),
            quantity,
            taker,
            maker: maker.order,
            maker_shown: maker.shown,
            taker_shown: taker.id,
            maker_displays: maker.displays,
            taker_displays: 0,
            side,
            part: if is_shown { Part::ClosingPrice } else { Part::HiddenAtClosingPrice },
        });
        if maker.order.leaves == 0 {
            self.forget(maker.order.slot, maker.order.id);
        }
    }
}
