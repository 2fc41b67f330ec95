//! Whether a change holds: said once by one thread, looked at by all others.
//!
//! What threads share comes from `super::sync`: a test puts other types in its
//! place and goes through every order of steps.

use super::sync::{AtomicU8, Ordering};

/// What is known of whether a change holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing yet.
    Open,
    /// It does. Whatever was done before that was said is seen by who reads it.
    Committed,
    /// Nothing is to have happened.
    Abandoned,
}

/// Where it is said.
#[derive(Debug)]
pub(super) struct Fate(AtomicU8);

const OPEN: u8 = 0;
const COMMITTED: u8 = 1;
const ABANDONED: u8 = 2;

impl Default for Fate {
    fn default() -> Self {
        Self(AtomicU8::new(OPEN))
    }
}

impl Fate {
    pub(super) fn commit(&self) {
        self.settle(COMMITTED);
    }

    pub(super) fn abandon(&self) {
        self.settle(ABANDONED);
    }

    fn settle(&self, fate: u8) {
        // The first word counts: a thread may have looked at it already.
        let settled = self.0.compare_exchange(OPEN, fate, Ordering::Release, Ordering::Relaxed);
        debug_assert!(settled.is_ok(), "what becomes of a change is said once");
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self.0.load(Ordering::Acquire) {
            OPEN => Verdict::Open,
            COMMITTED => Verdict::Committed,
            _ => Verdict::Abandoned,
        }
    }
}
