//! Numbers, dates and times as JSON.

use std::io::Write as _;

use tapeline_rwf::{Date, DateTime, Real, RealHint, Time};

use super::text::push_block;

/// Appends an unsigned integer.
#[inline]
pub(crate) fn push_uint(out: &mut Vec<u8>, value: u64) {
    match value {
        ..10 => out.push(b'0' + value as u8),
        _ => push_digits(out, value),
    }
}

fn push_digits(out: &mut Vec<u8>, value: u64) {
    match EightDigits::of(value) {
        Some(digits) => digits.push(out, digits.leading_zeros()),
        None => push_long_uint(out, value),
    }
}

/// Appends an integer of more than eight digits.
fn push_long_uint(out: &mut Vec<u8>, value: u64) {
    push_uint(out, value / EightDigits::END);
    push_padded(out, value % EightDigits::END, EightDigits::COUNT);
}

/// Appends a signed integer.
#[inline]
pub(crate) fn push_int(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    push_uint(out, value.unsigned_abs());
}

/// Appends an integer with zeros in front up to `width` digits, 8 at most.
#[inline]
fn push_padded(out: &mut Vec<u8>, value: u64, width: usize) {
    match EightDigits::of(value) {
        Some(digits) => {
            digits.push(out, digits.leading_zeros().min(EightDigits::COUNT - width));
        }
        None => push_long_uint(out, value),
    }
}

/// A number below 10^8 in digits, with zeros in front of them.
#[derive(Clone, Copy)]
struct EightDigits {
    /// The values of the digits, the first one in the lowest byte.
    digits: u64,
}

impl EightDigits {
    const COUNT: usize = 8;
    /// The first number that has more digits.
    const END: u64 = 100_000_000;
    const ASCII_ZEROS: u64 = u64::from_le_bytes([b'0'; Self::COUNT]);

    /// All digits at once: the halves of the number are split into pairs and
    /// the pairs into digits, side by side in one word. A division by 100 or 10
    /// is a multiplication and a shift, exact for numbers that small.
    #[inline]
    const fn of(value: u64) -> Option<Self> {
        if value >= Self::END {
            return None;
        }
        let halves = (value / 10_000) | ((value % 10_000) << 32);
        let hundreds = (halves * 10_486) >> 20 & 0x0000_007F_0000_007F;
        let pairs = hundreds | (halves - hundreds * 100) << 16;
        let tens = (pairs * 103) >> 10 & 0x000F_000F_000F_000F;
        Some(Self { digits: tens | (pairs - tens * 10) << 8 })
    }

    /// Zeros in front of the number; the last digit counts even if it is 0.
    #[inline]
    const fn leading_zeros(self) -> usize {
        (self.digits | 1 << 56).trailing_zeros() as usize / 8
    }

    #[inline]
    const fn text(self) -> u64 {
        self.digits | Self::ASCII_ZEROS
    }

    /// Appends the digits but for the first `skip`.
    #[inline]
    fn push(self, out: &mut Vec<u8>, skip: usize) {
        push_block(out, &(self.text() >> (8 * skip)).to_le_bytes(), Self::COUNT - skip);
    }

    /// Appends the digits with a point in front of the last `decimals`, 7 at
    /// most.
    #[inline]
    fn push_with_point(self, out: &mut Vec<u8>, decimals: usize) {
        let whole = Self::COUNT - decimals;
        let [point_at, behind_point] = [8 * whole, 8 * whole + 8];
        let text = u128::from(self.text());
        let text = text & ((1 << point_at) - 1)
            | u128::from(b'.') << point_at
            | text >> point_at << behind_point;
        let skip = self.leading_zeros().min(whole - 1);
        push_block(out, &(text >> (8 * skip)).to_le_bytes(), Self::COUNT + 1 - skip);
    }
}

