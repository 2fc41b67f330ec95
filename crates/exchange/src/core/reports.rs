//! From events of the engine to messages for owners of orders.

use tapeline_fix::Writer;
use tapeline_instrument::{IdSpace, OrderId, Session};
use tapeline_layout::Text;
use tapeline_matching::{BookId, Ending, Entry, Event, Order, OwnerType, Part, Refusal, Shown};
use tapeline_ntg::client::{Cancel, CancelReplace};
use tapeline_ntg::exchange::{CancelReject, ExecutionReport, MassCancelReport};
use tapeline_ntg::{Input, Message};
use tapeline_sequence::EventHash;
use tapeline_time::Time;

use super::cache::Cache;
use super::fix::{self, About, Desks};
use super::ledger::{Kept, Ledger};
use super::refusals;
use super::requests::side_code;
use super::trades::{Trade, Trades};
use super::users::Users;
use super::{ExchangeCounts, Outputs, SessionId, Stage};
use crate::market::Telling;

const NS_PER_S: u64 = 1_000_000_000;

/// The book of London in reports, and its trades with pegged orders.
const VENUE: u8 = 21;
pub(super) const PEGGED_VENUE: u8 = 25;

/// Bit 1 of a trade's flags: at the closing price.
const AT_CLOSING_PRICE: u8 = 1 << 1;

/// Restated: it has the closing price.
const REPRICED: u8 = 3;

/// Restated: an iceberg shows another part.
const REPLENISHED: u8 = 100;

/// Restated, or cancelled: by the exchange.
pub(super) const BY_THE_EXCHANGE: u8 = 8;

/// The status of an order that there is not.
const REJECTED: u8 = 8;

/// What a client asked for, as far as reports say it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked {
    /// Nothing: the time has passed, a session of the day begins.
    Nothing,
    /// An order.
    New(Kept),
    /// An amendment; its name is the order's from now on.
    Replace { user: u16, by: CancelReplace, slot: Option<u32> },
    /// A cancel.
    Cancel { user: u16, by: Cancel, slot: Option<u32> },
    /// Many of them.
    MassCancel { name: Text<20> },
    /// The end of a trade, by the numbers of the buyer's side and of the seller's.
    TradeCancel { sides: [u64; 2] },
    /// The session of an owner has ended.
    Disconnect,
    /// The exchange wants it: orders of users whose sponsor is gone, and what operators do.
    ByExchange,
}

/// Tells owners what became of their orders, and everybody what is public.
pub(super) struct Reporter<'f, O> {
    pub(super) ledger: &'f mut Ledger,
    pub(super) cache: &'f mut Cache,
    pub(super) users: &'f Users,
    pub(super) desks: &'f mut Desks,
    pub(super) trades: &'f mut Trades,
    pub(super) counts: &'f mut ExchangeCounts,
    pub(super) said: &'f mut [Time],
    pub(super) slow: &'f mut Vec<SessionId>,
    pub(super) instruments: &'f [u32],
    pub(super) ids: IdSpace,
    pub(super) executions: &'f mut u32,
    pub(super) max_output_bytes: usize,
    /// Counts commands.
    pub(super) command: u64,
    pub(super) asked: Asked,
    pub(super) now: Time,
    pub(super) now_ns: u64,
    pub(super) published: &'f mut Time,
    /// Market data goes out from here.
    pub(super) goes_out: bool,
    /// Of all events so far; `None` where a gateway answers by itself.
    pub(super) hash: Option<&'f mut EventHash>,
    pub(super) out: &'f mut O,
}

