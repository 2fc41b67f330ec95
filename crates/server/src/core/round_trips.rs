//! How long mounts take to answer: every so often each that announced it is sent
//! a message on its login, which its client returns at once.
//!
//! What is measured is the way there and back, in the kernels of both hosts too,
//! and the turn that the client takes to read. Of this end it is true to a turn of
//! the server, which is a millisecond at most. A mount has one such message under
//! way: TCP loses none, so one that stays away for long is of a client that does
//! not read, and its time counts when it is there.

use std::time::Duration;

use tapeline_channel::{Sent, SessionId};
use tapeline_omm::login::LoginRtt;
use tapeline_time::Time;

use super::mount::Login;
use super::{Core, DUE_PER_TURN, millis};
use crate::{Note, Outputs};

/// So many of the last measurements of a mount are kept.
const RECENT: usize = 128;

/// JSON clients take numbers for floating point: they return no larger one as it
/// was.
const MAX_TICKS: u64 = (1 << 53) - 1;

/// When mounts are measured.
#[derive(Debug, Default)]
pub(super) struct Rounds {
    /// When the next round begins.
    next_at: Time,
    /// In the one that is under way, mounts with numbers below this one had their
    /// turn.
    done: Option<u32>,
}

/// What is known of a mount.
#[derive(Debug, Default)]
pub(super) struct RoundTrip {
    /// What the message that is under way has for ticks, and when it was sent.
    under_way: Option<(u64, Time)>,
    /// The last measurements; the oldest is at `count`, modulo their number.
    recent: Vec<u32>,
    /// How many there were.
    count: u64,
}

/// The last measurements of a mount together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Summary {
    pub(super) last: Duration,
    pub(super) p50: Duration,
    pub(super) p99: Duration,
}

/// The place of a measurement, by its number.
const fn place(number: u64) -> usize {
    (number % RECENT as u64) as usize
}

impl RoundTrip {
    fn add(&mut self, took_us: u32) {
        match self.recent.get_mut(place(self.count)) {
            Some(oldest) => *oldest = took_us,
            None => self.recent.push(took_us),
        }
        self.count += 1;
    }

    pub(super) fn last_us(&self) -> Option<u32> {
        self.recent.get(place(self.count.checked_sub(1)?)).copied()
    }

    /// The last measurements, if there are any.
    pub(super) fn summary(&self) -> Option<Summary> {
        let last_us = self.last_us()?;
        let mut sorted = self.recent.clone();
        sorted.sort_unstable();
        let duration = |us: u32| Duration::from_micros(us.into());
        let at = |percent: usize| duration(sorted[(sorted.len() * percent).div_ceil(100) - 1]);
        Some(Summary { last: duration(last_us), p50: at(50), p99: at(99) })
    }
}

impl Core {
    /// When a mount is to be measured.
    pub(super) fn round_trips_due(&self) -> Option<Time> {
        let is_on = self.config.rtt_interval_ms > 0;
        is_on.then(|| if self.rounds.done.is_some() { self.now } else { self.rounds.next_at })
    }

    /// Measures the next mounts of a round.
    pub(super) fn measure_round_trips<O: Outputs>(&mut self, out: &mut O) {
        if self.round_trips_due().is_none_or(|due| due > self.now) {
            return;
        }
        let from = self.rounds.done.unwrap_or_else(|| {
            self.rounds.next_at = self.now.after(millis(self.config.rtt_interval_ms));
            0
        });
        let to = self.mounts.numbers().min(from.saturating_add(DUE_PER_TURN as u32));
        for number in from..to {
            if let Some(session) = self.mounts.session_of(number) {
                self.measure(session, out);
            }
        }
        self.rounds.done = (to < self.mounts.numbers()).then_some(to);
    }

    fn measure<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let now = self.now;
        let Some(mount) = self.mounts.get_mut(session) else { return };
        let Some(login) = &mount.login else { return };
        if !login.request.attributes.answers_round_trips() {
            return;
        }
        let known = mount.round_trip.get_or_insert_default();
        if known.under_way.is_some() {
            return;
        }
        let ticks = now.as_nanos() & MAX_TICKS;
        let rtt = LoginRtt {
            stream_id: login.request.stream_id,
            ticks,
            round_trip_latency: known.last_us().map(u64::from),
            tcp_retrans: None,
        };
        let Ok(bytes) = self.scratch.encode(|encoder| rtt.encode(encoder)) else { return };
        match out.send(session, bytes) {
            // No mount is cut to be measured: it has its turn in the next round.
            Sent::Full => {}
            sent => {
                known.under_way = Some((ticks, now));
                self.trouble.note(session, sent);
            }
        }
    }

    /// A client returned a message by which it is measured.
    pub(super) fn on_round_trip<O: Outputs>(
        &mut self,
        session: SessionId,
        rtt: &LoginRtt,
        out: &mut O,
    ) {
        let now = self.now;
        let Some(mount) = self.mounts.get_mut(session) else { return };
        let known = mount.round_trip.as_mut();
        let answered =
            known.filter(|known| known.under_way.is_some_and(|(ticks, _)| ticks == rtt.ticks));
        let Some(known) = answered else {
            return self.statistics.round_trips_ignored += 1;
        };
        let Some((_, sent_at)) = known.under_way.take() else { return };
        let took = now.since(sent_at);
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        known.add(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
        self.statistics.round_trips += 1;
        self.statistics.round_trip_ns_most = self.statistics.round_trip_ns_most.max(took_ns);
        if known.count == 1 {
            let user = mount.login.as_ref().map(Login::shown_user);
            out.note(Note::RoundTrip { session, user: user.as_ref(), took });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(known: &RoundTrip) -> Option<[u128; 3]> {
        known.summary().map(|it| [it.last, it.p50, it.p99].map(|took| took.as_micros()))
    }

    #[test]
    fn the_last_of_them_count() {
        let mut known = RoundTrip::default();
        assert_eq!(summary(&known), None);
        known.add(9_000);
        assert_eq!(summary(&known), Some([9_000; 3]));
        (0..RECENT as u32).for_each(|took_us| known.add(took_us));
        assert_eq!(summary(&known), Some([127, 63, 126]));
        known.add(5_000);
        assert_eq!(summary(&known), Some([5_000, 64, 127]));
        assert_eq!(known.recent.len(), RECENT);
    }
}
