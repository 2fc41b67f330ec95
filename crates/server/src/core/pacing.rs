//! Users whose contract says how often a stream is updated: `latest-within` and
//! `at-most`.
//!
//! An update for which a stream has a token goes out at once. One that comes too early
//! is merged at its item, as for a mount that is slow, and goes when there is a token:
//!
//! ```text
//!   update ──▶ a token? ── yes ──▶ out
//!                 │ no, and with all that come meanwhile
//!                 ▼
//!              merged ──▶ its time has come ──▶ out
//! ```
//!
//! Only mounts of such users have a gate that is shut for it, so that others pay nothing.
//! What is merged for a stream goes early where something goes out that is to come behind
//! it: an image or a state.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tapeline_channel::SessionId;
use tapeline_entitle::Contract;
use tapeline_planted::planted;
use tapeline_rwf::{Qos, Rate, UpdateFlags, UpdateMsg};
use tapeline_time::Time;

use super::mount::gate;
use super::rows::Cell;
use super::subscription::mode;
use super::{Core, DUE_PER_TURN};
use crate::Outputs;

/// So much of `at-most` may be had at once by a stream that had nothing for a while.
const BURST: Duration = Duration::from_secs(1);

/// How often a stream may be updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pace {
    /// A token comes each so often,
    each: Duration,
    /// and so many are kept as come in this time.
    kept: Duration,
}

impl Pace {
    /// What a contract says; `None`: nothing.
    fn of(contract: Contract) -> Option<Self> {
        match contract {
            Contract::Every | Contract::LatestWhenSlow => None,
            Contract::LatestWithin(ms) => {
                let each = Duration::from_millis(ms.into());
                Some(Self { each, kept: each })
            }
            Contract::AtMost(per_s) => {
                let each = Duration::from_secs(1) / per_s.max(1);
                Some(Self { each, kept: BURST.max(each) })
            }
        }
    }

    /// When there is a token, if all were taken until then; `None`: now.
    fn next(self, taken_until: Time, now: Time) -> Option<Time> {
        let wait = (taken_until.since(now) + self.each).saturating_sub(self.kept);
        (!wait.is_zero()).then(|| now.after(wait))
    }

    /// Takes a token. There may be none where something has to go out early.
    fn take(self, taken_until: Time, now: Time) -> Time {
        taken_until.max(now).after(self.each).min(now.after(self.kept))
    }
}

/// A stream whose updates were counted.
#[derive(Clone, Copy, Debug, Default)]
struct Paced {
    /// If its tokens are taken evenly, they are until then.
    taken_until: Time,
    /// When what is merged for it goes out.
    due: Option<Time>,
}

/// What the contract of a mount's user says of its streams, and where they stand.
#[derive(Debug, Default)]
pub(super) struct Pacing {
    pace: Option<Pace>,
    streams: BTreeMap<i32, Paced>,
}

impl Pacing {
    /// Whether the user has such a contract.
    pub(super) const fn is_on(&self) -> bool {
        self.pace.is_some()
    }

    /// Whether something goes out for a stream by its time.
    pub(super) fn is_waiting(&self) -> bool {
        self.streams.values().any(|paced| paced.due.is_some())
    }

    /// A stream is closed.
    pub(super) fn forget(&mut self, stream_id: i32) {
        if !self.streams.is_empty() {
            self.streams.remove(&stream_id);
        }
    }

    /// All streams are closed.
    pub(super) fn forget_streams(&mut self) {
        self.streams.clear();
    }

    /// An update of a stream goes out.
    pub(super) fn spend(&mut self, stream_id: i32, now: Time) {
        if let Some(pace) = self.pace {
            let paced = self.streams.entry(stream_id).or_default();
            paced.taken_until = pace.take(paced.taken_until, now);
        }
    }

    /// When there is a token for a stream; `None`: now.
    fn next(&self, stream_id: i32, now: Time) -> Option<Time> {
        let known = self.streams.get(&stream_id).copied().unwrap_or_default();
        self.pace?.next(known.taken_until, now)
    }

