//! The worked examples of the rules, by their names.

use tapeline_instrument::{Session, Side};
use tapeline_matching::{Kind, NewOrder, SelfMatch, TimeInForce};

use crate::support::{Market, firm, price};

fn iceberg(peak: u32) -> impl FnOnce(&mut NewOrder) {
    move |order| order.display = peak
}

#[test]
fn w1_price_before_time_at_the_resting_price() {
    let mut market = Market::new(Session::Regular);
    market.sell("S1", "100@10.02");
    market.sell("S2", "200@10.01");
    market.sell("S3", "150@10.01");
    // The buyer gets no report of a new order before its trades.
    assert_eq!(
        market.buy("B", "300@10.02"),
        ["B 200@10.01 S2 leaves 100 0", "B 100@10.01 S3 leaves 0 50"]
    );
    assert_eq!(market.book(), ["", "50@10.01 100@10.02"]);
}

fn icebergs() -> Market {
    let mut market = Market::new(Session::Regular);
    market.order("I1", Side::Sell, "1000@10", iceberg(100));
    market.sell("L2", "200@10");
    market.order("I3", Side::Sell, "500@10", iceberg(100));
    market
}

#[test]
fn w2_icebergs_show_their_next_part_behind_the_whole_aggression() {
    let mut market = icebergs();
    assert_eq!(
        market.buy("B", "450@10"),
        [
            "B 100@10.00 I1 leaves 350 900",
            "B 200@10.00 L2 leaves 150 0",
            "B 100@10.00 I3 leaves 50 400",
            "B 50@10.00 I1 hidden leaves 0 850",
            "I1 shows 100@10.00 leaves 850",
            "I3 shows 100@10.00 leaves 400",
        ]
    );
    assert_eq!(market.book(), ["", "100@10.00 100@10.00"]);
}

#[test]
fn w3_fill_or_kill_counts_hidden_quantity_and_does_all_or_nothing() {
    let mut market = icebergs();
    let at_once = |time_in_force| {
        move |order: &mut NewOrder| {
            (order.owner, order.time_in_force) = (firm(2), time_in_force);
        }
    };
    let lines = market.order("F", Side::Buy, "2000@10", at_once(TimeInForce::FillOrKill));
    assert_eq!(lines, ["F expired 2000, 0 done"]);
    let lines = market.order("A", Side::Buy, "2000@10", at_once(TimeInForce::ImmediateOrCancel));
    assert_eq!(lines.last().map(String::as_str), Some("A expired 300, 1700 done"));
    assert_eq!(market.book(), ["", ""]);
    let mut market = icebergs();
    let lines = market.order("F", Side::Buy, "1700@10", at_once(TimeInForce::FillOrKill));
    assert_eq!(lines.len(), 5, "{lines:?}");
    assert_eq!(market.engine.alive(), 0);
}

#[test]
fn w4_stop_orders_are_elected_the_nearest_first_behind_the_aggression() {
    let mut market = Market::new(Session::Regular);
    market.sell("S", "10@10.00");
    market.buy("B", "10@10.00");
    let stop = |at: &'static str| {
        move |order: &mut NewOrder| {
            (order.owner, order.kind) = (firm(3), Kind::Stop(price(at)));
        }
    };
    assert_eq!(market.order("far", Side::Buy, "100", stop("10.05")), ["far parked"]);
    assert_eq!(market.order("near", Side::Buy, "50", stop("10.03")), ["near parked"]);
    market.sell("S1", "10@10.06");
    market.sell("S2", "500@10.07");
    assert_eq!(
        market.buy("B", "10@10.06"),
        [
            "B 10@10.06 S1 leaves 0 0",
            "near 50@10.07 S2 leaves 0 450",
            "far 100@10.07 S2 leaves 0 350",
        ]
    );
}

#[test]
fn w5_less_keeps_priority_and_more_loses_it() {
    let mut market = Market::new(Session::Regular);
    market.sell("A", "100@10");
    market.sell("B", "100@10");
    assert_eq!(market.amend("A", firm(1), "60", |_| {}), ["A amended 60@10.00 leaves 60 kept"]);
    assert_eq!(market.book()[1], "60@10.00 100@10.00");
    assert_eq!(market.amend("A", firm(1), "120", |_| {}), ["A amended 120@10.00 leaves 120 lost"]);
    assert_eq!(market.buy("C", "10@10"), ["C 10@10.00 B leaves 0 90"]);
}

#[test]
fn w6_a_firm_does_not_trade_with_itself_if_it_says_so() {
    let own = |self_match| {
        let mut market = Market::new(Session::Regular);
        market.order("own", Side::Sell, "100@10", |order| order.owner = firm(2));
        market.sell("other", "100@10");
        market.order("buy", Side::Buy, "150@10", |order| {
            (order.owner, order.self_match) = (firm(2), self_match);
        })
    };
    assert_eq!(own(SelfMatch::CancelIncoming), ["buy own 150, 0 done"]);
    assert_eq!(
        own(SelfMatch::CancelResting),
        ["own own 100, 0 done", "buy 100@10.00 other leaves 50 0", "buy rests 50@10.00 leaves 50",]
    );
    assert_eq!(own(SelfMatch::Allowed)[0], "buy 100@10.00 own leaves 50 0");
}
