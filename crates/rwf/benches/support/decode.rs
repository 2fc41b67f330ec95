//! Decoding as a consumer does it: every entry and every value, types from a
//! dictionary by field id. What is decoded goes into a sum, defined in the
//! README of the messages.

use tapeline_rwf::{
    DataType, DecodeError, Encoded, Map, Msg, MsgClass, MsgKey, MsgView, Primitive, RefreshMsg,
    SetDefs, UpdateMsg,
};

use super::load::{Fields, Message, Payload};

/// The message header alone: of an update as those who route it read it.
pub(super) fn header(bytes: &[u8]) -> Result<i64, DecodeError> {
    let view = MsgView::decode(bytes)?;
    let header = view.header();
    if header.class != MsgClass::Update {
        let (sum, payload) = split(bytes)?;
        return Ok(sum + i64::from(payload.offset()) + payload.bytes().len() as i64);
    }
    let payload = view.payload();
    let sum = i64::from(header.class.code())
        + i64::from(header.domain.0)
        + i64::from(header.stream_id)
        + i64::from(header.flags)
        + i64::from(header.container_type.0)
        + i64::from(payload.offset())
        + payload.bytes().len() as i64
        + view.update_type()?.map_or(0, |update_type| i64::from(update_type.0))
        + view.seq_num()?.map_or(0, i64::from);
    Ok(sum + view.key()?.as_ref().map_or(0, key_sum))
}

/// Decodes the header: its sum, and the payload.
#[inline]
fn split(bytes: &[u8]) -> Result<(i64, Encoded<'_>), DecodeError> {
    Ok(match Msg::decode(bytes)? {
        Msg::Update(update) => (update_sum(&update), update.payload),
        Msg::Refresh(refresh) => (refresh_sum(&refresh), refresh.payload),
        other => (0, other.payload()),
    })
}

/// How many field ids there are.
const FIELD_IDS: usize = 65_536;

/// The type of every field, by its id as an unsigned number.
pub(super) struct Decoder {
    types: Box<[DataType; FIELD_IDS]>,
}

impl Decoder {
    /// A decoder that knows the fields of the messages.
    pub(super) fn new(messages: &[Message]) -> Self {
        let types = vec![DataType::UNKNOWN; FIELD_IDS].try_into().expect("one type for each id");
        let mut decoder = Self { types };
        for message in messages {
            match &message.payload {
                Payload::FieldList { fields, .. } => decoder.learn(fields),
                Payload::Book(book) => {
                    decoder.learn(&book.summary);
                    book.rows.iter().for_each(|(_, fields)| decoder.learn(fields));
                }
            }
        }
        decoder
    }

    fn learn(&mut self, fields: &Fields) {
        for (id, value) in fields {
            self.types[*id as u16 as usize] = value.data_type();
        }
    }

    /// Header and all of the payload.
    pub(super) fn message(&self, bytes: &[u8]) -> Result<i64, DecodeError> {
        let (sum, payload) = split(bytes)?;
        let content = match payload.data_type() {
            DataType::MAP => self.map(&payload.map()?)?,
            _ => self.field_list(&payload, &SetDefs::NONE)?,
        };
        Ok(sum + content)
    }

    fn map(&self, map: &Map<'_>) -> Result<i64, DecodeError> {
        let set_defs = map.set_defs();
        let mut sum = i64::from(map.key_type().0) + i64::from(map.container_type().0);
        sum += map.key_field_id().map_or(0, i64::from);
        sum += map.total_count_hint().map_or(0, i64::from);
        if let Some(summary) = map.summary() {
            sum += self.field_list(&summary, &set_defs)?;
        }
        for entry in map {
            let entry = entry?;
            sum += i64::from(entry.action.0) + bytes_sum(entry.key.bytes());
            sum += self.field_list(&entry.data, &set_defs)?;
        }
        Ok(sum)
    }

    fn field_list(&self, data: &Encoded<'_>, set_defs: &SetDefs<'_>) -> Result<i64, DecodeError> {
        let list = data.field_list_with(set_defs)?;
        let mut sum = list
            .info()
            .map_or(0, |info| i64::from(info.dictionary_id) + i64::from(info.list_number));
        for entry in &list {
            let entry = entry?;
            let data_type = self.types[entry.field_id as u16 as usize];
            sum += i64::from(entry.field_id) + value_sum(&entry.primitive(data_type)?);
        }
        Ok(sum)
    }
}

#[inline]
fn update_sum(update: &UpdateMsg<'_>) -> i64 {
    i64::from(MsgClass::Update.code())
        + i64::from(update.domain.0)
        + i64::from(update.stream_id)
        + i64::from(update.flags.bits())
        + i64::from(update.payload.data_type().0)
        + i64::from(update.update_type.0)
        + update.seq_num.map_or(0, i64::from)
        + update.key.as_ref().map_or(0, key_sum)
}

#[inline]
fn refresh_sum(refresh: &RefreshMsg<'_>) -> i64 {
    let state = &refresh.state;
    i64::from(MsgClass::Refresh.code())
        + i64::from(refresh.domain.0)
        + i64::from(refresh.stream_id)
        + i64::from(refresh.flags.bits())
        + i64::from(refresh.payload.data_type().0)
        + i64::from(state.stream.0)
        + i64::from(state.data.0)
        + i64::from(state.code.0)
        + bytes_sum(state.text)
        + bytes_sum(refresh.group_id)
        + refresh.seq_num.map_or(0, i64::from)
        + refresh.perm_data.map_or(0, bytes_sum)
        + refresh.qos.map_or(0, |qos| i64::from(qos.timeliness.0) + i64::from(qos.rate.0))
        + refresh.key.as_ref().map_or(0, key_sum)
}

#[inline]
fn key_sum(key: &MsgKey<'_>) -> i64 {
    key.service_id.map_or(0, i64::from)
        + key.name.map_or(0, bytes_sum)
        + key.name_type.map_or(0, i64::from)
}

#[inline]
fn value_sum(value: &Primitive<'_>) -> i64 {
    match *value {
        Primitive::Real(real) => real.mantissa() + i64::from(real.hint().code()),
        Primitive::Enum(value) => i64::from(value),
        Primitive::Uint(value) => value as i64,
        Primitive::Time(time) => {
            i64::from(time.hour)
                + i64::from(time.minute)
                + i64::from(time.second)
                + i64::from(time.millisecond)
                + i64::from(time.microsecond)
                + i64::from(time.nanosecond)
        }
        Primitive::Date(date) => i64::from(date.day) + i64::from(date.month) + i64::from(date.year),
        Primitive::Rmtes(bytes) => bytes_sum(bytes),
        _ => 0,
    }
}

/// A byte string: its length and its first byte.
#[inline]
fn bytes_sum(bytes: &[u8]) -> i64 {
    bytes.first().map_or(0, |first| bytes.len() as i64 + i64::from(*first))
}
