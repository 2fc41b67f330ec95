//! When to end: on a signal.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGINT, SIGTERM};

/// A flag that SIGTERM and SIGINT set. A second signal ends the program at once.
pub(crate) fn on_signals() -> io::Result<Arc<AtomicBool>> {
    let is_asked = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        // In this order: the second signal finds the flag set by the first.
        let flag = Arc::clone(&is_asked);
        signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, flag)?;
        signal_hook::flag::register(signal, Arc::clone(&is_asked))?;
    }
    Ok(is_asked)
}