/// Appends a decimal number: digits as the hint says, never an exponent. Zero
/// is `0` whatever its hint; fractions are exact; what is no number is one of
/// three strings.
#[inline]
pub(crate) fn push_real(out: &mut Vec<u8>, real: Real) {
    let magnitude = real.mantissa().unsigned_abs();
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
    match real.hint().code() {
        code @ ..14 => {
            let decimals = 14 - usize::from(code);
            match EightDigits::of(magnitude) {
                Some(digits) if decimals < EightDigits::COUNT => {
                    digits.push_with_point(out, decimals);
                }
                _ => push_long_decimal(out, magnitude, decimals),
            }
        }
        code @ 14..=21 => {
            push_uint(out, magnitude);
            out.extend_from_slice(&b"0000000"[..usize::from(code - 14)]);
        }
        code => push_fraction(out, magnitude, u32::from(code - 22)),
    }
}

/// Appends `magnitude / 10^decimals`, all the decimals of it: 14 at most.
fn push_long_decimal(out: &mut Vec<u8>, magnitude: u64, decimals: usize) {
    let denominator = 10_u64.pow(decimals as u32);
    push_uint(out, magnitude / denominator);
    out.push(b'.');
    let rest = magnitude % denominator;
    if decimals > EightDigits::COUNT {
        push_padded(out, rest / EightDigits::END, decimals - EightDigits::COUNT);
        push_padded(out, rest % EightDigits::END, EightDigits::COUNT);
    } else {
        push_padded(out, rest, decimals);
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
    let Time { hour, minute, second, .. } = time;
    if hour.max(minute).max(second) < 100 {
        push_clock(out, [hour, minute, second]);
    } else {
        push_padded(out, if hour == 255 { 0 } else { hour.into() }, 2);
        out.push(b':');
        push_padded(out, if minute == 255 { 0 } else { minute.into() }, 2);
        if second == 255 {
            return;
        }
        out.push(b':');
        push_padded(out, second.into(), 2);
    }
    let part = |value: u16| if value > 999 { 0 } else { u64::from(value) };
    let [ms, us, ns] = [time.millisecond, time.microsecond, time.nanosecond].map(part);
    if ms + us + ns == 0 {
        return;
    }
    out.push(b'.');
    push_padded(out, ms, 3);
    push_padded(out, us * 1000 + ns, 6);
    trim_zeros(out);
}

/// Appends `14:40:32`, of numbers below 100: the digits of `14040032`, the
/// zeros between them made colons.
fn push_clock(out: &mut Vec<u8>, parts: [u8; 3]) {
    const COLON: u64 = (b':' ^ b'0') as u64;
    const COLONS: u64 = COLON << 16 | COLON << 40;
    let [hour, minute, second] = parts.map(u64::from);
    if let Some(digits) = EightDigits::of(hour * 1_000_000 + minute * 1000 + second) {
        out.extend_from_slice(&(digits.text() ^ COLONS).to_le_bytes());
    }
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
            let padded = written(|out| push_padded(out, value, 7));
            assert_eq!(padded, format!("{value:07}"));
        }
    }

    #[test]
    fn all_numbers_of_eight_digits_are_exact() {
        // Each half of the digits takes all its values beside others.
        for half in 0..10_000 {
            for value in [half, half * 10_000, half * 10_000 + 9999, 99_990_000 + half] {
                assert_eq!(written(|out| push_uint(out, value)), value.to_string());
            }
        }
    }

    #[test]
    fn decimals_of_any_length_have_their_point_where_it_belongs() {
        let powers = (0..20).map(|power| 10_u64.pow(power));
        let numbers = powers.flat_map(|power| [power - 1, power, power + 1, power / 8 * 7]);
        for value in numbers.filter(|value| (1..=i64::MAX as u64).contains(value)) {
            for decimals in 1..=14 {
                let padded = format!("{value:0width$}", width = decimals + 1);
                let (whole, fraction) = padded.split_at(padded.len() - decimals);
                let hint = 14 - decimals as u8;
                assert_eq!(real(value as i64, hint), format!("{whole}.{fraction}"));
            }
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
            (Time::new(23, 59, 60), "23:59:60"),
            (Time::new(99, 100, 7), "99:100:07"),
            (Time::new(255, 0, 99), "00:00:99"),
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
