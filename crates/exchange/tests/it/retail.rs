//! Orders of retail investors, and of those who provide liquidity to them, by both gateways.

use tapeline_fix::{Writer, tag};
use tapeline_ntg::Message;

use crate::support::fix::{Client, put_order};
use crate::support::{Venue, config, new, order, successor};

const RETAIL: u8 = 1;
const PROVIDER: u8 = 2;

fn of(owner_type: u8, name: &str, text: &str) -> Message {
    let mut order = order(name, text);
    order.owner_type = owner_type;
    if owner_type == PROVIDER {
        order.display = 0;
    }
    Message::NewOrder(order)
}

#[test]
fn who_provides_for_retail_is_seen_by_nobody_and_trades_with_retail_alone() {
    let config = config();
    let mut venue = Venue::new(&config);
    let [ann, bob] = ["ANN", "BOB"].map(|name| venue.log_on(name));
    venue.lines();
    venue.says(ann, &of(PROVIDER, "A1", "sell 100@10.05"));
    assert_eq!(venue.lines(), ["ANN < 0/0 A1 leaves 100"], "it is hidden");
    venue.says(bob, &new("B1", "buy 10@10.05"));
    assert_eq!(venue.lines(), ["BOB < 0/0 B1 leaves 10", "A B 10@10.05"]);
    venue.says(bob, &of(RETAIL, "B2", "buy 30@10.05"));
    assert_eq!(
        venue.lines(),
        ["BOB < F/2 B2 leaves 0 30@10.05 R", "ANN < F/1 A1 leaves 70 30@10.05 A", "P 30@10.05",]
    );
    let frames = &venue.wires.to[&ann];
    assert_eq!(frames[frames.len() - 155 + 99], PROVIDER, "reports say so");
    let mut shown = order("A2", "sell 100@10.05");
    shown.owner_type = PROVIDER;
    venue.says(ann, &Message::NewOrder(shown));
    assert_eq!(venue.lines(), ["ANN < 8/8 A2 leaves 0 code 20005"]);
    assert_eq!(venue.exchange.counts().provider_trades, 1);
    let again = successor(&config, &venue);
    assert_eq!(again.exchange.position(), venue.exchange.position());
}

#[test]
fn by_fix_it_is_522() {
    let mut venue = Venue::new(&config());
    let mut ann = Client::log_on(&mut venue, "ANN");
    let bob = venue.log_on("BOB");
    ann.hears(&mut venue);
    venue.says(bob, &of(PROVIDER, "P1", "sell 20@10.05"));
    venue.says(bob, &new("S1", "sell 20@10.06"));
    let body = |fields: &mut Writer<'_>| {
        put_order(fields, "A1", "buy 30@10.05");
        fields.byte(tag::OWNER_TYPE, b'1');
    };
    let said = ann.asks(&mut venue, "D", body);
    assert_eq!(said, ["F/1 A1 20+10 of 30 20@10.05"]);
    assert!(ann.last.contains("|522=1|"), "{}", ann.last);
    let body = |fields: &mut Writer<'_>| {
        put_order(fields, "A2", "buy 30@10.06");
        fields.byte(tag::OWNER_TYPE, b'2').byte(tag::TIME_IN_FORCE, b'3');
    };
    assert_eq!(ann.asks(&mut venue, "D", body), ["C/C A2 0+0 of 30"], "there is no retail");
}
