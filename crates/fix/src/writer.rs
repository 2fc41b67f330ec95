//! Messages are written into a buffer that is kept.

use crate::frame::{MAX_MESSAGE, SOH, START, TRAILER, sum};
use crate::value::timestamp;

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
    pub fn text(&mut self, tag: u32, value: &[u8]) -> &mut Self {
        if value.is_empty() {
            return self;
        }
        let at = self.out.len();
        self.field(tag, value);
        // The last byte ends the field.
        let written = self.out.len().saturating_sub(1).max(at);
        for byte in &mut self.out[at..written] {
            *byte = if *byte == SOH { b'?' } else { *byte };
        }
        self
    }

    /// A whole number.
    pub fn number(&mut self, tag: u32, value: i64) -> &mut Self {
        let mut digits = Digits::default();
        digits.push(value.unsigned_abs());
        digits.sign(value < 0);
        self.field(tag, digits.as_bytes())
    }

    /// A number with 8 decimals; zeros at its end are dropped.
    pub fn decimal(&mut self, tag: u32, value: i64) -> &mut Self {
        const ONE: u64 = 100_000_000;
        let magnitude = value.unsigned_abs();
        let (whole, mut part) = (magnitude / ONE, magnitude % ONE);
        let mut digits = Digits::default();
        if part != 0 {
            let mut decimals = 8;
            while part.is_multiple_of(10) {
                part /= 10;
                decimals -= 1;
            }
            for _ in 0..decimals {
                digits.byte(b'0' + (part % 10) as u8);
                part /= 10;
            }
            digits.byte(b'.');
        }
        digits.push(whole);
        digits.sign(value < 0);
        self.field(tag, digits.as_bytes())
    }

    /// One character.
    pub fn byte(&mut self, tag: u32, value: u8) -> &mut Self {
        self.text(tag, &[value])
    }

    /// A moment, to the nanosecond: `20261126-21:11:13.123456789`.
    pub fn time(&mut self, tag: u32, ns_since_1970: u64) -> &mut Self {
        self.field(tag, &timestamp(ns_since_1970))
    }

    /// Fields as they are on the wire.
    pub(crate) fn fields(&mut self, fields: &[u8]) {
        self.out.extend_from_slice(fields);
    }

    fn field(&mut self, tag: u32, value: &[u8]) -> &mut Self {
        let mut digits = Digits::default();
        digits.byte(b'=');
        digits.push(u64::from(tag));
        let tag = digits.as_bytes();
        if self.out.len() + tag.len() + value.len() < self.limit {
            self.out.extend_from_slice(tag);
            self.out.extend_from_slice(value);
            self.out.push(SOH);
        }
        self
    }
}

/// A number that is written from its end.
#[derive(Debug)]
struct Digits {
    bytes: [u8; 32],
    from: usize,
}

impl Default for Digits {
    fn default() -> Self {
        Self { bytes: [0; 32], from: 32 }
    }
}

impl Digits {
    /// Puts one in front. The longest number has a sign, 20 digits and a point.
    fn byte(&mut self, byte: u8) {
        self.from -= 1;
        self.bytes[self.from] = byte;
    }

    /// Puts a number in front.
    fn push(&mut self, mut number: u64) {
        loop {
            self.byte(b'0' + (number % 10) as u8);
            number /= 10;
            if number == 0 {
                return;
            }
        }
    }

    fn sign(&mut self, is_negative: bool) {
        if is_negative {
            self.byte(b'-');
        }
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.from..]
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
    let mut digits = Digits::default();
    digits.push((out.len() - length_at - DIGITS - 1) as u64);
    let digits = digits.as_bytes();
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
            fields in prop::collection::vec((10_000_u32.., value()), 0..9),
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
