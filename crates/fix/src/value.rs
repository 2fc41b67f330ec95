//! Values of fields.

/// Digits behind the point of a price or quantity.
const DECIMALS: u32 = 8;

const NS_PER_S: u64 = 1_000_000_000;
const S_PER_DAY: u64 = 86_400;

/// A whole number.
pub fn number(value: &[u8]) -> Option<i64> {
    let (is_negative, digits) = sign(value);
    let magnitude = unsigned(digits)?;
    if is_negative { 0_i64.checked_sub_unsigned(magnitude) } else { magnitude.try_into().ok() }
}

/// A price or quantity, with 8 decimals: `4800.25` is 480,025,000,000. `None` for what
/// is no number, or cannot be held without loss.
pub fn decimal(value: &[u8]) -> Option<i64> {
    let (is_negative, digits) = sign(value);
    let (mut magnitude, mut decimals, mut has_point, mut has_digits) = (0_u64, 0, false, false);
    for &byte in digits {
        match byte {
            b'.' if !has_point => has_point = true,
            b'0' if decimals == DECIMALS => {}
            b'0'..=b'9' if decimals < DECIMALS => {
                magnitude = magnitude.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                decimals += u32::from(has_point);
                has_digits = true;
            }
            _ => return None,
        }
    }
    if !has_digits {
        return None;
    }
    let magnitude = magnitude.checked_mul(10_u64.pow(DECIMALS - decimals))?;
    if is_negative { 0_i64.checked_sub_unsigned(magnitude) } else { magnitude.try_into().ok() }
}

/// A time as nanoseconds since 1970, from `20261126-21:11:13` with three, six, nine or
/// no decimals.
pub fn timestamp_ns(value: &[u8]) -> Option<u64> {
    let (whole, fraction) = value.split_at_checked(17)?;
    let [b'-', b':', b':'] = [whole[8], whole[11], whole[14]] else { return None };
    let part = |from: usize, to: usize| unsigned(&whole[from..to]);
    let (year, month, day) = (part(0, 4)?, part(4, 6)?, part(6, 8)?);
    let (hour, minute, second) = (part(9, 11)?, part(12, 14)?, part(15, 17)?);
    // A leap second is the first one of the next minute.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(year, month, day)? * S_PER_DAY + hour * 3600 + minute * 60 + second;
    let ns = match fraction {
        [] => 0,
        [b'.', digits @ ..] => {
            let ns_each = match digits.len() {
                3 => 1_000_000,
                6 => 1000,
                9 => 1,
                _ => return None,
            };
            unsigned(digits)? * ns_each
        }
        _ => return None,
    };
    Some(seconds * NS_PER_S + ns)
}

