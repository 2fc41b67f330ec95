//! Trades that both sides want cancelled.

use std::collections::HashMap;

use tapeline_exchange::{
    Exchange, ExchangeConfig, OperateError, Operation, Plan, SessionId, UserConfig,
};
use tapeline_fix::{Store, Writer, tag};
use tapeline_instrument::{Schedule, Session, Turn};
use tapeline_ntg::{Frames, Message};
use tapeline_sequence::Entry;

use crate::post_trade::{settled, settler};
use crate::support::fix::{Client, put_change, put_order};
use crate::support::{EPOCH_NS, VOD, Venue, cancel, new, replace, successor};

/// A trade as a confirmation has it.
#[derive(Clone, Debug)]
struct Trade {
    id: String,
    quantity: i64,
    price: &'static str,
}

impl Trade {
    /// Of the last confirmation that came.
    fn last(client: &Client, quantity: i64, price: &'static str) -> Self {
        Self { id: value(client, "|1003="), quantity, price }
    }
}

fn value(client: &Client, tag: &str) -> String {
    let (_, rest) = client.last.split_once(tag).unwrap_or_else(|| panic!("{tag} {}", client.last));
    rest.split('|').next().unwrap_or_default().to_owned()
}

/// What asks for the end of a trade: the name of the request, the trade and the side.
fn put_cancel(fields: &mut Writer<'_>, name: &str, trade: &Trade, side: u8) {
    fields.text(tag::TRADE_REPORT_ID, name.as_bytes()).text(tag::TRADE_ID, trade.id.as_bytes());
    fields.byte(tag::TRADE_REPORT_TRANS_TYPE, b'1').byte(tag::TRADE_REPORT_TYPE, b'6');
    fields.number(tag::SECURITY_ID, VOD.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
    fields.number(tag::LAST_QTY, trade.quantity).text(tag::LAST_PX, trade.price.as_bytes());
    fields.byte(tag::NO_SIDES, b'1').byte(tag::SIDE, b'0' + side);
}

fn asks(
    client: &mut Client,
    venue: &mut Venue,
    name: &str,
    (trade, side): (&Trade, u8),
) -> Vec<String> {
    client.asks(venue, "AE", |fields| put_cancel(fields, name, trade, side))
}

/// Both sides want a trade of ANN's, who sold, and BOB's cancelled. What was published and
/// told meanwhile is in the venue's lines.
fn both_ask(venue: &mut Venue, settlers: &mut [Client; 2], trade: &Trade) {
    venue.lines();
    let [one, two] = settlers;
    let what = format!("{}@{}", trade.quantity, trade.price);
    assert_eq!(asks(one, venue, "C1", (trade, 2)), [format!("AR C1 0 why - match 1 {what}")]);
    assert_eq!(venue.lines(), [""; 0], "one side alone changes nothing");
    let heard = two.hears(venue);
    assert!(heard[0].starts_with("AE 1 ") && heard[0].contains(" to cancel?"), "{heard:?}");
    let said = asks(two, venue, "C2", (trade, 1));
    assert_eq!((said.len(), said[0].as_str()), (2, &*format!("AR C2 0 why - match 0 {what}")));
    assert!(said[1].starts_with("AE 1 ") && said[1].contains(" cancelled"), "{said:?}");
    let heard = one.hears(venue);
    assert!(heard[0].starts_with("AE 2 ") && heard[0].contains(" cancelled"), "{heard:?}");
}

/// Who settles for ANN, and who for BOB.
fn settlers(venue: &mut Venue) -> [Client; 2] {
    ["CLEAR1", "CLEAR2"].map(|name| {
        let mut client = settler(venue, name, Store::new(100));
        client.said();
        client
    })
}

/// A market with both settlers, in which both owners trade natively.
fn opened() -> (Venue, [Client; 2], [SessionId; 2]) {
    let mut venue = Venue::new(&settled());
    let both = settlers(&mut venue);
    let owners = ["ANN", "BOB"].map(|name| venue.log_on(name));
    (venue, both, owners)
}

/// The last trade that both have heard of.
fn last_trade(
    venue: &mut Venue,
    settlers: &mut [Client; 2],
    quantity: i64,
    price: &'static str,
) -> Trade {
    settlers[1].hears(venue);
    settlers[0].hears(venue);
    Trade::last(&settlers[0], quantity, price)
}

#[test]
fn a_trade_goes_when_both_sides_want_so() {
    let (mut venue, mut both, [ann, bob]) = opened();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(bob, &new("B1", "buy 30@10.25"));
    let trade = last_trade(&mut venue, &mut both, 30, "10.25");
    both_ask(&mut venue, &mut both, &trade);
    assert_eq!(
        venue.lines(),
        [
            // Filled: it does not come back. First all of it is open, then it asks for less.
            "BOB < H/0 B1 leaves 30 30@10.25 not traded",
            "BOB < D/0 B1 leaves 0",
            "ANN < H/0 A1 leaves 100 30@10.25 not traded",
            "ANN < D/0 A1 leaves 70",
            "P 30@10.25 cancelled",
        ]
    );
    let counts = venue.exchange.counts();
    assert_eq!((counts.trade_cancels, counts.trades_cancelled), (2, 1));
    // What is left stands where it stood, and asks for 70 in all.
    venue.says(bob, &new("B2", "buy 20@10.25"));
    assert_eq!(venue.lines()[1], "ANN < F/1 A1 leaves 50 20@10.25 A");
    venue.says(ann, &replace("A2", "A1", "sell 60@10.25"));
    assert_eq!(venue.lines()[0], "ANN < 5/1 A2 leaves 40");
}

#[test]
fn operators_cancel_a_trade_that_nobody_asked_for() {
    let (mut venue, mut both, [ann, bob]) = opened();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(bob, &new("B1", "buy 30@10.25"));
    let trade = last_trade(&mut venue, &mut both, 30, "10.25");
    venue.lines();
    let id = trade.id.parse().expect("an id");
    venue.exchange.operate(venue.now, Operation::CancelTrade(id)).expect("it is kept");
    venue.exchange.cycle(venue.now, &mut venue.wires);
    let lines = venue.lines();
    assert_eq!(lines[0], "BOB < H/0 B1 leaves 30 30@10.25 not traded");
    assert_eq!(lines[4], "P 30@10.25 cancelled");
    for settler in &mut both {
        let heard = settler.hears(&mut venue);
        assert!(heard[0].contains(" cancelled"), "{heard:?}");
    }
    let again = venue.exchange.operate(venue.now, Operation::CancelTrade(id));
    assert_eq!(again, Err(OperateError::Trade(id)));
}

#[test]
fn reports_name_the_execution_that_is_meant_and_add_up() {
    let mut venue = Venue::new(&settled());
    let mut both = settlers(&mut venue);
    let mut ann = Client::log_on(&mut venue, "ANN");
    ann.asks(&mut venue, "D", |fields| put_order(fields, "A1", "sell 100@10.25"));
    let bob = venue.log_on("BOB");
    venue.says(bob, &new("B0", "buy 10@10.25"));
    venue.says(bob, &new("B1", "buy 30@10.25"));
    ann.hears(&mut venue);
    let execution = value(&ann, "|17=");
    let trade = last_trade(&mut venue, &mut both, 30, "10.25");
    both_ask(&mut venue, &mut both, &trade);
    let cancelled = value(&both[0], "|571=");
    for said in ["|487=1|856=6|", "|150=H|", "|573=0|", &format!("|572={execution}|")] {
        assert!(both[0].last.contains(said), "{said} in {}", both[0].last);
    }
    // 151 + 14 = 38 in both.
    let said = ["H/1 A1 10+90 of 100 30@10.25", "D/1 A1 10+60 of 70"];
    assert_eq!(ann.hears(&mut venue), said);
    assert!(ann.last.contains("|378=8|"), "{}", ann.last);
    // Who replays the day finds the trade as cancelled.
    let all = both[0].asks(&mut venue, "AD", |fields| {
        fields.text(tag::TRADE_REQUEST_ID, b"Q").byte(tag::TRADE_REQUEST_TYPE, b'0');
    });
    let told = ["AQ 0 0", "AE 2 A1 Q 10@10.25", "AE 2 A1 Q cancelled 30@10.25", "AQ 0 1"];
    assert_eq!(all, told);
    assert!(!cancelled.is_empty() && cancelled != execution);
}

#[test]
fn an_order_that_ended_hears_of_it_and_stays_ended() {
    let (mut venue, mut both, [ann, bob]) = opened();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(bob, &new("B1", "buy 30@10.25"));
    let trade = last_trade(&mut venue, &mut both, 30, "10.25");
    venue.says(ann, &cancel("A2", "A1"));
    // Another order has the place that it had.
    venue.says(ann, &new("A3", "sell 5@10.30"));
    both_ask(&mut venue, &mut both, &trade);
    let told = ["ANN < H/4 A1 leaves 0 30@10.25 not traded", "P 30@10.25 cancelled"];
    assert_eq!(venue.lines()[2..], told);
    venue.says(ann, &cancel("A4", "A3"));
    assert_eq!(venue.lines()[0], "ANN < 4/4 A4 leaves 0");
}

#[test]
fn a_filled_order_loses_its_trades_one_by_one() {
    let (mut venue, mut both, [ann, bob]) = opened();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    let mut trades = Vec::new();
    for (name, size) in [("B1", 30), ("B2", 20), ("B3", 50)] {
        venue.says(bob, &new(name, &format!("buy {size}@10.25")));
        trades.push(last_trade(&mut venue, &mut both, size, "10.25"));
    }
    let mut told = Vec::new();
    for trade in [&trades[1], &trades[2], &trades[0]] {
        both_ask(&mut venue, &mut both, trade);
        told.extend(venue.lines().into_iter().filter(|line| line.starts_with("ANN")));
    }
    assert_eq!(
        told,
        [
            "ANN < H/1 A1 leaves 20 20@10.25 not traded",
            "ANN < D/1 A1 leaves 0",
            "ANN < H/1 A1 leaves 50 50@10.25 not traded",
            "ANN < D/1 A1 leaves 0",
            "ANN < H/0 A1 leaves 30 30@10.25 not traded",
            "ANN < D/0 A1 leaves 0",
        ]
    );
    assert_eq!(venue.exchange.engine().alive(), 0);
}

fn assert_refused(said: &[String], code: u8, quantity: i64, text: &str) {
    assert_eq!(said, [format!("AR X 1 why {code} match - {quantity}@10.25: {text}")]);
}

#[test]
fn what_nobody_may_ask_is_refused() {
    let (mut venue, [mut one, mut two], [ann, bob]) = opened();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(bob, &new("B1", "buy 30@10.25"));
    one.hears(&mut venue);
    two.hears(&mut venue);
    let trade = Trade::last(&one, 30, "10.25");
    let none = Trade { id: "GGXICR4MS8".to_owned(), ..trade.clone() };
    let unknown = "no such trade of the day, or not kept any more";
    assert_refused(&asks(&mut one, &mut venue, "X", (&none, 2)), 99, 30, unknown);
    let others = "this side of the trade is settled by others";
    assert_refused(&asks(&mut one, &mut venue, "X", (&trade, 1)), 3, 30, others);
    let more = Trade { quantity: 31, ..trade.clone() };
    let differs = "instrument, price or quantity are not those of the trade";
    assert_refused(&asks(&mut one, &mut venue, "X", (&more, 2)), 99, 31, differs);
    assert_eq!(asks(&mut one, &mut venue, "C1", (&trade, 2)).len(), 1);
    let twice = "asked before; the other side has not asked yet";
    assert_refused(&asks(&mut one, &mut venue, "X", (&trade, 2)), 99, 30, twice);
    asks(&mut two, &mut venue, "C2", (&trade, 1));
    let before = "the trade is cancelled already";
    assert_refused(&asks(&mut two, &mut venue, "X", (&trade, 1)), 99, 30, before);
    // On the next day it is too late.
    venue.says(bob, &new("B2", "buy 30@10.25"));
    one.hears(&mut venue);
    let trade = Trade::last(&one, 30, "10.25");
    one.hangs_up(&mut venue);
    venue.after(86_400_000);
    let mut one = settler(&mut venue, "CLEAR1", Store::new(100));
    one.said();
    assert_refused(&asks(&mut one, &mut venue, "X", (&trade, 2)), 99, 30, unknown);
    assert_eq!(venue.exchange.counts().trades_cancelled, 1);
}

#[test]
fn where_nobody_settles_the_other_side_nothing_is_cancelled() {
    let mut config = settled();
    config.users.push(UserConfig {
        name: "EVE".to_owned(),
        password: "EVE-secret1".to_owned(),
        firm: 3,
        ..config.users[0].clone()
    });
    let mut venue = Venue::new(&config);
    let [mut one, _two] = settlers(&mut venue);
    let [ann, eve] = ["ANN", "EVE"].map(|name| venue.log_on(name));
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(eve, &new("E1", "buy 30@10.25"));
    one.hears(&mut venue);
    let trade = Trade::last(&one, 30, "10.25");
    let said = asks(&mut one, &mut venue, "X", (&trade, 2));
    assert_refused(&said, 99, 30, "nobody settles the other side");
}

#[test]
fn a_market_that_is_down_cancels_nothing() {
    let (mut venue, mut both, [ann, bob]) = opened();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(bob, &new("B1", "buy 30@10.25"));
    let trade = last_trade(&mut venue, &mut both, 30, "10.25");
    venue.wires.keeps_later = true;
    assert_eq!(asks(&mut both[0], &mut venue, "X", (&trade, 2)), [""; 0]);
    let (_, applied, _) = venue.exchange.position();
    venue.exchange.halt(venue.now, applied, &mut venue.wires);
    let down = "the market is down";
    assert_refused(&both[0].hears(&mut venue), 99, 30, down);
    assert_refused(&asks(&mut both[0], &mut venue, "X", (&trade, 2)), 99, 30, down);
}

#[test]
fn of_an_auction_it_is_cancelled_in_the_auctions_volume() {
    let turn = |at_s, session| Turn { at_s, session, random_s: 0 };
    let turns = vec![turn(1, Session::OpeningCall), turn(5, Session::Regular)];
    let schedule = Schedule::new(turns).expect("in order");
    let plan = Plan::Schedule { schedule, day_s: 86_400 };
    let mut venue = Venue::new(&ExchangeConfig { plan, ..settled() });
    let mut both = settlers(&mut venue);
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    venue.says(ann, &new("A1", "sell 10@10.25"));
    venue.says(bob, &new("B1", "buy 25@10.25"));
    for _ in 0..5 {
        venue.after(1_000);
    }
    let trade = last_trade(&mut venue, &mut both, 10, "10.25");
    both_ask(&mut venue, &mut both, &trade);
    assert_eq!(
        venue.lines(),
        [
            "BOB < H/0 B1 leaves 25 10@10.25 not traded",
            "BOB < D/0 B1 leaves 15",
            "ANN < H/0 A1 leaves 10 10@10.25 not traded",
            "ANN < D/0 A1 leaves 0",
            "Q 10@10.25 cancelled",
        ]
    );
}

#[test]
fn whoever_goes_on_with_the_market_knows_what_one_side_asked() {
    for is_by_snapshot in [false, true] {
        let mut venue = Venue::new(&settled());
        let mut both = settlers(&mut venue);
        let mut ann = Client::log_on(&mut venue, "ANN");
        ann.asks(&mut venue, "D", |fields| put_order(fields, "A1", "sell 100@10.25"));
        let bob = venue.log_on("BOB");
        venue.says(bob, &new("B1", "buy 30@10.25"));
        let trade = last_trade(&mut venue, &mut both, 30, "10.25");
        ann.asks(&mut venue, "F", |fields| put_change(fields, "A2", "A1", None));
        asks(&mut both[0], &mut venue, "C1", (&trade, 2));
        let mut next = successor(&settled(), &venue);
        if is_by_snapshot {
            let mut state = Vec::new();
            next.exchange.save(&mut state).expect("all is done");
            next.exchange = Exchange::new(&settled(), EPOCH_NS);
            next.exchange.restore(&state).expect("a state");
        }
        next.exchange.open(next.now, &mut next.wires);
        let mut two = settler(&mut next, "CLEAR2", Store::new(100));
        // What it was told, and may not have read, comes once more.
        let again = ["AE 1 B1 - 30@10.25 again Y", "AE 1 B1 - to cancel? 30@10.25 again Y"];
        assert_eq!(two.said()[1..], again);
        let said = asks(&mut two, &mut next, "C2", (&trade, 1));
        assert_eq!(said[0], "AR C2 0 why - match 0 30@10.25");
        let mut ann = Client::log_on(&mut next, "ANN");
        let said = ann.said();
        let last = said.last().expect("reports").replace(" again Y", "");
        assert_eq!(last, "H/4 A1 0+0 of 100 30@10.25", "{said:?}");
    }
}

#[test]
fn an_owner_by_the_native_gateway_is_told_which_report_is_meant() {
    let (mut venue, mut both, [ann, bob]) = opened();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(bob, &new("B1", "buy 30@10.25"));
    let trade = last_trade(&mut venue, &mut both, 30, "10.25");
    both_ask(&mut venue, &mut both, &trade);
    let mut reports = Vec::new();
    let bytes = venue.wires.to.remove(&ann).expect("reports");
    let read = Frames::default().read(&bytes, |frame| {
        if let Some(Message::ExecutionReport(report)) = Message::read(frame) {
            reports.push(report);
        }
        true
    });
    read.expect("messages");
    let [.., traded, cancelled, restated] = &reports[..] else { panic!("{reports:?}") };
    assert_eq!((traded.exec_type, cancelled.exec_ref_id), (b'F', traded.exec_id));
    assert_eq!((cancelled.trade_id, restated.restatement_reason), (traded.trade_id, 8));
    assert!(cancelled.sequence > traded.sequence && restated.sequence > cancelled.sequence);
}

/// What an owner knows of an order from its reports.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    filled: i32,
    leaves: i32,
    /// All it asks for, by the request and by what restated it.
    asked: i32,
}

