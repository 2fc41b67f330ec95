//! Calls that go on beyond their end.

use tapeline_instrument::{AuctionLimits, Cause, Session};
use tapeline_matching::{Command, Config, Event};

use crate::support::{Market, firm};

const SECOND_NS: u64 = 1_000_000_000;

const CONFIG: fn() -> Config = || Config {
    market_extension_ns: 120 * SECOND_NS,
    price_extension_ns: 300 * SECOND_NS,
    extension_random_ns: 0,
    ..Config::default()
};

/// In an opening call behind a close at 10, from which a price may be five per cent away.
fn opening() -> Market {
    let mut market = Market::trading(CONFIG(), |instrument| {
        instrument.auctions = AuctionLimits { tolerance_bp: 500, min_closing_volume: 1_000 };
    });
    market.begin(Session::OpeningCall);
    market
}

/// In a closing call; the last trade was at 10.
fn closing() -> Market {
    let mut market = opening();
    market.begin(Session::Regular);
    market.sell("S", "1@10");
    market.buy("B", "1@10");
    market.begin(Session::ClosingCall);
    market
}

#[test]
fn orders_without_a_limit_that_would_be_left_over_extend_a_call_once() {
    let mut market = opening();
    market.buy("B", "100");
    market.sell("S", "60@10");
    assert_eq!(market.begin(Session::Regular), ["opening call goes on 120 s: MarketOrders"]);
    assert_eq!(market.session(), Session::OpeningCall);
    assert_eq!(market.sell("S2", "10@10"), ["S2 rests 10@10.00 leaves 10"]);
    assert_eq!(market.tick(119 * SECOND_NS), ["indicative 70@10.00"]);
    assert!(!market.engine.is_due(market.now_ns));
    assert!(market.engine.is_due(market.now_ns + SECOND_NS));
    assert_eq!(
        market.tick(SECOND_NS),
        [
            "B 60@10.00 S auction leaves 40 0",
            "B 10@10.00 S2 auction leaves 30 0",
            "auction 70@10.00",
            "opening 10.00 by auction",
            "B expired 30, 70 done",
            "regular trading",
        ]
    );
    assert!(!market.engine.is_due(market.now_ns + 1_000 * SECOND_NS), "it is over");
}

#[test]
fn a_price_too_far_from_the_last_one_extends_a_call_twice() {
    let mut market = opening();
    market.buy("B", "100@10.51");
    market.sell("S", "100@10.51");
    let goes_on = "opening call goes on 300 s: PriceOutside";
    assert_eq!(market.begin(Session::Regular), [goes_on]);
    assert_eq!(market.tick(300 * SECOND_NS), [goes_on]);
    assert_eq!(market.tick(299 * SECOND_NS), ["indicative 100@10.51"]);
    assert_eq!(market.tick(SECOND_NS)[0], "B 100@10.51 S auction leaves 0 0");
    assert_eq!(market.session(), Session::Regular);
    // What is just tolerated extends nothing.
    let mut market = opening();
    market.buy("B", "100@10.50");
    market.sell("S", "100@10.50");
    assert_eq!(market.begin(Session::Regular)[0], "B 100@10.50 S auction leaves 0 0");
}

#[test]
fn both_reasons_extend_one_call_and_what_calms_it_ends_it() {
    let mut market = opening();
    market.buy("B", "100");
    market.sell("S", "60@11");
    assert_eq!(market.begin(Session::Regular), ["opening call goes on 120 s: MarketOrders"]);
    assert_eq!(
        market.tick(120 * SECOND_NS),
        ["opening call goes on 300 s: PriceOutside"],
        "orders without a limit do so only once"
    );
    market.sell("S2", "200@10.20");
    let said = market.tick(300 * SECOND_NS);
    assert_eq!(said[0], "B 100@10.20 S2 auction leaves 0 100");
}

#[test]
fn a_closing_auction_that_stays_outside_trades_enough_or_not_at_all() {
    for (size, volume) in [("999", None), ("1000", Some("auction 1000@11.00"))] {
        let mut market = closing();
        market.buy("B", &format!("{size}@11"));
        market.sell("S", &format!("{size}@11"));
        let goes_on = "closing call goes on 300 s: PriceOutside";
        assert_eq!(market.begin(Session::MarketClose), [goes_on]);
        assert_eq!(market.tick(300 * SECOND_NS), [goes_on]);
        let said = market.tick(300 * SECOND_NS);
        match volume {
            Some(volume) => assert!(said.contains(&volume.to_owned()), "{said:?}"),
            None => assert_eq!(
                said,
                [
                    "closing 10.00 by average",
                    "market close",
                    &format!("S expired {size}, 0 done"),
                    &format!("B expired {size}, 0 done"),
                ]
            ),
        }
    }
}

