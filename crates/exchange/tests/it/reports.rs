//! What owners of orders and everybody else are told, row by row of the table of
//! order states (exchange.md, 10): owners first.

use tapeline_layout::Text;
use tapeline_ntg::Message;
use tapeline_ntg::client::{MassCancel, NewOrder};

use crate::support::{Venue, cancel, config, new, order, replace};

/// Ann and Bob in regular trading.
fn market() -> (Venue, [tapeline_exchange::SessionId; 2]) {
    let mut venue = Venue::new(&config());
    let sessions = [venue.log_on("ANN"), venue.log_on("BOB")];
    assert_eq!(venue.lines(), ["ANN < B 0", "BOB < B 0"]);
    (venue, sessions)
}

fn with(name: &str, text: &str, change: impl FnOnce(&mut NewOrder)) -> Message {
    let mut order = order(name, text);
    change(&mut order);
    Message::NewOrder(order)
}

#[test]
fn a_limit_order_rests_is_traded_with_and_its_rest_rests() {
    let (mut venue, [ann, bob]) = market();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    assert_eq!(venue.lines(), ["ANN < 0/0 A1 leaves 100", "A S 100@10.25"]);
    venue.says(bob, &new("B1", "buy 150@10.30"));
    assert_eq!(
        venue.lines(),
        [
            "BOB < F/1 B1 leaves 50 100@10.25 R",
            "ANN < F/2 A1 leaves 0 100@10.25 A",
            "E 100",
            "A B 50@10.30",
        ]
    );
}

#[test]
fn what_cannot_rest_expires() {
    let (mut venue, [ann, bob]) = market();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.lines();
    venue.says(bob, &with("B1", "buy 150@10.25", |order| order.time_in_force = 4));
    assert_eq!(venue.lines(), ["BOB < C/6 B1 leaves 0"]);
    venue.says(bob, &with("B2", "buy 10@10.25", |order| order.passive_only = 99));
    assert_eq!(venue.lines(), ["BOB < C/6 B2 leaves 0"]);
    venue.says(bob, &with("B3", "buy 150@10.25", |order| order.time_in_force = 3));
    assert_eq!(
        venue.lines(),
        [
            "BOB < F/1 B3 leaves 50 100@10.25 R",
            "ANN < F/2 A1 leaves 0 100@10.25 A",
            "BOB < C/6 B3 leaves 0",
            "E 100",
        ]
    );
    venue.says(bob, &new("B4", "buy 5"));
    assert_eq!(venue.lines(), ["BOB < C/6 B4 leaves 0"]);
}

#[test]
fn an_iceberg_is_restated_when_it_shows_its_next_part() {
    let (mut venue, [ann, bob]) = market();
    venue.says(ann, &with("A1", "sell 1000@10.00", |order| order.display = 100));
    venue.lines();
    venue.says(bob, &new("B1", "buy 150@10.00"));
    assert_eq!(
        venue.lines(),
        [
            "BOB < F/1 B1 leaves 50 100@10.00 R",
            "ANN < F/1 A1 leaves 900 100@10.00 A",
            "BOB < F/2 B1 leaves 0 50@10.00 R",
            "ANN < F/1 A1 leaves 850 50@10.00 A",
            "ANN < D/1 A1 leaves 850",
            "E 100",
            "P 50@10.00",
            "A S 100@10.00",
        ]
    );
}

#[test]
fn a_stop_order_waits_and_wakes() {
    let (mut venue, [ann, bob]) = market();
    venue.says(
        bob,
        &with("B1", "buy 30@10.40", |order| (order.order_type, order.stop) = (4, 1_030_000_000)),
    );
    assert_eq!(venue.lines(), ["BOB < 9/9 B1 leaves 30"]);
    venue.says(ann, &new("A1", "sell 10@10.30"));
    venue.lines();
    venue.says(ann, &new("A2", "buy 10@10.30"));
    assert_eq!(
        venue.lines(),
        [
            "ANN < F/2 A2 leaves 0 10@10.30 R",
            "ANN < F/2 A1 leaves 0 10@10.30 A",
            "BOB < 0/0 B1 leaves 30",
            "E 10",
            "A B 30@10.40",
        ]
    );
}