/// The reports in some bytes, by the names of orders: what they add up to.
fn add_up(bytes: &[u8], known: &mut HashMap<String, Known>) {
    let read = Frames::default().read(bytes, |frame| {
        let Some(Message::ExecutionReport(report)) = Message::read(frame) else { return true };
        let order = known.entry(report.cl_ord_id.to_string()).or_default();
        match report.exec_type {
            b'F' => order.filled += report.quantity,
            b'H' => order.filled -= report.quantity,
            // By as much as a trade that was cancelled.
            b'D' if report.restatement_reason == 8 => order.asked -= order.leaves - report.leaves,
            _ => {}
        }
        order.leaves = report.leaves;
        if matches!(report.order_status, 0..=2) {
            assert_eq!(order.filled + order.leaves, order.asked, "{report:?}");
            let status = match (report.exec_type, order.filled, order.leaves) {
                (b'H' | b'D', filled, _) => u8::from(filled > 0),
                (_, _, 0) => 2,
                (_, filled, _) => u8::from(filled > 0),
            };
            assert_eq!(report.order_status, status, "{report:?}");
        }
        true
    });
    read.expect("messages");
}

/// Orders of two users and ends of some of their trades, drawn from a seed; what the
/// owners heard adds up at each step.
fn market_of_cancels(seed: u64) -> Venue {
    let mut config = settled();
    (config.fix.throttle_per_s, config.order_cache_messages) = (u32::MAX, 10_000);
    let mut venue = Venue::new(&config);
    let mut both = settlers(&mut venue);
    let owners = ["ANN", "BOB"].map(|name| venue.log_on(name));
    let mut random = seed;
    let mut draw = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let (mut known, mut trades) = (HashMap::new(), Vec::new());
    for step in 0..600 {
        let owner = draw(2) as usize;
        let side = if owner == 0 { "sell" } else { "buy" };
        let (size, price) = (1 + draw(90), 100 + draw(3));
        let name = format!("{side}-{step}");
        known.insert(name.clone(), Known { asked: size as i32, ..Known::default() });
        venue.says(owners[owner], &new(&name, &format!("{side} {size}@{price}")));
        if draw(3) == 0 {
            // An earlier order of the same user, if there is one.
            venue.says(owners[owner], &cancel("gone", &format!("{side}-{}", step / 2)));
        }
        for line in both[0].hears(&mut venue) {
            assert!(line.starts_with("AE 2 "), "{line}");
        }
        both[1].hears(&mut venue);
        if both[0].last.contains("|856=0|") {
            let quantity = value(&both[0], "|32=").parse().expect("a quantity");
            let price = ["100", "101", "102"]
                [value(&both[0], "|31=").parse::<usize>().expect("a price") - 100];
            trades.push(Trade::last(&both[0], quantity, price));
            both[0].last.clear();
        }
        if draw(3) == 0 && !trades.is_empty() {
            let trade = trades.swap_remove(draw(trades.len() as u64) as usize);
            let [one, two] = &mut both;
            asks(one, &mut venue, "C1", (&trade, 2));
            let said = asks(two, &mut venue, "C2", (&trade, 1));
            assert!(said.iter().any(|line| line.starts_with("AR C2 0 ")), "{said:?}");
            both[0].hears(&mut venue);
            both[0].last.clear();
        }
        for owner in owners {
            add_up(&venue.wires.to.remove(&owner).unwrap_or_default(), &mut known);
        }
    }
    venue
}

