//! Orders that go without a trade.

use std::cmp::Reverse;

use tapeline_instrument::{Cause, OrderId, Session};

use crate::command::{BookId, MassCancel, Owner, TimeInForce, TradeCancel};
use crate::engine::Engine;
use crate::event::{Ending, Event, Events, Order, Shown, Undone};
use crate::orders::Resting;
use crate::queues::Node;
use crate::refusal::Refusal;

impl Engine {
    /// Cancels an order of a user.
    #[inline]
    pub fn cancel<E: Events>(&mut self, id: OrderId, owner: Owner, out: &mut E) {
        let found = self.find(id, owner).and_then(|slot| {
            let order = *self.orders.get(slot);
            let may = self.books[usize::from(order.book.0)].session.takes_cancels();
            if may { Ok((slot, order)) } else { Err(Refusal::Session) }
        });
        match found {
            Ok((slot, order)) if order.is_plain() => {
                self.end_plain(slot, &order, Ending::Cancelled, out);
            }
            Ok((slot, _)) => self.end_linked(slot, Ending::Cancelled, out),
            Err(refusal) => out.event(Event::Refused { owner, id, refusal }),
        }
    }

    /// Cancels all orders that are meant, in the order of their slots; those
    /// whose session takes no cancels are refused one by one.
    pub fn mass_cancel<E: Events>(&mut self, which: &MassCancel, out: &mut E) {
        let mut count = 0;
        for slot in self.orders.slots() {
            if !self.is_meant(which, slot) {
                continue;
            }
            let order = *self.orders.get(slot);
            if self.books[usize::from(order.book.0)].session.takes_cancels() {
                self.end_linked(slot, Ending::MassCancelled, out);
                count += 1;
            } else {
                let (owner, id, refusal) = (order.owner, order.id, Refusal::Session);
                out.event(Event::Refused { owner, id, refusal });
            }
        }
        out.event(Event::MassCancelled { firm: which.firm, count });
    }

    fn is_meant(&self, which: &MassCancel, slot: Node) -> bool {
        let order = self.orders.get(slot);
        order.id != OrderId(0)
            && order.owner.firm == which.firm
            && order.is_quote() == which.is_of_quotes
            && which.user.is_none_or(|user| user == order.owner.user)
            && which.book.is_none_or(|book| book == order.book)
            && which.group.is_none_or(|group| group == order.group)
    }

    /// Takes a trade back. Its orders stay where they stand, with what they have not
    /// traded; what trades refer to (the last price, stops that it elected) stays too.
    #[cold]
    pub(crate) fn cancel_trade<E: Events>(&mut self, which: &TradeCancel, out: &mut E) {
        let TradeCancel { book, id, price, quantity, orders, auction } = *which;
        let orders = orders.map(|order| self.untrade(book, order, quantity).unwrap_or_default());
        out.event(Event::TradeCancelled { book, id, price, quantity, orders, auction });
    }

    /// An order that is alive has traded so much less.
    fn untrade(&mut self, book: BookId, id: OrderId, quantity: u32) -> Option<Undone> {
        let slot = self.index.get(id)?;
        let order = self.orders.get_mut(slot);
        // A slot without an order has id 0, which is nobody's.
        let is_it = order.leaves > 0 && order.id == id && order.book == book;
        order.filled = order.filled.checked_sub(quantity).filter(|_| is_it)?;
        let displays = if order.is_parked() { 0 } else { order.shown };
        Some(Undone { order: self.order(slot), displays })
    }

    /// Ends an order that is in the book, or waits.
    pub(crate) fn end_linked<E: Events>(&mut self, slot: Node, cause: Ending, out: &mut E) {
        let order = *self.orders.get(slot);
        if order.is_plain() {
            return self.end_plain(slot, &order, cause, out);
        }
        let mut shown = self.shown_of(slot, &order);
        if order.is_parked() {
            shown.quantity = 0;
        }
        self.unlink(slot);
        self.ended(slot, &order, shown, cause, out);
    }

