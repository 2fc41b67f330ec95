//! Updates: from one frame to every watcher. This is the path that everything
//! else is arranged around.

use tapeline_channel::SessionId;
use tapeline_planted::planted;
use tapeline_rwf::{Msg, MsgHeader, UpdateFlags, UpdateMsg};

use super::Core;
use super::copies::{Copies, Gathered, To};
use super::dictionary::Dictionaries;
use super::item::Item;
use super::mount::{Gate, gate};
use super::rows::Cell;
use super::sift::may_have_locked_entries;
use super::subscription::{Subscription, mode};
use super::trouble::Trouble;
use super::variant::{Variant, Variants, Written, write_form};
use super::watchers::Watcher;
use crate::{Outputs, Shared};

/// Flags of updates that are looked at before they go out.
const RARE: u16 = UpdateFlags::HAS_MSG_KEY.union(UpdateFlags::HAS_PERM_DATA).bits();

/// Whether there are watchers who get an update otherwise, or not at all.
#[derive(Clone, Copy, Debug, Default)]
struct Others {
    is_merged: bool,
    is_missed: bool,
    is_torn: bool,
}

impl Others {
    /// Takes note of one who does not get it as it is. Whether it may get it in another
    /// form.
    #[inline]
    fn are_cold(&mut self, subscription: Subscription, gate: Option<&Gate>) -> bool {
        if subscription.has(mode::UNCHECKED) {
            self.is_missed = true;
        } else if subscription.has(mode::MERGED) {
            self.is_merged = true;
        } else if subscription.has(mode::LIVE) && gate.is_some_and(|gate| gate.is_there()) {
            return true;
        } else if subscription.has(mode::IN_IMAGE) {
            self.is_torn = true;
        }
        false
    }
}

impl Core {
    /// Copies an update to everybody who takes updates. Watchers that take them
    /// as they come cost a comparison and the copy; the others are set aside.
    #[inline]
    pub(super) fn on_update<O: Outputs>(
        &mut self,
        slot: u32,
        head: &MsgHeader,
        bytes: &[u8],
        out: &mut O,
    ) {
        self.statistics.updates_in += 1;
        let may_be_locked =
            self.entitlements.is_on() && may_have_locked_entries(head.container_type);
        if head.flags & RARE != 0 || may_be_locked {
            self.copies_first(out);
            return self.on_rare_update(slot, head, bytes, out);
        }
        match self.copies.is_open() {
            false => self.spread_update(slot, bytes, out),
            true => self.gather_update(slot, bytes, out),
        }
    }

    /// An update with a key, or with what not everybody may see.
    #[cold]
    fn on_rare_update<O: Outputs>(
        &mut self,
        slot: u32,
        head: &MsgHeader,
        bytes: &[u8],
        out: &mut O,
    ) {
        if self.sifts_update(slot, head, bytes, out) {
            return;
        }
        match head.flags & UpdateFlags::HAS_MSG_KEY.bits() {
            0 => self.spread_update(slot, bytes, out),
            _ => self.on_update_with_key(slot, bytes, out),
        }
    }

    /// A key has the hub's number of the service, which means nothing to
    /// consumers.
    #[cold]
    fn on_update_with_key<O: Outputs>(&mut self, slot: u32, bytes: &[u8], out: &mut O) {
        let Ok(Msg::Update(update)) = Msg::decode(bytes) else { return };
        let bare = UpdateMsg { key: None, ..update };
        let bytes = self.scratch.message(&bare.into()).map(<[u8]>::to_vec);
        if let Ok(bytes) = bytes {
            self.spread_update(slot, &bytes, out);
        }
    }

    #[inline]
    fn spread_update<O: Outputs>(&mut self, slot: u32, bytes: &[u8], out: &mut O) {
        let Self { items, mounts, dictionaries, trouble, cold, statistics, copies, .. } = self;
        let Some(item) = items.known_mut(slot) else { return };
        if !take_update(item, bytes, dictionaries) {
            return;
        }
        cold.clear();
        let gates = &mounts.gates;
        let mut sent_count = 0;
        let mut shared = Shared::default();
        let mut others = Others::default();
        for (row, subscriptions) in item.watchers.rows().enumerate() {
            for (column, subscription) in subscriptions.iter().enumerate() {
                let gate = gates.get(subscription.mount() as usize);
                if let Some(session) = gate.and_then(|gate| gate.open())
                    && subscription.is_plain()
                {
                    let stream_id =
                        if planted!(UnpatchedStreamId) { 0 } else { subscription.stream_id() };
                    let sent = out.send_shared(session, stream_id, bytes, &mut shared);
                    sent_count += u64::from(trouble.note(session, sent));
                } else if others.are_cold(*subscription, gate) {
                    cold.push(Cell::new(row, column));
                }
            }
        }
        statistics.updates_out += sent_count;
        copies.note_width(sent_count);
        self.serve_others(slot, others, bytes, out);
    }

