//! Auctions within the day, in the middle of regular trading; pauses.

use tapeline_instrument::{AuctionLimits, Cause, Session, Side, Tolerances};
use tapeline_matching::{Config, Kind, NewOrder, TimeInForce};

use crate::support::{Market, firm, price};

const SECOND_NS: u64 = 1_000_000_000;

fn lasting(time_in_force: TimeInForce) -> impl FnOnce(&mut NewOrder) {
    move |order| order.time_in_force = time_in_force
}

/// In the call of an intraday auction.
fn in_call() -> Market {
    let mut market = Market::new(Session::Regular);
    market.begin(Session::IntradayCall);
    market
}

#[test]
fn the_book_takes_part_is_matched_at_one_price_and_is_shown_again() {
    let mut market = Market::new(Session::Regular);
    market.buy("B1", "100@9.98");
    market.sell("S1", "100@10.02");
    market.order("ice", Side::Sell, "90@10.01", |order| order.display = 30);
    market.order("hidden", Side::Buy, "10@9.99", |order| order.display = 0);
    assert_eq!(market.begin(Session::IntradayCall), ["intraday auction call"]);
    assert_eq!(market.buy("B2", "150@10.02"), ["B2 rests 150@10.02 leaves 150"]);
    assert_eq!(market.buy("B3", "20"), ["B3 rests 20@market leaves 20"]);
    assert_eq!(market.tick(SECOND_NS), ["indicative 170@10.02"]);
    assert_eq!(
        market.begin(Session::Regular),
        [
            "B3 20@10.02 ice auction leaves 0 70",
            "B2 10@10.02 ice auction leaves 140 60",
            "B2 60@10.02 ice auction leaves 80 0",
            "B2 80@10.02 S1 auction leaves 0 20",
            "auction 170@10.02",
            "regular trading",
            "B1 shown again 100@9.98",
            "S1 shown again 20@10.02",
        ]
    );
    assert_eq!(market.book(), ["100@9.98", "20@10.02"]);
    // What is measured by the last price goes on from the auction's, and there is no other
    // price of the day.
    assert_eq!(market.buy("B4", "5@10.02"), ["B4 5@10.02 S1 leaves 0 15"]);
}

#[test]
fn it_takes_limit_and_market_orders_and_those_for_auctions_of_its_kind() {
    use TimeInForce as Time;
    let mut market = in_call();
    for (name, time_in_force) in [
        ("day", Time::Day),
        ("next", Time::NextAuction),
        ("every", Time::EveryAuction),
        ("intraday", Time::NextIntraday),
    ] {
        let said = market.order(name, Side::Buy, "10@10", lasting(time_in_force));
        assert_eq!(said, [format!("{name} rests 10@10.00 leaves 10")]);
    }
    for time_in_force in [
        Time::AtOpening,
        Time::AtClosing,
        Time::AtClosingVolume,
        Time::FromClosingVolume,
        Time::AtClosingPrice,
        Time::ImmediateOrCancel,
        Time::FillOrKill,
    ] {
        let said = market.order("other", Side::Buy, "10@10", lasting(time_in_force));
        assert_eq!(said, ["refused 20001"], "{time_in_force:?}");
    }
    let limit = Some(price("10"));
    for kind in [
        Kind::Stop(price("10")),
        Kind::StopLimit { stop: price("10"), limit: price("10") },
        Kind::Pegged { limit, min_quantity: 0 },
    ] {
        let said = market.order("other", Side::Buy, "10@10", |order| {
            order.kind = kind;
            order.display = if matches!(kind, Kind::Pegged { .. }) { 0 } else { 10 };
        });
        assert_eq!(said, ["refused 20001"], "{kind:?}");
    }
    // Who trades with pegged orders as well is a limit order.
    let said =
        market.order("or", Side::Buy, "10@10", |order| order.kind = Kind::OrPegged { limit });
    assert_eq!(said, ["or rests 10@10.00 leaves 10"]);
}

#[test]
fn orders_for_an_intraday_auction_wait_for_it_and_for_no_other() {
    let mut market = Market::new(Session::OpeningCall);
    let until = |market: &mut Market, name, text| {
        market.order(name, Side::Buy, text, lasting(TimeInForce::NextIntraday))
    };
    assert_eq!(until(&mut market, "G1", "100@10"), ["G1 parked"]);
    assert_eq!(market.begin(Session::Regular), ["regular trading"]);
    assert_eq!(until(&mut market, "G2", "50@9"), ["G2 parked"]);
    assert_eq!(
        market.begin(Session::IntradayCall),
        ["intraday auction call", "G1 wakes 100@10.00 leaves 100", "G2 wakes 50@9.00 leaves 50"]
    );
    market.sell("S", "30@10");
    assert_eq!(
        market.begin(Session::Regular),
        [
            "G1 30@10.00 S auction leaves 70 0",
            "auction 30@10.00",
            "G1 expired 70, 30 done",
            "G2 expired 50, 0 done",
            "regular trading",
        ]
    );
    assert_eq!(until(&mut market, "G3", "10@10"), ["G3 parked"]);
    assert_eq!(market.begin(Session::ClosingCall), ["closing call"], "it is none of its kind");
}

