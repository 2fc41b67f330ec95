//! Who comes in, and how who does not is told: one rule, one test.

use tapeline_fix::{Admission, Limits, Verdict};

use crate::support::{LOGON, ORDER, Session, client, wire};

const ADMIT: &str = "admit CLIENT FGW USER secret  30";

#[test]
fn a_logon_is_answered_and_the_session_is_there() {
    let mut session = Session::new();
    session.says("A", 1, LOGON);
    assert_eq!(session.lines(), [ADMIT, "A 1 98=0 108=30 1137=9 1409=0"]);
    assert_eq!(
        session.exchange.last,
        "8=FIXT.1.1|9=84|35=A|34=1|49=FGW|52=20261126-12:00:01.000000000|56=CLIENT|98=0|108=30|\
         1137=9|1409=0|10=122|"
    );
    assert!(session.acceptor.is_active());
    assert_eq!((session.verdict, session.numbers()), (Verdict::Open, (2, 2)));
    let ids = session.acceptor.comp_ids();
    assert_eq!((ids.own.as_str(), ids.peer.as_str()), ("FGW", "CLIENT"));
}

#[test]
fn all_that_a_logon_says_of_its_user_is_passed_on() {
    let mut session = Session::new();
    session.says("A", 1, "98=0|108=5|141=Y|553=U|554=old|925=new|1137=9|");
    assert_eq!(session.lines()[0], "admit CLIENT FGW U old new 5 resets");
    let mut session = Session::new();
    session.says("A", 1, "98=0|108=5|141=N|1137=9|");
    assert_eq!(session.lines()[0], "admit CLIENT FGW    5");
}

#[test]
fn a_new_password_that_will_not_do_leaves_the_old_one() {
    let mut session = Session::new();
    session.exchange.admission = Admission::OldPassword;
    session.says("A", 1, &format!("{LOGON}925=x|"));
    assert_eq!(session.lines()[1], "A 1 98=0 108=30 1137=9 1409=3");
    assert!(session.acceptor.is_active());
}

/// A logon whose session cannot be is told so under number 1, and no number of either
/// side is used up.
#[test]
fn a_logon_that_is_none_of_ours_fails_with_101() {
    let heartbeat = "HeartBtInt (108) must be above 0";
    let bounds = "HeartBtInt (108) is out of bounds";
    let method = "EncryptMethod (98) must be 0";
    let version = "DefaultApplVerID (1137) must be 9";
    for (fields, text) in [
        ("98=0|108=0|1137=9|", heartbeat),
        ("98=0|108=-1|1137=9|", heartbeat),
        ("98=0|108=x|1137=9|", heartbeat),
        ("98=0|1137=9|", heartbeat),
        ("98=0|108=61|1137=9|", bounds),
        ("98=0|108=18446744073709551615|1137=9|", bounds),
        ("98=1|108=30|1137=9|", method),
        ("108=30|1137=9|", method),
        ("98=0|108=30|1137=8|", version),
        ("98=0|108=30|", version),
    ] {
        let mut session = Session::new();
        session.exchange.store.restart(7);
        session.says("A", 40, fields);
        assert_eq!(session.lines(), [format!("5 1 58={text} 1409=101")], "{fields}");
        assert_eq!((session.verdict, session.numbers()), (Verdict::Close, (7, 0)));
    }
}

#[test]
fn who_is_locked_late_or_wrong_is_told_by_a_logout_that_uses_up_no_number() {
    for (status, text) in [(6, "account locked"), (7, "no logons now"), (8, "wrong password")] {
        let mut session = Session::new();
        session.exchange.admission = Admission::Refused { status, text };
        session.says("A", 1, LOGON);
        assert_eq!(session.lines(), [ADMIT, &format!("5 1 58={text} 1409={status}")]);
        assert_eq!((session.verdict, session.numbers()), (Verdict::Close, (1, 1)));
        session.reconnects();
        session.exchange.admission = Admission::Granted;
        session.says("A", 1, LOGON);
        assert_eq!(session.lines()[1], "A 1 98=0 108=30 1137=9 1409=0");
    }
}

