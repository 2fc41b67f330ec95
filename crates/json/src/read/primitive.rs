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
