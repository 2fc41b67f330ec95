//! Values of fields, elements, arrays and map keys.

use std::str::FromStr;

use tapeline_rwf::{DataType, Primitive, Real, Slot};

use super::code::{int, int_member, wrong_kind};
use super::object::{Member, Object, object};
use super::text::{ascii_bytes, base64, rmtes_bytes, string};
use super::{Outcome, Reader, Refusal, number, shortened, time};
use crate::error::{Fault, TokenKind};
use crate::names;
use crate::tape::{Kind, Value};
use crate::write::text::is_plain_ascii;

/// What a value belongs to.
#[derive(Clone, Copy)]
pub(super) struct Place<'k> {
    /// The key, for errors.
    pub(super) key: &'k str,
    /// The field, for enumerations.
    pub(super) field_id: Option<i16>,
}

/// Gives a value that is as most of its type are to `put`: a short number, plain
/// text, the usual form of a time. None for all others, right or wrong: those
/// are left to [`Reader::primitive`].
///
/// `put` is called in many places so that none of them has to look at what kind
/// of value it was given, which besides would have to go through memory.
#[inline]
pub(super) fn put_usual<T>(
    value: &Value<'_>,
    data_type: DataType,
    put: impl FnOnce(Primitive<'_>) -> T,
) -> Option<T> {
    Some(match (value.kind(), data_type) {
        (Kind::Number, DataType::REAL) => {
            put(Primitive::Real(number::short(value.short_number()?)?))
        }
        (Kind::Number, DataType::UINT) => put(Primitive::Uint(value.short_uint()?)),
        (Kind::Number, DataType::ENUM) => {
            put(Primitive::Enum(value.short_uint()?.try_into().ok()?))
        }
        (Kind::Number, DataType::INT) => put(Primitive::Int(value.short_uint()?.try_into().ok()?)),
        (Kind::String, DataType::RMTES_STRING) => put(Primitive::Rmtes(usual_text(value)?)),
        (Kind::String, DataType::ASCII_STRING) => put(Primitive::Ascii(usual_text(value)?)),
        (Kind::String, DataType::TIME) => put(Primitive::Time(time::usual_time(value.plain()?)?)),
        (Kind::String, DataType::DATE) => put(Primitive::Date(time::usual_date(value.plain()?)?)),
        _ => return None,
    })
}

/// Text without escapes that is the same in all encodings. Without any it would
/// be a blank.
#[inline]
fn usual_text<'t>(value: &Value<'t>) -> Option<&'t [u8]> {
    value.plain().filter(|text| !text.is_empty() && is_plain_ascii(text))
}

impl Reader<'_> {
    /// Gives a value of a primitive type, which may be blank, to `put`.
    pub(super) fn primitive(
        &self,
        value: Value<'_>,
        data_type: DataType,
        place: Place<'_>,
        put: &mut dyn FnMut(Primitive<'_>) -> Outcome,
    ) -> Outcome {
        let key = place.key;
        let is_empty_string = value.kind() == Kind::String && value.raw().is_empty();
        if value.is_null() || is_empty_string {
            return put(Primitive::Blank(data_type));
        }
        match data_type {
            DataType::INT => put(Primitive::Int(int(value, key)?)),
            DataType::UINT => put(Primitive::Uint(int(value, key)?)),
            DataType::REAL => put(Primitive::Real(real(value, key)?)),
            DataType::FLOAT => put(Primitive::Float(float(value, key)?)),
            DataType::DOUBLE => put(Primitive::Double(float(value, key)?)),
            DataType::ENUM => put(self.enumeration(value, place)?),
            DataType::DATE => put(Primitive::Date(from_string(value, key, time::date)?)),
            DataType::TIME => put(Primitive::Time(from_string(value, key, time::time)?)),
            DataType::DATETIME => {
                put(Primitive::DateTime(from_string(value, key, time::date_time)?))
            }
            DataType::QOS => put(Primitive::Qos(self.qos(value, key)?)),
            DataType::STATE => put(Primitive::State(self.state(value, key)?.as_state())),
            DataType::BUFFER => put(Primitive::Buffer(&base64(value, key, self.spare)?)),
            DataType::ASCII_STRING => put(Primitive::Ascii(&ascii_bytes(&string(value, key)?))),
            DataType::UTF8_STRING => put(Primitive::Utf8(string(value, key)?.as_bytes())),
            DataType::RMTES_STRING => put(Primitive::Rmtes(&rmtes_bytes(&string(value, key)?))),
            _ => Err(Refusal::at(&value, Fault::InvalidPrimitive { name: shortened(key) })),
        }
    }

    fn enumeration<'p>(
        &self,
        value: Value<'_>,
        place: Place<'_>,
    ) -> Result<Primitive<'p>, Refusal> {
        let Some(display) = value.string() else {
            return Ok(Primitive::Enum(int(value, place.key)?));
        };
        let number = match place.field_id {
            Some(fid) if self.options.allow_enum_displays => self.vocabulary.number(fid, &display),
            _ => None,
        };
        Ok(number.map_or(Primitive::Blank(DataType::ENUM), Primitive::Enum))
    }

    /// `{"Type":..,"Length":..,"Data":[..]}`, or null for a blank one.
    pub(super) fn array(&self, value: Value<'_>, key: &str, slot: Slot<'_, '_>) -> Outcome {
        if value.is_null() {
            return Ok(slot.empty()?);
        }
        let array = Object::new(object(value, key)?);
        self.check_members(&array, |member| {
            matches!(member, Member::Type | Member::Length | Member::Data)
        })?;
        let name = array.required(Member::Type, Some("Array"))?;
        let item_type = primitive_type(name)?;
        if item_type == DataType::ARRAY {
            return Err(invalid_primitive(name));
        }
        let data = array.required(Member::Data, Some("Array"))?;
        if data.kind() != Kind::Array {
            return Err(wrong_kind(&data, "Data", TokenKind::Array));
        }
        check_one_kind(data, item_type)?;
        let item_len = int_member(&array, Member::Length)?.unwrap_or(0);
        let mut items = slot.array(item_type, item_len)?;
        for item in data.items() {
            if let Some(written) = put_usual(&item, item_type, |item| items.put(item)) {
                written?;
                continue;
            }
            let place = Place { key: "Data", field_id: None };
            self.primitive(item, item_type, place, &mut |value| Ok(items.put(value)?))?;
        }
        Ok(items.finish()?)
    }
}

