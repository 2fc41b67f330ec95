//! Mirrored services that go back to their first source some time after it is there
//! again, or as soon as nothing changes.
//!
//! ```text
//!   first lost        first is back               it has all that is open
//!       │                  │── failback ──────────────▶│ active again
//!   standby active ────────────────────────────────────┘ standby
//! ```
//!
//! Items go over as they do when an active source is lost, but from one that is there:
//! it is told what it is then, and asked again to stand by.

use std::collections::BTreeMap;

use tapeline_time::Time;

use super::super::Core;
use super::super::timers::{at_ms, ms};
use crate::{Failback, Outputs};

/// A first source that does not have all items yet is looked at again after so long.
const NOT_YET_MS: u64 = 500;

/// A service is idle when nothing of it has changed for so long.
const IDLE_MS: u64 = 1_000;

/// Services whose first source is there and not the active one, by number.
#[derive(Debug, Default)]
pub(in crate::core) struct Failbacks(BTreeMap<u16, Due>);

#[derive(Clone, Copy, Debug)]
struct Due {
    source: u32,
    at_ms: u64,
}

impl Failbacks {
    pub(in crate::core) fn deadline(&self) -> Option<Time> {
        self.0.values().map(|due| at_ms(due.at_ms)).min()
    }
}

impl Core {
    /// Something changed at the sources of a service: whether its first source is there
    /// and another one active.
    pub(in crate::core) fn look_for_first(&mut self, now: Time, service: u16) {
        let Some(known) = self.services.get(service) else { return };
        let after_ms = match known.mirroring.failback {
            Failback::Never => return,
            Failback::After(after_ms) => after_ms,
            Failback::Idle => IDLE_MS,
        };
        let first = self
            .sources
            .offering(service)
            .filter(|(_, id, source)| {
                source.is_interactive() && !source.gives_away() && source.takes_requests(*id)
            })
            .min_by_key(|(index, _, source)| (source.preference.order, *index))
            .map(|(index, ..)| index);
        match first {
            Some(source) if known.active.is_some_and(|active| active != source) => {
                let begun = Due { source, at_ms: ms(now) + after_ms };
                let entry = self.failbacks.0.entry(service).or_insert(begun);
                if entry.source != source {
                    *entry = begun;
                }
            }
            _ => {
                self.failbacks.0.remove(&service);
            }
        }
    }

    /// Services whose time has come go back to their first source.
    pub(in crate::core) fn fail_back(&mut self, now: Time, out: &mut impl Outputs) {
        let is_due = |due: &Due| due.at_ms <= ms(now);
        let due: Vec<_> = self
            .failbacks
            .0
            .iter()
            .filter(|(_, due)| is_due(due))
            .map(|(service, due)| (*service, due.source))
            .collect();
        for (service, source) in due {
            let at_ms = self.may_go_back_ms(now, service, source);
            if at_ms <= ms(now) {
                self.failbacks.0.remove(&service);
                self.give_back(service, source, out);
            } else if let Some(due) = self.failbacks.0.get_mut(&service) {
                due.at_ms = at_ms;
            }
        }
    }

    /// When a service may go back to its first source, or is to be looked at again.
    fn may_go_back_ms(&self, now: Time, service: u16, source: u32) -> u64 {
        if !self.stands_by_with_all(service, source) {
            return ms(now) + NOT_YET_MS;
        }
        let known = self.services.get(service);
        match known.map(|known| known.mirroring.failback) {
            Some(Failback::Idle) => self.last_update_ms(service, source) + IDLE_MS,
            _ => ms(now),
        }
    }

    /// When an item changed last with which a source stands by. What changes there changes
    /// at the one that is used.
    fn last_update_ms(&self, service: u16, index: u32) -> u64 {
        let Some(source) = self.sources.get(index) else { return 0 };
        let offers = source.offers.values().filter(|offer| offer.service == service);
        offers.map(|offer| offer.mirrors.updated_ms).max().unwrap_or(0)
    }

    /// Whether a source has answered all that it was asked to stand by with.
    fn stands_by_with_all(&self, service: u16, index: u32) -> bool {
        let Some(source) = self.sources.get(index) else { return false };
        let mut offers = source.offers.iter().filter(|(_, offer)| offer.service == service);
        offers.all(|(service_id, offer)| {
            offer.mirrors.is_settled()
                && !self.backlog.is_mirroring((index, *service_id, offer.generation))
        })
    }

    fn give_back(&mut self, service: u16, source: u32, out: &mut impl Outputs) {
        let Some(known) = self.services.get_mut(service) else { return };
        let Some(before) = known.active.replace(source) else { return };
        self.leave_active(before, service);
        self.tell_modes(service, out);
        self.counters.mirror_failbacks += 1;
    }
}
