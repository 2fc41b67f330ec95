//! Trading at the closing price, by both gateways.

use tapeline_exchange::{ExchangeConfig, Plan};
use tapeline_fix::{Writer, tag};
use tapeline_instrument::{Schedule, Session, Turn};
use tapeline_ntg::Message;

use crate::support::fix::{Client, put_order};
use crate::support::{Venue, cancel, config, new, order, replace, successor};

/// The native gateway's times in force.
const NEXT_AUCTION: u8 = 50;
const CLOSING_PRICE: u8 = 12;
const CLOSING_VOLUME: u8 = 54;
const FROM_CLOSING_VOLUME: u8 = 55;

/// A day of seconds: the closing call at 5, its price from 8 to 12.
pub(crate) fn short_day() -> ExchangeConfig {
    let turns = [
        (1, Session::OpeningCall),
        (2, Session::Regular),
        (5, Session::ClosingCall),
        (8, Session::ClosingPrice),
        (12, Session::PostClose),
        (14, Session::MarketClose),
        (16, Session::Closed),
    ];
    let turn = |(at_s, session)| Turn { at_s, session, random_s: 0 };
    let schedule = Schedule::new(turns.map(turn).to_vec()).expect("in order");
    ExchangeConfig { plan: Plan::Schedule { schedule, day_s: 100 }, ..config() }
}

/// Goes on to a second, and says what happened but heartbeats and indicative prices.
pub(crate) fn until(venue: &mut Venue, second: u64) -> Vec<String> {
    while venue.now.as_nanos() < second * 1_000_000_000 {
        venue.after(500);
    }
    let lines = venue.lines().into_iter();
    lines.filter(|line| !line.ends_with("< 0") && !line.starts_with("I ")).collect()
}

fn lasting(name: &str, text: &str, time_in_force: u8) -> Message {
    let mut order = order(name, text);
    order.time_in_force = time_in_force;
    Message::NewOrder(order)
}

#[test]
fn what_waits_for_the_closing_price_is_told_row_by_row() {
    let config = short_day();
    let mut venue = Venue::new(&config);
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    until(&mut venue, 3);
    venue.says(ann, &lasting("C1", "sell 30@9.50", CLOSING_PRICE));
    venue.says(bob, &lasting("V1", "buy 20@10.10", CLOSING_VOLUME));
    venue.says(bob, &lasting("W1", "buy 5@10.10", FROM_CLOSING_VOLUME));
    assert_eq!(
        venue.lines(),
        ["ANN < 9/9 C1 leaves 30", "BOB < 9/9 V1 leaves 20", "BOB < 9/9 W1 leaves 5"]
    );
    assert_eq!(until(&mut venue, 6), ["H d"]);
    venue.says(ann, &new("A2", "sell 50@10.00"));
    venue.says(bob, &new("B2", "buy 40@10.00"));
    venue.says(ann, &lasting("A3", "sell 15@10.00", NEXT_AUCTION));
    venue.lines();
    assert_eq!(
        until(&mut venue, 9),
        [
            "BOB < F/2 B2 leaves 0 40@10.00 C",
            "ANN < F/1 A2 leaves 10 40@10.00 C",
            "BOB < F/1 V1 leaves 5 15@10.00 C",
            "ANN < F/2 A3 leaves 0 15@10.00 C",
            "BOB < C/6 V1 leaves 0",
            "ANN < 0/0 C1 leaves 30",
            "ANN < D/0 C1 leaves 30",
            "BOB < F/2 W1 leaves 0 5@10.00 R flags 2",
            "ANN < F/1 A2 leaves 5 5@10.00 A flags 2",
            "C 40",
            "C 40",
            "C 15",
            "Q 55@10.00",
            "w C 10.00",
            "H u",
            "A S 30@10.00",
            "E 5",
        ]
    );
    venue.says(bob, &lasting("C2", "buy 25@10.20", CLOSING_PRICE));
    assert_eq!(
        venue.lines(),
        [
            "BOB < F/1 C2 leaves 20 5@10.00 R flags 2",
            "ANN < F/2 A2 leaves 0 5@10.00 A flags 2",
            "BOB < F/2 C2 leaves 0 20@10.00 R flags 2",
            "ANN < F/1 C1 leaves 10 20@10.00 A flags 2",
            "E 5",
            "E 20",
        ]
    );
    venue.says(bob, &new("B3", "buy 25@10.20"));
    assert_eq!(venue.lines(), ["BOB < 8/8 B3 leaves 0 code 20001"]);
    venue.says(bob, &lasting("C3", "buy 25@9.99", CLOSING_PRICE));
    assert_eq!(venue.lines(), ["BOB < C/6 C3 leaves 0"], "it does not reach the price");
    venue.says(ann, &replace("C4", "C1", "sell 25@9.50"));
    assert_eq!(venue.lines(), ["ANN < 5/1 C4 leaves 5", "U 5@10.00 1"]);
    assert_eq!(until(&mut venue, 13), ["H b"]);
    venue.says(bob, &lasting("C5", "buy 25", CLOSING_PRICE));
    assert_eq!(venue.lines(), ["BOB < 8/8 C5 leaves 0 code 20001"]);
    assert_eq!(until(&mut venue, 15), ["ANN < C/6 C4 leaves 0", "H c", "D"]);
    assert_eq!(venue.exchange.counts().closing_price_trades, 3);
    let again = successor(&config, &venue);
    assert_eq!(again.exchange.position(), venue.exchange.position());
}

