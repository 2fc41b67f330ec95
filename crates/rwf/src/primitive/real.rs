//! Reals: an integer and a hint that scales it.

use core::fmt;
use core::str::FromStr;

use super::int;
use crate::error::{DecodeError, DecodeErrorKind, Path};
use crate::{DataType, Encoded};

/// How the integer of a [`Real`] is scaled.
///
/// ```text
///  0..21   value × 10^(hint − 14)      12 = two decimals, 14 = integer
/// 22..30   value ÷ 2^(hint − 22)       25 = eighths, 30 = 256ths
/// 33 34 35 +infinity, −infinity, not a number: no value
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RealHint(u8);

impl RealHint {
    /// Integers: × 10^0.
    pub const INTEGER: Self = Self(14);
    /// Positive infinity.
    pub const INFINITY: Self = Self(33);
    /// Negative infinity.
    pub const NEG_INFINITY: Self = Self(34);
    /// Not a number.
    pub const NAN: Self = Self(35);

    /// The hint of a wire code: 0 to 30 or 33 to 35.
    #[inline]
    pub const fn new(code: u8) -> Option<Self> {
        match code {
            0..=30 | 33..=35 => Some(Self(code)),
            _ => None,
        }
    }

    /// The hint for a number of decimals, 0 to 14; more are 14.
    pub const fn decimals(decimals: u8) -> Self {
        Self(14 - if decimals > 14 { 14 } else { decimals })
    }

    /// The hint for fractions of 1/2^n, 0 to 8; more are 8.
    pub const fn fractions(log2_denominator: u8) -> Self {
        Self(22 + if log2_denominator > 8 { 8 } else { log2_denominator })
    }

    /// The code on the wire.
    #[inline]
    pub const fn code(self) -> u8 {
        self.0
    }

    /// Whether the hint scales a value, rather than being one of the specials.
    #[inline]
    pub const fn is_finite(self) -> bool {
        self.0 <= 30
    }
}

/// A price, a size or another number with a fixed scale: exact, unlike binary
/// floating point.
///
/// ```text
/// ┌─────────┐┌──────────────────────────────┐
/// │ u8 hint ││ 1..8 bytes, two's complement │   45.12 = 0c 11 a0
/// └─────────┘└──────────────────────────────┘
/// ```
///
/// Two reals are equal when hint and integer are: 4.50 and 4.5 differ, since
/// the number of decimals is information too. [`to_f64`](Self::to_f64)
/// compares values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Real {
    mantissa: i64,
    hint: RealHint,
}

impl Real {
    /// Positive infinity.
    pub const INFINITY: Self = Self { mantissa: 0, hint: RealHint::INFINITY };
    /// Negative infinity.
    pub const NEG_INFINITY: Self = Self { mantissa: 0, hint: RealHint::NEG_INFINITY };
    /// Not a number.
    pub const NAN: Self = Self { mantissa: 0, hint: RealHint::NAN };

    /// An integer scaled by a hint. The specials have no integer: theirs is
    /// taken as 0.
    #[inline]
    pub const fn new(mantissa: i64, hint: RealHint) -> Self {
        Self { mantissa: if hint.is_finite() { mantissa } else { 0 }, hint }
    }

    /// An integer with a number of decimals, 0 to 14: `decimal(4512, 2)` is
    /// 45.12.
    #[inline]
    pub const fn decimal(mantissa: i64, decimals: u8) -> Self {
        Self::new(mantissa, RealHint::decimals(decimals))
    }

    /// The nearest value with this hint; `None` where the integer would not
    /// fit 64 bits. Infinities and not-a-number give the specials.
    pub fn from_f64(value: f64, hint: RealHint) -> Option<Self> {
        if value.is_nan() {
            return Some(Self::NAN);
        }
        if value.is_infinite() {
            return Some(if value > 0.0 { Self::INFINITY } else { Self::NEG_INFINITY });
        }
        let scaled = match hint.0 {
            code @ 0..=21 => value * 10_f64.powi(14 - code as i32),
            code @ 22..=30 => value * f64::from(1_u16 << (code - 22)),
            _ => return None,
        };
        let rounded = scaled.round();
        // 2^63 is the first value past the range; -2^63 is in it.
        let limit = -(i64::MIN as f64);
        (rounded >= -limit && rounded < limit).then(|| Self::new(rounded as i64, hint))
    }

