//! The sessions of the day, by the clock.

use tapeline_instrument::{Cause, Schedule, Session, Turn};

use super::gate::Turned;

const NS_PER_S: u64 = 1_000_000_000;

/// Which sessions there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Continuous trading from the start, for ever.
    Open,
    /// Closed, until somebody else says what begins.
    Closed,
    /// By the clock.
    Schedule {
        /// The turns of a day.
        schedule: Schedule,
        /// How long a day is: 86,400 s, or less for a demonstration.
        day_s: u32,
    },
}

impl Plan {
    /// A day of turns, of the usual length.
    pub const fn daily(schedule: Schedule) -> Self {
        Self::Schedule { schedule, day_s: 86_400 }
    }
}

/// Says which session begins when. The ends of calls are drawn here, from a seed.
#[derive(Debug)]
pub(super) struct Day {
    turns: Vec<(Turn, Cause)>,
    period_ns: u64,
    /// When this day began, in nanoseconds since 1970 UTC.
    began_ns: u64,
    next: usize,
    due_ns: u64,
    random: u64,
}

impl Day {
    pub(super) fn new(plan: &Plan, now_ns: u64, utc_offset_s: i32, seed: u64) -> Self {
        let at_once = Turn { at_s: 0, session: Session::Regular, random_s: 0 };
        let (turns, day_s) = match plan {
            Plan::Open => (vec![(at_once, Cause::Operator)], 0),
            Plan::Closed => (Vec::new(), 0),
            Plan::Schedule { schedule, day_s } => (schedule.causes().collect(), *day_s),
        };
        let period_ns = u64::from(day_s) * NS_PER_S;
        let local_ns = now_ns.saturating_add_signed(i64::from(utc_offset_s) * NS_PER_S as i64);
        let began_ns = now_ns.saturating_sub(local_ns.checked_rem(period_ns).unwrap_or(0));
        let mut day = Self { turns, period_ns, began_ns, next: 0, due_ns: 0, random: seed };
        day.draw();
        day
    }

    /// When the next session begins (splitmix64).
    fn draw(&mut self) {
        if self.next == self.turns.len() && self.period_ns > 0 {
            self.next = 0;
            self.began_ns += self.period_ns;
        }
        let Some((turn, _)) = self.turns.get(self.next) else {
            self.due_ns = u64::MAX;
            return;
        };
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut drawn = self.random;
        drawn = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        drawn = (drawn ^ (drawn >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        drawn ^= drawn >> 31;
        let random_ns = drawn % (u64::from(turn.random_s) * NS_PER_S + 1);
        self.due_ns = self.began_ns + u64::from(turn.at_s) * NS_PER_S + random_ns;
    }

    /// The session that begins by now, if one does; there may be more.
    pub(super) fn due(&mut self, now_ns: u64) -> Option<(Session, Cause)> {
        if now_ns < self.due_ns {
            return None;
        }
        let (turn, cause) = *self.turns.get(self.next)?;
        self.next += 1;
        self.draw();
        Some((turn.session, cause))
    }

    /// The session that the day is in; closed, before the first one.
    pub(super) fn session(&self) -> Session {
        let last = self.next.checked_sub(1).unwrap_or(self.turns.len().saturating_sub(1));
        self.turns.get(last).map_or(Session::Closed, |(turn, _)| turn.session)
    }

    /// What begins, with all that says when the next one does.
    pub(super) fn turned(&self, session: Session, cause: Cause) -> Turned {
        Turned {
            session: session.status(),
            cause: cause as u8,
            next: self.next as u32,
            began_ns: self.began_ns,
            due_ns: self.due_ns,
            random: self.random,
        }
    }

    /// Takes up after a session that began before.
    pub(super) fn resume(&mut self, turned: &Turned) {
        self.next = turned.next as usize;
        self.began_ns = turned.began_ns;
        self.due_ns = turned.due_ns;
        self.random = turned.random;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_S: u64 = 86_400;

    /// What begins in two days, by the second.
    fn two_days(seed: u64, offset_s: i32) -> Vec<(u64, u8)> {
        let plan = Plan::daily(Schedule::sets());
        let mut day = Day::new(&plan, 100 * DAY_S * NS_PER_S, offset_s, seed);
        let mut found = Vec::new();
        for second in 0..2 * DAY_S {
            while let Some((session, _)) = day.due((100 * DAY_S + second) * NS_PER_S) {
                found.push((second, session.status()));
            }
        }
        found
    }

    #[test]
    fn calls_end_at_a_random_moment_of_half_a_minute_each_day_another() {
        let found = two_days(1, 0);
        let sessions: Vec<u8> = found.iter().map(|(_, session)| *session).collect();
        assert_eq!(sessions, b"aTdubcwaTdubcw");
        let [first, second] = [found[1].0, found[8].0 - DAY_S];
        for opening_s in [first, second] {
            assert!((28_800..=28_831).contains(&opening_s), "{opening_s}");
        }
        assert_ne!(first, second);
        assert_eq!(found[0].0, 7 * 3600 + 50 * 60);
        assert_eq!(two_days(1, 0), found, "the same seed draws the same");
        assert_ne!(two_days(2, 0), found);
        assert_eq!(two_days(1, 3600)[0].0, 6 * 3600 + 50 * 60, "an hour ahead of UTC");
    }

    #[test]
    fn who_starts_late_is_where_the_day_is() {
        let plan = Plan::daily(Schedule::sets());
        let noon_ns = (100 * DAY_S + DAY_S / 2) * NS_PER_S;
        let mut day = Day::new(&plan, noon_ns, 0, 1);
        let found: Vec<u8> =
            std::iter::from_fn(|| day.due(noon_ns)).map(|(session, _)| session.status()).collect();
        assert_eq!(found, b"aT");
    }

    #[test]
    fn a_market_may_be_open_from_the_start_or_stay_closed() {
        let due = |plan| Day::new(&plan, 5, 0, 1).due(5);
        assert_eq!(due(Plan::Open), Some((Session::Regular, Cause::Operator)));
        assert_eq!(due(Plan::Closed), None);
    }
}
