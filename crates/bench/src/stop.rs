//! When somebody wants the program to end.
//!
//! Processes and networks are taken down by their owners, so a measurement that
//! is interrupted has to come back from where it is: whoever waits or loops asks
//! here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::BenchError;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Has every measurement of this process end early, with
/// [`BenchError::Interrupted`], once the flag is set. A handler of signals may
/// set it. Only the first flag counts.
pub fn interrupt_when(flag: Arc<AtomicBool>) {
    let _ = ASKED.set(flag);
}

/// Whether it is time to end.
pub(crate) fn is_asked() -> bool {
    ASKED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// The error, if it is time to end.
pub(crate) fn check() -> Result<(), BenchError> {
    if is_asked() { Err(BenchError::Interrupted) } else { Ok(()) }
}
