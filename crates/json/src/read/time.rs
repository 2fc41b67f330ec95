//! Dates and times.

use tapeline_rwf::{Date, DateTime, Time};

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

/// A date in the form `2017-11-29`.
#[inline]
pub(super) fn usual_date(text: &[u8]) -> Option<Date> {
    let &[a, b, c, d, b'-', e, f, b'-', g, h] = text else { return None };
    let year = u16::from(two_digits(a, b)?) * 100 + u16::from(two_digits(c, d)?);
    let (month, day) = (two_digits(e, f)?, two_digits(g, h)?);
    let date = Date::new(year, month, day);
    (month > 0 && day > 0 && is_possible(date)).then_some(date)
}

/// A time in the form `14:40:32`.
#[inline]
pub(super) fn usual_time(text: &[u8]) -> Option<Time> {
    let &[a, b, b':', c, d, b':', e, f] = text else { return None };
    let (hour, minute, second) = (two_digits(a, b)?, two_digits(c, d)?, two_digits(e, f)?);
    (hour < 24 && minute < 60 && second <= 60).then(|| Time::new(hour, minute, second))
}

#[inline]
fn two_digits(tens: u8, ones: u8) -> Option<u8> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| (tens - b'0') * 10 + (ones - b'0'))
}

/// A number of 1 to `width` digits.
fn digits(text: &str, width: usize) -> Option<u16> {
    let fits = (1..=width).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit());
    fits.then(|| text.parse().ok())?
}

/// A date: `2017-11-29`, `2017-11`, `2017`, `--11-29`, `2017--29`, `--11`,
/// `----29`, `29 NOV 2017`. None for a day that is not in the calendar.
pub(super) fn date(text: &str) -> Option<Date> {
    let date = match text.strip_prefix("----") {
        Some(day) => Date::new(0, 0, part(day, 2)?),
        None if text.contains(' ') => named_month(text)?,
        None => dashed(text)?,
    };
    is_possible(date).then_some(date)
}

fn part(text: &str, width: usize) -> Option<u8> {
    digits(text, width).filter(|value| *value > 0)?.try_into().ok()
}

/// Year, month and day behind one dash each; a blank year is a dash.
fn dashed(text: &str) -> Option<Date> {
    let (year, rest) = match text.strip_prefix("--") {
        Some(rest) => (0, Some(rest)),
        None => match text.split_once('-') {
            Some((year, rest)) => (digits(year, 5)?, Some(rest)),
            None => (digits(text, 5)?, None),
        },
    };
    let Some(rest) = rest else { return Some(Date::new(year, 0, 0)) };
    let (month, day) = match rest.split_once('-') {
        Some(("", day)) => (0, part(day, 2)?),
        Some((month, day)) => (part(month, 2)?, part(day, 2)?),
        None => (part(rest, 2)?, 0),
    };
    Some(Date::new(year, month, day))
}

/// `29 NOV 2017`.
fn named_month(text: &str) -> Option<Date> {
    let mut words = text.split_ascii_whitespace();
    let (day, name, year) = (words.next()?, words.next()?, words.next()?);
    let month = MONTHS.iter().position(|month| month.eq_ignore_ascii_case(name))? + 1;
    let is_whole = words.next().is_none();
    is_whole.then(|| Some(Date::new(digits(year, 4)?, month as u8, part(day, 2)?)))?
}

/// Whether the calendar has the date, blank parts being any.
fn is_possible(date: Date) -> bool {
    let is_leap = |year: u16| {
        year == 0 || year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
    };
    let days = match date.month {
        4 | 6 | 9 | 11 => 30,
        2 if is_leap(date.year) => 29,
        2 => 28,
        0..=12 => 31,
        _ => return false,
    };
    date.day <= days && !date.is_blank()
}

/// A time: `14:40`, `14:40:32`, `14:40:32.123456789`, and the form with colons
/// before each three digits: `14:40:32:123:456:789`.
pub(super) fn time(text: &str) -> Option<Time> {
    let mut parts = text.split(':');
    let hour = digits(parts.next()?, 2).filter(|hour| *hour < 24)? as u8;
    let minute = digits(parts.next()?, 2).filter(|minute| *minute < 60)? as u8;
    let Some(seconds) = parts.next() else { return Some(Time::new(hour, minute, 0)) };
    let (second, fraction) = match seconds.split_once('.') {
        Some((second, fraction)) => (second, Some(fraction)),
        None => (seconds, None),
    };
    // A leap second is the sixtieth.
    let second = digits(second, 2).filter(|second| *second <= 60)? as u8;
    let time = Time::new(hour, minute, second);
    let mut thousandths = [0; 3];
    for (at, part) in parts.enumerate() {
        *thousandths.get_mut(at)? = digits(part, 3)?;
    }
    if let Some(fraction) = fraction {
        if thousandths != [0; 3] {
            return None;
        }
        thousandths = fraction_parts(fraction)?;
    }
    let [ms, us, ns] = thousandths;
    Some(time.with_subseconds(ms, us, ns))
}

