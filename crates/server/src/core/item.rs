//! Items: what the server has open at hubs, and who watches.

use std::collections::hash_map::DefaultHasher;
use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use tapeline_cache::Image;
use tapeline_channel::SessionId;
use tapeline_omm::view::View;
use tapeline_omm::{ItemKey, ItemKeyRef, StateBuf};
use tapeline_rwf::{DataState, Priority, StateCode, StreamState};

/// Where the item of a request is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upstream {
    /// Nowhere: there is no hub for it now.
    Nowhere,
    /// It waits for its turn at this hub.
    Queued {
        /// Index of the hub.
        hub: usize,
    },
    /// It was sent to this hub, which has not answered yet.
    Asked {
        /// Index of the hub.
        hub: usize,
    },
    /// The hub has it.
    Accepted {
        /// Index of the hub.
        hub: usize,
        /// The hub's number for it.
        hub_item: u32,
    },
}

impl Upstream {
    /// The hub that knows of the request.
    pub(super) const fn told(self) -> Option<usize> {
        match self {
            Self::Asked { hub } | Self::Accepted { hub, .. } => Some(hub),
            Self::Nowhere | Self::Queued { .. } => None,
        }
    }

    /// The hub at which the item is.
    pub(super) const fn hub(self) -> Option<usize> {
        match self {
            Self::Queued { hub } => Some(hub),
            _ => self.told(),
        }
    }
}

/// How a watcher stands: the low half of its mode.
pub(super) mod mode {
    /// It gets updates.
    pub(in crate::core) const LIVE: u32 = 0x01;
    /// It waits for an image.
    pub(in crate::core) const WANTS: u32 = 0x02;
    /// It gets the parts of the image that is coming.
    pub(in crate::core) const IN_IMAGE: u32 = 0x04;
    /// It wants to know how much was merged into an update.
    pub(in crate::core) const CONFLATION_INFO: u32 = 0x08;
    /// Its image waits for the mount's output to drain.
    pub(in crate::core) const LATE: u32 = 0x10;
    /// The form is in the high half, 0 for the plain one.
    pub(in crate::core) const FORM_SHIFT: u32 = 16;
}

/// One stream of one mount on an item: the hot half, 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Watcher {
    pub(super) session: SessionId,
    pub(super) stream_id: i32,
    pub(super) mode: u32,
}

impl Watcher {
    pub(super) const fn has(&self, bit: u32) -> bool {
        self.mode & bit != 0
    }

    /// Whether it takes every update as it is.
    #[inline]
    pub(super) const fn is_plain(&self) -> bool {
        self.mode & !mode::CONFLATION_INFO == mode::LIVE
    }

    pub(super) const fn set(&mut self, bit: u32, is_set: bool) {
        self.mode = if is_set { self.mode | bit } else { self.mode & !bit };
    }

    /// The form in which it gets messages.
    pub(super) const fn form(&self) -> usize {
        (self.mode >> mode::FORM_SHIFT) as usize
    }

    pub(super) const fn set_form(&mut self, form: usize) {
        self.mode = self.mode & ((1 << mode::FORM_SHIFT) - 1) | (form as u32) << mode::FORM_SHIFT;
    }
}

/// How a watcher gets messages, if not as they come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Form {
    /// Only these fields.
    pub(super) view: Option<View>,
    /// With the key in every message.
    pub(super) with_key: bool,
    /// With permission data.
    pub(super) with_perm_data: bool,
}

impl Form {
    /// As messages come.
    pub(super) const PLAIN: Self = Self { view: None, with_key: false, with_perm_data: true };
    /// How many forms an item may have beside the plain one.
    const MAX: usize = 0xFFFE;
}

