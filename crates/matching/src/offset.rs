//! Orders whose limit is at a distance from the last price before the closing call.

use tapeline_instrument::{Price, Side, Tick, TickTable};

use crate::engine::Engine;
use crate::ladder::{MARKET, key_of};
use crate::queues::Node;

/// One, in hundredths of a per cent.
const BP: i128 = 10_000;

/// The limit that is so far from a price, on a tick: a buyer's is not above it, a
/// seller's not below. `None` if there is no such price.
fn limit_at(ticks: &TickTable, reference: Price, side: Side, bp: i32) -> Option<Tick> {
    let away = i128::from(reference.0) * i128::from(bp) / BP;
    let price = match side {
        Side::Buy => i128::from(reference.0) + away,
        Side::Sell => i128::from(reference.0) - away,
    };
    let price = i64::try_from(price).ok().filter(|price| *price > 0)?;
    let nearest = ticks.nearest(Price(price));
    let found = ticks.price(nearest).0;
    match side {
        Side::Buy if found > price => nearest.checked_sub(1),
        Side::Sell if found < price => Some(nearest + 1),
        _ => Some(nearest),
    }
}

impl Engine {
    /// Gives an order that comes into the book the limit that its distance leads to,
    /// unless its own is less. Returns whether it has a limit then, or needs none.
    pub(crate) fn offset_limit(&mut self, slot: Node) -> bool {
        let order = self.orders.get(slot);
        let offset_bp = match order.is_special() {
            true => self.orders.special(slot).offset_bp,
            false => None,
        };
        let Some(bp) = offset_bp else { return true };
        let (side, own) = (order.side(), order.key);
        let book = &self.books[usize::from(order.book.0)];
        let ticks = &book.instrument.ticks;
        let reference = book.reference().map(|tick| ticks.price(tick));
        let limit = reference.and_then(|reference| limit_at(ticks, reference, side, bp));
        let key = limit.map_or(MARKET, |tick| key_of(side, tick)).max(own);
        self.orders.get_mut(slot).key = key;
        key != MARKET
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(reference: &str, side: Side, bp: i32) -> Option<String> {
        let ticks = TickTable::flat("0.02".parse().expect("a price")).expect("a table");
        let reference = reference.parse().expect("a price");
        let tick = limit_at(&ticks, reference, side, bp)?;
        Some(ticks.price(tick).to_string())
    }

    #[test]
    fn a_limit_is_as_far_as_asked_for_and_on_the_careful_side_of_a_tick() {
        for (reference, side, bp, found) in [
            ("200", Side::Buy, 1, Some("200.02")),
            ("200", Side::Sell, 1, Some("199.98")),
            ("200", Side::Buy, -1, Some("199.98")),
            ("200", Side::Sell, -1, Some("200.02")),
            ("100", Side::Buy, 1, Some("100.00")),
            ("100", Side::Sell, 1, Some("100.00")),
            ("100", Side::Buy, 3, Some("100.02")),
            ("100", Side::Sell, 3, Some("99.98")),
            ("190", Side::Buy, 1, Some("190.00")),
            ("190", Side::Sell, 1, Some("190.00")),
            ("100", Side::Buy, 0, Some("100.00")),
            ("100", Side::Sell, 10_000, None),
        ] {
            assert_eq!(limit(reference, side, bp).as_deref(), found, "{reference} {side:?} {bp}");
        }
    }
}
