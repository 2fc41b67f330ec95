//! Capture times as text.

/// Nanoseconds since 1970 as `2025-03-17T12:34:56.789123456Z`.
pub fn utc(time_ns: u64) -> String {
    const DAY_S: u64 = 86_400;
    let (seconds, nanos) = (time_ns / 1_000_000_000, time_ns % 1_000_000_000);
    let (year, month, day) = civil(seconds / DAY_S);
    let second = seconds % DAY_S;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
}

/// Year, month and day of a day since 1970. Years begin in March here, so that
/// the leap day is the last of its year; 400 years have 146097 days.
fn civil(days: u64) -> (u64, u64, u64) {
    const MARCH_0000: u64 = 719_468;
    const ERA_DAYS: u64 = 146_097;
    let shifted = days + MARCH_0000;
    let (era, day) = (shifted / ERA_DAYS, shifted % ERA_DAYS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day_of_year = day - (365 * year + year / 4 - year / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day_of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_as_the_calendar_has_them() {
        assert_eq!(utc(0), "1970-01-01T00:00:00.000000000Z");
        assert_eq!(utc(951_782_399_000_000_001), "2000-02-28T23:59:59.000000001Z");
        assert_eq!(utc(951_868_800_000_000_000), "2000-03-01T00:00:00.000000000Z");
        assert_eq!(utc(951_782_400_000_000_000), "2000-02-29T00:00:00.000000000Z");
        assert_eq!(utc(1_742_214_896_789_123_456), "2025-03-17T12:34:56.789123456Z");
        assert_eq!(utc(4_107_542_399_000_000_000), "2100-02-28T23:59:59.000000000Z");
        assert_eq!(utc(u64::MAX), "2554-07-21T23:34:33.709551615Z");
    }
}
