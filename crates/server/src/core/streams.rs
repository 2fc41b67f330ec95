//! The streams of a mount, by their ids.

use std::collections::BTreeMap;

use tapeline_omm::stream::ProviderStream;

use super::map::Map;
use super::stream::{Entry, ItemStream, Stream, Taken};

/// Ids on a page. Clients count their streams up, so that pages are full.
const PAGE: i32 = 64;

/// No item.
const NONE: u32 = u32::MAX;

/// The streams of a mount.
///
/// ```text
///   id / 64 ──► page: | slot of the item: 4 | ... 64 | state: 2 | ... 64 |
/// ```
///
/// An item on a stream takes 6 bytes and a bit where the client counts its ids
/// up, and up to 430 where it takes them at random.
#[derive(Debug, Default)]
pub(super) struct Streams {
    items: BTreeMap<i32, Box<Page>>,
    /// The number of the next part, where an image is being sent in parts.
    next_parts: Map<i32, u16>,
    /// All but items.
    others: BTreeMap<i32, Stream>,
    count: usize,
}

#[derive(Debug)]
struct Page {
    slots: [u32; PAGE as usize],
    /// See [`ProviderStream::to_numbers`].
    states: [u16; PAGE as usize],
}

impl Page {
    const EMPTY: Self = Self { slots: [NONE; PAGE as usize], states: [0; PAGE as usize] };

    fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| *slot == NONE)
    }
}

const fn page_of(stream_id: i32) -> i32 {
    stream_id.div_euclid(PAGE)
}

const fn place_of(stream_id: i32) -> usize {
    stream_id.rem_euclid(PAGE) as usize
}

impl Streams {
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    pub(super) fn contains(&self, stream_id: i32) -> bool {
        self.slot(stream_id).is_some() || self.others.contains_key(&stream_id)
    }

    /// The slot of the item on a stream.
    pub(super) fn slot(&self, stream_id: i32) -> Option<u32> {
        let page = self.items.get(&page_of(stream_id))?;
        Some(page.slots[place_of(stream_id)]).filter(|slot| *slot != NONE)
    }

    /// The item on a stream.
    pub(super) fn item(&self, stream_id: i32) -> Option<ItemStream> {
        let page = self.items.get(&page_of(stream_id))?;
        let place = place_of(stream_id);
        let slot = Some(page.slots[place]).filter(|slot| *slot != NONE)?;
        let next_part = self.next_part(stream_id);
        Some(ItemStream {
            slot,
            state: ProviderStream::from_numbers(page.states[place], next_part),
        })
    }

    fn next_part(&self, stream_id: i32) -> u16 {
        match self.next_parts.is_empty() {
            true => 0,
            false => self.next_parts.get(&stream_id).copied().unwrap_or_default(),
        }
    }

