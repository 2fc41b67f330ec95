//! The day of New York, by which its exchanges tell the time.

use time::{Month, UtcDateTime};

const S_PER_HOUR: i64 = 3_600;
const S_PER_DAY: i64 = 24 * S_PER_HOUR;
const NS_PER_S: u64 = 1_000_000_000;

/// Midnight of the day in New York that a moment belongs to; both in nanoseconds since
/// 1970 UTC. By the rule of since 2007: summer time from the second Sunday of March to
/// the first one of November, at two o'clock.
pub fn new_york_midnight_ns(at_ns: u64) -> u64 {
    let at_s = (at_ns / NS_PER_S) as i64;
    let local_s = at_s - behind_s(at_s);
    let midnight_s = local_s - local_s.rem_euclid(S_PER_DAY);
    // The clock changes at two: at midnight it is what it was the hour before.
    let utc_s = midnight_s + behind_s(midnight_s + 4 * S_PER_HOUR);
    u64::try_from(utc_s).unwrap_or(0) * NS_PER_S
}

/// By how much New York is behind UTC.
fn behind_s(utc_s: i64) -> i64 {
    let is_summer = UtcDateTime::from_unix_timestamp(utc_s).is_ok_and(|at| {
        let begin = sunday_s(at.year(), Month::March, 2) + 7 * S_PER_HOUR;
        let end = sunday_s(at.year(), Month::November, 1) + 6 * S_PER_HOUR;
        (begin..end).contains(&utc_s)
    });
    if is_summer { 4 * S_PER_HOUR } else { 5 * S_PER_HOUR }
}

/// Midnight UTC of a month's Sunday, by its number from 1.
fn sunday_s(year: i32, month: Month, number: i64) -> i64 {
    let Ok(first) = time::Date::from_calendar_date(year, month, 1) else { return 0 };
    let to_sunday = (7 - i64::from(first.weekday().number_days_from_sunday())) % 7;
    let first_s = first.midnight().as_utc().unix_timestamp();
    first_s + (to_sunday + 7 * (number - 1)) * S_PER_DAY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn midnight_is_that_of_new_york_in_summer_and_winter() {
        // Each a moment and its midnight, in seconds, as `date` gives them for
        // America/New_York.
        for (at, midnight) in [
            // 2026-11-29 07:55:05 UTC.
            (1_795_938_905, 1_795_928_400),
            // 2026-07-01 03:59:59 UTC is still the last of June.
            (1_782_878_399, 1_782_792_000),
            (1_782_878_400, 1_782_878_400),
            // The 8th of March 2026 begins in winter and ends in summer.
            (1_772_953_199, 1_772_946_000),
            (1_773_000_000, 1_772_946_000),
            // The 1st of November 2026 the other way round.
            (1_793_511_000, 1_793_505_600),
            (1_793_590_000, 1_793_505_600),
        ] {
            let found = new_york_midnight_ns(at * NS_PER_S + 5) / NS_PER_S;
            assert_eq!(found, midnight, "{at}");
        }
    }
}
