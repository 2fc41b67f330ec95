//! What reached the clients.

use hdrhistogram::Histogram;
use tapeline_measure::clock::now_ns;

use super::workload::Workload;
use crate::stamp::Stamp;

/// Latencies above this count as this, in nanoseconds.
const MAX_NS: u64 = 60_000_000_000;

/// Counts, order and latency of what clients got.
pub(super) struct Tally {
    workload: Workload,
    /// The number that each client's next update has at least.
    next: Vec<u64>,
    pub(super) received: u64,
    /// Updates that came twice, out of order, unasked or broken.
    pub(super) bad: u64,
    /// Updates that were due before this do not count into the latencies.
    pub(super) measured_ns: u64,
    /// In nanoseconds, to three digits.
    pub(super) latencies: Histogram<u64>,
}

impl Tally {
    pub(super) fn new(workload: Workload) -> Self {
        Self {
            workload,
            next: vec![0; workload.clients],
            received: 0,
            bad: 0,
            measured_ns: u64::MAX,
            latencies: Histogram::new_with_bounds(1, MAX_NS, 3).expect("the bounds are in order"),
        }
    }

    /// A client got an update, or something that is none.
    #[inline]
    pub(super) fn update(&mut self, client: usize, stamp: Option<Stamp>) {
        self.update_at(client, stamp, now_ns());
    }

    #[inline]
    fn update_at(&mut self, client: usize, stamp: Option<Stamp>, now_ns: u64) {
        let Some((stamp, next)) = stamp.zip(self.next.get_mut(client)) else {
            self.bad += 1;
            return;
        };
        let item = self.workload.item_of(stamp.number);
        if stamp.number < *next || !self.workload.watches(client, item) {
            self.bad += 1;
            return;
        }
        *next = stamp.number + 1;
        self.received += 1;
        if stamp.due_ns >= self.measured_ns {
            self.latencies.saturating_record(now_ns.saturating_sub(stamp.due_ns).max(1));
        }
    }

    /// Latencies from now on are of updates that are due from `measured_ns` on.
    pub(super) fn begin(&mut self, measured_ns: u64) {
        self.measured_ns = measured_ns;
        self.latencies.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn stamp(number: u64, due_ns: u64) -> Stamp {
        Stamp { due_ns, number }
    }

    fn tally() -> Tally {
        // Client 0 watches item 0, client 1 does not.
        Tally::new(Workload { clients: 2, items: 1, watchers: 1 })
    }

    #[test]
    fn what_comes_twice_back_or_unasked_is_bad() {
        let mut tally = tally();
        for number in [0, 1, 5] {
            tally.update_at(0, Some(stamp(number, 0)), 0);
        }
        assert_eq!((tally.received, tally.bad), (3, 0));
        tally.update_at(0, Some(stamp(5, 0)), 0);
        tally.update_at(0, Some(stamp(4, 0)), 0);
        tally.update_at(1, Some(stamp(6, 0)), 0);
        tally.update_at(2, Some(stamp(7, 0)), 0);
        tally.update_at(0, None, 0);
        assert_eq!((tally.received, tally.bad), (3, 5));
    }

    #[test]
    fn latency_is_from_the_moment_at_which_it_was_due() {
        let mut tally = tally();
        tally.begin(1_000);
        tally.update_at(0, Some(stamp(0, 999)), 500_000);
        tally.update_at(0, Some(stamp(1, 1_000)), 501_000);
        assert_eq!(tally.latencies.len(), 1);
        assert!(tally.latencies.max().abs_diff(500_000) < 1_000, "{}", tally.latencies.max());
        tally.begin(u64::MAX);
        assert_eq!(tally.latencies.len(), 0);
    }
}