#[test]
fn by_fix_it_has_no_time_in_force_and_a_session() {
    let mut venue = Venue::new(&short_day());
    let mut ann = Client::log_on(&mut venue, "ANN");
    let bob = venue.log_on("BOB");
    until(&mut venue, 3);
    ann.hears(&mut venue);
    let for_closing_price = |fields: &mut Writer<'_>| {
        put_order(fields, "C1", "sell 30@9.50");
        fields.byte(tag::NO_TRADING_SESSIONS, b'1').byte(tag::TRADING_SESSION_ID, b'a');
    };
    assert_eq!(ann.asks(&mut venue, "D", for_closing_price), ["9/9 C1 0+30 of 30"]);
    assert!(ann.last.contains("|336=a|") && !ann.last.contains("|59="), "{}", ann.last);
    for letter in [b'D', b'E'] {
        let name = format!("V{}", char::from(letter));
        let body = |fields: &mut Writer<'_>| {
            put_order(fields, &name, "sell 1@11");
            fields.byte(tag::TIME_IN_FORCE, letter);
        };
        assert_eq!(ann.asks(&mut venue, "D", body), [format!("9/9 {name} 0+1 of 1")]);
    }
    until(&mut venue, 6);
    venue.says(bob, &new("B1", "buy 5@10.00"));
    venue.says(bob, &new("B2", "sell 5@10.00"));
    until(&mut venue, 9);
    assert_eq!(
        ann.hears(&mut venue),
        ["C/C VD 0+0 of 1", "0/0 C1 0+30 of 30", "D/0 C1 0+30 of 30", "C/C VE 0+0 of 1"]
    );
    venue.says(bob, &lasting("B3", "buy 10@10.20", CLOSING_PRICE));
    assert_eq!(ann.hears(&mut venue), ["F/1 C1 10+20 of 30 10@10"]);
    assert!(ann.last.contains("|828=67|") && ann.last.contains("|44=10"), "{}", ann.last);
    let restated = |fields: &mut Writer<'_>| {
        put_order(fields, "C2", "sell 10@9.90");
        fields.byte(tag::NO_TRADING_SESSIONS, b'1').byte(tag::TRADING_SESSION_ID, b'a');
    };
    assert_eq!(ann.asks(&mut venue, "D", restated), ["0/0 C2 0+10 of 10", "D/0 C2 0+10 of 10"]);
    assert!(ann.last.contains("|378=3|"), "{}", ann.last);
}

#[test]
fn whoever_goes_on_in_the_middle_of_it_has_the_closing_price() {
    let config = short_day();
    let mut venue = Venue::new(&config);
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    until(&mut venue, 6);
    venue.says(ann, &new("A1", "sell 5@10.00"));
    venue.says(bob, &new("B1", "buy 5@10.00"));
    until(&mut venue, 9);
    let mut order = order("C1", "buy 10@10.50");
    (order.time_in_force, order.auto_cancel) = (CLOSING_PRICE, 0);
    venue.says(bob, &Message::NewOrder(order));
    let mut state = Vec::new();
    venue.exchange.save(&mut state).expect("all is done");
    let mut other = Venue::new(&config);
    other.exchange = tapeline_exchange::Exchange::new(&config, crate::support::EPOCH_NS);
    other.exchange.restore(&state).expect("a state");
    other.now = venue.now;
    other.exchange.open(other.now, &mut other.wires);
    let ann = other.log_on("ANN");
    other.lines();
    other.says(ann, &lasting("C2", "sell 4@9.00", CLOSING_PRICE));
    let lines = other.lines();
    assert_eq!(lines.first().map(String::as_str), Some("ANN < F/2 C2 leaves 0 4@10.00 R flags 2"));
    other.says(ann, &cancel("C3", "C2"));
    assert_eq!(other.lines(), ["ANN < 9 C3 20000 app 1"]);
}
