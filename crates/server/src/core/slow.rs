//! Mounts that read too slowly: their updates are merged until they have
//! caught up.

use tapeline_cache::{Conflation, Limits, Merged};
use tapeline_channel::SessionId;
use tapeline_rwf::{DataState, Msg, State, StateCode, StatusMsg, StreamState, UpdateMsg};

use super::Core;
use super::map::Set;
use super::mount::{Mount, gate};
use super::seat::mode;
use super::variant::write_form;
use super::watchers::Watcher;
use crate::Outputs;

/// Updates of one stream of a slow mount.
#[derive(Debug)]
pub(super) struct Conflated {
    conflation: Conflation,
    /// Whether it is in the order of its mount.
    is_queued: bool,
    /// Whether the client was told.
    is_announced: bool,
}

impl Default for Conflated {
    fn default() -> Self {
        let conflation = Conflation::new(Limits::CONFLATION);
        Self { conflation, is_queued: false, is_announced: false }
    }
}

impl Conflated {
    /// The stream is closed, or gets a new image. The entry stays until the
    /// mount has caught up, so that it is in the order once.
    pub(super) fn forget(&mut self) {
        self.conflation.clear();
        self.is_announced = false;
    }
}

/// How many entries for streams that are closed meanwhile are let be.
const SPARE: usize = 64;

impl Mount {
    /// Puts a stream among those whose updates are merged.
    fn conflated_on(&mut self, stream_id: i32) -> &mut Conflated {
        if self.conflated.len() > 2 * self.streams.len() + SPARE {
            let Self { conflated, conflated_order, streams, .. } = self;
            conflated.retain(|stream_id, _| streams.contains(*stream_id));
            conflated_order.retain(|stream_id| conflated.contains_key(stream_id));
        }
        self.conflated.entry(stream_id).or_default()
    }

    /// Has the image of a stream wait until the output has drained.
    pub(super) fn put_image_off(&mut self, stream_id: i32) {
        if self.late_images.len() > 2 * self.streams.len() + SPARE {
            let mut seen = Set::default();
            let Self { late_images, streams, .. } = self;
            late_images.retain(|late| streams.contains(*late) && seen.insert(*late));
        }
        self.late_images.push_back(stream_id);
    }

    pub(super) fn cancel_download(&mut self, stream_id: i32) {
        self.downloads.retain(|download| download.stream_id() != stream_id);
    }
}

impl Core {
    /// Merges an update with those that wait on a stream of a slow mount.
    pub(super) fn conflate<O: Outputs>(
        &mut self,
        slot: u32,
        watcher: &Watcher,
        update: &UpdateMsg<'_>,
        out: &mut O,
    ) {
        let now_ms = self.now.as_nanos() / 1_000_000;
        let announces = self.config.announce_conflation;
        let Some(mount) = self.mounts.get_mut(watcher.session) else { return };
        let conflated = mount.conflated_on(watcher.stream_id);
        match conflated.conflation.merge(now_ms, update) {
            Merged::Yes => {
                self.statistics.updates_merged += 1;
                let is_news = conflated.conflation.count() == 2 && !conflated.is_announced;
                conflated.is_announced |= is_news && announces;
                if !core::mem::replace(&mut conflated.is_queued, true) {
                    mount.conflated_order.push_back(watcher.stream_id);
                }
                if is_news && announces {
                    self.announce(slot, watcher, StateCode::JIT_CONFLATION_STARTED, out);
                }
            }
            Merged::No => {
                self.flush_conflated(watcher.session, watcher.stream_id, out);
                self.send_formed(slot, watcher, update, out);
            }
        }
    }

