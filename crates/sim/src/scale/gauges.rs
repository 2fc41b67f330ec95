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
}

/// See [`Gauges::freed_bytes`].
pub type FreedBytes = fn(&mut dyn FnMut()) -> u64;

impl std::fmt::Debug for Gauges {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { thread_ns, freed_bytes } = self;
        write!(f, "Gauges({}, {})", thread_ns.is_some(), freed_bytes.is_some())
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

    /// Runs a turn: what it returns, and how long it took.
    pub(super) fn time<R>(&self, turn: impl FnOnce() -> R) -> (R, Duration) {
        self.0.looks.set(0);
        self.0.is_running.set(true);
        self.0.from_ns.set(self.0.gauges.thread_ns.map_or(0, |thread_ns| thread_ns()));
        let done = turn();
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
