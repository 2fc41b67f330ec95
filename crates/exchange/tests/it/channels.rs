//! Who comes and goes: sessions of clients, recovery, and readers of market data.

use tapeline_exchange::{Door, ExchangeConfig, ReaderConfig, SessionId};
use tapeline_layout::Text;
use tapeline_mitch::{Message as Mitch, Progress, Requester, Unit};
use tapeline_ntg::session::{Logon, Logout, MissedMessageRequest};
use tapeline_ntg::{Limits, Message};

use crate::support::{Venue, config, logon, new};

fn missed(last_sequence: i32) -> Message {
    Message::MissedMessageRequest(MissedMessageRequest { app_id: 1, last_sequence })
}

#[test]
fn nobody_comes_in_without_the_password_or_twice() {
    let mut venue = Venue::new(&config());
    let wrong = venue.connect(Door::Orders, "wrong");
    let Message::Logon(good) = logon("ANN") else { unreachable!() };
    venue.says(wrong, &Message::Logon(Logon { password: Text::new("no"), ..good }));
    assert_eq!(venue.lines(), ["wrong closed"]);
    venue.log_on("ANN");
    let second = venue.connect(Door::Orders, "second");
    venue.says(second, &logon("ANN"));
    assert_eq!(venue.lines(), ["ANN < B 0", "second < B 2"]);
    let counts = venue.exchange.counts();
    assert_eq!((counts.clients, counts.logons, counts.logons_refused), (1, 1, 2));
}

#[test]
fn a_password_can_be_changed_for_a_good_one() {
    let mut venue = Venue::new(&config());
    let Message::Logon(good) = logon("ANN") else { unreachable!() };
    let session = venue.connect(Door::Orders, "ANN");
    venue.says(session, &Message::Logon(Logon { new_password: Text::new("short"), ..good }));
    venue.says(session, &Message::Logon(Logon { new_password: Text::new("n3w-passw"), ..good }));
    venue.hangs_up(session);
    let session = venue.connect(Door::Orders, "ANN");
    venue.says(session, &Message::Logon(Logon { password: Text::new("n3w-passw"), ..good }));
    assert_eq!(venue.lines(), ["ANN < B 3", "ANN < B 0", "ANN < B 0"]);
}

#[test]
fn who_is_silent_is_logged_out_and_its_orders_go() {
    let mut venue = Venue::new(&config());
    let ann = venue.log_on("ANN");
    venue.says(ann, &new("A1", "sell 100@10.25"));
    let Message::NewOrder(mut stays) = new("A2", "sell 50@10.30") else { unreachable!() };
    stays.auto_cancel = 0;
    venue.says(ann, &Message::NewOrder(stays));
    venue.lines();
    for _ in 0..4 {
        venue.after(3_000);
    }
    assert_eq!(venue.lines(), ["ANN < 0"; 4]);
    venue.after(3_000);
    // The connection ends at once; what becomes of the orders has its turn behind it.
    assert_eq!(venue.lines(), ["ANN < 5 no heartbeat", "ANN closed", "D"]);
    assert_eq!(venue.exchange.engine().alive(), 1, "what does not ask for it stays");
    assert_eq!(venue.exchange.counts().disconnect_cancels, 1);
}

#[test]
fn reports_of_who_was_away_come_over_the_recovery_channel() {
    let mut venue = Venue::new(&config());
    let (ann, bob) = (venue.log_on("ANN"), venue.log_on("BOB"));
    let recovery = venue.connect(Door::Recovery, "recovery");
    for (session, name, text) in [(ann, "A1", "sell 5@10.25"), (bob, "B1", "buy 2@10.25")] {
        let Message::NewOrder(mut order) = new(name, text) else { unreachable!() };
        order.auto_cancel = 0;
        venue.says(session, &Message::NewOrder(order));
    }
    venue.hangs_up(ann);
    venue.says(bob, &new("B2", "buy 3@10.25"));
    venue.lines();
    venue.says(recovery, &logon("ANN"));
    assert_eq!(venue.lines(), ["recovery < B 11"], "not without the real-time channel");
    venue.log_on("ANN");
    venue.says(recovery, &logon("ANN"));
    venue.lines();
    // A cancel that is refused has a number, and is not kept.
    venue.says(recovery, &missed(1));
    assert_eq!(
        venue.lines(),
        [
            "recovery < N 0",
            "recovery < 0/0 A1 leaves 5",
            "recovery < F/1 A1 leaves 3 2@10.25 A",
            "recovery < F/2 A1 leaves 0 3@10.25 A",
            "recovery < P 0",
        ]
    );
    venue.says(recovery, &missed(3));
    assert_eq!(
        venue.lines(),
        [
            "recovery < N 0",
            "recovery < F/1 A1 leaves 3 2@10.25 A",
            "recovery < F/2 A1 leaves 0 3@10.25 A",
            "recovery < P 0"
        ]
    );
    let other = MissedMessageRequest { app_id: 3, last_sequence: 1 };
    venue.says(recovery, &Message::MissedMessageRequest(other));
    assert_eq!(venue.lines(), ["recovery < N 2"]);
}

