//! Numbers that are missing, used, or skipped: one rule, one test.

use tapeline_fix::Verdict;

use crate::support::{LOGON, ORDER, Session, client, wire};

const AGAIN: &str = "43=Y|122=20261126-11:00:00|";

#[test]
fn a_number_too_high_is_asked_for_once_and_comes_again() {
    let mut session = Session::active();
    session.orders(2, "C2").orders(5, "C5");
    assert_eq!(session.lines(), ["request C2", "2 2 7=3 16=0"]);
    for number in 3..=5 {
        session.says("D", number, &format!("{AGAIN}11=C{number}|{ORDER}"));
    }
    session.orders(6, "C6");
    assert_eq!(session.lines(), ["request C3", "request C4", "request C5", "request C6"]);
    assert_eq!(session.numbers(), (3, 7));
}

/// QuickFIX/J sends again what it had sent when it was asked, and no more.
#[test]
fn what_was_dropped_since_is_asked_for_when_its_turn_comes() {
    let mut session = Session::active();
    session.orders(3, "C3").orders(4, "C4").orders(5, "C5");
    assert_eq!(session.lines(), ["2 2 7=2 16=0"]);
    session.says("4", 2, &format!("{AGAIN}123=Y|36=3|"));
    session.says("D", 3, &format!("{AGAIN}11=C3|{ORDER}"));
    assert_eq!(session.lines(), ["2 3 7=4 16=0", "request C3"]);
    for number in 4..=5 {
        session.says("D", number, &format!("{AGAIN}11=C{number}|{ORDER}"));
    }
    assert_eq!(session.lines(), ["request C4", "request C5"]);
    assert_eq!(session.numbers(), (4, 6));
}

#[test]
fn what_does_not_come_again_is_asked_for_again_after_an_interval() {
    let mut session = Session::active();
    session.orders(4, "C4").after(20_000).orders(5, "C5").after(10_000).orders(6, "C6");
    let lines = session.lines();
    assert_eq!(lines, ["2 2 7=2 16=0", "0 3", "2 4 7=2 16=0"]);
}

#[test]
fn another_hole_is_asked_for_at_once() {
    let mut session = Session::active();
    session.orders(3, "C3");
    session.says("4", 2, &format!("{AGAIN}123=Y|36=4|"));
    session.orders(6, "C6");
    assert_eq!(session.lines(), ["2 2 7=2 16=0", "2 3 7=4 16=0"]);
}

#[test]
fn a_number_that_was_used_ends_the_session() {
    let mut session = Session::active();
    session.orders(2, "C1").orders(2, "C2");
    let text = "58=MsgSeqNum too low, expecting 3 but received 2";
    assert_eq!(session.lines(), ["request C1", &format!("5 2 {text} 1409=100")]);
    assert_eq!(session.verdict, Verdict::Close);
    assert!(!session.acceptor.is_active());
}

#[test]
fn what_says_that_it_was_sent_before_is_not_taken_twice() {
    let mut session = Session::active();
    session.orders(2, "C1");
    session.says("D", 2, &format!("{AGAIN}11=C1|{ORDER}"));
    assert_eq!((session.lines(), session.numbers()), (vec!["request C1".to_owned()], (2, 3)));
    session.says("D", 2, &format!("43=Y|11=C1|{ORDER}"));
    let reject = "3 2 45=2 371=122 372=D 373=1 58=sent before, and not when";
    assert_eq!((session.lines(), session.numbers()), (vec![reject.to_owned()], (3, 3)));
}

#[test]
fn the_flag_of_a_possible_resend_means_nothing_here() {
    let mut session = Session::active();
    session.says("D", 2, &format!("97=Y|11=C1|{ORDER}"));
    session.says("D", 3, &format!("97=Y|11=C1|{ORDER}"));
    assert_eq!(session.lines(), ["request C1", "request C1"]);
}

#[test]
fn a_message_without_a_number_ends_the_session() {
    for number in ["", "34=0|", "34=1000000000|", "34=-2|"] {
        let mut session = Session::active();
        let head = "52=20261126-12:00:00|49=CLIENT|56=FGW|";
        session.gets(&wire(&format!("35=0|{number}{head}")));
        assert_eq!(session.lines(), ["5 2 58=a message without a number 1409=100"]);
        assert_eq!(session.verdict, Verdict::Close);
    }
}

