//! Lines of several kinds, each with its own bound.

use std::time::Duration;

use tapeline_time::Time;

use crate::{LeftOut, Throttle};

/// Lines of one kind are counted for so long before the count is logged.
const INTERVAL: Duration = Duration::from_secs(10);

/// Lines of each kind in that time.
const LINES: u32 = 20;

/// Decides which lines of a log are written whose kinds are numbered from 0: 20 of
/// each kind in ten seconds, then a count of the others. A flood of one kind leaves
/// room for the others.
///
/// ```
/// use tapeline_channel::Throttles;
/// use tapeline_time::Time;
///
/// let mut lines = Throttles::<2>::default();
/// let written = (0..30).filter(|_| lines.allows(0, Time::ZERO)).count();
/// assert_eq!((written, lines.allows(1, Time::ZERO)), (20, true));
/// let mut counts = Vec::new();
/// let later = lines.deadline().expect("something was left out");
/// lines.report(later, |kind, left_out| counts.push((kind, left_out.count)));
/// assert_eq!(counts, [(0, 10)]);
/// ```
#[derive(Clone, Debug)]
pub struct Throttles<const KINDS: usize>([Throttle; KINDS]);

impl<const KINDS: usize> Default for Throttles<KINDS> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Throttle::new(LINES, INTERVAL)))
    }
}

impl<const KINDS: usize> Throttles<KINDS> {
    /// Whether to write a line of a kind at `now`; otherwise it is counted.
    pub fn allows(&mut self, kind: usize, now: Time) -> bool {
        self.0[kind].allows(now)
    }

    /// When [`report`](Self::report) has something to tell.
    pub fn deadline(&self) -> Option<Time> {
        self.0.iter().filter_map(Throttle::deadline).min()
    }

    /// Tells how many lines of each kind were left out.
    pub fn report(&mut self, now: Time, mut tell: impl FnMut(usize, LeftOut)) {
        for (kind, throttle) in self.0.iter_mut().enumerate() {
            if let Some(left_out) = throttle.take_left_out(now) {
                tell(kind, left_out);
            }
        }
    }
}
