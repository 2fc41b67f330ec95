//! What few items have.

use tapeline_omm::Text;
use tapeline_rwf::{Msg, RequestFlags};

use super::Item;
use crate::core::sift::EntryLocks;

/// What few items have.
#[derive(Debug, Default)]
pub(super) struct Rare {
    /// The request of a private stream as it is to be sent.
    request: Option<Box<[u8]>>,
    /// It was not sent since it changed.
    is_unsent: bool,
    /// The words of its state.
    pub(super) state_text: Text,
    /// The locks of its entries.
    entry_locks: Option<Box<EntryLocks>>,
    /// Whether some who watch it are still to be looked at.
    recheck: Option<Recheck>,
    /// How many gaps its hub had when the image began that is coming in parts.
    gaps_at_begin: Option<u8>,
}

/// Those who watch an item of which another guard became known are looked at, a
/// slice at a time.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::core) struct Recheck {
    /// An update or an image went out meanwhile, and not to those.
    pub(in crate::core) is_missed: bool,
}

impl Item {
    /// The request of a private stream as it is to be sent.
    pub(in crate::core) fn request(&self) -> Option<&[u8]> {
        self.rare.as_ref()?.request.as_deref()
    }

    /// Whether its own request, as that of a private stream, pauses it.
    pub(in crate::core) fn pauses_itself(&self) -> bool {
        let msg = self.request().map(Msg::decode);
        matches!(msg, Some(Ok(Msg::Request(msg))) if msg.flags.contains(RequestFlags::PAUSE))
    }

    pub(in crate::core) fn set_request(&mut self, bytes: &[u8]) {
        self.change_rare(|rare| (rare.request, rare.is_unsent) = (Some(bytes.into()), true));
    }

    /// Takes note that the request of a private stream is sent. Whether it was not,
    /// and whether it wants an image.
    pub(in crate::core) fn take_unsent(&mut self) -> Option<bool> {
        let rare = self.rare.as_deref_mut()?;
        if !std::mem::take(&mut rare.is_unsent) {
            return None;
        }
        let Ok(Msg::Request(request)) = Msg::decode(rare.request.as_deref()?) else { return None };
        let no_image = RequestFlags::NO_REFRESH | RequestFlags::PAUSE;
        Some(!request.flags.intersects(no_image))
    }

    pub(super) fn change_rare(&mut self, change: impl FnOnce(&mut Rare)) {
        let mut rare = self.rare.take().unwrap_or_default();
        change(&mut rare);
        let is_needed = rare.request.is_some()
            || !rare.state_text.is_empty()
            || rare.entry_locks.is_some()
            || rare.recheck.is_some()
            || rare.gaps_at_begin.is_some();
        self.rare = is_needed.then_some(rare);
    }

    /// The locks of its entries, if any has one.
    pub(in crate::core) fn entry_locks(&self) -> Option<&EntryLocks> {
        self.rare.as_ref()?.entry_locks.as_deref()
    }

    /// Takes them out, to be changed.
    pub(in crate::core) fn take_entry_locks(&mut self) -> Option<Box<EntryLocks>> {
        self.rare.as_mut()?.entry_locks.take()
    }

    pub(in crate::core) fn set_entry_locks(&mut self, locks: Option<Box<EntryLocks>>) {
        if locks.is_some() || self.entry_locks().is_some() {
            self.change_rare(|rare| rare.entry_locks = locks);
        }
    }

    /// How many gaps its hub had when the image began that is coming in parts.
    pub(in crate::core) fn gaps_at_begin(&self) -> Option<u8> {
        self.rare.as_ref()?.gaps_at_begin
    }

    pub(in crate::core) fn set_gaps_at_begin(&mut self, gaps: Option<u8>) {
        if gaps != self.gaps_at_begin() {
            self.change_rare(|rare| rare.gaps_at_begin = gaps);
        }
    }

    /// Whether those who watch it are being looked at.
    pub(in crate::core) fn recheck(&self) -> Option<Recheck> {
        self.rare.as_ref()?.recheck
    }

    pub(in crate::core) fn set_recheck(&mut self, recheck: Option<Recheck>) {
        if recheck.is_some() || self.recheck().is_some() {
            self.change_rare(|rare| rare.recheck = recheck);
        }
    }

    /// Something goes out that is not for those who are still to be looked at.
    pub(in crate::core) fn note_missed(&mut self) {
        if self.recheck().is_some() {
            self.set_recheck(Some(Recheck { is_missed: true }));
        }
    }
}
