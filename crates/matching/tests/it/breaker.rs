//! Prices that are too far from those before: they are not traded at, and a call begins.

use tapeline_instrument::{Cause, Session, Side, Tolerances};
use tapeline_matching::{Kind, NewOrder, TimeInForce};

use crate::support::{Market, firm, price};

/// Two per cent from the last trade, five from the last auction.
const TWO_AND_FIVE: Tolerances = Tolerances { dynamic_bp: 200, static_bp: 500 };

const SECOND_NS: u64 = 1_000_000_000;

/// In regular trading, the last trade at 10.
fn traded_at_10() -> Market {
    let mut market = Market::tolerating(TWO_AND_FIVE);
    market.sell("S", "10@10");
    market.buy("B", "10@10");
    market
}

#[test]
fn a_match_too_far_from_the_last_trade_begins_a_call_and_the_rest_joins_it() {
    let mut market = traded_at_10();
    market.sell("S1", "100@10.20");
    market.sell("S2", "100@10.21");
    assert_eq!(
        market.buy("B1", "150@10.30"),
        ["B1 100@10.20 S1 leaves 50 0", "circuit breaker call", "B1 rests 50@10.30 leaves 50",]
    );
    assert_eq!(market.session(), Session::BreakerCall);
    assert_eq!(market.book(), ["50@10.30", "100@10.21"]);
    // Orders are collected, and nothing trades before the end.
    assert_eq!(market.sell("S3", "30@10.25"), ["S3 rests 30@10.25 leaves 30"]);
    assert_eq!(market.tick(59 * SECOND_NS), ["indicative 50@10.21"]);
    assert!(market.engine.is_due(market.now_ns + SECOND_NS));
    assert_eq!(
        market.tick(SECOND_NS),
        ["B1 50@10.21 S2 auction leaves 0 50", "auction 50@10.21", "regular trading",]
    );
    assert_eq!(market.book(), ["", "50@10.21 30@10.25"]);
}

#[test]
fn what_is_tolerated_is_measured_from_the_trade_before_the_order() {
    // One order walks from 10 to 10.20 and no farther, though each step is a small one.
    let mut market = traded_at_10();
    for (name, at) in [("S1", "10@10.10"), ("S2", "10@10.20"), ("S3", "10@10.25")] {
        market.sell(name, at);
    }
    let said = market.buy("B1", "30@10.25");
    assert_eq!(said[..2], ["B1 10@10.10 S1 leaves 20 0", "B1 10@10.20 S2 leaves 10 0"]);
    assert_eq!(said[2], "circuit breaker call");
    // The next one would have been measured from 10.20.
    let mut market = traded_at_10();
    for (name, at) in [("S1", "10@10.10"), ("S2", "10@10.20"), ("S3", "10@10.25")] {
        market.sell(name, at);
    }
    market.buy("B1", "20@10.25");
    assert_eq!(market.buy("B2", "10@10.25"), ["B2 10@10.25 S3 leaves 0 0"]);
}

#[test]
fn the_static_reference_is_the_last_auction_else_the_day_before() {
    let mut market = traded_at_10();
    for at in ["10.20", "10.40", "10.50"] {
        market.sell("S", &format!("10@{at}"));
        assert!(!market.buy("B", &format!("10@{at}")).contains(&"circuit breaker call".to_owned()));
    }
    market.sell("S", "10@10.51");
    assert_eq!(market.buy("B", "10@10.51")[0], "circuit breaker call");
    market.tick(60 * SECOND_NS);
    // The auction was at 10.51, from where five per cent are counted now.
    for at in ["10.70", "10.90", "11.03"] {
        market.sell("S", &format!("10@{at}"));
        assert_eq!(market.buy("B", &format!("10@{at}")).len(), 1, "{at}");
    }
    market.sell("S", "10@11.04");
    assert_eq!(market.buy("B", "10@11.04")[0], "circuit breaker call");
}

#[test]
fn it_works_downwards_too() {
    let mut market = traded_at_10();
    market.buy("B1", "10@9.80");
    market.buy("B2", "10@9.79");
    assert_eq!(
        market.sell("S1", "20@9.70"),
        ["S1 10@9.80 B1 leaves 10 0", "circuit breaker call", "S1 rests 10@9.70 leaves 10",]
    );
}

#[test]
fn what_cannot_wait_expires() {
    let at_once = |time_in_force| move |order: &mut NewOrder| order.time_in_force = time_in_force;
    let mut market = traded_at_10();
    market.sell("S1", "10@10.10");
    market.sell("S2", "10@11");
    // All or nothing would need the price that is too far: nothing, and no call.
    let said = market.order("F", Side::Buy, "20@11", at_once(TimeInForce::FillOrKill));
    assert_eq!(said, ["F expired 20, 0 done"]);
    let said = market.order("I", Side::Buy, "20@11", at_once(TimeInForce::ImmediateOrCancel));
    assert_eq!(
        said,
        ["I 10@10.10 S1 leaves 10 0", "circuit breaker call", "I expired 10, 10 done"]
    );
    let mut market = traded_at_10();
    market.sell("S1", "10@11");
    assert_eq!(market.buy("M", "20"), ["circuit breaker call", "M expired 20, 0 done"]);
}

#[test]
fn stops_that_were_elected_with_the_order_that_trips_join_the_call() {
    let mut market = traded_at_10();
    for (name, stop) in [("one", "10.10"), ("two", "10.15")] {
        market.order(name, Side::Buy, "10@12", |order| {
            order.kind = Kind::StopLimit { stop: price(stop), limit: price("12") };
            order.owner = firm(3);
        });
    }
    let every = |order: &mut NewOrder| order.time_in_force = TimeInForce::EveryAuction;
    market.order("auction", Side::Sell, "5@10.50", every);
    market.sell("S1", "10@10.20");
    market.sell("S2", "10@11");
    assert_eq!(
        market.buy("B1", "10@10.20"),
        [
            "B1 10@10.20 S1 leaves 0 0",
            "circuit breaker call",
            "auction wakes 5@10.50 leaves 5",
            "one wakes 10@12.00 leaves 10",
            "two wakes 10@12.00 leaves 10",
        ]
    );
}

#[test]
fn the_schedule_ends_a_call_and_operators_do() {
    for (session, cause) in
        [(Session::ClosingCall, Cause::Scheduled), (Session::Halt, Cause::Operator)]
    {
        let mut market = traded_at_10();
        market.sell("S1", "10@11");
        market.buy("B1", "10@11");
        assert_eq!(market.session(), Session::BreakerCall);
        assert_eq!(market.by(session, cause), [session.name()]);
        // It is over: nothing is due when it would have ended.
        market.tick(0);
        assert!(!market.engine.is_due(market.now_ns + 60 * SECOND_NS));
        assert_eq!(market.book(), ["10@11.00", "10@11.00"]);
    }
}

#[test]
fn without_tolerances_or_a_price_before_anything_goes() {
    let mut market = Market::new(Session::Regular);
    for at in ["10", "20", "1"] {
        market.sell("S", &format!("10@{at}"));
        assert_eq!(market.buy("B", &format!("10@{at}")).len(), 1);
    }
    // Only the last trade counts, and there is none.
    let mut market = Market::tolerating(Tolerances { dynamic_bp: 100, static_bp: 0 });
    market.sell("S", "10@20");
    assert_eq!(market.buy("B", "10@20"), ["B 10@20.00 S leaves 0 0"]);
}
