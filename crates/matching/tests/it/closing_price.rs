//! What trades at the price of the closing auction, behind it.

use tapeline_instrument::{Session, Side};
use tapeline_matching::{NewOrder, SelfMatch, TimeInForce};

use crate::support::{Market, firm};

fn lasting(time_in_force: TimeInForce) -> impl FnOnce(&mut NewOrder) {
    move |order| order.time_in_force = time_in_force
}

fn at_close(order: &mut NewOrder) {
    (order.time_in_force, order.owner) = (TimeInForce::AtClosingPrice, firm(2));
}

/// In closing price trading at 10, with nothing left.
fn at_10() -> Market {
    let mut market = Market::new(Session::ClosingCall);
    market.buy("B0", "10@10");
    market.sell("S0", "10@10");
    market.begin(Session::ClosingPrice);
    market
}

#[test]
fn what_the_closing_auction_leaves_of_auction_orders_trades_at_its_price_by_time() {
    let mut market = Market::new(Session::ClosingCall);
    market.buy("B", "100@10");
    market.sell("S", "30@10");
    market.order("G", Side::Buy, "50@10.10", lasting(TimeInForce::NextAuction));
    let volume = lasting(TimeInForce::AtClosingVolume);
    assert_eq!(market.order("V", Side::Sell, "15@9.90", volume), ["V parked"]);
    market.order("W", Side::Sell, "20@10", lasting(TimeInForce::FromClosingVolume));
    // Its limit does not reach the price.
    market.order("X", Side::Sell, "20@10.20", lasting(TimeInForce::AtClosingVolume));
    assert_eq!(
        market.begin(Session::ClosingPrice),
        [
            "G 30@10.10 S auction leaves 20 0",
            "G 15@10.10 V auction leaves 5 0",
            "G 5@10.10 W auction leaves 0 15",
            "auction 50@10.10",
            "closing 10.10 by auction",
            "X expired 20, 0 done",
            "closing price trading",
            "W wakes 15@10.10 leaves 15",
            "W repriced 15@10.10",
        ]
    );
    assert_eq!(market.book(), ["100@10.00", "15@10.10"]);
}

#[test]
fn orders_kept_for_the_volume_trade_with_each_other() {
    let mut market = Market::new(Session::ClosingCall);
    market.buy("B", "10@10");
    market.sell("S", "10@10");
    let volume = || lasting(TimeInForce::AtClosingVolume);
    market.order("V1", Side::Sell, "30", volume());
    market.order("V2", Side::Buy, "20@10.05", volume());
    market.order("V3", Side::Buy, "20", volume());
    let said = market.begin(Session::MarketClose);
    assert_eq!(
        said[1..5],
        [
            "V2 20@10.00 V1 auction leaves 0 10",
            "V3 10@10.00 V1 auction leaves 10 0",
            "auction 40@10.00",
            "closing 10.00 by auction",
        ]
    );
    assert!(said.contains(&"V3 expired 10, 10 done".to_owned()));
    assert_eq!(market.engine.alive(), 0);
}

#[test]
fn orders_wait_for_the_closing_price_and_stand_at_it_by_time() {
    let mut market = Market::new(Session::Regular);
    assert_eq!(market.order("C1", Side::Buy, "10@10.50", at_close), ["C1 parked"]);
    market.order("C2", Side::Buy, "10", at_close);
    market.order("C3", Side::Buy, "10@9.99", at_close);
    market.begin(Session::ClosingCall);
    market.buy("B", "30@10");
    market.sell("S", "10@10");
    let said = market.begin(Session::ClosingPrice);
    assert_eq!(
        said[3..],
        [
            "closing price trading",
            "C1 wakes 10@10.00 leaves 10",
            "C1 repriced 10@10.00",
            "C2 wakes 10@10.00 leaves 10",
            "C2 repriced 10@10.00",
            "C3 expired 10, 0 done",
        ]
    );
    // What the auction left stands in front of them.
    let sell = |order: &mut NewOrder| order.time_in_force = TimeInForce::AtClosingPrice;
    assert_eq!(
        market.order("D", Side::Sell, "35@9", sell),
        [
            "D 20@10.00 B at the close leaves 15 0",
            "D 10@10.00 C1 at the close leaves 5 0",
            "D 5@10.00 C2 at the close leaves 0 5",
        ]
    );
    assert_eq!(market.begin(Session::PostClose), ["post close"]);
    assert_eq!(market.begin(Session::MarketClose), ["market close", "C2 expired 5, 5 done"]);
}