    /// What is on a stream.
    pub(super) fn get(&self, stream_id: i32) -> Option<Entry<'_>> {
        match self.item(stream_id) {
            Some(item) => Some(Entry::Item(item)),
            None => self.others.get(&stream_id).map(Entry::Other),
        }
    }

    /// What is on a stream, if it is no item.
    pub(super) fn other_mut(&mut self, stream_id: i32) -> Option<&mut Stream> {
        self.others.get_mut(&stream_id)
    }

    /// Changes the state of the item on a stream. `None`: there is no item.
    pub(super) fn change<R>(
        &mut self,
        stream_id: i32,
        change: impl FnOnce(&mut ProviderStream) -> R,
    ) -> Option<R> {
        let next_part = self.next_part(stream_id);
        let page = self.items.get_mut(&page_of(stream_id))?;
        let place = place_of(stream_id);
        if page.slots[place] == NONE {
            return None;
        }
        let mut state = ProviderStream::from_numbers(page.states[place], next_part);
        let result = change(&mut state);
        let (bits, later_part) = state.to_numbers();
        page.states[place] = bits;
        self.set_next_part(stream_id, next_part, later_part);
        Some(result)
    }

    fn set_next_part(&mut self, stream_id: i32, before: u16, next_part: u16) {
        if next_part != 0 {
            self.next_parts.insert(stream_id, next_part);
        } else if before != 0 {
            self.next_parts.remove(&stream_id);
            if self.next_parts.is_empty() {
                self.next_parts = Map::default();
            }
        }
    }

    /// Puts an item on an id that is free.
    pub(super) fn insert_item(&mut self, stream_id: i32, item: &ItemStream) {
        self.remove(stream_id);
        let (bits, next_part) = item.state.to_numbers();
        let page = self.items.entry(page_of(stream_id)).or_insert_with(|| Box::new(Page::EMPTY));
        page.slots[place_of(stream_id)] = item.slot;
        page.states[place_of(stream_id)] = bits;
        self.count += 1;
        self.set_next_part(stream_id, 0, next_part);
    }

    /// Puts something else on an id that is free, or has something of the kind.
    pub(super) fn insert(&mut self, stream_id: i32, stream: Stream) {
        self.remove(stream_id);
        self.others.insert(stream_id, stream);
        self.count += 1;
    }

    pub(super) fn remove(&mut self, stream_id: i32) -> Option<Taken> {
        let taken = match self.item(stream_id) {
            Some(item) => {
                self.remove_item(stream_id);
                Taken::Item(item)
            }
            None => Taken::Other(self.others.remove(&stream_id)?),
        };
        self.count -= 1;
        Some(taken)
    }

    fn remove_item(&mut self, stream_id: i32) {
        let number = page_of(stream_id);
        let Some(page) = self.items.get_mut(&number) else {
            debug_assert!(false, "the item was found on it");
            return;
        };
        page.slots[place_of(stream_id)] = NONE;
        if page.is_empty() {
            self.items.remove(&number);
        }
        let before = self.next_part(stream_id);
        self.set_next_part(stream_id, before, 0);
    }

    /// Takes the stream with the highest id away, items before all others.
    pub(super) fn pop(&mut self) -> Option<(i32, Taken)> {
        let stream_id = match self.items.last_key_value() {
            Some((number, page)) => {
                let place = page.slots.iter().rposition(|slot| *slot != NONE)?;
                number * PAGE + place as i32
            }
            None => *self.others.last_key_value()?.0,
        };
        Some((stream_id, self.remove(stream_id)?))
    }

    /// The first id from this one on that something is on.
    pub(super) fn first_from(&self, stream_id: i32) -> Option<i32> {
        let other = self.others.range(stream_id..).next().map(|(other, _)| *other);
        let item = self.item_from(stream_id);
        item.into_iter().chain(other).min()
    }

    /// The first id of an item from this one on.
    pub(super) fn item_from(&self, stream_id: i32) -> Option<i32> {
        let first = page_of(stream_id);
        for (number, page) in self.items.range(first..) {
            let skipped = if *number == first { place_of(stream_id) } else { 0 };
            let place = page.slots[skipped..].iter().position(|slot| *slot != NONE);
            if let Some(place) = place {
                return Some(number * PAGE + (skipped + place) as i32);
            }
        }
        None
    }

    /// All but items, by id.
    pub(super) fn others(&self) -> impl Iterator<Item = (i32, &Stream)> {
        self.others.iter().map(|(stream_id, stream)| (*stream_id, stream))
    }

    /// All ids of items, in their order.
    pub(super) fn items(&self) -> impl Iterator<Item = i32> + '_ {
        self.items.iter().flat_map(|(number, page)| {
            let taken = page.slots.iter().zip(0..PAGE).filter(|(slot, _)| **slot != NONE);
            taken.map(move |(_, place)| number * PAGE + place)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_item_takes_six_bytes() {
        assert_eq!(size_of::<Page>(), 6 * PAGE as usize);
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Item(i32, u32, u16),
        Other(i32),
        Change(i32, u16),
        Remove(i32),
    }

    fn step() -> impl Strategy<Value = Step> {
        let id = prop_oneof![-70..140_i32, Just(i32::MIN), Just(i32::MAX), any::<i32>()];
        (0..4, id, any::<u32>(), 0..3_u16).prop_map(|(kind, id, slot, part)| match kind {
            0 => Step::Item(id, slot & 0xFFFF, part),
            1 => Step::Other(id),
            2 => Step::Change(id, part),
            _ => Step::Remove(id),
        })
    }

    /// Slot, facts and next part of an item.
    type Numbers = (u32, u16, u16);

    fn numbers(entry: &Entry<'_>) -> Option<Numbers> {
        let Entry::Item(item) = entry else { return None };
        let (bits, next_part) = item.state.to_numbers();
        Some((item.slot, bits, next_part))
    }

    fn known_items(known: &BTreeMap<i32, Option<Numbers>>) -> impl Iterator<Item = i32> + '_ {
        known.iter().filter(|(_, entry)| entry.is_some()).map(|(id, _)| *id)
    }

    proptest! {
        #[test]
        fn they_are_a_map_in_order(steps in prop::collection::vec(step(), 0..200)) {
            let (mut streams, mut known) =
                (Streams::default(), BTreeMap::<i32, Option<Numbers>>::new());
            for step in steps {
                match step {
                    Step::Item(id, slot, part) => {
                        let state = ProviderStream::from_numbers(7, part);
                        streams.insert_item(id, &ItemStream { slot, state });
                        known.insert(id, Some((slot, 7, part)));
                    }
                    Step::Other(id) => {
                        streams.insert(id, Stream::Login);
                        known.insert(id, None);
                    }
                    Step::Change(id, part) => {
                        let change = |state: &mut ProviderStream| {
                            *state = ProviderStream::from_numbers(9, part);
                        };
                        let changed = streams.change(id, change);
                        let item = known.get_mut(&id).and_then(Option::as_mut);
                        prop_assert_eq!(changed.is_some(), item.is_some());
                        if let Some(item) = item {
                            *item = (item.0, 9, part);
                        }
                    }
                    Step::Remove(id) => {
                        prop_assert_eq!(streams.remove(id).is_some(), known.remove(&id).is_some());
                    }
                }
                prop_assert_eq!(streams.len(), known.len());
            }
            prop_assert!(streams.items().eq(known_items(&known)));
            let mut next = streams.first_from(i32::MIN);
            for id in known.keys() {
                prop_assert_eq!(next, Some(*id));
                next = id.checked_add(1).and_then(|after| streams.first_from(after));
            }
            prop_assert_eq!(next, None);
            for (id, entry) in &known {
                prop_assert!(streams.contains(*id));
                prop_assert_eq!(streams.get(*id).map(|found| numbers(&found) == *entry), Some(true));
            }
            let items = || known.iter().filter(|(_, entry)| entry.is_some());
            let pages: std::collections::BTreeSet<_> = items().map(|(id, _)| page_of(*id)).collect();
            prop_assert_eq!(streams.items.len(), pages.len(), "an empty page is not kept");
            let in_parts = items().filter(|(_, entry)| entry.is_some_and(|item| item.2 != 0));
            prop_assert_eq!(streams.next_parts.len(), in_parts.count());
            let others = known.iter().filter(|(_, entry)| entry.is_none()).map(|(id, _)| *id);
            let wanted: Vec<_> = others.chain(known_items(&known)).collect();
            let popped: Vec<_> = std::iter::from_fn(|| Some(streams.pop()?.0)).collect();
            prop_assert!(popped.iter().rev().eq(&wanted));
            prop_assert_eq!((streams.len(), streams.items.len()), (0, 0));
        }
    }
}
