//! Primitives as text.

use tapeline_rwf::{DataType, Encoded, PostUserInfo, Primitive, Qos, State, rmtes};

use super::{Ink, MAX_HEX_BYTES, Print, Printed};
use crate::names::{f32_text, f64_text, hex, latin1};

/// Array items that are shown at most.
const MAX_ITEMS: usize = 64;

impl Print<'_> {
    /// Ends a line with a primitive; `field_id` tells its enumeration.
    pub(super) fn primitive_line(&mut self, data: &Encoded<'_>, field_id: Option<i16>) -> Printed {
        let value = data.primitive()?;
        match value {
            Primitive::Blank(_) => self.ink(Ink::Aside, "(blank)"),
            Primitive::Enum(number) => {
                self.ink(Ink::Value, number);
                let display = field_id.and_then(|fid| self.fields.enum_display(fid, number));
                if let Some(display) = display {
                    self.piece(Ink::Value, quoted(&rmtes_text(display)));
                }
            }
            other => {
                let text = primitive_text(&other)?;
                self.ink(Ink::Value, text);
            }
        }
        self.end_line();
        Ok(())
    }
}

/// A value on one line.
pub(super) fn primitive_text(value: &Primitive<'_>) -> Result<String, tapeline_rwf::DecodeError> {
    Ok(match *value {
        Primitive::Blank(_) => "(blank)".to_owned(),
        Primitive::Int(v) => v.to_string(),
        Primitive::Uint(v) => v.to_string(),
        Primitive::Enum(v) => v.to_string(),
        Primitive::Float(v) => f32_text(v),
        Primitive::Double(v) => f64_text(v),
        Primitive::Real(v) => v.to_string(),
        Primitive::Date(v) => v.to_string(),
        Primitive::Time(v) => v.to_string(),
        Primitive::DateTime(v) if v.date.is_blank() => v.time.to_string(),
        Primitive::DateTime(v) if v.time.is_blank() => v.date.to_string(),
        Primitive::DateTime(v) => v.to_string(),
        Primitive::Qos(v) => qos_text(&v),
        Primitive::State(v) => state_text(&v),
        Primitive::Array(array) => {
            let mut items = Vec::new();
            for item in array.iter().take(MAX_ITEMS) {
                let item = item?;
                items.push(match item.data_type() {
                    DataType::ARRAY => hex(item.bytes()),
                    _ => primitive_text(&item.primitive()?)?,
                });
            }
            if array.len() > MAX_ITEMS {
                items.push(format!("… {} in all", array.len()));
            }
            format!("[{}]", items.join(", "))
        }
        Primitive::Buffer(bytes) | Primitive::Other(_, bytes) => bytes_or_text(bytes),
        Primitive::Ascii(bytes) => quoted(&latin1(bytes)),
        Primitive::Utf8(bytes) => quoted(&String::from_utf8_lossy(bytes)),
        Primitive::Rmtes(bytes) => quoted(&rmtes_text(bytes)),
    })
}

/// RMTES as Unicode; an update of a part of a value, or what is no RMTES at
/// all, byte by byte.
fn rmtes_text(bytes: &[u8]) -> String {
    let mut text = String::new();
    match rmtes::decode_into(bytes, &mut text) {
        Ok(()) => text,
        Err(_) => latin1(bytes),
    }
}

/// A text in quotes, so that its blanks and control characters show.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.extend(c.escape_default()),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The start of bytes in hexadecimal.
pub(super) fn short_hex(bytes: &[u8]) -> String {
    if bytes.len() <= MAX_HEX_BYTES {
        return hex(bytes);
    }
    format!("{}… {} bytes", hex(&bytes[..MAX_HEX_BYTES]), bytes.len())
}

/// Bytes of no known form: a text if they are one.
pub(super) fn bytes_or_text(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && !text.contains(|c: char| c.is_control() && c != '\n') => {
            quoted(text)
        }
        _ => short_hex(bytes),
    }
}

pub(super) fn qos_text(qos: &Qos) -> String {
    let delay = (qos.time_info_s != 0).then(|| format!("delay {} s", qos.time_info_s));
    let interval = (qos.rate_info_ms != 0).then(|| format!("every {} ms", qos.rate_info_ms));
    let dynamic = qos.dynamic.then(|| "dynamic".to_owned());
    let mut words = vec![qos.timeliness.to_string(), qos.rate.to_string()];
    words.extend([delay, interval, dynamic].into_iter().flatten());
    words.join(" ")
}

pub(super) fn state_text(state: &State<'_>) -> String {
    let text = quoted(&state.text_lossy());
    format!("{} {} {} {text}", state.stream, state.data, state.code)
}

/// The address as IPv4, which it is by custom.
pub(super) fn user_text(info: PostUserInfo) -> String {
    let [a, b, c, d] = info.address.to_be_bytes();
    format!("{a}.{b}.{c}.{d} id {}", info.user_id)
}