#[test]
fn whatever_comes_before_a_logon_closes_without_a_word() {
    let order = format!("11=C1|{ORDER}");
    let before = ["0", "1", "2", "3", "4", "5", "D", "8", "ZZ"];
    for (msg_type, fields) in before.map(|kind| (kind, "")).into_iter().chain([("D", &*order)]) {
        let mut session = Session::new();
        session.says(msg_type, 1, fields);
        assert_eq!((session.lines(), session.verdict), (vec![], Verdict::Close), "{msg_type}");
    }
    let mut session = Session::new();
    session.gets(b"GET / HTTP/1.1\r\n");
    assert_eq!((session.lines(), session.verdict), (vec![], Verdict::Close));
}

#[test]
fn an_unknown_name_closes_without_a_word() {
    for names in [
        "49=CLIENT|56=PTGW|",
        "49=CLIENT|",
        "56=FGW|",
        "49=|56=FGW|",
        "49=A-NAME-OF-21-CHARACTERS|56=FGW|",
    ] {
        let mut session = Session::new();
        session.gets(&wire(&format!("35=A|34=1|52=20261126-12:00:00|{names}{LOGON}")));
        assert_eq!((session.lines(), session.verdict), (vec![], Verdict::Close), "{names}");
    }
    let mut session = Session::new();
    session.exchange.admission = Admission::Silent;
    session.says("A", 1, LOGON);
    assert_eq!((session.lines(), session.verdict), (vec![ADMIT.to_owned()], Verdict::Close));
    assert_eq!(session.numbers(), (1, 1));
}

#[test]
fn what_comes_behind_the_end_is_not_read() {
    let mut session = Session::new();
    session.exchange.admission = Admission::Silent;
    let both = [client("A", 1, LOGON), client("0", 1, "")].concat();
    session.gets(&both).orders(1, "C1").says("5", 2, "");
    assert_eq!((session.lines(), session.verdict), (vec![ADMIT.to_owned()], Verdict::Close));
    assert_eq!(session.numbers(), (1, 1));
}

#[test]
fn a_logon_without_a_number_closes_without_a_word() {
    for number in ["", "34=|", "34=0|", "34=x|", "34=4294967297|"] {
        let mut session = Session::new();
        session.gets(&wire(&format!("35=A|{number}49=CLIENT|56=FGW|{LOGON}")));
        assert_eq!((session.lines(), session.verdict), (vec![], Verdict::Close), "{number}");
    }
}

#[test]
fn a_doubled_tag_closes_without_a_word() {
    let mut session = Session::new();
    session.says("A", 1, &format!("{LOGON}108=30|"));
    assert_eq!((session.lines(), session.verdict), (vec![], Verdict::Close));
    for (kind, fields) in [("D", format!("11=C1|11=C1|{ORDER}")), ("0", "112=x|112=x|".to_owned())]
    {
        let mut session = Session::active();
        session.says(kind, 2, &fields);
        assert_eq!((session.lines(), session.verdict), (vec![], Verdict::Close));
    }
}

#[test]
fn a_client_that_does_not_log_on_is_closed() {
    let mut session = Session::new();
    assert_eq!(session.acceptor.deadline(), session.now.after(Limits::default().logon_within));
    assert_eq!(session.after(9_999).verdict, Verdict::Open);
    assert_eq!(session.after(1).verdict, Verdict::Close);
    assert_eq!(session.lines(), [""; 0]);
}

#[test]
fn a_second_logon_is_rejected_and_both_numbers_go_on() {
    let mut session = Session::active();
    session.says("A", 2, LOGON);
    assert_eq!(session.lines(), ["3 2 45=2 372=A 373=99 58=already logged on"]);
    assert_eq!((session.verdict, session.numbers()), (Verdict::Open, (3, 3)));
    session.orders(3, "C1");
    assert_eq!(session.lines(), ["request C1"]);
}