#[test]
fn the_next_auction_may_be_within_the_day() {
    let mut market = Market::new(Session::Regular);
    market.order("next", Side::Buy, "10@10", lasting(TimeInForce::NextAuction));
    market.order("every", Side::Buy, "10@10", lasting(TimeInForce::EveryAuction));
    market.order("close", Side::Buy, "10@10", lasting(TimeInForce::AtClosing));
    assert_eq!(
        market.begin(Session::IntradayCall),
        [
            "intraday auction call",
            "next wakes 10@10.00 leaves 10",
            "every wakes 10@10.00 leaves 10"
        ]
    );
    assert_eq!(
        market.begin(Session::Regular),
        ["next expired 10, 0 done", "every parked again, was 10@10.00", "regular trading"]
    );
}

#[test]
fn orders_that_it_takes_can_be_amended_in_it_and_all_can_be_cancelled() {
    let mut market = Market::new(Session::Regular);
    market.order("stop", Side::Sell, "10", |order| order.kind = Kind::Stop(price("9")));
    market.order("close", Side::Sell, "10@10", lasting(TimeInForce::AtClosing));
    market.buy("B", "10@9.90");
    market.begin(Session::IntradayCall);
    assert_eq!(market.amend("B", firm(2), "20@9.95", |_| {}), ["B amended 20@9.95 leaves 20 lost"]);
    assert_eq!(market.amend("stop", firm(1), "5", |_| {}), ["refused 20001"]);
    assert_eq!(market.amend("close", firm(1), "5@10", |_| {}), ["refused 20001"]);
    assert_eq!(market.cancel("stop", firm(1)), ["stop cancelled 10, 0 done"]);
    assert_eq!(market.cancel("close", firm(1)), ["close cancelled 10, 0 done"]);
    assert_eq!(market.cancel("B", firm(2)), ["B cancelled 20, 0 done"]);
}

#[test]
fn its_price_elects_stop_orders_and_pegged_orders_wait_meanwhile() {
    let mut market = Market::new(Session::Regular);
    market.buy("B", "10@9.90");
    market.sell("S", "10@10.10");
    market.order("peg", Side::Sell, "7", |order| {
        order.kind = Kind::Pegged { limit: None, min_quantity: 0 };
        order.display = 0;
    });
    market.order("stop", Side::Sell, "4", |order| order.kind = Kind::Stop(price("9.95")));
    let said = market.begin(Session::IntradayCall);
    assert_eq!(said, ["intraday auction call", "peg parked"]);
    market.sell("S2", "5@9.90");
    let said = market.begin(Session::Regular);
    assert_eq!(
        said,
        [
            "B 5@9.90 S2 auction leaves 5 0",
            "auction 5@9.90",
            "regular trading",
            "B shown again 5@9.90",
            "S shown again 10@10.10",
            "stop 4@9.90 B leaves 0 1",
            "peg wakes 0@market leaves 7",
        ]
    );
}

#[test]
fn it_goes_on_for_orders_without_a_limit_and_ends_before_the_closing_call() {
    let config =
        Config { market_extension_ns: 60 * SECOND_NS, extension_random_ns: 0, ..Config::default() };
    let mut market = Market::trading(config, |instrument| {
        instrument.auctions = AuctionLimits { tolerance_bp: 100, min_closing_volume: 0 };
    });
    for session in [Session::OpeningCall, Session::Regular, Session::IntradayCall] {
        market.begin(session);
    }
    market.buy("B", "10");
    market.sell("S", "5@10");
    let goes_on = "intraday auction call goes on 60 s: MarketOrders";
    assert_eq!(market.begin(Session::Regular), [goes_on]);
    assert_eq!(market.session(), Session::IntradayCall);
    // The closing call cannot follow it, so it ends first.
    assert_eq!(
        market.begin(Session::ClosingCall),
        [
            "B 5@10.00 S auction leaves 5 0",
            "auction 5@10.00",
            "B expired 5, 5 done",
            "regular trading",
            "closing call",
        ]
    );
}

#[test]
fn a_circuit_breakers_call_is_taken_over_by_it() {
    let mut market = Market::tolerating(Tolerances { dynamic_bp: 200, static_bp: 500 });
    market.sell("S", "10@10");
    market.buy("B", "10@10");
    market.sell("S2", "10@11");
    market.order("G", Side::Sell, "10@10.60", lasting(TimeInForce::NextIntraday));
    assert_eq!(market.buy("B2", "10@11")[0], "circuit breaker call");
    assert_eq!(
        market.begin(Session::IntradayCall),
        ["intraday auction call", "G wakes 10@10.60 leaves 10"]
    );
    // It is over by the schedule, not by the time of the call that it took over.
    assert_eq!(market.tick(120 * SECOND_NS), ["indicative 10@10.60"]);
    assert_eq!(market.begin(Session::Regular)[0], "B2 10@10.60 G auction leaves 0 0");
}