    /// What is merged for a stream goes out then. When it was to before.
    fn set_due(&mut self, stream_id: i32, due: Option<Time>) -> Option<Time> {
        let paced = self.streams.get_mut(&stream_id)?;
        std::mem::replace(&mut paced.due, due)
    }
}

/// When what is merged for streams goes out, by mount and stream.
#[derive(Debug, Default)]
pub(super) struct DuePaces(BTreeSet<(Time, u32, i32)>);

impl DuePaces {
    /// When the first has its turn.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.0.first().map(|(at, ..)| *at)
    }

    fn pop(&mut self, now: Time) -> Option<(Time, u32, i32)> {
        self.deadline().filter(|at| *at <= now)?;
        self.0.pop_first()
    }
}

impl Core {
    /// A mount has the contract of its user from now on.
    pub(super) fn set_pace(&mut self, session: SessionId) {
        let pace = self.contract_of_roles(session).and_then(Pace::of);
        let Some(mount) = self.mounts.get_mut(session) else { return };
        mount.pacing.pace = pace;
        self.mounts.set_gate(session, gate::PACED, pace.is_some());
    }

    /// The quality that the contract of a mount's user makes of a stream's.
    pub(super) fn interval_ms_of(&mut self, session: SessionId) -> Option<u16> {
        match self.contract_of_roles(session)? {
            Contract::LatestWithin(ms) => Some(ms),
            Contract::Every | Contract::LatestWhenSlow | Contract::AtMost(_) => None,
        }
    }

    /// Has an update wait if a watcher had what it may. Whether it does.
    pub(super) fn waits_for_pace(
        &mut self,
        (slot, cell): (u32, Cell),
        (session, stream_id): (SessionId, i32),
        update: &UpdateMsg<'_>,
    ) -> bool {
        let now = self.now;
        let Some(mount) = self.mounts.get_mut(session) else { return false };
        let at = match mount.pacing.next(stream_id, now) {
            Some(at) if !update.flags.contains(UpdateFlags::DO_NOT_CONFLATE) => at,
            _ => {
                mount.pacing.spend(stream_id, now);
                return false;
            }
        };
        let (number, before) = (mount.number, mount.pacing.set_due(stream_id, Some(at)));
        if let Some(before) = before {
            self.slow.paces.0.remove(&(before, number, stream_id));
        }
        self.slow.paces.0.insert((at, number, stream_id));
        self.statistics.updates_held += 1;
        self.begin_merging(slot, cell);
        true
    }

    /// Sends what is merged for streams whose time has come.
    pub(super) fn check_paces<O: Outputs>(&mut self, out: &mut O) {
        for _ in 0..DUE_PER_TURN {
            let Some((at, number, stream_id)) = self.slow.paces.pop(self.now) else { return };
            let Some(session) = self.mounts.session_of(number) else { continue };
            let Some(mount) = self.mounts.get_mut(session) else { continue };
            let paced = mount.pacing.streams.get_mut(&stream_id);
            // Else it was of another mount, or went out early.
            if let Some(paced) = paced.filter(|paced| paced.due == Some(at)) {
                paced.due = None;
                self.end_wait(session, stream_id, out);
            }
        }
    }

    fn end_wait<O: Outputs>(&mut self, session: SessionId, stream_id: i32, out: &mut O) {
        let Some(mount) = self.mounts.get_mut(session) else { return };
        if mount.is_slow {
            // It has its turn among all that waits for the mount.
            if mount.owed.has_merged(stream_id) {
                mount.owed.owe(stream_id);
            }
            return;
        }
        if let Some((slot, cell)) = self.item_on(session, stream_id)
            && let Some(watcher) = self.watcher(slot, cell)
            && watcher.has(mode::MERGED)
            && !self.holds_first(slot, &watcher)
            && !planted!(LostMerge)
        {
            self.flush_updates(slot, cell, out);
        }
        if self.mounts.get(session).is_some_and(|mount| mount.owed.has_images()) {
            // There was too much to merge.
            self.begin_draining(session, out);
        }
    }
}

