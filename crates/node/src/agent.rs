//! What a thread turns.

use tapeline_backbone::{FrameSink, FrameSource, Port, Role};
use tapeline_channel::System;
use tapeline_counters::Viewed;
use tapeline_hub::Hub;
use tapeline_server::{Server, TraceWanted};
use tapeline_time::Time;

/// Something that works whenever its thread calls, never waits, and says how
/// long it can be left alone.
///
/// A thread calls [`duty_cycle`](Self::duty_cycle) in each turn. Before it sleeps
/// it asks [`is_quiet`](Self::is_quiet) and [`next_deadline`](Self::next_deadline);
/// what else ends its sleep is the caller's to know.
pub trait Agent: Viewed {
    /// Its name on the backbone and in the log.
    fn name(&self) -> &str;

    /// Which side of the backbone it is on.
    fn role(&self) -> Role;

    /// One turn at `now`. Returns how much there was to do; 0 means that the
    /// thread may idle.
    fn duty_cycle(&mut self, now: Time) -> usize;

    /// Whether nothing waits to be read. What comes after this wakes whoever
    /// watches its sockets.
    fn is_quiet(&mut self) -> bool;

    /// When the next turn has something to do although nothing comes; `None` if
    /// nothing is due at any time.
    fn next_deadline(&self) -> Option<Time>;

    /// What it counted since its start, by name.
    fn counts(&self) -> Vec<(&'static str, u64)>;

    /// Closes a mount because an operator wants it. Returns whether it was there, which
    /// it is not where there are no mounts.
    fn close_mount(&mut self, now: Time, session: &str, reason: &str) -> bool {
        let _ = (now, session, reason);
        false
    }

    /// Ends the logins of a user because an operator wants it. Returns how many there
    /// were.
    fn log_out(&mut self, user: &str) -> usize {
        let _ = user;
        0
    }

    /// Closes its ports and gives its mounts away, so many a second, because an
    /// operator wants it; with 0, opens the ports again. Returns the mounts that are
    /// there, and 1 where there are none now: something was done.
    fn drain(&mut self, now: Time, per_s: u32) -> usize {
        let _ = (now, per_s);
        0
    }

    /// Has a source be asked for nothing new, and what is open there go to others,
    /// because an operator wants it; or be asked again. Whether there is such a source.
    fn drain_source(&mut self, now: Time, name: &str, drains: bool) -> bool {
        let _ = (now, name, drains);
        false
    }

    /// Keeps what comes of an item for so long, because an operator wants to see it.
    /// Whether it can.
    fn trace(&mut self, now: Time, wanted: TraceWanted) -> bool {
        let _ = (now, wanted);
        false
    }

    /// Says goodbye to everybody. Some more turns send what is queued.
    fn shutdown(&mut self, now: Time);

    /// Whether everybody is gone, after [`shutdown`](Self::shutdown).
    fn is_over(&self) -> bool;
}

impl<K: FrameSink, R: FrameSource, S: System> Agent for Hub<Port<K, R>, S> {
    fn name(&self) -> &str {
        self.bus().name()
    }

    fn role(&self) -> Role {
        Role::Hub
    }

    fn duty_cycle(&mut self, now: Time) -> usize {
        Self::duty_cycle(self, now)
    }

    fn is_quiet(&mut self) -> bool {
        Self::is_quiet(self)
    }

    fn next_deadline(&self) -> Option<Time> {
        Self::next_deadline(self)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.counters().named().to_vec()
    }

    fn drain_source(&mut self, now: Time, name: &str, drains: bool) -> bool {
        Self::drain_source(self, now, name, drains)
    }

    fn shutdown(&mut self, now: Time) {
        Self::shutdown(self, now);
    }

    fn is_over(&self) -> bool {
        self.session_count() == 0
    }
}

impl<K: FrameSink, R: FrameSource, S: System> Agent for Server<Port<K, R>, S> {
    fn name(&self) -> &str {
        self.bus().name()
    }

    fn role(&self) -> Role {
        Role::Server
    }

    fn duty_cycle(&mut self, now: Time) -> usize {
        Self::duty_cycle(self, now)
    }

    fn is_quiet(&mut self) -> bool {
        Self::is_quiet(self)
    }

    fn next_deadline(&self) -> Option<Time> {
        Self::next_deadline(self)
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        self.statistics().named().to_vec()
    }

    fn close_mount(&mut self, now: Time, session: &str, reason: &str) -> bool {
        Self::close_mount(self, now, session, reason)
    }

    fn log_out(&mut self, user: &str) -> usize {
        Self::log_out(self, user)
    }

    fn trace(&mut self, now: Time, wanted: TraceWanted) -> bool {
        Self::trace(self, now, wanted);
        true
    }

    fn drain(&mut self, now: Time, per_s: u32) -> usize {
        match Self::drain(self, now, per_s) {
            Ok(mounts) => {
                tracing::info!(server = self.name(), per_s, mounts, "drained of its mounts");
                mounts.max(1)
            }
            Err(error) => {
                tracing::error!(server = self.name(), %error, "a port cannot be opened again");
                0
            }
        }
    }

    fn shutdown(&mut self, now: Time) {
        Self::shutdown(self, now);
    }

    fn is_over(&self) -> bool {
        self.is_idle()
    }
}
