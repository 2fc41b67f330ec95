//! From the market's reports to FIX messages (exchange.md 5: `8`, `9`, `r`, `j`).
//!
//! What a report of the native gateway has no field for is beside it in [`About`].

use std::io::Write as _;

use tapeline_fix::{Writer, tag};
use tapeline_instrument::TradeId;
use tapeline_layout::Text;
use tapeline_matching::Refusal;
use tapeline_ntg::Message;
use tapeline_ntg::exchange::{BusinessReject, CancelReject, ExecutionReport, MassCancelReport};

use super::decode::{CLIENT, DIRECT_ACCESS, EXECUTING, INVESTMENT, TIMES_IN_FORCE, TRADER_GROUP};
use crate::core::ledger::{Kept, Parties, Terms};
use crate::core::refusals::DOWN;
use crate::core::reports::PEGGED_VENUE;

const NS_PER_S: u64 = 1_000_000_000;

/// The venue of the native gateway's reports, by its market identifier code.
pub(super) const VENUE: &[u8] = b"XLON";

/// The same of trades with pegged orders.
const PEGGED_MARKET: &[u8] = b"XLOX";

/// The identifier code of a market of the native gateway's reports.
const fn venue(market: u8) -> &'static [u8] {
    match market {
        PEGGED_VENUE => PEGGED_MARKET,
        _ => VENUE,
    }
}

/// 102, 103, 532: a reason that is in the text.
const OTHER: i64 = 99;

/// 103: no order is meant.
const UNKNOWN_ORDER: i64 = 5;

/// 54 of what is no order.
const UNDISCLOSED: u8 = b'7';

/// 828: at the closing price, bit 1 of the native gateway's flags.
const CLOSING_PRICE: i64 = 67;
const AT_CLOSING_PRICE: u8 = 1 << 1;

/// The native gateway's time in force of what trades at the closing price, which has no
/// letter.
const CLOSING_PRICE_ONLY: u8 = 12;

/// Nobody knows such a security; the market cannot be had; anything else.
const UNKNOWN_SECURITY: i64 = 2;
const NOT_AVAILABLE: i64 = 4;

/// What reports are about, beside what the native gateway says.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct About<'k> {
    /// The order, if there is one.
    pub(crate) kept: Option<&'k Kept>,
    /// Whose report this is a copy of.
    pub(crate) owner: Option<Text<25>>,
    /// How much of the order is traded.
    pub(crate) filled: u32,
    /// What the client called the order before.
    pub(crate) orig: Text<20>,
    /// The type of what the client asked for, `D`, `F`, `G` or `q`; 0 for nothing.
    pub(crate) request: u8,
    /// The native gateway's kind of a mass cancel.
    pub(crate) scope: u8,
    /// The status of an order that stays as it is: 0 new, 1 partly filled, 9 suspended;
    /// 8 if there is no such order.
    pub(crate) status: u8,
    /// Whose question this answers, and whether it is the last of the answer.
    pub(crate) question: Option<(Text<20>, bool)>,
}

/// The type of the FIX message that a report becomes. `None`: it becomes none.
pub(crate) const fn msg_type(message: &Message) -> Option<&'static [u8]> {
    match message {
        Message::ExecutionReport(_) => Some(b"8"),
        Message::CancelReject(_) => Some(b"9"),
        Message::MassCancelReport(_) => Some(b"r"),
        Message::BusinessReject(_) => Some(b"j"),
        _ => None,
    }
}

/// Writes the fields of a report, without header and trailer.
pub(crate) fn write(message: &Message, about: &About<'_>, fields: &mut Writer<'_>) {
    // It is of the header, whose end this is.
    if let Some(owner) = &about.owner {
        fields.text(tag::ON_BEHALF_OF_COMP_ID, owner.as_bytes());
    }
    match message {
        Message::ExecutionReport(report) => execution(report, about, fields),
        Message::CancelReject(reject) => cancel_reject(reject, about, fields),
        Message::MassCancelReport(report) => mass_cancel(report, about, fields),
        Message::BusinessReject(reject) => business_reject(reject, about, fields),
        _ => debug_assert!(false, "only these have a type"),
    }
}

