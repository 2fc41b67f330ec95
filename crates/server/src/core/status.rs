//! Changes of state: from a hub, and the server's own.

use tapeline_omm::StateBuf;
use tapeline_omm::state::is_final;
use tapeline_omm::stream::Allowed;
use tapeline_planted::planted;
use tapeline_rwf::{
    DataState, DataType, Encoded, MsgKey, State, StatusFlags, StatusMsg, StreamState,
};

use super::Core;
use super::item::Item;
use super::rows::Cell;
use super::subscription::mode;
use super::variant::{Variant, write_form};
use crate::Outputs;

impl Core {
    /// A status of an item came from its hub.
    pub(super) fn on_status<O: Outputs>(
        &mut self,
        slot: u32,
        status: &StatusMsg<'_>,
        is_last: bool,
        out: &mut O,
    ) {
        if !self.note_guard(slot, status.perm_data, None, out) {
            return;
        }
        let bare = StatusMsg { payload: Encoded::new(DataType::NO_DATA, &[]), ..*status };
        let is_bare = self.is_hidden(slot) || self.is_rechecked(slot);
        let status = if is_bare { &bare } else { status };
        let status = &self.as_repaired(slot, status);
        let end = status.state.map(|state| state.stream).filter(|stream| is_final(*stream));
        if is_last || end.is_some() {
            match is_last {
                true => self.let_go(slot),
                false => self.detach(slot, out),
            }
        }
        self.fan_status(slot, status, out);
        self.image_came(slot, out);
        // Streams that stand by were told nothing, and go on.
        if is_last || end.is_some() {
            self.wait_for_another_try(slot);
        }
    }

