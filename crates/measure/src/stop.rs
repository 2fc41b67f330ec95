//! When somebody wants the program to end.
//!
//! Processes and networks are taken down by their owners, so a measurement that
//! is interrupted has to come back from where it is: whoever waits or loops asks
//! here.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use thiserror::Error;

/// Somebody wants the program to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("interrupted: what is not measured yet is left out")]
pub struct Interrupted;

static ASKED: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// Has every measurement of this process end early, with
/// [`Interrupted`], once the flag is set. A handler of signals may
/// set it. Only the first flag counts.
pub fn interrupt_when(flag: Arc<AtomicBool>) {
    let _ = ASKED.set(flag);
}

/// Whether it is time to end.
pub fn is_asked() -> bool {
    ASKED.get().is_some_and(|flag| flag.load(Ordering::Relaxed))
}

/// The error, if it is time to end.
pub fn check() -> Result<(), Interrupted> {
    if is_asked() { Err(Interrupted) } else { Ok(()) }
}
