//! Images: from a hub to those who need them, and from the cache to newcomers.

use tapeline_cache::{Image, Limits};
use tapeline_channel::SessionId;
use tapeline_omm::market::Part;
use tapeline_omm::state::{is_final, is_recoverable};
use tapeline_omm::stream::{Allowed, ProviderStream};
use tapeline_planted::planted;
use tapeline_rwf::{
    DataState, DataType, Encoded, Msg, MsgKey, RefreshFlags, RefreshMsg, State, StreamState,
};

use super::Core;
use super::image_due::ImageDue;
use super::item::{Item, Upstream};
use super::rows::Cell;
use super::subscription::{Subscription, mode};
use super::variant::{Variant, write_form};
use super::watchers::Watcher;
use crate::Outputs;

/// Larger images go out of the cache in parts of about this size.
const PART_BYTES: usize = 60_000;

/// What a long payload takes beyond this is given back.
const RETAINED_BYTES: usize = 1 << 20;

impl Core {
    /// An image of an item, or a part of one, came from its hub.
    ///
    /// One for all servers goes to everybody, as does one that repairs what was
    /// missed. One for this server goes to those who wait for it.
    pub(super) fn on_image<O: Outputs>(
        &mut self,
        slot: u32,
        refresh: &RefreshMsg<'_>,
        is_for_all: bool,
        is_last: bool,
        out: &mut O,
    ) {
        if !self.note_guard(slot, refresh.perm_data, Some(&refresh.payload), out)
            || !self.note_entries_of(slot, refresh, out)
        {
            return;
        }
        let with_cache = self.keeps_image(slot) && !self.memory.is_scarce();
        let Some(item) = self.items.known_mut(slot) else { return };
        let is_complete = refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE);
        let stream = refresh.state.stream;
        let is_end =
            is_last || is_final(stream) && (is_complete || stream != StreamState::NON_STREAMING);
        let is_for_all = is_for_all || is_end && item.is_streaming;
        let is_first = !item.in_parts;
        begin_image(item, refresh, is_for_all, with_cache);
        self.items.apply_state(slot, &refresh.state, &mut self.mounts.standings);
        let over = self.spread_image(slot, refresh, is_first, out);
        let gaps = self.gaps_of(slot);
        let Some(item) = self.items.known_mut(slot) else { return };
        item.in_parts = !is_complete && !is_end;
        match item.in_parts {
            true if is_first => item.set_gaps_at_begin(Some(gaps)),
            true => {}
            false => item.set_gaps_at_begin(None),
        }
        if !item.in_parts {
            item.image_due = ImageDue::NONE;
            item.watchers
                .subscriptions_mut()
                .for_each(|subscription| subscription.set(mode::IN_IMAGE, false));
            if is_end {
                self.let_go(slot);
            } else if !item.is_streaming && is_complete {
                // A provider may call the image of a snapshot open.
                self.detach(slot, out);
            }
        }
        for (session, stream_id) in over {
            self.remove_stream(session, stream_id, out);
        }
        // Of one in parts it is the first that counts: the last may never come.
        self.image_came(slot, out);
        self.after_image(slot, is_recoverable(stream), out);
    }

    /// Whether the last value of an item is to be kept.
    fn keeps_image(&self, slot: u32) -> bool {
        let own = &self.config.service_cache;
        if own.is_empty() {
            return self.config.cache;
        }
        let item = self.items.known(slot);
        let name = item.and_then(|item| self.services.name(item.service_id()));
        let name = name.and_then(|name| std::str::from_utf8(name.as_bytes()).ok());
        let own = name.and_then(|name| own.get(name));
        own.copied().unwrap_or(self.config.cache)
    }

    /// Takes note of the locks of an image's entries. Whether the item is still
    /// there.
    fn note_entries_of<O: Outputs>(
        &mut self,
        slot: u32,
        refresh: &RefreshMsg<'_>,
        out: &mut O,
    ) -> bool {
        let Some(item) = self.items.get(slot).filter(|item| self.is_guarded(item)) else {
            return true;
        };
        let is_anew = !item.in_parts && refresh.flags.contains(RefreshFlags::CLEAR_CACHE);
        self.note_entries(slot, &refresh.payload, is_anew, out)
    }

    /// The image that is coming in parts will not be complete: those who have
    /// some of it wait for another one.
    pub(super) fn abandon_image(&mut self, slot: u32) {
        let Self { items, mounts, .. } = self;
        let Some(item) = items.get_mut(slot).filter(|item| item.in_parts) else { return };
        item.in_parts = false;
        item.set_gaps_at_begin(None);
        for subscription in item
            .watchers
            .subscriptions_mut()
            .filter(|subscription| subscription.has(mode::IN_IMAGE))
        {
            subscription.set(mode::IN_IMAGE, false);
            subscription.set(mode::WANTS, true);
            if let Some(mount) = mounts.mount_of_mut(*subscription) {
                mount.streams.change(subscription.stream_id(), ProviderStream::abandon_image);
            }
        }
    }

    /// An update comes between the parts of an image, and some who get these do not
    /// get it, as they have paused: the parts to come are of after the update, those
    /// before are not. They get an image when it is whole.
    #[cold]
    pub(super) fn drop_out_of_image(&mut self, slot: u32) {
        let Self { items, mounts, .. } = self;
        let Some(item) = items.known_mut(slot) else { return };
        let torn = item
            .watchers
            .subscriptions_mut()
            .filter(|it| it.has(mode::IN_IMAGE) && !it.has(mode::LIVE));
        for subscription in torn {
            subscription.set(mode::IN_IMAGE, false);
            subscription.set(mode::WANTS, true);
            if let Some(mount) = mounts.mount_of_mut(*subscription) {
                mount.streams.change(subscription.stream_id(), ProviderStream::abandon_image);
            }
        }
    }

    /// Sends an image, or a part, to those who get it. Returns the streams that
    /// are over with it.
    fn spread_image<O: Outputs>(
        &mut self,
        slot: u32,
        refresh: &RefreshMsg<'_>,
        is_first: bool,
        out: &mut O,
    ) -> Vec<(SessionId, i32)> {
        let is_complete = refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE);
        let part = Part { number: refresh.part_num, is_last: is_complete };
        let mut over = Vec::new();
        if self.is_sifted(slot) {
            return self.spread_sifted_image(slot, refresh, is_first, out);
        }
        self.variants.begin();
        let mut next = Cell::FIRST;
        while let Some((cell, watcher)) = self.watcher_from(slot, next) {
            next = cell.next();
            if !watcher.has(mode::IN_IMAGE) {
                continue;
            }
            // One that has begun goes on, however slow the mount is.
            if is_first && self.comes_later(slot, cell) {
                continue;
            }
            if !self.flush_before_image((slot, cell), &watcher, out) {
                continue;
            }
            if self.send_image(slot, cell, part, refresh, out) {
                over.push((watcher.session, watcher.stream_id));
            }
        }
        over
    }

    /// The same where some may see more entries of it than others.
    fn spread_sifted_image<O: Outputs>(
        &mut self,
        slot: u32,
        refresh: &RefreshMsg<'_>,
        is_first: bool,
        out: &mut O,
    ) -> Vec<(SessionId, i32)> {
        let is_last = refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE);
        let part = Part { number: refresh.part_num, is_last };
        let mut over = Vec::new();
        let mut next = Cell::FIRST;
        while let Some((cell, watcher)) = self.watcher_from(slot, next) {
            next = cell.next();
            if !watcher.has(mode::IN_IMAGE) || is_first && self.comes_later(slot, cell) {
                continue;
            }
            if !self.flush_before_image((slot, cell), &watcher, out) {
                continue;
            }
            if self.send_sifted_image(slot, cell, part, refresh, out) {
                over.push((watcher.session, watcher.stream_id));
            }
        }
        over
    }

    /// What was merged for a watcher goes out before an image. Whether it still gets that
    /// one: if there was no room for what was merged, it gets another one later, and no part
    /// of this.
    fn flush_before_image<O: Outputs>(
        &mut self,
        (slot, cell): (u32, Cell),
        watcher: &Watcher,
        out: &mut O,
    ) -> bool {
        self.flush_before((slot, cell), watcher, out);
        self.watcher(slot, cell).is_some_and(|watcher| watcher.has(mode::IN_IMAGE))
    }

    /// Sends a watcher an image with the entries that it may see. Whether the
    /// stream is over with it.
    fn send_sifted_image<O: Outputs>(
        &mut self,
        slot: u32,
        cell: Cell,
        part: Part,
        refresh: &RefreshMsg<'_>,
        out: &mut O,
    ) -> bool {
        let Some(watcher) = self.watcher(slot, cell) else { return false };
        let profile = self.profile_of(watcher.session);
        let sifted = match self.is_sifted(slot) {
            true => self.sifted(slot, profile, &(*refresh).into()),
            false => None,
        };
        self.variants.begin();
        match sifted.as_deref().map(Msg::decode) {
            None => self.send_image(slot, cell, part, refresh, out),
            Some(Ok(Msg::Refresh(sifted))) => self.send_image(slot, cell, part, &sifted, out),
            // It cannot be read: what entries it has is not known either.
            Some(_) => {
                let payload = Encoded::new(DataType::NO_DATA, &[]);
                let bare = RefreshMsg { payload, ..*refresh };
                self.send_image(slot, cell, part, &bare, out)
            }
        }
    }

    /// Whether a watcher gets its image out of the cache, when the output of
    /// its mount has drained.
    fn comes_later(&mut self, slot: u32, cell: Cell) -> bool {
        let Self { items, mounts, .. } = self;
        let Some(item) = items.known_mut(slot) else { return false };
        let is_cached = item.image.as_ref().is_some_and(|image| {
            let state = image.state();
            state.stream == StreamState::OPEN && state.data == DataState::OK
        });
        let Some(subscription) = item.watchers.subscription_mut(cell) else {
            debug_assert!(false, "a cell with a watcher");
            return false;
        };
        let session = mounts.mount_of_mut(*subscription).map(|mount| mount.session);
        let Some(session) = session.filter(|_| is_cached) else { return false };
        let is_late = self.image_is_late(session);
        if is_late {
            self.put_image_off(slot, cell);
            self.plan_turn(session);
        }
        is_late
    }

    /// Sends an image to one watcher, as its stream allows. Whether the stream
    /// is over with it.
    pub(super) fn send_image<O: Outputs>(
        &mut self,
        slot: u32,
        cell: Cell,
        part: Part,
        refresh: &RefreshMsg<'_>,
        out: &mut O,
    ) -> bool {
        let Some(watcher) = self.watcher(slot, cell) else {
            debug_assert!(false, "a cell with a watcher");
            return false;
        };
        self.holds_first(slot, &watcher);
        let may_be_blank = self.may_be_blank(slot, watcher.session);
        let Self { items, mounts, variants, trouble, config, image_bytes, statistics, .. } = self;
        let max_image_bytes = &config.limits.max_image_bytes;
        let Some(item) = items.known_mut(slot) else { return false };
        let changed = mounts.get_mut(watcher.session).and_then(|mount| {
            mount.owed.state_is_told(watcher.stream_id);
            mount.streams.change(watcher.stream_id, |state| {
                let is_blank = may_be_blank && state.stands_by();
                let allowed = match state.hears_image(&refresh.state) {
                    true => {
                        Some(state.image(if is_blank { Part::ONLY } else { part }, &refresh.state))
                    }
                    false => None,
                };
                if matches!(allowed, Some(Err(_))) {
                    // A part was lost that was for this server alone.
                    state.abandon_image();
                }
                (allowed, is_blank, state.clone())
            })
        });
        let Some((allowed, is_blank, state)) = changed else {
            debug_assert!(false, "a subscription is of a stream");
            return false;
        };
        let Some(subscription) = item.watchers.subscription_mut(cell) else {
            debug_assert!(false, "a cell with a watcher");
            return false;
        };
        if is_blank || allowed.is_none() {
            // Of several parts the others are not for it.
            subscription.set(mode::IN_IMAGE, false);
        }
        let Some(allowed) = allowed else {
            // It stands by, and did not ask.
            subscription.set(mode::WANTS | mode::LATE, false);
            return false;
        };
        let Ok(allowed) = allowed else {
            // It needs one from the beginning.
            subscription.set(mode::IN_IMAGE, false);
            subscription.set(mode::WANTS, true);
            return state.is_over();
        };
        subscription.set(mode::WANTS | mode::LATE, false);
        subscription.set(mode::LIVE, state.takes_updates());
        let variant = Variant {
            form: watcher.form,
            stream: allowed.stream,
            data: allowed.data,
            solicited: allowed.solicited,
            begins: allowed.begins,
            is_blank,
            private: allowed.private,
            with_key: allowed.with_key,
        };
        let form = item.watchers.form(watcher.form);
        let told = told(item, refresh, &allowed, is_blank);
        let write = |buffer: &mut [u8]| write_form(&told.into(), form, MsgKey::EMPTY, buffer);
        if let Some((bytes, shared)) = variants.get(variant, write) {
            // What has begun goes whole to who reads it.
            *image_bytes += bytes.len();
            out.allow(watcher.session, *max_image_bytes);
            let sent = out.send_shared(watcher.session, watcher.stream_id, bytes, shared);
            out.allow(watcher.session, 0);
            trouble.note(watcher.session, sent);
            statistics.answers_on_standby += u64::from(is_blank && allowed.solicited);
        }
        self.mark_slow(out);
        state.is_over()
    }

    /// What is left to do for an item when an image, or a part, went out.
    fn after_image<O: Outputs>(&mut self, slot: u32, is_recoverable: bool, out: &mut O) {
        let Some(item) = self.items.get(slot) else { return };
        if item.in_parts {
            return;
        }
        self.forget_settled();
        let Some(item) = self.items.get(slot) else { return };
        let is_left = item.upstream() == Upstream::Nowhere;
        if is_left && item.is_streaming {
            if is_recoverable || !item.watchers.is_empty() {
                self.wait_for_another_try(slot);
            }
        } else if is_left {
            // These asked for the snapshot when it was half sent.
            self.open_upstream(slot, out);
        } else if item.is_wanted() {
            self.serve_waiting(slot, out);
        }
    }

    /// Serves those who came while an image was on its way.
    pub(super) fn serve_waiting<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        let Some(item) = self.items.known(slot) else { return };
        if !item.is_servable() {
            return self.ask_image(slot, out);
        }
        let waits = |it: &&Subscription| {
            !planted!(UnservedJoin)
                && it.has(mode::WANTS)
                && !it.has(mode::LATE)
                && !it.has(mode::UNCHECKED)
        };
        let waiting: Vec<_> = item.watchers.subscriptions().filter(waits).copied().collect();
        for subscription in waiting {
            let session = self.mounts.session_of(subscription.mount());
            let found = session.and_then(|session| self.item_on(session, subscription.stream_id()));
            if let Some((slot, cell)) = found {
                self.serve_from_cache(slot, cell, out);
            }
        }
    }

    /// Sends a watcher the image in the cache, at once or when the output of
    /// its mount has drained.
    pub(super) fn serve_from_cache<O: Outputs>(&mut self, slot: u32, cell: Cell, out: &mut O) {
        let Some(watcher) = self.watcher(slot, cell) else {
            debug_assert!(false, "a cell with a watcher");
            return;
        };
        if watcher.has(mode::UNCHECKED) {
            // It gets one when it has been looked at, as it waits for one.
            return;
        }
        if self.comes_later(slot, cell) {
            return;
        }
        let image = self.items.get_mut(slot).and_then(|item| item.image.take());
        let Some(image) = image else {
            debug_assert!(false, "what is servable has an image");
            return;
        };
        self.flush_before((slot, cell), &watcher, out);
        let is_over = self.send_cached(slot, cell, &image, out);
        if let Some(item) = self.items.get_mut(slot) {
            item.image = Some(image);
        }
        if is_over {
            self.remove_stream(watcher.session, watcher.stream_id, out);
        }
    }

    fn send_cached<O: Outputs>(
        &mut self,
        slot: u32,
        cell: Cell,
        image: &Image,
        out: &mut O,
    ) -> bool {
        let domain = self.items.get(slot).map(|item| item.key.as_ref().domain);
        let Some(domain) = domain else {
            debug_assert!(false, "a watcher is of an item");
            return false;
        };
        let mut payload = core::mem::take(&mut self.payload);
        let mut parts = image.parts(PART_BYTES);
        let mut is_over = false;
        payload.clear();
        while let Some(refresh_part) = parts.next_part(&mut payload) {
            let is_only = refresh_part.number == 0 && refresh_part.is_last;
            let part = Part {
                number: (!is_only).then_some(refresh_part.number),
                is_last: refresh_part.is_last,
            };
            let mut flags = RefreshFlags::empty();
            flags.set(RefreshFlags::REFRESH_COMPLETE, part.is_last);
            flags.set(RefreshFlags::CLEAR_CACHE, part.is_first());
            let refresh = RefreshMsg {
                flags,
                seq_num: image.seq_num(),
                state: image.state().as_state(),
                group_id: image.group_id(),
                perm_data: image.perm_data(),
                qos: image.qos(),
                post_user_info: image.post_user_info(),
                part_num: part.number,
                payload: Encoded::new(image.container_type(), &payload),
                ..RefreshMsg::new(domain, 0)
            };
            is_over = self.send_sifted_image(slot, cell, part, &refresh, out);
            payload.clear();
        }
        payload.shrink_to(RETAINED_BYTES);
        self.payload = payload;
        is_over
    }
}

