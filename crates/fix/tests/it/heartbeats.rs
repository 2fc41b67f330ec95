//! Whether the other side is still there.

use std::time::Duration;

use tapeline_fix::Verdict;

use crate::support::{Session, client};

#[test]
fn after_an_interval_of_silence_of_its_own_it_says_that_it_is_there() {
    let mut session = Session::active();
    let interval = Duration::from_secs(30);
    assert_eq!(session.acceptor.deadline(), session.now.after(interval));
    session.after(29_999);
    assert_eq!(session.lines(), [""; 0]);
    session.after(1);
    assert_eq!(session.lines(), ["0 2"]);
}

#[test]
fn a_report_is_no_silence() {
    let mut session = Session::active();
    session.after(20_000).reports("E1").after(15_000);
    assert_eq!(session.lines(), ["8 2 17=E1"]);
}

#[test]
fn a_test_request_is_answered_with_its_name() {
    let mut session = Session::active();
    session.says("1", 2, "112=are you there?|");
    assert_eq!(session.lines(), ["0 2 112=are you there?"]);
    for fields in ["", "112=|"] {
        let mut session = Session::active();
        session.says("1", 2, fields);
        let expected = "3 2 45=2 371=112 372=1 373=1 58=nothing to repeat";
        assert_eq!(session.lines(), [expected]);
    }
}

#[test]
fn who_is_silent_is_asked_and_then_logged_out() {
    let mut session = Session::active();
    session.after(30_000).after(5_999);
    assert_eq!(session.lines(), ["0 2"]);
    session.after(1);
    assert_eq!(session.lines(), ["1 3 112=1795694437000000000"]);
    session.after(30_000).after(23_999);
    assert_eq!((session.lines(), session.verdict), (vec!["0 4".to_owned()], Verdict::Open));
    session.after(1);
    let logout = "5 5 58=nothing was heard for too long 1409=100";
    assert_eq!((session.lines(), session.verdict), (vec![logout.to_owned()], Verdict::Close));
}

#[test]
fn who_answers_is_asked_again_only_after_the_next_silence() {
    let mut session = Session::active();
    session.after(36_000);
    assert_eq!(session.lines(), ["1 2 112=1795694437000000000"]);
    session.says("0", 2, "112=1795694437000000000|");
    session.after(29_999);
    assert_eq!(session.lines(), [""; 0]);
    session.after(6_001);
    assert_eq!(session.lines(), ["1 3 112=1795694473000000000"]);
}

#[test]
fn half_a_message_is_silence() {
    let mut session = Session::active();
    let heartbeat = client("0", 2, "");
    session.after(60_000);
    session.lines();
    session.gets(&heartbeat[..40]).after(30_000);
    assert_eq!(session.verdict, Verdict::Close);
}

#[test]
fn a_client_is_asked_once_an_interval_whether_it_has_what_it_was_sent() {
    let mut session = Session::active();
    session.exchange.unconfirmed = Some(7);
    session.after(29_999);
    assert_eq!(session.lines(), [""; 0]);
    session.after(1).after(5_000);
    assert_eq!(session.lines(), ["1 2 112=7"]);
    // Another answer is none.
    session.says("0", 2, "112=6|").says("0", 3, "");
    assert_eq!(session.lines(), [""; 0]);
    session.says("0", 4, "112=7|").says("0", 5, "112=7|");
    assert_eq!(session.lines(), ["has 7"]);
    session.exchange.unconfirmed = None;
    session.after(1).after(30_000);
    assert_eq!(session.lines(), ["0 3"], "nothing to ask for");
}
