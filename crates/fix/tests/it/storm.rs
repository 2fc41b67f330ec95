//! Whatever comes, and whatever is lost.

use proptest::prelude::*;
use tapeline_fix::Verdict;
use tapeline_time::Time;

use crate::support::pair::Pair;
use crate::support::{LOGON, Session, client, wire};

#[derive(Clone, Debug)]
enum Step {
    Order,
    Report,
    ToExchange(usize),
    ToClient(usize),
    Damage(bool, usize),
    Pass(u64),
    Cut,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => Just(Step::Order),
        4 => Just(Step::Report),
        4 => (1..400_usize).prop_map(Step::ToExchange),
        4 => (1..400_usize).prop_map(Step::ToClient),
        1 => (any::<bool>(), any::<usize>()).prop_map(|(way, at)| Step::Damage(way, at)),
        1 => (0..12_000_u64).prop_map(Step::Pass),
        1 => Just(Step::Cut),
    ]
}

proptest! {
    /// Connections break, bytes are lost and damaged: when the two are connected
    /// again, each order and each report has arrived once, in its order.
    #[test]
    fn nothing_is_lost_and_nothing_comes_twice(steps in prop::collection::vec(step(), 1..200)) {
        let mut pair = Pair::new();
        let (mut orders, mut reports) = (Vec::new(), Vec::new());
        for (name, step) in (1..).zip(steps) {
            match step {
                Step::Order if pair.order(name) => orders.push(name),
                Step::Order => {}
                Step::Report => {
                    pair.report(name);
                    reports.push(name);
                }
                Step::ToExchange(bytes) => pair.exchange_gets(bytes),
                Step::ToClient(bytes) => pair.client_gets(bytes),
                Step::Damage(is_to_client, at) => pair.damage(is_to_client, at),
                Step::Pass(ms) => pair.pass(ms),
                Step::Cut => pair.is_cut = true,
            }
            if pair.is_cut {
                pair.connect();
            }
        }
        pair.connect();
        pair.settle();
        prop_assert!(!pair.is_cut && pair.initiator.is_active());
        prop_assert_eq!(&pair.exchange.requests, &orders);
        prop_assert_eq!(&pair.reports, &reports);
        prop_assert_eq!(pair.exchange.store.next_in(), pair.store.next_out());
        prop_assert_eq!(pair.store.next_in(), pair.exchange.store.next_out());
    }

    #[test]
    fn any_bytes_are_survived_by_both_ends(
        is_logged_on in any::<bool>(),
        bytes in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let mut session = if is_logged_on { Session::active() } else { Session::new() };
        session.gets(&bytes).after(40_000);
        let mut pair = Pair::new();
        pair.connect();
        let mut store = pair.store.clone();
        let _ = pair.initiator.received(pair.now, 0, &bytes, &mut store, |_| {}, |_| {});
    }

    /// Messages of any type with fields of the session that say anything.
    #[test]
    fn any_messages_are_survived_by_the_exchange(
        messages in prop::collection::vec(
            (
                prop::sample::select(vec!["A", "0", "1", "2", "3", "4", "5", "D", "q", "j", "?"]),
                prop_oneof![1..8_u32, any::<u32>()],
                prop::collection::vec(
                    (
                        prop::sample::select(vec![
                            7, 11, 16, 34, 36, 43, 97, 108, 112, 122, 123, 141, 453, 448, 452,
                        ]),
                        prop::sample::select(vec![
                            "Y", "N", "0", "1", "2", "3", "999999999", "4294967295", "", "x",
                        ]),
                    ),
                    0..6,
                ),
                0..40_000_u64,
            ),
            1..30,
        ),
    ) {
        let mut session = Session::new();
        session.says("A", 1, LOGON);
        for (msg_type, number, fields, ms) in messages {
            let fields: Vec<String> =
                fields.iter().map(|(tag, value)| format!("{tag}={value}|")).collect();
            session.says(msg_type, number, &fields.concat());
            if session.verdict == Verdict::Close {
                session.reconnects();
                session.says("A", session.numbers().1, LOGON);
            }
            session.after(ms);
            prop_assert!(session.acceptor.deadline() >= Time::ZERO);
        }
    }
}

#[test]
fn a_message_as_long_as_may_be_is_read() {
    let mut session = Session::active();
    let len = 8192 - client("0", 2, "58=|").len() - 2;
    let longest = client("0", 2, &format!("58={}|", "x".repeat(len)));
    assert_eq!(longest.len(), 8192);
    session.gets(&longest[..5000]).gets(&longest[5000..]);
    assert_eq!((session.verdict, session.numbers()), (Verdict::Open, (2, 3)));
    session.gets(&wire(&format!("35=0|58={}|", "x".repeat(8192))));
    assert_eq!(session.verdict, Verdict::Close);
    assert!(session.lines()[0].contains("at most 8192 are read"));
}
