//! The table of items, and what the tick path needs of it.

use std::collections::BTreeMap;

use tapeline_backbone::{FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_omm::pages::{Line, List, Slots};
use tapeline_omm::{ItemKeyRef, KeyHash, KeyIndex};

use super::item::Item;

/// How many ids of items that are over rest before the first is used again.
const RESTING_IDS: usize = 4096;

/// All items: by id, and the shared ones by key.
#[derive(Debug, Default)]
pub(crate) struct Items {
    slots: Slots<Item>,
    /// By id too: what an update needs to know, close together.
    ticks: List<Tick>,
    /// Items whose tick is to be worked out anew.
    touched: Vec<u32>,
    /// First in, first out, and not before there are many: an id rests before
    /// it is another item's, so that a server that has lost the end of the one
    /// does not take the other for it.
    free: Line<u32>,
    by_key: KeyIndex,
    /// How many there are of each service.
    of_services: BTreeMap<u16, OfService>,
}

/// Items of one service.
#[derive(Debug, Default)]
struct OfService {
    now: usize,
    /// The most that there ever were.
    most: usize,
}

impl OfService {
    fn add(&mut self) {
        self.now += 1;
        self.most = self.most.max(self.now);
    }
}

/// What a plain update needs to know of its item. Of 100,000 items that tick in
/// any order, this is what stays in the processor's cache.
#[derive(Debug, Clone, Copy)]
struct Tick {
    /// The item's count of frames while it is plain; the item's own lags behind
    /// then.
    seq: u32,
    /// Flags of its frames.
    flags: FrameFlags,
    /// Updates go out as they come: there is an image, somebody wants them, and
    /// none is kept or merged here.
    is_plain: bool,
    is_touched: bool,
}

/// Whether updates of an item go out as they come.
fn is_plain(item: &Item) -> bool {
    item.live && item.image.is_none() && item.merges.is_none() && !item.interests.is_empty()
}

/// The key of the item with an id.
fn key_of(slots: &Slots<Item>, id: u32) -> Option<ItemKeyRef<'_>> {
    Some(slots.get(id as usize)?.key.as_ref())
}

impl Items {
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Items of a service.
    pub(crate) fn len_of(&self, service: u16) -> usize {
        self.of_services.get(&service).map_or(0, |of| of.now)
    }

    /// The most that there ever were of a service.
    pub(crate) fn most_of(&self, service: u16) -> usize {
        self.of_services.get(&service).map_or(0, |of| of.most)
    }

    /// Ids are below this one.
    pub(crate) fn end(&self) -> u32 {
        self.slots.len() as u32
    }

    /// All items, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Item)> {
        (0..self.slots.len() as u32).filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Panics where slots, index and ticks contradict each other. To be called
    /// when all is settled.
    pub(crate) fn check(&self) {
        assert!(self.touched.is_empty(), "ticks that are not worked out");
        assert_eq!(self.iter().count(), self.len(), "free ids have no item");
        let shared = self.iter().filter(|(_, item)| !item.private);
        assert_eq!(shared.count(), self.by_key.len(), "keys of the index");
        let mut of_services = BTreeMap::new();
        self.iter().for_each(|(_, item)| *of_services.entry(item.service).or_default() += 1);
        let counted = self.of_services.iter().map(|(service, of)| (service, &of.now));
        let counted = counted.filter(|(_, count)| **count > 0);
        assert!(counted.eq(of_services.iter()), "items of services: {of_services:?}");
        for (id, item) in self.iter() {
            let found = self.find(&item.key.as_ref());
            assert!(item.private || found == Some(id), "item {id} is found as {found:?}");
            let tick = self.ticks.get(id as usize).expect("an item has a tick");
            let is_plain = is_plain(item);
            assert_eq!(tick.is_plain, is_plain, "the tick of item {id}");
            let flags = is_plain.then(|| item.frame_flags());
            assert!(flags.is_none_or(|flags| flags == tick.flags), "flags of item {id}");
        }
    }

    /// An item that is there: another table, or who calls, has its id.
    #[track_caller]
    pub(crate) fn known(&self, id: u32) -> Option<&Item> {
        let item = self.get(id);
        debug_assert!(item.is_some(), "item {id} is over, and another table has its id");
        item
    }

    /// The same to change. [`settle`](Self::settle) is due after it.
    #[track_caller]
    pub(crate) fn known_mut(&mut self, id: u32) -> Option<&mut Item> {
        let item = self.get_mut(id);
        debug_assert!(item.is_some(), "item {id} is over, and another table has its id");
        item
    }

    /// An item to look at. Its count of frames may lag behind.
    pub(crate) fn get(&self, id: u32) -> Option<&Item> {
        self.slots.get(id as usize)
    }

