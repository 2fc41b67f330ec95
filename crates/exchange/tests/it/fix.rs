//! Orders by FIX: the same market as by the native gateway, and sessions whose numbers
//! outlive connections and processes.

use tapeline_exchange::{Door, Exchange, ExchangeConfig, FirmConfig, UserConfig};
use tapeline_fix::{Frames, Store, Writer, tag};
use tapeline_ntg::Message;
use tapeline_ntg::client::NewOrder;

use crate::support::fix::{Client, put_change, put_order, put_rest};
use crate::support::{EPOCH_NS, VOD, Venue, cancel, config, new, order, replay, successor};

#[test]
fn an_order_day_by_fix_against_the_native_gateway() {
    let mut venue = Venue::new(&config());
    let mut ann = Client::log_on(&mut venue, "ANN");
    assert_eq!(ann.said(), ["A"]);
    let bob = venue.log_on("BOB");
    let said = ann.asks(&mut venue, "D", |fields| put_order(fields, "A1", "sell 100@10.25"));
    assert_eq!(said, ["0/0 A1 0+100 of 100"]);
    venue.says(bob, &new("B1", "buy 30@10.25"));
    assert_eq!(ann.hears(&mut venue), ["F/1 A1 30+70 of 100 30@10.25"]);
    let change = |fields: &mut Writer<'_>| put_change(fields, "A2", "A1", Some("sell 90@10.25"));
    assert_eq!(ann.asks(&mut venue, "G", change), ["5/1 A2 30+60 of 90 was A1"]);
    let cancel = |fields: &mut Writer<'_>| put_change(fields, "A3", "A2", None);
    assert_eq!(ann.asks(&mut venue, "F", cancel), ["4/4 A3 30+0 of 90 was A2"]);
    let aggressor = |fields: &mut Writer<'_>| put_order(fields, "A4", "buy 5");
    assert_eq!(ann.asks(&mut venue, "D", aggressor), ["C/C A4 0+0 of 5"]);
    for name in ["A5", "A6"] {
        ann.asks(&mut venue, "D", |fields| put_order(fields, name, "sell 1@10.50"));
    }
    let all = |fields: &mut Writer<'_>| {
        fields.text(tag::CL_ORD_ID, b"A7").byte(tag::MASS_CANCEL_REQUEST_TYPE, b'7');
        fields.time(tag::TRANSACT_TIME, EPOCH_NS);
    };
    let said = ann.asks(&mut venue, "q", all);
    assert_eq!(said, ["r A7 7", "4/4 A7 0+0 of 1 was A5", "4/4 A7 0+0 of 1 was A6"]);
    assert_eq!(venue.exchange.engine().alive(), 0);
}

#[test]
fn orders_that_are_named_have_the_name_of_their_firm_in_market_data() {
    let firm = FirmConfig { number: 1, name: "BRIDGE".to_owned() };
    let mut venue = Venue::new(&ExchangeConfig { firms: vec![firm], ..config() });
    let mut ann = Client::log_on(&mut venue, "ANN");
    let bob = venue.log_on("BOB");
    venue.lines();
    for (anonymity, name) in [(b'N', "A1"), (b'Y', "A2")] {
        ann.asks(&mut venue, "D", |fields| {
            put_order(fields, name, "sell 100@10.25");
            fields.byte(tag::PRE_TRADE_ANONYMITY, anonymity);
        });
    }
    // Bob's firm has no name.
    let named = NewOrder { anonymity: 1, ..order("B1", "buy 30@10.20") };
    venue.says(bob, &Message::NewOrder(named));
    let published = venue.lines().into_iter().filter(|line| line.starts_with(['A', 'F']));
    let published: Vec<String> = published.filter(|line| line.contains('@')).collect();
    let wanted = ["F S 100@10.25 BRIDGE", "A S 100@10.25", "A B 30@10.20"];
    assert_eq!(published, wanted);
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let mut venue = Venue::new(&config());
    let mut ann = Client::log_on(&mut venue, "ANN");
    ann.said();
    let between = |fields: &mut Writer<'_>| put_order(fields, "A1", "sell 100@10.253");
    assert_eq!(ann.asks(&mut venue, "D", between), ["8/8 A1 0+0 of 100: 20002"]);
    let nothing = |fields: &mut Writer<'_>| put_change(fields, "A2", "A1", None);
    assert_eq!(ann.asks(&mut venue, "F", nothing), ["9 A2 of 1 was A1: 20000"]);
    let nothing = |fields: &mut Writer<'_>| put_change(fields, "A3", "A1", Some("sell 1@10.25"));
    assert_eq!(ann.asks(&mut venue, "G", nothing), ["9 A3 of 2 was A1: 20000"]);
    let elsewhere = |fields: &mut Writer<'_>| {
        fields.number(tag::SECURITY_ID, 999).byte(tag::SECURITY_ID_SOURCE, b'8');
        fields.text(tag::CL_ORD_ID, b"A4").byte(tag::ORD_TYPE, b'1').byte(tag::SIDE, b'1');
        fields.number(tag::ORDER_QTY, 1).number(tag::DISPLAY_QTY, 1);
        put_rest(fields);
    };
    assert_eq!(ann.asks(&mut venue, "D", elsewhere), ["j D 2: no such instrument"]);
    // Of its form: the session says so, and what.
    let nameless = |fields: &mut Writer<'_>| {
        fields.byte(tag::SIDE, b'1').time(tag::TRANSACT_TIME, EPOCH_NS);
    };
    assert_eq!(ann.asks(&mut venue, "D", nameless), ["3 11 1: a required tag is missing"]);
    let sideways = |fields: &mut Writer<'_>| {
        put_change(fields, "A5", "A1", Some("sell 1@10.25"));
        fields.byte(tag::PASSIVE_ONLY, b'7');
    };
    assert_eq!(ann.asks(&mut venue, "G", sideways), ["3 27010 5: there is no such value"]);
    assert_eq!(venue.exchange.counts().rejected, 3);
    // What is sent again is not refused again.
    let again = |fields: &mut Writer<'_>| {
        fields.number(tag::BEGIN_SEQ_NO, 1).number(tag::END_SEQ_NO, 0);
    };
    ann.asks(&mut venue, "2", again);
    assert_eq!(venue.exchange.counts().rejected, 3);
}

