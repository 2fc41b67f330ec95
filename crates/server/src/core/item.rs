//! Items: what the server has open at hubs, and who watches.

mod rare;

use tapeline_cache::{Image, SharedConflation};
use tapeline_omm::pages::{self, List};
use tapeline_omm::{ItemKey, ItemKeyRef, KeyHash, KeyIndex};
use tapeline_rwf::{DataState, Priority, State, StateCode, StreamState};

pub(super) use super::asked::Upstream;
use super::at_hubs::{AtHubs, NOWHERE};
use super::awaited::Awaited;
use super::bounds::ServiceBounds;
use super::census::{Censuses, UpdateCounts};
use super::entitlements::Guard;
use super::guards::Guards;
use super::image_due::ImageDue;
use super::map::Map;
use super::standings::Standings;
use super::subscription::mode;
use super::watchers::Watchers;
use crate::siblings::SharedCount;
use rare::Rare;
pub(super) use rare::Recheck;

/// The index of a hub in the table of hubs.
pub(super) type HubIndex = u32;

/// A bit that no data state has on the wire, where it takes three.
const UNTOLD: u8 = 0x80;

/// An item, or one private stream of one. There are many: an item that others
/// watch, and of which nothing is special, takes 120 bytes and its name.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the item")]
pub(super) struct Item {
    pub(super) key: ItemKey,
    pub(super) watchers: Watchers,
    pub(super) image: Option<Box<Image>>,
    /// Updates that wait for slow mounts.
    pub(super) merges: Option<Box<SharedConflation>>,
    /// What few items have.
    rare: Option<Box<Rare>>,
    /// Changed by [`Items`], which have it by hub.
    upstream: Upstream,
    /// Which request to the hub this is: what a time-out is for.
    pub(super) attempt: u32,
    /// Cell in the hub's messages for the item.
    pub(super) last_seq: u32,
    priority_count: u16,
    priority_class: u8,
    stream_state: StreamState,
    /// With [`UNTOLD`] while nothing was heard of it.
    data_state: DataState,
    state_code: StateCode,
    pub(super) is_private: bool,
    /// Whether it is asked for with updates.
    pub(super) is_streaming: bool,
    /// An image has come since the hub has it.
    pub(super) has_image: bool,
    /// An image is coming in parts.
    pub(super) in_parts: bool,
    /// Whether an image was asked for that has not come.
    pub(super) image_due: ImageDue,
    /// All watchers need the next image: something was missed.
    pub(super) needs_repair: bool,
}

impl Item {
    pub(super) fn new(key: ItemKey, is_streaming: bool, is_private: bool) -> Self {
        Self {
            key,
            watchers: Watchers::default(),
            image: None,
            merges: None,
            rare: None,
            upstream: Upstream::Nowhere,
            attempt: 0,
            last_seq: 0,
            priority_count: Priority::default().count,
            priority_class: Priority::default().class,
            stream_state: StreamState::OPEN,
            data_state: DataState(DataState::SUSPECT.0 | UNTOLD),
            state_code: StateCode::NONE,
            is_private,
            is_streaming,
            has_image: false,
            in_parts: false,
            image_due: ImageDue::NONE,
            needs_repair: false,
        }
    }

    /// With what priority it is asked for.
    pub(super) const fn priority(&self) -> Priority {
        Priority { class: self.priority_class, count: self.priority_count }
    }

    /// Takes note of the priority that a watcher wants. Whether it is of a
    /// higher class than all before.
    pub(super) fn raise_priority(&mut self, wanted: Option<Priority>) -> bool {
        let known = self.priority();
        let Priority { class, count } = known.max(wanted.unwrap_or_default());
        (self.priority_class, self.priority_count) = (class, count);
        class > known.class
    }

    /// It is wanted so much from now on.
    pub(super) const fn set_priority(&mut self, priority: Priority) {
        (self.priority_class, self.priority_count) = (priority.class, priority.count);
    }

