//! The hubs on the backbone.

use std::collections::BTreeSet;
use std::time::Duration;

use tapeline_backbone::Incarnation;
use tapeline_backbone::repair::{Inquiry, Walk};
use tapeline_omm::Text;
use tapeline_omm::directory::{Directory, Service, ServiceInfo};
use tapeline_omm::pages::{Line, Sparse};
use tapeline_omm::qos::is_same;
use tapeline_rwf::{Domain, Qos};
use tapeline_time::Time;

use super::item::HubIndex;

/// No item.
const NONE: u32 = u32::MAX;

/// So many items a second are asked for at once when a hub uses their numbers
/// for others.
const MAX_ORPHANS_PER_S: u32 = 64;

/// One run of a hub.
#[derive(Debug)]
pub(super) struct Hub {
    pub(super) incarnation: Incarnation,
    /// Its services, by its own numbers.
    pub(super) directory: Directory,
    /// The slot of the item, by the hub's number for it. These are of all items of the
    /// hub, and many more than those that are open here.
    slots: Sparse<u32>,
    /// Slots of items that wait for their turn to be asked for.
    pub(super) queue: Line<u32>,
    /// Requests that the hub has not answered.
    pub(super) unanswered: usize,
    /// Items that it has accepted.
    pub(super) item_count: usize,
    /// What it is asked when frames of it were lost.
    pub(super) inquiry: Inquiry,
    /// How often frames of it were lost, counted round and round.
    pub(super) gaps: u8,
    /// What it is told when it lost frames of this server.
    pub(super) walk: Walk,
    /// Requests that are over, and that it is to be told of: number and serial.
    pub(super) closes: Line<(u32, u32)>,
    /// The queue is to be gone on with.
    pub(super) is_pump_due: bool,
    /// Not before this is anything sent that can wait.
    pub(super) backlog_at: Time,
    /// Items whose number was another's in the present second, and when that
    /// began.
    orphans: (u32, Time),
}

impl Hub {
    fn new(incarnation: Incarnation) -> Self {
        Self {
            incarnation,
            directory: Directory::default(),
            slots: Sparse::of(NONE),
            queue: Line::default(),
            unanswered: 0,
            item_count: 0,
            inquiry: Inquiry::default(),
            gaps: 0,
            walk: Walk::default(),
            closes: Line::default(),
            is_pump_due: false,
            backlog_at: Time::ZERO,
            orphans: (0, Time::ZERO),
        }
    }

    /// Whether an item that another one took its number from may be asked for
    /// at once.
    pub(super) fn may_ask_for_orphan(&mut self, now: Time) -> bool {
        let (count, since) = &mut self.orphans;
        if now.since(*since) >= Duration::from_secs(1) {
            (*count, *since) = (0, now);
        }
        *count = count.saturating_add(1);
        *count <= MAX_ORPHANS_PER_S
    }

    /// Whether anything waits for room on the backbone.
    pub(super) fn has_backlog(&self) -> bool {
        self.is_pump_due || self.walk.is_walking() || !self.closes.is_empty()
    }

    /// The slot of an item by the hub's number.
    #[inline]
    pub(super) fn slot(&self, hub_item: u32) -> Option<u32> {
        self.slots.get(hub_item as usize).filter(|slot| *slot != NONE)
    }

    pub(super) fn bind(&mut self, hub_item: u32, slot: u32) {
        let entry = self.slots.entry(hub_item as usize);
        if core::mem::replace(entry, slot) == NONE {
            self.item_count += 1;
        }
    }

    pub(super) fn unbind(&mut self, hub_item: u32) {
        if let Some(slot) = self.slots.get_mut(hub_item as usize)
            && core::mem::replace(slot, NONE) != NONE
        {
            self.item_count -= 1;
        }
    }

    /// The hub's numbers for items, with the slots of these.
    pub(super) fn bound(&self) -> impl Iterator<Item = (u32, u32)> {
        let bound = self.slots.iter().filter(|(_, slot)| *slot != NONE);
        bound.map(|(hub_item, slot)| (hub_item as u32, slot))
    }

    /// Whether the hub can be asked for items like this of a service.
    fn serves(&self, service_id: u16, domain: Domain, qos: Option<Qos>) -> bool {
        let service = self.directory.service(service_id);
        let Some(service) = service.filter(|service| service.is_usable()) else { return false };
        let Some(info) = &service.info else { return false };
        // Sources offer dictionaries by name and seldom as a domain.
        let offers = domain == Domain::DICTIONARY || info.offers(domain);
        offers && qos.is_none_or(|qos| offers_qos(info, &qos))
    }
}

/// Whether a service offers exactly this quality; without a list that is real
/// time, tick by tick.
fn offers_qos(info: &ServiceInfo, qos: &Qos) -> bool {
    match info.offered_qos() {
        [] => is_same(qos, &Qos::REALTIME_TICK_BY_TICK),
        offered => offered.iter().any(|offered| is_same(offered, qos)),
    }
}

/// All hubs. An index stands for one run of a hub, until it is gone.
#[derive(Debug, Default)]
pub(super) struct Hubs {
    table: Vec<Option<Hub>>,
    /// Indexes of hubs that are gone and still have items.
    lost: BTreeSet<HubIndex>,
}

impl Hubs {
    #[inline]
    pub(super) fn find(&self, incarnation: Incarnation) -> Option<HubIndex> {
        let is_it =
            |hub: &Option<Hub>| hub.as_ref().is_some_and(|it| it.incarnation == incarnation);
        self.table.iter().position(is_it).map(|index| index as HubIndex)
    }