#[test]
fn a_number_too_low_at_the_logon_ends_in_a_logout_that_says_which() {
    let mut session = Session::active();
    session.orders(2, "C1").reconnects();
    session.lines();
    session.says("A", 2, LOGON);
    let text = "58=MsgSeqNum too low, expecting 3 but received 2";
    assert_eq!(session.lines(), [ADMIT, &format!("5 2 {text} 1409=100")]);
    assert_eq!((session.verdict, session.numbers()), (Verdict::Close, (3, 3)));
}

#[test]
fn a_number_too_high_at_the_logon_is_answered_and_what_is_missing_asked_for() {
    let mut session = Session::new();
    session.says("A", 4, LOGON);
    assert_eq!(session.lines(), [ADMIT, "A 4 98=0 108=30 1137=9 1409=0", "2 5 7=1 16=0"]);
    assert_eq!(session.numbers(), (6, 1));
    session.says("4", 1, "43=Y|122=20261126-11:00:00|123=Y|36=3|");
    session.orders(3, "C3").says("4", 4, "43=Y|122=20261126-11:00:00|123=Y|36=5|");
    assert_eq!((session.lines(), session.numbers()), (vec!["request C3".to_owned()], (6, 5)));
}

/// Some take the number of a refusal for used up, whatever the standard of the exchange
/// says, and some do not.
#[test]
fn who_counted_a_refusal_and_who_did_not_are_both_let_in() {
    for (own, expected) in [(1, 1), (2, 2), (3, 2), (5, 3), (5, 1)] {
        let mut session = Session::new();
        session.says("A", own, LOGON);
        let lines = session.lines();
        let number: u32 = lines[1].split(' ').nth(1).and_then(|it| it.parse().ok()).expect("one");
        assert!(number >= expected, "{number} is too low for {expected}");
        // Whoever expects less asks for it, and is told that there is nothing.
        if number > expected {
            let next = if own > 1 { number + 2 } else { number + 1 };
            session.says("2", own + 1, &format!("7={expected}|16=0|"));
            let fill = session.lines().remove(0);
            assert!(fill.ends_with(&format!("123=Y 36={next}")), "{fill}");
        }
    }
    // Who follows the standard has used up nothing, and finds nothing used up.
    let mut session = Session::active();
    session.reconnects();
    session.says("A", 2, LOGON);
    assert_eq!(session.numbers(), (3, 3));
    // However far ahead a client is, it takes the exchange's numbers no further than this.
    let mut session = Session::new();
    session.says("A", 900_000_000, LOGON);
    assert_eq!(session.lines()[1], "A 101 98=0 108=30 1137=9 1409=0");
}

#[test]
fn a_client_may_begin_its_numbers_again() {
    let mut session = Session::active();
    session.reports("E1").orders(2, "C1").reconnects();
    session.lines();
    session.says("A", 1, &format!("{LOGON}141=Y|"));
    let admit = format!("{ADMIT} resets");
    assert_eq!(session.lines(), [admit.as_str(), "A 1 98=0 108=30 141=Y 1137=9 1409=0"]);
    assert_eq!(session.numbers(), (2, 2));
}

#[test]
fn numbers_begin_at_1_on_a_new_day() {
    let mut session = Session::active();
    session.orders(2, "C1").reports("E1");
    session.exchange.store.restart(1);
    session.reconnects();
    session.lines();
    session.says("A", 1, LOGON);
    assert_eq!(session.lines()[1], "A 1 98=0 108=30 1137=9 1409=0");
    assert_eq!(session.numbers(), (2, 2));
}

