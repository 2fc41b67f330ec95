//! What follows from a change of a source's directory.

use std::collections::BTreeSet;

use tapeline_omm::directory::DirectoryChange;
use tapeline_time::Time;

use super::Core;
use super::backlog::{Saying, Work};
use super::fate::Loss;
use super::services::{Member, Sharing};
use super::source::{Offer, Source, SourceKind, is_wanted};
use crate::{Outputs, ServiceKind};

impl Core {
    /// A source said something about its services. States for items go out
    /// before the services are said to have changed, as publishers are advised
    /// to do it themselves.
    pub(super) fn directory_changed(
        &mut self,
        now: Time,
        index: u32,
        changes: Vec<DirectoryChange>,
        out: &mut impl Outputs,
    ) {
        let mut affected = BTreeSet::new();
        for change in changes {
            match change {
                DirectoryChange::Added { service_id }
                | DirectoryChange::Updated { service_id, .. } => {
                    affected.extend(self.take_offer(index, service_id, out));
                }
                DirectoryChange::Deleted { service_id, .. } => {
                    affected.extend(self.offer_lost(index, service_id));
                }
                DirectoryChange::ServiceStatus { service_id, state } => {
                    self.say(index, service_id, None, Saying::State(state));
                }
                DirectoryChange::GroupStatus { group, state } => {
                    self.say(index, group.service_id, Some(group.group), Saying::State(state));
                }
                DirectoryChange::GroupMerged { group, into } => {
                    self.say(index, group.service_id, Some(group.group), Saying::Merged(into));
                }
                DirectoryChange::Refused { .. } => self.counters.limited += 1,
            }
        }
        for service in affected {
            self.leave_members_down(service);
            self.service_changed(service);
        }
        self.work_off(now, out);
    }

    /// A source offers a service, which is taken from it unless its route says
    /// otherwise, or it is non-interactive and the service not for those.
    /// Returns the hub's id of it.
    fn take_offer(&mut self, index: u32, service_id: u16, out: &mut impl Outputs) -> Option<u16> {
        let source = self.sources.get(index)?;
        if let Some(offer) = source.offers.get(&service_id) {
            return Some(offer.service);
        }
        if source.leaves {
            return None;
        }
        let name = source.directory.service(service_id)?.name()?;
        let Member { known_as, rank } = self.services.member(name);
        let is_interactive = source.is_interactive();
        match source.kind {
            SourceKind::Route(route) => {
                let wanted = self.config.routes.get(route)?.services.as_deref();
                let is_published =
                    self.services.kind(&known_as) == Some(ServiceKind::NonInteractive);
                if is_published || !is_wanted(wanted, name) {
                    return None;
                }
            }
            SourceKind::Provider if !self.may_publish(index, &known_as) => {
                self.refuse_service(index, service_id, &known_as, out);
                return None;
            }
            SourceKind::Provider => {}
        }
        let Some(service) = self.services.id_of(&known_as, service_id) else {
            self.counters.limited += 1;
            return None;
        };
        let source = self.sources.get_mut(index)?;
        source.generations += 1;
        let generation = source.generations;
        let offer = Offer { service, rank, generation, ..Offer::default() };
        source.offers.insert(service_id, offer);
        if is_interactive {
            self.claim_service(service, out);
            if self.is_mirrored(service) {
                self.mirror_all(index, service_id, generation);
            }
        }
        Some(service)
    }

    /// Where a member of a group is down, its items go on at another one that takes
    /// them. Others stay where they are until their source says more, as do those of a
    /// service that is no group.
    fn leave_members_down(&mut self, service: u16) {
        let known = self.services.get(service);
        if known.is_none_or(|known| known.sharing != Sharing::Group) {
            return;
        }
        let down = self.sources.offering(service).filter(|(_, id, source)| source.is_down(*id));
        let works: Vec<_> = down
            .filter_map(|(source, service_id, known)| {
                let offer = known.offers.get(&service_id).filter(|offer| offer.open > 0)?;
                let generation = offer.generation;
                Some(Work::Leave { source, service_id, generation, next: 0 })
            })
            .collect();
        for work in works {
            self.backlog.add(work);
        }
    }

    /// The next item of a member that is down. Whether there may be more.
    pub(super) fn leave_next(
        &mut self,
        now: Time,
        place: (u32, u16, u32),
        next: &mut u32,
        out: &mut impl Outputs,
    ) -> bool {
        let (index, service_id, _) = place;
        if self.sources.get(index).is_none_or(|source| !source.is_down(service_id)) {
            return false;
        }
        let (found, is_left) = self.next_bound(place, next);
        if let Some(id) = found
            && let Some(item) = self.items.get(id).filter(|item| !item.private)
            && let Some(binding) = item.binding
            && self.has_alternative(item, &binding)
        {
            self.item_lost(now, id, Loss::Service, out);
        }
        is_left
    }

    /// Something about the sources of a service changed: servers are told what
    /// it is now. What follows is done bit by bit.
    pub(super) fn service_changed(&mut self, service: u16) {
        self.backlog.add(Work::Changed { service, is_said: false, left: None });
    }

    /// Tells servers what a service is now, if that changed.
    pub(super) fn say_service(&mut self, service: u16, out: &mut impl Outputs) {
        if let Some(update) =
            self.services.merge(service, &self.sources, self.pressure.takes_no_requests())
        {
            self.publish_directory(&update, out);
        }
    }

    /// A request that waits for room at a source that takes no more is to look
    /// for another one. Whether there was any.
    pub(super) fn move_queued(&mut self, service: u16) -> bool {
        let waits_in_vain = |(_, service_id, source): &(u32, u16, &Source)| {
            let has_queue = source.offers.get(service_id).is_some_and(|it| !it.queue.is_empty());
            has_queue && !source.takes_requests(*service_id)
        };
        let found = self.sources.offering(service).find(waits_in_vain);
        let Some((index, service_id)) = found.map(|(index, service_id, _)| (index, service_id))
        else {
            return false;
        };
        let source = self.sources.get_mut(index);
        let offer = source.and_then(|source| source.offers.get_mut(&service_id));
        let Some(id) = offer.and_then(|offer| offer.queue.pop_first()) else { return false };
        let binding = self.items.get(id).and_then(|item| item.binding);
        if binding.is_some_and(|binding| binding.waits_at(index, service_id)) {
            self.unbind(id);
            if let Some(service) = self.services.get_mut(service) {
                service.waiting.insert(id);
            }
        }
        true
    }
}