    #[inline]
    pub(super) fn get(&self, index: HubIndex) -> Option<&Hub> {
        self.table.get(index as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, index: HubIndex) -> Option<&mut Hub> {
        self.table.get_mut(index as usize)?.as_mut()
    }

    pub(super) fn directory(&self, index: HubIndex) -> Option<&Directory> {
        self.get(index).map(|hub| &hub.directory)
    }

    pub(super) fn len(&self) -> usize {
        self.table.iter().flatten().count()
    }

    pub(super) fn insert(&mut self, incarnation: Incarnation) -> HubIndex {
        let hub = Some(Hub::new(incarnation));
        let is_free =
            |(index, hub): &(HubIndex, &Option<Hub>)| hub.is_none() && !self.lost.contains(index);
        let free = self.numbered().find(is_free).map(|(index, _)| index);
        match free {
            Some(free) => {
                self.table[free as usize] = hub;
                free
            }
            None => {
                self.table.push(hub);
                self.table.len() as HubIndex - 1
            }
        }
    }

    /// Takes a hub out that is gone. Its index is free when it is
    /// [said so](Self::free).
    pub(super) fn remove(&mut self, index: HubIndex) -> Option<Hub> {
        let hub = self.table.get_mut(index as usize)?.take()?;
        self.lost.insert(index);
        Some(hub)
    }

    /// No item is at a hub that is gone any more.
    pub(super) fn free(&mut self, index: HubIndex) {
        self.lost.remove(&index);
    }

    /// Whether an index is that of a hub that is gone.
    pub(super) fn is_lost(&self, index: HubIndex) -> bool {
        !self.lost.is_empty() && self.lost.contains(&index)
    }

    /// The indexes of hubs that are gone.
    pub(super) const fn lost(&self) -> &BTreeSet<HubIndex> {
        &self.lost
    }

    /// The indexes of all hubs that are there.
    pub(super) fn indexes(&self) -> impl Iterator<Item = HubIndex> + use<> {
        let there: Vec<_> =
            self.numbered().filter(|(_, hub)| hub.is_some()).map(|(index, _)| index).collect();
        there.into_iter()
    }

    /// Whether a hub owes a list of what it holds.
    pub(super) fn owe_lists(&self) -> bool {
        self.table.iter().flatten().any(|hub| hub.inquiry.deadline().is_some())
    }

    /// When a hub is to be asked what was lost, or to be sent what waits.
    pub(super) fn next_repair(&self) -> Option<Time> {
        let backlog = |hub: &Hub| hub.has_backlog().then_some(hub.backlog_at);
        let hubs = self.table.iter().flatten();
        hubs.flat_map(|hub| [hub.inquiry.deadline(), backlog(hub)]).flatten().min()
    }

    /// Closes that hubs are still to be told.
    pub(super) fn closes_waiting(&self) -> usize {
        self.table.iter().flatten().map(|hub| hub.closes.len()).sum()
    }

    /// Requests that hubs are still to be asked.
    pub(super) fn requests_queued(&self) -> usize {
        self.table.iter().flatten().map(|hub| hub.queue.len()).sum()
    }

    /// The most that a hub has of something.
    pub(super) fn most(&self, of: impl Fn(HubIndex, &Hub) -> usize) -> usize {
        let all = self.numbered().filter_map(|(index, hub)| Some(of(index, hub.as_ref()?)));
        all.max().unwrap_or(0)
    }

    fn numbered(&self) -> impl Iterator<Item = (HubIndex, &Option<Hub>)> {
        self.table.iter().enumerate().map(|(index, hub)| (index as HubIndex, hub))
    }

    fn providers<'h>(
        &'h self,
        name: &'h Text,
    ) -> impl Iterator<Item = (HubIndex, &'h Hub, u16)> + 'h {
        self.numbered().filter_map(move |(index, hub)| {
            let hub = hub.as_ref()?;
            Some((index, hub, hub.directory.service_id(name)?))
        })
    }

    /// How many have a service.
    pub(super) fn having(&self, name: &Text) -> usize {
        self.providers(name).count()
    }

    /// Whose description of a service counts: that of a hub where it can be
    /// used, or else is up, the first of several.
    pub(super) fn best_for<'h>(&'h self, name: &'h Text) -> Option<(&'h Directory, u16)> {
        let rank = |service: &Service| {
            let is_up = service.state.as_ref().and_then(|state| state.is_up).unwrap_or(false);
            (!service.is_usable(), !is_up)
        };
        self.providers(name)
            .filter_map(|(_, hub, id)| Some((rank(hub.directory.service(id)?), hub, id)))
            .min_by_key(|(rank, ..)| *rank)
            .map(|(_, hub, id)| (&hub.directory, id))
    }

    /// Where to ask for an item: at the least loaded of the hubs that have it,
    /// then at the one with the fewest items.
    pub(super) fn choose(
        &self,
        name: &Text,
        domain: Domain,
        qos: Option<Qos>,
    ) -> Option<(HubIndex, u16)> {
        let load = |hub: &Hub, id| {
            let load = hub.directory.service(id).and_then(|service| service.load.as_ref());
            let factor = load.and_then(|load| load.load_factor).unwrap_or_default();
            (factor, hub.item_count + hub.unanswered + hub.queue.len())
        };
        self.providers(name)
            .filter(|(_, hub, id)| hub.serves(*id, domain, qos))
            .min_by_key(|(_, hub, id)| load(hub, *id))
            .map(|(index, _, id)| (index, id))
    }
}
