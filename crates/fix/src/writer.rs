//! Messages are written into a buffer that is kept.

use crate::frame::{MAX_MESSAGE, SOH, START, TRAILER, find_end, sum};
use crate::value::{PAIRS, put, timestamp};

/// Writes the fields of a message.
///
/// A field without a value is left out, as is one with which the message would be
/// longer than any may be; an end of a field inside of a value becomes `?`.
#[derive(Debug)]
pub struct Writer<'b> {
    out: &'b mut Vec<u8>,
    /// How long `out` may become.
    limit: usize,
}

impl<'b> Writer<'b> {
    /// Writes behind what is there, up to `limit`.
    pub(crate) const fn new(out: &'b mut Vec<u8>, limit: usize) -> Self {
        Self { out, limit }
    }

    /// A text.
    #[inline]
    pub fn text(&mut self, tag: u32, value: &[u8]) -> &mut Self {
        let piece = Piece::of(tag);
        if value.is_empty() || !self.has_room(piece.len + value.len()) {
            return self;
        }
        piece.append(self.out);
        let at = self.out.len();
        self.out.extend_from_slice(value);
        if find_end(value).is_some() {
            for byte in &mut self.out[at..] {
                *byte = if *byte == SOH { b'?' } else { *byte };
            }
        }
        self.out.push(SOH);
        self
    }

    /// A whole number.
    #[inline]
    pub fn number(&mut self, tag: u32, value: i64) -> &mut Self {
        let mut piece = Piece::of(tag);
        piece.sign(value);
        piece.number(value.unsigned_abs());
        self.piece(piece)
    }

    /// A number with 8 decimals; zeros at its end are dropped.
    #[inline]
    pub fn decimal(&mut self, tag: u32, value: i64) -> &mut Self {
        let mut piece = Piece::of(tag);
        piece.sign(value);
        piece.decimal(value.unsigned_abs());
        self.piece(piece)
    }

    /// One character.
    #[inline]
    pub fn byte(&mut self, tag: u32, value: u8) -> &mut Self {
        let mut piece = Piece::of(tag);
        piece.byte(if value == SOH { b'?' } else { value });
        self.piece(piece)
    }

    /// The day of a moment, UTC: `20261126`.
    pub fn date(&mut self, tag: u32, ns_since_1970: u64) -> &mut Self {
        self.text(tag, &timestamp(ns_since_1970)[..8])
    }

    /// A moment, to the nanosecond: `20261126-21:11:13.123456789`.
    pub fn time(&mut self, tag: u32, ns_since_1970: u64) -> &mut Self {
        let mut piece = Piece::of(tag);
        let text = timestamp(ns_since_1970);
        piece.bytes[piece.len..piece.len + text.len()].copy_from_slice(&text);
        piece.len += text.len();
        self.piece(piece)
    }

    /// Fields as they are on the wire.
    pub(crate) fn fields(&mut self, fields: &[u8]) {
        self.out.extend_from_slice(fields);
    }

    /// Lets `body` write at most so many bytes. Returns how many it wrote.
    pub(crate) fn body(&mut self, most: usize, body: impl FnOnce(&mut Writer<'_>)) -> usize {
        let at = self.out.len();
        let limit = self.limit.min(at + most);
        body(&mut Writer::new(self.out, limit));
        self.out.len() - at
    }

    #[inline]
    fn piece(&mut self, mut piece: Piece) -> &mut Self {
        if self.has_room(piece.len) {
            piece.byte(SOH);
            piece.append(self.out);
        }
        self
    }

    /// Whether so many bytes and their end can be written.
    #[inline]
    fn has_room(&self, bytes: usize) -> bool {
        self.out.len() + bytes < self.limit
    }
}

/// A short field, which is appended in one step.
struct Piece {
    bytes: [u8; Self::ROOM],
    len: usize,
}

impl Piece {
    /// The longest are a tag of ten digits and a time of 27, and a sign, a point and
    /// 20 digits with it.
    const ROOM: usize = 40;