/// Takes note of an image that begins, and of who gets it.
fn begin_image(item: &mut Item, refresh: &RefreshMsg<'_>, is_for_all: bool, with_cache: bool) {
    let is_first = !item.in_parts;
    let is_for_all = is_for_all || item.needs_repair && !planted!(RepairForOne) || !item.has_image;
    if with_cache && item.is_streaming && !item.is_private {
        let image = item.image.get_or_insert_with(|| Box::new(Image::new(Limits::default())));
        if is_first && (item.needs_repair || !item.has_image) {
            // What was kept misses something, or is of another source.
            image.clear();
        }
        // One that does not fit leaves an image nobody is served from.
        let _ = image.refresh(refresh);
    }
    item.has_image = true;
    item.needs_repair = false;
    if is_first {
        // All that comes on a private stream is for who has it.
        let is_for_all = is_for_all || item.is_private;
        for subscription in item.watchers.subscriptions_mut() {
            let gets_it = is_for_all || subscription.has(mode::WANTS);
            let is_checked = !subscription.has(mode::UNCHECKED);
            subscription.set(mode::IN_IMAGE, gets_it && is_checked);
        }
        item.note_missed();
    }
}

/// An image as one watcher gets it.
fn told<'m>(
    item: &'m Item,
    refresh: &RefreshMsg<'m>,
    allowed: &Allowed,
    is_blank: bool,
) -> RefreshMsg<'m> {
    let mut refresh = *refresh;
    if is_blank {
        refresh.flags |= RefreshFlags::REFRESH_COMPLETE;
        (refresh.part_num, refresh.payload) = (None, Encoded::new(DataType::NO_DATA, &[]));
    }
    let mut flags = refresh.flags;
    flags.set(RefreshFlags::SOLICITED, allowed.solicited);
    flags.set(RefreshFlags::PRIVATE_STREAM, allowed.private);
    if !allowed.solicited && allowed.begins {
        flags |= RefreshFlags::CLEAR_CACHE;
    }
    RefreshMsg {
        flags,
        state: State { stream: allowed.stream, data: allowed.data, ..refresh.state },
        qos: refresh.qos.or(item.key.as_ref().qos),
        key: allowed.with_key.then(|| item.key.as_ref().msg_key()),
        ..refresh
    }
}
