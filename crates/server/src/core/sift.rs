//! Messages of which not everybody who sees the item sees everything.
//!
//! An update with permission data goes to those who have what they demand,
//! beside what the item demands. In a map, a vector or a filter list each entry
//! may have some of its own, which is the entry's until the source says another
//! or takes the entry away. Lists of names leave out names of which nothing could
//! be shown. All this is off the way of updates that have none of it.

use std::collections::BTreeMap;

use tapeline_channel::SessionId;
use tapeline_entitle::ProfileId;
use tapeline_omm::entries::{Entry, has_locked_entries, see_entries, write_some};
use tapeline_omm::view::ProjectError;
use tapeline_rwf::{
    DataType, Domain, EncodeError, Encoded, Msg, MsgHeader, UpdateFlags, UpdateMsg,
};

use super::Core;
use super::entitlements::{Entitlements, Guard};
use super::item::Item;
use super::map::Map;
use super::mount::gate;
use super::permit::named;
use super::rows::Cell;
use super::subscription::mode;
use crate::Outputs;

/// Nobody sees an item of which more entries have locks.
const MAX_LOCKED_ENTRIES: usize = 1 << 20;

/// The locks that entries of an item have, by their keys.
pub(super) type EntryLocks = Map<Box<[u8]>, Guard>;

/// Whether entries of such a payload can have locks of their own.
pub(super) const fn may_have_locked_entries(container_type: DataType) -> bool {
    matches!(container_type, DataType::MAP | DataType::VECTOR | DataType::FILTER_LIST)
}

impl Core {
    /// An update that has permission data, or may have some in its entries.
    /// Whether it was seen to; if not, it is an update like any other.
    #[cold]
    pub(super) fn sifts_update<O: Outputs>(
        &mut self,
        slot: u32,
        head: &MsgHeader,
        bytes: &[u8],
        out: &mut O,
    ) -> bool {
        let Some(item) = self.items.get(slot) else { return false };
        if !self.is_guarded(item) || !item.has_image {
            return false;
        }
        let has_lock = head.flags & UpdateFlags::HAS_PERM_DATA.bits() != 0;
        if !has_lock && !may_have_locked_entries(head.container_type) {
            return false;
        }
        let Ok(Msg::Update(update)) = Msg::decode(bytes) else { return false };
        let said = update.perm_data.filter(|lock| !lock.is_empty());
        let own_lock = said.filter(|lock| !self.entitlements.is_lock(self.items.guard(slot), lock));
        if let Some(lock) = said {
            self.keep_locked(slot, lock);
        }
        if !self.note_entries(slot, &update.payload, false, out) {
            return true;
        }
        let is_sifted = self.is_sifted(slot);
        if own_lock.is_none() && !is_sifted {
            return false;
        }
        let update = UpdateMsg { key: None, ..update };
        self.keep_sifted(slot, &update, own_lock.is_some());
        self.spread_sifted(slot, &update, own_lock, is_sifted, out);
        self.forget_deleted(slot, &update.payload);
        true
    }

    /// Whether receivers of an item may get different entries.
    pub(super) fn is_sifted(&self, slot: u32) -> bool {
        self.items.get(slot).is_some_and(|item| {
            let is_list = item.key.as_ref().domain == Domain::SYMBOL_LIST;
            self.is_guarded(item) && (is_list || item.entry_locks().is_some())
        })
    }

    /// Takes note of the locks of entries. Whether the item is still there: one
    /// with too many of them is shown to nobody.
    pub(super) fn note_entries<O: Outputs>(
        &mut self,
        slot: u32,
        payload: &Encoded<'_>,
        is_anew: bool,
        out: &mut O,
    ) -> bool {
        let Self { items, entitlements, .. } = self;
        let Some(item) = items.get_mut(slot) else { return false };
        if is_anew {
            item.set_entry_locks(None);
        }
        if item.entry_locks().is_none() && !has_locked_entries(payload) {
            return true;
        }
        let mut locks = item.take_entry_locks().unwrap_or_default();
        // What cannot be read is not sent either.
        let _ = see_entries(payload, |entry| match entry.perm_data {
            Some(lock) if !lock.is_empty() => {
                locks.insert(entry.key.into(), entitlements.guard(lock));
            }
            _ if entry.is_anew => _ = locks.remove(entry.key),
            _ => {}
        });
        let is_too_much = locks.len() > MAX_LOCKED_ENTRIES;
        item.set_entry_locks(Some(locks));
        if is_too_much {
            self.change_guard(slot, Guard::Sealed, out);
        }
        self.items.get(slot).is_some()
    }

    /// The locks of entries that an update took away.
    fn forget_deleted(&mut self, slot: u32, payload: &Encoded<'_>) {
        let Some(item) = self.items.get_mut(slot) else { return };
        let Some(mut locks) = item.take_entry_locks() else { return };
        let _ = see_entries(payload, |entry| {
            if entry.is_delete {
                locks.remove(entry.key);
            }
        });
        item.set_entry_locks(Some(locks));
    }

    /// What is kept has the content of an update that names a lock, and demands that
    /// should the item have another one later.
    fn keep_locked(&mut self, slot: u32, lock: &[u8]) {
        let kept = self.items.get_mut(slot).and_then(|item| item.image.as_mut());
        if let Some(kept) = kept.filter(|kept| !kept.is_restricted()) {
            kept.restrict(lock);
        }
    }

