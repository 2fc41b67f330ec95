//! Orders at the middle of the best prices that are shown: hidden, with a hard limit or
//! without, in parts of some size or of any.
//!
//! They stand in a queue of their own, by time, since the middle may lie between two
//! ticks and moves without them. Where it is, and whom it lets trade, is looked at behind
//! each command. Without continuous trading, or with a side missing, they wait.

use tapeline_instrument::{Price, Session, Side, TradeId};

use crate::book::Book;
use crate::command::{BookId, SelfMatch};
use crate::engine::Engine;
use crate::event::{Ending, Entry, Event, Events, Part};
use crate::ladder::{MARKET, NONE};
use crate::orders::Resting;
use crate::queues::Node;

/// The one key of a queue of pegged orders.
const KEY: u32 = 1;

impl Book {
    /// The middle of the best prices that are shown, in continuous trading.
    fn middle_now(&self) -> Option<Price> {
        let best = |side: Side| {
            let key = self.shown[side as usize].best();
            (key != NONE && key != MARKET).then(|| self.price(side, key).0)
        };
        let (bid, ask) = (best(Side::Buy)?, best(Side::Sell)?);
        (self.session == Session::Regular).then(|| Price(i64::midpoint(bid, ask)))
    }

    fn has_pegged(&self) -> bool {
        self.pegged.iter().any(|ladder| ladder.best() != NONE)
    }

    /// Whether an order's limit lets it trade at a price.
    fn is_within(&self, order: &Resting, price: Price) -> bool {
        if order.key == MARKET {
            return true;
        }
        let limit = self.price(order.side(), order.key);
        match order.side() {
            Side::Buy => limit >= price,
            Side::Sell => limit <= price,
        }
    }
}

impl Engine {
    pub(crate) fn link_pegged(&mut self, slot: Node) {
        let order = self.orders.get(slot);
        let (id, side) = (order.book, order.side() as usize);
        let book = &mut self.books[usize::from(id.0)];
        self.unshown.push(&mut book.pegged[side], KEY, slot);
    }

    /// A pegged order comes in: it trades what it can, and what is left stays.
    pub(crate) fn join_pegged<E: Events>(&mut self, now_ns: u64, slot: Node, out: &mut E) {
        if self.orders.alive() > self.config.max_orders {
            return self.end(slot, Ending::Full, out);
        }
        let (id, own) = (self.orders.get(slot).book, self.orders.get(slot).id);
        if let Err(at) = self.pegging.binary_search(&id) {
            self.pegging.insert(at, id);
        }
        let book = &mut self.books[usize::from(id.0)];
        book.middle = book.middle_now();
        let middle = book.middle;
        self.orders.get_mut(slot).set_parked(middle.is_none());
        self.link_pegged(slot);
        if let Some(middle) = middle {
            self.match_pegged(now_ns, id, middle, out);
        }
        if self.orders.get(slot).id != own {
            return;
        }
        let (order, shown) = (self.order(slot), self.shown(slot));
        out.event(match middle {
            Some(_) => Event::Rested { book: id, order, shown, entry: Entry::New },
            None => Event::Parked { book: id, order, shown },
        });
    }

    /// Pegged orders go with the best prices, behind a command.
    #[cold]
    pub(crate) fn move_pegged<E: Events>(&mut self, now_ns: u64, out: &mut E) {
        let mut at = 0;
        while let Some(id) = self.pegging.get(at).copied() {
            self.follow_middle(now_ns, id, out);
            let book = &mut self.books[usize::from(id.0)];
            if book.has_pegged() {
                at += 1;
            } else {
                book.middle = None;
                self.pegging.remove(at);
            }
        }
    }

    fn follow_middle<E: Events>(&mut self, now_ns: u64, id: BookId, out: &mut E) {
        let book = &mut self.books[usize::from(id.0)];
        let (before, middle) = (book.middle, book.middle_now());
        book.middle = middle;
        if before.is_some() != middle.is_some() {
            self.wake_pegged(id, middle.is_some(), out);
        }
        if let Some(middle) = middle.filter(|_| before != middle) {
            self.match_pegged(now_ns, id, middle, out);
        }
    }

    /// There is a middle again, or none any more: buyers hear of it first.
    fn wake_pegged<E: Events>(&mut self, id: BookId, is_awake: bool, out: &mut E) {
        for side in Side::BOTH {
            let mut next = self.first_pegged(id, side);
            while let Some(slot) = next {
                next = self.next_pegged(id, side, slot);
                self.orders.get_mut(slot).set_parked(!is_awake);
                let (order, shown) = (self.order(slot), self.shown(slot));
                out.event(match is_awake {
                    true => Event::Rested { book: id, order, shown, entry: Entry::Awake },
                    false => Event::Parked { book: id, order, shown },
                });
            }
        }
    }

    fn first_pegged(&self, id: BookId, side: Side) -> Option<Node> {
        let ladder = &self.books[usize::from(id.0)].pegged[side as usize];
        self.unshown.at(ladder, KEY).next()
    }

    fn next_pegged(&self, id: BookId, side: Side, slot: Node) -> Option<Node> {
        let ladder = &self.books[usize::from(id.0)].pegged[side as usize];
        let level = ladder.level_of(&self.unshown, KEY)?;
        Some(self.unshown.next(slot)).filter(|next| *next != level)
    }