#[test]
fn a_user_is_here_once_by_whichever_door() {
    let mut venue = Venue::new(&config());
    let ann = Client::log_on(&mut venue, "ANN");
    let native = venue.connect(Door::Orders, "native");
    venue.lines();
    venue.says(native, &crate::support::logon("ANN"));
    assert_eq!(venue.lines(), ["native < B 2"]);
    let store = ann.hangs_up(&mut venue);
    venue.says(native, &crate::support::logon("ANN"));
    let second = Client::log_on_again(&mut venue, "ANN", store);
    assert_eq!(venue.lines(), ["native < B 0", "ANN closed"]);
    assert!(!second.initiator.is_active());
}

/// ANN's order stands, ANN goes, and BOB trades with it.
fn trade_with_who_is_away(venue: &mut Venue) -> Store {
    let mut ann = Client::log_on(venue, "ANN");
    ann.asks(venue, "D", |fields| put_order(fields, "A1", "sell 100@10.25"));
    let store = ann.hangs_up(venue);
    let bob = venue.log_on("BOB");
    venue.says(bob, &new("B1", "buy 30@10.25"));
    venue.says(bob, &new("B2", "buy 20@10.25"));
    venue.hangs_up(bob);
    store
}

#[test]
fn reports_of_who_was_away_come_behind_the_next_logon() {
    let mut venue = Venue::new(&config());
    let store = trade_with_who_is_away(&mut venue);
    assert_eq!(venue.exchange.counts().fix_waiting, 2);
    let mut ann = Client::log_on_again(&mut venue, "ANN", store);
    assert_eq!(venue.exchange.counts().fix_waiting, 0);
    let missed = ["F/1 A1 30+70 of 100 30@10.25 again Y", "F/1 A1 50+50 of 100 20@10.25 again Y"];
    assert_eq!(ann.said(), [&["A"][..], &missed].concat());
    // Numbers go on where they were: a logon and a report by then.
    assert_eq!(ann.numbers, [3, 4, 5]);
    let store = ann.hangs_up(&mut venue);
    assert_eq!(Client::log_on_again(&mut venue, "ANN", store).said(), ["A"], "once");
}

#[test]
fn whoever_came_by_the_native_gateway_since_has_its_reports_there() {
    let mut venue = Venue::new(&config());
    let ann = Client::log_on(&mut venue, "ANN");
    let store = ann.hangs_up(&mut venue);
    let native = venue.log_on("ANN");
    venue.says(native, &new("A1", "sell 100@10.25"));
    venue.lines();
    venue.says(native, &cancel("A2", "A1"));
    assert_eq!(venue.lines(), ["ANN < 4/4 A2 leaves 0", "D"]);
    venue.hangs_up(native);
    assert_eq!(Client::log_on_again(&mut venue, "ANN", store).said(), ["A"]);
}