#[test]
fn what_owners_hear_adds_up_whichever_trades_are_cancelled() {
    for seed in 1..=5 {
        let venue = market_of_cancels(seed);
        let counts = venue.exchange.counts();
        assert!(counts.trades > 150 && counts.trades_cancelled > 60, "{counts:?}");
    }
}

#[test]
fn trades_that_are_cancelled_are_in_the_journal_and_in_snapshots() {
    let mut config = settled();
    (config.fix.throttle_per_s, config.order_cache_messages) = (u32::MAX, 10_000);
    let venue = market_of_cancels(9);
    let (last, _, hash) = venue.exchange.position();
    for stop in [last / 4, last / 2, last - 1] {
        let mut first = Exchange::new(&config, EPOCH_NS);
        let mut wires = crate::support::Wires::default();
        let mut rest = &venue.wires.entries[..];
        while let Ok((entry, behind)) = Entry::read(rest)
            && entry.head().index <= stop
        {
            first.replay(&entry, &mut wires).expect("the same");
            rest = behind;
        }
        let mut state = Vec::new();
        assert_eq!(first.save(&mut state), Some(stop));
        let mut second = Exchange::new(&config, EPOCH_NS);
        second.restore(&state).expect("a state");
        let mut again = Vec::new();
        second.save(&mut again);
        assert!(again == state, "the state of the state differs");
        while let Ok((entry, behind)) = Entry::read(rest) {
            second.replay(&entry, &mut wires).expect("the same");
            rest = behind;
        }
        assert_eq!(second.position().2, hash, "from the snapshot at {stop}");
    }
}
