//! The exchange's end of a session: one rule, one test.

use std::time::Duration;

use tapeline_layout::Text;
use tapeline_ntg::client::{Cancel, CancelReplace, NewOrder};
use tapeline_ntg::session::{Heartbeat, Logon, LogonReply, Logout, MissedMessageRequest};
use tapeline_ntg::{
    Acceptor, Admission, Channel, Frames, Initiator, Input, Limits, Message, Outputs, Verdict,
};
use tapeline_time::Time;

/// What a session did, as lines.
struct Seen {
    admission: Admission,
    lines: Vec<String>,
}

impl Outputs for Seen {
    fn admit(&mut self, logon: &Logon) -> Admission {
        self.lines.push(format!("admit {}", logon.user));
        self.admission
    }

    fn request(&mut self, input: &Input, frame: &[u8]) {
        assert!(Message::read(frame).is_some(), "the frame is not what came");
        self.lines.push(match input {
            Input::New(order) => format!("new {}", order.cl_ord_id),
            Input::Quote(quote) => format!("quote {}", quote.cl_ord_id),
            Input::Replace(replace) => format!("replace {}", replace.cl_ord_id),
            Input::Cancel(cancel) => format!("cancel {}", cancel.cl_ord_id),
            Input::MassCancel(cancel) => format!("mass cancel {}", cancel.cl_ord_id),
            Input::Missed(request) => format!("missed {}", request.last_sequence),
        });
    }

    fn send(&mut self, bytes: &[u8]) {
        let read = Frames::default().read(bytes, |frame| {
            self.lines.push(match Message::read(frame) {
                Some(Message::LogonReply(reply)) => format!("reply {}", reply.reject_code),
                Some(Message::Reject(reject)) => format!(
                    "reject {} {} {} {:?}",
                    char::from(reject.rejected_type),
                    reject.code,
                    reject.reason,
                    reject.cl_ord_id
                ),
                Some(Message::Logout(logout)) => format!("logout {}", logout.reason),
                Some(Message::Heartbeat(_)) => "heartbeat".to_owned(),
                other => format!("{other:?}"),
            });
            true
        });
        assert_eq!(read, Ok(()));
    }
}

struct Session {
    acceptor: Acceptor,
    seen: Seen,
    now: Time,
}

impl Session {
    fn new() -> Self {
        let now = Time::from_nanos(1_000_000_000_000);
        let limits = Limits { throttle_per_s: 10, throttle_seconds: 2, ..Limits::default() };
        let admission = Admission::Granted { password_days: 30 };
        let seen = Seen { admission, lines: Vec::new() };
        Self { acceptor: Acceptor::new(now, limits), seen, now }
    }

    fn active() -> Self {
        let mut session = Self::new();
        session.says(&logon());
        session.lines();
        session
    }

    fn says(&mut self, message: &Message) -> Verdict {
        let mut bytes = Vec::new();
        message.append(&mut bytes);
        self.acceptor.received(self.now, &bytes, &mut self.seen)
    }

    fn after(&mut self, ms: u64) -> Verdict {
        self.now = self.now.after(Duration::from_millis(ms));
        self.acceptor.timeout(self.now, &mut self.seen)
    }

    fn lines(&mut self) -> Vec<String> {
        std::mem::take(&mut self.seen.lines)
    }
}

fn logon() -> Message {
    Message::Logon(Logon {
        user: Text::new("USER1"),
        password: Text::new("secret"),
        new_password: Text::default(),
        version: 1,
    })
}

fn order() -> NewOrder {
    NewOrder {
        cl_ord_id: Text::new("C1"),
        clearing_account: 1,
        instrument_id: 7,
        order_type: 2,
        side: 1,
        quantity: 10,
        display: 10,
        limit: 100,
        capacity: 2,
        ..NewOrder::default()
    }
}

#[test]
fn a_user_logs_on_and_sends_requests() {
    let mut session = Session::new();
    assert_eq!(session.says(&logon()), Verdict::Open);
    session.says(&Message::NewOrder(order()));
    assert_eq!(session.lines(), ["admit USER1", "reply 0", "new C1"]);
    assert!(session.acceptor.is_active());
}

#[test]
fn without_a_logon_within_two_intervals_it_is_closed() {
    let mut session = Session::new();
    assert_eq!(session.after(5_999), Verdict::Open);
    assert_eq!(session.after(1), Verdict::Close);
    assert_eq!(session.lines(), [""; 0]);
}

#[test]
fn wrong_credentials_are_closed_without_a_word() {
    let mut session = Session::new();
    session.seen.admission = Admission::Silent;
    assert_eq!(session.says(&logon()), Verdict::Close);
    assert_eq!(session.lines(), ["admit USER1"]);
}

#[test]
fn a_new_password_that_will_not_do_is_a_reply_and_a_later_logon_is_good() {
    let mut session = Session::new();
    session.seen.admission = Admission::Refused(3);
    assert_eq!(session.says(&logon()), Verdict::Open);
    session.seen.admission = Admission::Granted { password_days: 1 };
    session.says(&logon());
    assert_eq!(session.lines(), ["admit USER1", "reply 3", "admit USER1", "reply 0"]);
}

