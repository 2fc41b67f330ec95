//! The items of a consumer: what each is, and when each has something to do.

use std::collections::BTreeSet;

use tapeline_omm::market::ItemRequest;
use tapeline_omm::qos::QosWish;
use tapeline_omm::stream::{ConsumerStream, Reissue, StreamOptions};
use tapeline_omm::view::View;
use tapeline_omm::{GroupId, Text};
use tapeline_rwf::{Domain, KeyFlags, MsgKey, Priority, Qos, State};

use super::spec::{Handle, ItemSpec};
use super::streams::Streams;
use crate::slab::{Key, Slab};

/// One item.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the item")]
pub(super) struct Item {
    pub(super) wish: Wish,
    pub(super) stream: ConsumerStream,
    /// Items are requested in the order they were opened in, and again behind
    /// those that wait by then.
    pub(super) order: u64,
    /// The queue of its service.
    pub(super) service: usize,
    /// Where it is requested, while it is.
    pub(super) on_wire: Option<OnWire>,
    /// The quality it was requested with.
    pub(super) matched: Option<Qos>,
    /// Counts against the open window of its service.
    pub(super) is_counted: bool,
    /// The provider does not know the view yet.
    pub(super) is_view_new: bool,
    /// Updates were left out in a pause: the next ones make sense with an image.
    pub(super) misses_updates: bool,
    /// Parts of its image that are to come.
    pub(super) parts: PartsToCome,
    /// It was on a connection that is lost, and was not requested since.
    pub(super) is_lost: bool,
    /// Why it is not requested, as the user was told.
    pub(super) told: Option<State<'static>>,
    pub(super) group: Option<GroupId>,
    /// How often it was requested since its last image.
    pub(super) attempts: u32,
    /// The deadline that is in the table of deadlines.
    timer_ms: Option<u64>,
}

/// How an image goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PartsToCome {
    None,
    Numbered,
    Unnumbered,
}

/// Where an item is requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct OnWire {
    pub(super) stream_id: i32,
    pub(super) service_id: u16,
    /// Which of all requests of the connection it is.
    pub(super) request: u64,
    /// A change that waits until the server has read more.
    pub(super) held: Option<Reissue>,
    /// A change was sent. If it crosses the end of the stream, it opens the stream
    /// anew. Whether it did may not be heard: an answer may be a state alone, or an
    /// image that is never complete.
    pub(super) may_open_anew: bool,
}

impl OnWire {
    /// Requested just now.
    pub(super) const fn new(stream_id: i32, service_id: u16, request: u64) -> Self {
        Self { stream_id, service_id, request, held: None, may_open_anew: false }
    }
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

    /// Whether only the name is another.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let Self { name: _, name_type, domain, streaming, private, view, priority, qos, .. } = self;
        (*name_type, *domain, *streaming, *private, *priority, *qos)
            == (
                other.name_type,
                other.domain,
                other.streaming,
                other.private,
                other.priority,
                other.qos,
            )
            && self.key_in_updates == other.key_in_updates
            && self.conflation_info == other.conflation_info
            && *view == other.view
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
    /// Handles are given by the set that the server is in.
    are_handles_given: bool,
    next_order: u64,
    /// Deadlines in milliseconds, each with the place of its item.
    timers: BTreeSet<(u64, u32)>,
    /// The stream ids of the connection.
    pub(super) streams: Streams,
}

impl Items {
    pub(super) fn new() -> Self {
        Self {
            slab: Slab::new(),
            are_handles_given: false,
            next_order: 0,
            timers: BTreeSet::new(),
            streams: Streams::default(),
        }
    }

    pub(super) const fn len(&self) -> usize {
        self.slab.len()
    }

    /// Adds an item.
    pub(super) fn add(&mut self, wish: Wish, service: usize, options: StreamOptions) -> Handle {
        let item = self.new_item(wish, service, options);
        Handle(self.slab.insert(item))
    }

    /// Adds an item by the handle that it has at the other servers of a set.
    pub(super) fn add_at(
        &mut self,
        handle: Handle,
        wish: Wish,
        service: usize,
        options: StreamOptions,
    ) {
        debug_assert!(self.are_handles_given || self.len() == 0, "a set gives all handles");
        self.are_handles_given = true;
        let item = self.new_item(wish, service, options);
        self.slab.insert_at(handle.0, item);
    }

    fn new_item(&mut self, wish: Wish, service: usize, options: StreamOptions) -> Item {
        let order = self.next_order;
        self.next_order += 1;
        Item {
            is_view_new: wish.view.is_some(),
            wish,
            stream: ConsumerStream::new(options),
            order,
            service,
            on_wire: None,
            matched: None,
            is_counted: false,
            misses_updates: false,
            parts: PartsToCome::None,
            is_lost: false,
            told: None,
            group: None,
            attempts: 0,
            timer_ms: None,
        }
    }

    /// An item that does not wait is behind all others from here on.
    pub(super) fn go_last(&mut self, handle: Handle) {
        let order = self.next_order;
        self.next_order += 1;
        if let Some(item) = self.get_mut(handle) {
            item.order = order;
        }
    }

    /// Takes an item out that is not on the wire any more.
    pub(super) fn remove(&mut self, handle: Handle) {
        let item = match self.are_handles_given {
            true => self.slab.retire(handle.0),
            false => self.slab.remove(handle.0),
        };
        let Some(item) = item else { return };
        if let Some(timer_ms) = item.timer_ms {
            self.timers.remove(&(timer_ms, handle.0.index));
        }
    }

    /// The request of an item is over; `rests`: messages for it may follow.
    /// Returns where it was.
    pub(super) fn leave_wire(
        &mut self,
        now_ms: u64,
        handle: Handle,
        rests: bool,
    ) -> Option<OnWire> {
        let on_wire = self.get_mut(handle)?.on_wire.take()?;
        self.streams.give_back(now_ms, on_wire.stream_id, rests || on_wire.may_open_anew);
        Some(on_wire)
    }

    /// The request of an item got its image.
    pub(super) fn answered(&mut self, handle: Handle) {
        if let Some(on_wire) = self.get(handle).and_then(|item| item.on_wire) {
            self.streams.answered(on_wire.request);
        }
    }

    /// The connection is lost, and with it all streams.
    pub(super) fn connection_lost(&mut self) {
        let keys: Vec<_> = self.slab.keys().collect();
        for key in keys {
            if let Some(item) = self.slab.get_mut(key) {
                item.on_wire = None;
            }
        }
        self.streams.clear();
    }

    #[inline]
    pub(super) fn get(&self, handle: Handle) -> Option<&Item> {
        self.slab.get(handle.0)
    }

    #[inline]
    pub(super) fn get_mut(&mut self, handle: Handle) -> Option<&mut Item> {
        self.slab.get_mut(handle.0)
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
