//! Which source of a mirrored service is used, and what its sources are told that they are.
//!
//! ```text
//!   used ──▶ down, or takes no requests ── failover-after ──▶ another one is used
//!     ▲                  │                                        ▲
//!     └── it is back ────┘                 lost ──────────────────┘ at once
//! ```

use std::collections::BTreeMap;

use tapeline_omm::directory::{
    ConsumerStatus, ConsumerStatusEntry, ServiceInfo, SourceMirroringMode,
};
use tapeline_rwf::MapAction;
use tapeline_time::Time;

use super::super::Core;
use super::super::backlog::Work;
use super::super::streams::DIRECTORY_STREAM;
use super::super::timers::{at_ms, ms};
use crate::Outputs;

/// Services whose active source is there and of no use, by number: when another one is
/// used, or none where that time has come.
#[derive(Debug, Default)]
pub(in crate::core) struct Failovers(BTreeMap<u16, Option<u64>>);

impl Failovers {
    pub(in crate::core) fn deadline(&self) -> Option<Time> {
        self.0.values().flatten().min().copied().map(at_ms)
    }

    fn is_waited_for(&self, service: u16) -> bool {
        self.0.get(&service).is_some_and(Option::is_some)
    }
}

/// Whether a source wants to be told what it is; yes, if it does not say.
fn takes_modes(info: Option<&ServiceInfo>) -> bool {
    info.and_then(|info| info.accepting_consumer_status).unwrap_or(true)
}

impl Core {
    /// The active source of a mirrored service: the one that was, if it takes requests or
    /// is waited for, else the first that does.
    pub(in crate::core) fn active_of(&self, service: u16) -> Option<u32> {
        let before = self.services.get(service)?.active;
        if self.failovers.is_waited_for(service) {
            return before;
        }
        self.sources
            .offering(service)
            .filter(|(_, id, source)| {
                source.is_interactive() && !source.gives_away() && source.takes_requests(*id)
            })
            .min_by_key(|(index, _, source)| {
                (before != Some(*index), source.preference.order, *index)
            })
            .map(|(index, ..)| index)
    }

    /// Something changed at the sources of a service: whether its active one is there and
    /// of no use, and is waited for.
    pub(in crate::core) fn look_at_active(&mut self, now: Time, service: u16) {
        let Some(known) = self.services.get(service) else { return };
        let after_ms = known.mirroring.failover_after_ms;
        let is_of_no_use = after_ms > 0
            && self.sources.offering(service).any(|(index, id, source)| {
                known.active == Some(index) && !source.gives_away() && !source.takes_requests(id)
            });
        if is_of_no_use {
            self.failovers.0.entry(service).or_insert(Some(ms(now) + after_ms));
        } else {
            self.failovers.0.remove(&service);
        }
    }

    /// Services whose active source was of no use for long enough get another one.
    pub(in crate::core) fn fail_over(&mut self, now: Time, out: &mut impl Outputs) {
        let is_due = |due: &Option<u64>| due.is_some_and(|due_ms| due_ms <= ms(now));
        let due: Vec<_> =
            self.failovers.0.iter().filter(|(_, due)| is_due(due)).map(|(id, _)| *id).collect();
        for service in due {
            self.failovers.0.insert(service, None);
            self.tell_modes(service, out);
        }
    }

    /// Tells the sources of a mirrored service what they are, the active one
    /// first, where that changed.
    pub(in crate::core) fn tell_modes(&mut self, service: u16, out: &mut impl Outputs) {
        if !self.is_mirrored(service) {
            return;
        }
        let before = self.services.get(service).and_then(|service| service.active);
        let Some(active) = self.active_of(service) else { return };
        // While there is none, the one that was is the first to be tried.
        if let Some(known) = self.services.get_mut(service) {
            known.active = Some(active);
        }
        if let Some(before) = before.filter(|before| *before != active) {
            self.leave_active(before, service);
        }
        let mut sources: Vec<_> = self
            .sources
            .offering(service)
            .filter(|(_, _, source)| source.is_interactive() && source.session.is_some())
            .map(|(index, service_id, source)| {
                let info = source.service(service_id).and_then(|it| it.info.as_ref());
                (index, service_id, takes_modes(info))
            })
            .collect();
        sources.sort_by_key(|(index, ..)| *index != active);
        let has_standby = sources.len() > 1;
        for (index, service_id, is_told) in sources {
            let mode = match (index == active, has_standby) {
                (true, true) => SourceMirroringMode::ActiveWithStandby,
                (true, false) => SourceMirroringMode::ActiveNoStandby,
                (false, _) => SourceMirroringMode::Standby,
            };
            let source = self.sources.get_mut(index);
            let offer = source.and_then(|source| source.offers.get_mut(&service_id));
            let Some(offer) = offer else { continue };
            if offer.mirrors.mode.replace(mode) == Some(mode) || !is_told {
                continue;
            }
            let entry = ConsumerStatusEntry {
                action: MapAction::ADD,
                service_id,
                source_mirroring: Some(mode),
                warm_standby: None,
            };
            let status = ConsumerStatus { stream_id: DIRECTORY_STREAM, entries: vec![entry] };
            self.send_written(index, |encoder| status.encode(encoder), out);
        }
    }

    /// A source is not the active one of a service any more. If it is still there,
    /// what is open there goes on at the new one.
    pub(super) fn leave_active(&mut self, index: u32, service: u16) {
        let Some(source) = self.sources.get(index) else { return };
        for (service_id, offer) in &source.offers {
            if offer.service == service {
                let (service_id, generation) = (*service_id, offer.generation);
                self.backlog.add(Work::Away { source: index, service_id, generation, next: 0 });
            }
        }
    }
}
