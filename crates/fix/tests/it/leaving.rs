//! How a session ends, and who is made to end it.

use std::time::Duration;

use tapeline_fix::{Limits, Rejection, Verdict};

use crate::support::{LOGON, Session};

/// Ten messages a second, for two seconds.
fn throttled() -> Session {
    let limits = Limits { throttle_per_s: 10, throttle_seconds: 2, ..Limits::default() };
    let mut session = Session::with(limits);
    session.says("A", 1, LOGON);
    session.lines();
    session
}

#[test]
fn a_logout_is_answered_and_the_client_closes() {
    let mut session = Session::active();
    session.says("5", 2, "58=good night|");
    assert_eq!(session.lines(), ["5 2 1409=4"]);
    assert_eq!((session.verdict, session.numbers()), (Verdict::Open, (3, 3)));
    assert!(!session.acceptor.is_active());
    assert_eq!(session.acceptor.deadline(), session.now.after(Duration::from_secs(5)));
    assert_eq!(session.after(4_999).verdict, Verdict::Open);
    assert_eq!(session.after(1).verdict, Verdict::Close);
    assert_eq!(session.lines(), [""; 0]);
}

#[test]
fn a_logout_behind_a_hole_is_answered_too() {
    let mut session = Session::active();
    session.says("5", 4, "");
    assert_eq!((session.lines(), session.numbers()), (vec!["5 2 1409=4".to_owned()], (3, 2)));
}

#[test]
fn a_client_that_is_logged_out_has_five_seconds_to_close() {
    let mut session = Session::active();
    let now_ns = session.now_ns();
    session.acceptor.log_out(session.now, now_ns, 102, "go home", &mut session.exchange);
    assert_eq!(session.lines(), ["5 2 58=go home 1409=102"]);
    assert_eq!(session.after(4_999).verdict, Verdict::Open);
    assert_eq!(session.after(1).verdict, Verdict::Close);
}

#[test]
fn its_answer_to_a_logout_closes_at_once() {
    let mut session = Session::active();
    let now_ns = session.now_ns();
    session.acceptor.log_out(session.now, now_ns, 4, "", &mut session.exchange);
    session.says("5", 2, "");
    assert_eq!((session.lines(), session.verdict), (vec!["5 2 1409=4".to_owned()], Verdict::Close));
    assert_eq!(session.numbers(), (3, 3));
}

#[test]
fn who_is_logged_out_before_it_logged_on_is_closed() {
    let mut session = Session::new();
    let now_ns = session.now_ns();
    session.acceptor.log_out(session.now, now_ns, 7, "closed", &mut session.exchange);
    assert_eq!((session.after(0).verdict, session.lines()), (Verdict::Close, vec![]));
}

#[test]
fn behind_a_logout_only_what_is_missing_is_sent_and_orders_are_refused_at_the_next_logon() {
    let mut session = Session::active();
    session.reports("E2");
    let now_ns = session.now_ns();
    session.acceptor.log_out(session.now, now_ns, 102, "go home", &mut session.exchange);
    session.lines();
    session.orders(2, "C1").says("2", 3, "7=2|16=2|");
    assert_eq!(session.lines(), ["8 2 43=Y 122=20261126-12:00:01.000000000 17=E2"]);
    session.reconnects();
    session.says("A", 4, LOGON);
    assert_eq!(
        session.lines()[1..],
        ["A 4 98=0 108=30 1137=9 1409=0", "j 5 97=Y 45=2 58=the session ended 372=D 379=C1 380=0",]
    );
}

#[test]
fn who_sends_too_much_is_told_of_each_message_and_then_logged_out() {
    let mut session = throttled();
    let mut number = 1;
    let mut send = |session: &mut Session, count: u32| {
        for _ in 0..count {
            number += 1;
            session.orders(number, &format!("C{number}"));
        }
    };
    for second in 0..3 {
        session.after(if second == 0 { 0 } else { 1000 });
        send(&mut session, 11);
        let lines = session.lines();
        assert!(lines[..10].iter().all(|line| line.starts_with("request ")), "{lines:?}");
        let expected = match second {
            2 => "5 4 58=Message rate exceeded 1409=102",
            1 => "j 3 45=23 58=Message rate exceeded 372=D 379=C23 380=0",
            _ => "j 2 45=12 58=Message rate exceeded 372=D 379=C12 380=0",
        };
        assert_eq!(lines[10..], [expected]);
    }
    assert_eq!(session.after(4_999).verdict, Verdict::Open);
    assert_eq!(session.after(1).verdict, Verdict::Close);
    assert_eq!(session.numbers(), (5, 35));
}

#[test]
fn messages_of_the_session_do_not_count() {
    let mut session = throttled();
    for number in 2..50 {
        session.says("0", number, "");
    }
    for number in 50..60 {
        session.orders(number, "C");
    }
    assert_eq!(session.lines(), ["request C"; 10]);
}

#[test]
fn a_second_of_calm_ends_the_count() {
    let mut session = throttled();
    let mut number = 1;
    for second in 0..8 {
        for _ in 0..if second % 2 == 0 { 12 } else { 2 } {
            number += 1;
            session.orders(number, "C");
        }
        session.after(1000);
    }
    assert!(session.lines().iter().all(|line| !line.starts_with("5 ")));
    assert!(session.acceptor.is_active());
}

#[test]
fn an_engine_that_is_not_there_is_told_and_the_session_goes_on() {
    let mut session = Session::active();
    session.exchange.answer =
        Err(Rejection::Business { reason: 4, tag: 0, text: "the engine is not there" });
    session.orders(2, "C1");
    session.exchange.answer = Err(Rejection::Business { reason: 0, tag: 48, text: "unknown" });
    session.orders(3, "C2");
    session.exchange.answer = Err(Rejection::Reject { reason: 5, tag: 54, text: "no such side" });
    session.orders(4, "C3");
    assert_eq!(
        session.lines(),
        [
            "request C1",
            "j 2 45=2 58=the engine is not there 372=D 379=C1 380=4",
            "request C2",
            "j 3 45=3 58=unknown 371=48 372=D 379=C2 380=0",
            "request C3",
            "3 4 45=4 371=54 372=D 373=5 58=no such side",
        ]
    );
    // A business reject is of the application: it is sent again, a reject is filled.
    session.says("2", 5, "7=2|16=0|");
    let kinds: Vec<String> = session.lines().iter().map(|line| line[..3].to_owned()).collect();
    assert_eq!(kinds, ["j 2", "j 3", "4 4"]);
    assert_eq!(session.verdict, Verdict::Open);
}
