//! Drop copies: what they may ask, and what they are told unasked.

use std::time::Duration;

use tapeline_exchange::{Exchange, ExchangeConfig, Plan, UserConfig};
use tapeline_fix::{Store, Writer, tag};
use tapeline_instrument::{Schedule, Session, Tolerances, Turn};
use tapeline_matching::BookId;
use tapeline_mitch::{Message as Mitch, Unit};
use tapeline_ntg::client::NewOrder;

use crate::support::fix::{Client, put_order};
use crate::support::{
    EPOCH_NS, VOD, Venue, cancel, config, new, order as order_of, replace, successor,
};

/// ANN of firm 1, BOB of firm 2, and OPS, who gets copies of firm 1.
fn watched() -> ExchangeConfig {
    let mut config = config();
    let watcher = UserConfig { name: "OPS".to_owned(), copies: vec![1], ..config.users[0].clone() };
    config.users.push(UserConfig { password: "OPS-secret1".to_owned(), ..watcher });
    config.fix.throttle_per_s = u32::MAX;
    config
}

fn about_orders(kind: &'static str) -> impl Fn(&mut Writer<'_>) {
    move |fields| {
        fields.text(tag::MASS_STATUS_REQ_ID, b"Q").text(tag::MASS_STATUS_REQ_TYPE, kind.as_bytes());
    }
}

fn about_a_party(id: &'static str, role: i64) -> impl Fn(&mut Writer<'_>) {
    move |fields| {
        about_orders("8")(fields);
        fields.number(tag::NO_PARTY_IDS, 1).text(tag::PARTY_ID, id.as_bytes());
        fields.byte(tag::PARTY_ID_SOURCE, b'D').number(tag::PARTY_ROLE, role);
    }
}

