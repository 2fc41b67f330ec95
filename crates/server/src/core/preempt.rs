//! Streams that give way to others that are wanted more.
//!
//! At a bound, the stream of lowest class and count goes whose priority is below that
//! of the newcomer: of the mount at the bound of a mount, of all mounts of the user at
//! the bound of a user; at the bound of a service, or of the server, the item there
//! whose watchers want it least, with all of them, unless these are many. A client that
//! leaves recovery to the server hears that it waits, and its stream is opened again
//! when there is room; others hear that it is closed.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_channel::SessionId;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_omm::qos::QosWish;
use tapeline_omm::state::is_final;
use tapeline_rwf::{DataState, Msg, Priority, RequestMsg, State, StateCode, StreamState};

use super::Core;
use super::mount::Mount;
use super::streams::Streams;
use super::subscription::mode;
use super::turns::Line;
use crate::Outputs;

/// Streams of a mount, mounts of a user, and items of the server, that are looked at for
/// one that is wanted less.
const LOOKED_AT: usize = 256;

/// An item with more watchers than this gives way to none, and nobody asks how much each
/// of them wants it: one newcomer is not worth so many.
const WATCHERS_ASKED: usize = 64;

/// What a client is told of a stream that gave way.
const PREEMPTED: State<'static> = State::new(
    StreamState::CLOSED_RECOVER,
    DataState::SUSPECT,
    StateCode::PREEMPTED,
    "Gave way to an item of higher priority.",
);

/// How much a mount wants its streams.
#[derive(Debug, Default)]
pub(super) struct Priorities {
    /// Those that are not wanted as usual.
    by_stream: BTreeMap<i32, Priority>,
    order: BTreeSet<(Priority, i32)>,
}

impl Priorities {
    fn of(&self, stream_id: i32) -> Priority {
        self.by_stream.get(&stream_id).copied().unwrap_or_default()
    }

    /// A stream is wanted so much.
    pub(super) fn set(&mut self, stream_id: i32, priority: Option<Priority>) {
        self.forget(stream_id);
        if let Some(priority) = priority.filter(|it| *it != Priority::default()) {
            self.by_stream.insert(stream_id, priority);
            self.order.insert((priority, stream_id));
        }
    }

    /// A stream is closed. Whether it was not wanted as usual.
    pub(super) fn forget(&mut self, stream_id: i32) -> bool {
        let known = self.by_stream.remove(&stream_id);
        if let Some(priority) = known {
            self.order.remove(&(priority, stream_id));
        }
        known.is_some()
    }

    /// The stream with an item that is wanted least.
    fn least(&self, streams: &Streams) -> Option<(Priority, i32)> {
        let mut usual = streams.items().take(LOOKED_AT);
        let usual = usual.find(|stream_id| !self.by_stream.contains_key(stream_id));
        let usual = usual.map(|stream_id| (Priority::default(), stream_id));
        self.order.first().copied().into_iter().chain(usual).min()
    }

    /// Panics where its tables, and the items on streams, contradict each other.
    pub(super) fn check(&self, streams: &Streams) {
        let known: BTreeSet<_> = self.by_stream.iter().map(|(id, it)| (*it, *id)).collect();
        assert_eq!(known, self.order, "priorities");
        for stream_id in self.by_stream.keys() {
            assert!(streams.slot(*stream_id).is_some(), "no item on {stream_id} is wanted");
        }
    }
}

