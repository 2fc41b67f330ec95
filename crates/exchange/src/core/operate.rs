//! What operators do with a market: halt or pause it, have it go on, cancel orders and trades.
//!
//! Each is an entry, as orders are, so that replicas and replays do the same at the same
//! place. What trading goes on with is what the day has when operators ask.

use tapeline_instrument::{Cause, OrderId, Session, TradeId};
use tapeline_layout::{Text, message};
use tapeline_matching::{BookId, Command};
use tapeline_time::Time;

use super::floor::{Floor, Moment};
use super::reports::Asked;
use super::trades::CANCELLED;
use super::{Exchange, Outputs};
use crate::error::OperateError;

/// Which instruments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All that are traded.
    All,
    /// This one, by its id.
    Instrument(u32),
}

/// What operators want done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Trading stops: orders can be cancelled, and nothing else.
    Halt(Scope),
    /// Trading stops, and orders cannot be cancelled either.
    Pause(Scope),
    /// Behind a halt or a pause, orders are collected for one price until trading goes on.
    Call(Scope),
    /// Trading goes on with the session that the day is in; what was collected in a
    /// [call](Self::Call) is matched first.
    Resume(Scope),
    /// All orders are cancelled, or those of one user, by its name.
    CancelOrders(Scope, Option<Text<25>>),
    /// An order is cancelled.
    CancelOrder(OrderId),
    /// A trade is cancelled, if it is one of those that are kept for who settles them.
    CancelTrade(TradeId),
}

message! {
    /// The payload of an entry.
    Operated: 16, fill 0 {
        /// What: [`BEGIN`] or one of those behind it.
        0 => act: u8,
        /// The session that begins, by its character.
        1 => session: u8,
        /// Whose orders, by the number of the user plus one; 0 for everybody's.
        2 => user: u16,
        /// Of which instrument; 0 for all.
        4 => instrument: u32,
        /// The order, or the trade.
        8 => id: u64,
    }
}

/// A session begins.
const BEGIN: u8 = 1;
const CANCEL_ORDERS: u8 = 2;
const CANCEL_ORDER: u8 = 3;
const CANCEL_TRADE: u8 = 4;

impl Operated {
    fn of(act: u8, scope: Scope) -> Self {
        let instrument = match scope {
            Scope::All => 0,
            Scope::Instrument(id) => id,
        };
        Self { act, instrument, ..Self::default() }
    }

    fn begin(session: Session, scope: Scope) -> Self {
        Self { session: session.status(), ..Self::of(BEGIN, scope) }
    }
}

impl Exchange {
    /// Operators want something done. It is at its turn, behind what was asked for
    /// before; what becomes of it is in the log and in market data.
    ///
    /// # Errors
    /// There is no such instrument, user, order or trade; another replica leads; or
    /// nothing can be kept any more.
    pub fn operate(&mut self, now: Time, operation: Operation) -> Result<(), OperateError> {
        if !self.has_clock() {
            return Err(OperateError::Follows);
        }
        let operated = self.operated(operation)?;
        if operated.instrument > 0 && !self.floor.books.contains_key(&operated.instrument) {
            return Err(OperateError::Instrument(operated.instrument));
        }
        self.gate.operate(now, &operated.to_bytes()).map_err(|_| OperateError::Down)
    }

    /// The entry of what operators want.
    fn operated(&self, operation: Operation) -> Result<Operated, OperateError> {
        Ok(match operation {
            Operation::Halt(scope) => Operated::begin(Session::Halt, scope),
            Operation::Pause(scope) => Operated::begin(Session::Pause, scope),
            Operation::Call(scope) => Operated::begin(Session::ResumeCall, scope),
            Operation::Resume(scope) => Operated::begin(self.gate.day.session(), scope),
            Operation::CancelOrders(scope, None) => Operated::of(CANCEL_ORDERS, scope),
            Operation::CancelOrders(scope, Some(name)) => {
                let user = self.floor.users.named(name).ok_or(OperateError::User(name))?;
                Operated { user: user + 1, ..Operated::of(CANCEL_ORDERS, scope) }
            }
            Operation::CancelOrder(id) => {
                self.floor.ledger.order(id).ok_or(OperateError::Order(id))?;
                Operated { id: id.0, ..Operated::of(CANCEL_ORDER, Scope::All) }
            }
            Operation::CancelTrade(id) => {
                self.floor.sides_of(id).ok_or(OperateError::Trade(id))?;
                Operated { id: id.0, ..Operated::of(CANCEL_TRADE, Scope::All) }
            }
        })
    }
}