fn about_an_instrument(instrument: i32) -> impl Fn(&mut Writer<'_>) {
    move |fields| {
        about_orders("1")(fields);
        fields.number(tag::SECURITY_ID, instrument.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
    }
}

fn about_a_user(name: &'static str, kind: i64) -> impl Fn(&mut Writer<'_>) {
    move |fields| {
        fields.text(tag::USER_REQUEST_ID, b"Q").number(tag::USER_REQUEST_TYPE, kind);
        fields.text(tag::USERNAME, name.as_bytes());
    }
}

const NONE: &str = "I/8 - 0+0 of - to Q last Y: no more orders";

#[test]
fn a_drop_copy_asks_which_orders_its_firms_have() {
    let mut venue = Venue::new(&watched());
    let mut ann = Client::log_on(&mut venue, "ANN");
    ann.asks(&mut venue, "D", |fields| put_order(fields, "A1", "sell 100@10.25"));
    let bob = venue.log_on("BOB");
    venue.says(bob, &new("B1", "buy 30@10.25"));
    venue.says(bob, &new("B2", "buy 5@10.00"));
    let native = venue.log_on("ANN");
    venue.hangs_up(native);
    ann.asks(&mut venue, "D", |fields| put_order(fields, "A2", "buy 7@9.00"));
    let mut ops = Client::log_on(&mut venue, "OPS");
    ops.said();
    let both = ["I/1 A1 30+70 of 100 of ANN to Q", "I/0 A2 0+7 of 7 of ANN to Q last Y"];
    assert_eq!(ops.asks(&mut venue, "AF", about_orders("7")), both);
    assert_eq!(ops.asks(&mut venue, "AF", about_an_instrument(VOD)), both);
    assert_eq!(ops.asks(&mut venue, "AF", about_an_instrument(999)), [NONE]);
    assert_eq!(ops.asks(&mut venue, "AF", about_a_party("ANN", 76)), both);
    // What is the group of traders of both orders.
    assert_eq!(ops.asks(&mut venue, "AF", about_a_party("DESK", 76)), both);
    assert_eq!(ops.asks(&mut venue, "AF", about_a_party("1", 1)), both);
    // Of firms whose reports it does not get, it hears nothing.
    assert_eq!(ops.asks(&mut venue, "AF", about_a_party("2", 1)), [NONE]);
    assert_eq!(ops.asks(&mut venue, "AF", about_a_party("BOB", 76)), [NONE]);
    assert_eq!(ops.asks(&mut venue, "AF", about_orders("3")), ["3 585 5: there is no such value"]);
    let counts = venue.exchange.counts();
    assert_eq!((counts.questions, counts.orders_told), (8, 10));
}

#[test]
fn a_drop_copy_asks_whether_users_of_its_firms_are_logged_on() {
    let mut venue = Venue::new(&watched());
    let mut ops = Client::log_on(&mut venue, "OPS");
    ops.said();
    assert_eq!(ops.asks(&mut venue, "BE", about_a_user("ANN", 4)), ["BF ANN 2"]);
    let ann = venue.log_on("ANN");
    assert_eq!(ops.asks(&mut venue, "BE", about_a_user("ANN", 4)), ["BF ANN 1"]);
    venue.hangs_up(ann);
    assert_eq!(ops.asks(&mut venue, "BE", about_a_user("ANN", 4)), ["BF ANN 2"]);
    // Of another firm, and nobody.
    venue.log_on("BOB");
    assert_eq!(ops.asks(&mut venue, "BE", about_a_user("BOB", 4)), ["BF BOB 3"]);
    assert_eq!(ops.asks(&mut venue, "BE", about_a_user("EVE", 4)), ["BF EVE 3"]);
    assert_eq!(ops.asks(&mut venue, "BE", about_a_user("ANN", 1)), ["BF ANN 6"]);
}

#[test]
fn who_trades_asks_nothing_of_that_kind() {
    let mut venue = Venue::new(&watched());
    let mut ann = Client::log_on(&mut venue, "ANN");
    ann.said();
    assert_eq!(ann.asks(&mut venue, "AF", about_orders("7")), ["j AF 3: not offered here"]);
    assert_eq!(ann.asks(&mut venue, "BE", about_a_user("ANN", 4)), ["j BE 3: not offered here"]);
}

#[test]
fn answers_take_numbers_and_no_room_of_what_can_be_had_again() {
    let mut venue = Venue::new(&ExchangeConfig { fix_messages: 2, ..watched() });
    let mut ops = Client::log_on(&mut venue, "OPS");
    let ann = venue.log_on("ANN");
    for name in ["A1", "A2"] {
        venue.says(ann, &new(name, "sell 1@10.25"));
    }
    ops.hears(&mut venue);
    assert_eq!(ops.asks(&mut venue, "AF", about_orders("7")).len(), 2);
    assert_eq!(ops.asks(&mut venue, "BE", about_a_user("ANN", 4)).len(), 1);
    assert_eq!(ops.numbers, [1, 2, 3, 4, 5, 6]);
    // A client that has lost all of it gets the copies, and that the rest is not to come.
    let store = ops.hangs_up(&mut venue);
    assert_eq!((store.next_in(), store.next_out()), (7, 4));
    let mut lost = Store::new(100);
    lost.restart(1);
    let mut ops = Client::connect(&mut venue, "OPS", lost);
    ops.counts_on(store.next_out());
    ops.logs_on(&mut venue);
    let again = ["0/0 A1 0+1 of 1 of ANN", "0/0 A2 0+1 of 1 of ANN"];
    assert_eq!(ops.said(), [&["A"][..], &again].concat());
    assert_eq!(ops.store.next_in(), 8, "all numbers are accounted for");
}

#[test]
fn a_long_answer_goes_as_its_reader_takes_it() {
    let mut venue = Venue::new(&watched());
    let ann = venue.log_on("ANN");
    for number in 0..1_000 {
        venue.says(ann, &new(&format!("A{number}"), "sell 1@10.25"));
    }
    let mut ops = Client::log_on(&mut venue, "OPS");
    ops.said();
    // All is there at once, and nothing is read: no more than some buffers of it come.
    venue.wires.is_stuck = true;
    ops.asks_unheard(&mut venue, "AF", about_orders("7"));
    for _ in 0..20 {
        venue.after(10);
    }
    let unread = venue.wires.to.get(&ops.session).map_or(0, Vec::len);
    assert!((50_000..70_000).contains(&unread), "{unread} bytes of some 230,000");
    // One that is told already, and one that is not yet, go meanwhile.
    venue.says(ann, &cancel("C1", "A0"));
    venue.says(ann, &cancel("C2", "A999"));
    // While it is under way there is no other one.
    let busy = ops.asks(&mut venue, "AF", about_orders("7"));
    let said: Vec<&String> = busy.iter().filter(|line| line.starts_with('j')).collect();
    assert_eq!(said, ["j AF 0: another question about orders is not answered yet"]);
    venue.wires.is_stuck = false;
    let mut orders: Vec<String> = busy.into_iter().filter(|line| line.starts_with('I')).collect();
    for _ in 0..20 {
        venue.after(10);
        orders.extend(ops.hears(&mut venue).into_iter().filter(|line| line.starts_with('I')));
    }
    let last: Vec<usize> = (0..orders.len()).filter(|at| orders[*at].contains("last")).collect();
    assert_eq!((orders.len(), last), (999, vec![998]), "the last is told to be");
    assert!(orders[998].starts_with("I/0 A998 "), "{}", orders[998]);
}

#[test]
fn answers_move_the_numbers_of_whoever_goes_on_too() {
    let mut venue = Venue::new(&watched());
    let ann = venue.log_on("ANN");
    for number in 0..1_000 {
        venue.says(ann, &new(&format!("A{number}"), "sell 1@10.25"));
    }
    let mut ops = Client::log_on(&mut venue, "OPS");
    for _ in 0..8 {
        let before = ops.numbers.len();
        ops.asks(&mut venue, "AF", about_orders("7"));
        for _ in 0..20 {
            venue.after(10);
            ops.hears(&mut venue);
        }
        assert_eq!(ops.numbers.len() - before, 1_000);
    }
    let last = ops.numbers.last().copied().unwrap_or_default();
    let store = ops.hangs_up(&mut venue);
    let mut next = successor(&watched(), &venue);
    next.exchange.open(next.now, &mut next.wires);
    let ops = Client::log_on_again(&mut next, "OPS", store);
    assert!(ops.numbers[0] > last, "{} behind {last}", ops.numbers[0]);
}

#[test]
fn an_answer_waits_until_the_journal_knows_the_numbers() {
    let mut venue = Venue::new(&watched());
    let ann = venue.log_on("ANN");
    for number in 0..1_000 {
        venue.says(ann, &new(&format!("A{number}"), "sell 1@10.25"));
    }
    let mut ops = Client::log_on(&mut venue, "OPS");
    // From now on entries are made, and nobody says that they are kept.
    venue.wires.keeps_later = true;
    for _ in 0..8 {
        ops.asks(&mut venue, "AF", about_orders("7"));
        for _ in 0..20 {
            venue.after(10);
            ops.hears(&mut venue);
        }
    }
    let told = venue.exchange.counts().orders_told;
    assert!((3_000..5_000).contains(&told), "{told}");
    let (last, ..) = venue.exchange.position();
    venue.exchange.committed(venue.now, last, &mut venue.wires);
    for _ in 0..20 {
        venue.after(10);
        ops.hears(&mut venue);
    }
    assert!(venue.exchange.counts().orders_told > told, "it goes on");
}

#[test]
fn drop_copies_hear_of_halts_also_if_they_were_away() {
    let turn = |at_s, session| Turn { at_s, session, random_s: 0 };
    let turns = vec![
        turn(2, Session::OpeningCall),
        turn(3, Session::Regular),
        turn(4, Session::Halt),
        turn(5, Session::Regular),
    ];
    let schedule = Schedule::new(turns).expect("in order");
    let plan = Plan::Schedule { schedule, day_s: 86_400 };
    let mut venue = Venue::new(&ExchangeConfig { plan, ..watched() });
    let mut ops = Client::log_on(&mut venue, "OPS");
    ops.said();
    let mut ann = Client::log_on(&mut venue, "ANN");
    ann.said();
    for _ in 0..3 {
        venue.after(1_000);
    }
    assert_eq!(ops.hears(&mut venue), ["B 7 halted: halted"]);
    assert_eq!(ann.hears(&mut venue), Vec::<String>::new(), "who trades has market data");
    let store = ops.hangs_up(&mut venue);
    venue.after(1_000);
    let mut ops = Client::log_on_again(&mut venue, "OPS", store);
    assert_eq!(ops.said(), ["A", "B 7 regular trading again Y: regular trading"]);
    assert_eq!(venue.exchange.counts().news, 2);
}

/// Prices five per cent from the last trade stop trading in VOD, for a minute.
fn braked() -> ExchangeConfig {
    let mut config = watched();
    config.instruments[0].tolerances = Tolerances { dynamic_bp: 500, static_bp: 0 };
    config.engine.breaker_call_ns = 60_000_000_000;
    config.limits.heartbeat = Duration::from_secs(3_600);
    config
}

#[test]
fn drop_copies_hear_of_a_circuit_break_and_of_its_end() {
    let mut venue = Venue::new(&braked());
    let mut ops = Client::log_on(&mut venue, "OPS");
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    venue.says(ann, &new("A1", "sell 10@10.00"));
    venue.says(bob, &new("B1", "buy 10@10.00"));
    venue.says(ann, &new("A2", "sell 10@10.51"));
    ops.hears(&mut venue);
    venue.lines();
    venue.says(bob, &new("B2", "buy 15@11.00"));
    // The order rests in the call, whose reason is told: a price outside of the range.
    assert_eq!(venue.lines(), ["BOB < 0/0 B2 leaves 15", "H e", "A B 15@11.00"]);
    assert_eq!(ops.hears(&mut venue), ["B 7 circuit breaker call: circuit breaker call"]);
    let status = venue.wires.units.iter().rev().find_map(|unit| {
        let unit = Unit::read(unit).expect("a unit");
        unit.messages().find_map(|(_, bytes)| match Mitch::read(bytes) {
            Some(Mitch::SymbolStatus(status)) => Some(status),
            _ => None,
        })
    });
    assert_eq!(status.map(|status| (status.status, status.change_reason)), Some((b'e', 4)));
    // Whoever is away hears of the end at its logon.
    let store = ops.hangs_up(&mut venue);
    for _ in 0..91 {
        venue.after(1_000);
    }
    assert_eq!(
        venue.lines(),
        [
            "I 10@11.00",
            "BOB < F/1 B2 leaves 5 10@11.00 C",
            "ANN < F/2 A2 leaves 0 10@11.00 C",
            "C 10",
            "C 10",
            "Q 10@11.00",
            "H T",
        ]
    );
    let mut ops = Client::log_on_again(&mut venue, "OPS", store);
    let said = ops.said();
    assert!(said.contains(&"B 7 regular trading again Y: regular trading".to_owned()), "{said:?}");
    let counts = venue.exchange.counts();
    assert_eq!((counts.circuit_breaks, counts.news), (1, 2));
}

#[test]
fn whoever_goes_on_in_a_circuit_breakers_call_ends_it_at_the_same_time() {
    let mut venue = Venue::new(&braked());
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    for (session, name, order) in [
        (ann, "A1", "sell 10@10.00"),
        (bob, "B1", "buy 10@10.00"),
        (ann, "A2", "sell 10@10.51"),
        (bob, "B2", "buy 10@11.00"),
    ] {
        let mut order = order_of(name, order);
        order.auto_cancel = 0;
        venue.says(session, &tapeline_ntg::Message::NewOrder(order));
    }
    // A minute and what was drawn, to the step.
    let ends = |venue: &mut Venue| {
        let from = venue.now;
        while venue.exchange.engine().session_of(BookId(0)) == Some(Session::BreakerCall) {
            venue.after(10);
        }
        (venue.now.since(from), venue.exchange.engine().alive())
    };
    let mut state = Vec::new();
    venue.exchange.save(&mut state).expect("all is done");
    let mut by_journal = successor(&braked(), &venue);
    let mut by_snapshot = successor(&braked(), &venue);
    by_snapshot.exchange = Exchange::new(&braked(), EPOCH_NS);
    by_snapshot.exchange.restore(&state).expect("a state");
    let first = ends(&mut venue);
    assert!((60..=90).contains(&first.0.as_secs()) && first.1 == 0, "{first:?}");
    for next in [&mut by_journal, &mut by_snapshot] {
        next.exchange.open(next.now, &mut next.wires);
        assert_eq!(ends(next), first);
    }
}

/// Orders of firm 1 go five seconds behind OPS.
fn sponsored() -> ExchangeConfig {
    let mut config = watched();
    config.users[2].stop_after = Some(Duration::from_secs(5));
    config.limits.heartbeat = Duration::from_secs(3_600);
    config
}

/// ANN has an order that stays when she leaves, and BOB has one.
fn sponsored_market() -> (Venue, Client, [tapeline_exchange::SessionId; 2]) {
    let mut venue = Venue::new(&sponsored());
    let ops = Client::log_on(&mut venue, "OPS");
    let sessions = ["ANN", "BOB"].map(|name| venue.log_on(name));
    for (session, name) in sessions.into_iter().zip(["A1", "B1"]) {
        let order = NewOrder { auto_cancel: 0, ..order_of(name, "sell 10@10.25") };
        venue.says(session, &tapeline_ntg::Message::NewOrder(order));
    }
    (venue, ops, sessions)
}

#[test]
fn whose_sponsor_is_gone_for_too_long_is_stopped_until_it_is_back() {
    let (mut venue, mut ops, [ann, bob]) = sponsored_market();
    ops.hears(&mut venue);
    // Gone for less than that, and back.
    let store = ops.hangs_up(&mut venue);
    venue.after(4_000);
    let ops = Client::log_on_again(&mut venue, "OPS", store);
    venue.after(4_000);
    let store = ops.hangs_up(&mut venue);
    venue.lines();
    venue.after(10);
    venue.after(4_990);
    assert_eq!(venue.lines(), [""; 0]);
    venue.after(10);
    assert_eq!(venue.lines(), ["ANN < 4/4 A1 leaves 0", "D"]);
    venue.says(ann, &new("A2", "sell 10@10.25"));
    venue.says(ann, &replace("A3", "A1", "sell 5@10.25"));
    venue.says(ann, &cancel("A4", "A1"));
    assert_eq!(
        venue.lines(),
        ["ANN < 8/8 A2 leaves 0 code 20010", "ANN < 9 A3 20010 app 1", "ANN < 9 A4 20000 app 1"]
    );
    // Those of other firms trade on.
    venue.says(bob, &replace("B2", "B1", "sell 5@10.25"));
    assert_eq!(venue.lines()[0], "BOB < 5/0 B2 leaves 5");
    assert_eq!(venue.exchange.counts().sponsor_stops, 1);
    let mut ops = Client::log_on_again(&mut venue, "OPS", store);
    let said = ops.said();
    assert!(said.contains(&"4/4 A1 0+0 of 10 of ANN again Y".to_owned()), "{said:?}");
    venue.after(10);
    venue.says(ann, &new("A5", "sell 10@10.25"));
    assert_eq!(venue.lines(), ["ANN < 0/0 A5 leaves 10", "A S 10@10.25"]);
}

#[test]
fn whoever_goes_on_with_the_market_knows_who_is_stopped() {
    let (mut venue, ops, _) = sponsored_market();
    ops.hangs_up(&mut venue);
    venue.after(10);
    venue.after(5_000);
    let mut state = Vec::new();
    venue.exchange.save(&mut state).expect("all is done");
    for is_by_snapshot in [false, true] {
        let mut next = successor(&sponsored(), &venue);
        if is_by_snapshot {
            next.exchange = Exchange::new(&sponsored(), EPOCH_NS);
            next.exchange.restore(&state).expect("a state");
        }
        next.exchange.open(next.now, &mut next.wires);
        assert_eq!(next.exchange.engine().alive(), 1, "BOB's");
        let ann = next.log_on("ANN");
        next.lines();
        next.says(ann, &new("A2", "sell 10@10.25"));
        assert_eq!(next.lines(), ["ANN < 8/8 A2 leaves 0 code 20010"], "{is_by_snapshot}");
        let _ops = Client::log_on(&mut next, "OPS");
        next.after(20);
        next.lines();
        next.says(ann, &new("A3", "sell 10@10.25"));
        assert_eq!(next.lines()[0], "ANN < 0/0 A3 leaves 10", "{is_by_snapshot}");
    }
}