/// The secondary knows what the client has not; the client's own number it does not.
#[test]
fn behind_a_failover_numbers_start_higher_and_reports_come_again() {
    let mut session = Session::new();
    session.exchange.store.restart(5001);
    session.reports("E1");
    session.says("A", 17, LOGON).reports("E2");
    assert_eq!(
        session.lines(),
        [ADMIT, "A 5001 98=0 108=30 1137=9 1409=0", "8 5002 97=Y 17=E1", "8 5003 17=E2"]
    );
    assert_eq!(session.numbers(), (5004, 18));
    // Who misses what is between fills it.
    session.says("2", 18, "7=9|16=0|");
    let lines = session.lines();
    assert_eq!(lines[0], "4 9 43=Y 122=20261126-12:00:01.000000000 123=Y 36=5002");
    assert_eq!(lines[1], "8 5002 43=Y 122=20261126-12:00:01.000000000 97=Y 17=E1");
    assert_eq!(lines.len(), 3);
}

#[test]
fn a_failover_under_a_session_keeps_it() {
    let mut session = Session::active();
    session.exchange.store.restart(5001);
    session.orders(2, "C1").orders(3, "C2").reports("E1");
    assert_eq!(session.lines(), ["request C1", "request C2", "8 5001 17=E1"]);
    assert_eq!(session.numbers(), (5002, 4));
}

#[test]
fn reports_of_the_time_away_come_behind_the_logon_as_possibly_sent() {
    let mut session = Session::active();
    session.reports("E1");
    session.says("5", 2, "");
    session.lines();
    session.reconnects();
    session.reports("E2").reports("E3");
    assert_eq!((session.lines(), session.exchange.store.waiting()), (vec![], 2));
    session.says("A", 3, LOGON);
    assert_eq!(
        session.lines(),
        [ADMIT, "A 4 98=0 108=30 1137=9 1409=0", "8 5 97=Y 17=E2", "8 6 97=Y 17=E3"]
    );
    session.reports("E4");
    assert_eq!(session.lines(), ["8 7 17=E4"]);
}

#[test]
fn of_the_time_away_as_much_is_kept_as_may_be() {
    let mut session = Session::new();
    for at in 0..130 {
        session.reports(&format!("E{at}"));
    }
    session.says("A", 1, LOGON);
    let lines = session.lines();
    assert_eq!((lines.len(), session.exchange.store.lost()), (102, 30));
    assert_eq!((lines[2].as_str(), lines[101].as_str()), ("8 2 97=Y 17=E30", "8 101 97=Y 17=E129"));
}

#[test]
fn half_a_logon_waits_for_its_other_half() {
    let mut session = Session::new();
    for byte in client("A", 1, LOGON) {
        assert_eq!((session.lines(), session.verdict), (vec![], Verdict::Open));
        session.gets(&[byte]);
    }
    assert_eq!(session.lines().len(), 2);
}

#[test]
fn who_is_to_be_decided_on_later_hears_nothing_and_is_read_when_that_is_done() {
    let mut session = Session::new();
    session.exchange.admission = Admission::Later;
    session.says("A", 1, LOGON).orders(2, "A1");
    let asked = session.lines();
    assert!(asked.len() == 1 && asked[0].starts_with("admit CLIENT FGW USER"), "{asked:?}");
    assert_eq!((session.numbers(), session.verdict), ((1, 1), Verdict::Open));
    session.decides(Admission::OldPassword);
    let lines = ["A 1 98=0 108=30 1137=9 1409=3", "request A1"];
    assert_eq!(
        (session.lines(), session.verdict),
        (lines.map(str::to_owned).to_vec(), Verdict::Open)
    );
    session.decides(Admission::Granted);
    assert_eq!(session.lines(), [""; 0], "once");
    // Who is not let in, and who waits for too long.
    for is_too_late in [false, true] {
        let mut session = Session::new();
        session.exchange.admission = Admission::Later;
        session.says("A", 1, LOGON);
        match is_too_late {
            true => session.after(60_000),
            false => session.decides(Admission::Silent),
        };
        assert_eq!(session.verdict, Verdict::Close);
    }
}