#[test]
fn amendments_keep_or_lose_priority_and_may_trade() {
    let (mut venue, [ann, bob]) = market();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.lines();
    venue.says(ann, &replace("A2", "A1", "sell 60@10.25"));
    assert_eq!(venue.lines(), ["ANN < 5/0 A2 leaves 60", "U 60@10.25 1"]);
    // The order has its new name from now on.
    venue.says(ann, &replace("A3", "A1", "sell 50@10.25"));
    assert_eq!(venue.lines(), ["ANN < 9 A3 20000 app 1"]);
    venue.says(bob, &new("B1", "buy 10@10.20"));
    venue.lines();
    venue.says(bob, &replace("B2", "B1", "buy 20@10.25"));
    assert_eq!(
        venue.lines(),
        [
            "BOB < 5/0 B2 leaves 20",
            "BOB < F/2 B2 leaves 0 20@10.25 R",
            "ANN < F/1 A2 leaves 40 20@10.25 A",
            "D",
            "E 20",
        ]
    );
}

#[test]
fn only_its_owner_cancels_an_order_and_who_is_refused_is_told() {
    let (mut venue, [ann, bob]) = market();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.lines();
    venue.says(bob, &cancel("B1", "A1"));
    assert_eq!(venue.lines(), ["BOB < 9 B1 20000 app 1"]);
    venue.says(ann, &cancel("A2", "A1"));
    assert_eq!(venue.lines(), ["ANN < 4/4 A2 leaves 0", "D"]);
    venue.says(ann, &cancel("A3", "A1"));
    assert_eq!(venue.lines(), ["ANN < 9 A3 20000 app 1"]);
}

#[test]
fn the_latest_order_of_a_name_is_meant() {
    let (mut venue, [ann, _]) = market();
    venue.says(ann, &new("A1", "sell 100@10.25"));
    venue.says(ann, &new("A1", "sell 200@10.26"));
    venue.lines();
    venue.says(ann, &cancel("A2", "A1"));
    venue.says(ann, &cancel("A3", "A1"));
    assert_eq!(venue.lines(), ["ANN < 4/4 A2 leaves 0", "D", "ANN < 9 A3 20000 app 1"]);
    assert_eq!(venue.exchange.engine().alive(), 1, "the first of them is still there");
}

#[test]
fn a_mass_cancel_is_acknowledged_and_then_done() {
    let (mut venue, [ann, bob]) = market();
    for (session, name, text) in
        [(ann, "A1", "sell 100@10.25"), (bob, "B1", "buy 10@10.20"), (ann, "A2", "buy 1@10.00")]
    {
        venue.says(session, &new(name, text));
    }
    venue.lines();
    let mass = MassCancel { cl_ord_id: Text::new("A3"), kind: 7, ..MassCancel::default() };
    venue.says(ann, &Message::MassCancel(mass));
    assert_eq!(
        venue.lines(),
        ["ANN < r A3 7", "ANN < 4/4 A3 leaves 0", "ANN < 4/4 A3 leaves 0", "D", "D"]
    );
    let segment = Text::new("SETS");
    let mass = MassCancel { cl_ord_id: Text::new("B2"), kind: 4, segment, ..mass };
    venue.says(bob, &Message::MassCancel(mass));
    assert_eq!(venue.lines(), ["BOB < r B2 7", "BOB < 4/4 B2 leaves 0", "D"]);
}

#[test]
fn what_the_engine_refuses_is_rejected_with_its_code() {
    let (mut venue, [ann, _]) = market();
    venue.says(ann, &new("A1", "sell 100@10.255"));
    assert_eq!(venue.lines(), ["ANN < 8/8 A1 leaves 0 code 20002"]);
    venue.says(ann, &with("A2", "sell 100@10.25", |order| order.sub_type = 5));
    assert_eq!(venue.lines(), ["ANN < 8/8 A2 leaves 0 code 20005"]);
    venue.says(ann, &with("A3", "sell 100@10.25", |order| order.instrument_id = 99));
    assert_eq!(venue.lines(), ["ANN < j A3 20008 app 0"]);
    let Message::Cancel(gone) = cancel("A4", "A1") else { unreachable!() };
    venue.says(ann, &Message::Cancel(tapeline_ntg::client::Cancel { instrument_id: 99, ..gone }));
    assert_eq!(venue.lines(), ["ANN < 9 A4 20008 app 0"]);
    assert_eq!((venue.exchange.counts().refused, venue.exchange.counts().rejected), (2, 2));
}
