//! Pegged and offset orders, by both gateways.

use tapeline_fix::{Writer, tag};
use tapeline_ntg::Message;
use tapeline_ntg::client::NewOrder;

use crate::closing_price::{short_day, until};
use crate::support::fix::{Client, put_rest};
use crate::support::{VOD, Venue, config, new, order, replace, successor};

/// `buy 30` pegged, with a hard limit where there is one.
fn pegged(name: &str, text: &str, change: impl FnOnce(&mut NewOrder)) -> Message {
    let mut order = order(name, text);
    (order.sub_type, order.display) = (5, 0);
    change(&mut order);
    Message::NewOrder(order)
}

fn put_pegged(fields: &mut Writer<'_>, name: &str, (side, quantity): (u8, i64)) {
    fields.text(tag::CL_ORD_ID, name.as_bytes()).byte(tag::ORD_TYPE, b'P');
    fields.number(tag::SECURITY_ID, VOD.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
    fields.byte(tag::SIDE, side).number(tag::ORDER_QTY, quantity).number(tag::DISPLAY_QTY, 0);
    put_rest(fields);
}

#[test]
fn what_is_pegged_rests_unseen_and_trades_at_the_middle() {
    let config = config();
    let mut venue = Venue::new(&config);
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    venue.says(ann, &new("A1", "buy 10@10.00"));
    venue.lines();
    venue.says(ann, &pegged("P1", "buy 30", |_| {}));
    assert_eq!(venue.lines(), ["ANN < 9/9 P1 leaves 30"], "nobody sells");
    venue.says(bob, &new("B1", "sell 10@10.05"));
    assert_eq!(venue.lines(), ["BOB < 0/0 B1 leaves 10", "ANN < 0/0 P1 leaves 30", "A S 10@10.05"]);
    venue.says(bob, &pegged("P2", "sell 20", |order| order.min_quantity = 20));
    assert_eq!(
        venue.lines(),
        ["BOB < F/2 P2 leaves 0 20@10.025 R", "ANN < F/1 P1 leaves 10 20@10.025 A", "P 20@10.025",]
    );
    let frames = &venue.wires.to[&ann];
    assert_eq!(frames[frames.len() - 155 + 135], 25, "its trades are of another venue");
    venue.says(ann, &replace("P3", "P1", "buy 25"));
    assert_eq!(venue.lines(), ["ANN < 9 P3 20006 app 1"], "it stays hidden");
    let mut with = order("B2", "sell 15@10.02");
    with.pegged_instruction = 1;
    venue.says(bob, &Message::NewOrder(with));
    assert_eq!(
        venue.lines(),
        [
            "BOB < F/1 B2 leaves 5 10@10.025 R",
            "ANN < F/2 P1 leaves 0 10@10.025 A",
            "P 10@10.025",
            "A S 5@10.02",
        ]
    );
    venue.says(bob, &pegged("P4", "sell 20", |order| order.pegged_instruction = 2));
    assert_eq!(venue.lines(), ["BOB < 8/8 P4 leaves 0 code 20005"]);
    assert_eq!(venue.exchange.counts().pegged_trades, 2);
    let again = successor(&config, &venue);
    assert_eq!(again.exchange.position(), venue.exchange.position());
}

#[test]
fn by_fix_it_has_a_type_of_its_own() {
    let mut venue = Venue::new(&config());
    let mut ann = Client::log_on(&mut venue, "ANN");
    let bob = venue.log_on("BOB");
    venue.says(bob, &new("B1", "sell 10@10.05"));
    venue.says(bob, &new("B2", "buy 10@10.00"));
    ann.said();
    let order = |fields: &mut Writer<'_>| {
        put_pegged(fields, "P1", (b'1', 30));
        fields.number(tag::MIN_QTY, 10);
    };
    assert_eq!(ann.asks(&mut venue, "D", order), ["0/0 P1 0+30 of 30"]);
    assert!(ann.last.contains("|40=P|") && ann.last.contains("|110=10|"), "{}", ann.last);
    let limited = |fields: &mut Writer<'_>| {
        put_pegged(fields, "P2", (b'1', 30));
        fields.decimal(tag::PRICE, 1_000_000_000);
    };
    assert_eq!(ann.asks(&mut venue, "D", limited), ["0/0 P2 0+30 of 30"]);
    assert!(ann.last.contains("|44=10|"), "{}", ann.last);
    venue.says(bob, &pegged("P3", "sell 40", |_| {}));
    // The limit of the second one does not reach the middle.
    assert_eq!(ann.hears(&mut venue), ["F/2 P1 30+0 of 30 30@10.025"]);
    assert!(ann.last.contains("|30=XLOX|"), "{}", ann.last);
}

#[test]
fn an_offset_order_gets_its_limit_in_the_closing_call() {
    let mut venue = Venue::new(&short_day());
    let mut ann = Client::log_on(&mut venue, "ANN");
    let bob = venue.log_on("BOB");
    until(&mut venue, 3);
    venue.says(bob, &new("B1", "sell 1@200.00"));
    venue.says(bob, &new("B2", "buy 1@200.00"));
    ann.said();
    let body = |fields: &mut Writer<'_>| {
        fields.text(tag::CL_ORD_ID, b"O1").byte(tag::ORD_TYPE, b'F');
        fields.number(tag::SECURITY_ID, VOD.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
        fields.byte(tag::SIDE, b'1').number(tag::ORDER_QTY, 5).number(tag::DISPLAY_QTY, 5);
        fields.byte(tag::TIME_IN_FORCE, b'7').number(tag::OFFSET_BP, 1);
        put_rest(fields);
    };
    assert_eq!(ann.asks(&mut venue, "D", body), ["9/9 O1 0+5 of 5"]);
    let mut order = order("O2", "sell 5");
    (order.sub_type, order.time_in_force, order.offset) = (55, 10, 1);
    venue.says(bob, &Message::NewOrder(order));
    assert_eq!(venue.lines().last().map(String::as_str), Some("BOB < 9/9 O2 leaves 5"));
    let lines = until(&mut venue, 6);
    assert_eq!(lines, ["BOB < 0/0 O2 leaves 5", "H d", "A B 5@200.02", "A S 5@199.98"]);
    assert_eq!(ann.hears(&mut venue), ["0/0 O1 0+5 of 5"]);
    assert!(ann.last.contains("|40=F|") && ann.last.contains("|27018=1|"), "{}", ann.last);
}
