//! What a thread does between two turns.

use std::time::Duration;

use tapeline_backbone::Backbone;
use tapeline_channel::{Idle, Wait};
use tapeline_time::Time;

use crate::Agent;

/// How long a parking thread sleeps that found nothing to do and is not woken:
/// what [`Idle::Park`] of a node should have, in microseconds.
pub const PARK_MICROS: u32 = 50;

/// A thread that had something to do does not sleep for so long: more tends to
/// follow.
const LINGER: Duration = Duration::from_micros(200);

/// The same of a thread that is woken, by nothing but sockets of its own: as
/// long as to be woken takes. Over a network it is [`LINGER`], in which what
/// was lost is asked for again.
const LINGER_BEFORE_WAIT: Duration = Duration::from_micros(20);

/// When the driver's sockets are looked for first, after the start or after the
/// backbone was away; the next looks come twice as late each time,
const FIRST_LOOK: Duration = Duration::from_millis(50);
/// up to this one. They are there after some turns, and stay; to look takes the
/// longer the more mounts there are.
const LAST_LOOK: Duration = Duration::from_secs(4);

/// The rests of a thread.
pub(super) struct Rest {
    idle: Idle,
    /// For all that comes; `None` if it is not waited for.
    wait: Option<Wait>,
    last_work: Time,
    /// When the driver's sockets were expected.
    looking_since: Time,
    /// How long after that they are looked for next.
    next_look: Duration,
}

impl Rest {
    /// Of a thread that nothing wakes.
    pub(super) const fn new(idle: Idle) -> Self {
        let (last_work, looking_since) = (Time::ZERO, Time::ZERO);
        Self { idle, wait: None, last_work, looking_since, next_look: FIRST_LOOK }
    }

    /// The driver has other sockets from about now on.
    pub(super) const fn look_again(&mut self, now: Time) {
        self.looking_since = now;
        self.next_look = FIRST_LOOK;
    }

    /// Has a thread that sleeps be woken by what `wait` watches.
    pub(super) fn wake_by(&mut self, wait: Wait) {
        if matches!(self.idle, Idle::Park { .. }) {
            self.wait = Some(wait);
        }
    }

    /// What follows a turn at `now` that did `work`.
    pub(super) fn rest<'a>(
        &mut self,
        now: Time,
        work: usize,
        backbone: &Backbone,
        agents: impl Iterator<Item = &'a mut dyn Agent>,
    ) {
        if work > 0 {
            self.last_work = now;
        }
        let is_parking = matches!(self.idle, Idle::Park { .. });
        let is_local = self.wait.is_some() && !backbone.has_network();
        let linger = if is_local { LINGER_BEFORE_WAIT } else { LINGER };
        match &mut self.wait {
            _ if is_parking && now.since(self.last_work) < linger => Idle::Yield.idle(work),
            None => self.idle.idle(work),
            Some(wait) => {
                let looked_for = now.since(self.looking_since);
                if self.next_look <= LAST_LOOK && looked_for >= self.next_look {
                    self.next_look *= 2;
                    watch_sockets(wait, backbone);
                }
                match longest_wait(now, backbone.longest_wait(), agents) {
                    // One that is held back, or something came just now.
                    Duration::ZERO => Idle::Yield.idle(work),
                    most => wait.wait(most),
                }
            }
        }
    }
}

/// How long there is nothing to do if nothing comes, and at most `most`.
fn longest_wait<'a>(
    now: Time,
    most: Duration,
    agents: impl Iterator<Item = &'a mut dyn Agent>,
) -> Duration {
    let mut longest = most;
    for agent in agents {
        if !agent.is_quiet() {
            return Duration::ZERO;
        }
        let until = agent.next_deadline().map(|deadline| deadline.since(now));
        longest = until.map_or(longest, |until| longest.min(until));
    }
    longest
}

/// One that cannot be waited for is still served in the backbone's own time.
fn watch_sockets(wait: &Wait, backbone: &Backbone) {
    for socket in backbone.sockets() {
        if let Err(error) = wait.watch_descriptor(socket) {
            tracing::debug!(socket, %error, "a socket of the backbone wakes nobody");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_backbone::Role;
    use tapeline_counters::{Row, View, Viewed};

    /// One that has something to do at a time, or at once.
    struct Due {
        at_ms: Option<u64>,
        is_quiet: bool,
    }

    impl Agent for Due {
        fn name(&self) -> &'static str {
            "due"
        }

        fn role(&self) -> Role {
            Role::Hub
        }

        fn duty_cycle(&mut self, _: Time) -> usize {
            0
        }

        fn is_quiet(&mut self) -> bool {
            self.is_quiet
        }

        fn next_deadline(&self) -> Option<Time> {
            self.at_ms.map(at)
        }

        fn counts(&self) -> Vec<(&'static str, u64)> {
            Vec::new()
        }

        fn shutdown(&mut self, _: Time) {}

        fn is_over(&self) -> bool {
            true
        }
    }

    impl Viewed for Due {
        fn views(&self) -> &'static [&'static View] {
            &[]
        }

        fn places(&self, _: &View) -> u32 {
            0
        }

        fn row(&self, _: &View, _: u32) -> Option<Row> {
            None
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    fn wait_ms(agents: &mut [Due]) -> u128 {
        let agents = agents.iter_mut().map(|due| due as &mut dyn Agent);
        longest_wait(at(1_000), Duration::from_millis(10), agents).as_millis()
    }

    #[test]
    fn a_thread_sleeps_until_the_first_of_its_agents_is_due() {
        let due = |at_ms| Due { at_ms, is_quiet: true };
        assert_eq!(wait_ms(&mut []), 10);
        assert_eq!(wait_ms(&mut [due(None)]), 10);
        assert_eq!(wait_ms(&mut [due(Some(1_007)), due(Some(1_003))]), 3);
        assert_eq!(wait_ms(&mut [due(Some(9_000))]), 10);
        assert_eq!(wait_ms(&mut [due(None), due(Some(999))]), 0, "it is due already");
    }

    #[test]
    fn a_thread_does_not_sleep_while_something_waits_to_be_read() {
        let loud = Due { at_ms: None, is_quiet: false };
        assert_eq!(wait_ms(&mut [Due { at_ms: None, is_quiet: true }, loud]), 0);
    }
}
