//! A server hears how much memory its process has.

use tapeline_backbone::Bus;
use tapeline_channel::System;
use tapeline_time::Time;

use crate::Event;
use crate::shell::Server;

impl<B: Bus, S: System> Server<B, S> {
    /// Whether it wants to be [told](Self::note_memory) of memory: it has a bound, or had
    /// one when it was told last.
    pub const fn watches_memory(&self) -> bool {
        let core = self.interpreter.core();
        core.config().limits.memory_max_bytes > 0 || core.had_memory_bound()
    }

    /// The process has so much memory: see [`Limits::memory_max_bytes`](crate::Limits).
    pub fn note_memory(&mut self, now: Time, resident_bytes: usize) {
        self.handle_apart(now, Event::Memory { resident_bytes });
    }
}