/// Milliseconds, microseconds and nanoseconds of up to nine decimals.
fn fraction_parts(fraction: &str) -> Option<[u16; 3]> {
    if !(1..=9).contains(&fraction.len()) || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let scale = 10_u32.pow(9 - fraction.len() as u32);
    let nanoseconds = fraction.parse::<u32>().ok()? * scale;
    let part = |divisor: u32| (nanoseconds / divisor % 1000) as u16;
    Some([part(1_000_000), part(1000), part(1)])
}

/// A date, a `T` and a time, or one of them.
pub(super) fn date_time(text: &str) -> Option<DateTime> {
    let (day, clock) = match text.split_once('T') {
        Some((day, clock)) => (day, Some(clock)),
        None => (text, None),
    };
    let value = DateTime::new(
        if day.is_empty() { Date::default() } else { date(day)? },
        clock.map_or(Some(Time::BLANK), time)?,
    );
    (!value.is_blank()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_all_forms_are_read() {
        for (text, year, month, day) in [
            ("2017-11-29", 2017, 11, 29),
            ("29 NOV 2017", 2017, 11, 29),
            ("2017-11", 2017, 11, 0),
            ("2017", 2017, 0, 0),
            ("--11-29", 0, 11, 29),
            ("2024--05", 2024, 0, 5),
            ("--02", 0, 2, 0),
            ("----05", 0, 0, 5),
            ("2024-02-29", 2024, 2, 29),
            ("65535-01-02", 65535, 1, 2),
        ] {
            assert_eq!(date(text), Some(Date::new(year, month, day)), "{text}");
        }
        for text in [
            "",
            "2020-13-45",
            "2023-02-29",
            "x",
            "2020-",
            "29 NOV",
            "2020-1-1-1",
            "--",
            "65536-01-02",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn times_of_all_forms_are_read() {
        let full = Time::new(14, 40, 32);
        for (text, expected) in [
            ("14:40:32", full),
            ("14:40", Time::new(14, 40, 0)),
            ("14:40:32.1", full.with_subseconds(100, 0, 0)),
            ("14:40:32.123456789", full.with_subseconds(123, 456, 789)),
            ("14:40:32:001:002:003", full.with_subseconds(1, 2, 3)),
            ("14:40:32:000:000:000", full),
            ("23:59:60", Time::new(23, 59, 60)),
        ] {
            assert_eq!(time(text), Some(expected), "{text}");
        }
        for text in ["25:99", "24:00", "14", "14:40:61", "14:40:32.", "1:2:3:4:5:6:7", "-1:00"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn the_usual_forms_say_what_the_others_do() {
        for (text, is_usual) in [
            ("2017-11-29", true),
            ("0000-11-29", true),
            ("2024-02-29", true),
            ("2023-02-29", false),
            ("2023-13-01", false),
            ("2023-00-01", false),
            ("2023-01-00", false),
            ("2023-1-01", false),
            ("2023-0x-01", false),
        ] {
            assert_eq!(usual_date(text.as_bytes()), date(text).filter(|_| is_usual), "{text}");
        }
        for (text, is_usual) in [
            ("23:59:60", true),
            ("00:00:00", true),
            ("24:00:00", false),
            ("23:60:00", false),
            ("23:59:61", false),
            ("23:59:5:", false),
            ("23:59", false),
        ] {
            assert_eq!(usual_time(text.as_bytes()), time(text).filter(|_| is_usual), "{text}");
        }
    }

    #[test]
    fn either_half_of_a_date_time_may_be_missing() {
        let day = Date::new(2024, 1, 2);
        assert_eq!(date_time("2024-01-02"), Some(DateTime::new(day, Time::BLANK)));
        let clock = Time::new(3, 4, 5);
        assert_eq!(date_time("T03:04:05"), Some(DateTime::new(Date::default(), clock)));
        assert_eq!(date_time("2024-01-02T03:04:05"), Some(DateTime::new(day, clock)));
        assert_eq!(date_time("T"), None);
    }
}
