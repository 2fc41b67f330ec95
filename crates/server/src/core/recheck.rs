//! An item with another guard: those who watch it are looked at.
//!
//! What the guard says holds at once for whoever comes. Of those who are there, a
//! few are looked at in the same event. A crowd is looked at a slice at a time,
//! and until its turn has come a watcher is sent nothing but states:
//!
//! ```text
//!            another guard            its turn, it may see the item
//!   LIVE ──────────────────▶ UNCHECKED ───────────────────────────▶ LIVE
//!                                │ └─ something went out meanwhile ▶ WANTS, an image
//!                                ▼ it may not: its stream ends
//! ```
//!
//! It is looked at by the policy that is in force then, which may be another one than
//! when it asked: what it may see of the item is, too.
//!
//! To mark all of them is one pass over eight bytes each, and an update asks
//! nothing more than before: who is not checked takes it as little as who is paused.

use tapeline_entitle::Verdict;
use tapeline_omm::stream::ProviderStream;

use super::Core;
use super::backlog::Job;
use super::entitlements::Guard;
use super::item::Recheck;
use super::rows::Cell;
use super::subscription::mode;
use super::watchers::Watcher;
use crate::Outputs;

/// So many watchers are looked at in the event that brings another guard: less
/// than what a slice does.
const AT_ONCE: usize = 16;

impl Core {
    /// An item has another guard: all who watch it are looked at.
    pub(super) fn change_guard<O: Outputs>(&mut self, slot: u32, guard: Guard, out: &mut O) {
        self.items.set_guard(slot, guard);
        let Some(item) = self.items.get_mut(slot) else { return };
        item.watchers.subscriptions_mut().for_each(|it| it.set(mode::UNCHECKED, true));
        item.set_recheck(Some(Recheck::default()));
        // Whoever has a part of an image is to have the next, or nothing.
        let is_at_once = item.watchers.len() <= AT_ONCE || item.in_parts;
        let mut next = Cell::FIRST;
        if is_at_once {
            while self.recheck_step(slot, &mut next, out).is_some() {}
        } else {
            self.backlog.add(Job::Recheck { slot, next });
        }
    }

    /// Whether some who watch an item are still to be looked at.
    pub(super) fn is_rechecked(&self, slot: u32) -> bool {
        self.items.get(slot).is_some_and(|item| item.recheck().is_some())
    }

    /// Looks at the next one who watches an item, from a cell on.
    pub(super) fn recheck_step<O: Outputs>(
        &mut self,
        slot: u32,
        next: &mut Cell,
        out: &mut O,
    ) -> Option<usize> {
        let item = self.items.get(slot)?;
        item.recheck()?;
        // Those who come and go move others to cells before.
        let found = item.watchers.unchecked_from(*next);
        let Some(cell) = found.or_else(|| item.watchers.unchecked_from(Cell::FIRST)) else {
            self.end_recheck(slot, out);
            return None;
        };
        *next = cell;
        match self.watcher(slot, cell) {
            Some(watcher) => self.check_watcher(slot, cell, &watcher, out),
            // Its mount is gone, and its stream is about to be.
            None => self.set_checked(slot, cell),
        }
        Some(1)
    }

    fn check_watcher<O: Outputs>(&mut self, slot: u32, cell: Cell, watcher: &Watcher, out: &mut O) {
        let guard = self.items.guard(slot);
        if let Some(Verdict::Deny(denial)) = self.verdict(watcher.session, slot, guard) {
            match watcher.has(mode::RECORDED) {
                true => self.statistics.streams_revoked += 1,
                false => self.statistics.opens_denied += 1,
            }
            return self.take_off((watcher.session, watcher.stream_id), &denial, guard, out);
        }
        self.set_checked(slot, cell);
        match watcher.has(mode::RECORDED) {
            true => _ = self.record_further(watcher.session, watcher.stream_id, out),
            false => self.record_watch(watcher.session, watcher.stream_id, out),
        }
        // Another policy is in force, and the turn of this stream may be yet to come.
        self.review_mask(watcher.session, watcher.stream_id, out);
        let Some(watcher) = self.watcher(slot, cell) else { return };
        let Some(item) = self.items.get(slot) else { return };
        let has_missed = item.recheck().is_some_and(|recheck| recheck.is_missed);
        if has_missed && (watcher.has(mode::LIVE) || watcher.has(mode::MERGED)) {
            self.want_image(slot, cell);
        }
        let waits = self.watcher(slot, cell);
        let waits = waits.is_some_and(|it| it.has(mode::WANTS) && !it.has(mode::LATE));
        if waits && self.items.get(slot).is_some_and(super::item::Item::is_servable) {
            self.serve_from_cache(slot, cell, out);
        }
    }

    fn set_checked(&mut self, slot: u32, cell: Cell) {
        let item = self.items.get_mut(slot);
        if let Some(subscription) = item.and_then(|item| item.watchers.subscription_mut(cell)) {
            subscription.set(mode::UNCHECKED, false);
        }
    }

    /// A watcher has missed something: what it has waits for an image.
    fn want_image(&mut self, slot: u32, cell: Cell) {
        self.forget_updates(slot, cell);
        let Self { items, mounts, .. } = self;
        let item = items.get_mut(slot);
        let Some(subscription) = item.and_then(|item| item.watchers.subscription_mut(cell)) else {
            return;
        };
        subscription.set(mode::LIVE, false);
        subscription.set(mode::WANTS, true);
        if let Some(mount) = mounts.mount_of_mut(*subscription) {
            mount.streams.change(subscription.stream_id(), ProviderStream::put_image_off);
        }
    }

    /// All have been looked at. Who waits for an image that is not kept gets one
    /// of the hub's.
    fn end_recheck<O: Outputs>(&mut self, slot: u32, out: &mut O) {
        let Some(item) = self.items.get_mut(slot) else { return };
        let has_missed = item.recheck().is_some_and(|recheck| recheck.is_missed);
        item.set_recheck(None);
        let is_waited_for = has_missed && !item.in_parts && item.is_wanted();
        if is_waited_for && item.is_streaming {
            self.serve_waiting(slot, out);
        }
    }
}
