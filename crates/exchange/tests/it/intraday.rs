//! Auctions within the day, of which everybody sees the best prices and no orders.

use tapeline_exchange::{Exchange, ExchangeConfig, Plan};
use tapeline_fix::tag;
use tapeline_instrument::{Schedule, Session, Turn};
use tapeline_mitch::{Message as Mitch, Unit};
use tapeline_ntg::Message;

use crate::closing_price::until;
use crate::support::fix::{Client, put_order};
use crate::support::{EPOCH_NS, Venue, cancel, config, new, order, replace, successor};

/// The native gateway's times in force.
const NEXT_INTRADAY: u8 = 51;
const AT_CLOSING: u8 = 10;

/// A day of seconds: the auction's call from 5 to 8.
fn short_day() -> ExchangeConfig {
    let turns = [
        (1, Session::OpeningCall),
        (2, Session::Regular),
        (5, Session::IntradayCall),
        (8, Session::Regular),
        (12, Session::ClosingCall),
        (14, Session::MarketClose),
        (16, Session::Closed),
    ];
    let turn = |(at_s, session)| Turn { at_s, session, random_s: 0 };
    let schedule = Schedule::new(turns.map(turn).to_vec()).expect("in order");
    ExchangeConfig { plan: Plan::Schedule { schedule, day_s: 100 }, ..config() }
}

fn lasting(name: &str, text: &str, time_in_force: u8) -> Message {
    let mut order = order(name, text);
    order.time_in_force = time_in_force;
    Message::NewOrder(order)
}

#[test]
fn the_book_is_cleared_its_best_prices_are_told_and_its_orders_come_back() {
    let config = short_day();
    let mut venue = Venue::new(&config);
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    until(&mut venue, 3);
    venue.says(ann, &new("A1", "sell 50@10.05"));
    venue.says(ann, &new("A2", "sell 30@10.05"));
    venue.says(bob, &lasting("G1", "buy 20@10.01", NEXT_INTRADAY));
    assert_eq!(
        venue.lines(),
        [
            "ANN < 0/0 A1 leaves 50",
            "A S 50@10.05",
            "ANN < 0/0 A2 leaves 30",
            "A S 30@10.05",
            "BOB < 9/9 G1 leaves 20"
        ]
    );
    assert_eq!(until(&mut venue, 6), ["BOB < 0/0 G1 leaves 20", "H G", "y", "q 20@10.01 80@10.05"]);
    venue.says(bob, &new("B1", "buy 10@10.00"));
    assert_eq!(venue.lines(), ["BOB < 0/0 B1 leaves 10"], "the best prices are what they were");
    venue.says(bob, &new("B2", "buy 60@10.06"));
    assert_eq!(venue.lines(), ["BOB < 0/0 B2 leaves 60", "q 60@10.06 80@10.05"]);
    venue.says(ann, &new("A3", "sell 5"));
    assert_eq!(venue.lines(), ["ANN < 0/0 A3 leaves 5"], "it has no price");
    venue.says(ann, &replace("A4", "A2", "sell 20@10.05"));
    assert_eq!(venue.lines(), ["ANN < 5/0 A4 leaves 20", "q 60@10.06 70@10.05"]);
    venue.says(bob, &cancel("B3", "B1"));
    assert_eq!(venue.lines(), ["BOB < 4/4 B3 leaves 0"]);
    venue.says(ann, &lasting("A5", "sell 5@10.05", AT_CLOSING));
    assert_eq!(venue.lines(), ["ANN < 8/8 A5 leaves 0 code 20001"]);
    assert_eq!(
        until(&mut venue, 9),
        [
            "BOB < F/1 B2 leaves 55 5@10.05 C",
            "ANN < F/2 A3 leaves 0 5@10.05 C",
            "BOB < F/1 B2 leaves 5 50@10.05 C",
            "ANN < F/2 A1 leaves 0 50@10.05 C",
            "BOB < F/2 B2 leaves 0 5@10.05 C",
            "ANN < F/1 A4 leaves 15 5@10.05 C",
            "BOB < C/6 G1 leaves 0",
            "Q 60@10.05",
            "H T",
            "A S 15@10.05",
        ]
    );
    assert_eq!(last_auction_type(&venue), b'G');
    venue.says(bob, &new("B4", "buy 15@10.05"));
    assert_eq!(venue.lines()[2], "E 15");
    let again = successor(&config, &venue);
    assert_eq!(again.exchange.position(), venue.exchange.position());
}

