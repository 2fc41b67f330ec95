//! Values from text.

use std::str::FromStr;

use tapeline_rwf::{DataType, Date, DateTime, EncodeError, Encoder, Primitive, Real, Time};

/// A value of a type from text, encoded; empty text is a blank. The error says
/// what the text should have been.
pub(super) fn encode(data_type: DataType, text: &str) -> Result<Vec<u8>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let wrong = || format!("'{text}' is no {data_type}");
    let primitive = match data_type {
        DataType::INT => Primitive::Int(number(text).ok_or_else(wrong)?),
        DataType::UINT => Primitive::Uint(number(text).ok_or_else(wrong)?),
        DataType::ENUM => Primitive::Enum(number(text).ok_or_else(wrong)?),
        DataType::REAL => Primitive::Real(number::<Real>(text).ok_or_else(wrong)?),
        DataType::FLOAT => Primitive::Float(number(text).ok_or_else(wrong)?),
        DataType::DOUBLE => Primitive::Double(number(text).ok_or_else(wrong)?),
        DataType::DATE => Primitive::Date(date(text).ok_or_else(|| wrong_date(text))?),
        DataType::TIME => Primitive::Time(time(text).ok_or_else(|| wrong_time(text))?),
        DataType::DATETIME => Primitive::DateTime(date_time(text).ok_or_else(wrong)?),
        DataType::ASCII_STRING => Primitive::Ascii(text.as_bytes()),
        DataType::UTF8_STRING => Primitive::Utf8(text.as_bytes()),
        DataType::RMTES_STRING => Primitive::Rmtes(text.as_bytes()),
        DataType::BUFFER => Primitive::Buffer(text.as_bytes()),
        other => return Err(format!("values of type {other} cannot be given as text")),
    };
    bytes(primitive).map_err(|error| error.to_string())
}

fn bytes(primitive: Primitive<'_>) -> Result<Vec<u8>, EncodeError> {
    let len = match primitive {
        Primitive::Ascii(b) | Primitive::Utf8(b) | Primitive::Rmtes(b) | Primitive::Buffer(b) => {
            b.len()
        }
        // No other primitive has more.
        _ => 16,
    };
    let mut buffer = vec![0; len];
    let mut encoder = Encoder::new(&mut buffer);
    encoder.container(primitive.data_type()).primitive(primitive)?;
    let len = encoder.finish()?;
    buffer.truncate(len);
    Ok(buffer)
}

fn number<T: FromStr>(text: &str) -> Option<T> {
    text.trim().parse().ok()
}

fn wrong_date(text: &str) -> String {
    format!("'{text}' is no DATE: 2025-11-21, 21 NOV 2025 or 11/21/2025 would be")
}

fn wrong_time(text: &str) -> String {
    format!("'{text}' is no TIME: 13:45, 13:45:01, 13:45:01.250 or 13:45:01:250 would be")
}

/// `2025-11-21`, `21 NOV 2025` or `11/21/2025`.
fn date(text: &str) -> Option<Date> {
    const MONTHS: [&str; 12] =
        ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    let parts = |separator| text.trim().split(separator).collect::<Vec<_>>();
    let (year, month, day) = if let [year, month, day] = parts('-')[..] {
        (year, number(month)?, day)
    } else if let [month, day, year] = parts('/')[..] {
        (year, number(month)?, day)
    } else {
        let [day, name, year] = parts(' ')[..] else { return None };
        let month = MONTHS.iter().position(|month| name.eq_ignore_ascii_case(month))?;
        (year, month as u8 + 1, day)
    };
    let (year, day) = (number(year)?, number(day)?);
    ((1..=12).contains(&month) && (1..=31).contains(&day)).then(|| Date::new(year, month, day))
}

/// Hours and minutes, then as far as given seconds and their parts: as decimals
/// behind a point, or milli-, micro- and nanoseconds behind colons.
fn time(text: &str) -> Option<Time> {
    let mut parts = text.trim().split(':');
    let (hour, minute) = (number(parts.next()?)?, number(parts.next()?)?);
    let mut time = Time::new(hour, minute, 0);
    if let Some(seconds) = parts.next() {
        let (second, decimals) = seconds.split_once('.').unwrap_or((seconds, ""));
        time.second = number(second)?;
        if decimals.len() > 9 || !decimals.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let nanoseconds: u32 = number(&format!("{decimals:0<9}"))?;
        let part = |unit: u32| (nanoseconds / unit % 1000) as u16;
        time = time.with_subseconds(part(1_000_000), part(1000), part(1));
    }
    for place in [&mut time.millisecond, &mut time.microsecond, &mut time.nanosecond] {
        if let Some(part) = parts.next() {
            *place = number(part)?;
        }
    }
    let is_time = time.hour < 24
        && time.minute < 60
        && time.second < 60
        && time.millisecond.max(time.microsecond).max(time.nanosecond) < 1000;
    (is_time && parts.next().is_none()).then_some(time)
}

/// Date and time with a blank or a `T` between them.
fn date_time(text: &str) -> Option<DateTime> {
    let (day, of_day) = text.trim().rsplit_once(['T', ' '])?;
    Some(DateTime::new(date(day)?, time(of_day)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_decimals() {
        assert_eq!(encode(DataType::REAL, "45.10"), Ok(vec![0x0C, 0x11, 0x9E]));
        assert_eq!(encode(DataType::REAL, "45.1"), Ok(vec![0x0D, 0x01, 0xC3]));
        assert_eq!(encode(DataType::UINT, "300"), Ok(vec![1, 0x2C]));
        assert_eq!(encode(DataType::RMTES_STRING, "ab"), Ok(b"ab".to_vec()));
        assert_eq!(encode(DataType::REAL, ""), Ok(Vec::new()));
    }

    #[test]
    fn dates_and_times_have_several_forms() {
        for text in ["2025-11-21", "21 NOV 2025", "21 nov 2025", "11/21/2025"] {
            assert_eq!(date(text), Some(Date::new(2025, 11, 21)), "{text}");
        }
        for text in ["2025-13-01", "2025-11", "21 XYZ 2025", "0/0/0", ""] {
            assert_eq!(date(text), None, "{text}");
        }
        let second = Time::new(13, 45, 1);
        for (text, expected) in [
            ("13:45", Time::new(13, 45, 0)),
            ("13:45:01", second),
            ("13:45:01.25", second.with_subseconds(250, 0, 0)),
            ("13:45:01:250", second.with_subseconds(250, 0, 0)),
            ("13:45:01:250:3:7", second.with_subseconds(250, 3, 7)),
            ("13:45:01.000000009", second.with_subseconds(0, 0, 9)),
        ] {
            assert_eq!(time(text), Some(expected), "{text}");
        }
        for text in ["24:00", "13", "13:60", "13:45:01:1000", "13:45:01:1:1:1:1", "a:b"] {
            assert_eq!(time(text), None, "{text}");
        }
        let expected = DateTime::new(Date::new(2025, 11, 21), second);
        assert_eq!(date_time("2025-11-21T13:45:01"), Some(expected));
    }

    #[test]
    fn errors_say_what_the_text_should_be() {
        assert_eq!(encode(DataType::UINT, "-1"), Err("'-1' is no UINT".to_owned()));
        assert!(
            encode(DataType::TIME, "noon")
                .is_err_and(|e| e.contains("13:45:01 ") || e.contains("13:45:01,"))
        );
        assert!(encode(DataType::MAP, "x").is_err_and(|e| e.contains("MAP")));
    }
}
