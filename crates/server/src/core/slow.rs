//! Mounts that read too slowly: their updates are merged until they have
//! caught up.
//!
//! An update is merged once, at its item, for all slow mounts that watch it;
//! each keeps where its own begin. What else would be sent to a slow mount is
//! put off where it can be made when it is due: images out of the cache, and
//! states, of which the last one counts. So the output of a slow mount grows by
//! what cannot wait only, and [`drain`](super::drain) does the rest.

use std::collections::VecDeque;

use tapeline_cache::{Combiner, Limits, Merged, SharedConflation, Since};
use tapeline_channel::{Sent, SessionId};
use tapeline_omm::stream::ProviderStream;
use tapeline_planted::planted;
use tapeline_rwf::{
    DataState, Msg, State, StateCode, StatusMsg, StreamState, UpdateFlags, UpdateMsg,
};

use super::Core;
use super::mount::{Login, gate};
use super::pacing::DuePaces;
use super::rows::Cell;
use super::subscription::mode;
use super::variant::write_form;
use super::watchers::Watcher;
use crate::siblings::SharedCount;
use crate::{Note, Outputs};

/// What the mounts that do not keep up have in common. What waits for one of
/// them is [its own](super::owed::Owed), and what is merged is at its item.
#[derive(Debug, Default)]
pub(super) struct SlowMounts {
    /// Bytes of all merged updates,
    merged_bytes: SharedCount,
    /// and the most they ever were.
    merged_bytes_most: usize,
    /// For updates that were merged at different times.
    combiner: Combiner,
    /// Mounts whose output has drained, and for which something waits yet.
    draining: VecDeque<SessionId>,
    /// Streams for which updates are merged until it is their time.
    pub(super) paces: DuePaces,
}

impl SlowMounts {
    /// Has merged bytes count together with those of other servers.
    pub(super) fn share(&mut self, merged_bytes: SharedCount) {
        self.merged_bytes = merged_bytes;
    }

    pub(super) fn merged_bytes(&self) -> usize {
        self.merged_bytes.own()
    }

    pub(super) const fn merged_bytes_most(&self) -> usize {
        self.merged_bytes_most
    }

    /// The merged updates of an item were so many bytes, and are so many.
    fn change(&mut self, before: usize, after: usize) {
        self.merged_bytes.set(self.merged_bytes.own() - before + after);
        self.merged_bytes_most = self.merged_bytes_most.max(self.merged_bytes.own());
    }

    /// More is to be worked off for a mount when the others had their turns.
    pub(super) fn drain_later(&mut self, session: SessionId) {
        self.draining.push_back(session);
    }

    /// The mount whose turn it is.
    pub(super) fn next_to_drain(&mut self) -> Option<SessionId> {
        self.draining.pop_front()
    }

    /// The mounts that wait for their turn.
    pub(super) fn draining(&self) -> impl ExactSizeIterator<Item = SessionId> + '_ {
        self.draining.iter().copied()
    }
}

impl Core {
    /// Takes note of mounts that turned slow, so that the rest of the event
    /// knows.
    pub(super) fn mark_slow<O: Outputs>(&mut self, out: &mut O) {
        if planted!(UnseenSlowness) {
            return;
        }
        while let Some(session) = self.trouble.slow.pop() {
            let conflates = self.merges_for(session);
            let Some(mount) = self.mounts.get_mut(session).filter(|mount| !mount.is_slow) else {
                continue;
            };
            mount.is_slow = true;
            mount.is_conflated = conflates;
            mount.slow_since = self.now;
            let user = mount.login.as_ref().map(Login::shown_user);
            self.mounts.set_gate(session, gate::SLOW, conflates);
            self.statistics.mounts_slowed += 1;
            out.note(Note::Slow { session, user: user.as_ref() });
        }
    }

    /// The next updates of an item are merged for a watcher, unless too much is
    /// merged for its mount: then it gets an image in their place.
    pub(super) fn begin_merging(&mut self, slot: u32, cell: Cell) {
        let Self { items, mounts, slow, statistics, config, .. } = self;
        let Some(item) = items.known_mut(slot) else { return };
        if item.needs_repair {
            // That something is missing before it was not told yet.
            return self.put_image_off(slot, cell);
        }
        let Some(subscription) = item.watchers.subscription_mut(cell) else {
            debug_assert!(false, "a cell with a watcher");
            return;
        };
        let Some(mount) = mounts.mount_of_mut(*subscription) else {
            debug_assert!(false, "its mount is there");
            return;
        };
        if mount.owed.merged_bytes() > config.limits.max_merged_bytes_per_mount {
            statistics.merges_dropped_of_mounts += 1;
            return self.put_image_off(slot, cell);
        }
        let merges = item.merges.get_or_insert_with(|| Box::new(merges()));
        let before = merges.bytes();
        subscription.set(mode::MERGED, true);
        let waiting = match mount.is_slow {
            true => mount.owed.owe(subscription.stream_id()),
            false => mount.owed.pace(subscription.stream_id()),
        };
        waiting.since = Some(merges.join());
        mount.owed.grow(subscription.stream_id(), merges.bytes() - before);
        slow.change(before, merges.bytes());
    }

