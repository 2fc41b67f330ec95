//! Market data of Nasdaq: bytes as messages and packets, and a reader that gets packets
//! of any numbers.

use std::time::Duration;

use tapeline_itch::{
    Body, END_OF_SESSION, Limits, Message, Outputs, Packet, PacketHead, Reader, SessionName, State,
};
use tapeline_time::Time;

use crate::steps::Steps;

const LIMITS: Limits = Limits {
    hold: Duration::from_millis(2),
    patience: Duration::from_millis(20),
    attempts: 2,
    request_messages: 3,
    max_hole_messages: 40,
    max_early_packets: 4,
    session_silence: Duration::from_secs(1),
};

/// Bytes as they are, and as the body of a message.
pub fn codec(data: &[u8]) {
    whole(data);
    if let Ok(packet) = Packet::read(data) {
        assert_eq!(packet.messages().count(), usize::from(packet.count()));
        packet.messages().for_each(|(_, bytes)| whole(bytes));
    }
    let [kind, body @ ..] = data else { return };
    let Some((_, len)) = Body::LENGTHS.iter().find(|(of, _)| of == kind) else { return };
    let mut message = [&[*kind], body].concat();
    message.resize(*len, 0);
    whole(&message);
    assert!(Message::read(&message).is_ok(), "its type and length are good");
}

/// What is read is written as it was, but for what is reserved.
fn whole(bytes: &[u8]) {
    let Ok(message) = Message::read(bytes) else { return };
    let mut written = Vec::new();
    message.append(&mut written);
    assert_eq!(Message::read(&written), Ok(message));
    if !matches!(message.body, Body::TradingAction(_)) {
        assert_eq!(written, bytes);
    }
}

/// What a reader is held to.
#[derive(Default)]
struct Side {
    last: u64,
    is_stale: bool,
}

impl Outputs for Side {
    fn message(&mut self, number: u64, _: &[u8]) {
        assert!(number > self.last, "{number} behind {}", self.last);
        self.last = number;
    }

    fn request(&mut self, request: &PacketHead) {
        assert!((1..=LIMITS.request_messages).contains(&request.count));
        assert!(request.first > self.last, "what was read is not asked for");
        assert!(self.is_stale);
    }

    fn set_stale(&mut self, is_stale: bool) {
        assert_ne!(self.is_stale, is_stale, "told twice");
        self.is_stale = is_stale;
    }

    fn begin(&mut self, _: SessionName) {
        self.last = 0;
    }

    fn lose(&mut self, _: u64) {
        assert!(self.is_stale);
    }

    fn end(&mut self) {}
}

/// A packet of empty messages.
fn packet(session: u8, first: u64, count: u16) -> Vec<u8> {
    let session = SessionName::from_bytes(&[b'A' + session % 3]);
    let mut bytes = PacketHead { session, first, count }.to_bytes().to_vec();
    let messages = if count == END_OF_SESSION { 0 } else { count };
    bytes.extend((0..messages).flat_map(|_| [0, 0]));
    bytes
}

/// Packets, time and snapshots, in any order.
pub fn reader(data: &[u8]) {
    let mut steps = Steps::new(data);
    let (mut reader, mut side, mut now) = (Reader::new(LIMITS), Side::default(), Time::ZERO);
    while !steps.is_over() {
        match steps.below(6) {
            step @ 0..=2 => {
                // Near the next one, or anywhere.
                let near = (reader.next() + u64::from(steps.byte())).saturating_sub(16).max(1);
                let first = if step == 2 { near << steps.below(50) } else { near };
                let count = match steps.below(9) {
                    8 => END_OF_SESSION,
                    count => count as u16,
                };
                let session = if step == 1 { steps.byte() } else { 0 };
                let _ = reader.packet(now, &packet(session, first, count), &mut side);
            }
            3 => {
                now = now.after(Duration::from_millis(u64::from(steps.byte())));
                reader.timeout(now, &mut side);
            }
            4 => reader.go_on(now, &mut side),
            _ if reader.state() == State::Lost => {
                let next = reader.next() + u64::from(steps.byte());
                reader.resume(now, next, &mut side);
            }
            _ => {}
        }
        assert!(reader.next() > side.last);
        assert_eq!(reader.deadline().is_some(), reader.state() == State::Asking);
    }
}
