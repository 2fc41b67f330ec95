//! Which source an item is asked for at.

use std::cmp::Reverse;

use tapeline_omm::directory::{Service, ServiceInfo};
use tapeline_omm::is_administrative;
use tapeline_omm::qos::is_same;
use tapeline_rwf::{Priority, Qos};

use super::Core;
use super::item::{Binding, Item};
use super::services::offers;
use super::source::{Offer, Preference, Source};
use crate::Rebalance;

impl Core {
    /// The source for an item: of those that take requests for its service, are
    /// for its name, offer its domain and quality and have room for one more, the
    /// first of a group, then by order, then the least loaded, then the one with the fewest items
    /// for its weight, then each in turn. The one that the item is to avoid only
    /// if there is no other. How loaded they are is not asked where a service is not to be
    /// balanced. What is on its way to a source from others counts as its own.
    pub(super) fn choose(&mut self, id: u32) -> Option<(u32, u16)> {
        let service = self.items.get(id)?.service;
        let is_mirrored = self.is_mirrored(service);
        let active = if is_mirrored { self.active_of(service) } else { None };
        let item = self.items.get(id)?;
        let service = self.services.get_mut(item.service)?;
        let turn = service.turn;
        let has_loads = service.rebalance != Rebalance::Off;
        let best = self
            .sources
            .offering(item.service)
            .filter(|(_, service_id, source)| takes(source, *service_id, item, is_mirrored))
            .min_by_key(|(index, service_id, source)| {
                let is_avoided = item.avoid.is((*index, *service_id));
                let offer = source.offers.get(service_id);
                let rank = offer.map_or(0, |offer| offer.rank);
                let open = offer.map_or(0, |offer| expected(offer, is_mirrored));
                // Those behind the one that was chosen last come first.
                let place = (*index <= turn, *index);
                let Preference { order, .. } = source.preference;
                let fullness = source.preference.fullness(open);
                let is_active = active == Some(*index);
                let load = if has_loads { source.load_factor(*service_id) } else { 0 };
                (is_avoided, !is_active, rank, order, load, fullness, place)
            })
            .map(|(index, service_id, _)| (index, service_id))?;
        service.turn = best.0;
        Some(best)
    }

    /// The item that gives way to one that finds no source because all are
    /// full: of those at sources that would take it, the least wanted, and of
    /// these the newest. Nothing gives way to what is wanted no more than
    /// usual, or no more than itself.
    pub(super) fn least_wanted(&self, id: u32) -> Option<u32> {
        let item = self.items.get(id)?;
        let wanted = item.priority();
        if wanted <= Priority::default() {
            return None;
        }
        self.sources
            .offering(item.service)
            .filter(|(_, service_id, source)| would_take(source, *service_id, item))
            .filter_map(|(_, id, source)| source.offers.get(&id)?.members.least_wanted())
            .min()
            .filter(|(priority, _)| *priority < wanted)
            .map(|(_, Reverse(id))| id)
    }

    /// Of the items of a service that can give way, the least wanted, and of these the
    /// newest.
    pub(super) fn least_wanted_of(&self, service: u16) -> Option<(Priority, u32)> {
        let offers = self.sources.offering(service);
        let all =
            offers.filter_map(|(_, id, source)| source.offers.get(&id)?.members.least_wanted());
        all.min().map(|(priority, Reverse(id))| (priority, id))
    }

    /// Whether any source of a service takes one more item.
    pub(super) fn has_room_for_any(&self, service: u16) -> bool {
        self.sources.offering(service).any(|(_, service_id, source)| {
            let open = source.offers.get(&service_id).map_or(0, |offer| offer.open);
            source.is_interactive()
                && !source.preference.drains
                && source.takes_requests(service_id)
                && open < source.open_limit(service_id)
        })
    }

    /// Whether it is taken anywhere else than where an item is, or was.
    pub(super) fn has_alternative(&self, item: &Item, to: &Binding) -> bool {
        let is_mirrored = self.is_mirrored(item.service);
        self.sources.offering(item.service).any(|(index, service_id, source)| {
            (index, service_id) != to.offer() && takes(source, service_id, item, is_mirrored)
        })
    }
}

/// Whether a source can be asked for an item now.
fn takes(source: &Source, service_id: u16, item: &Item, is_mirrored: bool) -> bool {
    would_take(source, service_id, item)
        && (is_administrative(item.key.as_ref().domain)
            || has_room(source, service_id, item, is_mirrored))
}

/// Items that are at a source, or on their way to it from one that gives them away. Of a
/// mirrored service every source has all, in case, and nothing is on its way.
fn expected(offer: &Offer, is_mirrored: bool) -> u64 {
    let coming = if is_mirrored { 0 } else { offer.mirrors.len() + offer.mirrors.waiting() };
    offer.open + coming as u64
}

/// Whether a source can be asked for an item if it has room.
pub(super) fn would_take(source: &Source, service_id: u16, item: &Item) -> bool {
    if !source.is_interactive() || !source.takes_requests(service_id) {
        return false;
    }
    let name = item.key.as_ref().name;
    if source.preference.drains || !source.preference.is_for(name) {
        return false;
    }
    let Some(service) = source.service(service_id) else { return false };
    let domain = item.key.as_ref().domain;
    if !offers(service, domain) {
        return false;
    }
    is_administrative(domain) || item.key.as_ref().qos.is_none_or(|qos| has_quality(service, &qos))
}

fn has_quality(service: &Service, wanted: &Qos) -> bool {
    match super::services::offered_qos(service) {
        [] => is_same(wanted, &Qos::REALTIME_TICK_BY_TICK),
        offered => offered.iter().any(|qos| is_same(qos, wanted)),
    }
}

/// Whether a source takes one more item. Snapshots do not count where they are
/// given out of band.
fn has_room(source: &Source, service_id: u16, item: &Item, is_mirrored: bool) -> bool {
    let info = source.service(service_id).and_then(|service| service.info.as_ref());
    let is_free = !item.streaming && info.is_none_or(ServiceInfo::gives_out_of_band_snapshots);
    let offer = source.offers.get(&service_id);
    let open = offer.map_or(0, |offer| expected(offer, is_mirrored));
    is_free || open < source.open_limit(service_id)
}