    /// Sends what was merged for a stream.
    pub(super) fn flush_conflated<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        out: &mut O,
    ) {
        let Some((slot, place)) = self.item_on(session, stream_id) else { return };
        let Some(watcher) = self.watcher(slot, place) else { return };
        let mut merged = core::mem::take(&mut self.merged);
        merged.clear();
        let conflated =
            self.mounts.get_mut(session).and_then(|mount| mount.conflated.get_mut(&stream_id));
        let is_there = conflated.is_some_and(|conflated| {
            let with_info = watcher.has(mode::CONFLATION_INFO);
            conflated.conflation.take(stream_id, None, with_info, &mut merged)
        });
        if is_there && let Ok(Msg::Update(update)) = Msg::decode(&merged) {
            self.send_formed(slot, &watcher, &update, out);
        }
        self.merged = merged;
    }

    /// Sends an update to one watcher in its form.
    fn send_formed<O: Outputs>(
        &mut self,
        slot: u32,
        watcher: &Watcher,
        update: &UpdateMsg<'_>,
        out: &mut O,
    ) {
        let Self { items, scratch, trouble, statistics, .. } = self;
        let Some(item) = items.get(slot) else { return };
        let form = item.watchers.form(watcher.form);
        let key = item.key.as_ref().msg_key();
        let write = |buffer: &mut [u8]| write_form(&(*update).into(), form, key, buffer);
        if let Some(bytes) = scratch.project(write) {
            let sent = out.send_on(watcher.session, watcher.stream_id, bytes);
            statistics.updates_out += u64::from(trouble.note(watcher.session, sent));
        }
    }

    /// Tells a client that a stream is conflated, or not any more.
    fn announce<O: Outputs>(&mut self, slot: u32, watcher: &Watcher, code: StateCode, out: &mut O) {
        let Self { items, scratch, trouble, .. } = self;
        let Some(item) = items.get(slot) else { return };
        let data = item.state().data;
        let data = if data == DataState::NO_CHANGE { DataState::OK } else { data };
        let state = State::new(StreamState::OPEN, data, code, "");
        let domain = item.key.as_ref().domain;
        let status = StatusMsg { state: Some(state), ..StatusMsg::new(domain, watcher.stream_id) };
        if let Some(bytes) = scratch.message(&status.into()) {
            trouble.note(watcher.session, out.send(watcher.session, bytes));
        }
    }

    /// A slow mount has caught up: it gets what waits for it, as far as its
    /// output allows.
    pub(super) fn on_drained<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let Some(mount) = self.mounts.get_mut(session) else { return };
        mount.is_slow = false;
        self.mounts.set_gate(session, gate::SLOW, false);
        self.trouble.slow.retain(|slow| *slow != session);
        if self.drain_conflated(session, out) && self.drain_images(session, out) {
            self.continue_downloads(session, out);
        }
    }

    fn is_slow_again(&self, session: SessionId) -> bool {
        self.trouble.slow.contains(&session)
            || self.trouble.doomed.iter().any(|(doomed, _)| *doomed == session)
    }

    /// Whether all was sent that was merged.
    fn drain_conflated<O: Outputs>(&mut self, session: SessionId, out: &mut O) -> bool {
        while let Some(mount) = self.mounts.get_mut(session)
            && let Some(stream_id) = mount.conflated_order.pop_front()
        {
            if let Some(conflated) = mount.conflated.get_mut(&stream_id) {
                conflated.is_queued = false;
            }
            self.flush_conflated(session, stream_id, out);
            if self.is_slow_again(session) {
                return false;
            }
        }
        let Some(mount) = self.mounts.get_mut(session) else { return false };
        let conflated = core::mem::take(&mut mount.conflated);
        let mut announced: Vec<_> = conflated
            .iter()
            .filter(|(_, conflated)| conflated.is_announced)
            .map(|(stream_id, _)| *stream_id)
            .collect();
        announced.sort_unstable();
        for stream_id in announced {
            let Some((slot, place)) = self.item_on(session, stream_id) else { continue };
            if let Some(watcher) = self.watcher(slot, place) {
                self.announce(slot, &watcher, StateCode::REALTIME_RESUMED, out);
            }
        }
        !self.is_slow_again(session)
    }

    /// Whether all images were sent that were put off.
    fn drain_images<O: Outputs>(&mut self, session: SessionId, out: &mut O) -> bool {
        while let Some(mount) = self.mounts.get_mut(session)
            && let Some(stream_id) = mount.late_images.pop_front()
        {
            let Some((slot, place)) = self.item_on(session, stream_id) else { continue };
            let seat = self.items.get_mut(slot).and_then(|item| item.watchers.seat_mut(place));
            let Some(seat) = seat.filter(|seat| seat.has(mode::LATE)) else { continue };
            seat.set(mode::LATE, false);
            self.owe_image(slot, place, out);
            if self.is_slow_again(session) {
                return false;
            }
        }
        true
    }
}
