//! The items of a consumer: what each is, and when each has something to do.

use std::collections::{BTreeSet, VecDeque};

use tapeline_omm::market::ItemRequest;
use tapeline_omm::qos::QosWish;
use tapeline_omm::stream::{ConsumerStream, StreamOptions};
use tapeline_omm::view::View;
use tapeline_omm::{GroupId, Text};
use tapeline_rwf::{Domain, KeyFlags, MsgKey, Priority, Qos, State};

use super::spec::{Handle, ItemSpec};
use crate::slab::{Key, Slab};

/// Stream ids of what is not an item; items follow.
pub(super) const LOGIN_STREAM: i32 = 1;
pub(super) const DIRECTORY_STREAM: i32 = 2;
pub(super) const FIELDS_STREAM: i32 = 3;
pub(super) const ENUMS_STREAM: i32 = 4;
const FIRST_ITEM_STREAM: i32 = 5;

/// How long the stream id of an item that was closed from here is not used for
/// another one, in milliseconds: messages for the old one may be on their way.
const STREAM_ID_REST_MS: u64 = 10_000;

/// One item.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) wish: Wish,
    pub(super) stream: ConsumerStream,
    /// Items are requested in the order they were opened in.
    pub(super) order: u64,
    /// The queue of its service.
    pub(super) service: usize,
    /// The service on this connection, while the item is on the wire.
    pub(super) service_id: Option<u16>,
    /// It is the stream of a batch, and no item.
    pub(super) is_batch: bool,
    /// The quality it was requested with.
    pub(super) matched: Option<Qos>,
    /// Counts against the open window of its service.
    pub(super) is_counted: bool,
    /// The provider does not know the view yet.
    pub(super) is_view_new: bool,
    /// Why it is not requested, as the user was told.
    pub(super) told: Option<State<'static>>,
    pub(super) group: Option<GroupId>,
    /// How often it was requested since its last image.
    pub(super) attempts: u32,
    /// The deadline that is in the table of deadlines.
    timer_ms: Option<u64>,
}

/// What the user asked for, but the service.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "independent wishes")]
pub(super) struct Wish {
    pub(super) name: Text,
    pub(super) name_type: Option<u8>,
    pub(super) domain: Domain,
    pub(super) streaming: bool,
    pub(super) private: bool,
    pub(super) view: Option<View>,
    pub(super) priority: Priority,
    pub(super) qos: QosWish,
    pub(super) key_in_updates: bool,
    pub(super) conflation_info: bool,
}

impl Wish {
    pub(super) fn of(spec: &ItemSpec<'_>, name: &str) -> Self {
        Self {
            name: name.into(),
            name_type: spec.name_type,
            domain: spec.domain,
            streaming: spec.streaming,
            private: spec.private,
            view: spec.view.clone(),
            priority: spec.priority,
            qos: spec.qos,
            key_in_updates: spec.key_in_updates,
            conflation_info: spec.conflation_info,
        }
    }

    pub(super) fn key(&self, service_id: u16) -> MsgKey<'_> {
        MsgKey {
            flags: KeyFlags::empty(),
            service_id: Some(service_id),
            name: Some(&self.name),
            name_type: self.name_type,
            ..MsgKey::EMPTY
        }
    }

    /// The request on a stream, with the wish for quality as it is.
    pub(super) fn request(&self, stream_id: i32, service_id: u16) -> ItemRequest<'_> {
        ItemRequest {
            streaming: self.streaming,
            private: self.private,
            key_in_updates: self.key_in_updates,
            conflation_info: self.conflation_info,
            priority: Some(self.priority),
            qos: self.qos,
            ..ItemRequest::new(self.domain, stream_id, self.key(service_id))
        }
    }
}

/// All items.
#[derive(Debug)]
pub(super) struct Items {
    slab: Slab<Item>,
    next_order: u64,
    /// Deadlines in milliseconds, each with the place of its item.
    timers: BTreeSet<(u64, u32)>,
    /// Places whose stream ids rest, with the time of their release.
    resting: VecDeque<(u64, u32)>,
}

impl Items {
    pub(super) const fn new() -> Self {
        Self { slab: Slab::new(), next_order: 0, timers: BTreeSet::new(), resting: VecDeque::new() }
    }

    pub(super) const fn len(&self) -> usize {
        self.slab.len()
    }

    /// Adds an item.
    pub(super) fn add(
        &mut self,
        now_ms: u64,
        wish: Wish,
        service: usize,
        options: StreamOptions,
    ) -> Handle {
        self.release_rested(now_ms);
        let item = self.item(wish, service, options);
        Handle(self.slab.insert(item))
    }

