//! The memory of the process, where it has a bound.
//!
//! ```text
//!   0 % ──────────────────────────── 90 % ─────────── 95 % ──────────▶ memory-max-bytes
//!        requests open items          they are refused    images in the cache go, and
//!                                                         none are kept
//! ```
//!
//! What is let go is not in the cache any more: who asks for it gets the image that
//! its hub or source has.

use tapeline_channel::{SessionId, join_freed};
use tapeline_omm::is_administrative;
use tapeline_rwf::{DataState, RequestMsg, State, StateCode, StreamState};

use super::Core;
use super::item::Items;
use crate::{Note, Outputs};

/// From this part of its bound on, in percent, no items are opened,
const NO_OPENS_PERCENT: usize = 90;

/// and from here on images go.
const LET_GO_PERCENT: usize = 95;

/// Of the images in the cache this part goes each time that memory is looked at.
const PARTS: u32 = 8;

/// What is known of the memory of the process.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Memory {
    /// In percent of the bound; 0 without one.
    percent: usize,
    resident_bytes: usize,
    /// The next slot whose image goes.
    next_slot: u32,
}

impl Memory {
    const fn is_short(self) -> bool {
        self.percent >= NO_OPENS_PERCENT
    }

    /// What there was at the last look; 0 where nobody looks.
    pub(super) const fn resident_bytes(self) -> usize {
        self.resident_bytes
    }

    /// Whether images are not to be kept.
    pub(super) const fn is_scarce(self) -> bool {
        self.percent >= LET_GO_PERCENT
    }
}

impl Items {
    /// Lets go of the images of so many slots. Returns how many images it were.
    fn let_images_go(&mut self, from: u32, slots: u32) -> usize {
        let mut count = 0;
        for slot in from..from.saturating_add(slots) {
            let item = self.get_mut(slot).filter(|item| !item.in_parts);
            count += usize::from(item.is_some_and(|item| item.image.take().is_some()));
        }
        count
    }
}

impl Core {
    /// Whether memory had a bound when it was looked at last: where it has none any more,
    /// one more look ends what there was for lack of memory.
    pub(crate) const fn had_memory_bound(&self) -> bool {
        self.memory.percent > 0
    }

    /// The process has so much memory.
    pub(super) fn on_memory<O: Outputs>(&mut self, resident_bytes: usize, out: &mut O) {
        let max = self.config.limits.memory_max_bytes;
        let was_short = self.memory.is_short();
        self.memory.percent = resident_bytes.saturating_mul(100).checked_div(max).unwrap_or(0);
        self.memory.resident_bytes = if max > 0 { resident_bytes } else { 0 };
        if self.memory.is_short() != was_short {
            out.note(Note::Memory { resident_bytes, max_bytes: max, is_short: !was_short });
        }
        if self.memory.is_scarce() {
            let all = self.items.slots().end;
            let slots = all.div_ceil(PARTS);
            let from = self.memory.next_slot;
            let gone = self.items.let_images_go(from, slots);
            self.statistics.images_let_go += gone as u64;
            let next = from.saturating_add(slots);
            self.memory.next_slot = if next < all { next } else { 0 };
            join_freed();
        }
    }

    /// Refuses a request that opens an item, where memory is short. Whether it did.
    pub(super) fn lacks_memory<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        out: &mut O,
    ) -> bool {
        let lacks = self.memory.is_short() && !is_administrative(msg.domain);
        if lacks {
            self.statistics.opens_limited += 1;
            self.refuse(session, msg, &NO_MEMORY, out);
        }
        lacks
    }
}

/// Closed, as with too many items: who recovers by itself would ask at once.
const NO_MEMORY: State<'static> = State::new(
    StreamState::CLOSED,
    DataState::SUSPECT,
    StateCode::NO_RESOURCES,
    "The server is short of memory",
);
