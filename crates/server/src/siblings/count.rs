//! A count that servers on several threads have together.
//!
//! What threads share comes from `super::sync`: a test puts other types in its
//! place and goes through every order of steps.

use super::sync::{Arc, AtomicUsize, Ordering};

/// What one server counts of something, as a part of what all siblings have.
#[derive(Debug, Default)]
pub(crate) struct SharedCount {
    own: usize,
    all: Arc<AtomicUsize>,
}

impl SharedCount {
    pub(super) fn of(all: &Arc<AtomicUsize>) -> Self {
        Self { own: 0, all: Arc::clone(all) }
    }

    /// This server's own.
    pub(crate) const fn own(&self) -> usize {
        self.own
    }

    /// That of all siblings.
    pub(crate) fn total(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    pub(crate) fn add(&mut self, more: usize) {
        self.own += more;
        self.all.fetch_add(more, Ordering::Relaxed);
    }

    /// One more, unless all have `max` together.
    pub(crate) fn claim(&mut self, max: usize) -> bool {
        let next = |all: usize| (all < max).then_some(all + 1);
        let is_room = self.all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok();
        self.own += usize::from(is_room);
        is_room
    }

    pub(crate) fn sub(&mut self, fewer: usize) {
        debug_assert!(fewer <= self.own, "{fewer} of {} that were counted", self.own);
        let fewer = fewer.min(self.own);
        self.own -= fewer;
        self.all.fetch_sub(fewer, Ordering::Relaxed);
    }

    pub(crate) fn set(&mut self, now: usize) {
        match now.checked_sub(self.own) {
            Some(0) => {}
            Some(more) => self.add(more),
            None => self.sub(self.own - now),
        }
    }
}

impl Drop for SharedCount {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::Relaxed);
    }
}