#[test]
fn what_is_missing_is_sent_again_and_what_is_gone_is_filled() {
    let mut session = Session::active();
    session.reports("E2").reports("E3");
    session.says("1", 2, "112=T|");
    session.after(1000).reports("E5");
    session.lines();
    session.says("2", 3, "7=1|16=0|");
    let (first, later) = ("122=20261126-12:00:01.000000000", "122=20261126-12:00:02.000000000");
    assert_eq!(
        session.lines(),
        [
            format!("4 1 43=Y {later} 123=Y 36=2"),
            format!("8 2 43=Y {first} 17=E2"),
            format!("8 3 43=Y {first} 17=E3"),
            format!("4 4 43=Y {later} 123=Y 36=5"),
            format!("8 5 43=Y {later} 17=E5"),
        ]
    );
    assert!(session.exchange.last.contains("|52=20261126-12:00:02.000000000|"));
    assert_eq!(session.numbers(), (6, 4));
}

#[test]
fn a_part_is_sent_again_and_no_more() {
    let mut session = Session::active();
    for number in 2..=6 {
        session.reports(&format!("E{number}"));
    }
    session.lines();
    let mut again = |number: u32, fields: &str| -> Vec<String> {
        session.says("2", number, fields);
        let short = |line: String| line.replace(" 43=Y 122=20261126-12:00:01.000000000", "");
        session.lines().into_iter().map(short).collect()
    };
    assert_eq!(again(2, "7=3|16=4|"), ["8 3 17=E3", "8 4 17=E4"]);
    assert_eq!(again(3, "7=5|16=5|"), ["8 5 17=E5"]);
    assert_eq!(again(4, "7=6|16=999999|"), ["8 6 17=E6"]);
    assert_eq!(again(5, "7=1|16=1|"), ["4 1 123=Y 36=2"]);
    assert_eq!(again(6, "7=6|16=0|"), ["8 6 17=E6"]);
}

#[test]
fn what_was_never_sent_cannot_be_sent_again() {
    for fields in ["7=2|16=0|", "7=0|16=0|", "7=x|16=0|", "16=0|", "7=1|", "7=1|16=x|", "7=2|16=1|"]
    {
        let mut session = Session::active();
        session.says("2", 2, fields);
        let text = "58=no messages of these numbers were sent";
        assert_eq!(session.lines(), [format!("3 2 45=2 371=7 372=2 373=5 {text}")], "{fields}");
        assert_eq!(session.numbers(), (3, 3));
    }
}

/// Of 100 that are kept.
#[test]
fn what_is_no_longer_kept_is_filled() {
    let mut session = Session::active();
    for number in 2..=151 {
        session.reports(&format!("E{number}"));
    }
    session.lines();
    session.says("2", 2, "7=2|16=0|");
    let lines = session.lines();
    assert_eq!(lines[0], "4 2 43=Y 122=20261126-12:00:01.000000000 123=Y 36=52");
    assert_eq!(lines[1], "8 52 43=Y 122=20261126-12:00:01.000000000 17=E52");
    assert_eq!(lines.len(), 101);
}

#[test]
fn each_side_may_miss_something_at_once() {
    let mut session = Session::active();
    session.reports("E2");
    session.lines();
    session.says("2", 5, "7=2|16=0|");
    let lines = session.lines();
    assert_eq!(lines, ["8 2 43=Y 122=20261126-12:00:01.000000000 17=E2", "2 3 7=2 16=0"]);
    session.says("4", 2, &format!("{AGAIN}123=Y|36=6|"));
    assert_eq!(session.numbers(), (4, 6));
}

