//! Decimal numbers.

use tapeline_rwf::{Real, RealHint};

use crate::tape::{ShortNumber, Value};

/// Most decimals that RWF can say.
const MAX_DECIMALS: i32 = 14;
/// Largest exponent that RWF can say.
const MAX_EXPONENT: i32 = 7;

/// A decimal number in JSON's digits, with all of them kept: `45.50` is 4550
/// with two decimals. What RWF cannot say is none: more decimals or a larger
/// exponent than it has (zeros do not count), a mantissa beyond 64 bits,
/// also as a fraction.
#[inline]
pub(super) fn real(number: &Value<'_>) -> Option<Real> {
    number.short_number().and_then(short).or_else(|| any(number.raw()))
}

/// A number that fits as it is written, as nearly all do.
#[inline]
pub(super) fn short(number: ShortNumber) -> Option<Real> {
    let hint = RealHint::new((MAX_DECIMALS as u8).checked_sub(number.decimals)?)?;
    let mantissa = i64::try_from(number.digits).ok()?;
    Some(Real::new(if number.is_negative { -mantissa } else { mantissa }, hint))
}

/// An integer in digits, of which none is lost; a number with decimals or an
/// exponent is none.
pub(super) fn int(digits: &[u8]) -> Option<i128> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Powers of ten beyond which no digits help.
const FAR: i32 = 100;

fn any(text: &str) -> Option<Real> {
    let (is_negative, magnitude) = match text.strip_prefix('-') {
        Some(magnitude) => (true, magnitude),
        None => (false, text),
    };
    let (digits, exponent) = match magnitude.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse::<i32>().ok()?),
        None => (magnitude, 0),
    };
    let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
    let mut exponent = exponent.checked_sub(i32::try_from(decimals.len()).ok()?)?;
    let mut mantissa = 0_i128;
    let significant = whole.len() + decimals.len()
        - whole.bytes().chain(decimals.bytes()).take_while(|digit| *digit == b'0').count();
    if significant > 38 {
        return None;
    }
    for digit in whole.bytes().chain(decimals.bytes()) {
        mantissa = mantissa * 10 + i128::from(digit.checked_sub(b'0').filter(|d| *d < 10)?);
    }
    if mantissa == 0 {
        exponent = exponent.clamp(-MAX_DECIMALS, 0);
    } else if !(-FAR..=FAR).contains(&exponent) {
        return None;
    }
    let is_too_wide = |mantissa: i128| mantissa > i128::from(i64::MAX) + i128::from(is_negative);
    while (exponent < -MAX_DECIMALS || is_too_wide(mantissa)) && mantissa % 10 == 0 && mantissa > 0
    {
        mantissa /= 10;
        exponent += 1;
    }
    while exponent > MAX_EXPONENT && !is_too_wide(mantissa) {
        mantissa *= 10;
        exponent -= 1;
    }
    let hint = if is_too_wide(mantissa) {
        let log2_denominator = u8::try_from(-exponent).ok().filter(|log2| *log2 <= 8)?;
        mantissa = halves(mantissa, log2_denominator).filter(|halves| !is_too_wide(*halves))?;
        RealHint::fractions(log2_denominator)
    } else {
        RealHint::new(u8::try_from(MAX_DECIMALS + exponent).ok()?)
            .filter(|hint| hint.code() <= 21)?
    };
    let signed = i64::try_from(if is_negative { -mantissa } else { mantissa }).ok()?;
    Some(Real::new(signed, hint))
}

/// How many 1/2^n make `mantissa` × 10^-n, if that many in whole: a fraction
/// has fewer digits than the decimals that say it.
fn halves(mantissa: i128, n: u8) -> Option<i128> {
    let unit = 5_i128.pow(n.into());
    (mantissa % unit == 0).then_some(mantissa / unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tape::Tape;

    /// What is made of a number in a text.
    fn of<T>(text: &str, made: impl FnOnce(&Value<'_>) -> T) -> T {
        let mut tape = Tape::default();
        made(&tape.parse(text, 8).expect("JSON").root())
    }

    fn short_uint(text: &str) -> Option<u64> {
        Tape::default().parse(text, 8).expect("JSON").root().short_uint()
    }

    #[test]
    fn digits_are_kept_as_they_are_written() {
        for (text, mantissa, hint) in [
            ("45.50", 4550, 12),
            ("-0.5", -5, 13),
            ("5000", 5000, 14),
            ("1.5e3", 15, 16),
            ("1E-14", 1, 0),
            ("1.50e-13", 15, 0),
            ("1e9", 100, 21),
            ("0.00", 0, 12),
            ("0e99", 0, 14),
            ("007", 7, 14),
            ("9223372036854775807", i64::MAX, 14),
            ("-9223372036854775808", i64::MIN, 14),
            ("92233720368547758070000000", i64::MAX, 21),
            ("0.1000000000000000000", 10_000_000_000_000, 0),
            ("36028797018963967.99609375", i64::MAX, 30),
            ("-4611686018427387904.0", i64::MIN / 2, 14),
            ("-4611686018427387903.5", -i64::MAX, 23),
        ] {
            let hint = RealHint::new(hint).expect("a hint");
            assert_eq!(of(text, real), Some(Real::new(mantissa, hint)), "{text}");
        }
    }

    #[test]
    fn integers_are_read_to_the_last_digit() {
        for (digits, number) in [
            ("0", Some(0)),
            ("-0", Some(0)),
            ("007", Some(7)),
            ("-999999999999999999", Some(-999_999_999_999_999_999)),
            ("18446744073709551615", Some(i128::from(u64::MAX))),
            ("-9223372036854775808", Some(i128::from(i64::MIN))),
            ("1.0", None),
            ("1e3", None),
            ("1000000000000000000000000000000000000000000", None),
        ] {
            assert_eq!(int(digits.as_bytes()), number, "{digits}");
            if let Some(short) = short_uint(digits) {
                assert_eq!(Some(i128::from(short)), number, "{digits}");
            }
        }
        assert_eq!(short_uint("9999999999999999999"), Some(9_999_999_999_999_999_999));
        assert_eq!(short_uint("10000000000000000000"), None);
        assert_eq!(short_uint("00000000000000000007"), None);
        assert_eq!(short_uint("-1"), None);
        assert_eq!(short_uint("1.0"), None);
    }

    #[test]
    fn the_short_way_gives_what_the_long_one_gives() {
        for text in [
            "0",
            "-0",
            "7",
            "45.50",
            "-0.5",
            "0.00",
            "007",
            "12345678",
            "1234567.5",
            "-00.50",
            "1763823600123456789",
            "-9223372036854775807",
            "92233720368547.75807",
        ] {
            let found = of(text, |number| number.short_number().and_then(short));
            assert!(found.is_some(), "{text}");
            assert_eq!(found, any(text), "{text}");
        }
        for text in ["9223372036854775808", "-9223372036854775808", "9999999999999999999"] {
            assert_eq!(of(text, |number| number.short_number().and_then(short)), None, "{text}");
        }
        for text in ["0.00000000000001", "-0.00000000000001", "0.123456789012345", "1e3"] {
            assert_eq!(of(text, real), any(text), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_none() {
        for text in [
            "1.5e-20",
            "9223372036854775808",
            "9223372036854775807.5",
            "4611686018427387903.25",
            "1e30",
            "1e99999999999",
            "0.123456789012345",
            "1e-2147483648",
            "100000000000000000000e2147483647",
            "99999999999999999999e-2147483648",
            "123456789012345678901234567890123456789012345678",
        ] {
            assert_eq!(of(text, real), None, "{text}");
        }
    }
}
