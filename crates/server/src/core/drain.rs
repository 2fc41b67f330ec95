//! Mounts that caught up get what waits for them, a few steps at a time: others
//! get their updates in between.

use tapeline_channel::{SessionId, join_freed};
use tapeline_planted::planted;
use tapeline_rwf::StateCode;

use super::Core;
use super::mount::{Login, gate};
use super::owed::{Owed, Step};
use super::subscription::mode;
use crate::{Note, Outputs};

/// What is done in one go, in units of about a microsecond.
const SLICE: u32 = 32;

/// What is done of it for one mount before it is the next one's turn.
const TURN: u32 = 32;

/// What a step costs, about.
const fn cost(step: Step) -> u32 {
    match step {
        Step::Stream(_) | Step::Resumed(_) | Step::Answer => 1,
        Step::Image(_) | Step::Services => 4,
        Step::Part => 16,
    }
}

impl Core {
    /// The output of a mount has drained: what waits is worked off, as far as
    /// its output allows.
    pub(super) fn on_drained<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let Some(mount) = self.mounts.get_mut(session) else { return };
        if std::mem::take(&mut mount.is_slow) {
            let after = self.now.since(mount.slow_since);
            let user = mount.login.as_ref().map(Login::shown_user);
            out.note(Note::CaughtUp { session, user: user.as_ref(), after });
        }
        self.mounts.set_gate(session, gate::SLOW, false);
        self.trouble.slow.retain(|slow| *slow != session);
        self.begin_draining(session, out);
    }

    /// Begins to work off what waits for a mount, unless its output is in the
    /// way.
    pub(super) fn begin_draining<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let Some(mount) = self.mounts.get_mut(session) else {
            debug_assert!(false, "whose turn it is, is there");
            return;
        };
        let Owed { is_draining, .. } = mount.owed;
        if mount.is_slow || is_draining {
            return;
        }
        if mount.owed.is_empty() {
            return self.end_take_over(session, out);
        }
        mount.owed.is_draining = true;
        self.drain_turn(session, out);
    }

    /// Works off some of what waits for mounts that have drained, in turns.
    pub(super) fn drain_slice<O: Outputs>(&mut self, out: &mut O) {
        let mut spent = 0;
        while spent < SLICE
            && !self.has_images_enough()
            && let Some(session) = self.slow.next_to_drain()
        {
            spent += self.drain_turn(session, out).max(1);
        }
        if spent > 0 {
            join_freed();
        }
    }

    /// Whether so many bytes of images went out in this turn that others, which
    /// can wait, do.
    const fn has_images_enough(&self) -> bool {
        self.image_bytes >= self.config.limits.take_over_bytes_per_turn
    }

    /// What it took.
    fn drain_turn<O: Outputs>(&mut self, session: SessionId, out: &mut O) -> u32 {
        let mut spent = 0;
        loop {
            let has_enough = spent >= TURN || self.has_images_enough();
            let has_image_turn = self.has_image_turn(session);
            let is_doomed = self.trouble.doomed.iter().any(|(doomed, _)| *doomed == session);
            let Some(mount) = self.mounts.get_mut(session).filter(|_| !is_doomed) else {
                return spent;
            };
            if mount.is_slow {
                mount.owed.is_draining = false;
                return spent;
            }
            if has_enough {
                self.slow.drain_later(session);
                return spent;
            }
            let Some(step) = mount.owed.next(has_image_turn) else {
                if mount.owed.has_images() {
                    // They come at their rate.
                    mount.owed.is_draining = false;
                    self.plan_turn(session);
                    return spent;
                }
                mount.owed.give_back();
                self.end_take_over(session, out);
                return spent;
            };
            spent += cost(step);
            self.drain_step(session, step, out);
        }
    }

    fn drain_step<O: Outputs>(&mut self, session: SessionId, step: Step, out: &mut O) {
        match step {
            Step::Services => self.tell_owed_services(session, out),
            Step::Answer => {
                let answer = self.mounts.get_mut(session).and_then(|it| it.owed.take_answer());
                if let Some(message) = answer {
                    self.trouble.note(session, out.send(session, &message));
                }
            }
            Step::Image(stream_id) => self.send_late_image(session, stream_id, out),
            Step::Stream(stream_id) => self.send_waiting(session, stream_id, out),
            Step::Part => {
                self.send_part(session, out);
            }
            Step::Resumed(stream_id) => {
                if let Some((slot, cell)) = self.item_on(session, stream_id)
                    && let Some(watcher) = self.watcher(slot, cell)
                    && !self.announce(slot, &watcher, StateCode::REALTIME_RESUMED, out)
                    && let Some(mount) = self.mounts.get_mut(session)
                {
                    mount.owed.announce(stream_id);
                }
            }
        }
        self.mark_slow(out);
    }

    fn send_late_image<O: Outputs>(&mut self, session: SessionId, stream_id: i32, out: &mut O) {
        let Some((slot, cell)) = self.item_on(session, stream_id) else { return };
        let subscription =
            self.items.get_mut(slot).and_then(|item| item.watchers.subscription_mut(cell));
        let Some(subscription) = subscription.filter(|subscription| subscription.has(mode::LATE))
        else {
            return;
        };
        subscription.set(mode::LATE, false);
        if planted!(LostLateImage) {
            return;
        }
        self.owe_image(slot, cell, out);
    }

    /// Sends the updates that were merged for a stream, then the state that it
    /// was not told, unless that comes with its image.
    fn send_waiting<O: Outputs>(&mut self, session: SessionId, stream_id: i32, out: &mut O) {
        let Some((slot, cell)) = self.item_on(session, stream_id) else {
            return self.tell_pending(session, stream_id, out);
        };
        if let Some(watcher) = self.watcher(slot, cell)
            && self.holds_first(slot, &watcher)
        {
            return;
        }
        self.flush_updates(slot, cell, out);
        let Some(mount) = self.mounts.get_mut(session) else {
            debug_assert!(false, "the mount has the stream");
            return;
        };
        let waiting = mount.owed.take(stream_id);
        let Some(watcher) = self.watcher(slot, cell) else { return };
        let has_image_coming = watcher.has(mode::LATE)
            && self.items.get(slot).is_some_and(super::item::Item::is_servable);
        match waiting.owes_state && !has_image_coming {
            true if waiting.is_taken_over && watcher.has(mode::WANTS) => {
                self.tell_no_image(slot, cell, out);
            }
            true if watcher.has(mode::WANTS) => self.tell_state_before_image(slot, cell, out),
            true => self.tell_state(slot, cell, out),
            false => {}
        }
    }
}
