//! Quotes of one side and of two, by both gateways.

use tapeline_fix::{Writer, tag};
use tapeline_instrument::Price;
use tapeline_layout::Text;
use tapeline_ntg::Message;
use tapeline_ntg::client::{MassCancel, NewQuote};

use crate::support::fix::{Client, put_change, put_rest};
use crate::support::{EPOCH_NS, VOD, Venue, cancel, config, new, replace, successor};

/// `100@10.00`, or nothing.
fn side(text: &str) -> (i64, i32) {
    let Some((size, price)) = text.split_once('@') else { return (0, 0) };
    (price.parse::<Price>().expect("a price").0, size.parse().expect("a size"))
}

fn quote(name: &str, bid: &str, ask: &str) -> Message {
    let ((bid, bid_size), (ask, ask_size)) = (side(bid), side(ask));
    Message::NewQuote(NewQuote {
        cl_ord_id: Text::new(name),
        clearing_account: 3,
        instrument_id: VOD,
        bid,
        bid_size,
        ask,
        ask_size,
        capacity: 2,
        auto_cancel: 1,
        ..NewQuote::default()
    })
}

fn market() -> (Venue, [tapeline_exchange::SessionId; 2]) {
    let mut venue = Venue::new(&config());
    let sessions = ["ANN", "BOB"].map(|name| venue.log_on(name));
    venue.lines();
    (venue, sessions)
}

#[test]
fn a_quote_is_two_orders_with_two_reports_of_one_name() {
    let (mut venue, [ann, bob]) = market();
    venue.says(ann, &quote("Q1", "100@10.00", "200@10.05"));
    assert_eq!(
        venue.lines(),
        ["ANN < 0/0 Q1 leaves 100", "A B 100@10.00", "ANN < 0/0 Q1 leaves 200", "A S 200@10.05",]
    );
    venue.says(bob, &new("B1", "buy 50@10.05"));
    assert_eq!(
        venue.lines(),
        ["BOB < F/2 B1 leaves 0 50@10.05 R", "ANN < F/1 Q1 leaves 150 50@10.05 A", "E 50",]
    );
    let again = successor(&config(), &venue);
    assert_eq!(again.exchange.position(), venue.exchange.position());
}

#[test]
fn the_next_quote_takes_its_place_and_keeps_the_time_of_what_is_not_more() {
    let (mut venue, [ann, bob]) = market();
    venue.says(ann, &quote("Q1", "100@10.00", "200@10.05"));
    venue.says(bob, &new("B1", "buy 50@10.00"));
    venue.says(bob, &new("B2", "buy 50@10.05"));
    venue.lines();
    // How much is open, whatever has traded.
    venue.says(ann, &quote("Q2", "80@10.00", "200@10.05"));
    assert_eq!(
        venue.lines(),
        ["ANN < 5/0 Q2 leaves 80", "U 80@10.00 1", "ANN < 5/1 Q2 leaves 200", "U 200@10.05 0",]
    );
    venue.says(ann, &quote("Q3", "80@9.99", "200@10.05"));
    assert_eq!(
        venue.lines(),
        ["ANN < 5/0 Q3 leaves 80", "U 80@9.99 0", "ANN < 5/1 Q3 leaves 200", "U 200@10.05 1"]
    );
    assert_eq!(venue.exchange.engine().alive(), 3);
}

#[test]
fn a_quote_that_moves_does_not_trade_with_itself() {
    let (mut venue, [ann, _]) = market();
    venue.says(ann, &quote("Q1", "100@10.00", "100@10.05"));
    venue.says(ann, &quote("Q2", "100@10.10", "100@10.15"));
    venue.says(ann, &quote("Q3", "100@9.90", "100@9.95"));
    let lines = venue.lines();
    assert!(!lines.iter().any(|line| line.contains("F/")), "{lines:?}");
    assert_eq!(lines[4..6], ["ANN < 5/0 Q2 leaves 100", "U 100@10.15 0"], "up: sellers first");
    assert_eq!(lines[8..10], ["ANN < 5/0 Q3 leaves 100", "U 100@9.90 0"], "down: buyers first");
}

