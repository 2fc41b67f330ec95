//! What a turn takes, by clocks that are given: the simulation has none.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// How what turns take is measured. Without these, as of [`Default`], a turn takes
/// so long for each look at a clock, and two runs do the same.
#[derive(Clone, Copy, Default)]
pub struct Gauges {
    /// The time that this thread was on a processor, in nanoseconds.
    pub thread_ns: Option<fn() -> u64>,
    /// Runs what it is given, and says how many bytes of memory that gave back.
    pub freed_bytes: Option<FreedBytes>,
    /// Has the allocator put in order what it was given back. All parties share one, and
    /// whoever asks it for memory next waits for that, which need not be who gave it back.
    pub put_in_order: Option<fn()>,
}

/// See [`Gauges::freed_bytes`].
pub type FreedBytes = fn(&mut dyn FnMut()) -> u64;

impl std::fmt::Debug for Gauges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { thread_ns, freed_bytes, put_in_order } = self;
        let gauges = [thread_ns.is_some(), freed_bytes.is_some(), put_in_order.is_some()];
        write!(f, "Gauges({gauges:?})")
    }
}

/// What passes between two looks at a clock where none is given: some thirty frames.
const LOOK: Duration = Duration::from_micros(50);

/// A turn with nothing to do, where no clock is given.
const LEAST_TURN: Duration = Duration::from_micros(2);

/// The clock of the turn that is taken now.
#[derive(Clone, Debug)]
pub(super) struct TurnClock(Rc<Turn>);

#[derive(Debug)]
struct Turn {
    gauges: Gauges,
    is_running: Cell<bool>,
    from_ns: Cell<u64>,
    looks: Cell<u32>,
}

impl TurnClock {
    pub(super) fn new(gauges: Gauges) -> Self {
        let (is_running, from_ns, looks) = (Cell::new(false), Cell::new(0), Cell::new(0));
        Self(Rc::new(Turn { gauges, is_running, from_ns, looks }))
    }

    /// What a look at a clock of the simulated network is later by.
    pub(super) fn look(&self) -> Duration {
        if !self.0.is_running.get() {
            return Duration::ZERO;
        }
        self.0.looks.set(self.0.looks.get() + 1);
        self.so_far()
    }

    fn so_far(&self) -> Duration {
        match self.0.gauges.thread_ns {
            Some(thread_ns) => {
                Duration::from_nanos(thread_ns().saturating_sub(self.0.from_ns.get()))
            }
            None => LEAST_TURN + LOOK * self.0.looks.get(),
        }
    }

    /// Runs a turn: how much was done in it, and how long it took. What others gave back
    /// to the allocator counts for nothing; to put in order what was given back in the
    /// turn is part of it.
    pub(super) fn time(&self, turn: impl FnOnce() -> usize) -> (usize, Duration) {
        let put_in_order = self.0.gauges.put_in_order.unwrap_or(|| ());
        put_in_order();
        self.0.looks.set(0);
        self.0.is_running.set(true);
        self.0.from_ns.set(self.0.gauges.thread_ns.map_or(0, |thread_ns| thread_ns()));
        let done = turn();
        if done > 0 {
            put_in_order();
        }
        let took = self.so_far();
        self.0.is_running.set(false);
        (done, took)
    }

    /// Drops something: the memory that it had, if that is measured.
    pub(super) fn weigh<T>(&self, it: T) -> Option<u64> {
        let mut it = Some(it);
        self.0.gauges.freed_bytes.map(|freed_bytes| freed_bytes(&mut || drop(it.take())))
    }
}
