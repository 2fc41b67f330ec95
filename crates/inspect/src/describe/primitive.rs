//! Primitives and arrays.

use serde_json::Value;

use tapeline_rwf::{Array, DataType, Date, Encoded, Primitive, Qos, Real, State, Time};

use super::{Describe, Object, object, put, raw, typed};
use crate::InspectError;
use crate::names::{f32_text, f64_text, hex, latin1, printable, type_name};

impl Describe<'_> {
    /// A primitive of any type; the set-only forms are bytes here, since only
    /// a set definition may use them.
    pub(super) fn primitive(&mut self, data: &Encoded<'_>) -> Result<Value, InspectError> {
        let data_type = data.data_type();
        if data_type.base() != data_type {
            return Ok(raw(data_type, data.bytes()));
        }
        self.decoded(&data.primitive()?, data.bytes().len())
    }

    /// A set-defined value: its form is that of the definition, its value that
    /// of the base type.
    pub(super) fn set_value(&mut self, data: &Encoded<'_>) -> Result<Value, InspectError> {
        self.count()?;
        self.decoded(&data.primitive()?, data.bytes().len())
    }

    /// A decoded value and the length of its encoding.
    fn decoded(&mut self, value: &Primitive<'_>, len: usize) -> Result<Value, InspectError> {
        let data_type = value.data_type();
        let node = match *value {
            Primitive::Blank(data_type) => blank(data_type, len),
            Primitive::Int(v) => typed(data_type, [("v", v.to_string().into())]),
            Primitive::Uint(v) => typed(data_type, [("v", v.to_string().into())]),
            Primitive::Enum(v) => typed(data_type, [("v", v.into())]),
            Primitive::Float(v) => {
                let bits = format!("{:08x}", v.to_bits());
                typed(data_type, [("bits", bits.into()), ("v", f32_text(v).into())])
            }
            Primitive::Double(v) => {
                let bits = format!("{:016x}", v.to_bits());
                typed(data_type, [("bits", bits.into()), ("v", f64_text(v).into())])
            }
            Primitive::Real(real) => real_node(real),
            Primitive::Date(date) => with_date(typed(data_type, []), &date),
            Primitive::Time(time) => with_time(typed(data_type, [("len", len.into())]), &time),
            Primitive::DateTime(v) => {
                let node = typed(data_type, [("len", len.into())]);
                with_time(with_date(node, &v.date), &v.time)
            }
            Primitive::Qos(qos) => qos_node(&qos),
            Primitive::State(state) => state_node(&state),
            Primitive::Array(array) => return self.array(&array),
            Primitive::Buffer(bytes) => typed(data_type, [("hex", hex(bytes).into())]),
            Primitive::Ascii(bytes) | Primitive::Rmtes(bytes) => return Ok(raw(data_type, bytes)),
            Primitive::Utf8(bytes) => utf8_node(bytes),
            Primitive::Other(data_type, bytes) => return Ok(raw(data_type, bytes)),
        };
        Ok(node.into())
    }

    fn array(&mut self, array: &Array<'_>) -> Result<Value, InspectError> {
        let mut items = Vec::new();
        for item in array {
            let item = item?;
            self.count()?;
            // An array in an array would not be bounded by the depth.
            items.push(match item.data_type() {
                DataType::ARRAY => raw(DataType::ARRAY, item.bytes()),
                data_type if data_type.is_container() => raw(data_type, item.bytes()),
                _ => self.primitive(&item)?,
            });
        }
        let node = typed(
            DataType::ARRAY,
            [
                ("primitive", type_name(array.item_type()).into()),
                ("itemLength", array.item_len().into()),
                ("items", items.into()),
            ],
        );
        Ok(node.into())
    }
}

/// A blank; one of a date or time says how many bytes spell it out.
fn blank(data_type: DataType, len: usize) -> Object {
    let mut node = typed(data_type, [("blank", true.into())]);
    let may_be_spelled = matches!(data_type, DataType::DATE | DataType::TIME | DataType::DATETIME);
    put(&mut node, "len", (may_be_spelled && len > 0).then_some(len));
    node
}

fn real_node(real: Real) -> Object {
    let mut node = typed(DataType::REAL, [("hint", real.hint().code().into())]);
    put(&mut node, "v", real.hint().is_finite().then(|| real.mantissa().to_string()));
    node
}

fn with_date(mut node: Object, date: &Date) -> Object {
    let Date { day, month, year } = *date;
    node.extend(object([("day", day.into()), ("month", month.into()), ("year", year.into())]));
    node
}

fn with_time(mut node: Object, time: &Time) -> Object {
    node.extend(object([
        ("hour", time.hour.into()),
        ("minute", time.minute.into()),
        ("second", time.second.into()),
        ("ms", time.millisecond.into()),
        ("us", time.microsecond.into()),
        ("ns", time.nanosecond.into()),
    ]));
    node
}

pub(super) fn qos_node(qos: &Qos) -> Object {
    typed(
        DataType::QOS,
        [
            ("timeliness", qos.timeliness.0.into()),
            ("rate", qos.rate.0.into()),
            ("dynamic", qos.dynamic.into()),
            ("timeInfo", qos.time_info_s.into()),
            ("rateInfo", qos.rate_info_ms.into()),
        ],
    )
}

pub(super) fn state_node(state: &State<'_>) -> Object {
    typed(
        DataType::STATE,
        [
            ("stream", state.stream.0.into()),
            ("data", state.data.0.into()),
            ("code", state.code.0.into()),
            ("text", latin1(state.text).into()),
        ],
    )
}

/// UTF-8 has a text in any case, with U+FFFD where it is none.
fn utf8_node(bytes: &[u8]) -> Object {
    let text = printable(bytes).map_or_else(|| String::from_utf8_lossy(bytes), Into::into);
    typed(DataType::UTF8_STRING, [("hex", hex(bytes).into()), ("text", text.into())])
}
