//! Latency by time stamps in the data.

use hdrhistogram::Histogram;
use rustix::time::{ClockId, clock_gettime};
use tapeline_feed::DEFAULT_STAMP_FIELD;
use tapeline_rwf::{DataType, UpdateMsg};

/// Latencies above this are counted as this, in nanoseconds.
const MAX_NS: u64 = 60_000_000_000;

/// Now, in microseconds of the host's monotonic clock, which all its processes
/// share.
pub(crate) fn now_us() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000 + now.tv_nsec as u64 / 1000
}

/// How old the data of an update is, in microseconds, if its field `TIM_TRK_1`
/// says when it was published on this clock.
pub(crate) fn age_us(msg: &UpdateMsg<'_>) -> Option<u64> {
    let list = msg.payload.field_list().ok()?;
    let entry = list.field(DEFAULT_STAMP_FIELD).ok()??;
    let stamp = entry.typed(DataType::UINT).uint().ok()??;
    now_us().checked_sub(stamp)
}

/// The latencies of an interval.
#[derive(Clone, Debug)]
pub(crate) struct Latency {
    nanos: Histogram<u64>,
}

impl Latency {
    pub(crate) fn new() -> Self {
        let nanos = Histogram::new_with_bounds(1, MAX_NS, 3).expect("the bounds are in order");
        Self { nanos }
    }

    /// Counts one.
    pub(crate) fn record_us(&mut self, micros: u64) {
        self.nanos.saturating_record(micros.saturating_mul(1000).max(1));
    }

    /// Begins again.
    pub(crate) fn clear(&mut self) {
        self.nanos.reset();
    }

    pub(crate) fn count(&self) -> u64 {
        self.nanos.len()
    }

    pub(crate) fn mean_us(&self) -> f64 {
        self.nanos.mean() / 1000.0
    }

    pub(crate) fn max_us(&self) -> f64 {
        self.nanos.max() as f64 / 1000.0
    }

    /// The latency that this share of all does not exceed.
    pub(crate) fn quantile_us(&self, share: f64) -> f64 {
        self.nanos.value_at_quantile(share) as f64 / 1000.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_are_summed_up() {
        let mut latency = Latency::new();
        for micros in 1..=100 {
            latency.record_us(micros);
        }
        assert_eq!(latency.count(), 100);
        assert!((latency.mean_us() - 50.5).abs() < 0.1, "{}", latency.mean_us());
        assert!((latency.quantile_us(0.99) - 99.0).abs() < 0.2);
        assert!((latency.max_us() - 100.0).abs() < 0.2);
        latency.clear();
        assert_eq!(latency.count(), 0);
    }

    #[test]
    fn what_is_too_long_is_counted_all_the_same() {
        let mut latency = Latency::new();
        latency.record_us(u64::MAX);
        assert_eq!(latency.count(), 1);
    }
}
