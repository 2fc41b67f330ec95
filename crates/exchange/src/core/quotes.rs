//! Quotes: a user has at most one in each instrument, of one side or of two, which are
//! orders of their own that have one name and come, change and go together.

use std::collections::HashMap;

use tapeline_instrument::{OrderId, Side};
use tapeline_layout::{Sections, Text, append_section, message};
use tapeline_matching::{BookId, Command, NewOrder, Refusal, Replace};
use tapeline_ntg::client::{self, Cancel, CancelReplace, NewQuote};

use super::Outputs;
use super::floor::{Floor, Moment};
use super::ledger::Kept;
use super::reports::Asked;
use super::requests::{self, side_code};

message! {
    /// Whose quote it is, in which book, and the orders of its sides.
    QuoteState: 24, fill 0 {
        0 => user: u16,
        2 => book: u16,
        8 => buy: u64,
        16 => sell: u64,
    }
}

/// The orders that were the sides of a user's last quote in a book; 0 for none. They may
/// be gone.
#[derive(Debug, Default)]
pub(super) struct Quotes {
    sides: HashMap<(u16, BookId), [OrderId; 2]>,
}

impl Quotes {
    /// Appends all of them.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        let state = |((user, book), [buy, sell]): (&(u16, BookId), &[OrderId; 2])| QuoteState {
            user: *user,
            book: book.0,
            buy: buy.0,
            sell: sell.0,
        };
        let mut all: Vec<QuoteState> = self.sides.iter().map(state).collect();
        all.sort_unstable_by_key(|quote| (quote.user, quote.book));
        append_section(out, all);
    }

    /// Takes them up.
    pub(super) fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let all: Vec<QuoteState> = sections.records()?;
        for QuoteState { user, book, buy, sell } in all {
            self.sides.insert((user, BookId(book)), [OrderId(buy), OrderId(sell)]);
        }
        Some(())
    }
}

/// One side of a quote as an order of the native gateway; `None` if it is not quoted.
fn side_of(quote: &NewQuote, side: Side) -> Option<client::NewOrder> {
    let (limit, quantity) = match side {
        Side::Buy => (quote.bid, quote.bid_size),
        Side::Sell => (quote.ask, quote.ask_size),
    };
    (quantity > 0).then(|| client::NewOrder {
        cl_ord_id: quote.cl_ord_id,
        trader_id: quote.trader_id,
        clearing_account: quote.clearing_account,
        instrument_id: quote.instrument_id,
        mifid_flags: quote.mifid_flags,
        party_roles: quote.party_roles,
        order_type: 2,
        side: side_code(side),
        quantity,
        display: quantity,
        limit,
        capacity: quote.capacity,
        auto_cancel: quote.auto_cancel,
        client_id: quote.client_id,
        investment_decision: quote.investment_decision,
        executing_trader: quote.executing_trader,
        pegged_instruction: quote.pegged_instruction,
        ..client::NewOrder::default()
    })
}

/// A side that is quoted: as it was asked for, and as the engine takes it.
type Wanted = (client::NewOrder, NewOrder);

impl Floor {
    /// A quote comes: it takes the place of the one that its user had in the book. If one
    /// side is refused, so is the other, and what was there stays.
    pub(super) fn quote(
        &mut self,
        at: Moment,
        number: u16,
        quote: &NewQuote,
        out: &mut impl Outputs,
    ) {
        let Some(book) = self.book(quote.instrument_id) else { return };
        let asked = Side::BOTH.map(|side| side_of(quote, side));
        let wanted = match self.wanted(at, number, book, asked) {
            Ok(wanted) => wanted,
            Err(refusal) => {
                for order in asked.iter().flatten() {
                    let kept = Kept::of(order, number, book);
                    self.tell(at, Asked::Nothing, out, |_, reporter| {
                        reporter.reject(&kept, refusal.code());
                    });
                }
                return;
            }
        };
        let before = self.quotes.sides.get(&(number, book)).copied().unwrap_or_default();
        // Where buyers go up to what was asked for until now, sellers go first, so that
        // the quote does not trade with itself.
        let asked_before = self.limit_of(before[Side::Sell as usize]);
        let goes_up = match (wanted[Side::Buy as usize], asked_before) {
            (Some((bid, _)), Some(ask)) => bid.limit >= ask,
            _ => false,
        };
        let sides = if goes_up { [Side::Sell, Side::Buy] } else { Side::BOTH };
        for side in sides {
            let (place, is_there) = (side as usize, self.limit_of(before[side as usize]).is_some());
            match (is_there, wanted[place]) {
                (true, Some((order, _))) => {
                    self.requote(at, number, before[place], &order, out);
                }
                (false, Some(order)) => self.quote_side(at, (number, book), order, out),
                (true, None) => self.withdraw(at, number, before[place], quote, out),
                (false, None) => {}
            }
        }
    }

