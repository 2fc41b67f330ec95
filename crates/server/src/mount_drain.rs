//! A server that gives its mounts away, so many a second: before it is stopped, or
//! to have others take some of its load.
//!
//! Its ports are closed first, so that a mount that ends comes back at another server
//! of its list and not here. What they have open goes with them, in slices.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_backbone::Bus;
use tapeline_channel::{ListenerId, SessionId, System};
use tapeline_time::Time;

use crate::change::grants;
use crate::shell::{Server, ServerError};

/// Mounts that are closed in one turn at most, where the turns are too few for the
/// rate.
const MOST_PER_TURN: u32 = 64;

/// Places of mounts that are looked at in one turn.
const PLACES_PER_TURN: u32 = 4_096;

/// When the next mount is to go.
#[derive(Debug)]
pub(crate) struct MountDrain {
    per_s: u32,
    next: Time,
    /// From where on mounts are looked for.
    place: u32,
    /// Ports that are closed meanwhile.
    ports: Vec<(ListenerId, SocketAddr)>,
}

impl MountDrain {
    /// Begins now, with so many a second, at least 1.
    pub(crate) const fn begin(now: Time, per_s: u32) -> Self {
        let per_s = if per_s == 0 { 1 } else { per_s };
        Self { per_s, next: now, place: 0, ports: Vec::new() }
    }

    /// How many are to go now.
    pub(crate) fn due(&mut self, now: Time) -> u32 {
        let mut count = 0;
        while self.next <= now && count < MOST_PER_TURN {
            self.next = self.next.after(self.interval());
            count += 1;
        }
        if self.next <= now {
            // What the turns cannot keep up with is not made up for later.
            self.next = now.after(self.interval());
        }
        count
    }

    /// Mounts a second.
    pub(crate) const fn per_s(&self) -> u32 {
        self.per_s
    }

    /// When the next one is to go.
    pub(crate) const fn deadline(&self) -> Time {
        self.next
    }

    fn interval(&self) -> Duration {
        Duration::from_secs(1) / self.per_s
    }
}

impl<B: Bus, S: System> Server<B, S> {
    /// Closes the ports, and then so many mounts a second until there are none, as
    /// an operator wants it; with 0, opens the ports again. Returns the mounts that
    /// are there.
    ///
    /// Errors: an address cannot be listened on any more; the others are.
    pub fn drain(&mut self, now: Time, per_s: u32) -> Result<usize, ServerError> {
        let ports = self.drain.take().map(|drain| drain.ports).unwrap_or_default();
        if per_s == 0 {
            self.open_ports(&ports)?;
        } else {
            self.drain = Some(MountDrain { ports, ..MountDrain::begin(now, per_s) });
            self.close_ports();
        }
        Ok(self.core().mount_count())
    }

    /// Closes ports that are open, if the server is drained.
    pub(crate) fn close_ports(&mut self) {
        let Some(drain) = &mut self.drain else { return };
        for (_, listener) in &self.listeners {
            if let Some(address) = self.reactor.local_addr(*listener) {
                self.reactor.stop_listening(*listener);
                drain.ports.push((*listener, address));
            }
        }
    }

    fn open_ports(&mut self, ports: &[(ListenerId, SocketAddr)]) -> Result<(), ServerError> {
        let config = self.core().config().clone();
        let mut result = Ok(());
        for (transport, listener) in &mut self.listeners {
            let closed = ports.iter().find(|(closed, _)| closed == listener);
            let Some((_, address)) = closed else { continue };
            match self.reactor.listen(*address, &grants(&config, *transport, address.port())) {
                Ok(opened) => *listener = opened,
                Err(error) => result = Err(error.into()),
            }
        }
        result
    }

    /// Closes the mounts that are to go now.
    pub(crate) fn drain_some(&mut self, now: Time) {
        let Some(drain) = &mut self.drain else { return };
        let count = drain.due(now) as usize;
        let core = self.interpreter.core();
        let (from, places) = (drain.place, core.mount_places().max(1));
        let mut sessions: Vec<SessionId> = Vec::new();
        for step in 0..PLACES_PER_TURN.min(places) {
            if sessions.len() == count {
                break;
            }
            drain.place = (from + step + 1) % places;
            sessions.extend(core.mount_at((from + step) % places));
        }
        self.mounts_drained += sessions.len() as u64;
        self.close_sessions(now, &sessions, "the server is drained of its mounts");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    #[test]
    fn mounts_go_at_the_rate_whatever_the_turns_are() {
        let mut drain = MountDrain::begin(at(0), 100);
        let of_each: u32 = (0..1_000).map(|ms| drain.due(at(ms))).sum();
        assert_eq!(of_each, 100);
        let mut drain = MountDrain::begin(at(0), 100);
        let of_few: u32 = (0..1_000).step_by(50).map(|ms| drain.due(at(ms))).sum();
        assert_eq!(of_few, 96, "the last turn is 50 ms before the end");
    }

    #[test]
    fn a_turn_that_comes_late_does_not_close_all_at_once() {
        let mut drain = MountDrain::begin(at(0), 1_000);
        assert_eq!(drain.due(at(5_000)), MOST_PER_TURN);
        assert_eq!(drain.due(at(5_000)), 0);
        assert_eq!(drain.deadline(), at(5_001));
    }
}
