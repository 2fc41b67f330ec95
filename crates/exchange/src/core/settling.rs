//! What happens to trades behind the match: each side is confirmed to who settles it,
//! and both together may have the trade cancelled.
//!
//! ```text
//!  who settles one side asks ─▶ it is acknowledged; who settles the other side is told
//!  who settles the other one ─▶ acknowledged; H and D to the owners of the orders, a
//!                               confirmation to both, the trade as cancelled to everybody
//! ```

use tapeline_fix::Writer;
use tapeline_instrument::{OrderId, Price, Session, TradeId};
use tapeline_layout::Text;
use tapeline_matching::{Command, Event, Order, TradeCancel, Undone};
use tapeline_ntg::Message;

use super::Outputs;
use super::fix::{self, About, CancelAsked, Confirmed};
use super::floor::{Floor, Moment};
use super::ledger::Kept;
use super::reports::{Asked, BY_THE_EXCHANGE, Reporter};
use super::trades::{ASKED, CANCELLED, Trade, TradeSide};

/// Why a trade is not cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NotCancelled {
    Unknown,
    OfOthers,
    Differs,
    Before,
    Twice,
    Nobody,
    Down,
}

impl NotCancelled {
    /// FIX's code of it (751), and what it says.
    pub(super) const fn reason(self) -> (u8, &'static str) {
        match self {
            Self::Unknown => (99, "no such trade of the day, or not kept any more"),
            Self::OfOthers => (3, "this side of the trade is settled by others"),
            Self::Differs => (99, "instrument, price or quantity are not those of the trade"),
            Self::Before => (99, "the trade is cancelled already"),
            Self::Twice => (99, "asked before; the other side has not asked yet"),
            Self::Nobody => (99, "nobody settles the other side"),
            Self::Down => (99, "the market is down"),
        }
    }
}

/// What comes of a request that is taken, with the numbers of the side that asks and of
/// the other one.
#[derive(Clone, Copy, Debug)]
enum Taken {
    /// The other side has to ask, too.
    First { own: u64, other: u64 },
    /// Both have asked.
    Both { own: u64, other: u64 },
}

impl Floor {
    /// Who settles a side of a trade wants it cancelled.
    pub(super) fn cancel_trade(
        &mut self,
        at: Moment,
        user: u16,
        payload: &[u8],
        out: &mut impl Outputs,
    ) {
        let Some(asked) = CancelAsked::read(payload) else { return };
        self.counts.trade_cancels += 1;
        let taken = self.take(at, user, &asked);
        let result = taken.map(|taken| matches!(taken, Taken::Both { .. }));
        self.tell(at, Asked::Nothing, out, |_, reporter| {
            reporter.acknowledge(user, &asked, result);
        });
        match taken {
            Err(_) => {}
            Ok(Taken::First { own, other }) => {
                if let Some(side) = self.trades.get_mut(own) {
                    side.trade.flags |= ASKED;
                }
                self.tell(at, Asked::Nothing, out, |_, reporter| reporter.ask_too(other));
            }
            Ok(Taken::Both { own, other }) => self.undo(at, [own, other], out),
        }
    }

    fn take(&self, at: Moment, user: u16, asked: &CancelAsked) -> Result<Taken, NotCancelled> {
        let side_of = |side| {
            let number = self.trades.find(asked.trade, side)?;
            let trade = self.trades.get(number)?.trade;
            self.is_same_day(at.ns, trade.at_ns).then_some((number, trade))
        };
        let other_side = if asked.side == 1 { 2 } else { 1 };
        let [Some(own), Some(other)] = [side_of(asked.side), side_of(other_side)] else {
            return Err(NotCancelled::Unknown);
        };
        let is_it = |trade: &Trade| {
            let said = (asked.instrument, asked.price, asked.quantity);
            said == (trade.instrument, trade.price, trade.quantity)
        };
        match own.1 {
            trade if !self.desks.is_settler_of(user, trade.firm) => Err(NotCancelled::OfOthers),
            trade if !is_it(&trade) => Err(NotCancelled::Differs),
            trade if trade.flags & CANCELLED != 0 => Err(NotCancelled::Before),
            trade if trade.flags & ASKED != 0 => Err(NotCancelled::Twice),
            _ if other.1.flags & ASKED != 0 => Ok(Taken::Both { own: own.0, other: other.0 }),
            _ if !self.desks.is_settled(other.1.firm) => Err(NotCancelled::Nobody),
            _ => Ok(Taken::First { own: own.0, other: other.0 }),
        }
    }

