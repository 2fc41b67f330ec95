//! What operators do with a market, and what everybody hears of it.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use tapeline_exchange::{ExchangeConfig, OperateError, Operation, Plan, Scope};
use tapeline_instrument::{OrderId, Schedule, Session, TradeId, Turn};
use tapeline_layout::Text;
use tapeline_matching::BookId;

use crate::processes::{House, Running, wait_for};
use crate::support::{VOD, Venue, cancel, config, new, successor};

impl Venue {
    fn operate(&mut self, operation: Operation) -> Vec<String> {
        self.exchange.operate(self.now, operation).expect("it is taken");
        self.exchange.cycle(self.now, &mut self.wires);
        self.lines()
    }

    /// The orders that are alive, by their places.
    fn orders(&self) -> Vec<OrderId> {
        let alive = (0..100).filter_map(|slot| self.exchange.engine().order_in(slot));
        alive.map(|(order, _)| order.id).collect()
    }

    fn session(&self) -> Option<Session> {
        self.exchange.engine().session_of(BookId(0))
    }
}

const VODAFONE: Scope = Scope::Instrument(VOD as u32);

fn open() -> ExchangeConfig {
    ExchangeConfig { plan: Plan::Open, ..config() }
}

#[test]
fn a_halt_stops_trading_and_a_call_behind_it_finds_one_price() {
    let mut venue = Venue::new(&open());
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(bob, &new("B1", "buy 50@10.20"));
    venue.lines();

    assert_eq!(venue.operate(Operation::Halt(VODAFONE)), ["H H"]);
    venue.says(bob, &new("B2", "buy 100@10.25"));
    let refused = venue.lines();
    assert!(refused[0].starts_with("BOB < 8/8 B2 leaves 0 code "), "{refused:?}");
    venue.says(bob, &cancel("B3", "B1"));
    assert_eq!(venue.lines(), ["BOB < 4/4 B3 leaves 0", "D"]);

    assert_eq!(venue.operate(Operation::Call(VODAFONE)), ["H f"]);
    venue.says(bob, &new("B4", "buy 60@10.30"));
    let lines = venue.lines();
    assert_eq!(lines[0], "BOB < 0/0 B4 leaves 60", "it is collected");
    let lines = venue.operate(Operation::Resume(VODAFONE));
    assert!(lines.iter().any(|line| line.starts_with("Q 60@")), "one price for all: {lines:?}");
    assert!(lines.contains(&"H T".to_owned()), "{lines:?}");
    assert_eq!(venue.session(), Some(Session::Regular));
    venue.says(bob, &new("B5", "buy 40@10.25"));
    assert!(venue.lines().iter().any(|line| line.starts_with("BOB < F/2 B5")));
    assert_eq!(venue.exchange.counts().operations, 3);
}

#[test]
fn in_a_pause_orders_stay_as_they_are_until_it_is_over() {
    let mut venue = Venue::new(&open());
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.lines();
    assert_eq!(venue.operate(Operation::Pause(VODAFONE)), ["H l"]);
    venue.says(bob, &new("B1", "buy 10@10.25"));
    assert_eq!(venue.lines(), ["BOB < 8/8 B1 leaves 0 code 20001"]);
    venue.says(ann, &cancel("A2", "A1"));
    assert_eq!(venue.lines(), ["ANN < 9 A2 20001 app 1"]);
    assert_eq!(venue.operate(Operation::Resume(VODAFONE)), ["H T"]);
    venue.says(bob, &new("B2", "buy 10@10.25"));
    assert!(venue.lines().contains(&"BOB < F/2 B2 leaves 0 10@10.25 R".to_owned()));
    venue.operate(Operation::Pause(VODAFONE));
    assert_eq!(venue.operate(Operation::Call(VODAFONE)), ["H f"], "or by a call");
}

#[test]
fn orders_and_users_are_cancelled_with_the_reason_that_it_was_the_exchange() {
    let mut venue = Venue::new(&open());
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    for (user, name) in [(ann, "A1"), (ann, "A2"), (bob, "B1"), (bob, "B2")] {
        venue.says(user, &new(name, "buy 10@10.20"));
    }
    let first = venue.orders()[0];
    venue.lines();
    assert_eq!(venue.operate(Operation::CancelOrder(first)), ["ANN < 4/4 A1 leaves 0", "D"]);
    let of_bob = Operation::CancelOrders(Scope::All, Some(Text::new("BOB")));
    let lines = venue.operate(of_bob);
    assert_eq!(lines, ["BOB < 4/4 B1 leaves 0", "D", "BOB < 4/4 B2 leaves 0", "D"]);
    assert_eq!(venue.operate(of_bob), [""; 0], "there are none any more");
    let all = Operation::CancelOrders(VODAFONE, None);
    assert_eq!(venue.operate(all), ["ANN < 4/4 A2 leaves 0", "D"]);
}