impl<O: Outputs> Telling for Reporter<'_, O> {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Rested { order, shown, entry, .. } => self.rested(order, shown, *entry),
            Event::Traded { .. } => self.traded(event),
            Event::Parked { order, .. } => {
                let kept = *self.ledger.meet(order);
                self.report(&kept, order, 0, |report| {
                    (report.exec_type, report.order_status) = (b'9', 9);
                });
            }
            Event::Amended { order, shown, .. } => self.amended(order, shown),
            Event::Replenished { order, shown, .. } => {
                let kept = self.ledger.meet(order);
                kept.shown = shown.id;
                let kept = *kept;
                self.report(&kept, order, shown.quantity, |report| {
                    report.exec_type = b'D';
                    report.restatement_reason = REPLENISHED;
                });
            }
            Event::Repriced { order, shown, .. } => self.repriced(order, shown),
            Event::Ended { order, cause, .. } => self.ended(order, *cause),
            Event::TradeCancelled { .. } => self.trade_cancelled(event),
            Event::Refused { id, refusal, .. } => self.refused(*id, *refusal),
            Event::Session { book, session, before, .. } => {
                self.session_begins(*book, *session, *before);
            }
            Event::Extended { book, session, cause, .. } => {
                self.counts.call_extensions += 1;
                let (instrument, session) = (self.instrument(*book), session.name());
                tracing::warn!(instrument, session, ?cause, "a call goes on beyond its end");
            }
            _ => {}
        }
    }

    fn publish(&mut self, unit: &[u8]) {
        self.counts.units += 1;
        self.counts.unit_bytes += unit.len() as u64;
        self.counts.messages += u64::from(unit.get(2).copied().unwrap_or(0));
        *self.published = self.now;
        if let Some(hash) = &mut self.hash {
            hash.add(unit);
        }
        if self.goes_out {
            self.out.publish(unit);
        }
    }

    #[inline]
    fn reached(&mut self, stage: Stage) {
        self.out.reached(stage);
    }
}

/// The status of an order that is alive, or filled.
const fn status(order: &Order) -> u8 {
    match (order.leaves, order.filled) {
        (0, _) => 2,
        (_, 0) => 0,
        _ => 1,
    }
}

