//! What a gateway answers by itself: the same words in the market's process and in one of
//! its own.

use tapeline_layout::Text;
use tapeline_matching::Refusal;
use tapeline_ntg::exchange::{BusinessReject, CancelReject};
use tapeline_ntg::{Input, Message};
use tapeline_sequence::Kind;

use super::fix::About;
use super::floor::is_of_instrument;

/// The partition is down.
pub(crate) const DOWN: i32 = 9998;

/// The session of this user is at another door.
pub(crate) const ELSEWHERE: i32 = 20_900;

/// Why a client is logged out that leaves too much unread.
pub(crate) const TOO_SLOW: &str = "too slow";

/// The kind of command that a client's message asks for, if it does.
pub(crate) fn request_kind(message: &Message) -> Option<Kind> {
    Some(match message {
        Message::NewOrder(_) => Kind::NEW,
        Message::NewQuote(_) => Kind::QUOTE,
        Message::CancelReplace(_) => Kind::REPLACE,
        Message::Cancel(_) => Kind::CANCEL,
        Message::MassCancel(_) => Kind::MASS_CANCEL,
        _ => return None,
    })
}

/// The instrument that a request is for, if it is for one.
pub(crate) fn instrument_of(input: &Input) -> Option<i32> {
    match input {
        Input::New(order) => Some(order.instrument_id),
        Input::Quote(quote) => Some(quote.instrument_id),
        Input::Replace(replace) => Some(replace.instrument_id),
        Input::Cancel(cancel) => Some(cancel.instrument_id),
        Input::MassCancel(cancel) => is_of_instrument(cancel).then_some(cancel.instrument_id),
        Input::Missed(_) => None,
    }
}

/// The instrument of an order, or of a cancel of one, is not known.
pub(crate) fn unknown(input: &Input, [transact_s, transact_ns]: [u32; 2]) -> Message {
    let (code, (name, _)) = (Refusal::UnknownBook.code(), About::of(input));
    match input {
        Input::New(_) | Input::Quote(_) => Message::BusinessReject(BusinessReject {
            code,
            cl_ord_id: name,
            transact_s,
            transact_ns,
            ..BusinessReject::default()
        }),
        _ => Message::CancelReject(CancelReject {
            cl_ord_id: name,
            order_id: Text::new("NONE"),
            reason: code,
            transact_s,
            transact_ns,
            ..CancelReject::default()
        }),
    }
}

/// A request of this name cannot be kept.
pub(super) fn down_named(name: Text<20>) -> Message {
    let reject = BusinessReject { code: DOWN, cl_ord_id: name, ..BusinessReject::default() };
    Message::BusinessReject(reject)
}

/// A request cannot be kept.
pub(crate) fn down(input: &Input) -> Message {
    down_named(About::of(input).0)
}

/// The client's name for what a frame asks for, if a client does, and its type.
pub(super) fn asked_as(frame: &[u8]) -> Option<(Text<20>, u8)> {
    match Message::read(frame)? {
        Message::NewOrder(order) => Some((order.cl_ord_id, b'D')),
        Message::NewQuote(quote) => Some((quote.cl_ord_id, b'S')),
        Message::CancelReplace(replace) => Some((replace.cl_ord_id, b'G')),
        Message::Cancel(cancel) => Some((cancel.cl_ord_id, b'F')),
        Message::MassCancel(cancel) => Some((cancel.cl_ord_id, b'q')),
        _ => None,
    }
}

/// What a frame asks for cannot be kept.
pub(crate) fn down_as(frame: &[u8]) -> Option<Message> {
    asked_as(frame).map(|(name, _)| down_named(name))
}
