//! Primitives: values without a length of their own. The length comes from
//! outside (field entry, element entry, map key, array item, set data), and
//! length zero is a blank for every type.

pub(crate) mod array;
pub(crate) mod int;
pub(crate) mod qos;
pub(crate) mod real;
pub(crate) mod state;
pub(crate) mod time;

use crate::error::DecodeError;
use crate::{Array, DataType, Date, DateTime, Encoded, Qos, Real, State, Time};

/// A value of any primitive type.
///
/// Decoding borrows strings and arrays from the input. For encoding, most
/// plain Rust values convert into it, so that `list.put(22, Real::new(..))` and
/// `elements.put("Port", 14002_u64)` work as they stand; strings have to say
/// which of the four kinds they are, as in `Primitive::ascii("TRI.N")`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Primitive<'a> {
    /// No value, of a type.
    Blank(DataType),
    /// `INT`.
    Int(i64),
    /// `UINT`.
    Uint(u64),
    /// `FLOAT`.
    Float(f32),
    /// `DOUBLE`.
    Double(f64),
    /// `REAL`.
    Real(Real),
    /// `DATE`.
    Date(Date),
    /// `TIME`.
    Time(Time),
    /// `DATETIME`.
    DateTime(DateTime),
    /// `QOS`.
    Qos(Qos),
    /// `STATE`.
    State(State<'a>),
    /// `ENUM`.
    Enum(u16),
    /// `ARRAY`.
    Array(Array<'a>),
    /// `BUFFER`.
    Buffer(&'a [u8]),
    /// `ASCII_STRING`; 7-bit by promise, not checked.
    Ascii(&'a [u8]),
    /// `UTF8_STRING`; not checked.
    Utf8(&'a [u8]),
    /// `RMTES_STRING`; see [`rmtes`](crate::rmtes) for its text.
    Rmtes(&'a [u8]),
    /// Bytes of a type that is no known primitive.
    Other(DataType, &'a [u8]),
}

impl<'a> Primitive<'a> {
    /// An `ASCII_STRING`.
    pub const fn ascii(text: &'a str) -> Self {
        Self::Ascii(text.as_bytes())
    }

    /// A `UTF8_STRING`.
    pub const fn utf8(text: &'a str) -> Self {
        Self::Utf8(text.as_bytes())
    }

    /// An `RMTES_STRING` of plain ASCII text.
    pub const fn rmtes(text: &'a str) -> Self {
        Self::Rmtes(text.as_bytes())
    }

    /// The type of the value.
    #[inline]
    pub const fn data_type(&self) -> DataType {
        match self {
            Self::Blank(data_type) | Self::Other(data_type, _) => *data_type,
            Self::Int(_) => DataType::INT,
            Self::Uint(_) => DataType::UINT,
            Self::Float(_) => DataType::FLOAT,
            Self::Double(_) => DataType::DOUBLE,
            Self::Real(_) => DataType::REAL,
            Self::Date(_) => DataType::DATE,
            Self::Time(_) => DataType::TIME,
            Self::DateTime(_) => DataType::DATETIME,
            Self::Qos(_) => DataType::QOS,
            Self::State(_) => DataType::STATE,
            Self::Enum(_) => DataType::ENUM,
            Self::Array(_) => DataType::ARRAY,
            Self::Buffer(_) => DataType::BUFFER,
            Self::Ascii(_) => DataType::ASCII_STRING,
            Self::Utf8(_) => DataType::UTF8_STRING,
            Self::Rmtes(_) => DataType::RMTES_STRING,
        }
    }

    /// Decodes data by its type.
    #[inline]
    pub(crate) fn decode(data: &Encoded<'a>) -> Result<Self, DecodeError> {
        macro_rules! or_blank {
            ($decode:expr, $variant:expr) => {
                match $decode? {
                    Some(value) => $variant(value),
                    None => Self::Blank(data.data_type().base()),
                }
            };
        }
        // One match over all codes, the set-only ones included, is one jump.
        Ok(match data.data_type() {
            DataType::REAL | DataType::REAL_4RB | DataType::REAL_8RB => {
                or_blank!(Real::decode(data), Self::Real)
            }
            DataType::UINT
            | DataType::UINT_1
            | DataType::UINT_2
            | DataType::UINT_4
            | DataType::UINT_8 => or_blank!(int::decode_unsigned(data), Self::Uint),
            DataType::ENUM => or_blank!(int::decode_enum(data), Self::Enum),
            DataType::INT
            | DataType::INT_1
            | DataType::INT_2
            | DataType::INT_4
            | DataType::INT_8 => or_blank!(int::decode_signed(data), Self::Int),
            DataType::FLOAT | DataType::FLOAT_4 => {
                or_blank!(int::decode_float(data), Self::Float)
            }
            DataType::DOUBLE | DataType::DOUBLE_8 => {
                or_blank!(int::decode_double(data), Self::Double)
            }
            DataType::DATE | DataType::DATE_4 => or_blank!(Date::decode(data), Self::Date),
            DataType::TIME
            | DataType::TIME_3
            | DataType::TIME_5
            | DataType::TIME_7
            | DataType::TIME_8 => or_blank!(Time::decode(data), Self::Time),
            DataType::DATETIME
            | DataType::DATETIME_7
            | DataType::DATETIME_9
            | DataType::DATETIME_11
            | DataType::DATETIME_12 => or_blank!(DateTime::decode(&{ *data }), Self::DateTime),
            DataType::QOS => or_blank!(Qos::decode(&{ *data }), Self::Qos),
            DataType::STATE => or_blank!(State::decode(&{ *data }), Self::State),
            DataType::ARRAY => or_blank!(Array::decode(data), Self::Array),
            other if data.bytes.is_empty() => Self::Blank(other),
            DataType::RMTES_STRING => Self::Rmtes(data.bytes),
            DataType::ASCII_STRING => Self::Ascii(data.bytes),
            DataType::UTF8_STRING => Self::Utf8(data.bytes),
            DataType::BUFFER => Self::Buffer(data.bytes),
            other => Self::Other(other, data.bytes),
        })
    }
}

macro_rules! from_value {
    ($($from:ty => $variant:ident),* $(,)?) => {$(
        impl From<$from> for Primitive<'_> {
            #[inline]
            fn from(value: $from) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from_value! {
    i64 => Int, i32 => Int,
    u64 => Uint, u32 => Uint,
    f32 => Float, f64 => Double,
    Real => Real, Date => Date, Time => Time, DateTime => DateTime, Qos => Qos,
}

impl<'a> From<State<'a>> for Primitive<'a> {
    #[inline]
    fn from(state: State<'a>) -> Self {
        Self::State(state)
    }
}