    /// Adds the stream of a batch and its items, on stream ids in a row.
    pub(super) fn add_batch(
        &mut self,
        now_ms: u64,
        wishes: Vec<Wish>,
        service: usize,
        options: StreamOptions,
    ) -> Vec<Handle> {
        self.release_rested(now_ms);
        let first = self.slab.reserve_run(wishes.len() as u32);
        let mut handles = Vec::with_capacity(wishes.len());
        for (index, wish) in (first..).zip(wishes) {
            let mut item = self.item(wish, service, options);
            item.is_batch = handles.is_empty();
            handles.push(Handle(self.slab.fill(index, item)));
        }
        handles
    }

    fn release_rested(&mut self, now_ms: u64) {
        while self.resting.front().is_some_and(|(release_ms, _)| *release_ms <= now_ms) {
            if let Some((_, index)) = self.resting.pop_front() {
                self.slab.release(index);
            }
        }
    }

    fn item(&mut self, wish: Wish, service: usize, options: StreamOptions) -> Item {
        let order = self.next_order;
        self.next_order += 1;
        Item {
            is_view_new: wish.view.is_some(),
            wish,
            stream: ConsumerStream::new(options),
            order,
            service,
            service_id: None,
            is_batch: false,
            matched: None,
            is_counted: false,
            told: None,
            group: None,
            attempts: 0,
            timer_ms: None,
        }
    }

    /// Takes an item out. `may_follow`: messages of the provider may still be
    /// on their way.
    pub(super) fn remove(&mut self, now_ms: u64, handle: Handle, may_follow: bool) {
        let Some(item) = self.slab.take(handle.0) else { return };
        if let Some(timer_ms) = item.timer_ms {
            self.timers.remove(&(timer_ms, handle.0.index));
        }
        match may_follow {
            true => self.resting.push_back((now_ms + STREAM_ID_REST_MS, handle.0.index)),
            false => self.slab.release(handle.0.index),
        }
    }

    #[inline]
    pub(super) fn get(&self, handle: Handle) -> Option<&Item> {
        self.slab.get(handle.0)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, handle: Handle) -> Option<&mut Item> {
        self.slab.get_mut(handle.0)
    }

    /// The item of a stream.
    #[inline]
    pub(super) fn of_stream(&self, stream_id: i32) -> Option<Handle> {
        let index = u32::try_from(stream_id.checked_sub(FIRST_ITEM_STREAM)?).ok()?;
        self.slab.key_at(index).map(Handle)
    }

    #[inline]
    pub(super) const fn stream_of(handle: Handle) -> i32 {
        handle.0.index as i32 + FIRST_ITEM_STREAM
    }

    /// All items, in the order they were opened in.
    pub(super) fn in_order(&self) -> Vec<Handle> {
        let mut handles: Vec<(u64, Key)> = self
            .slab
            .keys()
            .filter_map(|key| self.slab.get(key).map(|item| (item.order, key)))
            .collect();
        handles.sort_unstable();
        handles.into_iter().map(|(_, key)| Handle(key)).collect()
    }

    /// Brings the table of deadlines in line with an item.
    pub(super) fn sync_timer(&mut self, handle: Handle) {
        let Some(item) = self.slab.get_mut(handle.0) else { return };
        let deadline_ms = item.stream.deadline_ms();
        if item.timer_ms == deadline_ms {
            return;
        }
        if let Some(old_ms) = core::mem::replace(&mut item.timer_ms, deadline_ms) {
            self.timers.remove(&(old_ms, handle.0.index));
        }
        if let Some(new_ms) = deadline_ms {
            self.timers.insert((new_ms, handle.0.index));
        }
    }

    /// The earliest deadline.
    pub(super) fn deadline_ms(&self) -> Option<u64> {
        self.timers.first().map(|(deadline_ms, _)| *deadline_ms)
    }

    /// An item whose time is up. To be asked until there is none, each time
    /// after the item was dealt with.
    pub(super) fn expired(&mut self, now_ms: u64) -> Option<Handle> {
        let (deadline_ms, index) = *self.timers.first()?;
        if deadline_ms > now_ms {
            return None;
        }
        self.timers.pop_first();
        let handle = Handle(self.slab.key_at(index)?);
        if let Some(item) = self.slab.get_mut(handle.0) {
            item.timer_ms = None;
        }
        Some(handle)
    }
}