/// Digits and nothing else, at least one.
pub(crate) fn unsigned(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, &digit| {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

fn sign(value: &[u8]) -> (bool, &[u8]) {
    match value {
        [b'-', digits @ ..] => (true, digits),
        _ => (false, value),
    }
}

/// Years whose nanoseconds a u64 holds.
const YEARS: std::ops::RangeInclusive<u64> = 1970..=2553;

/// Days from 1970 until a date.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let len = match month {
        2 => 28 + u64::from(is_leap),
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if !YEARS.contains(&year) || !(1..=len).contains(&day) {
        return None;
    }
    // Years that begin in March have their odd day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year / 4 - year / 100 + year / 400;
    Some(before + (153 * month + 2) / 5 + day - 1 - DAYS_TO_1970)
}

/// Days from the first of March of year 0 to 1970.
const DAYS_TO_1970: u64 = 719_468;

/// A moment as it is written: `20261126-21:11:13.123456789`.
pub(crate) fn timestamp(ns_since_1970: u64) -> [u8; 27] {
    let (seconds, ns) = (ns_since_1970 / NS_PER_S, ns_since_1970 % NS_PER_S);
    let (year, month, day) = date(seconds / S_PER_DAY);
    let second = seconds % S_PER_DAY;
    let mut text = *b"00000000-00:00:00.000000000";
    put(&mut text[0..4], year);
    put(&mut text[4..6], month);
    put(&mut text[6..8], day);
    put(&mut text[9..11], second / 3600);
    put(&mut text[12..14], second / 60 % 60);
    put(&mut text[15..17], second % 60);
    put(&mut text[18..27], ns);
    text
}

/// The numbers below a hundred, in two digits each.
pub(crate) static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < 100 {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// Writes a number into as many digits as there are places, zeros first.
#[inline]
pub(crate) fn put(places: &mut [u8], mut number: u64) {
    let mut pairs = places.rchunks_exact_mut(2);
    for pair in &mut pairs {
        pair.copy_from_slice(&PAIRS[(number % 100) as usize]);
        number /= 100;
    }
    if let [first] = pairs.into_remainder() {
        *first = b'0' + (number % 10) as u8;
    }
}

/// The date so many days behind 1970.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_TO_1970;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (era * 400 + year, month, day)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn prices_are_read_without_loss_or_not_at_all() {
        for (text, expected) in [
            ("4800.25", Some(480_025_000_000)),
            ("0", Some(0)),
            ("-1.5", Some(-150_000_000)),
            ("0.00000001", Some(1)),
            ("0.000000010", Some(1)),
            ("007.", Some(700_000_000)),
            (".5", Some(50_000_000)),
            ("92233720368.54775807", Some(i64::MAX)),
            ("-92233720368.54775808", Some(i64::MIN)),
            ("92233720368.54775808", None),
            ("0.000000001", None),
            ("99999999999999999999", None),
            ("", None),
            ("-", None),
            (".", None),
            ("1.2.3", None),
            ("1e5", None),
            ("+1", None),
            (" 1", None),
        ] {
            assert_eq!(decimal(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn whole_numbers_are_read_to_both_ends() {
        for (text, expected) in [
            ("0", Some(0)),
            ("007", Some(7)),
            ("-12", Some(-12)),
            ("9223372036854775807", Some(i64::MAX)),
            ("-9223372036854775808", Some(i64::MIN)),
            ("9223372036854775808", None),
            ("", None),
            ("-", None),
            ("1.0", None),
        ] {
            assert_eq!(number(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn times_are_read_with_the_decimals_that_there_may_be() {
        let noon = 1_795_694_400_000_000_000;
        for (text, expected) in [
            ("19700101-00:00:00", Some(0)),
            ("20261126-12:00:00", Some(noon)),
            ("20261126-12:00:00.001", Some(noon + 1_000_000)),
            ("20261126-12:00:00.000001", Some(noon + 1000)),
            ("20261126-12:00:00.000000001", Some(noon + 1)),
            ("20240229-23:59:60", Some(1_709_251_200_000_000_000)),
            ("20000229-00:00:00", Some(951_782_400_000_000_000)),
            ("21000229-00:00:00", None),
            ("20230229-00:00:00", None),
            ("20261301-00:00:00", None),
            ("20261126-24:00:00", None),
            ("20261126-12:60:00", None),
            ("20261126-12:00:61", None),
            ("20261126-12:00:00.", None),
            ("20261126-12:00:00.01", None),
            ("20261126 12:00:00", None),
            ("19691231-23:59:59", None),
            ("99991231-23:59:59", None),
            ("20261126", None),
            ("2026112é-12:00:00", None),
        ] {
            assert_eq!(timestamp_ns(text.as_bytes()), expected, "{text}");
        }
        assert_eq!(&timestamp(noon + 123_456_789), b"20261126-12:00:00.123456789");
    }

    proptest! {
        #[test]
        fn every_moment_is_read_as_it_was_written(ns in 0..18_400_000_000_000_000_000_u64) {
            prop_assert_eq!(timestamp_ns(&timestamp(ns)), Some(ns));
        }

        #[test]
        fn no_value_is_too_strange(value in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = (number(&value), decimal(&value), timestamp_ns(&value));
        }
    }
}
