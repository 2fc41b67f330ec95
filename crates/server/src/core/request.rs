//! Requests that open items.

use tapeline_channel::SessionId;
use tapeline_omm::market::ItemRequest;
use tapeline_omm::state::{is_final, usual};
use tapeline_omm::stream::{ProviderStream, RecoveryPolicy, Reject, convert};
use tapeline_omm::view::{View, ViewChange};
use tapeline_omm::{ItemKeyRef, is_administrative};
use tapeline_rwf::{DataState, Qos, RequestFlags, RequestMsg, State, StateCode, StreamState};

use super::Core;
use super::entitlements::Guard;
use super::forms::Form;
use super::item::{HashedKey, Upstream};
use super::permit::denied;
use super::rows::Cell;
use super::standby::has_part;
use super::stream::{ItemStream, PendingRequest, Stream};
use super::subscription::{Subscription, mode};
use crate::{Limits, Outputs, UserLimits};

/// What a request becomes.
enum Opened {
    /// A stream on this slot, at this place.
    Watching { slot: u32, cell: Cell, is_new: bool },
    /// Nothing.
    Refused,
}

/// A request that is carried out.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) msg: &'a RequestMsg<'a>,
    pub(super) bytes: &'a [u8],
    /// Its stream was served before and gave way: the client waits for no answer.
    pub(super) is_return: bool,
}