#[test]
fn what_the_order_cache_has_no_more_is_said_to_be_missing() {
    let mut venue = Venue::new(&ExchangeConfig { order_cache_messages: 4, ..config() });
    let ann = venue.log_on("ANN");
    for at in 0..10 {
        venue.says(ann, &new("A1", &format!("sell 1@10.{}", 10 + at)));
    }
    let recovery = venue.connect(Door::Recovery, "recovery");
    venue.says(recovery, &logon("ANN"));
    venue.lines();
    venue.says(recovery, &missed(1));
    let lines = venue.lines();
    assert_eq!((lines.len(), lines[5].as_str()), (6, "recovery < P 1"));
}

#[test]
fn a_long_answer_goes_on_as_it_is_read() {
    let mut venue = Venue::new(&ExchangeConfig { order_cache_messages: 5_000, ..config() });
    let ann = venue.log_on("ANN");
    for _ in 0..2_000 {
        venue.says(ann, &new("A1", "sell 1@10.25"));
    }
    let recovery = venue.connect(Door::Recovery, "recovery");
    venue.says(recovery, &logon("ANN"));
    venue.wires.is_stuck = true;
    venue.says(recovery, &missed(1));
    let first = venue.wires.to[&recovery].len();
    assert!((64 << 10..300 << 10).contains(&first), "{first} bytes");
    venue.after(100);
    assert_eq!(venue.wires.to[&recovery].len(), first, "nothing was read");
    venue.wires.is_stuck = false;
    venue.after(100);
    assert_eq!(venue.exchange.counts().recovered, 2_000);
}

#[test]
fn a_client_that_does_not_read_is_logged_out() {
    let mut venue = Venue::new(&ExchangeConfig { max_output_bytes: 10_000, ..config() });
    let ann = venue.log_on("ANN");
    venue.wires.is_stuck = true;
    for _ in 0..100 {
        venue.says(ann, &new("A1", "sell 1@10.25"));
    }
    assert_eq!(venue.wires.closed, [ann]);
    assert!(venue.wires.to[&ann].len() < 11_000);
    assert_eq!(venue.exchange.engine().alive(), 0);
    assert_eq!(venue.exchange.counts().slow_clients, 1);
}

#[test]
fn a_logout_is_answered_and_the_connection_ends() {
    let mut venue = Venue::new(&config());
    let ann = venue.log_on("ANN");
    venue.lines();
    venue.says(ann, &Message::Logout(Logout::default()));
    venue.after(2_000);
    assert_eq!(venue.lines(), ["ANN < 5 ", "ANN closed"]);
}

#[test]
fn without_users_everybody_is_let_in_up_to_a_bound() {
    let open = ExchangeConfig { users: Vec::new(), max_users: 2, ..config() };
    let mut venue = Venue::new(&open);
    for name in ["ONE", "TWO", "THREE"] {
        venue.log_on(name);
    }
    assert_eq!(venue.lines(), ["ONE < B 0", "TWO < B 0", "THREE closed"]);
}

#[test]
fn more_connections_than_there_may_be_are_turned_away() {
    let mut venue = Venue::new(&ExchangeConfig { max_sessions: 2, ..config() });
    venue.connect(Door::Orders, "one");
    let two = venue.connect(Door::Replay, "two");
    assert_eq!(venue.exchange.accepted(venue.now, Door::Snapshot), None);
    venue.hangs_up(two);
    assert!(venue.exchange.accepted(venue.now, Door::Snapshot).is_some());
    assert_eq!(venue.exchange.counts().turned_away, 1);
}

