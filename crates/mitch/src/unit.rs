//! Units: a datagram, or a piece of a stream, of several messages.

use tapeline_layout::message;

use crate::error::MitchError;
use crate::message::Message;

message! {
    /// What every unit begins with.
    UnitHead: 8, fill 0 {
        /// Bytes, this head included.
        0 => length: u16,
        /// Messages; none in a heartbeat.
        2 => count: u8,
        /// The group of instruments.
        3 => group: u8,
        /// The number of the first message; in a heartbeat, that of the next one;
        /// 0 where messages have none.
        4 => sequence: u32,
    }
}

/// Bytes in front of the messages.
pub const HEAD: usize = UnitHead::LEN;

/// A unit whose messages are known to be whole.
#[derive(Clone, Copy, Debug)]
pub struct Unit<'a> {
    /// Its head.
    pub head: UnitHead,
    messages: &'a [u8],
}

impl<'a> Unit<'a> {
    /// Looks through a unit that has come whole.
    ///
    /// # Errors
    /// Its lengths do not fit each other.
    pub fn read(bytes: &'a [u8]) -> Result<Self, MitchError> {
        let found = bytes.len();
        let split = bytes.split_at_checked(HEAD);
        let (head, messages) = split.ok_or(MitchError::Short(found))?;
        let Some(head) = UnitHead::read(head) else { return Err(MitchError::Short(found)) };
        let said = usize::from(head.length);
        if said != found {
            return Err(MitchError::Length { said, found });
        }
        let unit = Self { head, messages };
        let mut rest = messages;
        for at in 1..=head.count {
            let len = rest.first().copied().map_or(0, usize::from);
            let behind = rest.get(len..).filter(|_| len >= 2);
            rest = behind.ok_or(MitchError::Message { at, count: head.count })?;
        }
        if !rest.is_empty() {
            return Err(MitchError::Message { at: head.count, count: head.count });
        }
        Ok(unit)
    }

    /// How long the first unit of a stream is; `None` if its head is not there.
    pub fn len_of(bytes: &[u8]) -> Option<usize> {
        let head = UnitHead::read(bytes.get(..HEAD)?)?;
        Some(usize::from(head.length).max(HEAD))
    }

    /// The messages' bytes, with their numbers.
    pub fn messages(&self) -> impl Iterator<Item = (u32, &'a [u8])> + use<'a> {
        let (mut rest, mut sequence) = (self.messages, self.head.sequence);
        let step = u32::from(sequence != 0);
        std::iter::from_fn(move || {
            let len = usize::from(*rest.first()?);
            let (message, behind) = rest.split_at_checked(len)?;
            let number = sequence;
            rest = behind;
            sequence = sequence.wrapping_add(step);
            Some((number, message))
        })
    }
}

/// Begins a unit; [`end`] writes its head.
pub(crate) fn begin(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; HEAD]);
    out.len() - HEAD
}

/// Writes the head of the unit that began at a place and goes to the end.
pub(crate) fn end(out: &mut [u8], start: usize, count: u8, group: u8, sequence: u32) {
    let length = (out.len() - start) as u16;
    let head = UnitHead { length, count, group, sequence };
    out[start..start + HEAD].copy_from_slice(&head.to_bytes());
}

/// Appends a unit of one message without a number, as streams and snapshots have
/// them.
pub fn append_alone(out: &mut Vec<u8>, group: u8, message: &Message) {
    let start = begin(out);
    message.append(out);
    end(out, start, 1, group, 0);
}

/// Appends a unit of some messages without numbers.
pub(crate) fn append_unnumbered(out: &mut Vec<u8>, group: u8, messages: &[Message]) {
    let start = begin(out);
    for message in messages {
        message.append(out);
    }
    end(out, start, messages.len() as u8, group, 0);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tapeline_instrument::Price;

    use super::*;
    use crate::message::{AddOrder, Executed, SignedPrice, Time};

    fn bytes(hex: &str) -> Vec<u8> {
        let digits: Vec<u8> = hex.bytes().filter(u8::is_ascii_hexdigit).collect();
        let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap();
        digits.chunks(2).map(pair).collect()
    }

    /// The second 28,800, an order to buy 1,000 at 10.25, 400 of it traded.
    #[test]
    fn a_unit_as_it_is_on_the_wire() {
        let mut wire = bytes("5400 03 41 01000000 06 54 80700000");
        wire.extend(bytes("2c 41 48e80100 2b03000047ea5100 42 e8030000 5f080200 00 00"));
        wire.extend(bytes("4042183d00000000 00"));
        wire.extend([0x20; 10]);
        wire.extend(bytes("1a 45 08c30200 2b03000047ea5100 90010000 2c01c0a437010000"));
        let order = 23_057_063_777_141_547;
        let messages = [
            Message::from(Time { seconds: 28_800 }),
            Message::from(AddOrder {
                ns: 125_000,
                order,
                side: b'B',
                quantity: 1000,
                instrument: 133_215,
                price: SignedPrice(Price(1_025_000_000)),
                ..AddOrder::default()
            }),
            Message::from(Executed { ns: 181_000, order, quantity: 400, trade: 1_338_498_875_692 }),
        ];
        let unit = Unit::read(&wire).expect("a unit");
        assert_eq!((unit.head.count, unit.head.group, unit.head.sequence), (3, 0x41, 1));
        let found: Vec<_> =
            unit.messages().map(|(number, bytes)| (number, Message::read(bytes))).collect();
        assert_eq!(found, [1, 2, 3].map(|number| (number, Some(messages[number as usize - 1]))));
        let mut written = Vec::new();
        let start = begin(&mut written);
        for message in messages {
            message.append(&mut written);
        }
        end(&mut written, start, 3, 0x41, 1);
        assert_eq!(written, wire);
    }

    #[test]
    fn units_that_do_not_fit_are_refused() {
        let error = |bytes: &[u8]| Unit::read(bytes).expect_err("refused");
        assert_eq!(error(&[1, 2]), MitchError::Short(2));
        assert_eq!(error(&bytes("0900004104000000")), MitchError::Length { said: 9, found: 8 });
        let cut = error(&bytes("0a00 02 41 04000000 02 05"));
        assert_eq!(cut, MitchError::Message { at: 2, count: 2 });
        let more = error(&bytes("0a00 00 41 04000000 02 05"));
        assert_eq!(more, MitchError::Message { at: 0, count: 0 });
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(mut bytes in prop::collection::vec(any::<u8>(), 8..200)) {
            let length = (bytes.len() as u16).to_le_bytes();
            bytes[..2].copy_from_slice(&length);
            if let Ok(unit) = Unit::read(&bytes) {
                let count = unit.messages().inspect(|(_, message)| {
                    let _ = Message::read(message);
                }).count();
                prop_assert_eq!(count, usize::from(unit.head.count));
            }
        }
    }
}
