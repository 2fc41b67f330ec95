//! The update that is measured with.
//!
//! ```text
//!                    field  type   bytes
//! head of the list                  3
//! TRDPRC_1               6  REAL    8
//! BID                   22  REAL    8
//! ASK                   25  REAL    8
//! ACVOL_1               32  REAL    8
//! BIDSIZE               30  REAL    6
//! ASKSIZE               31  REAL    6
//! RDN_EXCHID             4  ENUM    5
//! TIM_TRK_1           3902  UINT   11  when it was due, ns
//! TIM_TRK_2           3903  UINT   11  when it was sent, ns
//! ```
//!
//! 74 bytes of payload, as the published tests have them.

use tapeline_api::{UpdateHead, encode_update};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Domain, Primitive, Real, UpdateMsg};

/// Bytes of payload.
#[cfg(test)]
const PAYLOAD_BYTES: usize = 74;

const DUE_FIELD: i16 = 3902;
const SENT_FIELD: i16 = 3903;
const DUE_MARK: u64 = u64::from_be_bytes(*b"\xF1dueFLD\x01");
const SENT_MARK: u64 = u64::from_be_bytes(*b"\xF1sntFLD\x02");

/// The fields of an item, for its image also.
pub(crate) fn fields() -> [(i16, Primitive<'static>); 9] {
    [
        (6, Real::decimal(101_234_567, 4).into()),
        (22, Real::decimal(101_234_500, 4).into()),
        (25, Real::decimal(101_234_600, 4).into()),
        (32, Real::decimal(987_654_321, 0).into()),
        (30, Real::decimal(1_200, 0).into()),
        (31, Real::decimal(1_300, 0).into()),
        (4, Primitive::Enum(558)),
        (DUE_FIELD, Primitive::Uint(DUE_MARK)),
        (SENT_FIELD, Primitive::Uint(SENT_MARK)),
    ]
}

/// An encoded update with room for two times.
#[derive(Clone, Debug)]
pub(crate) struct Update {
    bytes: Vec<u8>,
    due_at: usize,
    sent_at: usize,
}

impl Update {
    pub(crate) fn new() -> Self {
        let mut bytes = Vec::new();
        let length = encode_update(&mut bytes, Domain::MARKET_PRICE, &UpdateHead::QUOTE, &fields())
            .expect("nine fields fit");
        bytes.truncate(length);
        let place = |mark: u64| {
            let mark = mark.to_be_bytes();
            bytes.windows(8).position(|window| window == mark).expect("it was encoded")
        };
        let (due_at, sent_at) = (place(DUE_MARK), place(SENT_MARK));
        Self { bytes, due_at, sent_at }
    }

    /// The update with its times, in nanoseconds.
    #[inline]
    pub(crate) fn stamped(&mut self, due_ns: u64, sent_ns: u64) -> &[u8] {
        self.bytes[self.due_at..self.due_at + 8].copy_from_slice(&due_ns.to_be_bytes());
        self.bytes[self.sent_at..self.sent_at + 8].copy_from_slice(&sent_ns.to_be_bytes());
        &self.bytes
    }

    /// Bytes of the message.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }
}

/// The times in an update.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times {
    pub(crate) due_ns: u64,
    pub(crate) sent_ns: u64,
}

/// Decodes every field of an update by its type in the dictionary. `None` when
/// one cannot be read or a time is missing.
#[inline]
pub(crate) fn decode(msg: &UpdateMsg<'_>, dictionary: &FieldDictionary) -> Option<Times> {
    let mut times = Times::default();
    for entry in &msg.payload.field_list().ok()? {
        let entry = entry.ok()?;
        let data_type = dictionary.field(entry.field_id).map_or(DataType::UINT, |def| def.rwf_type);
        let value = std::hint::black_box(entry.primitive(data_type).ok()?);
        match (entry.field_id, value) {
            (DUE_FIELD, Primitive::Uint(at)) => times.due_ns = at,
            (SENT_FIELD, Primitive::Uint(at)) => times.sent_ns = at,
            _ => {}
        }
    }
    (times.due_ns > 0 && times.sent_ns > 0).then_some(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{Msg, MsgHeader};

    #[test]
    fn it_is_as_long_as_the_published_tests_have_it() {
        let update = Update::new();
        let header = MsgHeader::decode(&update.bytes).unwrap();
        assert_eq!(update.len() - header.payload_start, PAYLOAD_BYTES);
    }

    #[test]
    fn its_times_are_found_again() {
        let mut update = Update::new();
        for times in [(1, 2), (u64::MAX, 77), (15_000_000_000_000, 15_000_000_000_123)] {
            let Ok(Msg::Update(msg)) = Msg::decode(update.stamped(times.0, times.1)) else {
                panic!("an update");
            };
            let found = decode(&msg, FieldDictionary::builtin());
            assert_eq!(found, Some(Times { due_ns: times.0, sent_ns: times.1 }));
        }
    }
}
