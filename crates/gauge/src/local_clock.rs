//! The time of the day where the host is, as classic tools print it.

use std::time::{SystemTime, UNIX_EPOCH};

use time::{OffsetDateTime, UtcOffset};

/// A clock of the host's zone.
pub(crate) struct LocalClock {
    offset: UtcOffset,
}

impl LocalClock {
    pub(crate) fn new() -> Self {
        // Only the C library knows the zone, and it is not asked from here.
        let told = std::process::Command::new("date").arg("+%z").output().ok();
        let text = told.and_then(|told| String::from_utf8(told.stdout).ok()).unwrap_or_default();
        Self { offset: offset(text.trim()).unwrap_or(UtcOffset::UTC) }
    }

    fn now(&self) -> Option<OffsetDateTime> {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let now = OffsetDateTime::from_unix_timestamp_nanos(since.as_nanos() as i128).ok()?;
        Some(now.to_offset(self.offset))
    }

    /// `20190312130441.972`
    pub(crate) fn stamp(&self) -> String {
        self.now().map_or("-".to_owned(), stamp)
    }

    /// `130441.972`
    pub(crate) fn time_of_day(&self) -> String {
        self.now().map_or("-".to_owned(), |now| stamp(now).split_off(8))
    }
}

/// `+0130`
fn offset(text: &str) -> Option<UtcOffset> {
    let (sign, digits) = text.split_at_checked(1)?;
    let number = |range| digits.get(range).and_then(|part: &str| part.parse::<i8>().ok());
    let sign = if sign == "-" { -1 } else { 1 };
    UtcOffset::from_hms(sign * number(0..2)?, sign * number(2..4)?, 0).ok()
}

pub(crate) fn stamp(at: OffsetDateTime) -> String {
    let (hour, minute, second, milli) = at.to_hms_milli();
    let month = u8::from(at.month());
    format!("{:04}{month:02}{:02}{hour:02}{minute:02}{second:02}.{milli:03}", at.year(), at.day())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_hours_and_minutes() {
        assert_eq!(offset("+0130").unwrap().whole_minutes(), 90);
        assert_eq!(offset("-0500").unwrap().whole_minutes(), -300);
        assert_eq!(offset(""), None);
    }

    #[test]
    fn a_stamp_has_the_day_and_milliseconds() {
        let at = OffsetDateTime::from_unix_timestamp_nanos(1_552_395_881_972_000_000).unwrap();
        assert_eq!(stamp(at), "20190312130441.972");
        assert_eq!(LocalClock::new().time_of_day().len(), 10);
    }
}
