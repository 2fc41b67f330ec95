//! Primitives and arrays.

use tapeline_rwf::{
    DataType, Date, DateTime, Encoded, Primitive, Qos, Rate, Real, RealHint, State, StateCode,
    StreamState, Time, Timeliness,
};

use super::{Node, encoded, optional};
use crate::names::type_name;
use crate::{BuildError, BuildErrorKind};

/// Where a value goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Setting {
    /// Behind a length: `len` tells how a date or time is spelled.
    OwnLength,
    /// Into a place of a fixed size, which alone tells how it is spelled.
    FixedSize,
}

/// The bytes of a primitive of any type.
pub(super) fn bytes(node: &Node<'_, '_>, data_type: DataType) -> Result<Vec<u8>, BuildError> {
    let mut scratch = Vec::new();
    let value = read(node, Setting::OwnLength, &mut scratch)?;
    encoded(node, data_type, 64, |slot| node.checked(slot.primitive(value)))
}

/// A primitive, its bytes in `scratch` where it has any.
pub(super) fn read<'s>(
    node: &Node<'_, '_>,
    setting: Setting,
    scratch: &'s mut Vec<u8>,
) -> Result<Primitive<'s>, BuildError> {
    let data_type = node.required("type")?.data_type()?;
    if node.has_mark("blank")? {
        return blank(node, data_type, setting, scratch);
    }
    Ok(match data_type {
        DataType::INT => Primitive::Int(node.required("v")?.integer()?),
        DataType::UINT => Primitive::Uint(node.required("v")?.integer()?),
        DataType::ENUM => Primitive::Enum(node.required("v")?.integer()?),
        DataType::FLOAT => Primitive::Float(f32::from_be_bytes(bits(node)?)),
        DataType::DOUBLE => Primitive::Double(f64::from_be_bytes(bits(node)?)),
        DataType::REAL => Primitive::Real(real(node)?),
        DataType::DATE => Primitive::Date(date(node)?),
        DataType::TIME => {
            let time = time(node)?;
            match spelled_len(node, setting)? {
                None => Primitive::Time(time),
                Some(len) => {
                    *scratch = spelled_time(&time, len);
                    let read = Encoded::new(data_type, scratch).time();
                    check_spelling(node, data_type, len, read == Ok(Some(time)))?;
                    Primitive::Other(data_type, scratch)
                }
            }
        }
        DataType::DATETIME => {
            let value = DateTime::new(date(node)?, time(node)?);
            match spelled_len(node, setting)? {
                None => Primitive::DateTime(value),
                Some(len) => {
                    *scratch = spelled_date(value.date);
                    scratch.extend(spelled_time(&value.time, len.saturating_sub(4)));
                    let read = Encoded::new(data_type, scratch).date_time();
                    check_spelling(node, data_type, len, read == Ok(Some(value)))?;
                    Primitive::Other(data_type, scratch)
                }
            }
        }
        DataType::QOS => Primitive::Qos(qos(node)?),
        DataType::STATE => Primitive::State(state(node, scratch)?),
        DataType::ARRAY => {
            *scratch = array(node)?;
            Primitive::Other(data_type, scratch)
        }
        _ => {
            *scratch = node.required("hex")?.hex()?;
            string(data_type, scratch)
        }
    })
}

fn string(data_type: DataType, bytes: &[u8]) -> Primitive<'_> {
    match data_type {
        DataType::BUFFER => Primitive::Buffer(bytes),
        DataType::ASCII_STRING => Primitive::Ascii(bytes),
        DataType::UTF8_STRING => Primitive::Utf8(bytes),
        DataType::RMTES_STRING => Primitive::Rmtes(bytes),
        other => Primitive::Other(other, bytes),
    }
}

/// A blank: zero bytes, or a date or time that is spelled out as one.
fn blank<'s>(
    node: &Node<'_, '_>,
    data_type: DataType,
    setting: Setting,
    scratch: &'s mut Vec<u8>,
) -> Result<Primitive<'s>, BuildError> {
    let len = match spelled_len(node, setting)? {
        None | Some(0) => return Ok(Primitive::Blank(data_type)),
        Some(len) => len,
    };
    *scratch = match data_type {
        DataType::DATE => spelled_date(Date::default()),
        DataType::TIME => spelled_time(&Time::BLANK, len),
        _ => {
            let mut bytes = spelled_date(Date::default());
            bytes.extend(spelled_time(&Time::BLANK, len.saturating_sub(4)));
            bytes
        }
    };
    let is_blank = Encoded::new(data_type, scratch).primitive() == Ok(Primitive::Blank(data_type));
    check_spelling(node, data_type, len, is_blank && scratch.len() == len)?;
    Ok(Primitive::Other(data_type, scratch))
}

/// The `len` of a date or time, where it counts.
fn spelled_len(node: &Node<'_, '_>, setting: Setting) -> Result<Option<usize>, BuildError> {
    if setting == Setting::FixedSize {
        return Ok(None);
    }
    let len: Option<u8> = optional!(node, "len", integer);
    Ok(len.map(usize::from))
}

