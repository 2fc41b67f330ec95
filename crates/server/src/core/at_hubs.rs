//! Items by the hub they are at, and their service.

use std::collections::BTreeMap;

use tapeline_omm::pages::Table;

use super::item::HubIndex;

/// No item.
const NONE: u32 = u32::MAX;

/// Stands for no hub: items for which there is none now, or that wait for
/// another try.
pub(super) const NOWHERE: HubIndex = HubIndex::MAX;

/// A hub and one of the services that items are asked for there.
pub(super) type At = (HubIndex, u16);

/// For each hub and service the slots of the items there: rings through all
/// slots, so that an item comes and goes at the same cost however many there
/// are. Each item is in one of them.
///
/// ```text
///   (hub, service) ──► slot ⇄ slot ⇄ slot ⇄ (the first again)
/// ```
#[derive(Debug, Default)]
pub(super) struct AtHubs {
    rings: BTreeMap<At, Ring>,
    /// By slot.
    links: Table<Link>,
}

#[derive(Clone, Copy, Debug)]
struct Ring {
    first: u32,
    count: usize,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    before: u32,
    after: u32,
}

impl AtHubs {
    const NO_LINK: Link = Link { before: NONE, after: NONE };

    fn link(&self, slot: u32) -> Link {
        self.links.get(slot as usize).unwrap_or(Self::NO_LINK)
    }

    fn link_mut(&mut self, slot: u32) -> &mut Link {
        self.links.entry(slot as usize, Self::NO_LINK)
    }

    /// Adds a slot that is in no ring, behind all others of its own.
    pub(super) fn insert(&mut self, at: At, slot: u32) {
        debug_assert!(self.link(slot).after == NONE, "an item is at one hub");
        let ring = self.rings.entry(at).or_insert(Ring { first: slot, count: 0 });
        ring.count += 1;
        let first = ring.first;
        let last = match first == slot {
            true => slot,
            false => self.link(first).before,
        };
        *self.link_mut(slot) = Link { before: last, after: first };
        self.link_mut(last).after = slot;
        self.link_mut(first).before = slot;
    }

    /// Takes a slot out of the ring that it is in.
    pub(super) fn remove(&mut self, at: At, slot: u32) {
        let Some(link) = self.links.get_mut(slot as usize) else {
            debug_assert!(false, "what is taken out was put in");
            return;
        };
        let Link { before, after } = core::mem::replace(link, Self::NO_LINK);
        debug_assert!(after != NONE, "what is taken out was put in");
        if after == slot {
            self.rings.remove(&at);
            return;
        }
        self.link_mut(before).after = after;
        self.link_mut(after).before = before;
        if let Some(ring) = self.rings.get_mut(&at) {
            ring.count -= 1;
            if ring.first == slot {
                ring.first = after;
            }
        }
    }

    /// How many slots there are of a service at a hub.
    pub(super) fn count(&self, at: At) -> usize {
        self.rings.get(&at).map_or(0, |ring| ring.count)
    }

    /// A slot of a service at a hub; the next one the next time.
    pub(super) fn turn(&mut self, at: At) -> Option<u32> {
        let slot = self.rings.get(&at)?.first;
        let after = self.link(slot).after;
        self.rings.get_mut(&at)?.first = after;
        Some(slot)
    }

    /// So many slots of a service at most; others the next time.
    pub(super) fn some_of(&mut self, service_id: u16, most: usize) -> Vec<u32> {
        let mut slots = Vec::new();
        for (hub, count) in self.counts(service_id) {
            let left = most - slots.len();
            slots.extend((0..count.min(left)).filter_map(|_| self.turn((hub, service_id))));
        }
        slots
    }

    /// Some slot at a hub.
    pub(super) fn any_at(&self, hub: HubIndex) -> Option<u32> {
        Some(self.rings.range((hub, 0)..=(hub, u16::MAX)).next()?.1.first)
    }

    /// Where each slot is.
    ///
    /// # Panics
    /// A ring is not closed, or has another length than it says.
    pub(super) fn check(&self) -> BTreeMap<u32, At> {
        let mut places = BTreeMap::new();
        for (at, ring) in &self.rings {
            let mut slot = ring.first;
            for _ in 0..ring.count {
                let after = self.link(slot).after;
                assert_eq!(self.link(after).before, slot, "links of {at:?}");
                assert_eq!(places.insert(slot, *at), None, "slot {slot} is in two rings");
                slot = after;
            }
            assert_eq!(slot, ring.first, "the ring of {at:?} has {} slots", ring.count);
        }
        places
    }

    /// Where there are slots of a service, and how many.
    pub(super) fn counts(&self, service_id: u16) -> Vec<(HubIndex, usize)> {
        let of_service = self.rings.iter().filter(|((_, service), _)| *service == service_id);
        of_service.map(|((hub, _), ring)| (*hub, ring.count)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    impl AtHubs {
        fn all(&mut self, at: At) -> Vec<u32> {
            let all: Vec<_> = (0..self.count(at)).filter_map(|_| self.turn(at)).collect();
            for slot in &all {
                let Link { before, after } = self.link(*slot);
                assert_eq!(self.link(before).after, *slot);
                assert_eq!(self.link(after).before, *slot);
            }
            all
        }
    }

    proptest! {
        #[test]
        fn each_slot_is_in_one_ring(steps in prop::collection::vec((0..2_u32, 0..3_u16, 0..20_u32), 0..200)) {
            let mut rings = AtHubs::default();
            let mut known = BTreeMap::<At, VecDeque<u32>>::new();
            let mut places = BTreeMap::<u32, At>::new();
            for (hub, service_id, slot) in steps {
                let at = (hub, service_id);
                match places.remove(&slot) {
                    Some(at) => {
                        rings.remove(at, slot);
                        known.entry(at).or_default().retain(|other| *other != slot);
                    }
                    None => {
                        rings.insert(at, slot);
                        known.entry(at).or_default().push_back(slot);
                        places.insert(slot, at);
                    }
                }
                for (at, slots) in &known {
                    prop_assert_eq!(&VecDeque::from(rings.all(*at)), slots);
                }
                for hub in 0..2 {
                    let is_there = places.values().any(|(at, _)| *at == hub);
                    let found = rings.any_at(hub);
                    prop_assert_eq!(found.is_some(), is_there);
                    prop_assert!(found.is_none_or(|slot| places[&slot].0 == hub));
                }
                for service_id in 0..3 {
                    let there = places.values().filter(|(_, of)| *of == service_id).count();
                    let counts = rings.counts(service_id);
                    prop_assert_eq!(counts.iter().map(|(_, count)| count).sum::<usize>(), there);
                }
            }
        }
    }
}
