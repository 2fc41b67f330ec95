//! The table of items, and what the tick path needs of it.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;

use tapeline_backbone::{FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_omm::{AsItemKey, ItemKey, ItemKeyRef};

use super::item::Item;
use super::streams::FixedState;

/// How many ids of items that are over rest before the first is used again.
const RESTING_IDS: usize = 4096;

/// All items: by id, and the shared ones by key.
#[derive(Debug, Default)]
pub(crate) struct Items {
    /// Boxed, so that little moves when there are more.
    slots: Vec<Option<Box<Item>>>,
    /// By id too: what an update needs to know, close together.
    ticks: Vec<Tick>,
    /// Items whose tick is to be worked out anew.
    touched: Vec<u32>,
    /// First in, first out, and not before there are many: an id rests before
    /// it is another item's, so that a server that has lost the end of the one
    /// does not take the other for it.
    free: VecDeque<u32>,
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

/// How many parts the index has: each grows by itself, so that no request waits
/// while all of 500,000 keys find their new places.
const SHARDS: usize = 64;

/// Ids of items by key.
#[derive(Debug)]
struct Index(Box<[HashMap<ItemKey, u32, FixedState>]>);

impl Default for Index {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| HashMap::default()).collect())
    }
}

impl Index {
    fn shard(key: &dyn AsItemKey) -> usize {
        // Not the bits by which a table finds its places.
        (FixedState::default().hash_one(key) >> 32) as usize % SHARDS
    }

    fn of(&self, key: &dyn AsItemKey) -> &HashMap<ItemKey, u32, FixedState> {
        &self.0[Self::shard(key)]
    }

    fn of_mut(&mut self, key: &dyn AsItemKey) -> &mut HashMap<ItemKey, u32, FixedState> {
        &mut self.0[Self::shard(key)]
    }
}

impl Items {
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
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
            if let Some(item) = self.slots.get(id as usize).and_then(Option::as_ref) {
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
            Some(id) => {
                self.slots[id as usize] = Some(Box::new(item));
                id
            }
            None => {
                self.slots.push(Some(Box::new(item)));
                let flags = FrameFlags::empty();
                self.ticks.push(Tick { seq: 0, flags, is_plain: false, is_touched: false });
                self.slots.len() as u32 - 1
            }
        };
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