impl<O: Outputs> Reporter<'_, O> {
    fn rested(&mut self, order: &Order, shown: &Shown, entry: Entry) {
        let command = self.command;
        let kept = self.ledger.meet(order);
        kept.shown = shown.id;
        let kept = *kept;
        // Who traded knows what is left; who amended was told so.
        if kept.traded_in != command && entry != Entry::Amended {
            self.report(&kept, order, shown.quantity, |_| {});
        }
    }

    fn traded(&mut self, event: &Event) {
        let Event::Traded { id, price, quantity, taker, maker, side, part, .. } = event else {
            return;
        };
        let Event::Traded { maker_shown, maker_displays, taker_displays, .. } = event else {
            return;
        };
        self.counts.trades += 1;
        let is_auction = matches!(part, Part::Auction(_));
        let taker_kept = *self.ledger.meet(taker);
        let taker_shows =
            if is_auction { *taker_displays } else { taker_kept.display.min(taker.leaves) };
        let maker_type = match part {
            Part::Shown | Part::ClosingPrice => 0,
            Part::Hidden | Part::HiddenAtClosingPrice | Part::Pegged => 1,
            Part::Auction(_) => 2,
        };
        let is_at_closing = matches!(part, Part::ClosingPrice | Part::HiddenAtClosingPrice);
        let flags = if is_at_closing { AT_CLOSING_PRICE } else { 0 };
        self.counts.closing_price_trades += u64::from(is_at_closing);
        self.counts.pegged_trades += u64::from(*part == Part::Pegged);
        let of_provider = |kept: &Kept| kept.terms.owner_type == OwnerType::RetailProvider as u8;
        let is_of_provider = of_provider(&taker_kept) || of_provider(self.ledger.meet(maker));
        self.counts.provider_trades += u64::from(is_of_provider);
        let call = if let Part::Auction(call) = part { call.status() } else { 0 };
        let of_call = Trade { call, ..Trade::default() };
        let maker_kept = Kept { shown: *maker_shown, ..*self.ledger.meet(maker) };
        let [taker_got, maker_got] = if is_auction { [b'C'; 2] } else { [b'R', b'A'] };
        for (order, kept, shows, side, got, trade_type) in [
            (taker, taker_kept, taker_shows, *side, taker_got, 2),
            (maker, maker_kept, *maker_displays, side.opposite(), maker_got, maker_type),
        ] {
            self.ledger.meet(order).traded_in = self.command;
            self.report(&kept, order, shows, |report| {
                report.exec_type = b'F';
                report.price = price.0;
                report.quantity = *quantity as i32;
                report.side = side_code(side);
                report.liquidity = got;
                report.trade_id = id.0;
                report.trade_type = trade_type;
                report.flags = flags;
                if *part == Part::Pegged {
                    report.last_market = PEGGED_VENUE;
                }
            });
            if self.desks.has_settlers() {
                let of = Trade { id: id.0, price: price.0, quantity: *quantity, ..of_call };
                self.note_trade(order, Trade { side: side_code(side), liquidity: got, ..of });
            }
            if order.leaves == 0 {
                self.ledger.ended(order);
            }
        }
    }

    fn amended(&mut self, order: &Order, shown: &Shown) {
        let before = self.ledger.meet(order).name;
        if let Asked::Replace { by, .. } = &self.asked {
            self.ledger.rename(order, by.cl_ord_id);
            let kept = self.ledger.meet(order);
            (kept.display, kept.terms) = (by.display as u32, kept.terms.amended(by));
        }
        let kept = self.ledger.meet(order);
        kept.shown = shown.id;
        let kept = *kept;
        self.report_of(&kept, order, (shown.quantity, before), |report| report.exec_type = b'5');
    }

    /// Whatever its limit was, it is the closing price from now on.
    fn repriced(&mut self, order: &Order, shown: &Shown) {
        let kept = self.ledger.meet(order);
        kept.terms.limit = shown.price.0;
        let kept = *kept;
        self.report(&kept, order, shown.quantity, |report| {
            report.exec_type = b'D';
            report.restatement_reason = REPRICED;
        });
    }

    fn ended(&mut self, order: &Order, cause: Ending) {
        let (kept, asked) = (*self.ledger.meet(order), self.asked);
        let name = match (cause, asked) {
            (Ending::Cancelled, Asked::Cancel { by, .. }) => Some(by.cl_ord_id),
            (Ending::MassCancelled, Asked::MassCancel { name, .. }) => Some(name),
            _ => None,
        };
        let orig = name.map_or(Text::default(), |_| kept.name);
        let named = Kept { name: name.unwrap_or(kept.name), ..kept };
        self.report_of(&named, order, (0, orig), |report| {
            let is_of_exchange = matches!(asked, Asked::ByExchange) && cause != Ending::Expired;
            (report.exec_type, report.order_status) =
                if name.is_some() || is_of_exchange { (b'4', 4) } else { (b'C', 6) };
            if is_of_exchange {
                report.restatement_reason = BY_THE_EXCHANGE;
            }
        });
        self.ledger.ended(order);
        // Who has one of its trades cancelled later hears how it ended.
        if let Some(last) = kept.last_trade.checked_sub(1) {
            let ended = *self.ledger.meet(order);
            self.trades.note_end(last, ended, order.filled);
        }
    }

    fn refused(&mut self, id: OrderId, refusal: Refusal) {
        match self.asked {
            Asked::New(kept) => self.reject(&kept, refusal.code()),
            Asked::Replace { user, by, slot } => {
                let id = (refusal != Refusal::UnknownOrder).then_some(id);
                let change = (slot.filter(|_| id.is_some()), by.orig_cl_ord_id, b'G');
                self.reject_cancel((user, by.cl_ord_id), id, change, refusal.code());
            }
            Asked::Cancel { user, by, slot } => {
                let id = (refusal != Refusal::UnknownOrder).then_some(id);
                let change = (slot.filter(|_| id.is_some()), by.orig_cl_ord_id, b'F');
                self.reject_cancel((user, by.cl_ord_id), id, change, refusal.code());
            }
            Asked::MassCancel { name } => {
                if let Some((slot, kept)) = self.ledger.order(id) {
                    let (user, orig) = (kept.user, kept.name);
                    self.reject_cancel(
                        (user, name),
                        Some(id),
                        (Some(slot), orig, b'F'),
                        refusal.code(),
                    );
                }
            }
            // Orders that cannot be cancelled in this session stay.
            Asked::Disconnect | Asked::ByExchange => {}
            Asked::Nothing | Asked::TradeCancel { .. } => {
                tracing::warn!(%refusal, "a session of the day does not begin");
            }
        }
    }

    /// A report about an order, with what is special about it.
    fn report(
        &mut self,
        kept: &Kept,
        order: &Order,
        shows: u32,
        special: impl FnOnce(&mut ExecutionReport),
    ) {
        self.report_of(kept, order, (shows, Text::default()), special);
    }

    /// The same of an order that had another name before.
    fn report_of(
        &mut self,
        kept: &Kept,
        order: &Order,
        (shows, orig): (u32, Text<20>),
        special: impl FnOnce(&mut ExecutionReport),
    ) {
        let mut report = self.plain(kept);
        (report.exec_type, report.order_status) = (b'0', status(order));
        (report.leaves, report.display) = (order.leaves as i32, shows as i32);
        report.order_id = Text::from_bytes(&order.id.digits());
        report.public_order_id = Text::from_bytes(&kept.shown.digits());
        special(&mut report);
        self.ledger.meet(order).status = report.order_status;
        self.counts.reports += 1;
        let about = About { kept: Some(kept), filled: order.filled, orig, ..About::default() };
        self.deliver(kept.user, &Message::ExecutionReport(report), true, &about);
    }

    pub(super) fn plain(&mut self, kept: &Kept) -> ExecutionReport {
        *self.executions = self.executions.wrapping_add(1);
        let execution = self.ids.order(self.now_ns, *self.executions);
        let [transact_s, transact_ns] = self.time();
        ExecutionReport {
            app_id: self.ids.partition,
            sequence: self.cache.number(),
            exec_id: Text::from_bytes(&execution.digits()),
            cl_ord_id: kept.name,
            instrument_id: self.instrument(kept.book) as i32,
            side: side_code(kept.side),
            transact_s,
            transact_ns,
            last_market: VENUE,
            capacity: kept.capacity,
            min_quantity: kept.terms.min_quantity as i32,
            owner_type: kept.terms.owner_type,
            pegged_instruction: kept.terms.pegged,
            ..ExecutionReport::default()
        }
    }

    /// An order is refused.
    pub(super) fn reject(&mut self, kept: &Kept, code: i32) {
        self.counts.refused += 1;
        let mut report = self.plain(kept);
        (report.exec_type, report.order_status, report.reject_code) = (b'8', 8, code);
        let about = About { kept: Some(kept), ..About::default() };
        self.deliver(kept.user, &Message::ExecutionReport(report), true, &about);
    }

    /// A cancel or an amendment is refused: of the order in a slot, if there is one,
    /// by the name that the client gave, with the type of its message.
    pub(super) fn reject_cancel(
        &mut self,
        (user, name): (u16, Text<20>),
        id: Option<OrderId>,
        (slot, orig, request): (Option<u32>, Text<20>, u8),
        reason: i32,
    ) {
        self.counts.refused += 1;
        let order_id = id.map_or(Text::new("NONE"), |id| Text::from_bytes(&id.digits()));
        let [transact_s, transact_ns] = self.time();
        let reject = CancelReject {
            app_id: self.ids.partition,
            sequence: self.cache.number(),
            cl_ord_id: name,
            order_id,
            reason,
            transact_s,
            transact_ns,
            ..CancelReject::default()
        };
        let kept = slot.and_then(|slot| self.ledger.at(slot)).copied();
        let status = kept.map_or(REJECTED, |kept| kept.status);
        let about = About { kept: kept.as_ref(), orig, request, status, ..About::default() };
        self.deliver(user, &Message::CancelReject(reject), false, &about);
    }

    /// The instrument of an order, or of a cancel of one, is not known.
    pub(super) fn reject_unknown(&mut self, user: u16, input: &Input) {
        self.counts.rejected += 1;
        let (_, about) = About::of(input);
        let message = refusals::unknown(input, self.time());
        self.deliver(user, &message, false, &about);
    }

    /// A request could not be kept: the market is down.
    pub(super) fn reject_down(&mut self, user: u16, name: Text<20>, request: u8) {
        self.counts.rejected += 1;
        let about = About { request, ..About::default() };
        self.deliver(user, &refusals::down_named(name), false, &about);
    }

    /// A mass cancel is taken; what it does follows.
    pub(super) fn taken(&mut self, user: u16, (name, scope): (Text<20>, u8)) {
        let [transact_s, transact_ns] = self.time();
        let report = MassCancelReport {
            app_id: self.ids.partition,
            sequence: self.cache.number(),
            cl_ord_id: name,
            response: 7,
            transact_s,
            transact_ns,
            ..MassCancelReport::default()
        };
        let about = About { scope, request: b'q', ..About::default() };
        self.deliver(user, &Message::MassCancelReport(report), true, &about);
    }

    fn time(&self) -> [u32; 2] {
        [(self.now_ns / NS_PER_S) as u32, (self.now_ns % NS_PER_S) as u32]
    }

    pub(super) fn instrument(&self, book: BookId) -> u32 {
        self.instruments.get(usize::from(book.0)).copied().unwrap_or(0)
    }

    /// Sends a message to its owner, where and as that is; those that count are kept.
    pub(super) fn deliver(
        &mut self,
        user: u16,
        message: &Message,
        is_kept: bool,
        about: &About<'_>,
    ) {
        let bytes = self.cache.write(user, message, is_kept);
        if let Some(hash) = &mut self.hash {
            hash.add(bytes);
            self.desks.count(user);
        }
        let session = self.users.get(user).and_then(|user| user.session);
        let bytes = match self.desks.of(user, session) {
            Some(desk) => desk.tell(self.now_ns, message, about),
            None => bytes,
        };
        if let Some(session) = session.filter(|_| !bytes.is_empty()) {
            self.out.send(session, bytes);
            self.note_sent(session);
        }
        if self.desks.has_copies() && matches!(message, Message::ExecutionReport(_)) {
            self.copy(user, message, about);
        }
    }

    /// Who gets copies of the reports of a firm gets this one.
    fn copy(&mut self, owner: u16, message: &Message, about: &About<'_>) {
        let Some(user) = self.users.get(owner) else { return };
        let (firm, about) = (user.owner.firm, About { owner: Some(user.name), ..*about });
        let mut from = 0;
        while let Some((place, copier, desk)) = self.desks.copier(firm, from) {
            from = place + 1;
            let bytes = desk.tell(self.now_ns, message, &about);
            let session = self.users.get(copier).and_then(|user| user.session);
            if let Some(session) = session.filter(|_| !bytes.is_empty()) {
                self.out.send(session, bytes);
                self.note_sent(session);
            }
        }
    }

    /// Those that no schedule begins, or that follow one, are news.
    fn session_begins(&mut self, book: BookId, session: Session, before: Session) {
        self.counts.session_changes += 1;
        if session == Session::BreakerCall {
            self.counts.circuit_breaks += 1;
            let instrument = self.instrument(book);
            tracing::warn!(instrument, "circuit breaker: a price too far from those before");
        }
        let is_news = |session: Session| {
            session.is_stopped() || matches!(session, Session::BreakerCall | Session::ResumeCall)
        };
        if is_news(session) || is_news(before) {
            self.news(book, session);
        }
    }

    /// Whoever gets copies is told that trading in a book stops, or goes on, by no
    /// schedule.
    fn news(&mut self, book: BookId, session: Session) {
        let instrument = self.instrument(book);
        let mut from = 0;
        while let Some((place, copier, desk)) = self.desks.any_copier(from) {
            from = place + 1;
            self.counts.news += 1;
            let body = |fields: &mut Writer<'_>| fix::news(instrument, session.name(), fields);
            let bytes = desk.write(self.now_ns, b"B", body);
            let session = self.users.get(copier).and_then(|user| user.session);
            if let Some(session) = session.filter(|_| !bytes.is_empty()) {
                self.out.send(session, bytes);
                self.note_sent(session);
            }
        }
    }

    /// Something has gone to a connection, which may not read.
    pub(super) fn note_sent(&mut self, session: SessionId) {
        self.said[session.0 as usize] = self.now;
        let is_slow = self.out.queued(session) > self.max_output_bytes;
        if is_slow && !self.slow.contains(&session) {
            self.slow.push(session);
        }
    }
}