    /// Both sides want so, or operators do.
    pub(super) fn undo(&mut self, at: Moment, mut numbers: [u64; 2], out: &mut impl Outputs) {
        numbers.sort_unstable_by_key(|number| self.trades.get(*number).map(|of| of.trade.side));
        let [Some(buyer), Some(seller)] = numbers.map(|number| self.trades.get(number)) else {
            debug_assert!(false, "both were found just now");
            return;
        };
        let TradeSide { trade, order } = *buyer;
        let command = Command::CancelTrade(TradeCancel {
            book: order.book,
            id: TradeId(trade.id),
            price: Price(trade.price),
            quantity: trade.quantity,
            orders: [order.id, seller.order.id],
            auction: Session::from_status(trade.call),
        });
        self.counts.trades_cancelled += 1;
        tracing::info!(
            instrument = trade.instrument,
            trade = %TradeId(trade.id),
            price = %Price(trade.price),
            quantity = trade.quantity,
            "a trade is cancelled"
        );
        self.run(at, &command, Asked::TradeCancel { sides: numbers }, out);
    }
}

impl<O: Outputs> Reporter<'_, O> {
    /// A side of a trade, whose owner was told of it just now, is kept and confirmed.
    pub(super) fn note_trade(&mut self, order: &Order, of: Trade) {
        let kept = *self.ledger.meet(order);
        let Some(owner) = self.users.get(kept.user) else { return };
        let trade = Trade {
            execution: self.last_execution(),
            at_ns: self.now_ns,
            instrument: self.instrument(kept.book),
            filled: order.filled,
            firm: owner.owner.firm,
            ..of
        };
        let side = TradeSide { trade, order: kept };
        let number = self.trades.push(side, kept.last_trade.checked_sub(1));
        self.ledger.meet(order).last_trade = number + 1;
        self.confirm(&side, Confirmed::Made);
    }

    /// Tells who settles a side what it is to know of it.
    fn confirm(&mut self, side: &TradeSide, what: Confirmed) {
        let mut from = 0;
        while let Some((place, settler, desk)) = self.desks.settler(side.trade.firm, from) {
            from = place + 1;
            self.counts.confirmations += 1;
            let body = |fields: &mut Writer<'_>| fix::confirmation(side, what, None, fields);
            let bytes = desk.write(self.now_ns, b"AE", body);
            let session = self.users.get(settler).and_then(|user| user.session);
            if let Some(session) = session.filter(|_| !bytes.is_empty()) {
                self.out.send(session, bytes);
                self.note_sent(session);
            }
        }
    }

    /// The other side of a trade wants it cancelled.
    fn ask_too(&mut self, number: u64) {
        let Some(side) = self.trades.get(number).copied() else { return };
        *self.executions = self.executions.wrapping_add(1);
        let request = self.last_execution();
        self.confirm(&side, Confirmed::AskedToCancel { request });
    }

    /// Who asked is told what becomes of it: whether both sides have asked, or why not.
    fn acknowledge(&mut self, user: u16, asked: &CancelAsked, result: Result<bool, NotCancelled>) {
        let body = |fields: &mut Writer<'_>| fix::acknowledgement(asked, result, fields);
        let desk = self.desks.settler_desk(user);
        let bytes = desk.write(self.now_ns, b"AR", body);
        let session = self.users.get(user).and_then(|user| user.session);
        if let Some(session) = session.filter(|_| !bytes.is_empty()) {
            self.out.send(session, bytes);
            self.note_sent(session);
        }
    }

    /// A trade is cancelled: the owners of its orders hear so, then who settles it.
    pub(super) fn trade_cancelled(&mut self, event: &Event) {
        let (Event::TradeCancelled { orders, .. }, Asked::TradeCancel { sides }) =
            (event, self.asked)
        else {
            return;
        };
        for (number, order) in sides.into_iter().zip(orders) {
            let Some(side) = self.trades.get(number).copied() else { continue };
            let execution = match order.is_alive() {
                true => self.undone(&side.trade, order),
                false => self.undone_behind(&side.trade, number),
            };
            if let Some(side) = self.trades.get_mut(number) {
                side.trade.flags |= CANCELLED;
                side.trade.cancelled_by = execution;
            }
        }
        for number in sides {
            if let Some(side) = self.trades.get(number).copied() {
                self.confirm(&side, Confirmed::Cancelled);
            }
        }
    }

    /// A trade of an order that is alive is cancelled: the order asks for as much less.
    /// Returns the name of the report.
    fn undone(&mut self, trade: &Trade, Undone { order, displays }: &Undone) -> Text<12> {
        let kept = *self.ledger.meet(order);
        let quantity = trade.quantity;
        // First with all that it asked for, of which what was traded is open again.
        let open = Order { leaves: order.leaves.saturating_add(quantity), ..*order };
        let status = self.tell_cancelled(&kept, &open, (*displays, None), trade);
        let execution = self.last_execution();
        let less = kept.asking_less(quantity);
        self.tell_restated(&less, order, (*displays, status));
        let kept = self.ledger.meet(order);
        (kept.terms, kept.status) = (less.terms, status);
        execution
    }

    /// The same of an order that has ended. What was filled does not come back.
    fn undone_behind(&mut self, trade: &Trade, number: u64) -> Text<12> {
        let last = self.trades.last_of(number);
        let Some(TradeSide { trade: Trade { filled, .. }, order: kept }) =
            self.trades.get(last).copied()
        else {
            return Text::default();
        };
        let (quantity, user) = (trade.quantity, self.users.get(kept.user));
        let owner = user.map(|user| user.owner).unwrap_or_default();
        let filled = filled.saturating_sub(quantity);
        let order = Order { id: kept.id, slot: 0, owner, leaves: 0, filled };
        let ended = matches!(kept.status, 4 | 6).then_some(kept.status);
        let open = if ended.is_some() { order } else { Order { leaves: quantity, ..order } };
        let status = self.tell_cancelled(&kept, &open, (0, ended), trade);
        let execution = self.last_execution();
        let mut rest = kept;
        if ended.is_none() {
            rest = kept.asking_less(quantity);
            self.tell_restated(&rest, &order, (0, status));
        }
        self.trades.note_end(last, rest, filled);
        execution
    }

    /// Tells an owner that a trade is cancelled. Returns the status that the order has.
    fn tell_cancelled(
        &mut self,
        kept: &Kept,
        order: &Order,
        (shows, ended): (u32, Option<u8>),
        trade: &Trade,
    ) -> u8 {
        let status = ended.unwrap_or(u8::from(order.filled > 0));
        self.tell_past(kept, order, (shows, status), |report| {
            report.exec_type = b'H';
            report.exec_ref_id = trade.execution;
            report.price = trade.price;
            report.quantity = trade.quantity as i32;
            report.trade_id = trade.id;
        });
        status
    }

    /// Tells an owner that an order asks for less.
    fn tell_restated(&mut self, kept: &Kept, order: &Order, as_it_is: (u32, u8)) {
        self.tell_past(kept, order, as_it_is, |report| {
            report.exec_type = b'D';
            report.restatement_reason = BY_THE_EXCHANGE;
        });
    }

    /// A report about an order that may have ended.
    fn tell_past(
        &mut self,
        kept: &Kept,
        order: &Order,
        (shows, status): (u32, u8),
        special: impl FnOnce(&mut tapeline_ntg::exchange::ExecutionReport),
    ) {
        let mut report = self.plain(kept);
        (report.leaves, report.display) = (order.leaves as i32, shows as i32);
        report.order_status = status;
        report.order_id = digits(order.id);
        report.public_order_id = digits(kept.shown);
        special(&mut report);
        self.counts.reports += 1;
        let about = About { kept: Some(kept), filled: order.filled, ..About::default() };
        self.deliver(kept.user, &Message::ExecutionReport(report), true, &about);
    }

    /// The name of the last report.
    fn last_execution(&self) -> Text<12> {
        digits(self.ids.order(self.now_ns, *self.executions))
    }
}

fn digits(id: OrderId) -> Text<12> {
    Text::from_bytes(&id.digits())
}