    /// The integer, unscaled; 0 for the specials.
    #[inline]
    pub const fn mantissa(self) -> i64 {
        self.mantissa
    }

    /// The scale.
    #[inline]
    pub const fn hint(self) -> RealHint {
        self.hint
    }

    /// As a floating point number, within two units of its last place.
    pub fn to_f64(self) -> f64 {
        let value = self.mantissa as f64;
        match self.hint.0 {
            code @ 0..=13 => value / 10_f64.powi(14 - code as i32),
            code @ 14..=21 => value * 10_f64.powi(code as i32 - 14),
            code @ 22..=30 => value / f64::from(1_u16 << (code - 22)),
            33 => f64::INFINITY,
            34 => f64::NEG_INFINITY,
            _ => f64::NAN,
        }
    }

    /// The rules, in order: no bytes, hint 32 or a hint alone are blank;
    /// 33 to 35 are specials whatever follows; the two top bits of the hint
    /// byte do not count, nor does bit 5 of the codes 36 to 63.
    #[inline]
    pub(crate) fn decode(data: &Encoded<'_>) -> Result<Option<Self>, DecodeError> {
        let Some((&first, value)) = data.bytes.split_first() else { return Ok(None) };
        let code = first & 0x3F;
        // The common case in one comparison: an ordinary hint and a value.
        if code <= 30
            && let Some(mantissa) = int::signed(value)
        {
            return Ok(Some(Self { mantissa, hint: RealHint(code) }));
        }
        Self::decode_unusual(data.bytes, data.data_type(), data.offset, data.path)
    }

    #[cold]
    #[inline(never)]
    fn decode_unusual(
        bytes: &[u8],
        data_type: DataType,
        offset: u32,
        path: Path,
    ) -> Result<Option<Self>, DecodeError> {
        let data = Encoded::inside(bytes, data_type, offset, path);
        let Some((&first, value)) = bytes.split_first() else { return Ok(None) };
        let code = first & 0x3F;
        // Behind a format byte bit 5 means blank, with no specials.
        if matches!(data_type, DataType::REAL_4RB | DataType::REAL_8RB) && code & 0x20 != 0 {
            return Ok(None);
        }
        match code {
            33..=35 => return Ok(Some(Self::new(0, RealHint(code)))),
            32 => return Ok(None),
            _ if value.is_empty() => return Ok(None),
            _ => {}
        }
        match (RealHint::new(code & 0x1F), int::signed(value)) {
            (None, _) => Err(data.error(DecodeErrorKind::ReservedHint)),
            (_, None) => Err(data.length_error(DataType::REAL)),
            (Some(hint), Some(mantissa)) => Ok(Some(Self { mantissa, hint })),
        }
    }
}

impl fmt::Display for Real {
    /// Decimals exactly (`45.12`, `4.50`), fractions as whole number and
    /// fraction (`99 3/8`), the specials as `inf`, `-inf` and `nan`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.mantissa.unsigned_abs();
        let mut text = String::new();
        match self.hint.0 {
            code @ 0..=13 => {
                let unit = 10_u64.pow(14 - code as u32);
                let decimals = 14 - code as usize;
                text = format!("{}.{:0decimals$}", magnitude / unit, magnitude % unit);
            }
            code @ 14..=21 => {
                let scaled = u128::from(magnitude) * 10_u128.pow(code as u32 - 14);
                text = scaled.to_string();
            }
            code @ 22..=30 => {
                let denominator = 1_u64 << (code - 22);
                let (whole, part) = (magnitude / denominator, magnitude % denominator);
                text = match (whole, part) {
                    (whole, 0) => whole.to_string(),
                    (0, part) => format!("{part}/{denominator}"),
                    (whole, part) => format!("{whole} {part}/{denominator}"),
                };
            }
            33 => text.push_str("inf"),
            34 => return f.pad_integral(false, "", "inf"),
            _ => text.push_str("nan"),
        }
        f.pad_integral(self.mantissa >= 0, "", &text)
    }
}

/// The text is no decimal number of at most 14 decimals whose digits fit 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a decimal number with at most 14 decimals, or beyond 64 bits")]
pub struct ParseRealError;

