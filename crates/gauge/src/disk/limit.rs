//! Whether it is the disk or this program that is too slow for a rate.

/// Of what was due, so much has to be done.
const LEAST_SHARE: f64 = 0.99;

/// Where the time of a run went. Calls come one at a time, so that it is either
/// in one, or waiting for something to be due, or late.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Spent {
    /// All of it.
    pub(super) run_ns: u64,
    /// In calls.
    pub(super) calls_ns: u64,
    /// Something was due and no call was under way: the disk waited for this
    /// program, which had not woken or did not have the core.
    pub(super) own_ns: u64,
    pub(super) done: u64,
    pub(super) due: u64,
    /// Operations a second, one after the other, before.
    pub(super) alone_per_s: Option<f64>,
}

/// What kept the rate from being reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    Disk,
    Program,
}

impl Spent {
    /// `None` if the rate was reached.
    pub(super) fn limit(&self) -> Option<Limit> {
        if self.done as f64 >= LEAST_SHARE * self.due as f64 {
            return None;
        }
        let missing_ns = (self.due - self.done) as f64 * self.call_ns();
        // Had this program never been late, so many more calls would have been made.
        Some(if self.own_ns as f64 >= missing_ns { Limit::Program } else { Limit::Disk })
    }

    fn call_ns(&self) -> f64 {
        self.calls_ns as f64 / self.done.max(1) as f64
    }

    fn percent(&self, nanos: u64) -> f64 {
        nanos as f64 * 100.0 / self.run_ns.max(1) as f64
    }

    pub(super) fn why_invalid(&self) -> Option<String> {
        let who = match self.limit()? {
            Limit::Disk => "the disk is the limit",
            Limit::Program => "this program is the limit, or who else had its core",
        };
        let Self { done, due, .. } = self;
        Some(format!("{done} of {due} operations were done; {who}: {}", self.text()))
    }

    /// Both shares, and what the disk can do.
    pub(super) fn text(&self) -> String {
        let alone = self.alone_per_s.map_or(String::new(), |rate| {
            format!("; one after the other, before, there were {rate:.0}/s")
        });
        format!(
            "{:.1} % of the time were in calls of {:.1} µs, for {:.1} % the disk waited for this \
             program{alone}",
            self.percent(self.calls_ns),
            self.call_ns() / 1e3,
            self.percent(self.own_ns),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second at 1,000/s.
    const OF: Spent = Spent {
        run_ns: 1_000_000_000,
        calls_ns: 500_000_000,
        own_ns: 1_000_000,
        done: 1000,
        due: 1000,
        alone_per_s: Some(1980.4),
    };

    #[test]
    fn a_rate_that_was_reached_has_no_limit() {
        assert_eq!((OF.limit(), OF.why_invalid()), (None, None));
        assert_eq!(Spent { done: 990, ..OF }.limit(), None);
        assert_eq!(Spent { done: 0, due: 0, ..OF }.limit(), None);
        assert_eq!(
            OF.text(),
            "50.0 % of the time were in calls of 500.0 µs, for 0.1 % the disk waited for this \
             program; one after the other, before, there were 1980/s"
        );
    }

    #[test]
    fn a_disk_that_was_always_at_work_is_the_limit() {
        let of = Spent { done: 900, calls_ns: 998_000_000, alone_per_s: None, ..OF };
        assert_eq!(of.limit(), Some(Limit::Disk));
        assert_eq!(
            of.why_invalid().unwrap(),
            "900 of 1000 operations were done; the disk is the limit: 99.8 % of the time were in \
             calls of 1108.9 µs, for 0.1 % the disk waited for this program"
        );
    }

    #[test]
    fn a_program_that_came_late_is_the_limit() {
        // 100 calls of 500 µs were missing, and it was late for 60 ms.
        let of = Spent { done: 900, calls_ns: 450_000_000, own_ns: 60_000_000, ..OF };
        assert_eq!(of.limit(), Some(Limit::Program));
        assert!(of.why_invalid().unwrap().contains("this program is the limit"));
        // Had it been in time, 80 would still be missing.
        let of = Spent { own_ns: 10_000_000, ..of };
        assert_eq!(of.limit(), Some(Limit::Disk));
    }
}
