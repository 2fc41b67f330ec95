//! What messages may have in them.

use tapeline_fix::Verdict;

use crate::support::{ORDER, Session, wire};

#[test]
fn an_undefined_tag_is_ignored_in_messages_of_the_session() {
    let mut session = Session::new();
    session.says("A", 1, "98=0|108=30|553=U|554=P|1137=9|9999=x|383=8192|nonsense|");
    assert!(session.acceptor.is_active());
    session.lines();
    session.says("1", 2, "9999=x|112=T|=|");
    assert_eq!(session.lines(), ["0 2 112=T"]);
}

#[test]
fn an_undefined_tag_is_rejected_in_messages_of_the_application() {
    let mut session = Session::active();
    session.says("D", 2, &format!("11=C1|{ORDER}9999=x|"));
    session.says("D", 3, &format!("11=C1|{ORDER}150=0|"));
    assert_eq!(
        session.lines(),
        [
            "3 2 45=2 371=9999 372=D 373=3 58=no such tag",
            "3 3 45=3 371=150 372=D 373=2 58=not a tag of this message",
        ]
    );
    assert_eq!((session.verdict, session.numbers()), (Verdict::Open, (4, 4)));
    session.orders(4, "C1");
    assert_eq!(session.lines(), ["request C1"]);
}

#[test]
fn a_required_tag_that_is_missing_is_named() {
    let mut session = Session::active();
    session.says("D", 2, ORDER);
    session.says("F", 3, "11=C2|41=C1|48=7|22=8|54=1|");
    session.says("G", 4, "11=C2|41=C1|48=7|22=8|54=1|60=20261126-12:00:00|38=10|");
    session.says("q", 5, "11=C2|60=20261126-12:00:00|");
    let of = |number: u32, at: u32, tag: u32, kind: &str| {
        format!("3 {number} 45={at} 371={tag} 372={kind} 373=1 58=a required tag is missing")
    };
    let expected = [of(2, 2, 11, "D"), of(3, 3, 60, "F"), of(4, 4, 1138, "G"), of(5, 5, 530, "q")];
    assert_eq!(session.lines(), expected);
}

#[test]
fn each_request_that_has_what_it_must_is_passed_on() {
    let mut session = Session::active();
    let when = "60=20261126-12:00:00.123456789|";
    session.orders(2, "C1");
    session.says("F", 3, &format!("11=C2|41=C1|48=7|22=8|54=1|{when}"));
    session.says("G", 4, &format!("11=C3|37=A|48=7|22=8|54=1|38=10|1138=0|44=9.5|{when}"));
    session.says("q", 5, &format!("11=C4|530=1|48=7|22=8|1461=1|1462=M|1463=D|1464=1|{when}"));
    assert_eq!(session.lines(), ["request C1", "request C2", "request C3", "request C4"]);
    let who = "453=1|448=D|447=D|452=76|581=3|528=P";
    session.says("S", 6, &format!("117=Q1|48=7|22=8|132=9|134=1|133=10|135=1|{who}|{when}"));
    assert_eq!(session.lines(), ["request "], "a quote has another name");
}

#[test]
fn a_type_that_is_not_offered_is_refused_by_its_business() {
    let mut session = Session::active();
    for (number, kind) in (2..).zip(["i", "Z", "R", "AJ", "8", "zz"]) {
        session.says(kind, number, "11=C1|");
        let text = "58=this type of message is not offered";
        assert_eq!(
            session.lines(),
            [format!("j {number} 45={number} {text} 372={kind} 379=C1 380=3")]
        );
    }
}

#[test]
fn a_reject_is_not_answered() {
    let mut session = Session::active();
    session.says("3", 2, "45=1|373=5|").says("j", 3, "45=1|372=8|380=0|");
    assert_eq!((session.lines(), session.numbers()), (vec![], (2, 4)));
}

#[test]
fn a_message_says_when_it_was_sent() {
    let mut session = Session::active();
    session.gets(&wire("35=0|34=2|49=CLIENT|56=FGW|"));
    assert_eq!(session.lines(), ["3 2 45=2 371=52 372=0 373=1 58=no sending time"]);
    assert_eq!(session.numbers(), (3, 3));
}