impl Floor {
    /// Does what operators want.
    pub(super) fn operate(&mut self, at: Moment, payload: &[u8], out: &mut impl Outputs) {
        let Some(operated) = Operated::read(payload) else { return };
        self.counts.operations += 1;
        match operated.act {
            BEGIN => self.begin_session(at, &operated, out),
            CANCEL_ORDERS => self.cancel_all(at, &operated, out),
            CANCEL_ORDER => self.cancel_one(at, OrderId(operated.id), out),
            CANCEL_TRADE => self.cancel_kept(at, TradeId(operated.id), out),
            _ => debug_assert!(false, "this version makes no others"),
        }
    }

    fn begin_session(&mut self, at: Moment, operated: &Operated, out: &mut impl Outputs) {
        let Some(session) = Session::from_status(operated.session) else { return };
        let before = self.counts.session_changes;
        for book in 0..self.instruments.len() {
            let id = BookId(book as u16);
            let is_wanted = [0, self.instruments[book]].contains(&operated.instrument);
            // Those that are there already stay as they are.
            if is_wanted && self.market.engine().session_of(id) != Some(session) {
                let command = Command::Session { book: id, session, cause: Cause::Operator };
                self.run(at, &command, Asked::ByExchange, out);
            }
        }
        let (instrument, changed) = (operated.instrument, self.counts.session_changes - before);
        tracing::warn!(instrument, changed, session = session.name(), "operators begin a session");
    }

    fn cancel_all(&mut self, at: Moment, operated: &Operated, out: &mut impl Outputs) {
        let book = self.books.get(&operated.instrument).copied();
        let (mut from, before) = (0, self.counts.reports);
        while let Some((slot, kept)) = self.ledger.alive(from) {
            from = slot + 1;
            let is_wanted = [0, kept.user + 1].contains(&operated.user)
                && book.is_none_or(|book| book == kept.book);
            let (id, user) = (kept.id, kept.user);
            if is_wanted {
                self.take_away(at, (id, user), out);
            }
        }
        let cancelled = self.counts.reports - before;
        let (instrument, user) = (operated.instrument, operated.user.checked_sub(1));
        let user = user.and_then(|user| self.users.get(user)).map(|user| user.name);
        let user = user.unwrap_or_default();
        tracing::warn!(instrument, %user, cancelled, "operators cancel orders");
    }

    fn cancel_one(&mut self, at: Moment, id: OrderId, out: &mut impl Outputs) {
        // It may be gone since.
        let Some((_, kept)) = self.ledger.order(id) else { return };
        let user = kept.user;
        tracing::warn!(order = %id, "operators cancel an order");
        self.take_away(at, (id, user), out);
    }

    fn take_away(&mut self, at: Moment, (id, user): (OrderId, u16), out: &mut impl Outputs) {
        let Some(owner) = self.users.get(user).map(|user| user.owner) else { return };
        self.run(at, &Command::Cancel { id, owner }, Asked::ByExchange, out);
    }

    fn cancel_kept(&mut self, at: Moment, id: TradeId, out: &mut impl Outputs) {
        // It may be gone since.
        if let Some(sides) = self.sides_of(id) {
            self.undo(at, sides, out);
        }
    }

    /// The numbers of both sides of a trade that is kept and was not cancelled.
    fn sides_of(&self, id: TradeId) -> Option<[u64; 2]> {
        let side = |side| {
            let number = self.trades.find(id.0, side)?;
            let is_made = self.trades.get(number)?.trade.flags & CANCELLED == 0;
            is_made.then_some(number)
        };
        Some([side(1)?, side(2)?])
    }
}