    /// The sides that are quoted, unless one of them cannot be.
    fn wanted(
        &self,
        at: Moment,
        number: u16,
        book: BookId,
        asked: [Option<client::NewOrder>; 2],
    ) -> Result<[Option<Wanted>; 2], Refusal> {
        let user = self.users.get(number).ok_or(Refusal::UnknownOrder)?;
        if self.is_stopped(number) {
            return Err(Refusal::Stopped);
        }
        if let [Some(bid), Some(ask)] = &asked
            && bid.limit >= ask.limit
        {
            return Err(Refusal::Conditions);
        }
        let mut wanted = [None; 2];
        for (place, order) in asked.into_iter().enumerate() {
            let Some(order) = order else { continue };
            let new = NewOrder { is_quote: true, ..requests::new_order(&order, user, book)? };
            self.market.engine().would_take(at.ns, &new)?;
            wanted[place] = Some((order, new));
        }
        Ok(wanted)
    }

    /// The limit of a side that is there.
    fn limit_of(&self, id: OrderId) -> Option<i64> {
        self.side(id).map(|(_, kept)| kept.terms.limit)
    }

    /// A side that is there, and its slot.
    fn side(&self, id: OrderId) -> Option<(u32, &Kept)> {
        let slot = self.market.engine().slot_of(id).filter(|_| id != OrderId(0))?;
        let kept = self.ledger.at(slot)?;
        (kept.is_alive && kept.id == id).then_some((slot, kept))
    }

    /// The order whose name this is, of a quote whose other side is gone.
    pub(super) fn quoted_as(&self, user: u16, name: Text<20>, book: BookId) -> Option<OrderId> {
        let sides = self.quotes.sides.get(&(user, book))?;
        let is_it = |id: &OrderId| self.side(*id).is_some_and(|(_, kept)| kept.name == name);
        sides.iter().copied().find(is_it)
    }

    /// Whose quote an order is a side of, and the other side, 0 if that is gone.
    pub(super) fn quote_of(&self, id: OrderId) -> Option<(OrderId, u16)> {
        let (_, kept) = self.side(id)?;
        let sides = self.quotes.sides.get(&(kept.user, kept.book))?;
        let place = sides.iter().position(|side| *side == id)?;
        let other = sides[1 - place];
        Some((self.side(other).map_or(OrderId(0), |_| other), kept.user))
    }

    /// A side that is not there comes in.
    fn quote_side(
        &mut self,
        at: Moment,
        (number, book): (u16, BookId),
        (order, new): Wanted,
        out: &mut impl Outputs,
    ) {
        let kept = Kept::of(&order, number, book);
        let slot = self.market.engine().next_slot();
        self.ledger.expect(slot, kept);
        self.run(at, &Command::New(new), Asked::New(kept), out);
        let is_new =
            |kept: &&Kept| kept.is_alive && kept.user == number && kept.name == order.cl_ord_id;
        let id = self.ledger.at(slot).filter(is_new).map_or(OrderId(0), |kept| kept.id);
        let sides = self.quotes.sides.entry((number, book)).or_default();
        sides[requests::side(order.side) as usize] = id;
    }

    /// A side that is there changes: a quote says how much is open, whatever is traded.
    fn requote(
        &mut self,
        at: Moment,
        number: u16,
        id: OrderId,
        order: &client::NewOrder,
        out: &mut impl Outputs,
    ) {
        let (Some((slot, kept)), Some(user)) = (self.side(id), self.users.get(number)) else {
            return;
        };
        let (name, owner) = (kept.name, user.owner);
        let filled = self.market.engine().order_in(slot).map_or(0, |(order, _)| order.filled);
        let by = CancelReplace {
            cl_ord_id: order.cl_ord_id,
            orig_cl_ord_id: name,
            instrument_id: order.instrument_id,
            side: order.side,
            quantity: order.quantity.saturating_add(filled as i32),
            display: order.quantity,
            limit: order.limit,
            stop: -1,
            ..CancelReplace::default()
        };
        let replace: Replace = Replace { owner, ..requests::replace(&by, id, user) };
        let asked = Asked::Replace { user: number, by, slot: Some(slot) };
        self.run(at, &Command::Replace(replace), asked, out);
    }

    /// A side that is there is not quoted any more.
    fn withdraw(
        &mut self,
        at: Moment,
        number: u16,
        id: OrderId,
        quote: &NewQuote,
        out: &mut impl Outputs,
    ) {
        let (Some((slot, kept)), Some(user)) = (self.side(id), self.users.get(number)) else {
            return;
        };
        let by = Cancel {
            cl_ord_id: quote.cl_ord_id,
            orig_cl_ord_id: kept.name,
            instrument_id: quote.instrument_id,
            side: side_code(kept.side),
            ..Cancel::default()
        };
        let command = Command::Cancel { id, owner: user.owner };
        self.run(at, &command, Asked::Cancel { user: number, by, slot: Some(slot) }, out);
    }
}
