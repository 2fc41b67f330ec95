//! From the gateway's messages to commands of the engine.

use tapeline_instrument::{OrderId, Price, Side};
use tapeline_matching::{
    BookId, Kind, MassCancel, NewOrder, OwnerType, Passive, Refusal, Replace, TimeInForce,
};
use tapeline_ntg::client;

use super::users::User;

/// Subtypes of orders, and the instruction of one that trades with pegged orders.
const PEGGED: u8 = 5;
const OFFSET: u8 = 55;
const MEETS_PEGGED: u8 = 1;

/// The number that the gateway has for a side.
pub(super) const fn side_code(side: Side) -> u8 {
    match side {
        Side::Buy => 1,
        Side::Sell => 2,
    }
}

pub(super) const fn side(code: u8) -> Side {
    if code == 1 { Side::Buy } else { Side::Sell }
}

/// An order. The gateway has looked at its fields one by one.
///
/// Errors: it asks for what is not offered.
pub(super) fn new_order(
    order: &client::NewOrder,
    user: &User,
    book: BookId,
) -> Result<NewOrder, Refusal> {
    Ok(NewOrder {
        book,
        owner: user.owner,
        side: side(order.side),
        kind: kind(order)?,
        quantity: order.quantity as u32,
        display: order.display as u32,
        time_in_force: time_in_force(order).ok_or(Refusal::Conditions)?,
        passive: passive(order.passive_only),
        self_match: user.self_match,
        group: order.group_id,
        is_named: order.anonymity == 1,
        is_random_peak: order.sub_type == 51,
        is_quote: false,
        owner_type: match order.owner_type {
            1 => OwnerType::Retail,
            2 => OwnerType::RetailProvider,
            _ => OwnerType::Any,
        },
    })
}

/// At which prices an order trades, by its type and its subtype.
fn kind(order: &client::NewOrder) -> Result<Kind, Refusal> {
    let (limit, stop) = (Price(order.limit), Price(order.stop));
    let hard_limit = match order.order_type {
        1 => None,
        2 => Some(limit),
        3 if matches!(order.sub_type, 0 | 51) => return Ok(Kind::Stop(stop)),
        4 if matches!(order.sub_type, 0 | 51) => return Ok(Kind::StopLimit { stop, limit }),
        _ => return Err(Refusal::Conditions),
    };
    Ok(match (order.sub_type, order.pegged_instruction) {
        (PEGGED, 0 | 1) => {
            Kind::Pegged { limit: hard_limit, min_quantity: order.min_quantity as u32 }
        }
        (PEGGED, _) => return Err(Refusal::Conditions),
        (OFFSET, _) => Kind::Offset { bp: order.offset, limit: hard_limit },
        (_, MEETS_PEGGED) => Kind::OrPegged { limit: hard_limit },
        _ => hard_limit.map_or(Kind::Market, Kind::Limit),
    })
}

fn time_in_force(order: &client::NewOrder) -> Option<TimeInForce> {
    Some(match order.time_in_force {
        0 => TimeInForce::Day,
        1 => TimeInForce::UntilCancelled,
        3 => TimeInForce::ImmediateOrCancel,
        4 => TimeInForce::FillOrKill,
        5 => TimeInForce::AtOpening,
        6 => TimeInForce::UntilDay(order.expire_s),
        8 => TimeInForce::UntilTime(order.expire_s),
        10 => TimeInForce::AtClosing,
        50 => TimeInForce::NextAuction,
        12 => TimeInForce::AtClosingPrice,
        51 => TimeInForce::NextIntraday,
        52 => TimeInForce::EveryAuction,
        54 => TimeInForce::AtClosingVolume,
        55 => TimeInForce::FromClosingVolume,
        _ => return None,
    })
}

const fn passive(code: u8) -> Passive {
    match code {
        99 => Passive::NoVisibleMatch,
        100 => Passive::NewBest,
        1 => Passive::Best,
        2 => Passive::Within(1),
        3 => Passive::Within(2),
        _ => Passive::No,
    }
}

/// An amendment of an order that was found.
pub(super) fn replace(replace: &client::CancelReplace, id: OrderId, user: &User) -> Replace {
    Replace {
        id,
        owner: user.owner,
        quantity: replace.quantity as u32,
        display: replace.display as u32,
        limit: (replace.limit > 0).then_some(Price(replace.limit)),
        stop: (replace.stop > 0).then_some(Price(replace.stop)),
        expire_s: (replace.expire_s > 0).then_some(replace.expire_s),
        passive: passive(replace.passive_only),
    }
}

/// What a mass cancel is for; for a segment, one for each of its books.
pub(super) fn mass_cancel(
    cancel: &client::MassCancel,
    user: &User,
    book: Option<BookId>,
) -> MassCancel {
    let is_own = matches!(cancel.kind, 7 | 9 | 15 | 56);
    let has_group = matches!(cancel.kind, 56..=58);
    MassCancel {
        firm: user.owner.firm,
        user: is_own.then_some(user.owner.user),
        book,
        group: has_group.then_some(cancel.group_id),
        is_of_quotes: cancel.sub_type == 3,
    }
}
