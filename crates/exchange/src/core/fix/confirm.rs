//! Post trade: each side of a trade is confirmed to whoever settles for its firm
//! (`AE`), and the trades of the day can be had again (`AD`, answered by `AQ`).

use tapeline_fix::{Message, Writer, tag};
use tapeline_instrument::TradeId;
use tapeline_layout::Text;
use tapeline_time::Time;

use super::decode::{Fault, Fields};
use super::encode;
use crate::core::floor::Floor;
use crate::core::trades::{CANCELLED, TradeSide};
use crate::core::{Outputs, SessionId};

/// Trades that are looked at, and told, at one go.
const LOOK: u64 = 10_000;
const SLICE: u32 = 200;

/// An answer goes on when fewer bytes than this have not gone out yet.
const SLICE_BYTES: usize = 64 << 10;

/// 749: all was told; there is no such instrument; the first ones are not kept any more.
const SUCCESSFUL: u8 = 0;
const UNKNOWN_INSTRUMENT: u8 = 1;
const NOT_ALL: u8 = 99;

/// 750: what is asked for follows; it is over; it is not told.
const ACCEPTED: u8 = 0;
const COMPLETED: u8 = 1;
const REJECTED: u8 = 2;

/// A question about trades, and how far its answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TradesAsked {
    id: Text<20>,
    /// 569.
    kind: u8,
    instrument: Option<i32>,
    /// The one that is looked at next, and the one that is not asked for any more; none
    /// before the answer begins.
    range: Option<(u64, u64)>,
    is_whole: bool,
}

impl TradesAsked {
    /// Reads a question.
    pub(crate) fn read(message: &Message<'_>) -> Result<Self, Fault> {
        let fields = Fields::of(message);
        let (kind, instrument) = match fields.given(tag::TRADE_REQUEST_TYPE)? {
            b"0" => (0, None),
            b"1" => (1, Some(fields.instrument()?)),
            _ => return Err(Fault::Value(tag::TRADE_REQUEST_TYPE)),
        };
        if message.get(tag::SUBSCRIPTION_REQUEST_TYPE).is_some_and(|kind| kind != b"0") {
            return Err(Fault::Value(tag::SUBSCRIPTION_REQUEST_TYPE));
        }
        let id = fields.given_text(tag::TRADE_REQUEST_ID)?;
        Ok(Self { id, kind, instrument, range: None, is_whole: true })
    }
}

/// What who settles a side hears of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Confirmed {
    /// The trade was made.
    Made,
    /// The other side wants it cancelled, and this one is asked too.
    AskedToCancel {
        /// The name of this message.
        request: Text<12>,
    },
    /// It is cancelled.
    Cancelled,
}