#[test]
fn what_is_halted_in_it_goes_on_with_it() {
    let mut market = in_call();
    market.buy("B", "10@10");
    market.sell("S", "10@10");
    assert_eq!(
        market.by(Session::Halt, Cause::Operator),
        ["halted", "B shown again 10@10.00", "S shown again 10@10.00"]
    );
    assert_eq!(market.begin(Session::Regular), ["refused 20009"], "operators end a halt");
    assert_eq!(market.by(Session::IntradayCall, Cause::Operator), ["intraday auction call"]);
    assert_eq!(market.begin(Session::Regular)[0], "B 10@10.00 S auction leaves 0 0");
}

#[test]
fn edsp_and_periodic_auctions_take_orders_for_them_alone_and_the_book_takes_part() {
    for call in [Session::EdspCall, Session::PeriodicCall] {
        let mut market = Market::new(Session::Regular);
        market.buy("B", "100@10");
        market.order("G1", Side::Sell, "30@9.90", lasting(TimeInForce::NextIntraday));
        market.order("next", Side::Sell, "30@9.90", lasting(TimeInForce::NextAuction));
        market.order("every", Side::Sell, "30@9.90", lasting(TimeInForce::EveryAuction));
        assert_eq!(market.begin(call), [call.name(), "G1 wakes 30@9.90 leaves 30"]);
        for time_in_force in [
            TimeInForce::Day,
            TimeInForce::NextAuction,
            TimeInForce::EveryAuction,
            TimeInForce::AtClosing,
            TimeInForce::ImmediateOrCancel,
        ] {
            let said = market.order("X", Side::Sell, "10@10", lasting(time_in_force));
            assert_eq!(said, ["refused 20001"], "{time_in_force:?}");
        }
        assert_eq!(market.sell("X", "10"), ["refused 20001"]);
        let said = market.order("G2", Side::Sell, "50", lasting(TimeInForce::NextIntraday));
        assert_eq!(said, ["G2 rests 50@market leaves 50"]);
        // What the call does not take is not amended in it, but can be cancelled.
        assert_eq!(market.amend("B", firm(2), "90@10", |_| {}), ["refused 20001"]);
        let said = market.amend("G1", firm(1), "40@9.90", |_| {});
        assert_eq!(said, ["G1 amended 40@9.90 leaves 40 lost"]);
        assert_eq!(market.cancel("next", firm(1)), ["next cancelled 30, 0 done"]);
        assert_eq!(market.tick(SECOND_NS), ["indicative 90@10.00"]);
        assert_eq!(
            market.begin(Session::Regular),
            [
                "B 50@10.00 G2 auction leaves 50 0",
                "B 40@10.00 G1 auction leaves 10 0",
                "auction 90@10.00",
                "regular trading",
            ]
        );
        assert_eq!(market.book(), ["10@10.00", ""]);
    }
}

#[test]
fn in_a_pause_nothing_comes_changes_or_goes_and_what_was_collected_is_matched_behind_it() {
    let mut market = Market::new(Session::OpeningCall);
    market.buy("B", "10@10");
    market.sell("S", "10@9");
    assert_eq!(market.by(Session::Pause, Cause::Scheduled), ["refused 20009"]);
    assert_eq!(market.by(Session::Pause, Cause::Operator), ["paused"]);
    assert_eq!(market.sell("X", "10@10"), ["refused 20001"]);
    assert_eq!(market.amend("B", firm(2), "5@10", |_| {}), ["refused 20001"]);
    assert_eq!(market.cancel("B", firm(2)), ["refused 20001"]);
    assert_eq!(market.begin(Session::Regular), ["refused 20009"], "operators end it");
    assert_eq!(market.by(Session::ResumeCall, Cause::Operator), ["resume call"]);
    assert_eq!(market.by(Session::Pause, Cause::Operator), ["paused"]);
    let said = market.by(Session::Regular, Cause::Operator);
    assert_eq!(said, ["B 10@9.00 S auction leaves 0 0", "auction 10@9.00", "regular trading"]);
    // The day ends it, too.
    market.buy("B2", "10@10");
    market.by(Session::Pause, Cause::Operator);
    assert_eq!(
        market.begin(Session::MarketClose),
        ["market close", "closing 9.00 by last", "B2 expired 10, 0 done"]
    );
}

#[test]
fn orders_whose_second_comes_in_a_pause_expire() {
    let mut market = Market::new(Session::Regular);
    let until_s = (market.now_ns / SECOND_NS + 10) as u32;
    market.order("B", Side::Buy, "10@10", lasting(TimeInForce::UntilTime(until_s)));
    market.by(Session::Pause, Cause::Operator);
    assert_eq!(market.tick(20 * SECOND_NS), ["B expired 10, 0 done"]);
}
