//! Items that a standby closed are asked for there again after a while, and items that
//! the active source closed go on at a standby, where that is wanted.

use std::collections::BTreeSet;

use tapeline_omm::state::is_final;
use tapeline_rwf::{State, StreamState};
use tapeline_time::Time;

use super::super::Core;
use super::super::timers::{DUE_PER_TURN, at_ms, ms};
use crate::Outputs;

/// How many times longer one that was closed for good waits, rather than one to be
/// recovered: a source that lacks many items is not asked for all of them all the time.
const CLOSED_WAITS: u64 = 8;

/// Items that a standby closed, by when it is asked again.
#[derive(Debug, Default)]
pub(super) struct Refused(BTreeSet<(u64, u32)>);

impl Refused {
    /// Frees one, and says whether there was any.
    pub(super) fn free_one(&mut self) -> bool {
        self.0.pop_first().is_some()
    }

    fn due_ms(&self) -> Option<u64> {
        self.0.first().map(|(due_ms, _)| *due_ms)
    }
}

impl Core {
    /// A source closed an item with which it stood by, or was to.
    pub(super) fn ask_mirror_again(
        &mut self,
        now: Time,
        (index, service_id): (u32, u16),
        id: u32,
        state: StreamState,
    ) {
        let waits = if state == StreamState::CLOSED_RECOVER { 1 } else { CLOSED_WAITS };
        let due_ms = ms(now) + waits * self.config.retry_delay_ms;
        let source = self.sources.get_mut(index);
        if let Some(offer) = source.and_then(|source| source.offers.get_mut(&service_id)) {
            offer.mirrors.refused.0.insert((due_ms, id));
            let next_ms = self.refused_ms.map_or(due_ms, |next_ms| next_ms.min(due_ms));
            self.refused_ms = Some(next_ms);
        }
    }

    /// When a standby is to be asked again for what it closed, or was.
    pub(in crate::core) fn refused_deadline(&self) -> Option<Time> {
        self.refused_ms.map(at_ms)
    }

    /// Asks standbys again for what they closed, some at a time.
    pub(in crate::core) fn ask_refused(&mut self, now: Time, out: &mut impl Outputs) {
        if self.refused_ms.is_none_or(|due_ms| due_ms > ms(now)) {
            return;
        }
        self.ask_some_refused(now, out);
        let offers = self.sources.iter().flat_map(|(_, source)| source.offers.values());
        self.refused_ms = offers.filter_map(|offer| offer.mirrors.refused.due_ms()).min();
    }

    fn ask_some_refused(&mut self, now: Time, out: &mut impl Outputs) {
        for _ in 0..DUE_PER_TURN {
            let is_due = |due_ms: u64| due_ms <= ms(now);
            let found = self.sources.iter().find_map(|(index, source)| {
                let mut offers = source.offers.iter();
                offers
                    .find(|(_, offer)| offer.mirrors.refused.due_ms().is_some_and(is_due))
                    .map(|(service_id, _)| (index, *service_id))
            });
            let Some((index, service_id)) = found else { return };
            let source = self.sources.get_mut(index);
            let offer = source.and_then(|source| source.offers.get_mut(&service_id));
            let Some((_, id)) = offer.and_then(|it| it.mirrors.refused.0.pop_first()) else {
                return;
            };
            // Whether it is still wanted there is looked at when it is its turn.
            self.mirror_at(now, (index, service_id), id, out);
        }
    }

    /// The active source of an item closes it: whether it goes on at a standby that has
    /// it. So does one that is to be recovered, and one that is closed for good where that
    /// is wanted of its service.
    pub(in crate::core) fn outlives_close(
        &mut self,
        now: Time,
        id: u32,
        state: &State<'_>,
        out: &mut impl Outputs,
    ) -> bool {
        if !is_final(state.stream) {
            return false;
        }
        let Some(item) = self.items.get(id) else { return false };
        let (service, Some(from)) = (item.service, item.binding) else { return false };
        let Some(service) = self.services.get(service).filter(|it| it.is_mirrored()) else {
            return false;
        };
        let is_wanted = match state.stream {
            StreamState::CLOSED_RECOVER => true,
            StreamState::CLOSED => service.mirroring.outlives_close,
            _ => false,
        };
        if !is_wanted || !self.go_on_with_mirror(now, id, out) {
            return false;
        }
        self.counters.mirror_closes_outlived += 1;
        self.ask_mirror_again(now, (from.source, from.service_id), id, state.stream);
        true
    }
}
