//! Calls that go on: when one is to end, it is looked at what its auction would bring.
//!
//! Orders without a limit that would be left over extend a call once; a price too far
//! from the last one before it does up to twice. Operators end a call at once.

use tapeline_instrument::{Cause, Session, Tick};

use crate::auction::Uncross;
use crate::book::Book;
use crate::command::BookId;
use crate::engine::Engine;
use crate::event::{Event, Events};

/// How often a price that is too far away extends a call.
const MAX_BY_PRICE: u8 = 2;

/// How a call goes on beyond its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extension {
    /// Orders without a limit have extended it.
    pub(crate) is_by_market: bool,
    /// Its price has extended it so often.
    pub(crate) by_price: u8,
    /// What begins when it ends; `None` before it goes on.
    pub(crate) then: Option<Session>,
}

impl Book {
    /// The call ends by now: a circuit breaker's, or one that went on.
    pub(crate) fn is_call_over(&self, now_ns: u64) -> bool {
        let is_timed = self.session == Session::BreakerCall || self.extension.then.is_some();
        is_timed && now_ns >= self.call_ends_ns
    }

    /// An auction would have a price too far from the last one before it.
    fn is_outside(&self, tick: Tick) -> bool {
        let bp = self.instrument.auctions.tolerance_bp;
        let Some(reference) = self.reference().filter(|_| bp > 0) else { return false };
        let [first, last] = self.within(self.instrument.ticks.price(reference), bp);
        tick < first || tick > last
    }

    /// An auction takes place: its price is tolerated, or the closing auction trades
    /// enough. What is collected in other calls is matched in any case, since continuous
    /// trading follows.
    pub(crate) fn takes_place(&self, found: &Uncross, call: Session) -> bool {
        call != Session::ClosingCall
            || found.volume >= self.instrument.auctions.min_closing_volume
            || !self.is_outside(found.tick)
    }
}

impl Engine {
    /// Whether a session that the schedule begins waits for the end of a call that goes
    /// on. One that cannot follow the call ends it first.
    pub(crate) fn is_put_off<E: Events>(
        &mut self,
        now_ns: u64,
        id: BookId,
        session: Session,
        out: &mut E,
    ) -> bool {
        let cause = Cause::Scheduled;
        let Some(book) = self.books.get_mut(usize::from(id.0)) else { return false };
        let follows = book.session.followed_by(session, cause).is_ok();
        if let Some(then) = book.extension.then.filter(|_| now_ns < book.call_ends_ns) {
            if !follows {
                self.change_session(now_ns, id, then, cause, out);
                return false;
            }
            // The day ends when it ends.
            let waits = session.ends_call() && session != Session::MarketClose;
            if waits {
                book.extension.then = Some(session);
            }
            return waits;
        }
        let may_go_on = follows && book.session.is_call() && session.ends_call();
        let Some((cause, length_ns)) = self.extension_of(id).filter(|_| may_go_on) else {
            return false;
        };
        self.extend(now_ns, id, (cause, length_ns), session, out);
        true
    }

    /// Why the call of a book would go on now, and for how long.
    fn extension_of(&mut self, id: BookId) -> Option<(Cause, u64)> {
        let at = usize::from(id.0);
        let (market_ns, price_ns) =
            (self.config.market_extension_ns, self.config.price_extension_ns);
        let Extension { is_by_market, by_price, .. } = self.books[at].extension;
        let may_by_market = market_ns > 0 && !is_by_market;
        let has_tolerance = self.books[at].instrument.auctions.tolerance_bp > 0;
        let may_by_price = has_tolerance && price_ns > 0 && by_price < MAX_BY_PRICE;
        if !may_by_market && !may_by_price {
            return None;
        }
        let (found, market) = self.outlook(at);
        let volume = found.map_or(0, |found| found.volume);
        if may_by_market && market.iter().any(|market| *market > volume) {
            return Some((Cause::MarketOrders, market_ns));
        }
        let is_outside = found.is_some_and(|found| self.books[at].is_outside(found.tick));
        (may_by_price && is_outside).then_some((Cause::PriceOutside, price_ns))
    }

    fn extend<E: Events>(
        &mut self,
        now_ns: u64,
        id: BookId,
        (cause, length_ns): (Cause, u64),
        then: Session,
        out: &mut E,
    ) {
        let random_ns = self.draw() % self.config.extension_random_ns.saturating_add(1).max(1);
        let until_ns = now_ns.saturating_add(length_ns).saturating_add(random_ns);
        let book = &mut self.books[usize::from(id.0)];
        book.call_ends_ns = until_ns;
        book.extension.then = Some(then);
        match cause {
            Cause::MarketOrders => book.extension.is_by_market = true,
            _ => book.extension.by_price += 1,
        }
        let session = book.session;
        out.event(Event::Extended { book: id, session, cause, until_ns });
    }
}
