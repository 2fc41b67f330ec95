//! Post trade: each side of a trade is confirmed to who settles it, and the trades of
//! the day can be had again.

use tapeline_exchange::{Door, Exchange, ExchangeConfig, Plan, UserConfig};
use tapeline_fix::{Store, Writer, tag};
use tapeline_instrument::{Schedule, Session, Turn};

use crate::support::fix::{Client, put_order};
use crate::support::{EPOCH_NS, VOD, Venue, config, new, successor};

const DOOR: (Door, &str) = (Door::PostTrade, "PTGW");

/// ANN of firm 1, BOB of firm 2, and who settles for each.
pub(crate) fn settled() -> ExchangeConfig {
    let mut config = config();
    for (name, firm) in [("CLEAR1", 1), ("CLEAR2", 2)] {
        config.users.push(UserConfig {
            name: name.to_owned(),
            password: format!("{name}-secret1"),
            settles: vec![firm],
            ..config.users[0].clone()
        });
    }
    config
}

pub(crate) fn settler(venue: &mut Venue, name: &'static str, store: Store) -> Client {
    let mut client = Client::connect_at(venue, DOOR, name, store);
    client.logs_on(venue);
    client
}

fn about_trades(instrument: Option<i32>) -> impl Fn(&mut Writer<'_>) {
    move |fields| {
        fields.text(tag::TRADE_REQUEST_ID, b"Q");
        let kind = if instrument.is_some() { b'1' } else { b'0' };
        fields.byte(tag::TRADE_REQUEST_TYPE, kind);
        if let Some(instrument) = instrument {
            fields.number(tag::SECURITY_ID, instrument.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
        }
    }
}

/// ANN sells by FIX; BOB buys twice, by the native gateway.
fn trade_twice(venue: &mut Venue) {
    let mut ann = Client::log_on(venue, "ANN");
    ann.asks(venue, "D", |fields| put_order(fields, "A1", "sell 100@10.25"));
    let bob = venue.log_on("BOB");
    venue.says(bob, &new("B1", "buy 30@10.25"));
    venue.says(bob, &new("B2", "buy 20@10.30"));
    venue.hangs_up(bob);
    ann.hangs_up(venue);
}

#[test]
fn each_side_of_a_trade_is_confirmed_to_who_settles_it() {
    let mut venue = Venue::new(&settled());
    let mut one = settler(&mut venue, "CLEAR1", Store::new(100));
    let mut two = settler(&mut venue, "CLEAR2", Store::new(100));
    assert_eq!((one.said(), two.said()), (vec!["A".to_owned()], vec!["A".to_owned()]));
    trade_twice(&mut venue);
    assert_eq!(one.hears(&mut venue), ["AE 2 A1 - 30@10.25", "AE 2 A1 - 20@10.25"]);
    assert_eq!(two.hears(&mut venue), ["AE 1 B1 - 30@10.25", "AE 1 B2 - 20@10.25"]);
    for said in [
        "|487=0|856=0|1123=0|150=F|",
        "|570=N|48=7|22=8|32=20|31=10.25|30=XLON|75=20240318|",
        "|573=0|552=1|54=2|",
        "|453=1|448=DESK|447=D|452=76|581=1|1057=N|",
        "|11=A1|528=P|",
    ] {
        assert!(one.last.contains(said), "{said} in {}", one.last);
    }
    assert!(two.last.contains("|54=1|") && two.last.contains("|1057=Y|"), "{}", two.last);
    // Both sides are of one trade, and each has a name of its own.
    let value = |client: &Client, tag: &str| {
        let (_, rest) = client.last.split_once(tag).expect(tag);
        rest.split('|').next().unwrap_or_default().to_owned()
    };
    assert_eq!(value(&one, "|1003="), value(&two, "|1003="));
    assert_ne!(value(&one, "571="), value(&two, "571="));
    assert_eq!(venue.exchange.counts().confirmations, 4);
}

#[test]
fn confirmations_of_who_was_away_come_behind_its_logon() {
    let mut venue = Venue::new(&settled());
    let one = settler(&mut venue, "CLEAR1", Store::new(100));
    let store = one.hangs_up(&mut venue);
    trade_twice(&mut venue);
    let mut one = settler(&mut venue, "CLEAR1", store);
    let missed = ["AE 2 A1 - 30@10.25 again Y", "AE 2 A1 - 20@10.25 again Y"];
    assert_eq!(one.said(), [&["A"][..], &missed].concat());
}

#[test]
fn trades_of_the_day_can_be_had_again() {
    let mut venue = Venue::new(&settled());
    trade_twice(&mut venue);
    let mut one = settler(&mut venue, "CLEAR1", Store::new(100));
    one.said();
    let all = ["AQ 0 0", "AE 2 A1 Q 30@10.25", "AE 2 A1 Q 20@10.25", "AQ 0 1"];
    assert_eq!(one.asks(&mut venue, "AD", about_trades(None)), all);
    assert_eq!(one.asks(&mut venue, "AD", about_trades(Some(VOD))), all);
    assert_eq!(one.asks(&mut venue, "AD", about_trades(Some(999))), ["AQ 1 2"]);
    assert_eq!(venue.exchange.counts().trades_told, 4);
    // On the next day these are not of the day.
    let store = one.hangs_up(&mut venue);
    drop(store);
    venue.after(86_400_000);
    let mut one = settler(&mut venue, "CLEAR1", Store::new(100));
    one.said();
    assert_eq!(one.asks(&mut venue, "AD", about_trades(None)), ["AQ 0 0", "AQ 0 1"]);
}

#[test]
fn an_answer_says_whether_trades_of_the_day_are_missing() {
    let mut venue = Venue::new(&ExchangeConfig { trades: 3, ..settled() });
    trade_twice(&mut venue);
    let mut one = settler(&mut venue, "CLEAR1", Store::new(100));
    one.said();
    // Of the four sides the first has made room: it was BOB's.
    let said = one.asks(&mut venue, "AD", about_trades(None));
    assert_eq!(said, ["AQ 0 0", "AE 2 A1 Q 30@10.25", "AE 2 A1 Q 20@10.25", "AQ 99 1"]);
}

#[test]
fn whoever_goes_on_with_the_market_has_the_trades_of_the_day() {
    let mut venue = Venue::new(&settled());
    trade_twice(&mut venue);
    for is_by_snapshot in [false, true] {
        let mut next = successor(&settled(), &venue);
        if is_by_snapshot {
            let mut state = Vec::new();
            next.exchange.save(&mut state).expect("all is done");
            next.exchange = Exchange::new(&settled(), EPOCH_NS);
            next.exchange.restore(&state).expect("a state");
        }
        next.exchange.open(next.now, &mut next.wires);
        let mut one = settler(&mut next, "CLEAR1", Store::new(100));
        one.said();
        let said = one.asks(&mut next, "AD", about_trades(None));
        let all = ["AQ 0 0", "AE 2 A1 Q 30@10.25", "AE 2 A1 Q 20@10.25", "AQ 0 1"];
        assert_eq!(said, all, "by snapshot: {is_by_snapshot}");
    }
}

#[test]
fn each_has_its_door() {
    let mut venue = Venue::new(&settled());
    // Who settles does not come by the door of orders, nor by the native gateway, and
    // who trades does not come by the one of post trade.
    let mut wrong = Client::log_on(&mut venue, "CLEAR1");
    assert_eq!(wrong.said(), Vec::<String>::new());
    let native = venue.log_on("CLEAR2");
    assert!(venue.wires.closed.contains(&native));
    let mut ann = settler(&mut venue, "ANN", Store::new(100));
    assert_eq!(ann.said(), Vec::<String>::new());
    // There it is called otherwise.
    let mut fgw = Client::connect_at(&mut venue, (Door::PostTrade, "FGW"), "CLEAR1", Store::new(9));
    fgw.logs_on(&mut venue);
    assert_eq!(fgw.said(), Vec::<String>::new());
    let mut one = settler(&mut venue, "CLEAR1", Store::new(100));
    assert_eq!(one.said(), ["A"]);
    let refused = one.asks(&mut venue, "D", |fields| put_order(fields, "O1", "buy 1@10.25"));
    assert_eq!(refused, ["j D 3: this session is for confirmations of trades"]);
}

#[test]
fn in_an_auction_both_sides_are_confirmed_and_nobody_is_the_aggressor() {
    let turn = |at_s, session| Turn { at_s, session, random_s: 0 };
    let turns = vec![turn(1, Session::OpeningCall), turn(5, Session::Regular)];
    let schedule = Schedule::new(turns).expect("in order");
    let plan = Plan::Schedule { schedule, day_s: 86_400 };
    let mut venue = Venue::new(&ExchangeConfig { plan, ..settled() });
    let mut one = settler(&mut venue, "CLEAR1", Store::new(100));
    let mut two = settler(&mut venue, "CLEAR2", Store::new(100));
    one.said();
    two.said();
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    venue.says(ann, &new("A1", "sell 10@10.20"));
    venue.says(bob, &new("B1", "buy 10@10.25"));
    for _ in 0..5 {
        venue.after(1_000);
    }
    let price = one.hears(&mut venue).remove(0).rsplit('@').next().unwrap_or_default().to_owned();
    assert_eq!(two.hears(&mut venue), [format!("AE 1 B1 - 10@{price}")]);
    assert!(!one.last.contains("|1057=") && one.last.contains("|54=2|"), "{}", one.last);
}
