//! When to look at which session again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use tapeline_time::Time;

use crate::SessionId;

/// Moments after every deadline.
pub(crate) const NEVER: Time = Time::from_nanos(u64::MAX);

/// Sessions by the time at which they want to be looked at.
///
/// Deadlines of a session move with every byte, nearly always to later. So an
/// entry says no more than "not before": the session is asked when it comes
/// up, and set again. It keeps its earliest entry's time itself
/// (`armed`), by which it knows entries that were overtaken.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Time, SessionId)>>,
}

impl Timers {
    /// Has `session` come up at `deadline`, unless it does so before.
    pub(crate) fn arm(&mut self, session: SessionId, armed: &mut Time, deadline: Time) {
        if deadline < *armed {
            *armed = deadline;
            self.heap.push(Reverse((deadline, session)));
        }
    }

    /// The next session whose entry is due, and the entry's time.
    pub(crate) fn pop_due(&mut self, now: Time) -> Option<(Time, SessionId)> {
        let Reverse((time, _)) = self.heap.peek()?;
        if *time > now {
            return None;
        }
        self.heap.pop().map(|Reverse(entry)| entry)
    }

    /// No session is due before this.
    pub(crate) fn next(&self) -> Option<Time> {
        self.heap.peek().map(|Reverse((time, _))| *time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn session(index: u32) -> SessionId {
        SessionId { index, generation: 0 }
    }

    const fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn entries_come_up_in_order_and_not_early() {
        let mut timers = Timers::default();
        for (index, nanos) in [(1, 30), (2, 10), (3, 20)] {
            timers.arm(session(index), &mut { NEVER }, at(nanos));
        }
        assert_eq!(timers.next(), Some(at(10)));
        assert_eq!(timers.pop_due(at(9)), None);
        assert_eq!(timers.pop_due(at(25)), Some((at(10), session(2))));
        assert_eq!(timers.pop_due(at(25)), Some((at(20), session(3))));
        assert_eq!(timers.pop_due(at(25)), None);
    }

    #[test]
    fn a_later_deadline_costs_no_entry() {
        let mut timers = Timers::default();
        let mut armed = NEVER;
        for nanos in [50, 60, 70, 40] {
            timers.arm(session(1), &mut armed, at(nanos));
        }
        assert_eq!((armed, timers.heap.len()), (at(40), 2));
    }
}