#[test]
fn only_what_is_for_the_closing_price_comes_in_and_all_can_be_cancelled() {
    let mut market = at_10();
    assert_eq!(market.buy("B", "10@10"), ["refused 20001"]);
    for time_in_force in [TimeInForce::AtClosing, TimeInForce::AtClosingVolume] {
        assert_eq!(
            market.order("O", Side::Buy, "10@10", lasting(time_in_force)),
            ["refused 20001"],
            "{time_in_force:?}"
        );
    }
    assert_eq!(market.order("C", Side::Buy, "10@10", at_close), ["C rests 10@10.00 leaves 10"]);
    let late = lasting(TimeInForce::FromClosingVolume);
    assert_eq!(market.order("W", Side::Sell, "4", late), ["W 4@10.00 C at the close leaves 0 6"]);
    assert_eq!(market.order("X", Side::Buy, "9@9", at_close), ["X expired 9, 0 done"]);
    assert_eq!(market.cancel("C", firm(2)), ["C cancelled 6, 4 done"]);
}

#[test]
fn hidden_orders_and_icebergs_trade_at_the_closing_price() {
    let mut market = at_10();
    market.order("I", Side::Buy, "30@10", |order| {
        at_close(order);
        order.display = 10;
    });
    market.order("H", Side::Buy, "10@10", |order| {
        at_close(order);
        order.display = 0;
    });
    assert_eq!(
        market.order("S", Side::Sell, "45", lasting(TimeInForce::AtClosingPrice)),
        [
            "S 10@10.00 I at the close leaves 35 20",
            "S 20@10.00 I hidden at the close leaves 15 0",
            "S 10@10.00 H hidden at the close leaves 5 0",
            "S rests 5@10.00 leaves 5",
            "S repriced 5@10.00",
        ]
    );
}

#[test]
fn amendments_keep_the_closing_price() {
    let mut market = at_10();
    market.order("C1", Side::Buy, "10@10.50", at_close);
    market.order("C2", Side::Buy, "10@10.50", at_close);
    let said = market.amend("C1", firm(2), "5@10.20", |_| {});
    assert_eq!(said, ["C1 amended 5@10.00 leaves 5 kept"]);
    assert_eq!(market.amend("C1", firm(2), "5@9.99", |_| {}), ["refused 20001"]);
    let said = market.amend("C1", firm(2), "20@10", |_| {});
    assert_eq!(said, ["C1 amended 20@10.00 leaves 20 lost"]);
    assert_eq!(market.book()[0], "10@10.00 20@10.00");
}

#[test]
fn a_firm_does_not_trade_with_itself_at_the_closing_price_if_it_says_so() {
    for (how, said) in [
        (SelfMatch::CancelIncoming, ["S own 10, 0 done"].as_slice()),
        (SelfMatch::CancelResting, &["C own 10, 0 done", "S rests 10@10.00 leaves 10"]),
    ] {
        let mut market = at_10();
        market.order("C", Side::Buy, "10@10", at_close);
        let sell = |order: &mut NewOrder| {
            at_close(order);
            order.self_match = how;
        };
        assert_eq!(market.order("S", Side::Sell, "10@10", sell), said);
    }
}

#[test]
fn without_a_closing_auction_there_is_no_closing_price_to_trade_at() {
    let mut market = Market::new(Session::Regular);
    market.buy("B", "10@10");
    market.sell("S", "10@10");
    market.order("C", Side::Buy, "10@11", at_close);
    market.begin(Session::ClosingCall);
    assert_eq!(market.begin(Session::ClosingPrice), ["post close"]);
    assert_eq!(market.order("D", Side::Buy, "10@11", at_close), ["refused 20001"]);
    assert_eq!(
        market.begin(Session::MarketClose),
        ["market close", "closing 10.00 by last", "C expired 10, 0 done"]
    );
}
