//! Capture times as text.

use std::time::Duration;

use time::UtcDateTime;

/// Nanoseconds since 1970 as `2025-03-17T12:34:56.789123456Z`.
pub fn utc(time_ns: u64) -> String {
    // The calendar goes on to 9999, the nanoseconds to 2554.
    let at = UtcDateTime::UNIX_EPOCH + Duration::from_nanos(time_ns);
    let (year, month, day) = (at.year(), u8::from(at.month()), at.day());
    let (hour, minute, second, nanos) = at.as_hms_nano();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanos:09}Z")
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