/// Items are of one kind in JSON, apart from those that are blank and from
/// numbers that are none.
fn check_one_kind(items: Value<'_>, item_type: DataType) -> Outcome {
    let may_be_none = matches!(item_type, DataType::REAL | DataType::FLOAT | DataType::DOUBLE);
    let counts = |item: &Value<'_>| {
        !(item.is_null() || may_be_none && matches!(item.raw(), "Inf" | "-Inf" | "NaN"))
    };
    let mut kinds = items.items().filter(counts);
    let Some(first) = kinds.next().map(|item| TokenKind::from(item.kind())) else { return Ok(()) };
    match kinds.find(|item| TokenKind::from(item.kind()) != first) {
        None => Ok(()),
        Some(item) => {
            let other = item.kind().into();
            Err(Refusal::at(&item, Fault::MixedArray { first, other }))
        }
    }
}

fn invalid_primitive(name: Value<'_>) -> Refusal {
    Refusal::at(&name, Fault::InvalidPrimitive { name: shortened(name.raw()) })
}

/// The primitive type of a name.
pub(super) fn primitive_type(name: Value<'_>) -> Result<DataType, Refusal> {
    let code = name.string().and_then(|name| names::data_type::code(&name)).map(DataType);
    code.filter(|code| code.is_primitive()).ok_or_else(|| invalid_primitive(name))
}

