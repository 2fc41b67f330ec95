//! A clock that costs a few nanoseconds, where the host has one.
//!
//! A processor's time stamp counter is read without a call. It can be trusted
//! where the kernel itself takes the time from it and the processor says that
//! it neither changes its rate nor stops.

use std::fs;
use std::time::Duration;

use crate::clock::now_ns;

const NS_PER_S: u128 = 1_000_000_000;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickSource {
    /// The time stamp counter of the processor.
    Tsc,
    /// Nanoseconds of the kernel's monotonic clock.
    Monotonic,
}

impl TickSource {
    /// As it stands in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tsc => "tsc",
            Self::Monotonic => "monotonic",
        }
    }
}

/// Readings that are compared only with each other, and their rate.
#[derive(Clone, Debug)]
pub struct TickClock {
    tsc: Option<quanta::Clock>,
    hz: u64,
}

impl TickClock {
    /// The counter, or the kernel's clock if it cannot be trusted. Its rate is
    /// measured for 20 ms.
    pub fn best() -> Self {
        if tsc_is_the_time() { Self::tsc() } else { Self::monotonic() }
    }

    /// The counter. `None` where it cannot be trusted.
    pub fn trusted_tsc() -> Option<Self> {
        tsc_is_the_time().then(Self::tsc)
    }

    /// The kernel's clock.
    pub const fn monotonic() -> Self {
        Self { tsc: None, hz: NS_PER_S as u64 }
    }

    fn tsc() -> Self {
        let clock = quanta::Clock::new();
        let hz = measured_hz(&clock);
        Self { tsc: Some(clock), hz }
    }

    /// What it counts.
    pub const fn source(&self) -> TickSource {
        match self.tsc {
            Some(_) => TickSource::Tsc,
            None => TickSource::Monotonic,
        }
    }

    /// Now, in ticks.
    #[inline]
    pub fn now(&self) -> u64 {
        match &self.tsc {
            Some(clock) => clock.raw(),
            None => now_ns(),
        }
    }

    /// Ticks a second.
    pub const fn hz(&self) -> u64 {
        self.hz
    }

    /// The rate measured once more, by how many percent it differs.
    pub fn recheck(&self) -> (u64, f64) {
        let Some(clock) = &self.tsc else { return (self.hz, 0.0) };
        let hz = measured_hz(clock);
        (hz, (hz.abs_diff(self.hz)) as f64 * 100.0 / self.hz as f64)
    }

    /// Ticks as nanoseconds, truncated.
    #[inline]
    pub fn nanos(&self, ticks: u64) -> u64 {
        match self.tsc {
            Some(_) => (u128::from(ticks) * NS_PER_S / u128::from(self.hz)) as u64,
            None => ticks,
        }
    }

    /// Nanoseconds as ticks.
    pub fn ticks(&self, nanos: u64) -> u64 {
        (u128::from(nanos) * u128::from(self.hz) / NS_PER_S) as u64
    }
}

fn measured_hz(clock: &quanta::Clock) -> u64 {
    let wait = Duration::from_millis(20).as_nanos() as u64;
    let (from_ns, from) = pair(clock);
    while now_ns() - from_ns < wait {}
    let (to_ns, to) = pair(clock);
    let hz = u128::from(to - from) * NS_PER_S / u128::from(to_ns - from_ns);
    // The digits beyond are noise.
    ((hz as u64 + 500) / 1000 * 1000).max(1000)
}

/// Both clocks at one moment: of some readings, the pair that was not
/// interrupted.
fn pair(clock: &quanta::Clock) -> (u64, u64) {
    let once = || {
        let before = now_ns();
        let ticks = clock.raw();
        let after = now_ns();
        (after - before, before + (after - before) / 2, ticks)
    };
    let best = (0..16).map(|_| once()).min_by_key(|(took, ..)| *took);
    best.map_or_else(|| (now_ns(), clock.raw()), |(_, at, ticks)| (at, ticks))
}

/// Whether the kernel takes the time from the counter, and the processor
/// promises that it is steady.
fn tsc_is_the_time() -> bool {
    let source =
        fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let flags = info.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    let has = |flag: &str| flags.split_whitespace().any(|has| has == flag);
    source.is_ok_and(|source| source.trim() == "tsc") && has("constant_tsc") && has("nonstop_tsc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_the_kernels_time() {
        for clock in [TickClock::best(), TickClock::monotonic()] {
            let (from_ns, from) = (now_ns(), clock.now());
            while now_ns() - from_ns < 5_000_000 {}
            let ticks_ns = clock.nanos(clock.now() - from);
            // Only more than the time between can pass between.
            assert!(ticks_ns >= 4_900_000, "{:?}: {ticks_ns}", clock.source());
        }
    }

    #[test]
    fn nanoseconds_are_ticks_and_back() {
        let clock = TickClock::best();
        for nanos in [1_000_u64, 123_456_789, 3_600_000_000_000] {
            let back = clock.nanos(clock.ticks(nanos));
            assert!(nanos - back <= 2, "{nanos} became {back}");
        }
    }
}