    /// What is known of how it stands.
    pub(super) fn state(&self) -> State<'_> {
        let text = self.rare.as_deref().map_or(&[][..], |rare| rare.state_text.as_bytes());
        let data = DataState(self.data_state.0 & !UNTOLD);
        State { stream: self.stream_state, data, code: self.state_code, text }
    }

    /// Takes over a later state: `NO_CHANGE` leaves the data state as it was.
    fn apply_state(&mut self, later: &State<'_>) {
        self.stream_state = later.stream;
        self.data_state = match later.data {
            DataState::NO_CHANGE => DataState(self.data_state.0 & !UNTOLD),
            data => data,
        };
        self.state_code = later.code;
        if self.state().text != later.text {
            self.change_rare(|rare| rare.state_text = later.text.into());
        }
    }

    /// Its data state, if anything was heard of it.
    pub(super) const fn standing(&self) -> Option<DataState> {
        match self.data_state.0 & UNTOLD {
            0 => Some(self.data_state),
            _ => None,
        }
    }

    pub(super) fn service_id(&self) -> u16 {
        self.key.service_id().unwrap_or_default()
    }

    /// Whether any watcher waits for an image.
    pub(super) fn is_wanted(&self) -> bool {
        self.watchers.subscriptions().any(|subscription| subscription.has(mode::WANTS))
    }

    /// Whether newcomers are served from the cache.
    pub(super) fn is_servable(&self) -> bool {
        self.has_image
            && !self.needs_repair
            && !self.in_parts
            && self.image.as_ref().is_some_and(|image| image.is_servable())
    }

    /// Where it is asked for.
    #[inline]
    pub(super) const fn upstream(&self) -> Upstream {
        self.upstream
    }
}

/// A closed item whose hub has not answered the request: until it does, the
/// number of its slot must not stand for another request.
#[derive(Debug)]
struct Unanswered {
    hub: HubIndex,
    attempt: u32,
    /// It counts against the hub's window.
    holds_place: bool,
}

/// All items. The number of an item's slot is also the reference by which hubs
/// know the request.
#[derive(Debug, Default)]
pub(super) struct Items {
    slots: Slots,
    unanswered: Map<u32, Unanswered>,
    free: List<u32>,
    streaming: KeyIndex,
    snapshots: KeyIndex,
    at_hubs: AtHubs,
    /// First images that are on their way.
    pub(super) awaited: Awaited,
    /// By service.
    pub(super) census: Censuses,
    /// Updates that came for items, by service.
    pub(super) updates: UpdateCounts,
    pub(super) count: SharedCount,
    /// Of services that have one.
    pub(super) bounds: ServiceBounds,
    /// Who may see each of them.
    guards: Guards,
}

type Slots = pages::Slots<Item>;

/// The key of the item in a slot.
fn key_of(slots: &Slots, slot: u32) -> Option<ItemKeyRef<'_>> {
    Some(slots.get(slot as usize)?.key.as_ref())
}

/// A key as the indexes look it up.
#[derive(Clone, Copy)]
pub(super) struct HashedKey<'a> {
    pub(super) key: ItemKeyRef<'a>,
    hash: KeyHash,
}

impl<'a> From<ItemKeyRef<'a>> for HashedKey<'a> {
    fn from(key: ItemKeyRef<'a>) -> Self {
        Self { hash: KeyHash::of(&key), key }
    }
}

/// The slot of a key, by an index.
fn indexed(index: &KeyIndex, slots: &Slots, key: &HashedKey<'_>) -> Option<u32> {
    index.find(key.hash, &key.key, |slot| key_of(slots, slot))
}