/// Writes what there is to know of one side; `question`: it was told before.
pub(crate) fn confirmation(
    TradeSide { trade, order }: &TradeSide,
    what: Confirmed,
    question: Option<Text<20>>,
    fields: &mut Writer<'_>,
) {
    // New or a cancel; submitted or the cancel of a report; whether both sides say so.
    let (name, kinds, exec_type) = match what {
        Confirmed::Made => (trade.execution, [b'0'; 3], b'F'),
        Confirmed::AskedToCancel { request } => (request, [b'1', b'6', b'1'], b'H'),
        Confirmed::Cancelled => (trade.cancelled_by, [b'1', b'6', b'0'], b'H'),
    };
    fields.text(tag::TRADE_REPORT_ID, name.as_bytes());
    fields.text(tag::TRADE_ID, &TradeId(trade.id).digits());
    fields.byte(tag::TRADE_REPORT_TRANS_TYPE, kinds[0]).byte(tag::TRADE_REPORT_TYPE, kinds[1]);
    if let Some(id) = question {
        fields.text(tag::TRADE_REQUEST_ID, id.as_bytes());
    }
    fields.byte(tag::TRADE_HANDLING_INSTR, b'0').byte(tag::EXEC_TYPE, exec_type);
    if what != Confirmed::Made {
        fields.text(tag::TRADE_REPORT_REF_ID, trade.execution.as_bytes());
    }
    fields.text(tag::TRD_MATCH_ID, &TradeId(trade.id).digits());
    fields.byte(tag::PREVIOUSLY_REPORTED, if question.is_some() { b'Y' } else { b'N' });
    fields.number(tag::SECURITY_ID, trade.instrument.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
    fields.number(tag::LAST_QTY, trade.quantity.into()).decimal(tag::LAST_PX, trade.price);
    fields.text(tag::LAST_MKT, encode::VENUE).date(tag::TRADE_DATE, trade.at_ns);
    fields.time(tag::TRANSACT_TIME, trade.at_ns).byte(tag::MATCH_STATUS, kinds[2]);
    fields.byte(tag::NO_SIDES, b'1').byte(tag::SIDE, b'0' + trade.side);
    fields.text(tag::SIDE_EXEC_ID, trade.execution.as_bytes());
    encode::parties(&order.terms.parties, fields);
    encode::text(fields, tag::ACCOUNT, &order.terms.account);
    if order.terms.clearing_account != 0 {
        fields.number(tag::ACCOUNT_TYPE, order.terms.clearing_account.into());
    }
    match trade.liquidity {
        b'R' => fields.byte(tag::AGGRESSOR_INDICATOR, b'Y'),
        b'A' => fields.byte(tag::AGGRESSOR_INDICATOR, b'N'),
        // In an auction nobody is.
        _ => fields,
    };
    fields.text(tag::ORDER_ID, &order.id.digits());
    encode::text(fields, tag::CL_ORD_ID, &order.name);
    fields.byte(tag::ORDER_CAPACITY, encode::capacity(order.capacity));
}

/// Writes where an answer is.
fn acknowledgement(asked: &TradesAsked, (result, status): (u8, u8), fields: &mut Writer<'_>) {
    fields.text(tag::TRADE_REQUEST_ID, asked.id.as_bytes());
    fields.number(tag::TRADE_REQUEST_TYPE, asked.kind.into());
    fields.number(tag::TRADE_REQUEST_RESULT, result.into());
    fields.number(tag::TRADE_REQUEST_STATUS, status.into());
}

impl Floor {
    /// Goes on with an answer about trades. Returns how far it is, if it is not over.
    pub(crate) fn tell_trades(
        &mut self,
        now: Time,
        to: (u16, SessionId),
        mut asked: TradesAsked,
        out: &mut impl Outputs,
    ) -> Option<TradesAsked> {
        let (from, end) = match asked.range {
            Some(range) => range,
            None => self.begin_trades(now, to, &mut asked, out)?,
        };
        let (mut told, upto) = (0, end.min(from + LOOK));
        for number in from..upto {
            let Some(side) = self.trades.get(number).copied() else {
                // It made room for another one meanwhile.
                asked.is_whole = false;
                continue;
            };
            let trade = side.trade;
            let is_of = asked.instrument.is_none_or(|id| i64::from(id) == trade.instrument.into());
            if !is_of
                || !self.is_same_day(self.ns(now), trade.at_ns)
                || !self.desks.is_settler_of(to.0, trade.firm)
            {
                continue;
            }
            if told == SLICE || out.queued(to.1) >= SLICE_BYTES || !self.desks.may_answer(to.0) {
                asked.range = Some((number, end));
                return Some(asked);
            }
            told += 1;
            self.counts.trades_told += 1;
            let is_cancelled = trade.flags & CANCELLED != 0;
            let what = if is_cancelled { Confirmed::Cancelled } else { Confirmed::Made };
            let body = |fields: &mut Writer<'_>| confirmation(&side, what, Some(asked.id), fields);
            self.reply(now, to, b"AE", body, out);
        }
        if upto < end {
            asked.range = Some((upto, end));
            return Some(asked);
        }
        let result = if asked.is_whole { SUCCESSFUL } else { NOT_ALL };
        let body = |fields: &mut Writer<'_>| acknowledgement(&asked, (result, COMPLETED), fields);
        self.reply(now, to, b"AQ", body, out);
        None
    }

    fn begin_trades(
        &mut self,
        now: Time,
        to: (u16, SessionId),
        asked: &mut TradesAsked,
        out: &mut impl Outputs,
    ) -> Option<(u64, u64)> {
        let is_known = asked.instrument.is_none_or(|id| self.book(id).is_some());
        let said = if is_known { (SUCCESSFUL, ACCEPTED) } else { (UNKNOWN_INSTRUMENT, REJECTED) };
        self.reply(now, to, b"AQ", |fields| acknowledgement(asked, said, fields), out);
        let range = (self.trades.oldest(), self.trades.next());
        // Some of the day are gone if the oldest that is left is of the day.
        let oldest = self.trades.get(range.0).map(|side| side.trade.at_ns);
        let is_of_today = |at_ns: u64| self.is_same_day(self.ns(now), at_ns);
        let is_cut = range.0 > 0 && oldest.is_some_and(is_of_today);
        asked.is_whole = !is_cut;
        asked.range = Some(range);
        is_known.then_some(range)
    }
}
