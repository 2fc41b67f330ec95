//! What a gateway checks before the engine sees a message (MIT203, 3.10 and
//! 3.11): required fields, values, and what fields say together.

use tapeline_layout::Text;

use crate::client::{Cancel, CancelReplace, MassCancel, NewOrder, NewQuote};
use crate::frame::Message;

/// A required field is missing.
pub(crate) const MISSING: i32 = 9900;

/// A value that there is not, or a byte above 127.
pub(crate) const INVALID: i32 = 9901;

/// An amendment asks for no quantity.
const NO_QUANTITY: i32 = 1000;

/// What is wrong with a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) code: i32,
    /// As MIT203 names it.
    pub(crate) field: &'static str,
}

type Checked = Result<(), Fault>;

fn given(is_given: bool, field: &'static str) -> Checked {
    if is_given { Ok(()) } else { Err(Fault { code: MISSING, field }) }
}

fn valid(is_valid: bool, field: &'static str) -> Checked {
    if is_valid { Ok(()) } else { Err(Fault { code: INVALID, field }) }
}

fn name<const N: usize>(text: &Text<N>, field: &'static str) -> Checked {
    given(!text.is_empty(), field)?;
    valid(text.is_ascii(), field)
}

fn order_named(orig: &Text<20>, id: &Text<12>) -> Checked {
    given(!orig.is_empty() || !id.is_empty(), "OrigClOrdID")?;
    valid(orig.is_ascii(), "OrigClOrdID")?;
    valid(id.is_ascii(), "OrderID")
}

fn side(side: u8) -> Checked {
    given(side != 0, "Side")?;
    valid(matches!(side, 1 | 2), "Side")
}

fn instrument(id: i32) -> Checked {
    given(id != 0, "InstrumentID")?;
    valid(id > 0, "InstrumentID")
}

/// Looks through a message of a client; messages about the session are looked at
/// where they are handled.
pub(crate) fn check(message: &Message) -> Checked {
    match message {
        Message::NewOrder(order) => new_order(order),
        Message::NewQuote(quote) => new_quote(quote),
        Message::CancelReplace(replace) => cancel_replace(replace),
        Message::Cancel(cancel) => cancel_of(cancel),
        Message::MassCancel(cancel) => mass_cancel(cancel),
        _ => Ok(()),
    }
}

fn new_order(order: &NewOrder) -> Checked {
    name(&order.cl_ord_id, "ClOrdID")?;
    valid(order.trader_id.is_ascii(), "TraderID")?;
    valid(order.account.is_ascii(), "Account")?;
    given(order.clearing_account != 0, "ClearingAccount")?;
    valid(matches!(order.clearing_account, 1 | 3), "ClearingAccount")?;
    instrument(order.instrument_id)?;
    given(order.order_type != 0, "OrderType")?;
    valid(matches!(order.order_type, 1..=4), "OrderType")?;
    let times = [0, 1, 3, 4, 5, 6, 8, 10, 12, 50, 51, 52, 54, 55];
    valid(times.contains(&order.time_in_force), "TIF")?;
    let has_expiry = matches!(order.time_in_force, 6 | 8);
    given(!has_expiry || order.expire_s != 0, "ExpireDateTime")?;
    side(order.side)?;
    given(order.quantity != 0, "OrderQty")?;
    valid(order.quantity > 0, "OrderQty")?;
    valid((0..=order.quantity).contains(&order.display), "DisplayQty")?;
    let has_limit = matches!(order.order_type, 2 | 4);
    given(!has_limit || order.limit != 0, "LimitPrice")?;
    valid(!has_limit || order.limit > 0, "LimitPrice")?;
    given(order.capacity != 0, "Capacity")?;
    valid(matches!(order.capacity, 1..=3), "Capacity")?;
    valid(order.auto_cancel <= 1, "AutoCancel")?;
    valid(matches!(order.sub_type, 0 | 5 | 51 | 55), "OrderSubType")?;
    valid(order.anonymity <= 1, "Anonymity")?;
    valid((0..=order.quantity).contains(&order.min_quantity), "MinQty")?;
    valid(order.pegged_instruction <= 2, "PeggedExecInst")?;
    valid(order.owner_type <= 2, "OwnerType")?;
    let has_stop = matches!(order.order_type, 3 | 4);
    given(!has_stop || order.stop != 0, "StopPrice")?;
    valid(!has_stop || order.stop > 0, "StopPrice")?;
    valid(matches!(order.passive_only, 0..=3 | 99 | 100), "PassiveOnlyOrder")
}

