//! Numbers, dates and times as JSON.

use std::io::Write as _;

use tapeline_rwf::{Date, DateTime, Real, RealHint, Time};

/// Appends an unsigned integer.
#[inline]
pub(crate) fn push_uint(out: &mut Vec<u8>, value: u64) {
    push_padded(out, value, 1);
}

/// Appends a signed integer.
#[inline]
pub(crate) fn push_int(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_uint(out, value.unsigned_abs());
}

/// Appends an integer with zeros in front up to `width` digits, 20 at most.
#[inline]
fn push_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    let digits = Digits::of(value);
    out.extend_from_slice(&digits.text[digits.start.min(MOST_DIGITS - width)..]);
}

/// Digits of the longest 64-bit number.
const MOST_DIGITS: usize = 20;

/// The decimals `00` to `99`, one behind the other.
const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut value = 0;
    while value < 100 {
        pairs[2 * value] = b'0' + (value / 10) as u8;
        pairs[2 * value + 1] = b'0' + (value % 10) as u8;
        value += 1;
    }
    pairs
};

/// A number in digits, with zeros in front of them.
struct Digits {
    text: [u8; MOST_DIGITS],
    /// Where the first digit is that counts; of 0 there is none.
    start: usize,
}

impl Digits {
    #[inline]
    fn of(mut value: u64) -> Self {
        let mut text = [b'0'; MOST_DIGITS];
        let mut start = MOST_DIGITS;
        while value >= 10 {
            let pair = (value % 100) as usize * 2;
            value /= 100;
            start -= 2;
            text[start..start + 2].copy_from_slice(&PAIRS[pair..pair + 2]);
        }
        if value > 0 {
            start -= 1;
            text[start] = b'0' + value as u8;
        }
        Self { text, start }
    }
}

/// Appends a decimal number: digits as the hint says, never an exponent. Zero
/// is `0` whatever its hint; fractions are exact; what is no number is one of
/// three strings.
#[inline]
pub(crate) fn push_real(out: &mut Vec<u8>, real: Real) {
    let magnitude = real.mantissa().unsigned_abs();
    let code = real.hint().code();
    if !real.hint().is_finite() {
        return out.extend_from_slice(match real.hint() {
            RealHint::INFINITY => b"\"Inf\"",
            RealHint::NEG_INFINITY => b"\"-Inf\"",
            _ => b"\"NaN\"",
        });
    }
    if magnitude == 0 {
        return out.push(b'0');
    }
    if real.mantissa() < 0 {
        out.push(b'-');
    }
    match code {
        0..=13 => {
            let Digits { text, start } = Digits::of(magnitude);
            let point = MOST_DIGITS - usize::from(14 - code);
            out.extend_from_slice(&text[start.min(point - 1)..point]);
            out.push(b'.');
            out.extend_from_slice(&text[point..]);
        }
        14..=21 => {
            push_uint(out, magnitude);
            out.extend_from_slice(&b"0000000"[..usize::from(code - 14)]);
        }
        _ => push_fraction(out, magnitude, u32::from(code - 22)),
    }
}

/// Appends `magnitude / 2^log2_denominator` in full; the denominator is 256 at
/// most, so that eight decimals are enough.
fn push_fraction(out: &mut Vec<u8>, magnitude: u64, log2_denominator: u32) {
    push_uint(out, magnitude >> log2_denominator);
    let rest = magnitude & ((1 << log2_denominator) - 1);
    if rest == 0 {
        return;
    }
    out.push(b'.');
    push_padded(out, rest * 5_u64.pow(log2_denominator), log2_denominator as usize);
    trim_zeros(out);
}

fn trim_zeros(out: &mut Vec<u8>) {
    while out.last() == Some(&b'0') {
        out.pop();
    }
}

/// Appends a number that may be infinite: the shortest text that reads back.
pub(crate) fn push_float(out: &mut Vec<u8>, value: impl std::fmt::Debug + Into<f64> + Copy) {
    let wide: f64 = value.into();
    if wide.is_finite() {
        // A vector takes all that is written.
        let _ = write!(out, "{value:?}");
    } else if wide.is_nan() {
        out.extend_from_slice(b"\"NaN\"");
    } else {
        out.extend_from_slice(if wide > 0.0 { b"\"Inf\"" } else { b"\"-Inf\"" });
    }
}

/// Appends a date, parts that are blank left out: `2017-11-29`, `2017-11`,
/// `2017`, `--11-29`, `2017--29`, `--11`, `----29`.
pub(crate) fn push_date(out: &mut Vec<u8>, date: Date) {
    let Date { day, month, year } = date;
    match year {
        0 => out.push(b'-'),
        year => push_padded(out, year.into(), 4),
    }
    match (month, day) {
        (0, 0) => {}
        (0, _) if year == 0 => out.extend_from_slice(b"--"),
        (0, _) => out.push(b'-'),
        (month, _) => {
            out.push(b'-');
            push_padded(out, month.into(), 2);
        }
    }
    if day != 0 {
        out.push(b'-');
        push_padded(out, day.into(), 2);
    }
}