#[test]
fn whoever_goes_on_with_the_journal_has_what_waits_and_numbers_above() {
    let mut venue = Venue::new(&config());
    let store = trade_with_who_is_away(&mut venue);
    for is_by_snapshot in [false, true] {
        let mut next = successor(&config(), &venue);
        if is_by_snapshot {
            let mut state = Vec::new();
            next.exchange.save(&mut state).expect("all is done");
            next.exchange = Exchange::new(&config(), EPOCH_NS);
            next.exchange.restore(&state).expect("a state");
        }
        next.exchange.open(next.now, &mut next.wires);
        let mut ann = Client::log_on_again(&mut next, "ANN", store.clone());
        let said = ann.said();
        // Where the session began nothing was sent yet; three reports since.
        assert_eq!(ann.numbers[0], 1 + 3 + 5_000, "{said:?}");
        // The order's own report came before the end, and comes again: it may not have.
        let missed = [
            "0/0 A1 0+100 of 100 again Y",
            "F/1 A1 30+70 of 100 30@10.25 again Y",
            "F/1 A1 50+50 of 100 20@10.25 again Y",
        ];
        assert_eq!(said, [&["A"][..], &missed].concat(), "by snapshot: {is_by_snapshot}");
    }
}

#[test]
fn what_did_not_reach_its_client_before_the_end_comes_from_whoever_goes_on() {
    let mut venue = Venue::new(&config());
    let store = trade_with_who_is_away(&mut venue);
    // It logs on, and neither the answer nor what waited for it is on the wire yet when the
    // process is killed. Once more of who goes on, and then it is there.
    let mut ann = Client::connect(&mut venue, "ANN", store);
    ann.logs_on_unheard(&mut venue);
    let mut second = successor(&config(), &venue);
    second.exchange.open(second.now, &mut second.wires);
    let mut ann = Client::connect(&mut second, "ANN", ann.store);
    ann.logs_on_unheard(&mut second);
    for is_by_snapshot in [false, true] {
        let mut third = successor(&config(), &venue);
        replay(&mut third, &second.wires.entries);
        if is_by_snapshot {
            let mut state = Vec::new();
            third.exchange.save(&mut state).expect("all is done");
            third.exchange = Exchange::new(&config(), EPOCH_NS);
            third.exchange.restore(&state).expect("a state");
        }
        third.exchange.open(third.now, &mut third.wires);
        let mut ann = Client::log_on_again(&mut third, "ANN", ann.store.clone());
        assert!(ann.initiator.is_active());
        let missed = [
            "0/0 A1 0+100 of 100 again Y",
            "F/1 A1 30+70 of 100 30@10.25 again Y",
            "F/1 A1 50+50 of 100 20@10.25 again Y",
        ];
        assert_eq!(ann.said(), [&["A"][..], &missed].concat(), "by snapshot: {is_by_snapshot}");
    }
}

#[test]
fn nobody_is_let_in_before_the_journal_has_where_the_session_begins() {
    let mut venue = Venue::new(&config());
    venue.wires.keeps_later = true;
    let mut ann = Client::connect(&mut venue, "ANN", Store::new(100));
    ann.logs_on(&mut venue);
    // An order right behind the logon.
    ann.asks_unheard(&mut venue, "D", |fields| put_order(fields, "A1", "sell 100@10.25"));
    assert_eq!(ann.hears(&mut venue), [""; 0]);
    // Killed here, whoever goes on may use the same numbers: nobody has seen them.
    let (index, ..) = venue.exchange.position();
    venue.exchange.committed(venue.now, index, &mut venue.wires);
    assert_eq!(ann.hears(&mut venue), ["A"]);
    venue.exchange.cycle(venue.now, &mut venue.wires);
    let (index, ..) = venue.exchange.position();
    venue.exchange.committed(venue.now, index, &mut venue.wires);
    assert_eq!(ann.hears(&mut venue), ["0/0 A1 0+100 of 100"]);
    // Who hangs up before it is let in, and comes again, is let in once.
    let store = ann.hangs_up(&mut venue);
    let mut first = Client::connect(&mut venue, "ANN", store);
    first.logs_on(&mut venue);
    let store = first.hangs_up(&mut venue);
    let mut again = Client::connect(&mut venue, "ANN", store);
    again.logs_on(&mut venue);
    let (index, ..) = venue.exchange.position();
    venue.exchange.committed(venue.now, index, &mut venue.wires);
    assert_eq!(again.hears(&mut venue), ["A"]);
}

