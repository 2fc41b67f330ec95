//! FIX: bytes as messages, and both ends of a session that get any of them.
//!
//! A checksum keeps out what chance makes, so most of an input is bodies, which get
//! their length and checksum here.

use tapeline_fix::{
    Acceptor, Admission, CompIds, Credentials, Frames, Initiator, Limits, Logon, MAX_MESSAGE,
    Message, Outputs, Rejection, Store, Verdict, append, decimal, frame_len, number, timestamp_ns,
};
use tapeline_time::Time;

use crate::steps::Steps;

/// A whole message around a body.
pub fn framed(body: &[u8]) -> Vec<u8> {
    let mut wire = format!("8=FIXT.1.1\x019={}\x01", body.len()).into_bytes();
    wire.extend(body);
    let sum = wire.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    wire.extend(format!("10={sum:03}\x01").bytes());
    wire
}

/// Bytes as they are, and as a body.
pub fn codec(data: &[u8]) {
    stream(data);
    let whole = framed(data);
    stream(&whole);
    let Ok(message) = Message::read(&whole) else { return };
    let fields: Vec<_> = message.fields().collect();
    for field in &fields {
        let _ = (number(field.value), decimal(field.value), timestamp_ns(field.value));
        let entries = message.group(field.tag, 448).take(whole.len() + 1).count();
        assert!(entries <= fields.len(), "an entry has a field at least");
    }
    rewritten(&message);
}

fn stream(bytes: &[u8]) {
    if let Ok(Some(len)) = frame_len(bytes) {
        assert!(len <= bytes.len() && len <= MAX_MESSAGE);
    }
    let mut lens = 0;
    let _ = Frames::default().read(bytes, |message| {
        lens += message.frame().len();
        true
    });
    assert!(lens <= bytes.len());
}

/// What has tags and values can be written, and is read the same.
fn rewritten(message: &Message<'_>) {
    let is_plain = |value: &[u8]| !value.is_empty() && !value.contains(&1);
    // A length makes the field behind it one of any bytes.
    let is_told = |tag: u32| tag > 2000;
    let fields: Vec<_> =
        message.fields().filter(|field| is_told(field.tag) && is_plain(field.value)).collect();
    let mut out = Vec::new();
    append(&mut out, message.msg_type(), |writer| {
        for field in &fields {
            writer.text(field.tag, field.value);
        }
    });
    let again = Message::read(&out).expect("what is written is a message");
    assert_eq!(again.msg_type(), message.msg_type());
    assert!(again.fields().eq(fields));
}

/// What a side has; it refuses what it is asked as the input says.
struct Side {
    store: Store,
    admission: Admission,
    answer: Result<(), Rejection>,
    sent: Vec<u8>,
}

impl Outputs for Side {
    fn admit(&mut self, _: &Logon<'_>) -> Admission {
        self.admission
    }

    fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    fn request(&mut self, _: &Message<'_>) -> Result<(), Rejection> {
        self.answer
    }

    fn send(&mut self, bytes: &[u8]) {
        self.sent.extend_from_slice(bytes);
    }
}

/// Steps: bytes, bodies, time and reports, to both ends, which get what the other one
/// sends, too.
pub fn session(data: &[u8]) {
    let mut steps = Steps::new(data);
    let limits = Limits { throttle_per_s: 3, throttle_seconds: 1, ..Limits::default() };
    let mut at_ns = 1_795_694_400_000_000_000;
    let ids = CompIds::new(b"FGW", b"C");
    let mut side = Side {
        store: Store::new(4),
        admission: Admission::Granted,
        answer: Ok(()),
        sent: Vec::new(),
    };
    let (mut store, mut up) = (Store::new(4), Vec::new());
    let mut acceptor = Acceptor::new(Time::from_nanos(at_ns), b"FGW", limits);
    let mut initiator = Initiator::new(Time::from_nanos(at_ns), b"C", b"FGW", 10);
    while !steps.is_over() {
        let now = Time::from_nanos(at_ns);
        let mut verdict = Verdict::Open;
        match steps.byte() % 12 {
            0 => verdict = acceptor.received(now, at_ns, steps.bytes(), &mut side),
            1..=3 => {
                let body = framed(steps.bytes());
                verdict = acceptor.received(now, at_ns, &body, &mut side);
            }
            4 => {
                let body = framed(steps.bytes());
                initiator.received(now, at_ns, &body, &mut store, |bytes| up.extend(bytes), |_| {});
            }
            5 => at_ns += u64::from(steps.byte()) * 1_000_000_000,
            6 => {
                let is_absent = !acceptor.is_active();
                let mut frame = Vec::new();
                let text = steps.bytes();
                let report = |writer: &mut tapeline_fix::Writer<'_>| {
                    writer.text(58, text);
                };
                side.store.write(&ids, at_ns, b"8", is_absent, report, &mut frame);
                assert_eq!(frame.is_empty(), is_absent);
                side.sent.extend(frame);
            }
            7 => {
                side.admission = match steps.byte() % 4 {
                    0 => Admission::Silent,
                    1 => Admission::Refused { status: 6, text: "no" },
                    2 => Admission::OldPassword,
                    _ => Admission::Granted,
                };
                let reason = u16::from(steps.byte());
                side.answer = match reason % 3 {
                    0 => Err(Rejection::Reject { reason, tag: 11, text: "no" }),
                    1 => Err(Rejection::Business { reason, tag: 0, text: "" }),
                    _ => Ok(()),
                };
            }
            8 => {
                let credentials = Credentials { resets: steps.flag(), ..Credentials::default() };
                let send = |bytes: &[u8]| up.extend(bytes);
                initiator.log_on(now, at_ns, &credentials, &mut store, send);
            }
            9 => {
                let bytes = std::mem::take(&mut up);
                verdict = acceptor.received(now, at_ns, &bytes, &mut side);
            }
            10 => {
                let bytes = std::mem::take(&mut side.sent);
                let send = |bytes: &[u8]| up.extend(bytes);
                initiator.received(now, at_ns, &bytes, &mut store, send, |_| {});
            }
            _ => acceptor.log_out(now, at_ns, 102, "bye", &mut side),
        }
        if verdict == Verdict::Open {
            verdict = acceptor.timeout(Time::from_nanos(at_ns), at_ns, &mut side);
        }
        if verdict == Verdict::Close {
            acceptor = Acceptor::new(Time::from_nanos(at_ns), b"FGW", limits);
        }
        initiator.timeout(now, at_ns, &mut store, |bytes| up.extend(bytes));
        can_be_read(&side.sent);
        can_be_read(&up);
    }
}

/// What either end sends is whole messages and nothing else.
fn can_be_read(sent: &[u8]) {
    let (mut frames, mut len) = (Frames::default(), 0);
    let read = frames.read(sent, |message| {
        len += message.frame().len();
        true
    });
    assert_eq!((read, len, frames.garbled()), (Ok(()), sent.len(), 0));
}