pub(super) fn text<const N: usize>(fields: &mut Writer<'_>, tag: u32, text: &Text<N>) {
    if !text.is_empty() {
        fields.text(tag, text.as_bytes());
    }
}

fn time(fields: &mut Writer<'_>, seconds: u32, ns: u32) {
    if seconds > 0 {
        fields.time(tag::TRANSACT_TIME, u64::from(seconds) * NS_PER_S + u64::from(ns));
    }
}

/// Why something is refused, where FIX has no code of its own: the native gateway's,
/// and what it says.
fn reason(code: i32, fields: &mut Writer<'_>) {
    let mut text = [0; 96];
    let room = text.len();
    let mut rest = &mut text[..];
    let said = Refusal::ALL.iter().find(|refusal| refusal.code() == code);
    let written = match said {
        Some(refusal) => write!(rest, "{code}: {refusal}"),
        None => write!(rest, "{code}"),
    };
    debug_assert!(written.is_ok(), "the longest text has room");
    let len = room - rest.len();
    fields.text(tag::TEXT, &text[..len]);
}

/// The letter of an order's status.
const fn status(code: u8) -> u8 {
    match code {
        6 => b'C',
        code => b'0' + code,
    }
}

/// The letter of a capacity.
pub(super) const fn capacity(code: u8) -> u8 {
    match code {
        1 => b'R',
        2 => b'P',
        _ => b'A',
    }
}

/// Which question it answers.
fn answers(about: &About<'_>, fields: &mut Writer<'_>) {
    if let Some((id, is_last)) = &about.question {
        fields.text(tag::MASS_STATUS_REQ_ID, id.as_bytes());
        if *is_last {
            fields.byte(tag::LAST_RPT_REQUESTED, b'Y');
        }
    }
}

/// Writes that there is no order, or none any more, of those that a question is about.
pub(crate) fn no_order(about: &About<'_>, fields: &mut Writer<'_>) {
    fields.byte(tag::EXEC_ID, b'0').text(tag::ORDER_ID, b"NONE");
    fields.byte(tag::EXEC_TYPE, b'I').byte(tag::ORD_STATUS, b'8');
    fields.number(tag::ORD_REJ_REASON, UNKNOWN_ORDER).text(tag::TEXT, b"no more orders");
    fields.byte(tag::LEAVES_QTY, b'0').byte(tag::CUM_QTY, b'0').byte(tag::SIDE, UNDISCLOSED);
    answers(about, fields);
}

fn execution(report: &ExecutionReport, about: &About<'_>, fields: &mut Writer<'_>) {
    let terms = about.kept.map(|kept| kept.terms).unwrap_or_default();
    fields.text(tag::EXEC_ID, report.exec_id.as_bytes());
    text(fields, tag::CL_ORD_ID, &report.cl_ord_id);
    text(fields, tag::ORIG_CL_ORD_ID, &about.orig);
    match report.order_id.is_empty() {
        true => fields.text(tag::ORDER_ID, b"NONE"),
        false => fields.text(tag::ORDER_ID, report.order_id.as_bytes()),
    };
    fields.byte(tag::EXEC_TYPE, report.exec_type);
    text(fields, tag::EXEC_REF_ID, &report.exec_ref_id);
    if report.restatement_reason != 0 {
        fields.number(tag::EXEC_RESTATEMENT_REASON, report.restatement_reason.into());
    }
    fields.byte(tag::ORD_STATUS, status(report.order_status));
    if report.reject_code != 0 {
        fields.number(tag::ORD_REJ_REASON, OTHER);
        reason(report.reject_code, fields);
    }
    if matches!(report.exec_type, b'F' | b'H') {
        fields.number(tag::LAST_QTY, report.quantity.into());
        fields.decimal(tag::LAST_PX, report.price);
        fields.text(tag::TRD_MATCH_ID, &TradeId(report.trade_id).digits());
    }
    if report.exec_type == b'F' {
        fields.byte(
            tag::LAST_LIQUIDITY_IND,
            match report.liquidity {
                b'A' => b'1',
                b'R' => b'2',
                _ => b'4',
            },
        );
        fields.text(tag::LAST_MKT, venue(report.last_market));
        fields.byte(tag::TRADE_LIQUIDITY_INDICATOR, report.liquidity);
        fields.number(tag::TYPE_OF_TRADE, report.trade_type.into());
        let is_at_closing = report.flags & AT_CLOSING_PRICE != 0;
        fields.number(tag::TRD_TYPE, if is_at_closing { CLOSING_PRICE } else { 0 });
    }
    fields.number(tag::LEAVES_QTY, report.leaves.into());
    fields.number(tag::CUM_QTY, about.filled.into());
    fields.number(tag::SECURITY_ID, report.instrument_id.into());
    fields.byte(tag::SECURITY_ID_SOURCE, b'8');
    fields.byte(tag::SIDE, b'0' + report.side);
    fields.number(tag::ORDER_QTY, terms.quantity.into());
    fields.number(tag::DISPLAY_QTY, report.display.into());
    what_it_is(&terms, fields);
    if about.kept.is_some_and(|kept| kept.display == 0) {
        fields.byte(tag::DISPLAY_METHOD, b'4');
    } else if terms.sub_type == 51 {
        fields.byte(tag::DISPLAY_METHOD, b'3');
    }
    parties(&terms.parties, fields);
    fields.byte(tag::ORDER_CAPACITY, capacity(report.capacity));
    text(fields, tag::MD_ENTRY_ID, &report.public_order_id);
    answers(about, fields);
    time(fields, report.transact_s, report.transact_ns);
}

