//! Names and texts as the `value` form writes them.

use core::fmt::Write;

use tapeline_rwf::DataType;

/// The name of a type; `TYPE_200` for one that has none.
pub(crate) fn type_name(data_type: DataType) -> String {
    match data_type.name() {
        Some(name) if data_type != DataType::UNKNOWN => name.to_owned(),
        _ => format!("TYPE_{}", data_type.0),
    }
}

/// The type of a name as [`type_name`] gives it.
pub(crate) fn type_from_name(name: &str) -> Option<DataType> {
    match name.strip_prefix("TYPE_") {
        Some(code) => code.parse().ok().map(DataType),
        None => DataType::from_name(name),
    }
}

/// Lower-case hexadecimal text.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The bytes of hexadecimal text in either case, without blanks.
pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?)).collect()
}

/// Bytes as characters of the same number: nothing is lost, whatever they are.
pub(crate) fn latin1(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| *byte as char).collect()
}

/// The inverse of [`latin1`]; `None` for a character above U+00FF.
pub(crate) fn from_latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|c| u8::try_from(c).ok()).collect()
}

/// The text of bytes that are all printable ASCII.
pub(crate) fn printable(bytes: &[u8]) -> Option<&str> {
    let is_printable = bytes.iter().all(|byte| matches!(byte, 0x20..0x7F));
    if is_printable { str::from_utf8(bytes).ok() } else { None }
}

/// A floating point number as the vendor's tools print it: at least one
/// decimal, an exponent from 10^7 and below 10^-3 on, and two digits at least.
///
/// `shortest` and `two_digits` are the number in Rust's exponent form.
pub(crate) fn float_text(value: f64, shortest: &str, two_digits: Option<&str>) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let scientific = two_digits.filter(|_| !shortest.contains('.')).unwrap_or(shortest);
    let (digits, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let magnitude = value.abs();
    if magnitude != 0.0 && !(1e-3..1e7).contains(&magnitude) {
        let point = if digits.contains('.') { "" } else { ".0" };
        return format!("{digits}{point}E{exponent}");
    }
    plain_decimal(digits, exponent.parse().unwrap_or(0))
}

/// Digits with their point moved by a small exponent.
fn plain_decimal(digits: &str, exponent: i32) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("-", rest));
    let bare: String = digits.chars().filter(|c| *c != '.').collect();
    // A second digit that is only there for the exponent form.
    let bare = if bare.len() == 2 { bare.trim_end_matches('0') } else { &bare };
    let bare = if bare.is_empty() { "0" } else { bare };
    let (whole, fraction) = if exponent < 0 {
        let zeros = "0".repeat((-exponent - 1) as usize);
        ("0".to_owned(), format!("{zeros}{bare}"))
    } else {
        let whole_len = exponent as usize + 1;
        let padded = format!("{bare:0<whole_len$}");
        let (whole, fraction) = padded.split_at(whole_len);
        (whole.to_owned(), fraction.to_owned())
    };
    let fraction = if fraction.is_empty() { "0" } else { &fraction };
    format!("{sign}{whole}.{fraction}")
}

/// The text of a binary32.
pub(crate) fn f32_text(value: f32) -> String {
    let two_digits = format!("{value:.1e}");
    let is_same = two_digits.parse() == Ok(value);
    let shortest = power_of_two_text(value).unwrap_or_else(|| format!("{value:e}"));
    float_text(value.into(), &shortest, is_same.then_some(&two_digits))
}

/// Powers of two have a neighbour below at half the distance of the one above.
/// The vendor's tools keep to the smaller distance on both sides, which takes
/// one digit more now and then.
fn power_of_two_text(value: f32) -> Option<String> {
    const FRACTION_BITS: u32 = 23;
    let is_power = value.is_normal() && value.to_bits().trailing_zeros() >= FRACTION_BITS;
    if !is_power {
        return None;
    }
    let tolerance = (f64::from(value.next_up()) - f64::from(value)).abs() / 4.0;
    (0..=9).map(|decimals| format!("{value:.decimals$e}")).find(|text| {
        text.parse::<f64>().is_ok_and(|read| (read - f64::from(value)).abs() < tolerance)
    })
}

/// The text of a binary64.
pub(crate) fn f64_text(value: f64) -> String {
    let two_digits = format!("{value:.1e}");
    let is_same = two_digits.parse() == Ok(value);
    float_text(value, &format!("{value:e}"), is_same.then_some(&two_digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_as_in_the_vendors_tools() {
        for (value, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (100.0, "100.0"),
            (-2.25, "-2.25"),
            (0.001, "0.001"),
            (0.015, "0.015"),
            (9.0e-4, "9.0E-4"),
            (1e7, "1.0E7"),
            (9_999_999.0, "9999999.0"),
            (1_234_567.5, "1234567.5"),
            (core::f64::consts::PI, "3.141592653589793"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::NEG_INFINITY, "-Infinity"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(f64_text(value), text);
        }
        assert_eq!(f32_text(1.1), "1.1");
        assert_eq!(f32_text(f32::from_bits(1)), "1.4E-45");
        assert_eq!(f32_text(f32::MIN_POSITIVE), "1.17549435E-38");
    }

    #[test]
    fn hexadecimal_and_latin_text_read_back() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unhex(&hex(&all)).as_deref(), Some(all.as_slice()));
        assert_eq!(from_latin1(&latin1(&all)).as_deref(), Some(all.as_slice()));
        assert_eq!(unhex("0g"), None);
        assert_eq!(unhex("012"), None);
        assert_eq!(from_latin1("€"), None);
    }

    #[test]
    fn every_type_has_a_name_that_leads_back() {
        for code in 0..=u8::MAX {
            assert_eq!(type_from_name(&type_name(DataType(code))), Some(DataType(code)));
        }
        assert_eq!(type_from_name("TYPE_256"), None);
        assert_eq!(type_from_name("NONSENSE"), None);
    }
}