fn from_string<T>(
    value: Value<'_>,
    key: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, Refusal> {
    read(&string(value, key)?).ok_or_else(|| Refusal::unexpected(&value, key))
}

fn real(value: Value<'_>, key: &str) -> Result<Real, Refusal> {
    let real = match (value.kind(), value.raw()) {
        (Kind::Number, _) => number::real(&value),
        (Kind::String, "Inf") => Some(Real::INFINITY),
        (Kind::String, "-Inf") => Some(Real::NEG_INFINITY),
        (Kind::String, "NaN") => Some(Real::NAN),
        (Kind::String, _) => None,
        _ => return Err(wrong_kind(&value, key, TokenKind::Primitive)),
    };
    real.ok_or_else(|| Refusal::unexpected(&value, key))
}

/// A number of the nearest value; one so large that this is infinite is refused.
fn float<F: Float>(value: Value<'_>, key: &str) -> Result<F, Refusal> {
    let float = match (value.kind(), value.raw()) {
        (Kind::Number, digits) => digits.parse().ok().filter(|number: &F| number.is_finite()),
        (Kind::String, "Inf") => Some(F::INFINITY),
        (Kind::String, "-Inf") => Some(F::NEG_INFINITY),
        (Kind::String, "NaN") => Some(F::NAN),
        (Kind::String, _) => None,
        _ => return Err(wrong_kind(&value, key, TokenKind::Primitive)),
    };
    float.ok_or_else(|| Refusal::unexpected(&value, key))
}

/// What the two sizes have in common. A number of four bytes is read as such:
/// by way of eight it would be rounded twice.
trait Float: FromStr {
    const INFINITY: Self;
    const NEG_INFINITY: Self;
    const NAN: Self;

    fn is_finite(&self) -> bool;
}

macro_rules! float {
    ($($float:ident)*) => {$(
        impl Float for $float {
            const INFINITY: Self = $float::INFINITY;
            const NEG_INFINITY: Self = $float::NEG_INFINITY;
            const NAN: Self = $float::NAN;

            fn is_finite(&self) -> bool {
                (*self).is_finite()
            }
        }
    )*};
}

float!(f32 f64);

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tapeline_omm::dictionary::FieldDictionary;
    use tapeline_rwf::{EncodeError, Encoder};

    use super::*;
    use crate::read::spare::Spare;
    use crate::tape::Tape;
    use crate::{NoServices, Options, Vocabulary};

    fn encoded(value: Primitive<'_>, data_type: DataType) -> Result<Vec<u8>, EncodeError> {
        let mut buffer = [0; 256];
        let mut encoder = Encoder::new(&mut buffer);
        encoder.container(data_type).primitive(value)?;
        Ok(encoder.finish_bytes()?.to_vec())
    }

    /// What [`put_usual`] makes of a text, if it does, and what
    /// [`Reader::primitive`] makes of it.
    fn both_ways(text: &str, data_type: DataType) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
        let mut tape = Tape::default();
        let document = tape.parse(text, 8).expect("JSON");
        let usual = put_usual(&document.root(), data_type, |value| encoded(value, data_type));
        let dictionary = FieldDictionary::parse(b"", b"").expect("a dictionary");
        let vocabulary = Arc::new(Vocabulary::new(&dictionary));
        let reader = Reader {
            vocabulary: &vocabulary,
            options: &Options::default(),
            services: &NoServices,
            spare: &Spare::default(),
            is_in_attributes: false,
        };
        let mut bytes = None;
        let mut put = |value: Primitive<'_>| {
            bytes = Some(encoded(value, data_type)?);
            Ok(())
        };
        let place = Place { key: "Data", field_id: None };
        let outcome = reader.primitive(document.root(), data_type, place, &mut put);
        assert_eq!(outcome.is_ok(), bytes.is_some(), "{text} {data_type:?}");
        (usual.map(|usual| usual.expect("it fits")), bytes)
    }

    const TYPES: [DataType; 8] = [
        DataType::INT,
        DataType::UINT,
        DataType::REAL,
        DataType::ENUM,
        DataType::DATE,
        DataType::TIME,
        DataType::ASCII_STRING,
        DataType::RMTES_STRING,
    ];

    #[test]
    fn what_is_usual_is_what_any_value_is() {
        let numbers = [
            "0",
            "-0",
            "7",
            "007",
            "-7",
            "255",
            "256",
            "65535",
            "65536",
            "-65536",
            "1.5",
            "-1.50",
            "0.00",
            "1e3",
            "12345678",
            "1763823600123456789",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775809",
            "9999999999999999999",
            "18446744073709551615",
            "18446744073709551616",
            "0.00000000000001",
            "0.000000000000001",
            "123456789.0123456789",
        ];
        let strings = [
            "",
            " ",
            "a",
            "plain text",
            "longer than eight bytes",
            "\u{7f}",
            "a\u{7f}b",
            "\u{e9}",
            "Zürich",
            "\u{20ac}",
            "\\u0041",
            "a\\n",
            "Inf",
            "-Inf",
            "NaN",
            "7",
            "2026-11-22",
            "2026-02-29",
            "2026-13-01",
            "0000-00-00",
            "2026-11-22T01:02:03",
            "01:02",
            "01:02:03",
            "01:02:03.4",
            "01:02:03.456",
            "01:02:03.456789",
            "01:02:03.456789012",
            "24:00:00",
            "01:60:00",
            "01:02:60",
            "01:02:61",
            "1:2:3",
        ]
        .map(|string| format!("\"{string}\""));
        let others = ["null", "true", "{}", "[]"].map(str::to_owned);
        let texts = numbers.map(str::to_owned).into_iter().chain(strings).chain(others);
        let mut usual_by_type = TYPES.map(|_| 0);
        for text in texts {
            for (count, data_type) in usual_by_type.iter_mut().zip(TYPES) {
                let (usual, any) = both_ways(&text, data_type);
                if usual.is_some() {
                    assert_eq!(usual, any, "{text} {data_type:?}");
                    *count += 1;
                }
            }
        }
        assert!(usual_by_type.iter().all(|count| *count > 0), "{usual_by_type:?}");
    }

    #[test]
    fn common_values_are_usual() {
        for (text, data_type, is_usual) in [
            ("1763823600123456789", DataType::INT, true),
            ("1763823600123456789", DataType::UINT, true),
            ("1763823600123456789", DataType::REAL, true),
            ("9223372036854775808", DataType::INT, false),
            ("65535", DataType::ENUM, true),
            ("65536", DataType::ENUM, false),
            ("-45.50", DataType::REAL, true),
            ("\"text\"", DataType::RMTES_STRING, true),
            ("\"\"", DataType::RMTES_STRING, false),
            ("\"\u{e9}\"", DataType::RMTES_STRING, false),
            ("\"2026-11-22\"", DataType::DATE, true),
            ("\"01:02:03\"", DataType::TIME, true),
        ] {
            assert_eq!(both_ways(text, data_type).0.is_some(), is_usual, "{text} {data_type:?}");
        }
    }
}