/// Appends a time: `14:40:32.123456789`, the fraction without zeros at its
/// end, blank parts and what is behind them left out.
pub(crate) fn push_time(out: &mut Vec<u8>, time: Time) {
    push_padded(out, if time.hour == 255 { 0 } else { time.hour.into() }, 2);
    out.push(b':');
    push_padded(out, if time.minute == 255 { 0 } else { time.minute.into() }, 2);
    if time.second == 255 {
        return;
    }
    out.push(b':');
    push_padded(out, time.second.into(), 2);
    let part = |value: u16| if value > 999 { 0 } else { u64::from(value) };
    let [ms, us, ns] = [time.millisecond, time.microsecond, time.nanosecond].map(part);
    if ms + us + ns == 0 {
        return;
    }
    out.push(b'.');
    push_padded(out, ms * 1_000_000 + us * 1000 + ns, 9);
    trim_zeros(out);
}

/// Appends a date and a time; a half that is blank is left out.
pub(crate) fn push_date_time(out: &mut Vec<u8>, value: DateTime) {
    if !value.date.is_blank() {
        push_date(out, value.date);
    }
    if !value.time.is_blank() {
        out.push(b'T');
        push_time(out, value.time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    fn real(mantissa: i64, hint: u8) -> String {
        let hint = RealHint::new(hint).expect("a hint");
        written(|out| push_real(out, Real::new(mantissa, hint)))
    }

    #[test]
    fn reals_are_exact_and_keep_their_zeros() {
        for (mantissa, hint, text) in [
            (1500, 12, "15.00"),
            (5, 17, "5000"),
            (10, 5, "0.000000010"),
            (-5, 13, "-0.5"),
            (0, 3, "0"),
            (3, 25, "0.375"),
            (1, 30, "0.00390625"),
            (-12345, 30, "-48.22265625"),
            (16, 26, "1"),
            (i64::MIN, 0, "-92233.72036854775808"),
            (i64::MAX, 21, "92233720368547758070000000"),
            (0, 33, "\"Inf\""),
            (0, 34, "\"-Inf\""),
            (0, 35, "\"NaN\""),
        ] {
            assert_eq!(real(mantissa, hint), text);
        }
    }

    #[test]
    fn integers_have_all_their_digits() {
        assert_eq!(written(|out| push_int(out, i64::MIN)), i64::MIN.to_string());
        assert_eq!(written(|out| push_uint(out, u64::MAX)), u64::MAX.to_string());
        assert_eq!(written(|out| push_uint(out, 0)), "0");
        let powers = (0..20).map(|power| 10_u64.pow(power));
        for value in powers.flat_map(|power| [power - 1, power, power + 1, power / 2]) {
            assert_eq!(written(|out| push_uint(out, value)), value.to_string());
            let padded = written(|out| push_padded(out, value, 9));
            assert_eq!(padded, format!("{value:09}"));
        }
    }

    #[test]
    fn floats_are_the_shortest_text() {
        for (value, text) in [(0.1, "0.1"), (1e300, "1e300"), (-0.0, "-0.0"), (100.0, "100.0")] {
            assert_eq!(written(|out| push_float(out, value)), text);
        }
        assert_eq!(written(|out| push_float(out, 0.1_f32)), "0.1");
        assert_eq!(written(|out| push_float(out, f64::NEG_INFINITY)), "\"-Inf\"");
    }

    #[test]
    fn blank_parts_of_dates_are_left_out() {
        for (year, month, day, text) in [
            (2017, 11, 29, "2017-11-29"),
            (2017, 11, 0, "2017-11"),
            (2017, 0, 0, "2017"),
            (0, 11, 29, "--11-29"),
            (2024, 0, 5, "2024--05"),
            (0, 2, 0, "--02"),
            (0, 0, 5, "----05"),
            (7, 1, 1, "0007-01-01"),
        ] {
            assert_eq!(written(|out| push_date(out, Date::new(year, month, day))), text);
        }
    }

    #[test]
    fn times_have_the_fraction_they_need() {
        let time = Time::new(1, 2, 3);
        for (time, text) in [
            (time, "01:02:03"),
            (time.with_subseconds(100, 0, 0), "01:02:03.1"),
            (time.with_subseconds(4, 5, 6), "01:02:03.004005006"),
            (time.with_subseconds(4, 2047, 2047), "01:02:03.004"),
            (Time::new(1, 2, 255), "01:02"),
        ] {
            assert_eq!(written(|out| push_time(out, time)), text);
        }
        let only_time = DateTime::new(Date::default(), Time::new(3, 4, 5));
        assert_eq!(written(|out| push_date_time(out, only_time)), "T03:04:05");
        let only_date = DateTime::new(Date::new(2024, 1, 2), Time::BLANK);
        assert_eq!(written(|out| push_date_time(out, only_date)), "2024-01-02");
    }
}
