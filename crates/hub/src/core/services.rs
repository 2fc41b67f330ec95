//! What follows from a change of a source's directory.

use std::collections::BTreeSet;

use tapeline_omm::directory::DirectoryChange;
use tapeline_rssl::Time;

use super::Core;
use super::source::{Offer, SourceKind, is_wanted};
use crate::Outputs;

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
                    affected.extend(self.take_offer(index, service_id));
                }
                DirectoryChange::Deleted { service_id, .. } => {
                    affected.extend(self.offer_lost(now, index, service_id, out));
                }
                DirectoryChange::ServiceStatus { service_id, state } => {
                    self.service_status(now, index, service_id, &state, out);
                }
                DirectoryChange::GroupStatus { group, state } => {
                    self.group_status(now, index, &group, &state, out);
                }
                DirectoryChange::GroupMerged { group, into } => {
                    self.group_merged(index, &group, &into);
                }
                DirectoryChange::Refused { .. } => self.counters.limited += 1,
            }
        }
        for service in affected {
            self.service_changed(now, service, out);
        }
    }

    /// A source offers a service, which is taken from it unless its route says
    /// otherwise. Returns the hub's id of it.
    fn take_offer(&mut self, index: u32, service_id: u16) -> Option<u16> {
        let source = self.sources.get_mut(index)?;
        if let Some(offer) = source.offers.get(&service_id) {
            return Some(offer.service);
        }
        let name = source.directory.service(service_id)?.name()?;
        let wanted = match source.kind {
            SourceKind::Route(route) => self.config.routes.get(route)?.services.as_deref(),
            SourceKind::Provider => None,
        };
        if !is_wanted(wanted, name) {
            return None;
        }
        let Some(service) = self.services.id_of(name, service_id) else {
            self.counters.limited += 1;
            return None;
        };
        source.offers.insert(service_id, Offer { service, ..Offer::default() });
        Some(service)
    }

    /// Something about the sources of a service changed: servers are told what
    /// it is now, requests that no longer fit go elsewhere, and those that wait
    /// try again.
    pub(super) fn service_changed(&mut self, now: Time, service: u16, out: &mut impl Outputs) {
        if let Some(update) = self.services.merge(service, &self.sources) {
            self.publish_directory(&update, out);
        }
        let offers: Vec<_> = self
            .sources
            .offering(service)
            .map(|(index, id, source)| (index, id, source.takes_requests(id)))
            .collect();
        for (index, service_id, takes_requests) in &offers {
            if !takes_requests {
                self.move_queue(*index, *service_id);
            }
        }
        let waiting = match self.services.get_mut(service) {
            Some(service) => std::mem::take(&mut service.waiting),
            None => return,
        };
        for id in waiting {
            self.seek(now, id, out);
        }
        for (index, service_id, _) in offers {
            self.pump(now, index, service_id, out);
        }
    }

    /// Requests that wait for room at a source that takes no more look for
    /// another one.
    fn move_queue(&mut self, index: u32, service_id: u16) {
        let Some(source) = self.sources.get_mut(index) else { return };
        let Some(offer) = source.offers.get_mut(&service_id) else { return };
        let service = offer.service;
        for id in std::mem::take(&mut offer.queue) {
            let Some(item) = self.items.get_mut(id) else { continue };
            let is_here = item.binding.is_some_and(|binding| {
                (binding.source, binding.service_id, binding.stream_id) == (index, service_id, None)
            });
            if is_here {
                item.binding = None;
                offer.open = offer.open.saturating_sub(1);
                if let Some(service) = self.services.get_mut(service) {
                    service.waiting.insert(id);
                }
            }
        }
    }
}
