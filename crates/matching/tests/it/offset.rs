//! Orders at a distance from the last price before the closing call.

use tapeline_instrument::{Session, Side};
use tapeline_matching::{Kind, NewOrder, TimeInForce};

use crate::support::{Market, firm, price};

fn away(bp: i32, limit: Option<&str>) -> impl FnOnce(&mut NewOrder) {
    let limit = limit.map(price);
    move |order| {
        order.kind = Kind::Offset { bp, limit };
        (order.time_in_force, order.owner) = (TimeInForce::AtClosing, firm(3));
    }
}

#[test]
fn the_limit_is_so_far_from_the_last_price_when_the_closing_call_begins() {
    let mut market = Market::new(Session::Regular);
    market.sell("S", "1@200");
    assert_eq!(market.order("up", Side::Buy, "10@1", away(1, None)), ["up parked"]);
    market.order("down", Side::Sell, "10@1", away(1, None));
    market.order("hard", Side::Buy, "10@1", away(100, Some("200.50")));
    market.order("soft", Side::Sell, "10@1", away(1, Some("199")));
    market.buy("B", "1@200");
    assert_eq!(
        market.begin(Session::ClosingCall),
        [
            "closing call",
            "up wakes 10@200.02 leaves 10",
            "down wakes 10@199.98 leaves 10",
            "hard wakes 10@200.50 leaves 10",
            "soft wakes 10@199.98 leaves 10",
        ]
    );
    let late = market.order("late", Side::Buy, "10@1", away(-100, None));
    assert_eq!(late, ["late rests 10@198.00 leaves 10"]);
    let said = market.begin(Session::MarketClose);
    assert!(said.contains(&"closing 200.00 by auction".to_owned()), "{said:?}");
    assert!(said.contains(&"late expired 10, 0 done".to_owned()), "{said:?}");
}

#[test]
fn without_a_price_to_be_away_from_it_has_its_own_limit_or_ends() {
    let mut market = Market::new(Session::Regular);
    market.order("none", Side::Buy, "10@1", away(1, None));
    market.order("own", Side::Buy, "10@1", away(1, Some("5")));
    assert_eq!(
        market.begin(Session::ClosingCall),
        ["closing call", "none expired 10, 0 done", "own wakes 10@5.00 leaves 10"]
    );
}

#[test]
fn it_is_for_the_closing_auction_only() {
    let mut market = Market::new(Session::Regular);
    let said = market.order("O", Side::Buy, "10@1", |order| {
        order.kind = Kind::Offset { bp: 1, limit: None };
    });
    assert_eq!(said, ["refused 20005"]);
}
