//! Dates and times of day.

use core::fmt;

use crate::error::DecodeError;
use crate::{DataType, Encoded};

/// A calendar day; 0 in a part means that the part is not known.
///
/// ```text
/// ┌────────┬──────────┬──────────┐
/// │ u8 day │ u8 month │ u16 year │    all zero: blank
/// └────────┴──────────┴──────────┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Date {
    /// Day of the month, 1 to 31.
    pub day: u8,
    /// Month, 1 to 12.
    pub month: u8,
    /// Year, as it is written: 2025.
    pub year: u16,
}

impl Date {
    /// A day.
    pub const fn new(year: u16, month: u8, day: u8) -> Self {
        Self { day, month, year }
    }

    /// Whether all parts are 0.
    #[inline]
    pub const fn is_blank(&self) -> bool {
        self.day == 0 && self.month == 0 && self.year == 0
    }

    /// A day above 31 and a month above 12 read as 0, as the vendor's decoder
    /// has it: they are no information.
    #[inline]
    fn from_bytes([day, month, high, low]: [u8; 4]) -> Self {
        Self {
            day: if day > 31 { 0 } else { day },
            month: if month > 12 { 0 } else { month },
            year: u16::from_be_bytes([high, low]),
        }
    }

    #[inline]
    pub(crate) fn decode(data: &Encoded<'_>) -> Result<Option<Self>, DecodeError> {
        match <[u8; 4]>::try_from(data.bytes) {
            Ok(bytes) => {
                let date = Self::from_bytes(bytes);
                Ok((!date.is_blank()).then_some(date))
            }
            Err(_) if data.bytes.is_empty() => Ok(None),
            Err(_) => Err(data.length_error(DataType::DATE)),
        }
    }

    #[inline]
    pub(crate) const fn to_bytes(self) -> [u8; 4] {
        let [high, low] = self.year.to_be_bytes();
        [self.day, self.month, high, low]
    }
}

impl fmt::Display for Date {
    /// `2025-03-17`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }
}

/// How far a time of day goes down: which of its encodings is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TimePrecision {
    /// Hour and minute, 2 bytes.
    Minutes = 2,
    /// And seconds, 3 bytes.
    Seconds = 3,
    /// And milliseconds, 5 bytes.
    Milliseconds = 5,
    /// And microseconds, 7 bytes.
    Microseconds = 7,
    /// And nanoseconds, 8 bytes.
    Nanoseconds = 8,
}

impl TimePrecision {
    /// The precision of an encoding of so many bytes.
    #[inline]
    pub const fn from_len(len: usize) -> Option<Self> {
        Some(match len {
            2 => Self::Minutes,
            3 => Self::Seconds,
            5 => Self::Milliseconds,
            7 => Self::Microseconds,
            8 => Self::Nanoseconds,
            _ => return None,
        })
    }

    /// Bytes of the encoding.
    #[inline]
    pub const fn byte_len(self) -> usize {
        self as usize
    }
}

/// A time of day. Ranges are not checked; each part has a blank of its own.
///
/// ```text
/// ┌──────┬────────┐┌────────┐┌────────────────┐┌───────────────────┐┌──────┐
/// │ hour │ minute ││ second ││ u16 millisec.  ││ u16 microseconds  ││ u8 y │
/// └──────┴────────┘└────────┘└────────────────┘└───────────────────┘└──────┘
///   2 bytes          3          5                7                    8
/// ```
///
/// In the form of 8 bytes the upper bits of the microseconds' field belong to
/// the nanoseconds: µs = low 11 bits, ns = next 3 bits × 256 + y.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Time {
    /// 0 to 23; 255 is blank.
    pub hour: u8,
    /// 0 to 59; 255 is blank.
    pub minute: u8,
    /// 0 to 59; 255 is blank.
    pub second: u8,
    /// 0 to 999; 65535 is blank.
    pub millisecond: u16,
    /// 0 to 999, on top of the milliseconds; 2047 is blank.
    pub microsecond: u16,
    /// 0 to 999, on top of the microseconds; 2047 is blank.
    pub nanosecond: u16,
}

impl Time {
    /// All parts blank.
    pub const BLANK: Self = Self {
        hour: 255,
        minute: 255,
        second: 255,
        millisecond: 65535,
        microsecond: 2047,
        nanosecond: 2047,
    };

    /// A time to the second.
    pub const fn new(hour: u8, minute: u8, second: u8) -> Self {
        Self { hour, minute, second, millisecond: 0, microsecond: 0, nanosecond: 0 }
    }

    /// The same time with parts below the second, each 0 to 999.
    pub const fn with_subseconds(
        self,
        millisecond: u16,
        microsecond: u16,
        nanosecond: u16,
    ) -> Self {
        Self { millisecond, microsecond, nanosecond, ..self }
    }

