//! Publishers under pressure: how much of them is read, and what the log says.

use std::time::Duration;

use tapeline_channel::SessionEvent;
use tapeline_time::Time;

use crate::Core;
use crate::view::Guest;

/// Messages that may be read at once at most, however many frames went out before.
const MOST_CREDIT: i64 = 2_048;

/// However little goes out, something is read so often, lest pings are missed.
const TRICKLE: Duration = Duration::from_millis(500);

/// How often the log tells of pressure at most.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// Has non-interactive providers read one message for each frame that leaves. They
/// are not asked for what they send, so nothing else makes them send less.
#[derive(Debug, Default)]
pub(crate) struct Restraint {
    /// Since when, if it is.
    since: Option<Time>,
    /// They are not read in this turn.
    is_held: bool,
    /// Messages that may be read; below zero, what was read beyond that.
    credit: i64,
    /// Frames that had gone out at the last look.
    sent: u64,
    /// When they were read last.
    read_at: Time,
    /// How often it began.
    times: u64,
}

impl Restraint {
    pub(crate) const fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// How often they were held so far.
    pub(crate) const fn times(&self) -> u64 {
        self.times
    }

    /// A turn begins, until which so many frames have gone out; none: there is no
    /// pressure any more. Whether they are held in it.
    pub(crate) fn turn(&mut self, now: Time, sent: Option<u64>) -> bool {
        let Some(sent) = sent else {
            *self = Self { times: self.times, ..Self::default() };
            return false;
        };
        if self.since.is_none() {
            *self = Self { since: Some(now), sent, read_at: now, times: self.times, ..*self };
        }
        let more = i64::try_from(sent.saturating_sub(self.sent)).unwrap_or(i64::MAX);
        self.credit = self.credit.saturating_add(more).min(MOST_CREDIT);
        self.sent = sent;
        let was_held = self.is_held;
        self.is_held = self.credit <= 0 && now.since(self.read_at) < TRICKLE;
        if !self.is_held {
            self.read_at = now;
        }
        self.times += u64::from(self.is_held && !was_held);
        self.is_held
    }

    /// Something was read.
    #[inline]
    pub(crate) fn count(&mut self, event: &SessionEvent<'_>, guests: &[Guest]) {
        if self.is_on()
            && let SessionEvent::Message { session, .. } = event
            && guests.iter().any(|guest| guest.session == *session)
        {
            self.credit -= 1;
        }
    }
}

/// A time in which the queue to the backbone is too full, as the log has it.
#[derive(Debug, Default)]
pub(crate) struct Spell {
    is_on: bool,
    told: Option<Time>,
    /// The end of one whose beginning was told is told.
    is_told: bool,
    /// Those of which nothing was told, as one was shortly before.
    untold: u64,
    began: Time,
    merged: u64,
}

impl Spell {
    /// Tells of the beginning and the end, once a second at most.
    pub(crate) fn tell(&mut self, now: Time, core: &Core) {
        let is_on = core.is_pressed();
        if is_on == self.is_on {
            return;
        }
        self.is_on = is_on;
        let merged = core.counters().updates_merged;
        if !is_on {
            if std::mem::take(&mut self.is_told) {
                let ms = now.since(self.began).as_millis() as u64;
                let merged = merged - self.merged;
                tracing::info!(ms, merged, "the backbone takes what comes again");
            }
            return;
        }
        (self.began, self.merged) = (now, merged);
        self.is_told = self.told.is_none_or(|told| now.since(told) >= LINE_INTERVAL);
        if !self.is_told {
            self.untold += 1;
            return;
        }
        self.told = Some(now);
        let untold = std::mem::take(&mut self.untold);
        tracing::warn!(
            untold,
            "the queue to the backbone is too full: updates are merged, and no requests are taken"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    #[test]
    fn as_much_is_read_as_leaves_and_a_little_where_nothing_does() {
        let mut restraint = Restraint::default();
        assert!(restraint.turn(at(0), Some(100)));
        assert!(restraint.turn(at(1), Some(100)));
        assert!(!restraint.turn(at(2), Some(103)), "three left");
        restraint.credit -= 5;
        assert!(restraint.turn(at(3), Some(104)), "five were read, and four left");
        assert!(restraint.turn(at(501), Some(104)));
        assert!(!restraint.turn(at(502), Some(104)), "so that pings are heard");
        assert!(restraint.turn(at(503), Some(104)));
        assert!(!restraint.turn(at(504), None));
        assert_eq!(restraint.times(), 3);
        assert!(!restraint.is_on());
    }
}