#[test]
fn where_nothing_can_be_kept_who_waits_to_be_let_in_is_and_so_is_who_comes_then() {
    let mut venue = Venue::new(&config());
    venue.wires.keeps_later = true;
    let mut ann = Client::connect(&mut venue, "ANN", Store::new(100));
    ann.logs_on(&mut venue);
    let (_, done, _) = venue.exchange.position();
    venue.exchange.halt(venue.now, done, &mut venue.wires);
    assert_eq!(ann.hears(&mut venue), ["A"]);
    let order = |fields: &mut Writer<'_>| put_order(fields, "A1", "sell 100@10.25");
    assert_eq!(ann.asks(&mut venue, "D", order), ["j D 4: the market is down"]);
    assert_eq!(Client::log_on(&mut venue, "BOB").said(), ["A"]);
}

#[test]
fn what_a_client_says_that_it_has_does_not_come_again() {
    let mut venue = Venue::new(&config());
    let store = trade_with_who_is_away(&mut venue);
    let mut ann = Client::log_on_again(&mut venue, "ANN", store);
    ann.said();
    // Once an interval of the session, and only where there is something to ask.
    let mut kinds = Vec::new();
    for ms in [29_990, 10, 30_000] {
        venue.after(ms);
        let came = venue.wires.to.get(&ann.session).cloned().unwrap_or_default();
        let read = Frames::default().read(&came, |message| {
            kinds.push((ms, String::from_utf8_lossy(message.msg_type()).into_owned()));
            true
        });
        read.expect("messages");
        ann.hears(&mut venue);
    }
    assert_eq!(kinds, [(10, "1".to_owned()), (30_000, "0".to_owned())]);
    ann.asks(&mut venue, "F", |fields| put_change(fields, "A2", "A1", None));
    let store = ann.hangs_up(&mut venue);
    for is_by_snapshot in [false, true] {
        let mut next = successor(&config(), &venue);
        if is_by_snapshot {
            let mut state = Vec::new();
            next.exchange.save(&mut state).expect("all is done");
            next.exchange = Exchange::new(&config(), EPOCH_NS);
            next.exchange.restore(&state).expect("a state");
        }
        next.exchange.open(next.now, &mut next.wires);
        let mut ann = Client::log_on_again(&mut next, "ANN", store.clone());
        let said = ann.said();
        assert_eq!(said, ["A", "4/4 A2 50+0 of 100 was A1 again Y"], "{is_by_snapshot}");
    }
}

#[test]
fn nothing_but_what_was_asked_for_goes_out_behind_a_logout() {
    let limits = tapeline_fix::Limits {
        throttle_per_s: 2,
        throttle_seconds: 1,
        ..tapeline_fix::Limits::default()
    };
    let mut venue = Venue::new(&ExchangeConfig { fix: limits, ..config() });
    let mut ann = Client::log_on(&mut venue, "ANN");
    for name in ["A1", "A2"] {
        ann.asks(&mut venue, "D", |fields| put_order(fields, name, "sell 100@10.25"));
    }
    let bob = venue.log_on("BOB");
    let much = ann.asks(&mut venue, "D", |fields| put_order(fields, "A3", "sell 100@10.25"));
    assert_eq!(much, ["j D 0: Message rate exceeded"]);
    venue.after(1_000);
    for name in ["A4", "A5", "A6"] {
        ann.asks(&mut venue, "D", |fields| put_order(fields, name, "sell 1@10.50"));
    }
    assert!(ann.is_over, "logged out");
    venue.says(bob, &new("B1", "buy 30@10.25"));
    assert!(!venue.wires.to.contains_key(&ann.session), "nothing comes");
    venue.after(5_000);
    assert!(venue.wires.closed.contains(&ann.session));
    venue.after(1_000);
    let store = ann.hangs_up(&mut venue);
    let mut ann = Client::log_on_again(&mut venue, "ANN", store);
    let said = ann.said();
    assert!(said.contains(&"F/1 A1 30+70 of 100 30@10.25 again Y".to_owned()), "{said:?}");
}