#[test]
fn a_logon_without_name_password_or_version_is_rejected() {
    let mut session = Session::new();
    let Message::Logon(good) = logon() else { unreachable!() };
    for logon in [
        Logon { user: Text::default(), ..good },
        Logon { password: Text::default(), ..good },
        Logon { version: 2, ..good },
    ] {
        session.says(&Message::Logon(logon));
    }
    assert_eq!(
        session.lines(),
        [
            "reject A 9900 UserName \"\"",
            "reject A 9900 Password \"\"",
            "reject A 9901 MessageVersion \"\"",
        ]
    );
}

#[test]
fn what_comes_before_the_logon_is_rejected_and_a_later_logon_is_good() {
    let mut session = Session::new();
    session.says(&Message::NewOrder(order()));
    session.says(&logon());
    assert_eq!(session.lines(), ["reject D 20100 Logon \"C1\"", "admit USER1", "reply 0"]);
}

#[test]
fn where_somebody_else_decides_a_logon_waits_and_nothing_else_is_taken_meanwhile() {
    let mut session = Session::new();
    session.seen.admission = Admission::Later;
    session.says(&logon());
    session.says(&Message::NewOrder(order()));
    assert_eq!(session.lines(), ["admit USER1", "reject D 20100 Logon \"C1\""]);
    // Refused, and asked again; the time to log on goes on.
    let refused = Admission::Refused(9998);
    assert_eq!(session.acceptor.decided(session.now, refused, &mut session.seen), Verdict::Open);
    assert_eq!(session.after(4_000), Verdict::Open);
    session.says(&logon());
    let granted = Admission::Granted { password_days: 30 };
    session.acceptor.decided(session.now, granted, &mut session.seen);
    session.says(&Message::NewOrder(order()));
    assert_eq!(session.lines(), ["reply 9998", "admit USER1", "reply 0", "new C1"]);
    // What is decided is decided once.
    session.acceptor.decided(session.now, Admission::Silent, &mut session.seen);
    assert!(session.acceptor.is_active());
    let mut session = Session::new();
    session.seen.admission = Admission::Later;
    session.says(&logon());
    assert_eq!(session.after(6_000), Verdict::Close, "nobody decides");
}

#[test]
fn a_second_logon_is_answered_with_code_2() {
    let mut session = Session::active();
    assert_eq!(session.says(&logon()), Verdict::Open);
    assert_eq!(session.lines(), ["reply 2"]);
}

#[test]
fn it_says_that_it_is_there_after_three_seconds_of_its_own_silence() {
    let mut session = Session::active();
    for _ in 0..4 {
        session.says(&Message::Heartbeat(Heartbeat {}));
        session.after(2_999);
        assert_eq!(session.lines(), [""; 0]);
        session.after(1);
        assert_eq!(session.lines(), ["heartbeat"]);
    }
    assert_eq!(session.acceptor.deadline(), session.now.after(Duration::from_secs(3)));
}

#[test]
fn after_five_intervals_of_silence_it_logs_out_and_closes() {
    let mut session = Session::active();
    for _ in 0..4 {
        assert_eq!(session.after(3_000), Verdict::Open);
    }
    session.lines();
    assert_eq!(session.after(3_000), Verdict::Close);
    assert_eq!(session.lines(), ["logout no heartbeat"]);
}

#[test]
fn a_logout_is_answered_and_the_client_closes() {
    let mut session = Session::active();
    let logout = Message::Logout(Logout { reason: Text::new("bye") });
    assert_eq!(session.says(&logout), Verdict::Open);
    session.says(&Message::NewOrder(order()));
    assert_eq!(session.lines(), ["logout "], "what comes behind it is dropped");
    assert_eq!(session.after(999), Verdict::Open);
    assert_eq!(session.after(1), Verdict::Close);
}

#[test]
fn too_many_messages_are_rejected_and_who_goes_on_is_logged_out_within_a_second() {
    let mut session = Session::active();
    session.after(1000);
    for _ in 0..11 {
        session.says(&Message::Heartbeat(Heartbeat {}));
    }
    session.says(&Message::NewOrder(order()));
    assert_eq!(
        session.lines(),
        [
            "reject 0 20101 message rate exceeded \"\"",
            "reject D 20101 message rate exceeded \"C1\"",
        ]
    );
    for _ in 0..2 {
        session.after(1000);
        for _ in 0..11 {
            session.says(&Message::Heartbeat(Heartbeat {}));
        }
    }
    assert_eq!(session.lines().last().map(String::as_str), Some("logout message rate exceede"));
    assert_eq!(session.after(1000), Verdict::Close);
}

#[test]
fn a_second_of_calm_ends_the_count() {
    let mut session = Session::active();
    for second in 0..6 {
        session.after(1000);
        for _ in 0..if second % 2 == 0 { 12 } else { 2 } {
            session.says(&Message::Heartbeat(Heartbeat {}));
        }
    }
    assert!(session.lines().iter().all(|line| !line.starts_with("logout")));
}