/// The quality of a stream of which no more is sent than once in an interval: that of
/// its item, unless that is slower by itself.
pub(super) fn quality_within(interval_ms: u16, of_item: Option<Qos>) -> Qos {
    let of_item = of_item.unwrap_or(Qos::REALTIME_TICK_BY_TICK);
    let is_faster = match of_item.rate {
        Rate::TICK_BY_TICK => true,
        Rate::TIME_CONFLATED => of_item.rate_info_ms < interval_ms,
        _ => false,
    };
    match is_faster {
        true => Qos { rate: Rate::TIME_CONFLATED, rate_info_ms: interval_ms, ..of_item },
        false => of_item,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// When updates that come at these moments go out, each with those that wait.
    fn sent(contract: Contract, came: &[u64]) -> Vec<(u64, u64)> {
        let pace = Pace::of(contract).unwrap();
        let (mut taken, mut waits, mut sent) = (Time::default(), None, Vec::new());
        let ms = |time: Time| time.as_nanos().div_ceil(1_000_000);
        for came in came.iter().copied().chain([u64::MAX / 2_000_000]) {
            if let Some((first, due)) = waits.filter(|(_, due)| *due <= at(came)) {
                sent.push((first, ms(due)));
                (taken, waits) = (pace.take(taken, due), None);
            }
            if waits.is_none() {
                match pace.next(taken, at(came)) {
                    Some(due) => waits = Some((came, due)),
                    None => {
                        sent.push((came, came));
                        taken = pace.take(taken, at(came));
                    }
                }
            }
        }
        sent.pop();
        sent
    }

    #[test]
    fn the_first_goes_at_once_and_what_comes_too_early_when_its_time_has_come() {
        let sent = sent(Contract::LatestWithin(250), &[5_000, 5_010, 5_240, 5_250, 9_000]);
        assert_eq!(sent, [(5_000, 5_000), (5_010, 5_250), (5_250, 5_500), (9_000, 9_000)]);
    }

    #[test]
    fn as_many_as_may_go_in_a_second_go_at_once_after_a_while() {
        let came: Vec<_> = (0..10).map(|step| 5_000 + step).collect();
        let went: Vec<_> = sent(Contract::AtMost(4), &came).iter().map(|it| it.1).collect();
        assert_eq!(went, [5_000, 5_001, 5_002, 5_003, 5_250]);
    }

    proptest! {
        #[test]
        fn nothing_is_older_than_it_may_be_and_no_more_goes_than_may(
            gaps in prop::collection::vec(0..400_u64, 1..200),
            ms in 1..2_000_u16,
            per_s in 1..50_u32,
        ) {
            let mut now = 5_000;
            let came: Vec<_> = gaps.iter().map(|gap| { now += gap; now }).collect();
            let within = sent(Contract::LatestWithin(ms), &came);
            prop_assert!(within.iter().all(|(first, went)| went - first <= u64::from(ms)));
            prop_assert!(within.windows(2).all(|two| two[1].1 - two[0].1 >= u64::from(ms)));
            let at_most = sent(Contract::AtMost(per_s), &came);
            for (index, (_, went)) in at_most.iter().enumerate() {
                let in_second = at_most[index..].iter().take_while(|it| it.1 < went + 1_000);
                prop_assert!(in_second.count() <= 2 * per_s as usize);
            }
        }
    }

    #[test]
    fn an_item_that_is_slower_by_itself_keeps_its_quality() {
        let within = |of_item| quality_within(250, of_item);
        let time = |rate_info_ms| Qos {
            rate: Rate::TIME_CONFLATED,
            rate_info_ms,
            ..Qos::REALTIME_TICK_BY_TICK
        };
        assert_eq!(within(None), time(250));
        assert_eq!(within(Some(Qos::REALTIME_TICK_BY_TICK)), time(250));
        assert_eq!(within(Some(time(100))), time(250));
        assert_eq!(within(Some(time(1_000))), time(1_000));
        let jit = Qos { rate: Rate::JIT_CONFLATED, ..Qos::REALTIME_TICK_BY_TICK };
        assert_eq!(within(Some(jit)), jit);
    }
}