fn check_spelling(
    node: &Node<'_, '_>,
    data_type: DataType,
    len: usize,
    is_same: bool,
) -> Result<(), BuildError> {
    if is_same {
        return Ok(());
    }
    let data_type = type_name(data_type);
    Err(node.error(BuildErrorKind::Length { data_type, len: len as u64 }))
}

fn spelled_date(date: Date) -> Vec<u8> {
    let [high, low] = date.year.to_be_bytes();
    vec![date.day, date.month, high, low]
}

/// A time in so many bytes, whether they hold all of it or not.
fn spelled_time(time: &Time, len: usize) -> Vec<u8> {
    let mut bytes = vec![time.hour, time.minute, time.second];
    bytes.extend(time.millisecond.to_be_bytes());
    if len == 8 {
        let high_bits = (time.nanosecond >> 8 & 0x07) << 11;
        bytes.extend((high_bits | time.microsecond).to_be_bytes());
        bytes.push(time.nanosecond as u8);
    } else {
        bytes.extend(time.microsecond.to_be_bytes());
    }
    bytes.truncate(len);
    bytes
}

/// The bits of a floating point number, which are exact where `v` is not.
fn bits<const N: usize>(node: &Node<'_, '_>) -> Result<[u8; N], BuildError> {
    let node = node.required("bits")?;
    let bytes = node.hex()?;
    <[u8; N]>::try_from(bytes.as_slice()).map_err(|_| {
        let data_type = if N == 4 { "FLOAT" } else { "DOUBLE" }.to_owned();
        node.error(BuildErrorKind::Length { data_type, len: bytes.len() as u64 })
    })
}

fn real(node: &Node<'_, '_>) -> Result<Real, BuildError> {
    let hint_node = node.required("hint")?;
    let code = hint_node.up_to(35)?;
    let Some(hint) = RealHint::new(code) else {
        let found = code.to_string();
        return Err(hint_node.error(BuildErrorKind::Range { found, min: 0, max: 30 }));
    };
    let mantissa = if hint.is_finite() { node.required("v")?.integer()? } else { 0 };
    Ok(Real::new(mantissa, hint))
}

fn date(node: &Node<'_, '_>) -> Result<Date, BuildError> {
    Ok(Date {
        day: node.required("day")?.integer()?,
        month: node.required("month")?.integer()?,
        year: node.required("year")?.integer()?,
    })
}

fn time(node: &Node<'_, '_>) -> Result<Time, BuildError> {
    Ok(Time {
        hour: node.required("hour")?.integer()?,
        minute: node.required("minute")?.integer()?,
        second: node.required("second")?.integer()?,
        millisecond: node.required("ms")?.integer()?,
        microsecond: node.required("us")?.integer()?,
        nanosecond: node.required("ns")?.integer()?,
    })
}

pub(super) fn qos(node: &Node<'_, '_>) -> Result<Qos, BuildError> {
    let timeliness = Timeliness(node.required("timeliness")?.up_to(7)?);
    let rate = Rate(node.required("rate")?.up_to(15)?);
    // An info that its code does not put on the wire would be lost.
    let info = |key, is_on_wire: bool| match node.optional(key) {
        Some(info) if is_on_wire => info.integer(),
        Some(info) => info.up_to(0).map(u16::from),
        None => Ok(0),
    };
    Ok(Qos {
        timeliness,
        rate,
        dynamic: node.required("dynamic")?.boolean()?,
        time_info_s: info("timeInfo", timeliness.0 > 2)?,
        rate_info_ms: info("rateInfo", rate.0 > 2)?,
    })
}

pub(super) fn state<'s>(
    node: &Node<'_, '_>,
    text: &'s mut Vec<u8>,
) -> Result<State<'s>, BuildError> {
    *text = node.required("text")?.latin1()?;
    Ok(State {
        stream: StreamState(node.required("stream")?.up_to(31)?),
        data: tapeline_rwf::DataState(node.required("data")?.up_to(7)?),
        code: StateCode(node.required("code")?.integer()?),
        text,
    })
}

fn array(node: &Node<'_, '_>) -> Result<Vec<u8>, BuildError> {
    let type_node = node.required("primitive")?;
    let item_type = type_node.data_type()?;
    let item_len: u16 = node.required("itemLength")?.integer()?;
    let items = node.required("items")?;
    let setting = if item_len == 0 { Setting::OwnLength } else { Setting::FixedSize };
    let room = 64 + items.items()?.len() * (usize::from(item_len).max(16));
    encoded(node, DataType::ARRAY, room, |slot| {
        let mut array = type_node.checked(slot.array(item_type, item_len))?;
        for item in items.items()? {
            item.expect_type(item_type, item.required("type")?.data_type()?)?;
            let mut scratch = Vec::new();
            let value = read(&item, setting, &mut scratch)?;
            item.checked(array.put(value))?;
        }
        node.checked(array.finish())
    })
}