#[test]
fn without_a_closing_auction_the_average_before_its_call_is_the_closing_price() {
    for (minutes, closing) in [(0, "10.08 by average"), (11, "10.10 by last")] {
        let mut market = opening();
        market.begin(Session::Regular);
        for trade in ["100@10", "400@10.10"] {
            market.sell("S", trade);
            market.buy("B", trade);
        }
        market.tick(minutes * 60 * SECOND_NS);
        market.begin(Session::ClosingCall);
        market.sell("S", "10@12");
        market.buy("B", "10@12");
        market.begin(Session::MarketClose);
        // The call itself is in no average.
        market.tick(300 * SECOND_NS);
        let said = market.tick(300 * SECOND_NS);
        assert_eq!(said[0], format!("closing {closing}"));
    }
}

#[test]
fn without_a_limit_or_a_length_no_call_goes_on() {
    let mut market = Market::new(Session::OpeningCall);
    market.buy("B", "100");
    market.buy("B2", "100@99");
    market.sell("S", "60@99");
    assert!(market.begin(Session::Regular).contains(&"auction 60@99.00".to_owned()));
}

#[test]
fn operators_end_a_call_at_once() {
    let mut market = opening();
    market.buy("B", "100");
    market.sell("S", "60@10");
    assert_eq!(market.begin(Session::Regular).len(), 1);
    assert_eq!(market.by(Session::Halt, Cause::Operator), ["halted"]);
    assert!(!market.engine.is_due(market.now_ns + 1_000 * SECOND_NS), "its end is not due");
}

#[test]
fn what_the_schedule_begins_meanwhile_follows_the_call() {
    let mut market = closing();
    market.buy("B", "10");
    assert_eq!(market.begin(Session::ClosingPrice).len(), 1, "nobody sells");
    assert_eq!(market.begin(Session::PostClose), [""; 0]);
    assert_eq!(market.session(), Session::ClosingCall);
    market.sell("S", "10@10");
    let said = market.tick(120 * SECOND_NS);
    assert_eq!(said[0], "B 10@10.00 S auction leaves 0 0");
    assert_eq!(said.last().map(String::as_str), Some("post close"));
    // The end of the day does not wait.
    let mut market = closing();
    market.buy("B", "10");
    market.begin(Session::PostClose);
    let said = market.begin(Session::MarketClose);
    assert_eq!(said, ["B expired 10, 0 done", "market close"]);
}

#[test]
fn a_session_that_cannot_follow_the_call_ends_it_first() {
    let mut market = opening();
    market.buy("B", "100");
    market.sell("S", "60@10");
    market.begin(Session::Regular);
    let said = market.begin(Session::ClosingCall);
    assert_eq!(said[0], "B 60@10.00 S auction leaves 40 0");
    assert_eq!(said[said.len() - 2..], ["regular trading", "closing call"]);
}

#[test]
fn the_call_of_a_circuit_breaker_goes_on_too() {
    let config = Config { breaker_call_ns: 60 * SECOND_NS, breaker_random_ns: 0, ..CONFIG() };
    let mut market = Market::trading(config, |instrument| {
        instrument.tolerances.static_bp = 200;
        instrument.auctions.tolerance_bp = 500;
    });
    market.begin(Session::OpeningCall);
    market.begin(Session::Regular);
    market.sell("S", "10@11");
    assert_eq!(market.buy("B", "10@11")[0], "circuit breaker call");
    let goes_on = "circuit breaker call goes on 300 s: PriceOutside";
    assert_eq!(market.tick(60 * SECOND_NS), [goes_on]);
    market.cancel("B", firm(2));
    assert_eq!(market.tick(300 * SECOND_NS), ["regular trading"]);
}

/// The end is drawn, by the engine's own generator.
#[test]
fn the_same_seed_draws_the_same_end() {
    let ends_at = |seed| {
        let config = Config { seed, extension_random_ns: 30 * SECOND_NS, ..CONFIG() };
        let mut market = Market::trading(config, |_| {});
        market.begin(Session::OpeningCall);
        market.buy("B", "1");
        let command = Command::Session {
            book: market.book,
            session: Session::Regular,
            cause: Cause::Scheduled,
        };
        let mut events = Vec::new();
        market.engine.handle(market.now_ns, &command, &mut events);
        let [Event::Extended { until_ns, .. }] = events[..] else { panic!("{events:?}") };
        (until_ns - market.now_ns) / SECOND_NS
    };
    let (one, other) = (ends_at(1), ends_at(2));
    assert!((120..=150).contains(&one) && (120..=150).contains(&other) && one != other);
    assert_eq!(ends_at(1), one);
}