/// An item, or one private stream of one.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the item")]
pub(super) struct Item {
    pub(super) key: ItemKey,
    pub(super) is_private: bool,
    /// Whether it is asked for with updates.
    pub(super) is_streaming: bool,
    pub(super) upstream: Upstream,
    /// Which request to the hub this is: what a time-out is for.
    pub(super) attempt: u32,
    /// Place in the hub's messages for the item.
    pub(super) last_seq: u32,
    /// An image has come since the hub has it.
    pub(super) has_image: bool,
    /// An image is coming in parts.
    pub(super) in_parts: bool,
    /// An image was asked for that has not come.
    pub(super) image_asked: bool,
    /// All watchers need the next image: something was missed.
    pub(super) needs_repair: bool,
    pub(super) state: StateBuf,
    pub(super) image: Option<Box<Image>>,
    /// The forms that watchers want, beside the plain one, counted from 1.
    pub(super) forms: Vec<Form>,
    pub(super) watchers: Vec<Watcher>,
    pub(super) priority: Priority,
    /// The request of a private stream as it is to be sent.
    pub(super) request: Option<Box<[u8]>>,
}

impl Item {
    pub(super) fn new(key: ItemKey, is_streaming: bool, is_private: bool) -> Self {
        Self {
            key,
            is_private,
            is_streaming,
            upstream: Upstream::Nowhere,
            attempt: 0,
            last_seq: 0,
            has_image: false,
            in_parts: false,
            image_asked: false,
            needs_repair: false,
            state: StateBuf::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, ""),
            image: None,
            forms: Vec::new(),
            watchers: Vec::new(),
            priority: Priority::default(),
            request: None,
        }
    }

    pub(super) fn service_id(&self) -> u16 {
        self.key.as_ref().service_id.unwrap_or_default()
    }

    /// The number of a form, made known if it is new. There are fewer forms
    /// than can be numbered; one too many is taken as plain.
    pub(super) fn form(&mut self, form: Form) -> usize {
        if form == Form::PLAIN {
            return 0;
        }
        if let Some(known) = self.forms.iter().position(|known| *known == form) {
            return known + 1;
        }
        if self.forms.len() >= 2 * self.watchers.len() + 16 {
            self.forget_unused_forms();
        }
        if self.forms.len() >= Form::MAX {
            return 0;
        }
        self.forms.push(form);
        self.forms.len()
    }

    /// Renumbers the forms that watchers have, without those that none has any
    /// more.
    fn forget_unused_forms(&mut self) {
        let mut numbers = vec![0; self.forms.len() + 1];
        let mut kept = Vec::new();
        for watcher in &mut self.watchers {
            let form = watcher.form();
            if form > 0 && numbers[form] == 0 {
                kept.push(self.forms[form - 1].clone());
                numbers[form] = kept.len();
            }
            watcher.set_form(numbers[form]);
        }
        self.forms = kept;
    }

    /// Whether any watcher waits for an image.
    pub(super) fn is_wanted(&self) -> bool {
        self.watchers.iter().any(|watcher| watcher.has(mode::WANTS))
    }

    /// Whether newcomers are served from the cache.
    pub(super) fn is_servable(&self) -> bool {
        self.has_image
            && !self.needs_repair
            && !self.in_parts
            && self.image.as_ref().is_some_and(|image| image.is_servable())
    }

    /// The place in the hub's messages up to which the item is known: none if
    /// an image is due, as one for this server alone is not counted there.
    pub(super) const fn seen_seq(&self) -> u32 {
        match self.has_image && !self.image_asked && !self.in_parts {
            true => self.last_seq,
            false => 0,
        }
    }

    /// What the hub had of the item does not count any more. An image that was
    /// coming in parts is to be given up before.
    pub(super) fn forget_upstream(&mut self) {
        self.upstream = Upstream::Nowhere;
        self.has_image = false;
        self.image_asked = false;
        self.needs_repair = true;
    }
}

/// What is in a slot.
#[derive(Debug)]
enum Slot {
    Free,
    /// The item is closed, but its hub has not answered the request: until it
    /// does, the number must not stand for another request.
    Unanswered {
        hub: usize,
        attempt: u32,
    },
    Taken(Box<Item>),
}

/// All items. The number of an item's slot is also the reference by which hubs
/// know the request.
#[derive(Debug, Default)]
pub(super) struct Items {
    slots: Vec<Slot>,
    free: Vec<u32>,
    streaming: Index,
    snapshots: Index,
    count: usize,
}