    /// The same of a plain order, as most are.
    #[allow(clippy::inline_always, reason = "the call would cost a tenth of an order")]
    #[inline(always)]
    fn end_plain<E: Events>(&mut self, slot: Node, order: &Resting, cause: Ending, out: &mut E) {
        debug_assert!(order.shown > 0, "all that is left of it is shown");
        let book = &mut self.books[usize::from(order.book.0)];
        self.shown.remove(&mut book.shown[order.side() as usize], slot);
        book.is_dirty = true;
        let (shown, quantity) = (book.shown_as(order.id, order), order.leaves);
        let (book, id) = (order.book, order.id);
        let order = Order { leaves: 0, ..order.at(slot) };
        out.event(Event::Ended { book, order, quantity, shown, cause });
        self.forget(slot, id);
    }

    /// Ends an order that is in no queue.
    #[inline]
    pub(crate) fn end<E: Events>(&mut self, slot: Node, cause: Ending, out: &mut E) {
        let order = *self.orders.get(slot);
        let shown = Shown { quantity: 0, ..self.shown_of(slot, &order) };
        self.ended(slot, &order, shown, cause, out);
    }

    #[inline]
    fn ended<E: Events>(
        &mut self,
        slot: Node,
        order: &Resting,
        shown: Shown,
        cause: Ending,
        out: &mut E,
    ) {
        let (book, id, quantity) = (order.book, order.id, order.leaves);
        let order = Order { leaves: 0, ..order.at(slot) };
        self.books[usize::from(book.0)].is_dirty = true;
        out.event(Event::Ended { book, order, quantity, shown, cause });
        self.forget(slot, id);
    }

    /// Time has passed: orders expire at their second, calls that no schedule ends are over,
    /// auctions say what they would bring.
    #[cold]
    pub fn tick<E: Events>(&mut self, now_ns: u64, out: &mut E) {
        self.expire_timed(now_ns, out);
        for at in 0..self.books.len() {
            if self.books[at].is_call_over(now_ns) {
                let (id, cause) = (BookId(at as u16), Cause::Scheduled);
                let then = self.books[at].extension.then.unwrap_or(Session::Regular);
                self.begin_session(now_ns, id, then, cause, out);
            } else if self.books[at].session.is_call() {
                self.indicate(now_ns, at, out);
            }
        }
    }

    /// Whether a [`Tick`](crate::Command::Tick) would do something by now.
    pub fn is_due(&self, now_ns: u64) -> bool {
        let now_s = now_ns / 1_000_000_000;
        let interval_ns = self.config.auction_info_interval_ns;
        let has_timed =
            self.timed.peek().is_some_and(|Reverse((at_s, _))| u64::from(*at_s) <= now_s);
        has_timed
            || self.books.iter().any(|book| {
                let next_ns = book.indicated_ns.saturating_add(interval_ns);
                let is_news = book.session.is_call() && book.is_dirty && now_ns >= next_ns;
                is_news || book.is_call_over(now_ns)
            })
    }

    /// Orders whose second has come end, unless they are in a call.
    pub(crate) fn expire_timed<E: Events>(&mut self, now_ns: u64, out: &mut E) {
        let now_s = (now_ns / 1_000_000_000).min(u64::from(u32::MAX)) as u32;
        self.ending.clear();
        while let Some(Reverse((at_s, id))) = self.timed.peek().copied() {
            if at_s > now_s {
                break;
            }
            self.timed.pop();
            let slot = self.index.get(id).filter(|slot| self.orders.get(*slot).id == id);
            let is_due = |slot: &Node| {
                self.orders.special(*slot).time_in_force == TimeInForce::UntilTime(at_s)
            };
            let Some(slot) = slot.filter(is_due) else { continue };
            let book = self.orders.get(slot).book;
            if self.books[usize::from(book.0)].session.is_call() {
                // Looked at again when the call is over.
                self.ending.push(slot);
                continue;
            }
            self.end_linked(slot, Ending::Expired, out);
        }
        for at in 0..self.ending.len() {
            let slot = self.ending[at];
            let id = self.orders.get(slot).id;
            self.timed.push(Reverse((now_s, id)));
            self.orders.special_mut(slot).time_in_force = TimeInForce::UntilTime(now_s);
        }
        self.ending.clear();
    }
}