    /// An update changes what is kept. One with a lock of its own makes it
    /// something that is for nobody in particular: whoever comes gets an image
    /// of the hub's then.
    fn keep_sifted(&mut self, slot: u32, update: &UpdateMsg<'_>, has_own_lock: bool) {
        let Self { items, dictionaries, .. } = self;
        let image = items.get_mut(slot).and_then(|item| item.image.as_mut());
        if let Some(image) = image {
            match has_own_lock {
                true => image.clear(),
                // One that does not fit leaves an image nobody is served from.
                false => _ = image.update(update, Some(dictionaries.source())),
            }
        }
    }

    fn spread_sifted<O: Outputs>(
        &mut self,
        slot: u32,
        update: &UpdateMsg<'_>,
        own_lock: Option<&[u8]>,
        is_sifted: bool,
        out: &mut O,
    ) {
        let mut receivers: BTreeMap<Option<ProfileId>, Vec<(Cell, SessionId)>> = BTreeMap::new();
        let (mut next, mut is_missed) = (Cell::FIRST, false);
        while let Some((cell, watcher)) = self.watcher_from(slot, next) {
            next = cell.next();
            if watcher.has(mode::UNCHECKED) {
                is_missed = true;
            } else if watcher.has(mode::LIVE) || watcher.has(mode::MERGED) {
                let profile = self.profile_of(watcher.session);
                receivers.entry(profile).or_default().push((cell, watcher.session));
            }
        }
        if let Some(item) = self.items.get_mut(slot).filter(|_| is_missed) {
            item.note_missed();
        }
        for (profile, cells) in receivers {
            let is_open = own_lock.is_none_or(|lock| self.entitlements.opens(profile, lock));
            if !is_open {
                self.statistics.updates_denied += cells.len() as u64;
                continue;
            }
            let bytes = match is_sifted {
                true => self.sifted(slot, profile, &(*update).into()),
                false => None,
            };
            let sifted = bytes.as_deref().map(Msg::decode);
            let update = match sifted {
                None => *update,
                Some(Ok(Msg::Update(sifted))) => sifted,
                Some(_) => continue,
            };
            self.variants.begin();
            for (cell, session) in cells {
                self.give_sifted((slot, cell), session, &update, out);
            }
        }
    }

    /// Gives a watcher an update that cannot be merged with those of others.
    fn give_sifted<O: Outputs>(
        &mut self,
        (slot, cell): (u32, Cell),
        session: SessionId,
        update: &UpdateMsg<'_>,
        out: &mut O,
    ) {
        let Some(watcher) = self.watcher(slot, cell) else { return };
        let gates = self.mounts.gate(session);
        let is_left_out = gates & gate::PAUSED != 0
            || gates & gate::HOLDING != 0 && self.holds_first(slot, &watcher)
            || gates & gate::FILTERED != 0 && !self.wants_type(session, update);
        if is_left_out {
            return;
        }
        let is_paced = gates & (gate::PACED | gate::SLOW) == gate::PACED;
        let is_merged = watcher.has(mode::MERGED);
        if is_paced && is_merged {
            self.flush_before((slot, cell), &watcher, out);
            if !self.watcher(slot, cell).is_some_and(|watcher| watcher.has(mode::LIVE)) {
                return;
            }
        }
        let is_late = gates & gate::SLOW != 0
            || is_merged && !is_paced
            || gates & gate::OUTDATED != 0 && self.is_outdated(&watcher);
        match is_late {
            true => self.put_image_off(slot, cell),
            false => self.send_variant(slot, &watcher, update, out),
        }
    }

    /// A message with those entries that a profile sees; `None`: as it is. One
    /// that cannot be read is empty.
    pub(super) fn sifted(
        &mut self,
        slot: u32,
        profile: Option<ProfileId>,
        msg: &Msg<'_>,
    ) -> Option<Vec<u8>> {
        let Self { items, services, entitlements, .. } = self;
        let item = items.get(slot)?;
        let service = named(services, &item.key.as_ref()).service;
        let mut left_out = 0;
        let counted = see_entries(&msg.payload(), |entry| {
            left_out += usize::from(!shows(entitlements, item, &service, profile, entry));
        });
        if counted.is_ok() && left_out == 0 {
            return None;
        }
        let keep = |entry: Entry<'_>| shows(entitlements, item, &service, profile, entry);
        Some(written(msg, keep).unwrap_or_default())
    }
}

/// Whether a profile sees an entry of an item.
fn shows(
    entitlements: &mut Entitlements,
    item: &Item,
    service: &str,
    profile: Option<ProfileId>,
    entry: Entry<'_>,
) -> bool {
    let is_open = match entry.perm_data.filter(|lock| !lock.is_empty()) {
        Some(lock) => entitlements.opens(profile, lock),
        None => {
            let lock = item.entry_locks().and_then(|locks| locks.get(entry.key));
            lock.is_none_or(|lock| entitlements.opens_guard(profile, *lock))
        }
    };
    let is_list = item.key.as_ref().domain == Domain::SYMBOL_LIST;
    is_open && (!is_list || entitlements.shows_name(profile, service, entry.key))
}

/// A message with some of its entries. It is no longer than the whole, but for
/// lengths that are written in other forms.
fn written(
    msg: &Msg<'_>,
    mut keep: impl FnMut(Entry<'_>) -> bool,
) -> Result<Vec<u8>, ProjectError> {
    let mut buffer = vec![0; 2 * msg.payload().bytes().len() + 4096];
    loop {
        match write_some(msg, &mut keep, &mut buffer) {
            Ok(len) => {
                buffer.truncate(len);
                return Ok(buffer);
            }
            Err(ProjectError::Encode(EncodeError::BufferTooSmall { missing })) => {
                buffer.resize(buffer.len() + missing, 0);
            }
            Err(error) => return Err(error),
        }
    }
}