    /// Merges an update with those that wait for slow mounts.
    #[inline(never)]
    pub(super) fn merge<O: Outputs>(&mut self, slot: u32, bytes: &[u8], out: &mut O) {
        let now_ms = self.now.as_nanos() / 1_000_000;
        let Ok(Msg::Update(update)) = Msg::decode(bytes) else { return };
        if planted!(LostMerge) {
            return;
        }
        let Self { items, slow, statistics, .. } = self;
        let merges = items.get_mut(slot).and_then(|item| item.merges.as_mut());
        let Some(merges) = merges else { return };
        let before = merges.bytes();
        let merged = merges.merge(now_ms, &update);
        slow.change(before, merges.bytes());
        let is_too_much = slow.merged_bytes.total() > self.config.limits.max_merged_bytes
            && !planted!(UnboundedMerge);
        match merged {
            Merged::Yes if !is_too_much => {
                statistics.updates_merged += merges.receivers() as u64;
                let more = merges.bytes().saturating_sub(before);
                if more > 0 {
                    self.charge_mounts(slot, more);
                }
            }
            Merged::No => self.send_unmerged(slot, &update, out),
            Merged::Yes | Merged::TooMuch => self.drop_merges(slot),
        }
    }

    /// More waits for all for whom the updates of an item are merged. Those for
    /// whom it is too much get an image in its place.
    fn charge_mounts(&mut self, slot: u32, bytes: usize) {
        let Self { items, mounts, config, cold, .. } = self;
        let Some(item) = items.known_mut(slot) else { return };
        cold.clear();
        for (row, subscriptions) in item.watchers.rows().enumerate() {
            for (column, subscription) in subscriptions.iter().enumerate() {
                if subscription.has(mode::MERGED)
                    && let Some(mount) = mounts.mount_of_mut(*subscription)
                    && mount.owed.grow(subscription.stream_id(), bytes)
                        > config.limits.max_merged_bytes_per_mount
                    && !planted!(UnboundedMerge)
                {
                    cold.push(Cell::new(row, column));
                }
            }
        }
        while let Some(cell) = self.cold.pop() {
            self.statistics.merges_dropped_of_mounts += 1;
            self.put_image_off(slot, cell);
        }
    }

    /// An update cannot be merged: those who wait get what waits, then the
    /// update.
    #[cold]
    fn send_unmerged<O: Outputs>(&mut self, slot: u32, update: &UpdateMsg<'_>, out: &mut O) {
        self.copies_first(out);
        let mut next = Cell::FIRST;
        while let Some((cell, watcher)) = self.watcher_from(slot, next) {
            next = cell.next();
            if !watcher.has(mode::MERGED) {
                continue;
            }
            if watcher.has(mode::UNCHECKED) {
                self.put_image_off(slot, cell);
                continue;
            }
            if self.holds_first(slot, &watcher) {
                continue;
            }
            self.flush_updates(slot, cell, out);
            if self.mounts.gate(watcher.session) & gate::PAUSED == 0 {
                self.send_formed(slot, cell, update, out);
            }
        }
    }

    /// There is too much to merge: whoever waits gets an image in its place.
    #[cold]
    fn drop_merges(&mut self, slot: u32) {
        self.statistics.merges_dropped += 1;
        let mut next = Cell::FIRST;
        while let Some((cell, watcher)) = self.watcher_from(slot, next) {
            next = cell.next();
            if watcher.has(mode::MERGED) {
                self.put_image_off(slot, cell);
            }
        }
    }

    /// Updates of an item are missing. What waits would be merged across the
    /// hole, and go out without a word of it before the image that fills it.
    pub(super) fn drop_holed_merges(&mut self, slot: u32) {
        if self.items.get(slot).is_some_and(|item| item.merges.is_some()) {
            self.drop_merges(slot);
        }
    }