/// A side without price and size is not quoted; one of them has both.
fn new_quote(quote: &NewQuote) -> Checked {
    name(&quote.cl_ord_id, "ClOrdID")?;
    valid(quote.trader_id.is_ascii(), "TraderID")?;
    given(quote.clearing_account != 0, "ClearingAccount")?;
    valid(matches!(quote.clearing_account, 1 | 3), "ClearingAccount")?;
    instrument(quote.instrument_id)?;
    let is_empty = quote.bid_size == 0 && quote.ask_size == 0;
    for (price, size, price_field, size_field) in [
        (quote.bid, quote.bid_size, "BidPx", "BidSize"),
        (quote.ask, quote.ask_size, "AskPx", "AskSize"),
    ] {
        given(price == 0 || size != 0, size_field)?;
        given(!is_empty && size == 0 || price != 0, price_field)?;
        valid(price >= 0, price_field)?;
        valid(size >= 0, size_field)?;
    }
    given(quote.capacity != 0, "Capacity")?;
    valid(matches!(quote.capacity, 1..=3), "Capacity")?;
    valid(quote.auto_cancel <= 1, "AutoCancel")?;
    valid(quote.pegged_instruction <= 2, "PeggedExecInst")
}

fn cancel_replace(replace: &CancelReplace) -> Checked {
    name(&replace.cl_ord_id, "ClOrdID")?;
    order_named(&replace.orig_cl_ord_id, &replace.order_id)?;
    instrument(replace.instrument_id)?;
    if replace.quantity <= 0 {
        return Err(Fault { code: NO_QUANTITY, field: "OrderQty" });
    }
    valid((0..=replace.quantity).contains(&replace.display), "DisplayQty")?;
    valid(replace.account.is_ascii(), "Account")?;
    side(replace.side)?;
    valid(matches!(replace.passive_only, 0..=3 | 99 | 100), "PassiveOnlyOrder")
}

fn cancel_of(cancel: &Cancel) -> Checked {
    name(&cancel.cl_ord_id, "ClOrdID")?;
    order_named(&cancel.orig_cl_ord_id, &cancel.order_id)?;
    instrument(cancel.instrument_id)?;
    side(cancel.side)
}