    /// Trades pegged orders with each other, by time.
    pub(crate) fn match_pegged<E: Events>(
        &mut self,
        now_ns: u64,
        id: BookId,
        middle: Price,
        out: &mut E,
    ) {
        while let Some((buyer, seller)) = self.pair(id, middle) {
            let [bought, sold] = [buyer, seller].map(|slot| self.orders.get(slot));
            let is_buyer_later = bought.id > sold.id;
            let is_own = bought.owner.firm == sold.owner.firm;
            let quantity = bought.leaves.min(sold.leaves);
            let (taker, maker) = if is_buyer_later { (buyer, seller) } else { (seller, buyer) };
            match self.orders.special(taker).self_match {
                SelfMatch::CancelIncoming if is_own => {
                    self.end_linked(taker, Ending::SelfMatch, out);
                }
                SelfMatch::CancelResting if is_own => {
                    self.end_linked(maker, Ending::SelfMatch, out);
                }
                _ => self.trade_pegged(now_ns, (taker, maker), quantity, middle, out),
            }
        }
    }

    /// The first two that can trade with each other.
    fn pair(&self, id: BookId, middle: Price) -> Option<(Node, Node)> {
        let book = &self.books[usize::from(id.0)];
        let all = |side: Side| {
            let slots = self.unshown.at(&book.pegged[side as usize], KEY);
            slots.filter(|slot| book.is_within(self.orders.get(*slot), middle))
        };
        all(Side::Buy).find_map(|buyer| {
            let seller = all(Side::Sell).find(|seller| {
                let quantity = self.orders.get(buyer).leaves.min(self.orders.get(*seller).leaves);
                self.may_meet(buyer, *seller)
                    && [buyer, *seller].iter().all(|slot| self.is_enough(*slot, quantity))
            })?;
            Some((buyer, seller))
        })
    }

    /// An order trades in parts of this size.
    fn is_enough(&self, slot: Node, quantity: u32) -> bool {
        quantity >= self.orders.special(slot).min_quantity.min(self.orders.get(slot).leaves)
    }

    /// An order that is in no queue, and may trade with pegged ones, does so first. Says
    /// why it must end if it must.
    pub(crate) fn meet_pegged<E: Events>(
        &mut self,
        now_ns: u64,
        slot: Node,
        out: &mut E,
    ) -> Option<Ending> {
        let order = *self.orders.get(slot);
        let side = order.side();
        let book = &self.books[usize::from(order.book.0)];
        let middle = book.middle_now().filter(|middle| book.is_within(&order, *middle))?;
        let self_match = self.orders.special(slot).self_match;
        let mut next = self.first_pegged(order.book, side.opposite());
        while let Some(maker) = next {
            next = self.next_pegged(order.book, side.opposite(), maker);
            let resting = *self.orders.get(maker);
            let leaves = self.orders.get(slot).leaves;
            let quantity = leaves.min(resting.leaves);
            let book = &self.books[usize::from(order.book.0)];
            let is_within = book.is_within(&resting, middle) && self.may_meet(slot, maker);
            if leaves == 0 || !is_within || !self.is_enough(maker, quantity) {
                continue;
            }
            match self_match {
                SelfMatch::CancelIncoming if resting.owner.firm == order.owner.firm => {
                    return Some(Ending::SelfMatch);
                }
                SelfMatch::CancelResting if resting.owner.firm == order.owner.firm => {
                    self.end_linked(maker, Ending::SelfMatch, out);
                }
                _ => self.meet_one(now_ns, (slot, maker), quantity, middle, out),
            }
        }
        None
    }

    /// Trades of two pegged orders; the later one takes.
    fn trade_pegged<E: Events>(
        &mut self,
        now_ns: u64,
        (taker, maker): (Node, Node),
        quantity: u32,
        middle: Price,
        out: &mut E,
    ) {
        self.meet_one(now_ns, (taker, maker), quantity, middle, out);
        let Resting { id, leaves, .. } = *self.orders.get(taker);
        if leaves == 0 {
            self.unlink(taker);
            self.forget(taker, id);
        }
    }

    /// A trade with a pegged order. The taker stays where it is.
    fn meet_one<E: Events>(
        &mut self,
        now_ns: u64,
        (taker, maker): (Node, Node),
        quantity: u32,
        price: Price,
        out: &mut E,
    ) {
        for slot in [taker, maker] {
            let order = self.orders.get_mut(slot);
            order.leaves -= quantity;
            order.filled += quantity;
        }
        let (book, side) = (self.orders.get(taker).book, self.orders.get(taker).side());
        let id = self.next_trade(now_ns);
        let (taker, maker) = (self.order(taker), self.order(maker));
        out.event(Event::Traded {
            book,
            id,
            price,
            quantity,
            taker,
            maker,
            maker_shown: maker.id,
            taker_shown: taker.id,
            maker_displays: 0,
            taker_displays: 0,
            side,
            part: Part::Pegged,
        });
        if maker.leaves == 0 {
            self.unlink(maker.slot);
            self.forget(maker.slot, maker.id);
        }
    }

    fn next_trade(&mut self, now_ns: u64) -> TradeId {
        self.trades = self.trades.wrapping_add(1);
        self.config.ids.trade(now_ns, self.trades)
    }
}