    /// Has a watcher get an image when the output of its mount has drained. It
    /// gets no updates before.
    pub(super) fn put_image_off(&mut self, slot: u32, cell: Cell) {
        self.forget_updates(slot, cell);
        let Self { items, mounts, statistics, .. } = self;
        let subscription =
            items.get_mut(slot).and_then(|item| item.watchers.subscription_mut(cell));
        let Some(subscription) = subscription else {
            debug_assert!(false, "a cell with a watcher");
            return;
        };
        subscription.set(mode::IN_IMAGE | mode::LIVE, false);
        subscription.set(mode::WANTS, true);
        if subscription.has(mode::LATE) {
            return;
        }
        if let Some(mount) = mounts.mount_of_mut(*subscription) {
            subscription.set(mode::LATE, true);
            mount.streams.change(subscription.stream_id(), ProviderStream::put_image_off);
            mount.put_image_off(subscription.stream_id());
            statistics.images_put_off += 1;
        }
    }

    /// Nothing that waits for a stream is needed any more: it stands by.
    pub(super) fn forget_waiting(&mut self, slot: u32, cell: Cell) {
        self.forget_updates(slot, cell);
        let Some(watcher) = self.watcher(slot, cell) else { return };
        if let Some(mount) = self.mounts.get_mut(watcher.session) {
            mount.owed.take(watcher.stream_id);
        }
    }

    /// The merged updates of a stream are not needed any more: it is paused, or
    /// gets an image. A state that it has yet to be told is: the image may be
    /// long in coming.
    pub(super) fn forget_updates(&mut self, slot: u32, cell: Cell) {
        let Self { items, mounts, .. } = self;
        let Some(item) = items.known_mut(slot) else { return };
        let Some(subscription) = item.watchers.subscription_mut(cell) else {
            debug_assert!(false, "a cell with a watcher");
            return;
        };
        subscription.set(mode::MERGED, false);
        let Some(mount) = mounts.mount_of_mut(*subscription) else {
            debug_assert!(false, "its mount is there");
            return;
        };
        if let Some(since) = mount.owed.take_merged(subscription.stream_id()) {
            self.leave_merges(slot, since);
        }
    }

    /// Somebody does not wait for the merged updates of an item any more.
    pub(super) fn leave_merges(&mut self, slot: u32, since: Since) {
        let merges = self.items.get_mut(slot).and_then(|item| item.merges.take());
        let Some(mut merges) = merges else {
            debug_assert!(false, "who waits is counted");
            return;
        };
        let before = merges.bytes();
        merges.leave(since, &mut self.slow.combiner);
        self.slow.change(before, merges.bytes());
        if let Some(item) = self.items.get_mut(slot).filter(|_| !merges.is_empty()) {
            item.merges = Some(merges);
        }
    }

    /// What was merged for a watcher goes out before anything that comes after
    /// it.
    pub(super) fn flush_before<O: Outputs>(
        &mut self,
        (slot, cell): (u32, Cell),
        watcher: &Watcher,
        out: &mut O,
    ) {
        if watcher.has(mode::MERGED)
            && !self.holds_first(slot, watcher)
            && !planted!(OvertakenMerge)
        {
            self.flush_updates(slot, cell, out);
        }
    }

    /// Sends what was merged for a watcher. One that is paused gets an image
    /// later.
    pub(super) fn flush_updates<O: Outputs>(&mut self, slot: u32, cell: Cell, out: &mut O) {
        let Self { items, mounts, .. } = self;
        let Some(item) = items.known_mut(slot) else { return };
        let Some(subscription) = item.watchers.subscription_mut(cell) else {
            debug_assert!(false, "a cell with a watcher");
            return;
        };
        if subscription.has(mode::UNCHECKED) {
            // Some of it may not be for this one.
            return self.put_image_off(slot, cell);
        }
        subscription.set(mode::MERGED, false);
        let Some(mount) = mounts.mount_of_mut(*subscription) else {
            debug_assert!(false, "its mount is there");
            return;
        };
        let session = mount.session;
        let Some(since) = mount.owed.take_merged(subscription.stream_id()) else { return };
        mount.pacing.spend(subscription.stream_id(), self.now);
        if mounts.gate(session) & gate::PAUSED == 0
            && let Some(merges) = item.merges.take()
        {
            let mut combiner = core::mem::take(&mut self.slow.combiner);
            merges.updates(since, &mut combiner, |update| {
                self.send_merged(slot, cell, update, out);
            });
            self.slow.combiner = combiner;
            if let Some(item) = self.items.get_mut(slot) {
                item.merges = Some(merges);
            }
        }
        self.leave_merges(slot, since);
    }