    /// An item to change. [`settle`](Self::settle) is due after it.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Item> {
        let item = self.slots.get_mut(id as usize)?;
        let tick = self.ticks.get_mut(id as usize)?;
        if tick.is_plain {
            item.seq = tick.seq;
            tick.is_plain = false;
        }
        if !tick.is_touched {
            tick.is_touched = true;
            self.touched.push(id);
        }
        Some(item)
    }

    /// How many frames of an item went to all servers.
    pub(crate) fn seq(&self, id: u32) -> u32 {
        match self.ticks.get(id as usize).filter(|tick| tick.is_plain) {
            Some(tick) => tick.seq,
            None => self.get(id).map_or(0, |item| item.seq),
        }
    }

    /// The header for an update of an item that goes out as it is.
    #[inline]
    pub(crate) fn plain_header(&mut self, id: u32) -> Option<FrameHeader> {
        let tick = self.ticks.get_mut(id as usize).filter(|tick| tick.is_plain)?;
        tick.seq = tick.seq.wrapping_add(1);
        Some(FrameHeader {
            flags: tick.flags,
            item_seq: tick.seq,
            ..FrameHeader::new(Kind::Item, Incarnation::ALL, id)
        })
    }

    /// Works out how updates of the items that were changed are to go.
    #[inline]
    pub(crate) fn settle(&mut self) {
        while let Some(id) = self.touched.pop() {
            let Some(tick) = self.ticks.get_mut(id as usize) else { continue };
            tick.is_touched = false;
            if let Some(item) = self.slots.get(id as usize) {
                tick.seq = item.seq;
                tick.flags = item.frame_flags();
                tick.is_plain = is_plain(item);
            }
        }
    }

    /// The shared item of a key.
    pub(crate) fn find(&self, key: &ItemKeyRef<'_>) -> Option<u32> {
        self.find_hashed(KeyHash::of(key), key)
    }

    /// The same, where the hash of the key is known.
    pub(crate) fn find_hashed(&self, hash: KeyHash, key: &ItemKeyRef<'_>) -> Option<u32> {
        self.by_key.find(hash, key, |id| key_of(&self.slots, id))
    }

    /// Adds an item, by the hash of its key.
    pub(crate) fn insert(&mut self, hash: KeyHash, item: Item) -> u32 {
        debug_assert!(hash == KeyHash::of(&item.key.as_ref()), "the hash of another key");
        let is_private = item.private;
        self.of_services.entry(item.service).or_default().add();
        let rested = (self.free.len() > RESTING_IDS).then(|| self.free.pop_front()).flatten();
        let id = match rested {
            Some(id) => {
                self.slots.put(id as usize, item);
                id
            }
            None => {
                let flags = FrameFlags::empty();
                self.ticks.push(Tick { seq: 0, flags, is_plain: false, is_touched: false });
                self.slots.push(item) as u32
            }
        };
        if !is_private {
            self.by_key.insert(hash, id);
        }
        id
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<Item> {
        let item = self.slots.take(id as usize)?;
        if let Some(tick) = self.ticks.get_mut(id as usize) {
            tick.is_plain = false;
        }
        self.free.push_back(id);
        if let Some(of) = self.of_services.get_mut(&item.service) {
            of.now -= 1;
        }
        if !item.private {
            self.by_key.remove(KeyHash::of(&item.key.as_ref()), id);
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use tapeline_omm::stream::{RecoveryPolicy, StreamOptions};
    use tapeline_rwf::Domain;

    use super::*;

    const OPTIONS: StreamOptions = StreamOptions {
        streaming: true,
        private: false,
        recover_complete: true,
        provider_obeys_pause: false,
        recovery: RecoveryPolicy { single_open: true, allow_suspect_data: true },
        request_timeout_ms: 1,
        retry_delay_ms: 1,
    };

    #[test]
    fn items_are_found_until_they_are_removed() {
        let mut items = Items::default();
        let names: Vec<_> = (0..5_000).map(|number| format!("ITEM{number}")).collect();
        let key = |number: u32| ItemKeyRef::item(Domain::MARKET_PRICE, 1, &names[number as usize]);
        for number in 0..5_000 {
            let item = Item::new(key(number).to_owned(), 1, OPTIONS);
            assert_eq!(items.insert(KeyHash::of(&key(number)), item), number);
        }
        for number in (0..5_000).rev() {
            let key = key(number);
            assert_eq!(items.find(&key), Some(number));
            assert!(items.remove(number).is_some());
            assert_eq!(items.find(&key), None);
            assert_eq!(items.len(), number as usize);
        }
    }
}