fn mass_cancel(cancel: &MassCancel) -> Checked {
    name(&cancel.cl_ord_id, "ClOrdID")?;
    let kinds = [3, 4, 7, 8, 9, 15, 56, 57, 58];
    valid(kinds.contains(&cancel.kind), "MassCancelRequestType")?;
    let is_of_instrument = matches!(cancel.kind, 3 | 9 | 57);
    given(!is_of_instrument || cancel.instrument_id != 0, "InstrumentID")?;
    let is_of_segment = matches!(cancel.kind, 4 | 15);
    given(!is_of_segment || !cancel.segment.is_empty(), "Segment")?;
    let is_of_group = matches!(cancel.kind, 56..=58);
    given(!is_of_group || cancel.group_id != 0, "GroupID")?;
    valid(matches!(cancel.sub_type, 0 | 3), "OrderSubType")
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn order() -> NewOrder {
        NewOrder {
            cl_ord_id: Text::new("C1"),
            clearing_account: 1,
            instrument_id: 7,
            order_type: 2,
            side: 1,
            quantity: 10,
            display: 10,
            limit: 100,
            capacity: 2,
            ..NewOrder::default()
        }
    }

    fn fault(with: impl FnOnce(&mut NewOrder)) -> Option<(i32, &'static str)> {
        let mut order = order();
        with(&mut order);
        check(&Message::NewOrder(order)).err().map(|fault| (fault.code, fault.field))
    }

    #[test]
    fn orders_are_checked_field_by_field() {
        assert_eq!(fault(|_| {}), None);
        for (found, expected) in [
            (fault(|order| order.cl_ord_id = Text::default()), (9900, "ClOrdID")),
            (fault(|order| order.cl_ord_id = Text::from_bytes(&[200])), (9901, "ClOrdID")),
            (fault(|order| order.account = Text::from_bytes(&[200])), (9901, "Account")),
            (fault(|order| order.clearing_account = 2), (9901, "ClearingAccount")),
            (fault(|order| order.instrument_id = 0), (9900, "InstrumentID")),
            (fault(|order| order.order_type = 5), (9901, "OrderType")),
            (fault(|order| order.time_in_force = 2), (9901, "TIF")),
            (fault(|order| order.time_in_force = 8), (9900, "ExpireDateTime")),
            (fault(|order| order.side = 3), (9901, "Side")),
            (fault(|order| order.quantity = -1), (9901, "OrderQty")),
            (fault(|order| order.display = 11), (9901, "DisplayQty")),
            (fault(|order| order.limit = 0), (9900, "LimitPrice")),
            (fault(|order| order.capacity = 0), (9900, "Capacity")),
            (fault(|order| order.order_type = 4), (9900, "StopPrice")),
            (fault(|order| order.min_quantity = 11), (9901, "MinQty")),
            (fault(|order| order.min_quantity = -1), (9901, "MinQty")),
            (fault(|order| order.pegged_instruction = 3), (9901, "PeggedExecInst")),
            (fault(|order| order.owner_type = 3), (9901, "OwnerType")),
            (fault(|order| order.passive_only = 4), (9901, "PassiveOnlyOrder")),
        ] {
            assert_eq!(found, Some(expected));
        }
    }

    #[test]
    fn a_quote_has_one_side_or_both() {
        let quote = NewQuote {
            cl_ord_id: Text::new("Q1"),
            clearing_account: 3,
            instrument_id: 7,
            bid: 100,
            bid_size: 10,
            ask: 101,
            ask_size: 5,
            capacity: 2,
            ..NewQuote::default()
        };
        let code =
            |quote| check(&Message::NewQuote(quote)).err().map(|fault| (fault.code, fault.field));
        assert_eq!(code(quote), None);
        assert_eq!(code(NewQuote { bid: 0, bid_size: 0, ..quote }), None);
        assert_eq!(code(NewQuote { ask: 0, ask_size: 0, ..quote }), None);
        let none = NewQuote { bid: 0, bid_size: 0, ask: 0, ask_size: 0, ..quote };
        assert_eq!(code(none), Some((9900, "BidPx")));
        for (bad, expected) in [
            (NewQuote { bid_size: 0, ..quote }, (9900, "BidSize")),
            (NewQuote { ask: 0, ..quote }, (9900, "AskPx")),
            (NewQuote { ask: -1, ..quote }, (9901, "AskPx")),
            (NewQuote { ask_size: -1, ..quote }, (9901, "AskSize")),
            (NewQuote { capacity: 0, ..quote }, (9900, "Capacity")),
            (NewQuote { instrument_id: 0, ..quote }, (9900, "InstrumentID")),
            (NewQuote { cl_ord_id: Text::default(), ..quote }, (9900, "ClOrdID")),
        ] {
            assert_eq!(code(bad), Some(expected));
        }
    }

    #[test]
    fn amendments_and_cancels_name_their_order() {
        let replace = CancelReplace {
            cl_ord_id: Text::new("C2"),
            orig_cl_ord_id: Text::new("C1"),
            instrument_id: 7,
            quantity: 10,
            display: 10,
            side: 1,
            ..CancelReplace::default()
        };
        let code = |message| check(&message).err().map(|fault| (fault.code, fault.field));
        assert_eq!(code(Message::CancelReplace(replace)), None);
        let none = CancelReplace { quantity: 0, ..replace };
        assert_eq!(code(Message::CancelReplace(none)), Some((1000, "OrderQty")));
        let nameless = CancelReplace { orig_cl_ord_id: Text::default(), ..replace };
        assert_eq!(code(Message::CancelReplace(nameless)), Some((9900, "OrigClOrdID")));
        let by_id = Cancel {
            cl_ord_id: Text::new("C3"),
            order_id: Text::new("0000000000AB"),
            instrument_id: 7,
            side: 2,
            ..Cancel::default()
        };
        assert_eq!(code(Message::Cancel(by_id)), None);
        let mass = MassCancel { cl_ord_id: Text::new("C4"), kind: 3, ..MassCancel::default() };
        assert_eq!(code(Message::MassCancel(mass)), Some((9900, "InstrumentID")));
        let group = MassCancel { kind: 56, ..mass };
        assert_eq!(code(Message::MassCancel(group)), Some((9900, "GroupID")));
    }
}
