//! Calls, and what trades at their end.

use tapeline_instrument::{Cause, Session, Side};
use tapeline_matching::{Config, Kind, NewOrder, TimeInForce};

use crate::support::{HOUR_NS, Market, firm, price};

fn lasting(time_in_force: TimeInForce) -> impl FnOnce(&mut NewOrder) {
    move |order| order.time_in_force = time_in_force
}

#[test]
fn one_price_in_priority_order_and_the_rest_as_left() {
    let mut market = Market::new(Session::OpeningCall);
    market.buy("B1", "200@1.02");
    market.buy("B2", "300@1.01");
    market.buy("B3", "100@1.00");
    market.sell("S1", "150@0.99");
    market.sell("S2", "150@1.00");
    market.sell("S3", "250@1.01");
    assert_eq!(
        market.begin(Session::Regular),
        [
            "B1 150@1.01 S1 auction leaves 50 0",
            "B1 50@1.01 S2 auction leaves 0 100",
            "B2 100@1.01 S2 auction leaves 200 0",
            "B2 200@1.01 S3 auction leaves 0 50",
            "auction 500@1.01",
            "opening 1.01 by auction",
            "regular trading",
        ]
    );
    assert_eq!(market.book(), ["100@1.00", "50@1.01"]);
}

#[test]
fn market_orders_come_first_and_expire_if_they_are_left() {
    let mut market = Market::with(Config::default(), Session::OpeningCall, Some("10"));
    market.buy("limit", "50@10.05");
    market.buy("any", "100");
    assert_eq!(market.book()[0], "100@market 50@10.05");
    market.sell("sell", "80");
    let lines = market.begin(Session::Regular);
    assert_eq!(lines[0], "any 80@10.05 sell auction leaves 20 0");
    assert!(lines.contains(&"any expired 20, 80 done".to_owned()), "{lines:?}");
    assert_eq!(market.book(), ["50@10.05", ""]);
}

#[test]
fn icebergs_and_hidden_orders_take_part_with_all_they_have() {
    let mut market = Market::new(Session::OpeningCall);
    market.order("ice", Side::Sell, "500@10", |order| order.display = 100);
    market.order("hidden", Side::Sell, "300@10", |order| order.display = 0);
    market.sell("plain", "200@10");
    market.buy("B", "650@10");
    let lines = market.begin(Session::Regular);
    assert_eq!(
        lines[..4],
        [
            "B 100@10.00 ice auction leaves 550 400",
            "B 200@10.00 plain auction leaves 350 0",
            "B 350@10.00 ice auction leaves 0 50",
            "ice shows 50@10.00 leaves 50",
        ]
    );
    assert_eq!(market.book(), ["", "50@10.00"]);
}

#[test]
fn orders_for_auctions_wait_for_theirs_and_do_not_outlast_it() {
    let mut market = Market::new(Session::OpeningCall);
    market.order("open", Side::Buy, "100@10", lasting(TimeInForce::AtOpening));
    assert_eq!(
        market.order("close", Side::Buy, "100@9", lasting(TimeInForce::AtClosing)),
        ["close parked"]
    );
    market.order("every", Side::Buy, "100@8", lasting(TimeInForce::EveryAuction));
    assert_eq!(
        market.begin(Session::Regular),
        ["open expired 100, 0 done", "every parked again, was 100@8.00", "regular trading"]
    );
    assert_eq!(
        market.order("next", Side::Buy, "100@7", lasting(TimeInForce::NextAuction)),
        ["next parked"]
    );
    assert_eq!(
        market.begin(Session::ClosingCall),
        [
            "closing call",
            "close wakes 100@9.00 leaves 100",
            "next wakes 100@7.00 leaves 100",
            "every wakes 100@8.00 leaves 100",
        ]
    );
    market.sell("S", "150@8");
    assert_eq!(
        market.begin(Session::MarketClose),
        [
            "close 100@8.00 S auction leaves 0 50",
            "every 50@8.00 S auction leaves 50 0",
            "auction 150@8.00",
            "closing 8.00 by auction",
            "next expired 100, 0 done",
            "every parked again, was 50@8.00",
            "market close",
            "every expired 50, 50 done",
        ]
    );
    assert_eq!(market.engine.alive(), 0);
}

#[test]
fn the_opening_price_elects_stop_orders() {
    let mut market = Market::new(Session::OpeningCall);
    market.order("stop", Side::Sell, "10", |order| order.kind = Kind::Stop(price("10")));
    market.buy("B1", "100@9.95");
    market.buy("B2", "100@9.90");
    market.sell("S", "100@9.95");
    let lines = market.begin(Session::Regular);
    assert_eq!(lines.last().map(String::as_str), Some("stop 10@9.90 B2 leaves 0 90"));
}

#[test]
fn indicative_prices_come_when_they_change_and_not_too_often() {
    let mut market = Market::new(Session::OpeningCall);
    market.buy("B", "100@10");
    assert_eq!(market.tick(2_000_000_000), [""; 0], "nothing would trade, as before");
    market.sell("S", "60@10");
    assert_eq!(market.tick(1_000_000), [""; 0], "too soon");
    assert_eq!(market.tick(1_000_000_000), ["indicative 60@10.00"]);
    assert_eq!(market.tick(2_000_000_000), [""; 0], "nothing changed");
    market.cancel("S", firm(1));
    assert_eq!(market.tick(2_000_000_000), ["indicative none"]);
}

#[test]
fn orders_with_a_second_stay_to_the_end_of_a_call() {
    let mut market = Market::new(Session::ClosingCall);
    let until_s = (market.now_ns / 1_000_000_000 + 60) as u32;
    market.order("B", Side::Buy, "100@10", lasting(TimeInForce::UntilTime(until_s)));
    assert_eq!(market.tick(HOUR_NS), [""; 0]);
    assert_eq!(market.tick(HOUR_NS), [""; 0]);
    market.sell("S", "40@10");
    let lines = market.by(Session::MarketClose, Cause::Scheduled);
    assert_eq!(lines[0], "B 40@10.00 S auction leaves 60 0");
    assert_eq!(lines.last().map(String::as_str), Some("B expired 60, 40 done"));
}

#[test]
fn after_a_halt_in_a_call_the_call_is_matched() {
    let mut market = Market::new(Session::OpeningCall);
    market.buy("B", "100@10");
    market.sell("S", "100@9");
    assert_eq!(market.by(Session::Halt, Cause::Operator), ["halted"]);
    assert_eq!(market.sell("X", "1@9"), ["refused 20001"]);
    let lines = market.by(Session::Regular, Cause::Operator);
    assert_eq!(lines[0], "B 100@9.00 S auction leaves 0 0");
}
