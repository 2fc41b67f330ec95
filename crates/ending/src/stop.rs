//! When to end: on a signal, or when the time is up.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

const SIGNALS: [i32; 2] = [SIGTERM, SIGINT];

/// Signals that come within this are one wish: who starts programs sends one to
/// the program and one to its group, as `timeout` does.
const ONE_WISH: Duration = Duration::from_millis(300);

/// Told when to end. Who asks again, more than 300 ms later, ends the program at
/// once.
#[derive(Clone, Debug)]
pub struct Stop {
    is_asked: Arc<AtomicBool>,
    until: Option<Instant>,
}

impl Stop {
    /// Ends on SIGTERM and SIGINT, and after a time if one is given.
    ///
    /// Errors: signals cannot be caught.
    pub fn on_signals(after: Option<Duration>) -> io::Result<Self> {
        let is_asked = Arc::new(AtomicBool::new(false));
        for signal in SIGNALS {
            // In the handler, so that a wait that it interrupts finds the flag set.
            signal_hook::flag::register(signal, Arc::clone(&is_asked))?;
        }
        let signals = Signals::new(SIGNALS)?;
        thread::Builder::new().name("signals".to_owned()).spawn(|| end_impatiently(signals))?;
        let until = after.and_then(|after| Instant::now().checked_add(after));
        Ok(Self { is_asked, until })
    }

    /// The flag that signals set.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_asked)
    }

    /// Ends the others who were told to look here.
    pub fn ask(&self) {
        self.is_asked.store(true, Ordering::Relaxed);
    }

    /// Whether it is time to end.
    pub fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Relaxed) || self.is_over()
    }

    /// Whether the time is up.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// Ends the program when it is asked again, whatever keeps it.
fn end_impatiently(mut signals: Signals) {
    let mut first = None;
    for signal in signals.forever() {
        let first = *first.get_or_insert_with(Instant::now);
        if first.elapsed() >= ONE_WISH {
            signal_hook::low_level::exit(128 + signal);
        }
    }
}