/// Slots by the keys of their items, which are in the items alone.
#[derive(Debug, Default)]
struct Index(HashTable<u32>);

fn hash(key: &ItemKeyRef<'_>) -> u64 {
    BuildHasherDefault::<DefaultHasher>::default().hash_one(key)
}

/// The hash of the key of a slot that is in an index.
fn rehash(slots: &[Slot], slot: u32) -> u64 {
    match slots.get(slot as usize) {
        Some(Slot::Taken(item)) => hash(&item.key.as_ref()),
        _ => 0,
    }
}

impl Index {
    fn get(&self, slots: &[Slot], key: &ItemKeyRef<'_>) -> Option<u32> {
        let is_it = |slot: &u32| match slots.get(*slot as usize) {
            Some(Slot::Taken(item)) => item.key.as_ref() == *key,
            _ => false,
        };
        self.0.find(hash(key), is_it).copied()
    }

    /// Makes a slot known whose item is there.
    fn insert(&mut self, slots: &[Slot], slot: u32) {
        self.0.insert_unique(rehash(slots, slot), slot, |other| rehash(slots, *other));
    }

    fn remove(&mut self, slots: &[Slot], slot: u32) {
        if let Ok(entry) = self.0.find_entry(rehash(slots, slot), |other| *other == slot) {
            entry.remove();
        }
    }
}