    /// A tag and its `=`. Who writes a field nearly always knows its tag when it is
    /// compiled, and then so are these bytes.
    #[inline]
    fn of(tag: u32) -> Self {
        debug_assert!((1..1_000_000_000).contains(&tag), "a tag of one to nine digits");
        let mut piece = Self { bytes: [0; Self::ROOM], len: 0 };
        let digit = |of: u32| b'0' + (of % 10) as u8;
        let bytes = &mut piece.bytes;
        piece.len = match tag {
            0..10 => {
                bytes[..2].copy_from_slice(&[digit(tag), b'=']);
                2
            }
            10..100 => {
                bytes[..3].copy_from_slice(&[digit(tag / 10), digit(tag), b'=']);
                3
            }
            100..1000 => {
                let digits = [digit(tag / 100), digit(tag / 10), digit(tag), b'='];
                bytes[..4].copy_from_slice(&digits);
                4
            }
            1000..10_000 => {
                let [thousands, hundreds] = [digit(tag / 1000), digit(tag / 100)];
                let digits = [thousands, hundreds, digit(tag / 10), digit(tag), b'='];
                bytes[..5].copy_from_slice(&digits);
                5
            }
            _ => {
                piece.long(tag.into());
                piece.byte(b'=');
                piece.len
            }
        };
        piece
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    #[inline]
    fn sign(&mut self, value: i64) {
        if value < 0 {
            self.byte(b'-');
        }
    }

    /// Most numbers, and all tags but a few, have four digits at most.
    #[inline]
    fn number(&mut self, number: u64) {
        match number {
            0..10 => self.byte(b'0' + number as u8),
            10..100 => self.pair(number),
            100..1000 => {
                self.byte(b'0' + (number / 100) as u8);
                self.pair(number % 100);
            }
            1000..10_000 => {
                self.pair(number / 100);
                self.pair(number % 100);
            }
            _ => self.long(number),
        }
    }

    #[inline]
    fn pair(&mut self, number: u64) {
        self.bytes[self.len..self.len + 2].copy_from_slice(&PAIRS[number as usize]);
        self.len += 2;
    }

    fn long(&mut self, number: u64) {
        let digits = number.ilog10() as usize + 1;
        put(&mut self.bytes[self.len..self.len + digits], number);
        self.len += digits;
    }

    #[inline]
    fn decimal(&mut self, magnitude: u64) {
        const ONE: u64 = 100_000_000;
        self.number(magnitude / ONE);
        let part = magnitude % ONE;
        if part == 0 {
            return;
        }
        self.byte(b'.');
        put(&mut self.bytes[self.len..self.len + 8], part);
        self.len += 8;
        while self.bytes[self.len - 1] == b'0' {
            self.len -= 1;
        }
    }

    /// Appends it. A copy of a length that is known takes a few moves, one of a
    /// length that is not takes a call.
    #[inline]
    fn append(&self, out: &mut Vec<u8>) {
        let len = out.len() + self.len;
        out.extend_from_slice(&self.bytes);
        out.truncate(len);
    }
}

/// Appends a whole message of a type to `out`: its start, the fields that `fields`
/// writes, header first, and its checksum.
pub fn append(out: &mut Vec<u8>, msg_type: &[u8], fields: impl FnOnce(&mut Writer<'_>)) {
    let at = begin(out, msg_type);
    let limit = at + MAX_MESSAGE - TRAILER;
    fields(&mut Writer::new(out, limit));
    finish(out, at);
}

/// Digits of most body lengths; a shorter or longer one moves the body.
const DIGITS: usize = 3;

/// Begins a message. Returns where.
fn begin(out: &mut Vec<u8>, msg_type: &[u8]) -> usize {
    let at = out.len();
    out.extend_from_slice(START);
    out.extend_from_slice(b"000\x01");
    Writer::new(out, at + MAX_MESSAGE - TRAILER).text(35, msg_type);
    at
}

/// Puts in the body length, and the checksum behind the rest.
fn finish(out: &mut Vec<u8>, at: usize) {
    let length_at = at + START.len();
    let length = out.len() - length_at - DIGITS - 1;
    let mut piece = Piece { bytes: [0; Piece::ROOM], len: 0 };
    piece.number(length as u64);
    let digits = &piece.bytes[..piece.len];
    if digits.len() == DIGITS {
        out[length_at..length_at + DIGITS].copy_from_slice(digits);
    } else {
        out.splice(length_at..length_at + DIGITS, digits.iter().copied());
    }
    let sum = sum(&out[at..]);
    let [hundreds, tens, ones] = [sum / 100, sum / 10 % 10, sum % 10].map(|digit| b'0' + digit);
    out.extend_from_slice(&[b'1', b'0', b'=', hundreds, tens, ones, SOH]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::message::Message;
    use crate::testing::wire;
    use crate::value::{decimal, number, timestamp_ns};

    fn written(fields: impl FnOnce(&mut Writer<'_>)) -> Vec<u8> {
        let mut out = Vec::new();
        append(&mut out, b"D", fields);
        out
    }

    #[test]
    fn a_message_as_it_is_on_the_wire() {
        let noon = 1_795_694_400_123_456_789;
        let found = written(|fields| {
            fields.text(11, b"C1").number(38, 1000).decimal(44, 1_025_000_000).byte(54, b'1');
            fields.time(60, noon).number(99, -7).decimal(44, -1).decimal(44, i64::MIN);
        });
        let expected = "35=D|11=C1|38=1000|44=10.25|54=1|60=20261126-12:00:00.123456789|\
                        99=-7|44=-0.00000001|44=-92233720368.54775808|";
        assert_eq!(found, wire(expected));
    }

    #[test]
    fn the_length_has_as_many_digits_as_it_needs() {
        for text in [1, 60, 90, 91, 92, 200, 900, 981, 982, 983, 984, 985, 5000] {
            let text = vec![b'x'; text];
            let found = written(|fields| {
                fields.text(58, &text);
            });
            assert_eq!(found, wire(&format!("35=D|58={}|", String::from_utf8_lossy(&text))));
        }
    }

    #[test]
    fn no_value_can_break_a_message() {
        let found = written(|fields| {
            fields.text(58, b"").text(11, b"a\x0110=000\x01").byte(54, 1);
        });
        assert_eq!(found, wire("35=D|11=a?10=000?|54=?|"));
    }

    #[test]
    fn what_would_make_a_message_too_long_is_left_out() {
        let (long, longer) = ([b'x'; MAX_MESSAGE - 50], [b'y'; 100]);
        let found = written(|fields| {
            fields.text(58, &long).text(58, &longer).number(38, 1).text(58, &longer);
        });
        assert!(found.len() <= MAX_MESSAGE);
        let message = Message::read(&found).expect("a whole message");
        let tags: Vec<u32> = message.fields().map(|field| field.tag).collect();
        assert_eq!(tags, [58, 38]);
    }

    #[derive(Clone, Debug)]
    enum Value {
        Text(Vec<u8>),
        Number(i64),
        Decimal(i64),
        Time(u64),
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            prop::collection::vec(2..=255_u8, 1..600).prop_map(Value::Text),
            any::<i64>().prop_map(Value::Number),
            any::<i64>().prop_map(Value::Decimal),
            (-1_000_000..1_000_000_i64).prop_map(|value| Value::Decimal(value * 1_000_000)),
            (0..18_000_000_000_000_000_000_u64).prop_map(Value::Time),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_the_same(
            before in prop::collection::vec(any::<u8>(), 0..9),
            fields in prop::collection::vec((10_000..1_000_000_000_u32, value()), 0..9),
        ) {
            let mut out = before.clone();
            append(&mut out, b"8", |writer| {
                for (tag, value) in &fields {
                    match value {
                        Value::Text(text) => writer.text(*tag, text),
                        Value::Number(value) => writer.number(*tag, *value),
                        Value::Decimal(value) => writer.decimal(*tag, *value),
                        Value::Time(ns) => writer.time(*tag, *ns),
                    };
                }
            });
            prop_assert!(out.starts_with(&before));
            let message = Message::read(&out[before.len()..]).expect("a whole message");
            prop_assert_eq!(message.msg_type(), b"8");
            prop_assert_eq!(message.fields().count(), fields.len());
            for (found, (tag, value)) in message.fields().zip(&fields) {
                prop_assert_eq!(found.tag, *tag);
                match value {
                    Value::Text(text) => prop_assert_eq!(found.value, text),
                    Value::Number(value) => prop_assert_eq!(number(found.value), Some(*value)),
                    Value::Decimal(value) => prop_assert_eq!(decimal(found.value), Some(*value)),
                    Value::Time(ns) => prop_assert_eq!(timestamp_ns(found.value), Some(*ns)),
                }
            }
        }
    }
}