/// The messages that a reader gets for what it asks for, and how it ends.
fn asked(
    venue: &mut Venue,
    door: Door,
    user: &str,
    ask: impl FnOnce(&mut Requester, tapeline_time::Time),
) -> (Progress, Vec<Mitch>) {
    let session = venue.connect(door, "reader");
    let mut requester = Requester::new(b'A', user, "secret");
    ask(&mut requester, venue.now);
    assert!(requester.connects(venue.now));
    let (mut sent, mut found) = (Vec::new(), Vec::new());
    requester.connected(venue.now, &mut |bytes| sent.extend_from_slice(bytes));
    let mut progress = Progress::Going;
    for _ in 0..10 {
        let bytes = std::mem::take(&mut sent);
        venue.exchange.received(venue.now, session, &bytes, &mut venue.wires);
        let bytes = venue.wires.to.remove(&session).unwrap_or_default();
        if venue.wires.closed.contains(&session) && bytes.is_empty() {
            return (requester.closed(venue.now), found);
        }
        // However the stream is cut.
        for piece in bytes.chunks(7) {
            let send = &mut |bytes: &[u8]| sent.extend_from_slice(bytes);
            progress = requester.received(venue.now, piece, send, |unit| {
                let unit = Unit::read(unit).expect("a unit");
                found.extend(unit.messages().filter_map(|(_, bytes)| Mitch::read(bytes)));
            });
            if progress != Progress::Going {
                venue.hangs_up(session);
                return (progress, found);
            }
        }
    }
    (progress, found)
}

fn trading(readers: &[&str]) -> Venue {
    let reader =
        |name: &&str| ReaderConfig { name: (*name).to_owned(), password: "secret".to_owned() };
    let mut venue =
        Venue::new(&ExchangeConfig { readers: readers.iter().map(reader).collect(), ..config() });
    let ann = venue.log_on("ANN");
    for at in 0..1_500 {
        venue.says(ann, &new("A1", &format!("sell 1@10.{}", 10 + at % 80)));
    }
    venue
}

#[test]
fn messages_come_again_by_their_numbers() {
    let mut venue = trading(&["FEED"]);
    let replay = |first, count| {
        move |requester: &mut Requester, now| assert!(!requester.ask_replay(now, first, count))
    };
    let (progress, found) = asked(&mut venue, Door::Replay, "FEED", replay(10, 1_200));
    assert_eq!((progress, found.len()), (Progress::Done, 1_200));
    let (progress, found) = asked(&mut venue, Door::Replay, "FEED", replay(1_000, 60_000));
    assert_eq!((progress, found.len()), (Progress::Failed, 0), "not all of them are there");
    let counts = venue.exchange.counts();
    assert_eq!((counts.replays, counts.replays_refused), (1, 1));
}

#[test]
fn a_snapshot_has_all_orders_and_what_it_is_in_step_with() {
    let mut venue = trading(&["FEED"]);
    let snapshot = |requester: &mut Requester, now| assert!(!requester.ask_snapshot(now, "SETS"));
    let (progress, found) = asked(&mut venue, Door::Snapshot, "FEED", snapshot);
    assert_eq!(progress, Progress::Done);
    let orders = found.iter().filter(|message| matches!(message, Mitch::AddOrder(_))).count();
    assert_eq!(orders, 1_500);
    let [
        ..,
        Mitch::SymbolStatus(_),
        Mitch::SnapshotComplete(of_book),
        Mitch::SnapshotComplete(all),
    ] = found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!((of_book.instrument, all.sequence, all.segment.as_str()), (7, 0, "SETS"));
    let next = venue
        .wires
        .units
        .last()
        .and_then(|unit| Some(Unit::read(unit).ok()?.head))
        .expect("a unit");
    assert_eq!(of_book.sequence, next.sequence + u32::from(next.count) - 1);
}

#[test]
fn readers_that_are_not_known_are_closed_without_a_word() {
    let mut venue = trading(&["FEED"]);
    let ask = |requester: &mut Requester, now| assert!(!requester.ask_snapshot(now, "SETS"));
    let before = venue.wires.closed.len();
    assert_eq!(asked(&mut venue, Door::Snapshot, "OTHER", ask), (Progress::Failed, vec![]));
    assert_eq!(venue.wires.closed.len(), before + 1);
}

#[test]
fn a_reader_that_asks_for_nothing_is_closed_after_five_seconds() {
    let mut venue = Venue::new(&config());
    let reader: SessionId = venue.connect(Door::Replay, "reader");
    venue.after(4_990);
    assert_eq!(venue.wires.closed, []);
    venue.after(10);
    assert_eq!(venue.wires.closed, [reader]);
}

#[test]
fn the_throttle_is_of_the_configuration() {
    let limits = Limits { throttle_per_s: 2, ..Limits::default() };
    let mut venue = Venue::new(&ExchangeConfig { limits, ..config() });
    let ann = venue.log_on("ANN");
    venue.says(ann, &new("A1", "sell 1@10.25"));
    venue.lines();
    venue.says(ann, &new("A2", "sell 1@10.25"));
    assert_eq!(venue.lines(), ["ANN < 3 20101 message rate exceeded"]);
}