impl FromStr for Real {
    type Err = ParseRealError;

    /// Reads a plain decimal number; the number of decimals gives the hint.
    fn from_str(text: &str) -> Result<Self, ParseRealError> {
        let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
        let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
        let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let count = u8::try_from(decimals.len()).map_err(|_| ParseRealError)?;
        if digits.is_empty() || !all_digits(digits) || !all_digits(decimals) || count > 14 {
            return Err(ParseRealError);
        }
        let mantissa = format!("{whole}{decimals}").parse().map_err(|_| ParseRealError)?;
        Ok(Self::decimal(mantissa, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Result<Option<Real>, DecodeError> {
        Encoded::new(DataType::REAL, bytes).real()
    }

    #[test]
    fn a_price_is_its_integer_and_its_hint() {
        let price = decode(&[0x0C, 0x11, 0xA0]).expect("well-formed").expect("not blank");
        assert_eq!(price, Real::decimal(4512, 2));
        assert_eq!(price.to_string(), "45.12");
        assert!((price.to_f64() - 45.12).abs() < 1e-12);
    }

    #[test]
    fn blanks_and_specials_follow_the_hint() {
        for blank in [&[][..], &[0x00], &[0x20], &[0x20, 0x07], &[0x0E]] {
            assert_eq!(decode(blank), Ok(None), "{blank:x?}");
        }
        assert_eq!(decode(&[0x21, 0x05]), Ok(Some(Real::INFINITY)));
        assert_eq!(decode(&[0x22]), Ok(Some(Real::NEG_INFINITY)));
        assert_eq!(decode(&[0x23]), Ok(Some(Real::NAN)));
        assert_eq!(decode(&[0xCE, 0x01]), Ok(Some(Real::decimal(1, 0))));
        assert_eq!(decode(&[0x24, 0x01]), Ok(Some(Real::new(1, RealHint(4)))));
    }

    #[test]
    fn the_reserved_hint_and_nine_value_bytes_are_errors() {
        assert_eq!(decode(&[0x1F, 1]).unwrap_err().kind, DecodeErrorKind::ReservedHint);
        assert!(decode(&[14, 0, 0, 0, 0, 0, 0, 0, 0, 1]).is_err());
    }

    #[test]
    fn text_is_exact_in_both_directions() {
        for (text, mantissa, decimals) in
            [("45.12", 4512, 2), ("-0.05", -5, 2), ("4.50", 450, 2), ("7", 7, 0)]
        {
            let real: Real = text.parse().expect("a decimal number");
            assert_eq!(real, Real::decimal(mantissa, decimals));
            assert_eq!(real.to_string(), text);
        }
        for bad in ["", ".5", "1.2.3", "abc", "1e5", "99999999999999999999", "0.123456789012345"] {
            assert_eq!(bad.parse::<Real>(), Err(ParseRealError), "{bad}");
        }
        assert_eq!(Real::new(795, RealHint::fractions(3)).to_string(), "99 3/8");
        assert_eq!(Real::new(-3, RealHint::fractions(2)).to_string(), "-3/4");
        assert_eq!(Real::new(5, RealHint(21)).to_string(), "50000000");
        assert_eq!(Real::new(i64::MIN, RealHint(21)).to_string(), "-92233720368547758080000000");
        assert_eq!(Real::NEG_INFINITY.to_string(), "-inf");
    }

    #[test]
    fn floats_round_to_the_hint_or_do_not_fit() {
        let two = RealHint::decimals(2);
        assert_eq!(Real::from_f64(45.123, two), Some(Real::decimal(4512, 2)));
        assert_eq!(Real::from_f64(-0.125, RealHint::fractions(3)).map(Real::mantissa), Some(-1));
        assert_eq!(Real::from_f64(1e300, two), None);
        assert_eq!(Real::from_f64(f64::NAN, two), Some(Real::NAN));
        assert_eq!(Real::from_f64(9.3e18, RealHint::INTEGER), None);
        assert_eq!(
            Real::from_f64(-9_223_372_036_854_775_808.0, RealHint::INTEGER).map(Real::mantissa),
            Some(i64::MIN)
        );
    }
}