#[test]
fn numbers_begin_again_on_each_day() {
    let mut venue = Venue::new(&config());
    // A client that counts by the day begins at 1, too, and is not taken for one that
    // has lost its numbers.
    drop(trade_with_who_is_away(&mut venue));
    venue.after(86_400_000);
    let ann = Client::log_on(&mut venue, "ANN");
    assert_eq!((ann.numbers[0], ann.initiator.is_active()), (1, true));
    // The first report went out under a number of the day before, and may not have arrived.
    let missed = [
        "0/0 A1 0+100 of 100 again Y",
        "F/1 A1 30+70 of 100 30@10.25 again Y",
        "F/1 A1 50+50 of 100 20@10.25 again Y",
    ];
    assert_eq!(ann.heard[1..], missed);
}

#[test]
fn who_watches_a_firm_gets_copies_of_its_reports_and_does_not_trade() {
    let mut config = config();
    let watcher = UserConfig { name: "OPS".to_owned(), copies: vec![1], ..config.users[0].clone() };
    config.users.push(UserConfig { password: "OPS-secret1".to_owned(), ..watcher });
    let mut venue = Venue::new(&config);
    // What happened before its first logon is not lost either.
    let ann = venue.log_on("ANN");
    venue.says(ann, &new("A1", "sell 100@10.25"));
    let mut ops = Client::log_on(&mut venue, "OPS");
    assert_eq!(ops.said(), ["A", "0/0 A1 0+100 of 100 of ANN again Y"]);
    let mut bob = Client::log_on(&mut venue, "BOB");
    let said = bob.asks(&mut venue, "D", |fields| put_order(fields, "B1", "buy 30@10.25"));
    assert_eq!(said[1..], ["F/2 B1 30+0 of 30 30@10.25"]);
    assert_eq!(ops.hears(&mut venue), ["F/1 A1 30+70 of 100 of ANN 30@10.25"]);
    let refused = ops.asks(&mut venue, "D", |fields| put_order(fields, "O1", "buy 1@10.25"));
    assert_eq!(refused, ["j D 3: this session is for copies of reports"]);
    let store = ops.hangs_up(&mut venue);
    venue.says(ann, &cancel("A2", "A1"));
    let mut ops = Client::log_on_again(&mut venue, "OPS", store);
    assert_eq!(ops.said(), ["A", "4/4 A2 30+0 of 100 of ANN was A1 again Y"]);
}

#[test]
fn what_the_gateway_itself_has_sent_moves_the_numbers_too() {
    let limits =
        tapeline_fix::Limits { throttle_per_s: u32::MAX, ..tapeline_fix::Limits::default() };
    let mut venue = Venue::new(&ExchangeConfig { fix: limits, ..config() });
    let mut ann = Client::log_on(&mut venue, "ANN");
    // Rejects of the session, of which the market knows nothing.
    let nameless = |fields: &mut Writer<'_>| {
        fields.byte(tag::SIDE, b'1').time(tag::TRANSACT_TIME, EPOCH_NS);
    };
    for _ in 0..6_000 {
        ann.asks(&mut venue, "D", nameless);
    }
    ann.asks(&mut venue, "D", |fields| put_order(fields, "A1", "sell 100@10.25"));
    let last = ann.numbers.last().copied().unwrap_or_default();
    let store = ann.hangs_up(&mut venue);
    let mut next = successor(&config(), &venue);
    next.exchange.open(next.now, &mut next.wires);
    let mut ann = Client::log_on_again(&mut next, "ANN", store);
    assert!(ann.numbers[0] > last, "{} behind {last}", ann.numbers[0]);
    assert_eq!(ann.said(), ["A", "0/0 A1 0+100 of 100 again Y"]);
}

#[test]
fn answers_of_the_gateway_are_not_taken_for_reports_that_arrived() {
    let mut venue = Venue::new(&config());
    let mut ann = Client::log_on(&mut venue, "ANN");
    ann.said();
    for name in ["A1", "A2", "A3"] {
        let elsewhere = |fields: &mut Writer<'_>| {
            fields.number(tag::SECURITY_ID, 999).byte(tag::SECURITY_ID_SOURCE, b'8');
            fields.text(tag::CL_ORD_ID, name.as_bytes());
            fields.byte(tag::ORD_TYPE, b'1').byte(tag::SIDE, b'1');
            fields.number(tag::ORDER_QTY, 1).number(tag::DISPLAY_QTY, 1);
            put_rest(fields);
        };
        assert_eq!(ann.asks(&mut venue, "D", elsewhere), ["j D 2: no such instrument"]);
    }
    let store = ann.hangs_up(&mut venue);
    let mut ann = Client::log_on_again(&mut venue, "ANN", store);
    ann.asks(&mut venue, "D", |fields| put_order(fields, "A4", "sell 100@10.25"));
    let store = ann.hangs_up(&mut venue);
    let mut next = successor(&config(), &venue);
    next.exchange.open(next.now, &mut next.wires);
    let mut ann = Client::log_on_again(&mut next, "ANN", store);
    assert_eq!(ann.said(), ["A", "0/0 A4 0+100 of 100 again Y"]);
}

