//! The exchange's native protocol: bytes as messages, and both ends of a session that
//! get any of them.

use std::time::Duration;

use tapeline_ntg::session::Logon;
use tapeline_ntg::{
    Acceptor, Admission, Channel, Frames, HEAD, Initiator, Input, Limits, Message, Outputs, START,
    Verdict,
};
use tapeline_time::Time;

use crate::steps::Steps;

/// A frame of a type, with a body that is cut or filled to its length.
pub fn framed(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = Message::len_of(kind).unwrap_or(HEAD + body.len());
    let [low, high] = ((len - 3) as u16).to_le_bytes();
    let mut frame = vec![START, low, high, kind];
    frame.extend_from_slice(body);
    frame.resize(len, 0);
    frame
}

/// Bytes as they are, and as the body of a message.
pub fn codec(data: &[u8]) {
    whole(data);
    let mut lens = 0;
    let _ = Frames::default().read(data, |frame| {
        lens += frame.len();
        whole(frame);
        true
    });
    assert!(lens <= data.len());
    let [kind, body @ ..] = data else { return };
    whole(&framed(*kind, body));
}

/// What is read is written and read the same.
fn whole(frame: &[u8]) {
    let Some(message) = Message::read(frame) else { return };
    let mut again = Vec::new();
    message.append(&mut again);
    assert_eq!(Some(again.len()), Message::len_of(message.kind()));
    assert_eq!(Message::read(&again), Some(message));
}

/// What an exchange's end does.
struct Side {
    admission: Admission,
    sent: Vec<u8>,
}

impl Outputs for Side {
    fn admit(&mut self, _: &Logon) -> Admission {
        self.admission
    }

    fn request(&mut self, _: &Input, frame: &[u8]) {
        assert!(Message::read(frame).is_some(), "a request is a message");
    }

    fn send(&mut self, bytes: &[u8]) {
        self.sent.extend_from_slice(bytes);
    }
}

/// Steps: bytes, messages, time and reports, to both ends, which get what the other one
/// sends, too.
pub fn session(data: &[u8]) {
    let mut steps = Steps::new(data);
    let channel = if steps.flag() { Channel::RealTime } else { Channel::Recovery };
    let limits = Limits { throttle_per_s: 3, throttle_seconds: 1, ..Limits::default() };
    let mut now = Time::ZERO;
    let granted = Admission::Granted { password_days: 7 };
    let mut side = Side { admission: granted, sent: Vec::new() };
    let mut up = Vec::new();
    let mut acceptor = Acceptor::of(channel, now, limits);
    let mut initiator = Initiator::new(now, limits);
    while !steps.is_over() {
        let mut verdict = Verdict::Open;
        match steps.byte() % 10 {
            0 => verdict = acceptor.received(now, steps.bytes(), &mut side),
            1 | 2 => {
                let frame = framed(steps.byte(), steps.bytes());
                // In two pieces.
                let (head, rest) = frame.split_at(steps.below(frame.len()));
                verdict = acceptor.received(now, head, &mut side);
                if verdict == Verdict::Open {
                    verdict = acceptor.received(now, rest, &mut side);
                }
            }
            3 => {
                let frame = framed(steps.byte(), steps.bytes());
                let _ = initiator.received(
                    now,
                    &frame,
                    &mut |bytes: &[u8]| up.extend_from_slice(bytes),
                    |_| {},
                );
            }
            4 => {
                now = now.after(Duration::from_secs(steps.byte().into()));
                verdict = acceptor.timeout(now, &mut side);
                initiator.timeout(now, &mut |bytes: &[u8]| up.extend_from_slice(bytes));
            }
            5 => {
                side.admission = match steps.byte() % 3 {
                    0 => Admission::Silent,
                    1 => Admission::Refused(8),
                    _ => granted,
                };
            }
            6 => {
                if let Some(message) = Message::read(&framed(steps.byte(), steps.bytes())) {
                    acceptor.send(now, &message, &mut side);
                }
            }
            7 => initiator.log_on(now, "u", "p", &mut |bytes: &[u8]| up.extend_from_slice(bytes)),
            8 => {
                let sent = std::mem::take(&mut up);
                verdict = acceptor.received(now, &sent, &mut side);
            }
            _ => {
                let sent = std::mem::take(&mut side.sent);
                codec(&sent);
                let _ = initiator.received(
                    now,
                    &sent,
                    &mut |bytes: &[u8]| up.extend_from_slice(bytes),
                    |_| {},
                );
            }
        }
        if verdict == Verdict::Close {
            break;
        }
    }
    is_messages(&side.sent);
    is_messages(&up);
}

/// What either end sends is whole messages.
fn is_messages(bytes: &[u8]) {
    let mut lens = 0;
    let read = Frames::default().read(bytes, |frame| {
        lens += frame.len();
        assert!(Message::read(frame).is_some(), "it can be read");
        true
    });
    assert!(read.is_ok() && lens == bytes.len(), "messages, and nothing else");
}