/// Which auction the last one was, by everybody's data.
fn last_auction_type(venue: &Venue) -> u8 {
    let mut last = 0;
    for unit in &venue.wires.units {
        for (_, bytes) in Unit::read(unit).expect("a unit").messages() {
            if let Some(Mitch::AuctionTrade(trade)) = Mitch::read(bytes) {
                last = trade.auction_type;
            }
        }
    }
    last
}

#[test]
fn each_auction_has_its_type_in_market_data() {
    for (call, status, kind) in
        [(Session::EdspCall, "H q", b'B'), (Session::PeriodicCall, "H r", b'F')]
    {
        let turns =
            [(1, Session::OpeningCall), (2, Session::Regular), (5, call), (8, Session::Regular)];
        let turn = |(at_s, session)| Turn { at_s, session, random_s: 0 };
        let schedule = Schedule::new(turns.map(turn).to_vec()).expect("in order");
        let plan = Plan::Schedule { schedule, day_s: 100 };
        let mut venue = Venue::new(&ExchangeConfig { plan, ..config() });
        let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
        until(&mut venue, 3);
        venue.says(ann, &new("A1", "sell 50@10.05"));
        venue.says(bob, &lasting("G1", "buy 20@10.05", NEXT_INTRADAY));
        venue.lines();
        // Its orders are shown as in other calls.
        let lines = until(&mut venue, 6);
        assert_eq!(lines, ["BOB < 0/0 G1 leaves 20", status, "A B 20@10.05"]);
        venue.says(bob, &new("B1", "buy 20@10.05"));
        assert_eq!(venue.lines(), ["BOB < 8/8 B1 leaves 0 code 20001"]);
        let lines = until(&mut venue, 9);
        assert_eq!(lines[2..], ["C 20", "C 20", "Q 20@10.05", "H T"]);
        assert_eq!(last_auction_type(&venue), kind);
    }
}

#[test]
fn by_fix_it_is_time_in_force_8() {
    let mut venue = Venue::new(&short_day());
    let mut ann = Client::log_on(&mut venue, "ANN");
    until(&mut venue, 3);
    ann.hears(&mut venue);
    let good_for_it = |fields: &mut tapeline_fix::Writer<'_>| {
        put_order(fields, "G1", "sell 30@9.50");
        fields.byte(tag::TIME_IN_FORCE, b'8');
    };
    assert_eq!(ann.asks(&mut venue, "D", good_for_it), ["9/9 G1 0+30 of 30"]);
    assert!(ann.last.contains("|59=8|"), "{}", ann.last);
    until(&mut venue, 6);
    assert_eq!(ann.hears(&mut venue), ["0/0 G1 0+30 of 30"]);
    until(&mut venue, 9);
    assert_eq!(ann.hears(&mut venue), ["C/C G1 0+0 of 30"]);
}

#[test]
fn whoever_goes_on_in_the_middle_of_it_tells_the_best_prices_and_no_orders() {
    let config = short_day();
    let mut venue = Venue::new(&config);
    let bob = venue.log_on("BOB");
    until(&mut venue, 3);
    let mut stays = order("B1", "buy 10@10.00");
    stays.auto_cancel = 0;
    venue.says(bob, &Message::NewOrder(stays));
    until(&mut venue, 6);
    let mut state = Vec::new();
    venue.exchange.save(&mut state).expect("all is done");
    let mut other = Venue::new(&config);
    other.exchange = Exchange::new(&config, EPOCH_NS);
    other.exchange.restore(&state).expect("a state");
    other.now = venue.now;
    other.exchange.open(other.now, &mut other.wires);
    let ann = other.log_on("ANN");
    other.lines();
    other.says(ann, &new("A1", "buy 5@9.99"));
    assert_eq!(other.lines(), ["ANN < 0/0 A1 leaves 5"], "it has been told");
    other.says(ann, &new("A2", "buy 5@10.00"));
    assert_eq!(other.lines(), ["ANN < 0/0 A2 leaves 5", "q 15@10.00 0@0.00"]);
    let lines = until(&mut other, 9);
    assert_eq!(lines, ["H T", "A B 10@10.00", "A B 5@10.00", "A B 5@9.99"]);
}