impl Core {
    /// Refuses an item as a mount, a user or the server has all it may have.
    pub(super) fn refuse_for_room<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        out: &mut O,
    ) {
        self.statistics.opens_limited += 1;
        self.refuse(session, msg, &TOO_MANY_ITEMS, out);
    }

    /// Opens an item on a stream that is free.
    pub(super) fn open_item<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        bytes: &[u8],
        out: &mut O,
    ) {
        if self.is_at_limit(session) && !self.makes_room(session, msg, out) {
            return self.refuse_for_room(session, msg, out);
        }
        if self.lacks_memory(session, msg, out) {
            return;
        }
        if !self.waits_for_turn(session, msg, bytes, out) {
            self.open_in_turn(session, Asked { msg, bytes, is_return: false }, out);
        }
    }

    /// Opens an item whose turn it is.
    pub(super) fn open_in_turn<O: Outputs>(
        &mut self,
        session: SessionId,
        asked: Asked<'_>,
        out: &mut O,
    ) {
        let Asked { msg, bytes, .. } = asked;
        let request = match ItemRequest::decode(msg) {
            Ok(request) => request,
            Err(error) => {
                let text = error.to_string();
                return self.refuse(session, msg, &usage_error(&text), out);
            }
        };
        let view = match ViewChange::of(msg, false) {
            Ok(ViewChange::Replace(view)) => Some(view),
            Ok(_) => None,
            Err(error) => {
                return self.refuse(session, msg, &error.state(false).as_state(), out);
            }
        };
        let key = ItemKeyRef::of(request.domain, &request.key, None);
        if let Some(denial) = self.denies_request(session, &key, out) {
            return self.refuse(session, msg, &denied(&denial), out);
        }
        match self.services.directory.admit(&request) {
            Ok(qos) => self.watch(session, asked, &request, qos, view, out),
            Err(state) => self.not_admitted(session, msg, bytes, &state, out),
        }
    }

    pub(super) fn is_at_limit(&mut self, session: SessionId) -> bool {
        let (of_user, of_mount) = self.item_limits(session);
        self.mounts.get(session).map_or(0, |mount| mount.item_count) >= of_mount
            || self.mounts.items_of_user(session) >= of_user
    }

    /// How many items the user of a mount may have, and the mount.
    pub(super) fn item_limits(&mut self, session: SessionId) -> (usize, usize) {
        let of_roles = self.item_limit_of(session);
        let Limits { mut item_limit, mut item_limit_per_mount, .. } = self.config.limits;
        if let Some(own) = self.limits_of(session) {
            item_limit = own.item_limit.unwrap_or(item_limit);
            item_limit_per_mount = own.item_limit_per_mount.unwrap_or(item_limit_per_mount);
        }
        (item_limit.min(of_roles), item_limit_per_mount)
    }

    /// The bounds of the user of a mount, where there are any of single users.
    pub(super) fn limits_of(&self, session: SessionId) -> Option<UserLimits> {
        let limits = &self.config.limits;
        let mount = self.mounts.get(session).filter(|_| !limits.users.is_empty())?;
        Some(limits.of_user(mount.login.as_ref()?.user()))
    }

    /// The service of a request cannot serve it now. The request waits if the
    /// client leaves recovery to the server; a mount that is slow is told so
    /// when its output has drained.
    fn not_admitted<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        bytes: &[u8],
        state: &State<'_>,
        out: &mut O,
    ) {
        let state = self.state_told(session, msg, state);
        if let (false, Some(service_id)) = (is_final(state.stream), msg.key.service_id)
            && let Some(mount) = self.mounts.get_mut(session)
        {
            let pending = PendingRequest { service_id, request: bytes.into() };
            mount.streams.insert(msg.stream_id, Stream::Pending(Box::new(pending)));
            let is_slow = mount.is_slow;
            if is_slow {
                mount.owed.owe(msg.stream_id).owes_state = true;
            }
            self.waiting.add_pending(service_id, mount.number, msg.stream_id);
            self.mounts.count_item(session, true);
            if is_slow {
                self.statistics.states_put_off += 1;
                return;
            }
        }
        self.refuse(session, msg, &state, out);
    }

    /// What a client is told of a state for which its request is not served.
    pub(super) fn state_told<'s>(
        &self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        state: &State<'s>,
    ) -> State<'s> {
        let is_private = msg.flags.contains(RequestFlags::PRIVATE_STREAM);
        let policy = match msg.key.service_id.is_some_and(|id| self.stands_by(session, id)) {
            // What it is told here is not to close the item elsewhere.
            true => Some(RecoveryPolicy::default()),
            false => self.policy_of(session),
        };
        let stream = match policy {
            Some(policy) if !is_private => convert(state, policy),
            _ => state.stream,
        };
        let code = match self.mounts.traits(session).down_is_unknown {
            true if is_final(stream) && state.text == usual::SERVICE_NOT_UP.text => {
                StateCode::SOURCE_UNKNOWN
            }
            _ => state.code,
        };
        State { stream, code, ..*state }
    }

    pub(super) fn policy_of(&self, session: SessionId) -> Option<RecoveryPolicy> {
        Some(self.mounts.get(session)?.login.as_ref()?.policy)
    }

    /// Puts a stream on its item, which is opened if it is not open yet.
    fn watch<O: Outputs>(
        &mut self,
        session: SessionId,
        asked: Asked<'_>,
        request: &ItemRequest<'_>,
        qos: Option<Qos>,
        view: Option<View>,
        out: &mut O,
    ) {
        let Asked { msg, bytes, is_return } = asked;
        let stream_id = request.stream_id;
        let opened = self.place_watcher(session, (msg, bytes), request, qos, view, out);
        let Opened::Watching { slot, cell, is_new } = opened else { return };
        let is_snapshot = !msg.flags.contains(RequestFlags::STREAMING);
        let has_view = msg.flags.contains(RequestFlags::HAS_VIEW);
        let priority = self.priority_of(session, request.priority);
        let policy = self.policy_of(session).filter(|_| !is_administrative(request.domain));
        let mut state = ProviderStream::new(request, policy);
        let owes_image = state.owes_image();
        if is_return {
            state.was_served();
        }
        if let Some(item) = self.items.get(slot)
            && self.stands_by(session, item.service_id())
            && has_part(item.is_private, request.domain)
        {
            state.stand_by();
        }
        if let Some(subscription) =
            self.items.get_mut(slot).and_then(|item| item.watchers.subscription_mut(cell))
        {
            subscription.set(mode::LIVE, state.takes_updates());
            subscription.set(mode::WANTS, if is_return { owes_image } else { state.owes_image() });
        }
        if let Some(mount) = self.mounts.get_mut(session) {
            mount.streams.insert_item(stream_id, &ItemStream { slot, state });
            if is_snapshot {
                mount.turns.count_snapshot(true);
            }
            mount.priorities.set(stream_id, priority);
        }
        self.mounts.count_open(session, is_snapshot, has_view);
        if self.items.guard(slot) != Guard::Unknown {
            self.record_watch(session, stream_id, out);
        }
        match is_new {
            true => self.open_new(slot, out),
            false => self.join(slot, session, stream_id, out),
        }
    }

    fn place_watcher<O: Outputs>(
        &mut self,
        session: SessionId,
        (msg, bytes): (&RequestMsg<'_>, &[u8]),
        request: &ItemRequest<'_>,
        qos: Option<Qos>,
        view: Option<View>,
        out: &mut O,
    ) -> Opened {
        let key = HashedKey::from(ItemKeyRef::of(request.domain, &request.key, qos));
        let found = match request.private {
            true => None,
            false => self.items.find(&key, request.streaming),
        };
        if let Some(slot) = found {
            self.see_to_lost(slot, out);
        }
        let Some(mount) = self.mounts.known(session) else { return Opened::Refused };
        let may_be_twice = self.config.allow_same_item_twice || mount.traits.may_open_twice;
        let is_twice = !may_be_twice
            && request.streaming
            && found.and_then(|slot| self.items.get(slot)).is_some_and(|item| {
                // One that is found is not private.
                item.watchers.has_streaming(mount.number)
            });
        if is_twice {
            let state = Reject::AlreadyOpen.state();
            self.refuse(session, msg, &state.as_state(), out);
            return Opened::Refused;
        }
        // A snapshot that is asked for as a stream becomes one, and its lock is known.
        let known = match request.private {
            true => None,
            false => found.or_else(|| self.items.snapshot(&key)),
        };
        if let Some(denial) = known.and_then(|slot| self.denies_newcomer(session, slot, out)) {
            self.refuse(session, msg, &denied(&denial), out);
            return Opened::Refused;
        }
        let priority = self.priority_of(session, request.priority);
        let Some(mount) = self.mounts.known(session) else { return Opened::Refused };
        let number = mount.number;
        let with_perm_data = mount.login.as_ref().is_none_or(|it| it.with_perm_data);
        let service_id = key.key.service_id.unwrap_or_default();
        if found.is_none() && !self.takes_item(service_id, priority, out) {
            self.refuse_for_room(session, msg, out);
            return Opened::Refused;
        }
        let upgraded = match found {
            None if request.streaming && !request.private => self.items.upgrade(&key),
            _ => None,
        };
        let upstream = upgraded.and_then(|slot| Some(self.items.get(slot)?.upstream()));
        if let (Some(slot), Some(Upstream::Asked { hub, .. })) = (upgraded, upstream) {
            self.ask_again(slot, hub, out);
        } else if let Some(slot) = upgraded {
            self.detach(slot, out);
            self.open_upstream(slot, out);
        }
        let found = found.or(upgraded);
        let slot =
            found.unwrap_or_else(|| self.items.insert(&key, request.streaming, request.private));
        let mask = self.mask_of(session).filter(|_| !is_administrative(request.domain));
        let interval_ms = self.interval_ms_of(session).filter(|_| request.streaming);
        let Some(item) = self.items.known_mut(slot) else { return Opened::Refused };
        if request.private {
            // What a private stream asks for is between its two ends.
            item.set_request(bytes);
        }
        let view = view.filter(|_| !request.private);
        let subscription = Subscription::new(number, request.stream_id, request.streaming);
        let cell = item.watchers.insert(subscription);
        self.mounts.standings.add(number, item.standing());
        let with_key = request.key_in_updates;
        let form = Form { view, is_full_view: false, with_key, with_perm_data, mask, interval_ms };
        if let Some(mount) = self.mounts.get_mut(session) {
            mount.set_form(&mut item.watchers, cell, form);
        }
        if let Some(subscription) = item.watchers.subscription_mut(cell) {
            subscription.set(mode::CONFLATION_INFO, request.conflation_info);
        }
        let is_more = item.raise_priority(priority);
        if is_more && found.is_some() && item.upstream().told().is_some() {
            self.reissue_upstream(slot, false, out);
        }
        Opened::Watching { slot, cell, is_new: found.is_none() }
    }

    fn open_new<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        if self.open_upstream(slot, out) {
            return;
        }
        // The directory said otherwise a moment ago: some hub has the service,
        // but none with the quality.
        match self.items.get(slot).is_some_and(|item| item.is_private) {
            true => self.fan_state(slot, &usual::SERVICE_NOT_UP, out),
            false => self.fan_state(slot, &WAITING, out),
        }
    }

    /// A newcomer on an item that is open gets the image, or what is known
    /// instead.
    fn join<O: Outputs>(&mut self, slot: u32, session: SessionId, stream_id: i32, out: &mut O) {
        let Some((_, cell)) = self.item_on(session, stream_id) else { return };
        if !self.watcher(slot, cell).is_some_and(|watcher| watcher.has(mode::WANTS)) {
            return;
        }
        let Some(item) = self.items.known(slot) else { return };
        if item.is_servable() {
            return self.serve_from_cache(slot, cell, out);
        }
        let state = item.state();
        let is_stale = state.data == DataState::SUSPECT && !state.text.is_empty();
        match item.upstream() {
            // The image is with the hub, and is not needed.
            Upstream::Accepted { .. }
                if item.has_image && !item.in_parts && self.is_answered_blank(slot, cell) =>
            {
                self.tell_state(slot, cell, out);
            }
            Upstream::Accepted { .. } if item.has_image && !item.in_parts => {
                // Its hub has said that it is suspect: an image may be long in coming.
                if is_stale && !item.needs_repair {
                    self.tell_state(slot, cell, out);
                }
                self.ask_image(slot, out);
            }
            Upstream::Accepted { .. } | Upstream::Asked { .. } | Upstream::Queued { .. }
                if !is_stale => {}
            _ => self.tell_state(slot, cell, out),
        }
    }
}

/// What a client that leaves recovery to the server is told of an item for
/// which there is no hub now.
pub(super) const WAITING: State<'static> =
    State::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, "Service not up");

/// Closed for good: a client that recovers items by itself would ask again at
/// once, and again.
const TOO_MANY_ITEMS: State<'static> =
    State { stream: StreamState::CLOSED, ..usual::TOO_MANY_ITEMS };

const fn usage_error(text: &str) -> State<'_> {
    State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::USAGE_ERROR, text)
}
