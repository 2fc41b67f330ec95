//! What a thread does between two turns.

use std::time::Duration;

use tapeline_backbone::{Backbone, BackbonePort};
use tapeline_channel::{ChannelError, Idle, Wait};
use tapeline_hub::Hub;
use tapeline_server::Server;
use tapeline_time::Time;

/// How long a thread sleeps that found nothing to do and is not woken.
pub(crate) const PARK_MICROS: u32 = 50;

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

/// What a thread turns.
pub(super) struct Rooms<'a> {
    pub(super) hub: Option<&'a mut Hub<BackbonePort>>,
    pub(super) server: Option<&'a mut Server<BackbonePort>>,
    pub(super) backbone: &'a Backbone,
}

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

    /// Has a thread that sleeps be woken by what comes.
    pub(super) fn wake_on_all(&mut self, rooms: &Rooms<'_>) -> Result<(), ChannelError> {
        if matches!(self.idle, Idle::Park { .. }) {
            let wait = Wait::new()?;
            rooms.hub.as_ref().map_or(Ok(()), |hub| hub.watch(&wait))?;
            rooms.server.as_ref().map_or(Ok(()), |server| server.watch(&wait))?;
            self.wait = Some(wait);
        }
        Ok(())
    }

    /// What follows a turn at `now` that did `work`.
    pub(super) fn rest(&mut self, now: Time, work: usize, rooms: Rooms<'_>) {
        if work > 0 {
            self.last_work = now;
        }
        let is_parking = matches!(self.idle, Idle::Park { .. });
        let is_local = self.wait.is_some() && !rooms.backbone.has_network();
        let linger = if is_local { LINGER_BEFORE_WAIT } else { LINGER };
        match &mut self.wait {
            _ if is_parking && now.since(self.last_work) < linger => Idle::Yield.idle(work),
            None => self.idle.idle(work),
            Some(wait) => {
                let looked_for = now.since(self.looking_since);
                if self.next_look <= LAST_LOOK && looked_for >= self.next_look {
                    self.next_look *= 2;
                    watch_sockets(wait, rooms.backbone);
                }
                match rooms.longest_wait(now) {
                    // A hub that is held back, or something came just now.
                    Duration::ZERO => Idle::Yield.idle(work),
                    most => wait.wait(most),
                }
            }
        }
    }
}

impl Rooms<'_> {
    /// How long there is nothing to do, if nothing comes.
    fn longest_wait(self, now: Time) -> Duration {
        let hub = self.hub.map(|hub| (hub.is_quiet(), hub.next_deadline()));
        let server = self.server.map(|server| (server.is_quiet(), server.next_deadline()));
        let mut most = self.backbone.longest_wait();
        for (is_quiet, deadline) in [hub, server].into_iter().flatten() {
            let until = deadline.map_or(most, |deadline| deadline.since(now));
            most = if is_quiet { most.min(until) } else { Duration::ZERO };
        }
        most
    }
}

/// One that cannot be waited for is still served in the backbone's own time.
fn watch_sockets(wait: &Wait, backbone: &Backbone) {
    for socket in backbone.sockets() {
        if let Err(error) = wait.watch_descriptor(socket) {
            tracing::debug!(socket, %error, "a socket of the backbone wakes nobody");
        }
    }
}