#[test]
fn a_quote_may_trade_at_once_and_one_side_that_is_gone_comes_again() {
    let (mut venue, [ann, bob]) = market();
    venue.says(bob, &new("B1", "sell 30@10.00"));
    venue.lines();
    venue.says(ann, &quote("Q1", "30@10.00", "10@10.05"));
    assert_eq!(
        venue.lines(),
        [
            "ANN < F/2 Q1 leaves 0 30@10.00 R",
            "BOB < F/2 B1 leaves 0 30@10.00 A",
            "E 30",
            "ANN < 0/0 Q1 leaves 10",
            "A S 10@10.05",
        ]
    );
    venue.says(ann, &quote("Q2", "20@10.00", "10@10.05"));
    assert_eq!(
        venue.lines(),
        ["ANN < 0/0 Q2 leaves 20", "A B 20@10.00", "ANN < 5/0 Q2 leaves 10", "U 10@10.05 1"]
    );
}

#[test]
fn a_quote_of_one_side_withdraws_the_other() {
    let (mut venue, [ann, _]) = market();
    venue.says(ann, &quote("Q1", "", "10@10.05"));
    assert_eq!(venue.lines(), ["ANN < 0/0 Q1 leaves 10", "A S 10@10.05"]);
    venue.says(ann, &quote("Q2", "20@10.00", "10@10.05"));
    venue.lines();
    venue.says(ann, &quote("Q3", "20@10.00", ""));
    assert_eq!(
        venue.lines(),
        ["ANN < 5/0 Q3 leaves 20", "U 20@10.00 1", "ANN < 4/4 Q3 leaves 0", "D"]
    );
    venue.says(ann, &quote("Q4", "", ""));
    assert_eq!(venue.lines(), ["ANN < 3 9900 BidPx"]);
}

#[test]
fn if_one_side_is_refused_both_are_and_what_was_there_stays() {
    let (mut venue, [ann, _]) = market();
    venue.says(ann, &quote("Q1", "100@10.00", "100@10.05"));
    venue.lines();
    venue.says(ann, &quote("Q2", "100@10.00", "100@10.055"));
    assert_eq!(
        venue.lines(),
        ["ANN < 8/8 Q2 leaves 0 code 20002", "ANN < 8/8 Q2 leaves 0 code 20002"]
    );
    venue.says(ann, &quote("Q3", "100@10.05", "100@10.05"));
    assert_eq!(venue.lines().len(), 2, "it would trade with itself");
    venue.says(ann, &quote("Q4", "100@10.055", ""));
    assert_eq!(venue.lines(), ["ANN < 8/8 Q4 leaves 0 code 20002"]);
    assert_eq!(venue.exchange.engine().alive(), 2);
    let Message::NewQuote(elsewhere) = quote("Q5", "1@1", "") else { unreachable!() };
    venue.says(ann, &Message::NewQuote(NewQuote { instrument_id: 99, ..elsewhere }));
    assert_eq!(venue.lines(), ["ANN < j Q5 20008 app 0"]);
}

#[test]
fn whoever_goes_on_with_a_state_knows_whose_quote_it_is() {
    let (mut venue, [ann, _]) = market();
    let kept = |message| match message {
        Message::NewQuote(quote) => Message::NewQuote(NewQuote { auto_cancel: 0, ..quote }),
        other => other,
    };
    venue.says(ann, &kept(quote("Q1", "100@10.00", "100@10.05")));
    let mut state = Vec::new();
    venue.exchange.save(&mut state).expect("all is done");
    let mut other = Venue::new(&config());
    other.exchange = tapeline_exchange::Exchange::new(&config(), EPOCH_NS);
    other.exchange.restore(&state).expect("a state");
    other.now = venue.now;
    other.exchange.open(other.now, &mut other.wires);
    let ann = other.log_on("ANN");
    other.lines();
    other.says(ann, &quote("Q2", "80@10.00", ""));
    assert_eq!(
        other.lines(),
        ["ANN < 5/0 Q2 leaves 80", "U 80@10.00 1", "ANN < 4/4 Q2 leaves 0", "D"]
    );
}