#[test]
fn who_asks_for_all_again_and_again_is_logged_out() {
    let mut session = Session::active();
    for number in 2..=11 {
        session.says("2", number, "7=1|16=0|");
    }
    assert_eq!((session.lines().len(), session.verdict), (10, Verdict::Open));
    session.after(1000);
    session.says("2", 12, "7=1|16=0|");
    assert_eq!((session.lines().len(), session.verdict), (1, Verdict::Open));
    for number in 13..=22 {
        session.says("2", number, "7=1|16=0|");
    }
    assert_eq!(session.lines()[9], "5 2 58=too many resend requests 1409=100");
    assert_eq!(session.verdict, Verdict::Close);
}

#[test]
fn a_gap_fill_skips_numbers_in_sequence_only() {
    let mut session = Session::active();
    session.says("4", 2, "123=Y|36=10|");
    assert_eq!((session.lines(), session.numbers()), (vec![], (2, 10)));
    session.says("4", 12, "123=Y|36=20|");
    assert_eq!((session.lines(), session.numbers()), (vec!["2 2 7=10 16=0".to_owned()], (3, 10)));
    session.says("4", 9, &format!("{AGAIN}123=Y|36=30|"));
    assert_eq!((session.lines(), session.numbers()), (vec![], (3, 10)));
    session.says("4", 10, "123=Y|36=10|");
    let text = "58=a sequence reset to a number that was used";
    assert_eq!(session.lines(), [format!("3 3 45=10 371=36 372=4 373=5 {text}")]);
    assert_eq!(session.numbers(), (4, 11));
}

#[test]
fn a_reset_moves_the_number_up_whatever_its_own_is() {
    for gap_fill in ["", "123=N|"] {
        let mut session = Session::active();
        session.says("4", 77, &format!("{gap_fill}36=10|"));
        assert_eq!((session.lines(), session.numbers()), (vec![], (2, 10)));
        session.orders(10, "C1");
        assert_eq!(session.lines(), ["request C1"]);
        for (at, wrong) in (2..).zip(["36=10|", "36=x|", "", "36=1000000000|"]) {
            session.says("4", 1, &format!("{gap_fill}{wrong}"));
            let text = "58=a sequence reset to a number that was used";
            assert_eq!(session.lines(), [format!("3 {at} 45=1 371=36 372=4 373=5 {text}")]);
            assert_eq!(session.numbers().1, 11);
        }
    }
}

#[test]
fn a_damaged_message_is_passed_over_and_asked_for() {
    let mut session = Session::active();
    let mut damaged = client("D", 2, &format!("11=C2|{ORDER}"));
    damaged[60] ^= 1;
    session.gets(&damaged).orders(3, "C3");
    assert_eq!(session.lines(), ["2 2 7=2 16=0"]);
    assert_eq!(session.acceptor.garbled(), 1);
}

#[test]
fn a_stream_out_of_step_ends_the_session() {
    let mut session = Session::active();
    session.gets(b"8=FIX.4.2\x01");
    let text = "a message begins with other bytes than `8=FIXT.1.1|9=`: the stream is out of step";
    assert_eq!(session.lines(), [format!("5 2 58={text} 1409=100")]);
    assert_eq!(session.verdict, Verdict::Close);
}

#[test]
fn names_other_than_at_the_logon_end_the_session() {
    for (names, tag) in [("49=OTHER|56=FGW|", 49), ("49=CLIENT|56=OTHER|", 56), ("56=FGW|", 49)] {
        let mut session = Session::active();
        session.gets(&wire(&format!("35=0|34=2|52=20261126-12:00:00|{names}")));
        let text = "58=another name than at the logon";
        assert_eq!(
            session.lines(),
            [format!("3 2 45=2 371={tag} 372=0 373=9 {text}"), format!("5 3 {text} 1409=100")]
        );
        assert_eq!(session.verdict, Verdict::Close);
    }
}

#[test]
fn numbers_outlive_the_connection() {
    let mut session = Session::active();
    session.orders(2, "C1").reports("E1").reconnects();
    session.lines();
    session.says("A", 3, LOGON);
    assert_eq!(session.lines()[1], "A 3 98=0 108=30 1137=9 1409=0");
    session.says("2", 4, "7=2|16=2|");
    assert_eq!(session.lines(), ["8 2 43=Y 122=20261126-12:00:01.000000000 17=E1"]);
}
