//! Primitive values as bytes, in each of their three settings: by their own
//! length, in a set, as an array item of a fixed length.

use crate::encode::Encoder;
use crate::error::EncodeError;
use crate::primitive::int;
use crate::{DataType, Date, DateTime, Primitive, Qos, Real, State, Time, TimePrecision};

const TOO_WIDE: EncodeError = EncodeError::OutOfRange { what: "a value of a fixed size" };

/// The bytes of a date that reads back as itself: decoders take a day above 31
/// and a month above 12 as 0.
#[inline]
const fn checked_date(date: Date) -> Result<[u8; 4], EncodeError> {
    if date.day > 31 || date.month > 12 {
        return Err(EncodeError::OutOfRange { what: "a date" });
    }
    Ok(date.to_bytes())
}

/// The bytes of a time. Microseconds and nanoseconds share a field of 11 and
/// some bits where both are there.
#[inline]
fn checked_time(time: Time, precision: TimePrecision) -> Result<[u8; 8], EncodeError> {
    let is_shared = precision == TimePrecision::Nanoseconds;
    if is_shared && (time.microsecond > 2047 || time.nanosecond > 2047) {
        return Err(EncodeError::OutOfRange { what: "a time" });
    }
    Ok(time.to_bytes(precision))
}

impl Encoder<'_> {
    /// The bytes of a value, without a length. A blank has none.
    #[inline]
    pub(crate) fn primitive(&mut self, value: &Primitive<'_>) -> Result<(), EncodeError> {
        match *value {
            Primitive::Real(real) => self.real(real),
            Primitive::Int(value) => self.signed(value),
            Primitive::Uint(value) => self.unsigned(value),
            Primitive::Enum(value) => self.unsigned(value.into()),
            Primitive::Float(value) => self.chunk(value.to_be_bytes()),
            Primitive::Double(value) => self.chunk(value.to_be_bytes()),
            Primitive::Date(date) => self.chunk(checked_date(date)?),
            Primitive::Time(time) => self.time(time, time.precision())?,
            Primitive::DateTime(value) => self.date_time(value, value.time.precision())?,
            Primitive::Qos(qos) => self.qos(&qos)?,
            Primitive::State(state) => self.state(&state)?,
            Primitive::Array(array) => self.raw(&array.encoded()),
            Primitive::Buffer(bytes)
            | Primitive::Ascii(bytes)
            | Primitive::Utf8(bytes)
            | Primitive::Rmtes(bytes)
            | Primitive::Other(_, bytes) => self.slice(bytes),
            Primitive::Blank(_) => {}
        }
        Ok(())
    }

    /// A field id and the value behind its `u16_ob` length. What fields mostly
    /// are goes the short way, with one check of the room.
    #[inline]
    pub(crate) fn field(
        &mut self,
        field_id: i16,
        value: &Primitive<'_>,
    ) -> Result<(), EncodeError> {
        let [high, low] = field_id.to_be_bytes();
        match *value {
            Primitive::Real(real) if real.hint().is_finite() => {
                let (bytes, len) = int::signed_bytes(real.mantissa());
                self.prefixed([high, low, 1 + len as u8, real.hint().code()], bytes, len);
            }
            Primitive::Uint(number) => {
                let (bytes, len) = int::unsigned_bytes(number);
                self.prefixed([high, low, len as u8], bytes, len);
            }
            Primitive::Enum(number) => {
                let (bytes, len) = int::unsigned_bytes(number.into());
                self.prefixed([high, low, len as u8], bytes, len);
            }
            Primitive::Int(number) => {
                let (bytes, len) = int::signed_bytes(number);
                self.prefixed([high, low, len as u8], bytes, len);
            }
            Primitive::Time(time) => {
                let precision = time.precision();
                let len = precision.byte_len();
                self.prefixed([high, low, len as u8], checked_time(time, precision)?, len);
            }
            Primitive::Date(date) => {
                let [a, b, c, d] = checked_date(date)?;
                self.chunk([high, low, 4, a, b, c, d]);
            }
            ref other => {
                self.chunk([high, low]);
                return self.primitive16(other);
            }
        }
        Ok(())
    }

    /// The bytes of a value behind their `u16_ob` length.
    #[inline]
    pub(crate) fn primitive16(&mut self, value: &Primitive<'_>) -> Result<(), EncodeError> {
        match *value {
            Primitive::Buffer(bytes)
            | Primitive::Ascii(bytes)
            | Primitive::Utf8(bytes)
            | Primitive::Rmtes(bytes) => self.buf16(bytes, "value"),
            Primitive::Uint(number) => {
                let (bytes, len) = int::unsigned_bytes(number);
                self.prefixed([len as u8], bytes, len);
                Ok(())
            }
            Primitive::Int(number) => {
                let (bytes, len) = int::signed_bytes(number);
                self.prefixed([len as u8], bytes, len);
                Ok(())
            }
            ref other => {
                let at = self.reserve_len();
                self.primitive(other)?;
                self.close_u16(at, "value")
            }
        }
    }

    #[inline]
    pub(crate) fn real(&mut self, real: Real) {
        self.u8(real.hint().code());
        if real.hint().is_finite() {
            self.signed(real.mantissa());
        }
    }

    #[inline]
    pub(crate) fn time(&mut self, time: Time, precision: TimePrecision) -> Result<(), EncodeError> {
        self.chunk_prefix(checked_time(time, precision)?, precision.byte_len());
        Ok(())
    }

    #[inline]
    fn date_time(&mut self, value: DateTime, precision: TimePrecision) -> Result<(), EncodeError> {
        self.chunk(checked_date(value.date)?);
        self.time(value.time, precision)
    }

    #[inline]
    pub(crate) fn qos(&mut self, qos: &Qos) -> Result<(), EncodeError> {
        let (timeliness, rate) = (qos.timeliness.0, qos.rate.0);
        if timeliness > 0x07 || rate > 0x0F {
            return Err(EncodeError::OutOfRange { what: "a quality of service" });
        }
        self.u8(timeliness << 5 | rate << 1 | u8::from(qos.dynamic));
        if timeliness > 2 {
            self.u16(qos.time_info_s);
        }
        if rate > 2 {
            self.u16(qos.rate_info_ms);
        }
        Ok(())
    }

    #[inline]
    pub(crate) fn state(&mut self, state: &State<'_>) -> Result<(), EncodeError> {
        if state.stream.0 > 0x1F || state.data.0 > 0x07 {
            return Err(EncodeError::OutOfRange { what: "a state" });
        }
        self.u8(state.stream.0 << 3 | state.data.0);
        self.u8(state.code.0);
        self.buf15(state.text, "state text")
    }

    /// A set-defined value, in the form that its definition type asks for.
    #[inline]
    pub(crate) fn set_value(
        &mut self,
        data_type: DataType,
        value: &Primitive<'_>,
    ) -> Result<(), EncodeError> {
        match (data_type, *value) {
            (DataType::REAL, Primitive::Real(real)) if real.hint().is_finite() => {
                let (bytes, len) = int::signed_bytes(real.mantissa());
                self.prefixed([1 + len as u8, real.hint().code()], bytes, len);
                Ok(())
            }
            (DataType::UINT, Primitive::Uint(number)) => {
                let (bytes, len) = int::unsigned_bytes(number);
                self.prefixed([len as u8], bytes, len);
                Ok(())
            }
            (DataType::ENUM, Primitive::Enum(number)) => {
                let (bytes, len) = int::unsigned_bytes(number.into());
                self.prefixed([len as u8], bytes, len);
                Ok(())
            }
            (
                DataType::RMTES_STRING | DataType::ASCII_STRING | DataType::BUFFER,
                Primitive::Rmtes(bytes) | Primitive::Ascii(bytes) | Primitive::Buffer(bytes),
            ) if value.data_type() == data_type => self.buf16(bytes, "value"),
            (DataType::UINT_4, Primitive::Uint(number @ 0..=0xFFFF_FFFF)) => {
                self.u32(number as u32);
                Ok(())
            }
            _ => self.any_set_value(data_type, value),
        }
    }

    #[inline(never)]
    fn any_set_value(
        &mut self,
        data_type: DataType,
        value: &Primitive<'_>,
    ) -> Result<(), EncodeError> {
        let found = value.data_type().base();
        if found != data_type.base() {
            return Err(EncodeError::WrongType { expected: data_type, found });
        }
        match data_type {
            DataType::REAL_4RB => self.real_rb(value, 1),
            DataType::REAL_8RB => self.real_rb(value, 2),
            DataType::INT
            | DataType::UINT
            | DataType::FLOAT
            | DataType::DOUBLE
            | DataType::REAL
            | DataType::DATE
            | DataType::TIME
            | DataType::DATETIME
            | DataType::QOS => {
                let at = self.reserve_len();
                self.primitive(value)?;
                self.close_u8(at, "set-defined value")
            }
            DataType::ENUM
            | DataType::ARRAY
            | DataType::BUFFER
            | DataType::ASCII_STRING
            | DataType::UTF8_STRING
            | DataType::RMTES_STRING => self.primitive16(value),
            other => match other.set_size() {
                Some(size) => self.fixed(value, size),
                None => Err(EncodeError::WrongType { expected: data_type, found }),
            },
        }
    }

    /// A real behind a format byte, its value in 1 to 4 steps of bytes.
    fn real_rb(&mut self, value: &Primitive<'_>, step: usize) -> Result<(), EncodeError> {
        let real = match value {
            Primitive::Real(real) if real.hint().is_finite() => real,
            Primitive::Blank(_) => {
                self.u8(0x20);
                return Ok(());
            }
            _ => return Err(EncodeError::OutOfRange { what: "an infinity in a set" }),
        };
        let steps = int::signed_len(real.mantissa()).div_ceil(step);
        if steps > 4 {
            return Err(TOO_WIDE);
        }
        self.u8((steps as u8 - 1) << 6 | real.hint().code());
        let len = steps * step;
        self.chunk_prefix((real.mantissa() << (64 - 8 * len)).to_be_bytes(), len);
        Ok(())
    }

    /// A value in exactly `size` bytes: integers extended to the left, strings
    /// padded with zero bytes, and cut, on the right.
    pub(crate) fn fixed(&mut self, value: &Primitive<'_>, size: usize) -> Result<(), EncodeError> {
        match *value {
            Primitive::Int(number) if (1..=8).contains(&size) => {
                if int::signed_len(number) > size {
                    return Err(TOO_WIDE);
                }
                self.chunk_prefix((number << (64 - 8 * size)).to_be_bytes(), size);
            }
            Primitive::Uint(number) => self.fixed_unsigned(number, size)?,
            Primitive::Enum(number) => self.fixed_unsigned(number.into(), size)?,
            Primitive::Float(number) if size == 4 => self.chunk(number.to_be_bytes()),
            Primitive::Double(number) if size == 8 => self.chunk(number.to_be_bytes()),
            Primitive::Date(date) if size == 4 => self.chunk(checked_date(date)?),
            Primitive::Time(time) => self.fixed_time(time, size)?,
            Primitive::DateTime(value) if size >= 4 => {
                self.chunk(checked_date(value.date)?);
                self.fixed_time(value.time, size - 4)?;
            }
            Primitive::Buffer(bytes)
            | Primitive::Ascii(bytes)
            | Primitive::Utf8(bytes)
            | Primitive::Rmtes(bytes) => {
                let kept = bytes.len().min(size);
                self.slice(&bytes[..kept]);
                self.zeros(size - kept);
            }
            Primitive::Blank(data_type) => self.fixed_blank(data_type.base(), size)?,
            _ => return Err(TOO_WIDE),
        }
        Ok(())
    }

    fn fixed_unsigned(&mut self, number: u64, size: usize) -> Result<(), EncodeError> {
        if !(1..=8).contains(&size) || int::unsigned_len(number) > size {
            return Err(TOO_WIDE);
        }
        self.chunk_prefix((number << (64 - 8 * size)).to_be_bytes(), size);
        Ok(())
    }

    /// Parts that do not fit must be 0, or be lost with a time that is blank.
    fn fixed_time(&mut self, time: Time, size: usize) -> Result<(), EncodeError> {
        match TimePrecision::from_len(size) {
            Some(precision) if precision >= time.precision() => self.time(time, precision),
            _ => Err(TOO_WIDE),
        }
    }

    /// Only dates and times have a blank of a fixed size.
    fn fixed_blank(&mut self, data_type: DataType, size: usize) -> Result<(), EncodeError> {
        match (data_type, size) {
            (DataType::DATE, 4) => self.zeros(4),
            (DataType::TIME, _) => self.fixed_time(Time::BLANK, size)?,
            (DataType::DATETIME, 4..) => {
                self.zeros(4);
                self.fixed_time(Time::BLANK, size - 4)?;
            }
            _ => return Err(EncodeError::OutOfRange { what: "a blank of a fixed size" }),
        }
        Ok(())
    }
}