/// What the client asked for, again.
fn what_it_is(terms: &Terms, fields: &mut Writer<'_>) {
    text(fields, tag::ACCOUNT, &terms.account);
    if terms.clearing_account != 0 {
        fields.number(tag::ACCOUNT_TYPE, terms.clearing_account.into());
    }
    fields.byte(
        tag::ORD_TYPE,
        match terms.sub_type {
            5 => b'P',
            55 => b'F',
            _ => b'0' + terms.order_type,
        },
    );
    fields.byte(tag::PRE_TRADE_ANONYMITY, if terms.anonymity == 1 { b'N' } else { b'Y' });
    let expire_ns = u64::from(terms.expire_s) * NS_PER_S;
    match terms.time_in_force {
        6 => {
            fields.byte(tag::TIME_IN_FORCE, b'6').date(tag::EXPIRE_DATE, expire_ns);
        }
        8 => {
            fields.byte(tag::TIME_IN_FORCE, b'6').time(tag::EXPIRE_TIME, expire_ns);
        }
        CLOSING_PRICE_ONLY => {
            fields.byte(tag::NO_TRADING_SESSIONS, b'1').byte(tag::TRADING_SESSION_ID, b'a');
        }
        code => {
            if let Some((letter, _)) = TIMES_IN_FORCE.iter().find(|(_, it)| *it == code) {
                fields.byte(tag::TIME_IN_FORCE, *letter);
            }
        }
    }
    if terms.limit > 0 {
        fields.decimal(tag::PRICE, terms.limit);
    }
    if terms.stop > 0 {
        fields.decimal(tag::STOP_PX, terms.stop);
    }
    if terms.passive_only != 0 {
        fields.number(tag::PASSIVE_ONLY, terms.passive_only.into());
    }
    if terms.mifid & DIRECT_ACCESS != 0 {
        fields.byte(tag::ORDER_ORIGINATION, b'5');
    }
    for (tag, value) in [
        (tag::MIN_QTY, terms.min_quantity.into()),
        (tag::OWNER_TYPE, terms.owner_type.into()),
        (tag::GROUP_ID, terms.group.into()),
        (tag::OFFSET_BP, terms.offset_bp.into()),
        (tag::PEGGED_EXEC_INST, terms.pegged.into()),
    ] {
        if value != 0_i64 {
            fields.number(tag, value);
        }
    }
}

