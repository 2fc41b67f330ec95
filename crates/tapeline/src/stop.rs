//! When to end: on a signal, or when the time is up.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};

/// Told when to end. A second signal ends the program at once.
#[derive(Clone)]
pub(crate) struct Stop {
    is_asked: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Stop {
    /// Ends on SIGTERM and SIGINT, and after a time if one is given.
    pub(crate) fn on_signals(after: Option<Duration>) -> io::Result<Self> {
        let is_asked = Arc::new(AtomicBool::new(false));
        for signal in [SIGTERM, SIGINT] {
            // In this order: the second signal finds the flag set by the first.
            signal_hook::flag::register_conditional_shutdown(
                signal,
                128 + signal,
                Arc::clone(&is_asked),
            )?;
            signal_hook::flag::register(signal, Arc::clone(&is_asked))?;
        }
        let until = after.and_then(|after| Instant::now().checked_add(after));
        Ok(Self { is_asked, until })
    }

    /// Ends the others who were told to look here.
    pub(crate) fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
    }

    /// Whether it is time to end.
    pub(crate) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed) || self.is_over()
    }

    /// Whether the time is up.
    pub(crate) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}
