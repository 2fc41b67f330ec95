//! Orders that wait outside the book: for trades to reach their stop, or for an
//! auction.

use tapeline_instrument::Session;

use crate::command::{BookId, Passive, TimeInForce};
use crate::engine::Engine;
use crate::event::{Ending, Entry, Event, Events};
use crate::queues::Node;

/// The class of orders that trade with what the closing auction has left.
pub(crate) const VOLUME: u32 = 5;

/// The class of those that do so, and then trade at its price.
pub(crate) const VOLUME_AND_PRICE: u32 = 6;

/// The class of those that trade at its price.
pub(crate) const CLOSING_PRICE: u32 = 7;

/// The class of those for the next auction within the day.
const INTRADAY: u32 = 8;

/// Which auctions an order is for, by its key in the waiting ladder; `None` for
/// what trades at other times as well.
pub(crate) const fn class_of(time_in_force: TimeInForce) -> Option<u32> {
    match time_in_force {
        TimeInForce::AtOpening => Some(1),
        TimeInForce::AtClosing => Some(2),
        TimeInForce::NextAuction => Some(3),
        TimeInForce::EveryAuction => Some(4),
        TimeInForce::AtClosingVolume => Some(VOLUME),
        TimeInForce::FromClosingVolume => Some(VOLUME_AND_PRICE),
        TimeInForce::AtClosingPrice => Some(CLOSING_PRICE),
        TimeInForce::NextIntraday => Some(INTRADAY),
        _ => None,
    }
}

/// Whether orders of a class are in the book in a session.
pub(crate) const fn is_for(class: u32, session: Session) -> bool {
    match session {
        Session::OpeningCall => class != 2 && class < VOLUME,
        Session::ClosingCall => class != 1 && class < VOLUME,
        Session::BreakerCall | Session::ResumeCall => matches!(class, 3 | 4),
        Session::IntradayCall => matches!(class, 3 | 4 | INTRADAY),
        Session::EdspCall | Session::PeriodicCall => class == INTRADAY,
        Session::ClosingPrice => matches!(class, VOLUME_AND_PRICE | CLOSING_PRICE),
        _ => false,
    }
}

impl Engine {
    /// Whether an order that comes in waits.
    pub(crate) fn parks(&self, slot: Node) -> bool {
        let order = self.orders.get(slot);
        if !order.is_special() {
            return false;
        }
        let special = self.orders.special(slot);
        let book = &self.books[usize::from(order.book.0)];
        if let Some(class) = class_of(special.time_in_force) {
            return !is_for(class, book.session);
        }
        let reached = book.elected(order.side()).is_some_and(|key| special.stop_key <= key);
        special.stop_key != 0 && !(book.session == Session::Regular && reached)
    }

    /// Lets an order that is in no queue wait.
    pub(crate) fn park<E: Events>(&mut self, slot: Node, out: &mut E) {
        let mut shown = self.shown(slot);
        shown.quantity = 0;
        self.link_parked(slot);
        let book = self.orders.get(slot).book;
        out.event(Event::Parked { book, order: self.order(slot), shown });
    }

    pub(crate) fn link_parked(&mut self, slot: Node) {
        let special = *self.orders.special(slot);
        let order = self.orders.get_mut(slot);
        order.set_parked(true);
        let book = &mut self.books[usize::from(order.book.0)];
        let side = order.side() as usize;
        match class_of(special.time_in_force) {
            Some(class) => self.unshown.push(&mut book.waiting, class, slot),
            None => self.unshown.push(&mut book.stops[side], special.stop_key, slot),
        }
    }

    /// Stop orders that trades have reached come in, each as if it was new: the
    /// nearest to the price before first, at one price the oldest.
    #[inline]
    pub(crate) fn elect<E: Events>(&mut self, now_ns: u64, book: BookId, out: &mut E) {
        if self.books[usize::from(book.0)].has_stops() {
            self.elect_all(now_ns, book, out);
        }
    }

    #[cold]
    pub(crate) fn elect_all<E: Events>(&mut self, now_ns: u64, id: BookId, out: &mut E) {
        loop {
            let book = &mut self.books[usize::from(id.0)];
            if book.session == Session::Regular {
                for side in tapeline_instrument::Side::BOTH {
                    let Some(key) = book.elected(side) else { continue };
                    let ladder = &mut book.stops[side as usize];
                    while ladder.best() <= key {
                        let Some(slot) = self.unshown.first(ladder) else { break };
                        self.unshown.remove(ladder, slot);
                        self.awake.push_back(slot);
                    }
                }
            }
            let Some(slot) = self.awake.pop_front() else { return };
            self.wake(slot);
            self.run(now_ns, slot, Passive::No, Entry::Awake, out);
        }
    }

    /// An order is one like any other from now on.
    pub(crate) fn wake(&mut self, slot: Node) {
        let special = self.orders.special_mut(slot);
        special.stop_key = 0;
        let peak = special.peak;
        let order = self.orders.get_mut(slot);
        order.set_parked(false);
        order.shown = peak.min(order.leaves);
    }

    /// A call has begun: orders that waited for it come into the book.
    pub(crate) fn release<E: Events>(&mut self, id: BookId, out: &mut E) {
        let session = self.books[usize::from(id.0)].session;
        for class in (1..=INTRADAY).filter(|class| is_for(*class, session)) {
            while let Some(slot) = self.first_waiting(id, class) {
                self.wake(slot);
                match self.offset_limit(slot) {
                    true => self.rest(slot, Entry::Awake, out),
                    false => self.end(slot, Ending::Expired, out),
                }
            }
        }
    }

    /// Takes the first order of a class out of those that wait.
    pub(crate) fn first_waiting(&mut self, id: BookId, class: u32) -> Option<Node> {
        let waiting = &mut self.books[usize::from(id.0)].waiting;
        let slot = self.unshown.at(waiting, class).next()?;
        self.unshown.remove(waiting, slot);
        Some(slot)
    }
}
