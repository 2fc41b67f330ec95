//! Ends of rings on their way to another thread.
//!
//! What threads share comes from `super::sync`: a test puts other types in its
//! place and goes through every order of steps.

use super::sync::{AtomicBool, Mutex, MutexGuard, Ordering, PoisonError};

/// What one thread gives and another one takes, in its turn and without waiting.
#[derive(Debug)]
pub(super) struct Handover<T> {
    /// So that the lock is not taken for nothing in every turn.
    has_some: AtomicBool,
    ends: Mutex<Vec<T>>,
}

impl<T> Default for Handover<T> {
    fn default() -> Self {
        Self { has_some: AtomicBool::new(false), ends: Mutex::new(Vec::new()) }
    }
}

impl<T> Handover<T> {
    pub(super) fn hand_over(&self, end: T) {
        let mut ends = lock(&self.ends);
        ends.push(end);
        self.has_some.store(true, Ordering::Release);
    }

    /// Moves what has come behind `taken`.
    pub(super) fn take_into(&self, taken: &mut Vec<T>) {
        if self.has_some.load(Ordering::Acquire) {
            let mut ends = lock(&self.ends);
            self.has_some.store(false, Ordering::Relaxed);
            taken.append(&mut ends);
        }
    }
}

/// Nothing here is half done when somebody panics.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