    /// Whether all parts are blank.
    #[inline]
    pub fn is_blank(&self) -> bool {
        *self == Self::BLANK
    }

    /// The shortest encoding that loses nothing.
    #[inline]
    pub fn precision(&self) -> TimePrecision {
        if self.hour == 255 && self.minute == 255 {
            return self.precision_of_blank_start();
        }
        if self.nanosecond != 0 {
            TimePrecision::Nanoseconds
        } else if self.microsecond != 0 {
            TimePrecision::Microseconds
        } else if self.millisecond != 0 {
            TimePrecision::Milliseconds
        } else if self.second != 0 {
            TimePrecision::Seconds
        } else {
            TimePrecision::Minutes
        }
    }

    /// An encoding whose parts are all blank reads as a blank time, so a time
    /// that only starts blank has to go on to the first part that is not.
    #[cold]
    fn precision_of_blank_start(&self) -> TimePrecision {
        if self.is_blank() {
            return TimePrecision::Minutes;
        }
        let loses_nothing = |precision: TimePrecision| {
            let bytes = self.to_bytes(precision);
            Self::from_bytes(&bytes[..precision.byte_len()]) == Some(*self)
        };
        [TimePrecision::Seconds, TimePrecision::Milliseconds, TimePrecision::Microseconds]
            .into_iter()
            .find(|precision| loses_nothing(*precision))
            .unwrap_or(TimePrecision::Nanoseconds)
    }

    /// Parts that are not on the wire are 0, or blank when all that are there
    /// are blank.
    #[inline]
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut time = Self::default();
        let mut all_blank = Self::BLANK;
        match *bytes {
            [hour, minute] => {
                time = Self { hour, minute, ..time };
                all_blank = Self { hour: 255, minute: 255, ..Self::default() };
            }
            [hour, minute, second] => {
                time = Self { hour, minute, second, ..time };
                all_blank = Self { hour: 255, minute: 255, second: 255, ..Self::default() };
            }
            [hour, minute, second, a, b] => {
                let millisecond = u16::from_be_bytes([a, b]);
                time = Self { hour, minute, second, millisecond, ..time };
                all_blank = Self { microsecond: 0, nanosecond: 0, ..all_blank };
            }
            [hour, minute, second, a, b, c, d] => {
                let millisecond = u16::from_be_bytes([a, b]);
                let microsecond = u16::from_be_bytes([c, d]);
                time = Self { hour, minute, second, millisecond, microsecond, ..time };
                all_blank = Self { nanosecond: 0, ..all_blank };
            }
            [hour, minute, second, a, b, c, d, y] => {
                let millisecond = u16::from_be_bytes([a, b]);
                let shared = u16::from_be_bytes([c, d]);
                let microsecond = shared & 0x07FF;
                let nanosecond = (shared >> 11 & 0x07) << 8 | y as u16;
                time = Self { hour, minute, second, millisecond, microsecond, nanosecond };
            }
            _ => return None,
        }
        Some(if time == all_blank { Self::BLANK } else { time })
    }

    #[inline]
    pub(crate) fn decode(data: &Encoded<'_>) -> Result<Option<Self>, DecodeError> {
        match Self::from_bytes(data.bytes) {
            Some(time) => Ok((!time.is_blank()).then_some(time)),
            None if data.bytes.is_empty() => Ok(None),
            None => Err(data.length_error(DataType::TIME)),
        }
    }

    /// The bytes of the longest encoding, whose start is every shorter one but
    /// for the microseconds, which share their field with nanoseconds.
    #[inline]
    pub(crate) fn to_bytes(self, precision: TimePrecision) -> [u8; 8] {
        let [ms_high, ms_low] = self.millisecond.to_be_bytes();
        let shared = match precision {
            TimePrecision::Nanoseconds => {
                (self.nanosecond >> 8 & 0x07) << 11 | self.microsecond & 0x07FF
            }
            _ => self.microsecond,
        };
        let [us_high, us_low] = shared.to_be_bytes();
        let nanosecond = self.nanosecond as u8;
        [self.hour, self.minute, self.second, ms_high, ms_low, us_high, us_low, nanosecond]
    }
}