impl Items {
    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<&Item> {
        self.slots.get(slot as usize)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Item> {
        self.slots.get_mut(slot as usize)
    }

    pub(super) const fn len(&self) -> usize {
        self.count.own()
    }

    /// Who may see an item, as far as its images say.
    pub(super) fn guard(&self, slot: u32) -> Guard {
        self.guards.get(slot)
    }

    pub(super) fn set_guard(&mut self, slot: u32, guard: Guard) {
        self.guards.set(slot, guard);
    }

    /// The numbers of all slots, taken or not.
    pub(super) fn slots(&self) -> core::ops::Range<u32> {
        0..self.slots.len() as u32
    }

    /// The item of a request that can share one: a snapshot is also served by
    /// a stream.
    pub(super) fn find(&self, key: &HashedKey<'_>, is_streaming: bool) -> Option<u32> {
        let streaming = indexed(&self.streaming, &self.slots, key);
        match is_streaming {
            true => streaming,
            false => streaming.or_else(|| self.snapshot(key)),
        }
    }

    /// The snapshot of a key.
    pub(super) fn snapshot(&self, key: &HashedKey<'_>) -> Option<u32> {
        indexed(&self.snapshots, &self.slots, key)
    }

    /// So many slots of a service at most; others the next time.
    pub(super) fn some_of(&mut self, service_id: u16, most: usize) -> Vec<u32> {
        self.at_hubs.some_of(service_id, most)
    }

    /// Adds an item.
    pub(super) fn insert(
        &mut self,
        key: &HashedKey<'_>,
        is_streaming: bool,
        is_private: bool,
    ) -> u32 {
        let item = Item::new(key.key.to_owned(), is_streaming, is_private);
        debug_assert!(item.upstream == Upstream::Nowhere, "a new one is asked for later");
        let service_id = item.service_id();
        self.census.add(service_id, item.standing());
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots.put(slot as usize, item);
                slot
            }
            None => self.slots.push(item) as u32,
        };
        if !is_private {
            let index = if is_streaming { &mut self.streaming } else { &mut self.snapshots };
            index.insert(key.hash, slot);
        }
        self.set_guard(slot, Guard::Unknown);
        self.at_hubs.insert((NOWHERE, service_id), slot);
        self.count.add(1);
        self.bounds.add(service_id);
        slot
    }

    /// The snapshot of a key that is asked for as a stream now becomes one.
    pub(super) fn upgrade(&mut self, key: &HashedKey<'_>) -> Option<u32> {
        let slot = self.snapshot(key)?;
        self.snapshots.remove(key.hash, slot);
        self.streaming.insert(key.hash, slot);
        if let Some(item) = self.get_mut(slot) {
            item.is_streaming = true;
        }
        Some(slot)
    }

    /// An item is asked for at another hub, or stands otherwise with its hub.
    pub(super) fn set_upstream(&mut self, slot: u32, upstream: Upstream) {
        let Some(item) = self.get_mut(slot) else { return };
        let service_id = item.service_id();
        let before = core::mem::replace(&mut item.upstream, upstream).hub().unwrap_or(NOWHERE);
        let after = upstream.hub().unwrap_or(NOWHERE);
        let stays = before == after && matches!(upstream, Upstream::Accepted { .. });
        if !stays {
            self.awaited.give_up(slot, before);
        }
        if before != after {
            self.at_hubs.remove((before, service_id), slot);
            self.at_hubs.insert((after, service_id), slot);
        }
    }

    /// Takes over a later state of an item, for all of `standings` who watch it.
    pub(super) fn apply_state(&mut self, slot: u32, later: &State<'_>, standings: &mut Standings) {
        let Some(item) = self.slots.get_mut(slot as usize) else { return };
        let before = item.standing();
        item.apply_state(later);
        let after = item.standing();
        if before == after {
            return;
        }
        self.census.sub(item.service_id(), before);
        self.census.add(item.service_id(), after);
        for subscription in item.watchers.subscriptions() {
            standings.sub(subscription.mount(), before);
            standings.add(subscription.mount(), after);
        }
    }

    /// What the hub had of an item does not count any more. An image that was
    /// coming in parts is to be given up before.
    pub(super) fn forget_upstream(&mut self, slot: u32) {
        self.set_upstream(slot, Upstream::Nowhere);
        if let Some(item) = self.get_mut(slot) {
            item.has_image = false;
            item.image_due = ImageDue::NONE;
            item.needs_repair = true;
        }
    }

    /// All items, by slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Item)> {
        self.slots().filter_map(|slot| Some((slot, self.get(slot)?)))
    }

    /// Whether an answer is that to the last request with the number of a slot,
    /// by its serial.
    pub(super) fn is_asked_as(&self, slot: u32, serial: u32) -> bool {
        let closed = || self.unanswered.get(&slot).map(|asked| asked.attempt);
        self.get(slot).map(|item| item.attempt).or_else(closed) == Some(serial)
    }

    /// How many requests of items that are closed hold a place in a hub's window.
    pub(super) fn places_unanswered(&self, hub: HubIndex) -> usize {
        self.unanswered.values().filter(|asked| asked.hub == hub && asked.holds_place).count()
    }

    /// Requests of items that are closed, and that their hubs have to answer
    /// yet: slot, hub and attempt.
    pub(super) fn all_unanswered(&self) -> impl Iterator<Item = (u32, HubIndex, u32)> {
        self.unanswered.iter().map(|(slot, asked)| (*slot, asked.hub, asked.attempt))
    }

    /// Panics where slots, indexes and hubs contradict each other.
    pub(super) fn check(&self) {
        let there = self.iter().count();
        assert_eq!(self.len(), there, "count of items");
        self.bounds.check(|service_id| self.census.of(service_id).items());
        let unused = self.free.len() + self.unanswered.len();
        assert_eq!(self.slots.len(), there + unused, "each slot is used, free or unanswered");
        let taken =
            self.free.iter().chain(self.unanswered.keys()).find(|slot| self.get(**slot).is_some());
        assert_eq!(taken, None, "a slot that is to be free");
        self.census.check(self.iter().map(|(_, item)| (item.service_id(), item.standing())));
        let mut places = self.at_hubs.check();
        for (slot, item) in self.iter() {
            let at = (item.upstream.hub().unwrap_or(NOWHERE), item.service_id());
            assert_eq!(places.remove(&slot), Some(at), "the ring of item {slot}");
            let index = if item.is_streaming { &self.streaming } else { &self.snapshots };
            let found = indexed(index, &self.slots, &item.key.as_ref().into());
            assert!(item.is_private || found == Some(slot), "item {slot} is found as {found:?}");
        }
        assert!(places.is_empty(), "in rings, but not there: {places:?}");
        self.awaited.check(self.iter().filter(|(slot, _)| self.awaited.has(*slot)).map(
            |(slot, item)| match item.upstream {
                Upstream::Accepted { hub, .. } => hub,
                other => panic!("item {slot} waits for an image of {other:?}"),
            },
        ));
        let shared = self.iter().filter(|(_, item)| !item.is_private).count();
        let keys = self.streaming.len() + self.snapshots.len();
        assert_eq!(keys, shared, "keys of the indexes");
    }

    /// Items by the hub that they are at.
    pub(super) const fn at_hubs(&self) -> &AtHubs {
        &self.at_hubs
    }

    /// An item of a service at a hub; the next one the next time.
    pub(super) fn turn_at(&mut self, hub: HubIndex, service_id: u16) -> Option<u32> {
        self.at_hubs.turn((hub, service_id))
    }

    /// An item of a service that is at no hub; the next one the next time.
    pub(super) fn turn_nowhere(&mut self, service_id: u16) -> Option<u32> {
        self.turn_at(NOWHERE, service_id)
    }

    /// How many items of a service are at no hub.
    pub(super) fn count_nowhere(&self, service_id: u16) -> usize {
        self.at_hubs.count((NOWHERE, service_id))
    }

    /// Takes an item out. `unanswered_at`: the hub that has yet to answer its
    /// request.
    pub(super) fn remove(&mut self, slot: u32, unanswered_at: Option<HubIndex>) -> Option<Item> {
        let item = self.slots.get(slot as usize)?;
        let Item { attempt, is_private, is_streaming, upstream, .. } = *item;
        let hub = upstream.hub().unwrap_or(NOWHERE);
        self.at_hubs.remove((hub, item.service_id()), slot);
        if !is_private {
            let index = if is_streaming { &mut self.streaming } else { &mut self.snapshots };
            index.remove(KeyHash::of(&item.key.as_ref()), slot);
        }
        self.awaited.give_up(slot, hub);
        let item = self.slots.take(slot as usize)?;
        self.census.sub(item.service_id(), item.standing());
        match unanswered_at {
            Some(hub) => {
                let holds_place = upstream.asked_at(hub) == Some(true);
                self.unanswered.insert(slot, Unanswered { hub, attempt, holds_place });
            }
            None => self.free.push(slot),
        }
        self.count.sub(1);
        self.bounds.sub(item.service_id());
        Some(item)
    }

    /// The attempt that a hub has not answered, of an item that is closed.
    pub(super) fn unanswered(&self, slot: u32, hub: HubIndex) -> Option<u32> {
        let asked = self.unanswered.get(&slot).filter(|asked| asked.hub == hub)?;
        Some(asked.attempt)
    }

    /// The hub answered a request whose item is closed. If it was one: whether
    /// that held a place in the window.
    pub(super) fn answered(&mut self, slot: u32, hub: HubIndex) -> Option<bool> {
        let asked = self.unanswered.get(&slot).filter(|asked| asked.hub == hub)?;
        let holds_place = asked.holds_place;
        self.unanswered.remove(&slot);
        self.free.push(slot);
        Some(holds_place)
    }

    /// The hub has a request wait whose item is closed. Whether that held a
    /// place in the window until now.
    pub(super) fn deferred(&mut self, slot: u32, hub: HubIndex) -> bool {
        let asked = self.unanswered.get_mut(&slot).filter(|asked| asked.hub == hub);
        asked.is_some_and(|asked| std::mem::take(&mut asked.holds_place))
    }

    /// The hub that has had the time to answer a request whose item is closed:
    /// as it need not answer, the slot is free. Only if there is a place in its
    /// window to be given back.
    pub(super) fn expire(&mut self, slot: u32, attempt: u32) -> Option<HubIndex> {
        let hub = self.unanswered.get(&slot).filter(|asked| asked.attempt == attempt)?.hub;
        self.answered(slot, hub)?.then_some(hub)
    }

    /// A hub is gone: it will answer nothing.
    pub(super) fn forget_hub(&mut self, gone: HubIndex) {
        let of_gone = self.unanswered.iter().filter(|(_, asked)| asked.hub == gone);
        let mut slots: Vec<_> = of_gone.map(|(slot, _)| *slot).collect();
        // Which slot is used next must not depend on the order of a table.
        slots.sort_unstable();
        for slot in slots {
            self.answered(slot, gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::Domain;

    fn key(name: &str) -> HashedKey<'_> {
        ItemKeyRef::item(Domain::MARKET_PRICE, 1, name).into()
    }

    #[test]
    fn items_are_small() {
        assert!(size_of::<Item>() <= 128, "{}", size_of::<Item>());
    }

    #[test]
    fn a_slot_is_used_again_only_after_its_request_was_answered() {
        let mut items = Items::default();
        let first = items.insert(&key("A"), true, false);
        items.set_upstream(first, Upstream::Asked { hub: 0, holds_place: true });
        assert!(items.remove(first, Some(0)).is_some());
        assert_eq!(items.insert(&key("B"), true, false), 1);
        assert_eq!(items.answered(first, 1), None, "another hub");
        assert_eq!(items.answered(first, 0), Some(true));
        assert_eq!(items.answered(first, 0), None, "once");
        assert_eq!(items.insert(&key("C"), true, false), first);
        assert_eq!(items.len(), 2);
    }

    #[test]
    fn a_snapshot_finds_a_stream_but_not_the_other_way_round() {
        let mut items = Items::default();
        let key = key("A");
        let snapshot = items.insert(&key, false, false);
        assert_eq!(items.find(&key, true), None);
        assert_eq!(items.find(&key, false), Some(snapshot));
        let streaming = items.insert(&key, true, false);
        assert_eq!(items.find(&key, true), Some(streaming));
        assert_eq!(items.find(&key, false), Some(streaming));
        items.remove(streaming, None);
        assert_eq!(items.find(&key, false), Some(snapshot));
    }
}