    fn send_merged<O: Outputs>(
        &mut self,
        slot: u32,
        cell: Cell,
        update: &UpdateMsg<'_>,
        out: &mut O,
    ) {
        let Some(watcher) = self.watcher(slot, cell) else {
            debug_assert!(false, "a cell with a watcher");
            return;
        };
        let count = update.conflation.map_or(0, |info| info.count);
        let is_several = count > 1;
        if is_several && let Some(mount) = self.mounts.get_mut(watcher.session) {
            mount.updates_merged += u64::from(count);
        }
        if is_several
            && self.config.announce_conflation
            && let Some(mount) = self.mounts.get_mut(watcher.session)
            && (mount.is_slow || mount.owed.is_draining)
            && !mount.pacing.is_on()
            && mount.owed.announce(watcher.stream_id)
            && !self.announce(slot, &watcher, StateCode::JIT_CONFLATION_STARTED, out)
            && let Some(mount) = self.mounts.get_mut(watcher.session)
        {
            mount.owed.forget(watcher.stream_id);
        }
        let conflation = update.conflation.filter(|_| watcher.has(mode::CONFLATION_INFO));
        self.send_formed(slot, cell, &UpdateMsg { conflation, ..*update }, out);
    }

    /// Sends an update to one watcher in its form. One whose mount has no room
    /// for it gets an image later.
    pub(super) fn send_formed<O: Outputs>(
        &mut self,
        slot: u32,
        cell: Cell,
        update: &UpdateMsg<'_>,
        out: &mut O,
    ) {
        let Some(watcher) = self.watcher(slot, cell) else {
            debug_assert!(false, "a cell with a watcher");
            return;
        };
        let Self { items, scratch, trouble, statistics, .. } = self;
        let Some(item) = items.known(slot) else { return };
        let form = item.watchers.form(watcher.form);
        let key = item.key.as_ref().msg_key();
        let write = |buffer: &mut [u8]| write_form(&(*update).into(), form, key, buffer);
        let Ok(Some(bytes)) = scratch.project(write) else { return };
        match out.send_on(watcher.session, watcher.stream_id, bytes) {
            Sent::Full if !update.flags.contains(UpdateFlags::DO_NOT_CONFLATE) => {
                trouble.slow.push(watcher.session);
                self.put_image_off(slot, cell);
            }
            sent => statistics.updates_out += u64::from(trouble.note(watcher.session, sent)),
        }
        self.mark_slow(out);
    }

    /// Tells a client that a stream is conflated, or not any more. Whether there was
    /// room for that.
    pub(super) fn announce<O: Outputs>(
        &mut self,
        slot: u32,
        watcher: &Watcher,
        code: StateCode,
        out: &mut O,
    ) -> bool {
        let Self { items, scratch, trouble, .. } = self;
        let Some(item) = items.known(slot) else { return true };
        // What goes out behind it is of before: the item may be OK again by an
        // image that comes after that.
        let state = State::new(StreamState::OPEN, DataState::NO_CHANGE, code, "");
        let domain = item.key.as_ref().domain;
        let status = StatusMsg { state: Some(state), ..StatusMsg::new(domain, watcher.stream_id) };
        let Ok(bytes) = scratch.message(&status.into()) else { return true };
        let sent = out.send(watcher.session, bytes);
        match sent {
            Sent::Full => trouble.slow.push(watcher.session),
            _ => _ = trouble.note(watcher.session, sent),
        }
        self.mark_slow(out);
        sent != Sent::Full
    }

    /// Whether a watcher is told of a state when the output of its mount has
    /// drained: of the last one there is then. A state that ends the stream is
    /// told at once, as is what a state does not say.
    pub(super) fn state_comes_later(&mut self, watcher: &Watcher, status: &StatusMsg<'_>) -> bool {
        let Some(state) = &status.state else { return false };
        if status.group_id.is_some() || status.perm_data.is_some() || !status.payload.is_empty() {
            return false;
        }
        let Some(mount) = self.mounts.get_mut(watcher.session).filter(|mount| mount.is_slow) else {
            return false;
        };
        let Some(mut stream) = mount.streams.item(watcher.stream_id) else {
            debug_assert!(false, "a subscription is of a stream");
            return false;
        };
        let told: &mut ProviderStream = &mut stream.state;
        if told.status(Some(state)).is_err() || told.is_over() {
            return false;
        }
        mount.owed.owe(watcher.stream_id).owes_state = true;
        self.statistics.states_put_off += 1;
        true
    }
}

fn merges() -> SharedConflation {
    SharedConflation::new(Limits::CONFLATION)
}
