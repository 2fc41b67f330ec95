//! What is said in the log about the backbone: when it goes away, why it stays
//! away, and when it is back.

use std::time::Duration;

use tapeline_time::Time;

/// A reason that differs from the last one is told no sooner than this.
const CHANGE_INTERVAL: Duration = Duration::from_secs(1);
/// One that stays the same is told again this often.
const REMINDER_INTERVAL: Duration = Duration::from_secs(60);
/// Reports of Aeron are told no more often than this.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// A line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// It is away, for this long.
    Away(Duration),
    /// It is back after this long.
    Back(Duration),
}

/// Watches the backbone for the log.
#[derive(Debug, Default)]
pub(super) struct Health {
    away: Option<Away>,
    last_report: Option<Time>,
    reports: u64,
}

#[derive(Debug)]
struct Away {
    since: Time,
    told: Time,
    reason: String,
}

impl Health {
    /// Whether there is nothing to say of a backbone with no reason to be away.
    pub(super) const fn is_quiet(&self) -> bool {
        self.away.is_none()
    }

    /// Takes note of why it is away, if it is. Returns what to say.
    pub(super) fn note(&mut self, now: Time, reason: Option<&str>) -> Option<Note> {
        let Some(reason) = reason else {
            return self.away.take().map(|away| Note::Back(now.since(away.since)));
        };
        let Some(away) = &mut self.away else {
            self.away = Some(Away { since: now, told: now, reason: reason.to_owned() });
            return Some(Note::Away(Duration::ZERO));
        };
        let pause = if away.reason == reason { REMINDER_INTERVAL } else { CHANGE_INTERVAL };
        if now.since(away.told) < pause {
            return None;
        }
        away.told = now;
        reason.clone_into(&mut away.reason);
        Some(Note::Away(now.since(away.since)))
    }

    /// Counts a report of Aeron. Returns how many there were since the last one
    /// that was told, if this one is to be.
    pub(super) fn note_report(&mut self, now: Time) -> Option<u64> {
        self.reports += 1;
        if self.last_report.is_some_and(|last| now.since(last) < REPORT_INTERVAL) {
            return None;
        }
        self.last_report = Some(now);
        Some(std::mem::take(&mut self.reports))
    }
}

/// How many were turned away, by why.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct TurnedAway {
    /// For want of room.
    pub(super) crowded: u64,
    /// Members of other systems.
    pub(super) strangers: u64,
    /// Without the proof that the key asks for.
    pub(super) unproved: u64,
}

/// Tells how many were turned away since it was told last.
#[derive(Debug, Default)]
pub(super) struct Gate {
    told: TurnedAway,
    last: Option<Time>,
}

impl Gate {
    /// Takes note of the counts so far. Returns what is new, if it is to be
    /// told: at once, then no more often than every ten seconds.
    pub(super) fn note(&mut self, now: Time, counts: TurnedAway) -> Option<TurnedAway> {
        if counts == self.told || self.last.is_some_and(|last| now.since(last) < REPORT_INTERVAL) {
            return None;
        }
        self.last = Some(now);
        let told = std::mem::replace(&mut self.told, counts);
        Some(TurnedAway {
            crowded: counts.crowded - told.crowded,
            strangers: counts.strangers - told.strangers,
            unproved: counts.unproved - told.unproved,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_turned_away_is_told_now_and_then() {
        let mut gate = Gate::default();
        let strangers = |strangers| TurnedAway { strangers, ..TurnedAway::default() };
        assert_eq!(gate.note(at(0), strangers(0)), None);
        assert_eq!(gate.note(at(1), strangers(1)), Some(strangers(1)));
        assert_eq!(gate.note(at(10_000), strangers(90)), None);
        assert_eq!(gate.note(at(10_001), strangers(91)), Some(strangers(90)));
        assert_eq!(gate.note(at(30_000), strangers(91)), None);
    }

    fn at(ms: u64) -> Time {
        Time::ZERO.after(Duration::from_millis(ms))
    }

    const fn away(ms: u64) -> Note {
        Note::Away(Duration::from_millis(ms))
    }

    #[test]
    fn a_healthy_one_is_not_talked_about() {
        let mut health = Health::default();
        assert_eq!(health.note(at(0), None), None);
    }

    #[test]
    fn going_and_coming_are_told_once() {
        let mut health = Health::default();
        assert_eq!(health.note(at(10), Some("gone")), Some(away(0)));
        assert_eq!(health.note(at(11), Some("gone")), None);
        assert_eq!(health.note(at(30), None), Some(Note::Back(Duration::from_millis(20))));
        assert_eq!(health.note(at(31), None), None);
    }

    #[test]
    fn a_new_reason_is_told_and_an_old_one_now_and_then() {
        let mut health = Health::default();
        health.note(at(0), Some("closed"));
        assert_eq!(health.note(at(999), Some("no driver")), None);
        assert_eq!(health.note(at(1_000), Some("no driver")), Some(away(1_000)));
        assert_eq!(health.note(at(60_000), Some("no driver")), None);
        assert_eq!(health.note(at(61_000), Some("no driver")), Some(away(61_000)));
    }

    #[test]
    fn reports_are_told_with_their_count() {
        let mut health = Health::default();
        assert_eq!(health.note_report(at(0)), Some(1));
        assert_eq!(health.note_report(at(5_000)), None);
        assert_eq!(health.note_report(at(9_999)), None);
        assert_eq!(health.note_report(at(10_000)), Some(3));
    }
}
