//! The sessions of the day.

use tapeline_instrument::{Cause, OrderId, Session, Side};

use crate::command::{BookId, Owner, TimeInForce};
use crate::engine::Engine;
use crate::event::{Ending, Event, Events, FoundBy};
use crate::extend::Extension;
use crate::refusal::Refusal;

const S_PER_DAY: u64 = 86_400;

impl Engine {
    /// A session begins, where it may follow the one that is; one of the schedule waits
    /// for a call that goes on.
    #[cold]
    pub fn begin_session<E: Events>(
        &mut self,
        now_ns: u64,
        id: BookId,
        session: Session,
        cause: Cause,
        out: &mut E,
    ) {
        let is_put_off = cause == Cause::Scheduled && self.is_put_off(now_ns, id, session, out);
        if !is_put_off {
            self.change_session(now_ns, id, session, cause, out);
        }
    }

    /// A session begins, where it may follow the one that is.
    pub(crate) fn change_session<E: Events>(
        &mut self,
        now_ns: u64,
        id: BookId,
        session: Session,
        cause: Cause,
        out: &mut E,
    ) {
        let book = self.books.get(usize::from(id.0)).ok_or(Refusal::UnknownBook);
        let before = book.and_then(|book| {
            let next = book.session.followed_by(session, cause);
            next.map(|_| book.session).map_err(|_| Refusal::NextSession)
        });
        let before = match before {
            Ok(before) => before,
            Err(refusal) => {
                let (owner, id) = (Owner::default(), OrderId(0));
                return out.event(Event::Refused { owner, id, refusal });
            }
        };
        let is_behind_trading =
            matches!(before, Session::Regular | Session::ClosingPrice | Session::PostClose);
        if session.ends_call() && !is_behind_trading {
            self.uncross(now_ns, id, before, out);
        }
        let book = &mut self.books[usize::from(id.0)];
        // Without a closing price there is nothing to trade at.
        let session = match session {
            Session::ClosingPrice if book.closing.is_none() => Session::PostClose,
            session => session,
        };
        book.session = session;
        book.extension = Extension::default();
        book.is_dirty = true;
        book.indicated_ns = 0;
        out.event(Event::Session { book: id, session, before, cause });
        if before.shows_best_only() {
            self.show_again(id, out);
        }
        match session {
            Session::OpeningCall
            | Session::ResumeCall
            | Session::IntradayCall
            | Session::EdspCall
            | Session::PeriodicCall => self.release(id, out),
            Session::ClosingCall => {
                let book = &mut self.books[usize::from(id.0)];
                let average = book.average.price(now_ns);
                book.average_price = average.map(|price| book.instrument.ticks.nearest(price));
                self.release(id, out);
            }
            Session::BreakerCall => {
                self.time_call(now_ns, id);
                self.release(id, out);
            }
            Session::Regular => {
                self.meet_providers(now_ns, id, out);
                self.elect(now_ns, id, out);
            }
            Session::ClosingPrice => self.begin_closing_price(now_ns, id, out),
            Session::MarketClose => self.end_day(now_ns, id, before, out),
            Session::Closed => {
                let book = &mut self.books[usize::from(id.0)];
                (book.last, book.opening, book.last_auction) = (None, None, None);
                (book.closing, book.is_closing_said) = (None, false);
            }
            Session::Halt | Session::Pause | Session::PostClose => {}
        }
        self.expire_timed(now_ns, out);
    }

    /// Others see the orders of a book again.
    fn show_again<E: Events>(&self, id: BookId, out: &mut E) {
        for slot in Side::BOTH.into_iter().flat_map(|side| self.in_view(id, side)) {
            let (order, shown) = (self.order(slot), self.shown(slot));
            out.event(Event::ShownAgain { book: id, order, shown });
        }
    }

    /// Orders of the day end; the last price is what tomorrow refers to.
    fn end_day<E: Events>(&mut self, now_ns: u64, id: BookId, before: Session, out: &mut E) {
        let book = &mut self.books[usize::from(id.0)];
        if let Some(last) = book.last {
            book.instrument.previous_close = Some(book.instrument.ticks.price(last));
            if before != Session::ClosingCall && !book.is_closing_said {
                self.say_reference(id, last, FoundBy::LastTrade, out);
            }
        }
        for slot in self.orders.slots() {
            let order = self.orders.get(slot);
            if order.leaves > 0 && order.book == id && self.is_over(now_ns, slot) {
                self.end_linked(slot, Ending::Expired, out);
            }
        }
    }

    fn is_over(&self, now_ns: u64, slot: u32) -> bool {
        if !self.orders.get(slot).is_special() {
            return true;
        }
        let today = now_ns / 1_000_000_000 / S_PER_DAY;
        match self.orders.special(slot).time_in_force {
            TimeInForce::UntilCancelled => false,
            TimeInForce::UntilDay(at_s) => u64::from(at_s) / S_PER_DAY <= today,
            _ => true,
        }
    }
}
