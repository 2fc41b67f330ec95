//! What happens in a world, a line an event.

use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, Write as _};

use tapeline_time::Time;

/// What becomes of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trace {
    /// They are not made.
    #[default]
    Off,
    /// Only a digest of all of them is kept: two runs that did the same have
    /// the same one.
    Digest,
    /// They are printed.
    Print,
}

#[derive(Debug)]
pub(crate) struct Log {
    trace: Trace,
    digest: DefaultHasher,
    pub(crate) now: Time,
}

impl Log {
    pub(crate) fn new(trace: Trace) -> Self {
        Self { trace, digest: DefaultHasher::new(), now: Time::ZERO }
    }

    pub(crate) fn note(&mut self, what: fmt::Arguments<'_>) {
        match self.trace {
            Trace::Off => {}
            Trace::Digest => {
                self.digest.write_u64(self.now.as_nanos());
                self.digest.write(what.to_string().as_bytes());
            }
            Trace::Print => {
                let micros = self.now.as_nanos() / 1000;
                let (s, micros) = (micros / 1_000_000, micros % 1_000_000);
                // Whoever reads may have had enough, as `head` has.
                let _ = writeln!(io::stdout(), "{s:>6}.{micros:06} {what}");
            }
        }
    }

    pub(crate) fn digest(&self) -> u64 {
        self.digest.finish()
    }
}
