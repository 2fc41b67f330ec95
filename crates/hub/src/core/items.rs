//! The table of items, and what the tick path needs of it.

use std::collections::HashMap;
use std::hash::BuildHasher;

use tapeline_backbone::{FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_omm::{AsItemKey, ItemKey, ItemKeyRef, SeededHash};

use super::item::Item;
use super::pages::{Line, List};

/// How many ids of items that are over rest before the first is used again.
const RESTING_IDS: usize = 4096;

/// All items: by id, and the shared ones by key.
#[derive(Debug, Default)]
pub(crate) struct Items {
    slots: List<Option<Box<Item>>>,
    /// By id too: what an update needs to know, close together.
    ticks: List<Tick>,
    /// Items whose tick is to be worked out anew.
    touched: Vec<u32>,
    /// First in, first out, and not before there are many: an id rests before
    /// it is another item's, so that a server that has lost the end of the one
    /// does not take the other for it.
    free: Line<u32>,
    by_key: Index,
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
    /// none is kept here.
    is_plain: bool,
    is_touched: bool,
}

/// How many parts the index has. Each grows by itself, so that no request waits
/// while all of 500,000 keys find their new places.
const SHARDS: usize = 2048;

/// Ids of items by key.
#[derive(Debug)]
struct Index(Box<[HashMap<ItemKey, u32, SeededHash>]>);

impl Default for Index {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| HashMap::default()).collect())
    }
}

impl Index {
    /// The last part gets twice as many keys as the first, and those between in
    /// proportion: parts of one size would all grow within a few turns.
    fn shard(key: &dyn AsItemKey) -> usize {
        const SQUARE: u64 = (SHARDS * SHARDS) as u64;
        // Not the bits by which a table finds its places, which are the lowest
        // and the highest.
        let hash = (SeededHash.hash_one(key) >> 24) & u64::from(u32::MAX);
        (SQUARE + ((3 * SQUARE * hash) >> 32)).isqrt() as usize - SHARDS
    }

    fn of(&self, key: &dyn AsItemKey) -> &HashMap<ItemKey, u32, SeededHash> {
        &self.0[Self::shard(key)]
    }

    fn of_mut(&mut self, key: &dyn AsItemKey) -> &mut HashMap<ItemKey, u32, SeededHash> {
        &mut self.0[Self::shard(key)]
    }
}

impl Items {
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// All items, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Item)> {
        (0..self.slots.len() as u32).filter_map(|id| Some((id, self.get(id)?)))
    }

    /// Panics where slots, index and ticks contradict each other. To be called
    /// when all is settled.
    pub(crate) fn check(&self) {
        assert_eq!(self.touched, [], "ticks that are not worked out");
        assert_eq!(self.iter().count(), self.len(), "free ids have no item");
        let shared = self.iter().filter(|(_, item)| !item.private);
        let indexed: usize = self.by_key.0.iter().map(HashMap::len).sum();
        assert_eq!(shared.count(), indexed, "keys of the index");
        for (id, item) in self.iter() {
            let found = self.find(&item.key.as_ref());
            assert!(item.private || found == Some(id), "item {id} is found as {found:?}");
            let tick = self.ticks.get(id as usize).expect("an item has a tick");
            let is_plain = item.live && item.image.is_none() && !item.interests.is_empty();
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
        self.slots.get(id as usize)?.as_deref()
    }

    /// An item to change. [`settle`](Self::settle) is due after it.
    pub(crate) fn get_mut(&mut self, id: u32) -> Option<&mut Item> {
        let item = self.slots.get_mut(id as usize)?.as_deref_mut()?;
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
            if let Some(Some(item)) = self.slots.get(id as usize) {
                tick.seq = item.seq;
                tick.flags = item.frame_flags();
                tick.is_plain = item.live && item.image.is_none() && !item.interests.is_empty();
            }
        }
    }

    /// The shared item of a key.
    pub(crate) fn find(&self, key: &ItemKeyRef<'_>) -> Option<u32> {
        self.by_key.of(key).get(key as &dyn AsItemKey).copied()
    }

    pub(crate) fn insert(&mut self, item: Item) -> u32 {
        let key = (!item.private).then(|| item.key.clone());
        let rested = (self.free.len() > RESTING_IDS).then(|| self.free.pop_front()).flatten();
        let id = match rested {
            Some(id) => id,
            None => {
                self.slots.push(None);
                let flags = FrameFlags::empty();
                self.ticks.push(Tick { seq: 0, flags, is_plain: false, is_touched: false });
                self.slots.len() as u32 - 1
            }
        };
        if let Some(slot) = self.slots.get_mut(id as usize) {
            *slot = Some(Box::new(item));
        }
        if let Some(key) = key {
            self.by_key.of_mut(&key).insert(key, id);
        }
        id
    }

    pub(crate) fn remove(&mut self, id: u32) -> Option<Item> {
        let item = self.slots.get_mut(id as usize)?.take()?;
        if let Some(tick) = self.ticks.get_mut(id as usize) {
            tick.is_plain = false;
        }
        self.free.push_back(id);
        if !item.private {
            self.by_key.of_mut(&item.key).remove(&item.key);
        }
        Some(*item)
    }
}

#[cfg(test)]
mod tests {
    use tapeline_omm::stream::{RecoveryPolicy, StreamOptions};
    use tapeline_rwf::{Domain, MsgKey};

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

    /// Adds items until there are so many. Returns, of 256 items one after
    /// another, how many keys moved at most, and the same of a single one.
    fn most_moved(items: &mut Items, count: usize) -> (usize, usize) {
        let mut capacity: Vec<_> = items.by_key.0.iter().map(HashMap::capacity).collect();
        let (mut of_run, mut most_of_run, mut most) = (0, 0, 0);
        for number in items.len()..count {
            let name = format!("ITEM{number}");
            let key = ItemKeyRef::of(Domain::MARKET_PRICE, &MsgKey::item(1, &name), None);
            let shard = Index::shard(&key);
            let before = items.by_key.0[shard].len();
            items.insert(Item::new(key.to_owned(), 1, OPTIONS));
            let now = items.by_key.0[shard].capacity();
            if std::mem::replace(&mut capacity[shard], now) != now {
                of_run += before;
                most = most.max(before);
            }
            if number % 256 == 0 {
                most_of_run = most_of_run.max(std::mem::take(&mut of_run));
            }
        }
        (most_of_run, most)
    }

    #[test]
    fn the_index_grows_in_small_steps_which_are_far_apart() {
        let mut items = Items::default();
        most_moved(&mut items, 70_000);
        // Every part grows once or twice meanwhile.
        let (of_run, most) = most_moved(&mut items, 200_000);
        assert!(most <= 112, "{most} keys with one item");
        assert!(of_run <= 256 * 8, "{of_run} keys with 256 items");
        let sizes: Vec<_> = items.by_key.0.iter().map(HashMap::len).collect();
        let (first, last) = sizes.split_at(SHARDS / 2);
        let (first, last) = (first.iter().sum::<usize>(), last.iter().sum::<usize>());
        assert!(last > first && last < 2 * first, "{first}, {last}");
    }

    #[test]
    fn items_are_found_until_they_are_removed() {
        let mut items = Items::default();
        most_moved(&mut items, 5_000);
        for number in (0..5_000).rev() {
            let name = format!("ITEM{number}");
            let key = ItemKeyRef::of(Domain::MARKET_PRICE, &MsgKey::item(1, &name), None);
            assert_eq!(items.find(&key), Some(number));
            assert!(items.remove(number).is_some());
            assert_eq!(items.find(&key), None);
            assert_eq!(items.len(), number as usize);
        }
    }
}