#[test]
fn a_cancel_takes_both_sides_and_amendments_are_refused() {
    let (mut venue, [ann, bob]) = market();
    venue.says(ann, &quote("Q1", "100@10.00", "100@10.05"));
    venue.lines();
    venue.says(ann, &replace("R1", "Q1", "buy 10@10.00"));
    assert_eq!(venue.lines(), ["ANN < 9 R1 20006 app 1"]);
    venue.says(bob, &cancel("X0", "Q1"));
    assert_eq!(venue.lines(), ["BOB < 9 X0 20000 app 1"]);
    venue.says(ann, &cancel("X1", "Q1"));
    assert_eq!(venue.lines(), ["ANN < 4/4 X1 leaves 0", "D", "ANN < 4/4 X1 leaves 0", "D"]);
    // The name means what is left of a quote, too.
    venue.says(ann, &quote("Q2", "100@10.00", "100@10.05"));
    venue.says(bob, &new("B1", "buy 100@10.05"));
    venue.lines();
    venue.says(ann, &cancel("X2", "Q2"));
    assert_eq!(venue.lines(), ["ANN < 4/4 X2 leaves 0", "D"]);
    assert_eq!(venue.exchange.engine().alive(), 0);
}

#[test]
fn mass_cancels_are_for_orders_or_for_quotes_and_both_go_with_the_session() {
    let (mut venue, [ann, _]) = market();
    venue.says(ann, &quote("Q1", "100@10.00", "100@10.05"));
    venue.says(ann, &new("A1", "buy 1@9.00"));
    venue.lines();
    let all = MassCancel { cl_ord_id: Text::new("M1"), kind: 7, ..MassCancel::default() };
    venue.says(ann, &Message::MassCancel(all));
    assert_eq!(venue.lines(), ["ANN < r M1 7", "ANN < 4/4 M1 leaves 0", "D"]);
    venue.says(ann, &Message::MassCancel(MassCancel { sub_type: 3, ..all }));
    assert_eq!(
        venue.lines(),
        ["ANN < r M1 7", "ANN < 4/4 M1 leaves 0", "ANN < 4/4 M1 leaves 0", "D", "D"]
    );
    venue.says(ann, &quote("Q2", "100@10.00", "100@10.05"));
    venue.lines();
    venue.hangs_up(ann);
    assert_eq!(venue.lines(), ["D", "D"]);
    assert_eq!(venue.exchange.engine().alive(), 0);
}

#[test]
fn by_fix_a_quote_is_an_s_and_its_reports_have_its_name() {
    let (mut venue, [native, bob]) = market();
    venue.hangs_up(native);
    let mut ann = Client::log_on(&mut venue, "ANN");
    ann.said();
    let body = |name: &'static str, bid: &'static str, ask: &'static str| {
        move |fields: &mut Writer<'_>| {
            fields.text(tag::QUOTE_ID, name.as_bytes());
            fields.number(tag::SECURITY_ID, VOD.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
            for (text, price_tag, size_tag) in
                [(bid, tag::BID_PX, tag::BID_SIZE), (ask, tag::OFFER_PX, tag::OFFER_SIZE)]
            {
                let (price, size) = side(text);
                if size > 0 {
                    fields.decimal(price_tag, price).number(size_tag, size.into());
                }
            }
            put_rest(fields);
        }
    };
    assert_eq!(
        ann.asks(&mut venue, "S", body("Q1", "100@10.00", "50@10.05")),
        ["0/0 Q1 0+100 of 100", "0/0 Q1 0+50 of 50"]
    );
    venue.says(bob, &new("B1", "buy 20@10.05"));
    assert_eq!(ann.hears(&mut venue), ["F/1 Q1 20+30 of 50 20@10.05"]);
    assert_eq!(
        ann.asks(&mut venue, "S", body("Q2", "100@10.00", "50@10.05")),
        ["5/0 Q2 0+100 of 100 was Q1", "5/1 Q2 20+50 of 70 was Q1"]
    );
    assert_eq!(
        ann.asks(&mut venue, "S", body("Q3", "100@10.001", "50@10.05")),
        ["8/8 Q3 0+0 of 100: 20002", "8/8 Q3 0+0 of 50: 20002"]
    );
    assert_eq!(
        ann.asks(&mut venue, "S", body("Q4", "", "")),
        ["3 132 1: a required field is missing"]
    );
    let all = |fields: &mut Writer<'_>| put_change(fields, "X1", "Q2", None);
    assert_eq!(
        ann.asks(&mut venue, "F", all),
        ["4/4 X1 20+0 of 70 was Q2", "4/4 X1 0+0 of 100 was Q2"]
    );
    assert_eq!(venue.exchange.counts().quotes, 3);
}