impl Core {
    /// Has a stream give way to what a mount at its bound, or that of its user, asks
    /// for. Whether there is room then.
    pub(super) fn makes_room<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        out: &mut O,
    ) -> bool {
        let Ok(request) = ItemRequest::decode(msg) else { return false };
        let wanted = self.priority_of(session, request.priority).unwrap_or_default();
        let Some((of, stream_id)) = self.least_wanted(session, wanted) else { return false };
        self.preempt(of, stream_id, out);
        !self.is_at_limit(session)
    }

    fn least_wanted(&mut self, session: SessionId, wanted: Priority) -> Option<(SessionId, i32)> {
        let (_, per_mount) = self.item_limits(session);
        let mount = self.mounts.get(session)?;
        let user = mount.login.as_ref()?.user();
        let least_of = |it: &Mount| Some((it.priorities.least(&it.streams)?, it.session));
        let least = match mount.item_count >= per_mount {
            true => least_of(mount),
            false => {
                let all = self.mounts.of_user(user).take(LOOKED_AT).filter_map(least_of);
                all.min_by_key(|((priority, _), _)| *priority)
            }
        };
        let ((priority, stream_id), session) = least?;
        (priority < wanted).then_some((session, stream_id))
    }

    /// Whether there is room for one more item of a service that is wanted so much, be
    /// it that another one gives way.
    pub(super) fn takes_item<O: Outputs>(
        &mut self,
        service_id: u16,
        wanted: Option<Priority>,
        out: &mut O,
    ) -> bool {
        self.bound_service(service_id);
        [Some(service_id), None].into_iter().all(|service| {
            self.has_room_in(service, out) || self.makes_room_for_item(service, wanted, out)
        })
    }

    /// Has the bound of a service hold that the configuration gives it.
    fn bound_service(&mut self, service_id: u16) {
        if self.config.service_items.is_empty() || self.items.bounds.of(service_id).is_some() {
            return;
        }
        let Some(name) = self.services.name(service_id) else { return };
        if let Some(max) = self.config.service_items.get(&*name.to_string()) {
            self.items.bounds.insert(service_id, name.as_bytes(), *max);
        }
    }

    /// Slots to look at for an item that gives way, others the next time.
    fn some_slots(&mut self, service: Option<u16>) -> Vec<u32> {
        if let Some(service_id) = service {
            return self.items.some_of(service_id, LOOKED_AT);
        }
        let all = self.items.slots().end;
        let from = self.preempt_from;
        self.preempt_from = (from + LOOKED_AT as u32).checked_rem(all).unwrap_or(0);
        (from..all).chain(0..from.min(all)).take(LOOKED_AT).collect()
    }

    /// Has an item give way to one that is wanted so much, as its service, or the
    /// server, has all that it may. Whether there is room then.
    fn makes_room_for_item<O: Outputs>(
        &mut self,
        service: Option<u16>,
        wanted: Option<Priority>,
        out: &mut O,
    ) -> bool {
        let slots = self.some_slots(service).into_iter();
        let few = slots.filter(|slot| self.has_few_watchers(*slot));
        let least = few.map(|slot| (self.wanted_by_all(slot), slot)).min();
        let Some((priority, slot)) = least else { return false };
        if priority >= wanted.unwrap_or_default() {
            return false;
        }
        let Some(item) = self.items.get(slot) else { return false };
        let watchers: Vec<_> = item.watchers.subscriptions().copied().collect();
        for subscription in watchers {
            if let Some(session) = self.mounts.session_of(subscription.mount()) {
                self.preempt(session, subscription.stream_id(), out);
            }
        }
        self.has_room_in(service, out)
    }

    /// Whether an item is there and each of its watchers can be asked.
    fn has_few_watchers(&self, slot: u32) -> bool {
        self.items.get(slot).is_some_and(|item| item.watchers.len() <= WATCHERS_ASKED)
    }

    /// How much all watchers of an item want it: the highest class, and the sum of
    /// counts in it.
    fn wanted_by_all(&self, slot: u32) -> Priority {
        let Some(item) = self.items.get(slot) else { return Priority::default() };
        let mut all = Priority { class: 0, count: 0 };
        for subscription in item.watchers.subscriptions() {
            let mount = self.mounts.session_of(subscription.mount());
            let mount = mount.and_then(|session| self.mounts.get(session));
            let Some(mount) = mount else { continue };
            let one = mount.priorities.of(subscription.stream_id());
            match one.class.cmp(&all.class) {
                core::cmp::Ordering::Less => {}
                core::cmp::Ordering::Equal => all.count = all.count.saturating_add(one.count),
                core::cmp::Ordering::Greater => all = one,
            }
        }
        all
    }

    /// Who wanted an item more than usual wants it no more, or less: its hub is told if
    /// it is of a lower class by that.
    pub(super) fn lower_priority<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        if !self.has_few_watchers(slot) {
            return;
        }
        let now = self.wanted_by_all(slot);
        let Some(item) = self.items.get_mut(slot) else { return };
        if now.class < item.priority().class {
            item.set_priority(now);
            if item.upstream().told().is_some() {
                self.reissue_upstream(slot, false, out);
            }
        }
    }

    /// A stream gives way.
    fn preempt<O: Outputs>(&mut self, session: SessionId, stream_id: i32, out: &mut O) {
        let Some(request) = self.request_of(session, stream_id) else { return };
        let Ok(Msg::Request(msg)) = Msg::decode(&request) else { return };
        self.statistics.streams_preempted += 1;
        let state = self.state_told(session, &msg, &PREEMPTED);
        self.remove_stream(session, stream_id, out);
        self.refuse(session, &msg, &state, out);
        if !is_final(state.stream) {
            self.have_wait(session, stream_id, &request, Line::Room);
        }
    }

    /// The request by which a stream with an item would be opened as it is.
    fn request_of(&mut self, session: SessionId, stream_id: i32) -> Option<Box<[u8]>> {
        let (slot, cell) = self.item_on(session, stream_id)?;
        let mount = self.mounts.get(session)?;
        let (stream, priority) = (mount.streams.item(stream_id)?, mount.priorities.of(stream_id));
        let item = self.items.get(slot)?;
        if let Some(request) = item.request() {
            return Some(request.into());
        }
        let form = item.watchers.form_at(cell);
        let watcher = self.watcher(slot, cell)?;
        let key = item.key.as_ref();
        let request = ItemRequest {
            streaming: stream.state.is_streaming(),
            pause: stream.state.is_paused(),
            private: item.is_private,
            key_in_updates: form.is_some_and(|form| form.with_key),
            conflation_info: watcher.has(mode::CONFLATION_INFO),
            priority: Some(priority),
            qos: key.qos.map_or(QosWish::Best, QosWish::Exact),
            ..ItemRequest::new(key.domain, stream_id, key.msg_key())
        };
        let view = form.and_then(|form| form.view.as_ref());
        let payload = RequestPayload { view, ..RequestPayload::NONE };
        self.scratch.encode(|encoder| request.encode(encoder, &payload)).ok().map(Box::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HIGH: Priority = Priority { class: 3, count: 5 };
    const LOW: Priority = Priority { class: 0, count: 9 };

    #[test]
    fn what_is_wanted_least_goes_first() {
        let mut streams = Streams::default();
        let mut priorities = Priorities::default();
        assert_eq!(priorities.least(&streams), None);
        for (stream_id, priority) in [(5, Some(HIGH)), (6, None), (7, Some(LOW))] {
            let state = tapeline_omm::stream::ProviderStream::from_numbers(0, 0);
            streams.insert_item(stream_id, &super::super::stream::ItemStream { slot: 1, state });
            priorities.set(stream_id, priority);
        }
        priorities.check(&streams);
        assert_eq!(priorities.least(&streams), Some((LOW, 7)));
        assert!(priorities.forget(7) && !priorities.forget(6));
        streams.remove(7);
        assert_eq!(priorities.least(&streams), Some((Priority::default(), 6)));
        streams.remove(6);
        assert_eq!(priorities.least(&streams), Some((HIGH, 5)));
        priorities.set(5, Some(Priority::default()));
        assert_eq!(priorities.least(&streams), Some((Priority::default(), 5)));
    }
}
