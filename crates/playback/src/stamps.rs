//! Which updates carry the time.

use tapeline_rwf::{DataType, UpdateMsg};
use tapeline_time::{Time, host_now};

use crate::pace::Pace;

/// Now, in microseconds of the host's monotonic clock, which all its processes
/// share.
pub fn now_us() -> u64 {
    host_now().as_nanos() / 1000
}

/// How old the data of an update is, in microseconds, if this field of it says
/// when it was published on this clock.
pub fn age_us(msg: &UpdateMsg<'_>, stamp_field: i16) -> Option<u64> {
    let list = msg.payload.field_list().ok()?;
    let entry = list.field(stamp_field).ok()??;
    let stamp = entry.typed(DataType::UINT).uint().ok()??;
    now_us().checked_sub(stamp)
}

/// Spreads the stamps of a burst over its places. A golden section of the turn:
/// consecutive places are far from each other, and all are visited alike.
const STRIDE: u32 = 0x9E37_79B9;

/// How many updates carry the time, and whose.
#[derive(Clone, Debug)]
pub struct Stamps {
    pace: Pace,
    ticks_per_s: u64,
    /// The one item whose updates carry it; any item's without.
    item: Option<String>,
    /// Stamps that were due and found no update.
    owed: u64,
    /// Where in a burst the next stamp goes: the fraction of the burst, of 2³².
    place: u32,
}

/// Which updates of one burst carry the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamped {
    count: u64,
    of: u64,
    shift: u64,
}

impl Stamps {
    /// So many stamped updates a second, not more often than the ticks of a
    /// second.
    pub fn new(now: Time, rate: u64, ticks_per_s: u64) -> Self {
        let pace = Pace::new(now, rate, rate.clamp(1, ticks_per_s.max(1)));
        Self { pace, ticks_per_s, item: None, owed: 0, place: 0 }
    }

    /// The same for the updates of one item alone.
    pub fn on_item(self, name: String) -> Self {
        Self { item: Some(name), ..self }
    }

    /// The item whose updates alone carry the time, if it is one.
    pub(super) fn item(&self) -> Option<&str> {
        self.item.as_deref()
    }

    pub(super) fn set_rate(&mut self, now: Time, rate: u64) {
        let item = self.item.take();
        *self = Self { item, place: self.place, ..Self::new(now, rate, self.ticks_per_s) };
    }

    pub(super) fn rate(&self) -> u64 {
        self.pace.rate()
    }

    /// The stamps that are due by now go by, as there is nothing to stamp.
    pub(super) fn skip(&mut self, now: Time) {
        self.pace.skip(now);
        self.owed = 0;
    }

    /// Which of so many updates that leave now carry the time.
    pub(super) fn of_burst(&mut self, now: Time, updates: u64) -> Stamped {
        // What a second of updates could not carry is not made up for.
        self.owed = (self.owed + self.pace.due(now)).min(self.pace.rate());
        let count = self.owed.min(updates);
        if count == 0 {
            return Stamped { count, of: 1, shift: 0 };
        }
        self.owed -= count;
        let shift = (u128::from(self.place) * u128::from(updates)) >> 32;
        self.place = self.place.wrapping_add(STRIDE);
        Stamped { count, of: updates, shift: shift as u64 }
    }
}

impl Stamped {
    /// Whether this update of the burst does, counted from 0.
    #[inline]
    pub(super) fn contains(&self, update: u64) -> bool {
        // Most bursts have none, and are large.
        if self.count == 0 {
            return false;
        }
        // The stamps are evenly apart, and the first is somewhere.
        let (count, of) = (u128::from(self.count), u128::from(self.of));
        (u128::from(update) * count + u128::from(self.shift)) % of < count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at_ms(millis: u64) -> Time {
        Time::from_nanos(millis * MS)
    }

    fn places(stamped: Stamped) -> Vec<u64> {
        (0..stamped.of).filter(|update| stamped.contains(*update)).collect()
    }

    #[test]
    fn each_second_has_its_stamps_wherever_in_the_bursts() {
        let mut stamps = Stamps::new(Time::ZERO, 10, 500);
        let mut seen = Vec::new();
        for tick in 1..=5000 {
            seen.extend(places(stamps.of_burst(at_ms(tick * 2), 200)));
        }
        assert_eq!(seen.len(), 100, "10 s of 10 stamps");
        // Each twentieth of a burst has its share of the stamps.
        for part in 0..20 {
            let here = seen.iter().filter(|place| **place / 10 == part).count();
            assert!((3..=7).contains(&here), "{here} in part {part} of {seen:?}");
        }
    }

    #[test]
    fn a_burst_with_many_stamps_has_exactly_so_many() {
        for (rate, updates) in [(1000, 5), (5000, 5), (9000, 4), (2000, 7)] {
            let mut stamps = Stamps::new(Time::ZERO, rate, 1000);
            let stamped = stamps.of_burst(at_ms(1), updates);
            assert_eq!(places(stamped).len() as u64, (rate / 1000).min(updates), "{rate}");
        }
    }

    #[test]
    fn what_found_no_update_is_owed_for_a_second_at_most() {
        let mut stamps = Stamps::new(Time::ZERO, 10, 1000);
        assert_eq!(places(stamps.of_burst(at_ms(300), 0)).len(), 0);
        assert_eq!(places(stamps.of_burst(at_ms(301), 100)).len(), 3);
        assert_eq!(places(stamps.of_burst(at_ms(60_000), 0)).len(), 0);
        assert_eq!(places(stamps.of_burst(at_ms(60_001), 100)).len(), 10);
        stamps.skip(at_ms(70_000));
        assert_eq!(places(stamps.of_burst(at_ms(70_001), 100)).len(), 0);
    }
}
