//! Market data of an exchange: bytes as messages and units, and a reader, its books and
//! whoever asks for what is missing, which get any of them.

use std::collections::HashSet;
use std::time::Duration;

use tapeline_mitch::{Books, Message, Outputs, Reader, Requester, Unit, append_alone};
use tapeline_time::Time;

use crate::steps::Steps;

const GROUP: u8 = 1;

/// Messages that a reader keeps while others are missing.
const MAX_BUFFERED: usize = 8;

/// A message of a type, with a body that is cut or filled to its length.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let known = Message::LENGTHS.iter().find(|(of, _)| *of == kind);
    let len = known.map_or(2 + body.len().min(200), |(_, len)| *len);
    let mut message = vec![len as u8, kind];
    message.extend_from_slice(body);
    message.resize(len, 0);
    message
}

/// A unit of messages.
pub fn unit(sequence: u32, messages: &[Vec<u8>]) -> Vec<u8> {
    let body = messages.concat();
    let mut unit = ((8 + body.len()) as u16).to_le_bytes().to_vec();
    unit.extend([messages.len() as u8, GROUP]);
    unit.extend(sequence.to_le_bytes());
    unit.extend(body);
    unit
}

/// Bytes as they are, and as the body of a message.
pub fn codec(data: &[u8]) {
    whole(data);
    if let Ok(unit) = Unit::read(data) {
        assert_eq!(unit.messages().count(), usize::from(unit.head.count));
        unit.messages().for_each(|(_, bytes)| whole(bytes));
    }
    assert!(Unit::len_of(data).is_none_or(|len| len >= 8));
    let [kind, body @ ..] = data else { return };
    whole(&message(*kind, body));
}

/// What is read is written and read the same, alone in a unit, too.
fn whole(bytes: &[u8]) {
    let Some(message) = Message::read(bytes) else { return };
    let mut again = Vec::new();
    append_alone(&mut again, GROUP, &message);
    let unit = Unit::read(&again).expect("what is written is a unit");
    let read: Vec<_> = unit.messages().map(|(_, bytes)| Message::read(bytes)).collect();
    assert_eq!(read, [Some(message)]);
}

/// What a reader does, and what is asked for because of it.
#[derive(Default)]
struct Side {
    books: Books,
    /// The number of the last message of the stream.
    last: Option<u32>,
    asks: Vec<Option<(u32, u16)>>,
}

impl Outputs for Side {
    fn message(&mut self, number: u32, message: &Message) {
        if number > 0 {
            // Behind the last number that there is, they begin anew.
            let is_next = |last: u32| number.wrapping_sub(last) as i32 > 0;
            assert!(self.last.is_none_or(is_next), "{number} behind {:?}", self.last);
            self.last = Some(number);
        }
        self.books.apply(message);
    }

    fn ask_replay(&mut self, first: u32, count: u16) {
        assert!(count > 0, "nothing is not asked for");
        self.asks.push(Some((first, count)));
    }

    fn ask_snapshot(&mut self) {
        self.asks.push(None);
    }

    fn set_stale(&mut self, _: bool) {}

    fn restart(&mut self) {
        self.books = Books::default();
        // The stream goes on where the snapshot is in step with it.
        self.last = None;
    }
}

/// Steps: units in any order, snapshots, answers of the service, time.
pub fn reader(data: &[u8]) {
    let mut steps = Steps::new(data);
    let mut reader = Reader::new(GROUP, MAX_BUFFERED);
    let mut requester = Requester::new(GROUP, "u", "p");
    let (mut side, mut now) = (Side::default(), Time::ZERO);
    while !steps.is_over() {
        match steps.byte() % 8 {
            0..=2 => {
                // Near the number that is waited for.
                let sequence = reader.next().wrapping_add(steps.below(12) as u32).wrapping_sub(4);
                let messages: Vec<_> =
                    (0..steps.below(4)).map(|_| message(kind(&mut steps), steps.bytes())).collect();
                let _ = reader.unit(&unit(sequence, &messages), &mut side);
            }
            3 => _ = reader.unit(steps.bytes(), &mut side),
            4 => {
                let messages = [message(kind(&mut steps), steps.bytes())];
                let _ = reader.snapshot_unit(&unit(0, &messages), &mut side);
            }
            5 => reader.replay_failed(&mut side),
            6 => reader.ask_again(&mut side),
            _ => {
                now = now.after(Duration::from_secs(steps.byte().into()));
                requester.timeout(now);
                if requester.connects(now) {
                    requester.connected(now, &mut |_: &[u8]| {});
                }
                let mut units = Vec::new();
                let bytes = unit(steps.byte().into(), &[message(kind(&mut steps), steps.bytes())]);
                requester
                    .received(now, &bytes, &mut |_: &[u8]| {}, |unit| units.push(unit.to_vec()));
                for unit in units {
                    let _ = reader.unit(&unit, &mut side);
                }
            }
        }
        for ask in side.asks.drain(..) {
            match ask {
                Some((first, count)) => _ = requester.ask_replay(now, first, count),
                None => _ = requester.ask_snapshot(now, ""),
            }
        }
        check(&side.books);
    }
}

/// One of the types that there are, or any.
fn kind(steps: &mut Steps<'_>) -> u8 {
    let byte = steps.byte();
    Message::LENGTHS.get(usize::from(byte)).map_or(byte, |(kind, _)| *kind)
}

/// No order is in two places.
fn check(books: &Books) {
    let mut seen = HashSet::new();
    for instrument in 0..4 {
        for side in [tapeline_instrument::Side::Buy, tapeline_instrument::Side::Sell] {
            for (order, _) in books.side(instrument, side) {
                assert!(seen.insert(order), "{order} is there twice");
                assert!(books.order(order).is_some());
            }
        }
    }
    assert!(seen.len() <= books.len());
}