    /// Those who did not get an update as it is.
    #[inline]
    fn serve_others<O: Outputs>(
        &mut self,
        slot: u32,
        Others { mut is_merged, is_missed, is_torn }: Others,
        bytes: &[u8],
        out: &mut O,
    ) {
        if is_torn {
            self.drop_out_of_image(slot);
        }
        if is_missed && let Some(item) = self.items.known_mut(slot) {
            item.note_missed();
        }
        if !self.cold.is_empty() {
            is_merged |= self.spread_cold(slot, bytes, out);
        }
        if is_merged {
            self.merge(slot, bytes, out);
        }
    }

    /// Does the same in a turn in which updates wait to be copied by mount: see
    /// [`copies`](super::copies).
    #[inline(never)]
    fn gather_update<O: Outputs>(&mut self, slot: u32, bytes: &[u8], out: &mut O) {
        let Self { items, dictionaries, copies, cold, statistics, .. } = self;
        let Some(item) = items.known_mut(slot) else { return };
        if !copies.gathers(item.watchers.are_few()) {
            return self.spread_update(slot, bytes, out);
        }
        let Some(update) = copies.take(bytes) else {
            self.copies_first(out);
            return self.spread_update(slot, bytes, out);
        };
        if !take_update(item, bytes, dictionaries) {
            return;
        }
        cold.clear();
        let before = copies.taken();
        let count = copies.add(update, item.watchers.rows(), cold);
        statistics.updates_out += count;
        if !cold.is_empty() {
            self.gather_others(slot, update, bytes, out);
        }
        self.copies.note_width(self.copies.taken() - before);
        if self.copies.are_many() {
            self.copies_first(out);
        }
    }

    /// The watchers of an update that is gathered whose mounts have no credit, and those
    /// who do not take it as it is.
    #[inline(never)]
    fn gather_others<O: Outputs>(
        &mut self,
        slot: u32,
        update: Gathered,
        bytes: &[u8],
        out: &mut O,
    ) {
        let Self { items, mounts, trouble, cold, statistics, copies, .. } = self;
        let Some(item) = items.known_mut(slot) else { return };
        let mut others = Others::default();
        let mut shared = Shared::default();
        cold.retain(|cell| {
            let Some(subscription) = item.watchers.subscription(*cell) else { return false };
            let gate = mounts.gates.get(subscription.mount() as usize);
            if let Some(session) = gate.and_then(|gate| gate.open())
                && subscription.is_plain()
            {
                let to = To {
                    mount: subscription.mount(),
                    session,
                    stream_id: subscription.stream_id(),
                };
                let is_sent = copies.send(update, to, &mut shared, (trouble, out));
                statistics.updates_out += u64::from(is_sent);
                return false;
            }
            others.are_cold(subscription, gate)
        });
        self.serve_others(slot, others, bytes, out);
    }

    /// The watchers that do not take an update as it is, or not now. Whether it
    /// is to be merged for some that did not wait before.
    #[inline(never)]
    fn spread_cold<O: Outputs>(&mut self, slot: u32, bytes: &[u8], out: &mut O) -> bool {
        let Ok(Msg::Update(update)) = Msg::decode(bytes) else { return false };
        self.variants.begin();
        let mut is_merged = false;
        let mut next = 0;
        while let Some(at) = self.spread_forms(slot, next, &update, out) {
            next = at + 1;
            let Some((cell, watcher)) = self.cold_watcher(slot, at) else { continue };
            let gates = self.mounts.gate(watcher.session);
            if gates & gate::PAUSED != 0
                || gates & gate::HOLDING != 0 && self.holds_first(slot, &watcher)
                || gates & gate::FILTERED != 0 && !self.wants_type(watcher.session, &update)
            {
                continue;
            }
            if gates & gate::OUTDATED != 0 && self.is_outdated(&watcher) {
                self.put_image_off(slot, cell);
            } else if gates & (gate::PACED | gate::SLOW | gate::FILTERED) == gate::PACED
                && self.waits_for_pace((slot, cell), (watcher.session, watcher.stream_id), &update)
            {
                is_merged = true;
            } else if gates & gate::SLOW == 0 {
                self.send_variant(slot, &watcher, &update, out);
            } else if gates & gate::FILTERED != 0 {
                // What is merged has updates of all types.
                self.put_image_off(slot, cell);
            } else {
                self.begin_merging(slot, cell);
                is_merged = true;
            }
        }
        is_merged
    }