/// Who takes part in the order.
pub(super) fn parties(parties: &Parties, fields: &mut Writer<'_>) {
    let Parties { trader, client, investment, executing, roles } = *parties;
    let short_codes = [
        (CLIENT, client, roles),
        (INVESTMENT, investment, roles >> 2),
        (EXECUTING, executing, roles >> 4),
    ];
    let count = short_codes.iter().filter(|(_, code, _)| *code != 0).count();
    let count = count + usize::from(!Text::is_empty(&trader));
    if count == 0 {
        return;
    }
    fields.number(tag::NO_PARTY_IDS, count as i64);
    if !Text::is_empty(&trader) {
        fields.text(tag::PARTY_ID, trader.as_bytes());
        fields.byte(tag::PARTY_ID_SOURCE, b'D').number(tag::PARTY_ROLE, TRADER_GROUP);
    }
    for (role, code, qualifier) in short_codes {
        if code == 0 {
            continue;
        }
        fields.number(tag::PARTY_ID, code.into());
        fields.byte(tag::PARTY_ID_SOURCE, b'P').number(tag::PARTY_ROLE, role);
        let qualifier = match qualifier & 3 {
            0 => continue,
            1 => 23,
            2 => 22,
            _ => 24,
        };
        fields.number(tag::PARTY_ROLE_QUALIFIER, qualifier);
    }
}

/// Writes what news there are of an instrument.
pub(crate) fn news(instrument: u32, headline: &str, fields: &mut Writer<'_>) {
    fields.text(tag::HEADLINE, headline.as_bytes());
    fields.byte(tag::NO_RELATED_SYM, b'1').text(tag::SYMBOL, b"[N/A]");
    fields.number(tag::SECURITY_ID, instrument.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
    fields.byte(tag::NO_LINES_OF_TEXT, b'1').text(tag::TEXT, headline.as_bytes());
}

fn cancel_reject(reject: &CancelReject, about: &About<'_>, fields: &mut Writer<'_>) {
    text(fields, tag::CL_ORD_ID, &reject.cl_ord_id);
    // FIX wants the name of the order; where only its id was given, the one it has.
    let orig = match about.kept {
        Some(kept) if about.orig.is_empty() => kept.name,
        _ => about.orig,
    };
    text(fields, tag::ORIG_CL_ORD_ID, &orig);
    fields.text(tag::ORDER_ID, reject.order_id.as_bytes());
    fields.byte(tag::ORD_STATUS, status(about.status));
    fields.byte(tag::CXL_REJ_RESPONSE_TO, if about.request == b'G' { b'2' } else { b'1' });
    fields.number(tag::CXL_REJ_REASON, OTHER);
    reason(reject.reason, fields);
    time(fields, reject.transact_s, reject.transact_ns);
}

fn mass_cancel(report: &MassCancelReport, about: &About<'_>, fields: &mut Writer<'_>) {
    // A report has a name of its own: its number in the partition.
    fields.number(tag::MASS_ACTION_REPORT_ID, report.sequence.into());
    text(fields, tag::CL_ORD_ID, &report.cl_ord_id);
    let scope = match about.scope {
        3 | 9 => 1,
        4 | 15 => 9,
        56 | 58 => 56,
        57 => 57,
        _ => 7,
    };
    fields.number(tag::MASS_CANCEL_REQUEST_TYPE, scope);
    fields.number(tag::MASS_CANCEL_RESPONSE, if report.response == 0 { 0 } else { scope });
    if report.reason != 0 {
        fields.number(tag::MASS_CANCEL_REJECT_REASON, OTHER);
        reason(report.reason, fields);
    }
    fields.number(tag::APPL_ID, report.app_id.into());
    time(fields, report.transact_s, report.transact_ns);
}

fn business_reject(reject: &BusinessReject, about: &About<'_>, fields: &mut Writer<'_>) {
    text(fields, tag::BUSINESS_REJECT_REF_ID, &reject.cl_ord_id);
    fields.byte(tag::REF_MSG_TYPE, if about.request == 0 { b'D' } else { about.request });
    match reject.code {
        DOWN => {
            fields.number(tag::BUSINESS_REJECT_REASON, NOT_AVAILABLE);
            fields.text(tag::TEXT, b"the market is down");
        }
        _ => {
            fields.number(tag::BUSINESS_REJECT_REASON, UNKNOWN_SECURITY);
            fields.text(tag::TEXT, b"no such instrument");
        }
    }
}
