//! Entries that cannot be gone: whoever asks has their number from a table that
//! must forget it first.

use tapeline_channel::SessionId;

use super::hubs::{Hub, Hubs};
use super::item::{HubIndex, Item, Items};
use super::mount::{Mount, Mounts};

impl Items {
    /// An item that is there: another table, or who calls, has its slot.
    #[inline]
    #[track_caller]
    pub(super) fn known(&self, slot: u32) -> Option<&Item> {
        let item = self.get(slot);
        debug_assert!(item.is_some(), "item {slot} is gone, and another table has its slot");
        item
    }

    /// The same to change.
    #[inline]
    #[track_caller]
    pub(super) fn known_mut(&mut self, slot: u32) -> Option<&mut Item> {
        let item = self.get_mut(slot);
        debug_assert!(item.is_some(), "item {slot} is gone, and another table has its slot");
        item
    }
}

impl Mounts {
    /// The mount of a session that is handled: its messages come from one that
    /// is there.
    #[inline]
    #[track_caller]
    pub(super) fn known(&self, session: SessionId) -> Option<&Mount> {
        let mount = self.get(session);
        debug_assert!(mount.is_some(), "the mount of {session:?} is gone, and was asked");
        mount
    }

    /// The same to change.
    #[inline]
    #[track_caller]
    pub(super) fn known_mut(&mut self, session: SessionId) -> Option<&mut Mount> {
        let mount = self.get_mut(session);
        debug_assert!(mount.is_some(), "the mount of {session:?} is gone, and was asked");
        mount
    }
}

impl Hubs {
    /// A hub that is there: another table, or who calls, has its index.
    #[inline]
    #[track_caller]
    pub(super) fn known(&self, index: HubIndex) -> Option<&Hub> {
        let hub = self.get(index);
        debug_assert!(hub.is_some(), "hub {index} is gone, and another table has its index");
        hub
    }

    /// The same to change.
    #[inline]
    #[track_caller]
    pub(super) fn known_mut(&mut self, index: HubIndex) -> Option<&mut Hub> {
        let hub = self.get_mut(index);
        debug_assert!(hub.is_some(), "hub {index} is gone, and another table has its index");
        hub
    }
}