    /// A status as it is true here: an item that misses something is suspect until
    /// an image fills the hole, whatever its provider says of it.
    fn as_repaired<'m>(&self, slot: u32, status: &StatusMsg<'m>) -> StatusMsg<'m> {
        let is_behind = self.items.get(slot).is_some_and(|item| item.needs_repair);
        let as_here = |state: State<'m>| match (is_behind, state.data) {
            (true, DataState::OK) => State { data: DataState::SUSPECT, ..state },
            _ => state,
        };
        StatusMsg { state: status.state.map(as_here), ..*status }
    }

    /// Tells everybody who watches an item a state of the server's own.
    pub(super) fn fan_state<O: Outputs>(&mut self, slot: u32, state: &State<'_>, out: &mut O) {
        let Some(item) = self.items.known(slot) else { return };
        let domain = item.key.as_ref().domain;
        let status = StatusMsg { state: Some(*state), ..StatusMsg::new(domain, 0) };
        self.fan_status(slot, &status, out);
    }

    /// Tells everybody who watches an item; those for whom it is over then are
    /// taken off.
    pub(super) fn fan_status<O: Outputs>(
        &mut self,
        slot: u32,
        status: &StatusMsg<'_>,
        out: &mut O,
    ) {
        if let Some(state) = &status.state {
            self.items.apply_state(slot, state, &mut self.mounts.standings);
        }
        let Some(item) = self.items.known_mut(slot) else { return };
        if let Some(image) = &mut item.image {
            image.status(status);
        }
        self.variants.begin();
        let mut over = Vec::new();
        let mut next = Cell::FIRST;
        while let Some((cell, watcher)) = self.watcher_from(slot, next) {
            next = cell.next();
            if self.state_comes_later(&watcher, status) {
                continue;
            }
            self.flush_before((slot, cell), &watcher, out);
            if self.send_status(slot, cell, status, out) {
                over.push((watcher.session, watcher.stream_id));
            }
        }
        for (session, stream_id) in over {
            self.remove_stream(session, stream_id, out);
        }
    }

    /// Tells a newcomer the state of its item, which has no image for it now.
    pub(super) fn tell_state<O: Outputs>(&mut self, slot: u32, cell: Cell, out: &mut O) {
        let Some(data) = self.items.known(slot).map(|item| item.state().data) else { return };
        self.tell_state_as(slot, cell, data, out);
    }

    /// Tells a watcher whose image is yet to come the state of its item. That this is OK
    /// is true of the image that is coming, and not of what the watcher has.
    pub(super) fn tell_state_before_image<O: Outputs>(
        &mut self,
        slot: u32,
        cell: Cell,
        out: &mut O,
    ) {
        let data = match self.items.known(slot).map(|item| item.state().data) {
            Some(DataState::OK) => DataState::NO_CHANGE,
            Some(data) => data,
            None => return,
        };
        self.tell_state_as(slot, cell, data, out);
    }

    fn tell_state_as<O: Outputs>(&mut self, slot: u32, cell: Cell, data: DataState, out: &mut O) {
        let Some(item) = self.items.known(slot) else { return };
        let domain = item.key.as_ref().domain;
        let Some(watcher) = self.watcher(slot, cell) else {
            debug_assert!(false, "a cell with a watcher");
            return;
        };
        let mut state = StateBuf::from(State { data, ..item.state() });
        if state.stream == StreamState::NON_STREAMING {
            // A snapshot that others get is over with its image, of which parts are to
            // come. This one waits for another.
            state.stream = StreamState::OPEN;
        }
        let status = StatusMsg { state: Some(state.as_state()), ..StatusMsg::new(domain, 0) };
        if self.state_comes_later(&watcher, &status) {
            return;
        }
        self.variants.begin();
        if self.send_status(slot, cell, &status, out) {
            self.remove_stream(watcher.session, watcher.stream_id, out);
        }
    }

    /// Sends a status to one watcher. Whether its stream is over with it.
    pub(super) fn send_status<O: Outputs>(
        &mut self,
        slot: u32,
        cell: Cell,
        status: &StatusMsg<'_>,
        out: &mut O,
    ) -> bool {
        if let Some(is_over) = self.status_on_standby(slot, cell, status, out) {
            return is_over;
        }
        let Self { items, mounts, variants, trouble, .. } = self;
        let Some(item) = items.known_mut(slot) else { return false };
        let Some(watcher) = mounts.watcher(item, cell) else {
            debug_assert!(false, "a cell with a watcher");
            return false;
        };
        let changed = mounts.get_mut(watcher.session).and_then(|mount| {
            mount.owed.state_is_told(watcher.stream_id);
            mount.streams.change(watcher.stream_id, |state| {
                let allowed = state.status(status.state.as_ref());
                (allowed, state.clone())
            })
        });
        let Some((allowed, state)) = changed else {
            debug_assert!(false, "a subscription is of a stream");
            return false;
        };
        let Ok(allowed) = allowed else { return true };
        if let Some(subscription) = item.watchers.subscription_mut(cell) {
            subscription.set(mode::LIVE, state.takes_updates() || planted!(OpenedByState));
            subscription.set(mode::WANTS, subscription.has(mode::WANTS) || state.owes_image());
        }
        let variant = Variant {
            form: watcher.form,
            stream: allowed.stream,
            data: allowed.data,
            solicited: false,
            begins: false,
            is_blank: false,
            private: allowed.private,
            with_key: allowed.with_key,
        };
        let form = item.watchers.form(watcher.form);
        let told = told(item, status, &allowed);
        let write = |buffer: &mut [u8]| write_form(&told.into(), form, MsgKey::EMPTY, buffer);
        if let Some((bytes, shared)) = variants.get(variant, write) {
            let sent = out.send_shared(watcher.session, watcher.stream_id, bytes, shared);
            trouble.note(watcher.session, sent);
        }
        self.mark_slow(out);
        state.is_over()
    }
}

/// A status as one watcher gets it.
fn told<'m>(item: &'m Item, status: &StatusMsg<'m>, allowed: &Allowed) -> StatusMsg<'m> {
    let is_redirect = status.state.is_some_and(|state| state.stream == StreamState::REDIRECTED);
    let own_key = item.key.as_ref().msg_key();
    let key = match status.key {
        // Where to go instead, at the service that consumers know.
        Some(key) if is_redirect => Some(MsgKey { service_id: own_key.service_id, ..key }),
        _ => allowed.with_key.then_some(own_key),
    };
    let mut flags = status.flags;
    if !is_redirect {
        flags.set(StatusFlags::PRIVATE_STREAM, allowed.private);
    }
    let state =
        status.state.map(|state| State { stream: allowed.stream, data: allowed.data, ..state });
    StatusMsg { flags, state, key, ..*status }
}
