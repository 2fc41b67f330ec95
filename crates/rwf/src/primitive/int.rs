//! Integers, enumerations and IEEE 754 values.

use crate::error::DecodeError;
use crate::{DataType, Encoded};

/// The value of 1 to 8 two's complement bytes; `None` for other lengths.
#[inline]
pub(crate) fn signed(bytes: &[u8]) -> Option<i64> {
    Some(match *bytes {
        [a] => a as i8 as i64,
        [a, b] => i16::from_be_bytes([a, b]) as i64,
        [a, b, c] => (i32::from_be_bytes([a, b, c, 0]) >> 8) as i64,
        [a, b, c, d] => i32::from_be_bytes([a, b, c, d]) as i64,
        [a, b, c, d, e] => i64::from_be_bytes([a, b, c, d, e, 0, 0, 0]) >> 24,
        [a, b, c, d, e, f] => i64::from_be_bytes([a, b, c, d, e, f, 0, 0]) >> 16,
        [a, b, c, d, e, f, g] => i64::from_be_bytes([a, b, c, d, e, f, g, 0]) >> 8,
        [a, b, c, d, e, f, g, h] => i64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => return None,
    })
}

/// The value of 1 to 8 unsigned bytes; `None` for other lengths.
#[inline]
pub(crate) fn unsigned(bytes: &[u8]) -> Option<u64> {
    Some(match *bytes {
        [a] => a as u64,
        [a, b] => u16::from_be_bytes([a, b]) as u64,
        [a, b, c] => u32::from_be_bytes([0, a, b, c]) as u64,
        [a, b, c, d] => u32::from_be_bytes([a, b, c, d]) as u64,
        [a, b, c, d, e] => u64::from_be_bytes([0, 0, 0, a, b, c, d, e]),
        [a, b, c, d, e, f] => u64::from_be_bytes([0, 0, a, b, c, d, e, f]),
        [a, b, c, d, e, f, g] => u64::from_be_bytes([0, a, b, c, d, e, f, g]),
        [a, b, c, d, e, f, g, h] => u64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => return None,
    })
}

/// How many bytes the shortest two's complement form of a value has, 1 to 8.
#[inline]
pub(crate) const fn signed_len(value: i64) -> usize {
    // Folding negative values onto their complement leaves one sign bit more
    // than the magnitude needs.
    let magnitude = (value ^ (value >> 63)) as u64;
    (64 - magnitude.leading_zeros()) as usize / 8 + 1
}

/// How many bytes the shortest form of an unsigned value has, 1 to 8.
#[inline]
pub(crate) const fn unsigned_len(value: u64) -> usize {
    ((64 - (value | 1).leading_zeros()) as usize).div_ceil(8)
}

/// The shortest two's complement form: the first bytes of 8, and how many.
#[inline]
pub(crate) const fn signed_bytes(value: i64) -> ([u8; 8], usize) {
    let len = signed_len(value);
    ((value << (64 - 8 * len)).to_be_bytes(), len)
}

/// The shortest unsigned form: the first bytes of 8, and how many.
#[inline]
pub(crate) const fn unsigned_bytes(value: u64) -> ([u8; 8], usize) {
    let len = unsigned_len(value);
    ((value << (64 - 8 * len)).to_be_bytes(), len)
}

#[inline]
pub(crate) fn decode_signed(data: &Encoded<'_>) -> Result<Option<i64>, DecodeError> {
    match signed(data.bytes) {
        Some(value) => Ok(Some(value)),
        None if data.bytes.is_empty() => Ok(None),
        None => Err(data.length_error(DataType::INT)),
    }
}

#[inline]
pub(crate) fn decode_unsigned(data: &Encoded<'_>) -> Result<Option<u64>, DecodeError> {
    match unsigned(data.bytes) {
        Some(value) => Ok(Some(value)),
        None if data.bytes.is_empty() => Ok(None),
        None => Err(data.length_error(DataType::UINT)),
    }
}

#[inline]
pub(crate) fn decode_enum(data: &Encoded<'_>) -> Result<Option<u16>, DecodeError> {
    match *data.bytes {
        [] => Ok(None),
        [a] => Ok(Some(a as u16)),
        [a, b] => Ok(Some(u16::from_be_bytes([a, b]))),
        _ => Err(data.length_error(DataType::ENUM)),
    }
}

#[inline]
pub(crate) fn decode_float(data: &Encoded<'_>) -> Result<Option<f32>, DecodeError> {
    match *data.bytes {
        [] => Ok(None),
        [a, b, c, d] => Ok(Some(f32::from_be_bytes([a, b, c, d]))),
        _ => Err(data.length_error(DataType::FLOAT)),
    }
}

#[inline]
pub(crate) fn decode_double(data: &Encoded<'_>) -> Result<Option<f64>, DecodeError> {
    match *data.bytes {
        [] => Ok(None),
        [a, b, c, d, e, f, g, h] => Ok(Some(f64::from_be_bytes([a, b, c, d, e, f, g, h]))),
        _ => Err(data.length_error(DataType::DOUBLE)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_lengths_change_exactly_at_the_byte_borders() {
        for bytes in 1..8 {
            let limit = 1_i64 << (8 * bytes - 1);
            assert_eq!(signed_len(limit - 1), bytes);
            assert_eq!(signed_len(limit), bytes + 1);
            assert_eq!(signed_len(-limit), bytes);
            assert_eq!(signed_len(-limit - 1), bytes + 1);
            let limit = 1_u64 << (8 * bytes);
            assert_eq!(unsigned_len(limit - 1), bytes);
            assert_eq!(unsigned_len(limit), bytes + 1);
        }
        assert_eq!((signed_len(0), signed_len(i64::MIN), signed_len(i64::MAX)), (1, 8, 8));
        assert_eq!((unsigned_len(0), unsigned_len(u64::MAX)), (1, 8));
    }

    #[test]
    fn every_width_reads_with_its_sign() {
        for width in 1..=8 {
            let mut bytes = [0xFF; 8];
            assert_eq!(signed(&bytes[..width]), Some(-1));
            bytes = [0; 8];
            bytes[width - 1] = 5;
            assert_eq!(signed(&bytes[..width]), Some(5));
            assert_eq!(unsigned(&bytes[..width]), Some(5));
        }
        assert_eq!(signed(&[]), None);
        assert_eq!(unsigned(&[0; 9]), None);
    }

    #[test]
    fn lengths_that_fit_no_form_are_errors_and_none_is_blank() {
        let data = |bytes| Encoded::new(DataType::UNKNOWN, bytes);
        assert_eq!(data(&[]).int(), Ok(None));
        assert!(data(&[0; 9]).int().is_err());
        assert!(data(&[0; 9]).uint().is_err());
        assert!(data(&[0; 3]).enumeration().is_err());
        assert!(data(&[0; 3]).float().is_err());
        assert!(data(&[0; 4]).double().is_err());
        let error = data(&[0; 9]).uint().unwrap_err();
        assert_eq!(error.to_string(), "UINT cannot have 9 bytes (byte 0, in the outermost data)");
    }
}