#[test]
fn what_there_is_not_is_told_and_changes_nothing() {
    let mut venue = Venue::new(&open());
    let entries = venue.wires.entries.len();
    let nobody = Text::new("EVE");
    for (operation, error) in [
        (Operation::Halt(Scope::Instrument(99)), OperateError::Instrument(99)),
        (Operation::CancelOrders(Scope::All, Some(nobody)), OperateError::User(nobody)),
        (Operation::CancelOrder(OrderId(5)), OperateError::Order(OrderId(5))),
        (Operation::CancelTrade(TradeId(6)), OperateError::Trade(TradeId(6))),
    ] {
        assert_eq!(venue.exchange.operate(venue.now, operation), Err(error));
    }
    venue.exchange.cycle(venue.now, &mut venue.wires);
    assert_eq!((venue.lines(), venue.wires.entries.len()), (vec![], entries));
    let text = OperateError::Instrument(99).to_string();
    assert_eq!(
        text,
        "no instrument 99 is traded here; give the id of one that is, or none for all"
    );
}

/// A day that opens at 1 s and closes at 10 s.
fn short_day() -> ExchangeConfig {
    let turn = |at_s, session| Turn { at_s, session, random_s: 0 };
    let turns = vec![
        turn(1, Session::OpeningCall),
        turn(2, Session::Regular),
        turn(8, Session::ClosingCall),
        turn(10, Session::MarketClose),
    ];
    let schedule = Schedule::new(turns).expect("in order");
    ExchangeConfig { plan: Plan::daily(schedule), ..config() }
}

#[test]
fn what_is_halted_over_a_turn_of_the_day_goes_on_with_what_the_day_has_then() {
    let mut venue = Venue::new(&short_day());
    let ann = venue.log_on("ANN");
    venue.after(2_000);
    assert_eq!(venue.session(), Some(Session::Regular));
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.operate(Operation::Halt(Scope::All));
    venue.after(6_000);
    assert_eq!(venue.session(), Some(Session::Halt), "no schedule ends a halt");
    venue.lines();
    assert!(venue.operate(Operation::Resume(Scope::All)).contains(&"H d".to_owned()));
    assert_eq!(venue.session(), Some(Session::ClosingCall));
}

#[test]
fn the_day_ends_for_what_is_halted_too() {
    let mut venue = Venue::new(&short_day());
    let ann = venue.log_on("ANN");
    venue.after(2_000);
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.operate(Operation::Halt(Scope::All));
    venue.lines();
    venue.after(9_000);
    let lines = venue.lines();
    assert!(lines.contains(&"ANN < C/6 A1 leaves 0".to_owned()), "orders of the day: {lines:?}");
    assert_eq!(venue.session(), Some(Session::MarketClose));
}

#[test]
fn a_successor_is_where_operators_left_the_market() {
    let config = open();
    let mut venue = Venue::new(&config);
    let ann = venue.log_on("ANN");
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(ann, &new("A2", "sell 100@10.26"));
    let first = venue.orders()[0];
    venue.operate(Operation::CancelOrder(first));
    venue.operate(Operation::Halt(VODAFONE));
    let after = successor(&config, &venue);
    assert_eq!(after.session(), Some(Session::Halt));
    assert_eq!((after.orders(), after.orders().len()), (venue.orders(), 1));
    let here = |venue: &Venue| (venue.exchange.position().1, venue.exchange.position().2);
    assert_eq!(here(&after), here(&venue));
}

/// What an admin port answers to what an operator says.
fn says(market: &Running, words: &str) -> String {
    let mut stream = TcpStream::connect(&market.ports["admin"]).expect("it listens");
    let words = words.replace(' ', "%20");
    let head = "Host: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
    write!(stream, "POST /v1/operate?words={words} HTTP/1.1\r\n{head}").expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    answer
}

/// Waits for a line of the log with all of this in it.
fn await_line(market: &Running, parts: &[&str]) {
    wait_for(&format!("a line with {parts:?}"), || {
        let log = fs::read_to_string(&market.log).expect("a log");
        log.lines().any(|line| parts.iter().all(|part| line.contains(part))).then_some(())
    });
}

#[test]
fn a_market_is_halted_through_its_admin_port_and_stays_so_when_it_is_killed() {
    let mut house = House::new("");
    let mut market = house.start_watched();
    let said = says(&market, "halt 7");
    assert!(said.starts_with("HTTP/1.1 200") && said.contains("\"done\":1"), "{said}");
    await_line(&market, &["operators begin a session", "instrument=7", "changed=1", "halted"]);
    await_line(&market, &["an operator wants something done", "words=\"halt 7\"", "who="]);
    for (words, why) in [
        ("halt 8", "no instrument 8 is traded here"),
        ("stop", "`stop` is not understood; an exchange understands: halt [INSTRUMENT]"),
    ] {
        let said = says(&market, words);
        assert!(said.starts_with("HTTP/1.1 409") && said.contains(why), "{said}");
    }
    market.child.kill().expect("it runs");
    market.child.wait().expect("a child");
    let market = house.start_watched();
    says(&market, "resume 7");
    await_line(&market, &["operators begin a session", "changed=1", "regular trading"]);
}