impl fmt::Display for Time {
    /// `12:34`, `12:34:56`, `12:34:56.789`, … as precise as the value;
    /// blank parts as `--`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn part(f: &mut fmt::Formatter<'_>, value: u16, blank: u16, width: usize) -> fmt::Result {
            if value == blank {
                return write!(f, "{:-<width$}", "");
            }
            write!(f, "{value:0width$}")
        }
        let precision = self.precision();
        part(f, self.hour.into(), 255, 2)?;
        f.write_str(":")?;
        part(f, self.minute.into(), 255, 2)?;
        if precision >= TimePrecision::Seconds {
            f.write_str(":")?;
            part(f, self.second.into(), 255, 2)?;
        }
        if precision >= TimePrecision::Milliseconds {
            f.write_str(".")?;
            part(f, self.millisecond, 65535, 3)?;
        }
        if precision >= TimePrecision::Microseconds {
            part(f, self.microsecond, 2047, 3)?;
        }
        if precision >= TimePrecision::Nanoseconds {
            part(f, self.nanosecond, 2047, 3)?;
        }
        Ok(())
    }
}

/// A date and a time of day: the bytes of one behind those of the other.
/// Either half alone may be blank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DateTime {
    /// The day.
    pub date: Date,
    /// The time of day.
    pub time: Time,
}

impl DateTime {
    /// A day and a time.
    pub const fn new(date: Date, time: Time) -> Self {
        Self { date, time }
    }

    /// Whether both halves are blank.
    pub fn is_blank(&self) -> bool {
        self.date.is_blank() && self.time.is_blank()
    }

    #[inline]
    pub(crate) fn decode(data: &Encoded<'_>) -> Result<Option<Self>, DecodeError> {
        let halves = data.bytes.split_first_chunk::<4>();
        let value = halves.and_then(|(date, time)| {
            Some(Self { date: Date::from_bytes(*date), time: Time::from_bytes(time)? })
        });
        match value {
            Some(value) => Ok((!value.is_blank()).then_some(value)),
            None if data.bytes.is_empty() => Ok(None),
            None => Err(data.length_error(DataType::DATETIME)),
        }
    }
}

impl fmt::Display for DateTime {
    /// `2025-03-17T12:34:56`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}T{}", self.date, self.time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(bytes: &[u8]) -> Option<Time> {
        Encoded::new(DataType::TIME, bytes).time().expect("a length of time")
    }

    #[test]
    fn every_length_reads_back_what_was_written() {
        let full = Time::new(12, 34, 56).with_subseconds(789, 123, 456);
        for precision in [
            TimePrecision::Minutes,
            TimePrecision::Seconds,
            TimePrecision::Milliseconds,
            TimePrecision::Microseconds,
            TimePrecision::Nanoseconds,
        ] {
            let bytes = full.to_bytes(precision);
            let read = time(&bytes[..precision.byte_len()]).expect("not blank");
            assert_eq!(read.precision(), precision);
            assert_eq!((read.hour, read.minute), (12, 34));
        }
        assert_eq!(time(&full.to_bytes(TimePrecision::Nanoseconds)), Some(full));
        assert_eq!(full.to_string(), "12:34:56.789123456");
    }

    #[test]
    fn all_parts_blank_is_a_blank_time_and_one_alone_is_not() {
        for blank in [
            &[0xFF; 2][..],
            &[0xFF; 3],
            &[0xFF; 5],
            &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x07, 0xFF],
            &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x3F, 0xFF, 0xFF],
        ] {
            assert_eq!(time(blank), None, "{blank:x?}");
        }
        for started_blank in
            [Time::new(255, 255, 0), Time::new(255, 255, 255), Time::new(255, 255, 7)]
        {
            let precision = started_blank.precision();
            let bytes = started_blank.to_bytes(precision);
            assert_eq!(time(&bytes[..precision.byte_len()]), Some(started_blank));
        }
        let partial = time(&[12, 34, 255]).expect("not blank");
        assert_eq!(partial.to_string(), "12:34:--");
    }

    #[test]
    fn half_blank_date_times_are_not_blank() {
        let read = |bytes| Encoded::new(DataType::DATETIME, bytes).date_time();
        let time_only = read(&[0, 0, 0, 0, 12, 34, 56]).expect("7 bytes").expect("not blank");
        assert_eq!(time_only.time, Time::new(12, 34, 56));
        let date_only = read(&[17, 3, 7, 0xE9, 255, 255, 255]).expect("7 bytes");
        assert_eq!(date_only, Some(DateTime::new(Date::new(2025, 3, 17), Time::BLANK)));
        assert_eq!(read(&[0, 0, 0, 0, 255, 255]), Ok(None));
        assert!(read(&[1, 2, 3, 4]).is_err());
    }

    #[test]
    fn impossible_days_and_months_read_as_zero() {
        let date = Encoded::new(DataType::DATE, &[40, 20, 7, 0xE9]).date();
        assert_eq!(date, Ok(Some(Date::new(2025, 0, 0))));
        assert_eq!(Encoded::new(DataType::DATE, &[40, 20, 0, 0]).date(), Ok(None));
        assert_eq!(Date::new(2025, 3, 7).to_string(), "2025-03-07");
    }
}