    fn cold_watcher(&self, slot: u32, index: usize) -> Option<(Cell, Watcher)> {
        let cell = *self.cold.get(index)?;
        Some((cell, self.watcher(slot, cell)?))
    }

    /// Sends an update to a watcher in its form at once: one whose mount has a gate that
    /// is shut to others, and so no copies that wait, or when nothing waits.
    pub(super) fn send_variant<O: Outputs>(
        &mut self,
        slot: u32,
        watcher: &Watcher,
        update: &UpdateMsg<'_>,
        out: &mut O,
    ) {
        debug_assert!(
            !self.copies.are_waiting() || self.mounts.gate(watcher.session) != 0,
            "it overtakes no copy: a lane is not begun behind a gate that is shut",
        );
        let Self { items, variants, trouble, statistics, .. } = self;
        let Some(item) = items.known(slot) else { return };
        let known = variant_index(variants, item, watcher.form, update);
        let Some(Written { bytes, shared, .. }) = variants.at(known) else { return };
        let sent = out.send_shared(watcher.session, watcher.stream_id, bytes, shared);
        statistics.updates_out += u64::from(trouble.note(watcher.session, sent));
    }

    /// Sends an update to watchers in their forms, each form written once, up
    /// to the first of them who may not get it like that now. Returns which
    /// one that is.
    fn spread_forms<O: Outputs>(
        &mut self,
        slot: u32,
        first: usize,
        update: &UpdateMsg<'_>,
        out: &mut O,
    ) -> Option<usize> {
        let Self { items, mounts, variants, trouble, cold, statistics, copies, .. } = self;
        let item = items.get(slot)?;
        // Most watchers of an item want it in the form of the one before.
        let mut last = None;
        for (index, cell) in cold.iter().enumerate().skip(first) {
            let Some(watcher) = mounts.watcher(item, *cell) else { continue };
            if mounts.gate(watcher.session) != 0 {
                return Some(index);
            }
            let number = watcher.form;
            let known = match last {
                Some((form, known)) if form == number => known,
                _ => variant_index(variants, item, number, update),
            };
            last = Some((number, known));
            let Some(form) = variants.at(known) else { continue };
            let is_sent = send_form(form, &watcher, copies, (trouble, out));
            statistics.updates_out += u64::from(is_sent);
        }
        None
    }

    /// Whether the login of a mount wants updates of this type.
    pub(super) fn wants_type(&self, session: SessionId, update: &UpdateMsg<'_>) -> bool {
        let login = self.mounts.get(session).and_then(|mount| mount.login.as_ref());
        login.is_some_and(|login| login.request.attributes.wants_update_type(update.update_type))
    }
}

/// Has an item take an update. Whether its watchers get it.
#[inline]
fn take_update(item: &mut Item, bytes: &[u8], dictionaries: &Dictionaries) -> bool {
    if !item.has_image {
        // The image that comes has its content.
        return false;
    }
    if let Some(image) = &mut item.image
        && let Ok(Msg::Update(update)) = Msg::decode(bytes)
    {
        // An update that does not fit leaves an image nobody is served
        // from; the update itself goes on.
        let _ = image.update(&update, Some(dictionaries.source()));
    }
    true
}

/// Sends an update in a form to a watcher, or has it wait. Whether it is on its way.
fn send_form<O: Outputs>(
    form: Written<'_>,
    watcher: &Watcher,
    copies: &mut Copies,
    (trouble, out): (&mut Trouble, &mut O),
) -> bool {
    let Written { bytes, shared, gathered } = form;
    if copies.are_waiting() {
        if gathered.is_none() {
            *gathered = copies.take(bytes);
        }
        if let Some(update) = *gathered {
            let Watcher { session, stream_id, .. } = *watcher;
            let to = To { mount: watcher.mount(), session, stream_id };
            return copies.send(update, to, shared, (trouble, out));
        }
    }
    let sent = out.send_shared(watcher.session, watcher.stream_id, bytes, shared);
    trouble.note(watcher.session, sent)
}

/// Where an update is in a form.
fn variant_index(
    variants: &mut Variants,
    item: &Item,
    number: usize,
    update: &UpdateMsg<'_>,
) -> usize {
    let form = item.watchers.form(number);
    variants.index(Variant::of_update(number), |buffer: &mut [u8]| {
        write_form(&(*update).into(), form, item.key.as_ref().msg_key(), buffer)
    })
}
