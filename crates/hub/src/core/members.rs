//! Which items a source has of a service: by group, and by how much they are
//! wanted. What happens to all of a service or group, or to the least wanted,
//! finds them here.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use tapeline_omm::GroupId;
use tapeline_omm::pages::List;
use tapeline_rwf::Priority;

use super::Core;
use super::item::{Binding, Item};
use super::source::{Offer, Sources};

/// The items that are bound at an offer.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// In no order; an item knows its place.
    groups: BTreeMap<GroupId, List<u32>>,
    /// Those that can give way to others: the least wanted first, of these the
    /// newest.
    ranks: Ranks,
}

/// Items by how much they are wanted, then by age.
pub(crate) type Ranks = BTreeSet<(Priority, Reverse<u32>)>;

impl Members {
    /// Adds an item to a group. Where it is then.
    fn add(&mut self, group: &GroupId, id: u32) -> u32 {
        if let Some(members) = self.groups.get_mut(group) {
            members.push(id);
            return members.len() as u32 - 1;
        }
        let mut members = List::default();
        members.push(id);
        self.groups.insert(group.clone(), members);
        0
    }

    /// Takes an item out. The one that has its place now, if any.
    fn remove(&mut self, group: &GroupId, place: u32, id: u32) -> Option<u32> {
        let members = self.groups.get_mut(group)?;
        debug_assert_eq!(members.get(place as usize), Some(&id), "an item knows its place");
        if members.get(place as usize) != Some(&id) {
            return None;
        }
        members.swap_remove(place as usize);
        let moved = members.get(place as usize).copied();
        if members.is_empty() {
            self.groups.remove(group);
        }
        moved
    }

    /// The group behind this one, or the first.
    pub(crate) fn next_group(&self, after: Option<&GroupId>) -> Option<&GroupId> {
        use std::ops::Bound::{Excluded, Unbounded};
        let from = after.map_or(Unbounded, Excluded);
        self.groups.range::<GroupId, _>((from, Unbounded)).next().map(|(group, _)| group)
    }

    /// How many items a group has.
    pub(crate) fn len_of(&self, group: &GroupId) -> usize {
        self.groups.get(group).map_or(0, List::len)
    }

    /// An item of a group by its place.
    pub(crate) fn at(&self, group: &GroupId, place: usize) -> Option<u32> {
        self.groups.get(group)?.get(place).copied()
    }

    /// All items, a list for each group; those that have none yet, for lack of an
    /// image, last. The order of those that give way is left, which is large and
    /// to be cleared away bit by bit.
    pub(crate) fn into_lists(self) -> (Vec<List<u32>>, Ranks) {
        (self.groups.into_values().rev().collect(), self.ranks)
    }

    /// How many there are, and how many of them can give way.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.groups.values().map(List::len).sum(), self.ranks.len())
    }

    /// Whether an item can give way, and is wanted so much.
    pub(crate) fn is_ranked(&self, rank: Priority, id: u32) -> bool {
        self.ranks.contains(&(rank, Reverse(id)))
    }

    /// The least wanted of those that can give way, of these the newest.
    pub(crate) fn least_wanted(&self) -> Option<(Priority, Reverse<u32>)> {
        self.ranks.first().copied()
    }
}

impl Item {
    /// With what it stands in the order of those that can give way; `None`: it
    /// does not.
    fn rank(&self) -> Option<Priority> {
        let gives_way = !self.private && self.streaming && !self.published;
        gives_way.then(|| self.priority())
    }
}

impl Sources {
    /// The offer that an item is bound at, unless that was withdrawn.
    pub(crate) fn offer_of(&mut self, binding: &Binding) -> Option<&mut Offer> {
        let offer = self.get_mut(binding.source)?.offers.get_mut(&binding.service_id)?;
        (offer.generation == binding.generation).then_some(offer)
    }
}

impl Core {
    /// An item is bound at an offer.
    pub(super) fn enter(&mut self, id: u32, binding: Binding) {
        let Some(source) = self.sources.known(binding.source) else { return };
        let told = source.sayings;
        let Some(offer) = self.sources.offer_of(&binding) else { return };
        let Some(item) = self.items.known_mut(id) else { return };
        item.binding = Some(binding);
        item.heard = told;
        item.ranked = item.rank();
        offer.open += 1;
        item.place = offer.members.add(&item.group, id);
        offer.members.ranks.extend(item.ranked.map(|rank| (rank, Reverse(id))));
    }

    /// An item that was bound at an offer leaves it.
    pub(super) fn leave(&mut self, id: u32, binding: &Binding) {
        let Some(item) = self.items.known_mut(id) else { return };
        let (place, ranked) = (item.place, item.ranked.take());
        let Some(offer) = self.sources.offer_of(binding) else { return };
        offer.open = offer.open.saturating_sub(1);
        if let Some(rank) = ranked {
            offer.members.ranks.remove(&(rank, Reverse(id)));
        }
        let moved = offer.members.remove(&item.group, place, id);
        if let Some(moved) = moved.and_then(|moved| self.items.get_mut(moved)) {
            moved.place = place;
        }
    }

    /// An item belongs to a group, as its source says.
    pub(super) fn set_group(&mut self, id: u32, group: GroupId) {
        let Some(item) = self.items.known_mut(id) else { return };
        if item.group == group {
            return;
        }
        let before = std::mem::replace(&mut item.group, group);
        let place = item.place;
        let Some(offer) = item.binding.and_then(|binding| self.sources.offer_of(&binding)) else {
            return;
        };
        item.place = offer.members.add(&item.group, id);
        let moved = offer.members.remove(&before, place, id);
        if let Some(moved) = moved.and_then(|moved| self.items.get_mut(moved)) {
            moved.place = place;
        }
    }

    /// How much an item is wanted may have changed.
    pub(super) fn rank_anew(&mut self, id: u32) {
        let Some(item) = self.items.known_mut(id) else { return };
        let rank = item.rank();
        let Some(binding) = item.binding.filter(|_| rank != item.ranked) else { return };
        let before = std::mem::replace(&mut item.ranked, rank);
        if let Some(offer) = self.sources.offer_of(&binding) {
            if let Some(before) = before {
                offer.members.ranks.remove(&(before, Reverse(id)));
            }
            offer.members.ranks.extend(rank.map(|rank| (rank, Reverse(id))));
        }
    }
}