#[test]
fn a_report_says_again_who_takes_part_and_what_was_asked_for() {
    let mut venue = Venue::new(&config());
    let mut ann = Client::log_on(&mut venue, "ANN");
    let order = |fields: &mut Writer<'_>| {
        fields.text(tag::CL_ORD_ID, b"A1");
        fields.number(tag::NO_PARTY_IDS, 4);
        for (id, source, role, qualifier) in [
            ("DESK", b'D', 76, None),
            ("7", b'P', 3, Some(23)),
            ("8", b'P', 122, Some(22)),
            ("9", b'P', 12, Some(24)),
        ] {
            fields.text(tag::PARTY_ID, id.as_bytes()).byte(tag::PARTY_ID_SOURCE, source);
            fields.number(tag::PARTY_ROLE, role);
            if let Some(qualifier) = qualifier {
                fields.number(tag::PARTY_ROLE_QUALIFIER, qualifier);
            }
        }
        fields.number(tag::SECURITY_ID, VOD.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
        fields.byte(tag::ORD_TYPE, b'2').byte(tag::SIDE, b'1').number(tag::ORDER_QTY, 10);
        fields.number(tag::DISPLAY_QTY, 10).text(tag::PRICE, b"10.25");
        fields.byte(tag::ACCOUNT_TYPE, b'1').byte(tag::ORDER_CAPACITY, b'P');
        fields.time(tag::TRANSACT_TIME, EPOCH_NS).number(tag::PASSIVE_ONLY, 1);
        fields.number(tag::GROUP_ID, 5).byte(tag::ORDER_ORIGINATION, b'5');
        fields.byte(tag::NO_ORDER_ATTRIBUTES, b'1').byte(tag::ORDER_ATTRIBUTE_TYPE, b'4');
        fields.byte(tag::ORDER_ATTRIBUTE_VALUE, b'Y');
    };
    ann.asks(&mut venue, "D", order);
    let parties = "453=4|448=DESK|447=D|452=76|448=7|447=P|452=3|2376=23|448=8|447=P|452=122|\
                   2376=22|448=9|447=P|452=12|2376=24|";
    for said in [parties, "|27010=1|", "|1724=5|", "|27017=5|"] {
        assert!(ann.last.contains(said), "{said} in {}", ann.last);
    }
    // So does each report of it, also to who has the market from a snapshot.
    let mut state = Vec::new();
    venue.exchange.save(&mut state).expect("all is done");
    let mut next = Venue::new(&config());
    next.exchange = Exchange::new(&config(), EPOCH_NS);
    next.exchange.restore(&state).expect("a state");
    next.exchange.open(next.now, &mut next.wires);
    let store = ann.hangs_up(&mut venue);
    let mut ann = Client::log_on_again(&mut next, "ANN", store);
    let bob = next.log_on("BOB");
    next.says(bob, &new("B1", "sell 3@10.25"));
    assert_eq!(ann.hears(&mut next).last().map(String::as_str), Some("F/1 A1 3+7 of 10 3@10.25"));
    for said in [parties, "|27017=5|", "|828=0|", "|9730=A|", "|20000=0|"] {
        assert!(ann.last.contains(said), "{said} in {}", ann.last);
    }
    // One that is not shown says so.
    let hidden = |fields: &mut Writer<'_>| {
        put_order(fields, "A2", "buy 10@10.20");
        fields.byte(tag::DISPLAY_METHOD, b'4');
    };
    ann.asks(&mut next, "D", hidden);
    assert!(ann.last.contains("|1138=0|") && ann.last.contains("|1084=4|"), "{}", ann.last);
    // What is not offered is refused with what it asked for.
    let pegged = |fields: &mut Writer<'_>| {
        put_order(fields, "A3", "buy 10@10.25");
        fields.number(tag::MIN_QTY, 4).byte(tag::OWNER_TYPE, b'1');
        fields.number(tag::OFFSET_BP, -3).byte(tag::PEGGED_EXEC_INST, b'2');
    };
    ann.asks(&mut next, "D", pegged);
    for said in ["|110=4|", "|522=1|", "|27018=-3|", "|27021=2|"] {
        assert!(ann.last.contains(said), "{said} in {}", ann.last);
    }
}