#[test]
fn a_field_that_is_wrong_is_named_and_so_is_the_request_if_it_can_be() {
    let mut session = Session::active();
    session.says(&Message::NewOrder(NewOrder { side: 3, ..order() }));
    session.says(&Message::NewOrder(NewOrder { cl_ord_id: Text::default(), ..order() }));
    session.says(&Message::NewOrder(NewOrder { quantity: 0, ..order() }));
    session.says(&Message::CancelReplace(CancelReplace {
        cl_ord_id: Text::new("C2"),
        orig_cl_ord_id: Text::new("C1"),
        instrument_id: 7,
        ..CancelReplace::default()
    }));
    session.says(&Message::Cancel(Cancel { cl_ord_id: Text::new("C3"), ..Cancel::default() }));
    assert_eq!(
        session.lines(),
        [
            "reject D 9901 Side \"C1\"",
            "reject D 9900 ClOrdID \"\"",
            "reject D 9900 OrderQty \"C1\"",
            "reject G 1000 OrderQty \"C2\"",
            "reject F 9900 OrigClOrdID \"C3\"",
        ]
    );
}

#[test]
fn a_wrong_length_or_type_is_rejected_and_the_session_goes_on() {
    let mut session = Session::active();
    let frames: [&[u8]; 3] = [&[2, 2, 0, b'D', 0], &[2, 1, 0, b'Z'], &[2, 1, 0, b'a']];
    for frame in frames {
        let verdict = session.acceptor.received(session.now, frame, &mut session.seen);
        assert_eq!(verdict, Verdict::Open);
    }
    session.says(&Message::NewOrder(order()));
    assert_eq!(
        session.lines(),
        [
            "reject D 9901 MsgLength \"\"",
            "reject Z 9901 MsgType \"\"",
            "reject a 20102 MsgType \"\"",
            "new C1",
        ]
    );
}

#[test]
fn a_stream_out_of_step_ends_the_session() {
    let mut session = Session::active();
    let verdict = session.acceptor.received(session.now, b"GET /", &mut session.seen);
    assert_eq!(verdict, Verdict::Close);
    assert!(session.lines()[0].starts_with("logout a message begins"));
}

#[test]
fn half_messages_wait_for_their_other_half() {
    let mut session = Session::active();
    let mut bytes = Vec::new();
    Message::NewOrder(order()).append(&mut bytes);
    for byte in bytes {
        assert_eq!(session.lines(), [""; 0]);
        session.acceptor.received(session.now, &[byte], &mut session.seen);
    }
    assert_eq!(session.lines(), ["new C1"]);
}

#[test]
fn the_recovery_channel_takes_requests_for_what_was_missed_and_no_orders() {
    let missed =
        Message::MissedMessageRequest(MissedMessageRequest { app_id: 1, last_sequence: 7 });
    let mut session = Session::new();
    session.acceptor = Acceptor::of(Channel::Recovery, session.now, Limits::default());
    for message in [logon(), missed, Message::NewOrder(order())] {
        session.says(&message);
    }
    let found = session.lines();
    assert_eq!(found[2..], ["missed 7", "reject D 20102 MsgType \"\""]);
    let mut session = Session::active();
    session.says(&missed);
    assert_eq!(session.lines(), ["reject M 20102 MsgType \"\""]);
}

#[test]
fn what_goes_out_beside_it_is_no_silence() {
    let mut session = Session::active();
    session.after(2_000);
    session.acceptor.spoke(session.now);
    session.after(1_500);
    assert_eq!(session.lines(), [""; 0]);
    session.after(1_500);
    assert_eq!(session.lines(), ["heartbeat"]);
}

/// Both ends, with nothing lost between them.
#[test]
fn a_client_stays_in_by_heartbeats_and_answers_a_logout() {
    let mut session = Session::new();
    let mut client = Initiator::new(session.now, Limits::default());
    let mut wire = Vec::new();
    client.log_on(session.now, "USER1", "secret", &mut |bytes| wire.extend_from_slice(bytes));
    session.acceptor.received(session.now, &std::mem::take(&mut wire), &mut session.seen);
    let mut reply = Vec::new();
    Message::LogonReply(LogonReply::default()).append(&mut reply);
    let mut kinds = Vec::new();
    let read =
        client.received(session.now, &reply, &mut |_| {}, |message| kinds.push(message.kind()));
    assert_eq!((read, kinds, client.is_active()), (Ok(()), vec![b'B'], true));
    for _ in 0..20 {
        session.after(3_000);
        client.timeout(session.now, &mut |bytes| wire.extend_from_slice(bytes));
        let said = std::mem::take(&mut wire);
        client.received(session.now, &[2, 1, 0, b'0'], &mut |_| {}, |_| {}).expect("a heartbeat");
        let verdict = session.acceptor.received(session.now, &said, &mut session.seen);
        assert_eq!(verdict, Verdict::Open);
    }
    let mut logout = Vec::new();
    Message::Logout(Logout::default()).append(&mut logout);
    let answer = &mut |bytes: &[u8]| wire.extend_from_slice(bytes);
    client.received(session.now, &logout, answer, |_| {}).expect("a logout");
    assert_eq!((client.is_over(), wire.get(3)), (true, Some(&b'5')));
}