impl Items {
    #[inline]
    pub(super) fn get(&self, slot: u32) -> Option<&Item> {
        match self.slots.get(slot as usize) {
            Some(Slot::Taken(item)) => Some(item),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Item> {
        match self.slots.get_mut(slot as usize) {
            Some(Slot::Taken(item)) => Some(item),
            _ => None,
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    /// The numbers of all slots, taken or not.
    pub(super) fn slots(&self) -> core::ops::Range<u32> {
        0..self.slots.len() as u32
    }

    /// The item of a request that can share one: a snapshot is also served by
    /// a stream.
    pub(super) fn find(&self, key: &ItemKeyRef<'_>, is_streaming: bool) -> Option<u32> {
        let streaming = self.streaming.get(&self.slots, key);
        match is_streaming {
            true => streaming,
            false => streaming.or_else(|| self.snapshots.get(&self.slots, key)),
        }
    }

    pub(super) fn insert(&mut self, item: Item) -> u32 {
        let (is_private, is_streaming) = (item.is_private, item.is_streaming);
        let item = Slot::Taken(Box::new(item));
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = item;
                slot
            }
            None => {
                self.slots.push(item);
                self.slots.len() as u32 - 1
            }
        };
        if !is_private {
            let index = if is_streaming { &mut self.streaming } else { &mut self.snapshots };
            index.insert(&self.slots, slot);
        }
        self.count += 1;
        slot
    }

    /// The snapshot of a key that is asked for as a stream now becomes one.
    pub(super) fn upgrade(&mut self, key: &ItemKeyRef<'_>) -> Option<u32> {
        let slot = self.snapshots.get(&self.slots, key)?;
        self.snapshots.remove(&self.slots, slot);
        self.streaming.insert(&self.slots, slot);
        if let Some(item) = self.get_mut(slot) {
            item.is_streaming = true;
        }
        Some(slot)
    }

    /// Takes an item out. `unanswered_at`: the hub that has yet to answer its
    /// request.
    pub(super) fn remove(&mut self, slot: u32, unanswered_at: Option<usize>) -> Option<Box<Item>> {
        let Item { attempt, is_private, is_streaming, .. } = *self.get(slot)?;
        if !is_private {
            let index = if is_streaming { &mut self.streaming } else { &mut self.snapshots };
            index.remove(&self.slots, slot);
        }
        let place = self.slots.get_mut(slot as usize)?;
        let left = match unanswered_at {
            Some(hub) => Slot::Unanswered { hub, attempt },
            None => Slot::Free,
        };
        let Slot::Taken(item) = core::mem::replace(place, left) else { return None };
        if unanswered_at.is_none() {
            self.free.push(slot);
        }
        self.count -= 1;
        Some(item)
    }

    /// The hub answered a request whose item is closed. Whether it was one.
    pub(super) fn answered(&mut self, slot: u32, hub: usize) -> bool {
        match self.slots.get_mut(slot as usize) {
            Some(place @ Slot::Unanswered { .. }) => {
                let Slot::Unanswered { hub: asked, .. } = *place else { return false };
                if asked != hub {
                    return false;
                }
                *place = Slot::Free;
                self.free.push(slot);
                true
            }
            _ => false,
        }
    }

    /// The hub that has had the time to answer a request whose item is closed:
    /// as it need not answer, the slot is free.
    pub(super) fn expire(&mut self, slot: u32, attempt: u32) -> Option<usize> {
        let hub = match self.slots.get(slot as usize) {
            Some(Slot::Unanswered { hub, attempt: last }) if *last == attempt => *hub,
            _ => return None,
        };
        self.answered(slot, hub).then_some(hub)
    }

    /// A hub is gone: it will answer nothing.
    pub(super) fn forget_hub(&mut self, gone: usize) {
        for slot in self.slots() {
            self.answered(slot, gone);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::Domain;

    fn item(name: &str) -> Item {
        Item::new(ItemKeyRef::item(Domain::MARKET_PRICE, 1, name).to_owned(), true, false)
    }

    #[test]
    fn items_are_small() {
        assert!(size_of::<Item>() <= 176, "{}", size_of::<Item>());
    }

    #[test]
    fn a_watcher_is_sixteen_bytes() {
        assert_eq!(size_of::<Watcher>(), 16);
    }

    #[test]
    fn a_slot_is_used_again_only_after_its_request_was_answered() {
        let mut items = Items::default();
        let first = items.insert(item("A"));
        assert!(items.remove(first, Some(0)).is_some());
        assert_eq!(items.insert(item("B")), 1);
        assert!(!items.answered(first, 1), "another hub");
        assert!(items.answered(first, 0));
        assert!(!items.answered(first, 0), "once");
        assert_eq!(items.insert(item("C")), first);
        assert_eq!(items.len(), 2);
    }

    #[test]
    fn a_snapshot_finds_a_stream_but_not_the_other_way_round() {
        let mut items = Items::default();
        let key = ItemKeyRef::item(Domain::MARKET_PRICE, 1, "A");
        let snapshot = items.insert(Item::new(key.to_owned(), false, false));
        assert_eq!(items.find(&key, true), None);
        assert_eq!(items.find(&key, false), Some(snapshot));
        let streaming = items.insert(item("A"));
        assert_eq!(items.find(&key, true), Some(streaming));
        assert_eq!(items.find(&key, false), Some(streaming));
        items.remove(streaming, None);
        assert_eq!(items.find(&key, false), Some(snapshot));
    }

    #[test]
    fn forms_that_nobody_has_any_more_are_forgotten() {
        let mut item = item("A");
        let session = SessionId { index: 1, generation: 1 };
        let of_field = |field_id| Form { view: Some(View::of_fields([field_id])), ..Form::PLAIN };
        item.watchers.push(Watcher { session, stream_id: 5, mode: mode::LIVE });
        item.watchers.push(Watcher { session, stream_id: 6, mode: mode::LIVE });
        for field_id in 0..1000 {
            let form = item.form(of_field(field_id));
            item.watchers[0].set_form(form);
            assert!(item.forms.len() <= 20);
        }
        let form = item.watchers[0].form();
        assert_eq!(item.forms[form - 1], of_field(999));
        assert_eq!(item.watchers[1].mode, mode::LIVE);
    }

    #[test]
    fn a_form_shares_its_word_with_the_mode() {
        let session = SessionId { index: 1, generation: 1 };
        let mut watcher = Watcher { session, stream_id: 5, mode: mode::LIVE };
        watcher.set_form(3);
        watcher.set(mode::WANTS, true);
        assert_eq!((watcher.form(), watcher.has(mode::LIVE)), (3, true));
        watcher.set_form(0);
        watcher.set(mode::WANTS, false);
        assert_eq!(watcher.mode, mode::LIVE);
    }
}
