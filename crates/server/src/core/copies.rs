//! Copies by mount: what a mount gets of the updates of a turn is written in one
//! go.
//!
//! An update goes to many mounts, and the next one to as many: copied one update
//! after the other, each copy begins with a walk from the mount to its session, the
//! session's connection and the frame that this one is filling, through memory that
//! the other mounts have driven out of the cache. So where a turn has many updates
//! they wait, and each mount is gone to once:
//!
//! ```text
//!   update ──▶ originals: its bytes, once
//!        └──▶ each of its watchers: lane of the mount ◀── which original, which stream id
//!   ...
//!   spread: of each mount with copies, lane ──▶ the frame being filled, one behind the other
//! ```
//!
//! What it promises:
//!
//! * **A mount gets the bytes that it would get if nothing waited.** A copy waits only
//!   if its session has [credit](crate::Outputs::credit) for it: then sending it does
//!   nothing but add it to the frame that is being filled, whatever else waits, and
//!   it may as well be done later, if only nothing else is done with the session
//!   before. What has no credit, which is where frames end and thresholds are
//!   met, is sent at once, behind what waits for that mount.
//! * **Nothing else is done with a session before.** There is one rule: whatever
//!   is not an update as it comes sends all that waits first, for all mounts. These
//!   are all other frames and events, updates with a key or with what not
//!   everybody may see, mounts in trouble, merged updates that are sent.
//! * **Nothing waits at the end of a turn.** Who says [`gather`](super::Core::gather)
//!   says [`spread`](super::Core::spread) behind the last frame. Without the former
//!   nothing ever waits.
//! * **A turn with little in it is none the slower.** Updates wait only if one of the
//!   turns before had several for many ([`When::Busy`]). One that would be the first to
//!   wait and has only few watchers does not.
//!
//! It touches, for a copy that is taken, the subscription, 8 bytes of state and 8 of
//! the lane; for a copy that is written, the lane again, the original, which is in
//! the cache, and the output. The lanes take 520 bytes a mount, from the first busy
//! turn on.
//!
//! JSON mounts have no credit: a message that is wanted as text is converted and
//! copied as it comes, once for all of one form.

use tapeline_channel::{Sent, SessionId};
use tapeline_planted::planted;
use tapeline_rssl::{CopyOf, Original, Originals};

use super::Core;
use super::mount::Gate;
use super::rows::Cell;
use super::subscription::Subscription;
use super::trouble::Trouble;
use crate::{Outputs, Shared};

/// When updates wait to be copied by mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum When {
    /// In turns that are likely to have many for many.
    #[default]
    Busy,
    /// Always: for tests.
    Always,
    /// Never: to compare.
    Never,
}

/// A turn with so many updates for several mounts makes the next ones busy,
const MANY: u32 = 4;
/// so many of those that have updates: what comes at once need not come in one turn.
const BUSY_TURNS: u32 = 4;

/// Most updates that wait. They stay in the nearest cache.
const MOST_UPDATES: usize = 64;
const MOST_BYTES: usize = 16 << 10;

/// Most copies that wait: so many are written in some tenths of a millisecond.
const MOST_COPIES: u32 = 16_384;

/// The state of a mount's copies, and the copies behind it.
const LANE: usize = 64;

/// In the state of a lane: the copies in it,
const COPIES_SHIFT: u32 = 32;
/// and below that, how many bytes the session has credit for. Neither can be beyond
/// its bound without one of these bits.
const BEYOND: u64 = (LANE as u64) << COPIES_SHIFT | CREDIT_BELOW as u64;
const CREDIT_BELOW: u32 = 1 << 31;

/// What waits for a mount.
///
/// ```text
///   | copies: 32, credit in bytes: 32 | copy | copy | ...
/// ```
///
/// Both counts are in one word, so that one addition counts a copy, and one
/// comparison says whether it may be. All 0, as it is for who is not in the list of
/// those with copies, is no credit.
///
/// The last place is not used: lanes that are a power of two apart would be in each
/// other's way in the nearest cache, where they have their newest copies in the same
/// few sets.
#[derive(Clone, Copy, Debug)]
struct Lane([CopyOf; LANE + 1]);

impl Lane {
    const EMPTY: Self = Self([CopyOf::from_bits(0); LANE + 1]);

    /// Adds a copy if there is credit, and room.
    #[inline]
    fn add(&mut self, step: u64, copy: CopyOf) -> bool {
        let state = self.0[0].bits().wrapping_add(step);
        if state & BEYOND != 0 {
            return false;
        }
        self.0[0] = CopyOf::from_bits(state);
        self.0[(state >> COPIES_SHIFT) as usize % LANE] = copy;
        true
    }

    fn copies(&self) -> &[CopyOf] {
        let count = (self.0[0].bits() >> COPIES_SHIFT) as usize;
        self.0.get(1..=count).unwrap_or_default()
    }

    /// Nothing is in it, and there is so much credit.
    fn begin(&mut self, credit: usize) {
        let credit = credit.min(CREDIT_BELOW as usize - 1);
        self.0[0] = CopyOf::from_bits(credit as u64);
    }
}

/// An update that is being gathered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gathered {
    original: Original,
    /// What a copy adds to the state of a lane.
    step: u64,
}

impl Gathered {
    const fn new(original: Original) -> Self {
        let step = (1_u64 << COPIES_SHIFT).wrapping_sub(original.packed_bytes() as u64);
        Self { original, step }
    }
}

/// Where a copy goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct To {
    pub(super) mount: u32,
    pub(super) session: SessionId,
    pub(super) stream_id: i32,
}

/// Updates that wait, and for whom.
#[derive(Debug, Default)]
pub(super) struct Copies {
    originals: Originals,
    /// By number of the mount.
    lanes: Vec<Lane>,
    /// Mounts whose lanes are in use.
    begun: Vec<u32>,
    /// Copies that wait, and those that were sent behind them.
    count: u32,
    /// Copies that ever waited.
    taken: u64,
    pub(super) when: When,
    /// Updates may wait.
    is_open: bool,
    /// Updates in this turn, and those of them for several mounts.
    updates: u32,
    wide: u32,
    /// Turns with updates that are still taken for busy ones.
    busy_turns: u32,
}

impl Copies {
    /// Whether the next update waits, which is for few mounts or not.
    #[inline]
    pub(super) fn gathers(&self, is_for_few: bool) -> bool {
        debug_assert!(self.is_open);
        !is_for_few || self.are_waiting() || self.when == When::Always
    }

    /// Whether updates may wait.
    #[inline]
    pub(super) const fn is_open(&self) -> bool {
        self.is_open
    }

    /// An update had so many copies that wait, or could have waited.
    #[inline]
    pub(super) fn note_width(&mut self, copies: u64) {
        self.updates += 1;
        self.wide += u32::from(copies > 2);
    }

    /// Whether something waits.
    #[inline]
    pub(super) const fn are_waiting(&self) -> bool {
        !self.originals.is_empty()
    }

    /// Whether all that waits is to be sent, before it is too much.
    pub(super) const fn are_many(&self) -> bool {
        self.count >= MOST_COPIES
            || self.originals.len() >= MOST_UPDATES
            || self.originals.bytes() >= MOST_BYTES
    }

    /// Copies that ever waited.
    pub(super) const fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes an update. `None`: it cannot wait.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Option<Gathered> {
        self.originals.push(bytes).map(Gathered::new)
    }

    /// Takes copies of an update for those of these subscriptions that take it as it
    /// is and have credit. The others are put down in `left`.
    #[inline]
    pub(super) fn add<'a>(
        &mut self,
        update: Gathered,
        rows: impl Iterator<Item = &'a [Subscription]>,
        left: &mut Vec<Cell>,
    ) -> u64 {
        let mut count = 0;
        for (row, subscriptions) in rows.enumerate() {
            let mut column = 0;
            while let Some(rest) = subscriptions.get(column..).filter(|rest| !rest.is_empty()) {
                let added = add_run(&mut self.lanes, update, rest);
                (column, count) = (column + added, count + added);
                if added < rest.len() {
                    left.push(Cell::new(row, column));
                    column += 1;
                }
            }
        }
        self.count += count as u32;
        self.taken += count as u64;
        count as u64
    }

    /// Takes a copy of an update for a mount whose credit is spent or not known, or
    /// sends it at once.
    pub(super) fn send<O: Outputs>(
        &mut self,
        update: Gathered,
        to: To,
        shared: &mut Shared,
        (trouble, out): (&mut Trouble, &mut O),
    ) -> bool {
        let Self { originals, lanes, begun, count, taken, .. } = self;
        let copy = CopyOf::new(update.original, to.stream_id);
        let Some(lane) = lanes.get_mut(to.mount as usize) else {
            debug_assert!(false, "no mount comes while updates wait");
            return false;
        };
        *count += 1;
        if lane.add(update.step, copy) {
            *taken += 1;
            return true;
        }
        let is_new = lane.0[0].bits() == 0;
        if !is_new {
            write(originals, lane, to.session, (trouble, out));
            // It may have been full, with credit left.
            lane.begin(out.credit(to.session));
            if lane.add(update.step, copy) {
                *taken += 1;
                return true;
            }
        }
        let sent = out.send_shared(to.session, to.stream_id, originals.message(copy), shared);
        let credit = if sent == Sent::Queued { out.credit(to.session) } else { 0 };
        lane.begin(credit);
        if is_new && credit > 0 {
            begun.push(to.mount);
        }
        trouble.note(to.session, sent)
    }

    /// Sends all that waits, mount by mount.
    fn write_all<O: Outputs>(&mut self, gates: &[Gate], (trouble, out): (&mut Trouble, &mut O)) {
        let Self { originals, lanes, begun, count, .. } = self;
        for mount in begun.drain(..) {
            let gate = gates.get(mount as usize).and_then(|gate| gate.open());
            let (Some(lane), Some(session)) = (lanes.get_mut(mount as usize), gate) else {
                debug_assert!(false, "gates are not shut while copies wait");
                continue;
            };
            write(originals, lane, session, (trouble, out));
            lane.begin(0);
        }
        originals.clear();
        *count = 0;
    }
}

/// Takes copies of an update for these subscriptions, up to the first one for which it
/// cannot be done; for how many that is.
#[inline(never)]
fn add_run(lanes: &mut [Lane], update: Gathered, subscriptions: &[Subscription]) -> usize {
    let Gathered { original, step } = update;
    let mut left = subscriptions.iter();
    while let Some(subscription) = left.next() {
        let stream_id = if planted!(UnpatchedStreamId) { 0 } else { subscription.stream_id() };
        let copy = CopyOf::new(original, stream_id);
        let lane = lanes.get_mut(subscription.mount_if_plain());
        if !lane.is_some_and(|lane| lane.add(step, copy)) {
            return subscriptions.len() - left.len() - 1;
        }
    }
    subscriptions.len()
}

/// Writes what is in a lane.
#[inline]
fn write<O: Outputs>(
    originals: &Originals,
    lane: &Lane,
    session: SessionId,
    (trouble, out): (&mut Trouble, &mut O),
) {
    let copies = lane.copies();
    if copies.is_empty() || planted!(LostCopies) {
        return;
    }
    let written = out.send_copies(session, originals, copies);
    if written < copies.len() {
        debug_assert!(false, "there was credit for {} copies, not {written}", copies.len());
        for copy in copies.iter().skip(written) {
            let sent = out.send_on(session, copy.stream_id(), originals.message(*copy));
            trouble.note(session, sent);
        }
    }
}

impl Core {
    /// Has updates wait from here on, if there are likely to be many of them:
    /// [`spread`](Self::spread) must follow.
    pub fn gather(&mut self) {
        let Self { copies, mounts, .. } = self;
        copies.is_open = match copies.when {
            When::Busy => copies.busy_turns > 0,
            When::Always => true,
            When::Never => false,
        };
        if copies.is_open && copies.lanes.len() < mounts.gates.len() {
            copies.lanes.resize(mounts.gates.len(), Lane::EMPTY);
        }
    }

    /// Sends the updates that wait, and has none wait any more.
    pub fn spread<O: Outputs>(&mut self, out: &mut O) {
        self.write_copies(out);
        self.copies.is_open = false;
        let Copies { updates, wide, busy_turns, .. } = &mut self.copies;
        if *wide >= MANY {
            *busy_turns = BUSY_TURNS;
        } else if *updates > 0 {
            *busy_turns = busy_turns.saturating_sub(1);
        }
        (*updates, *wide) = (0, 0);
        self.settle(out);
    }

    /// Sends the updates that wait. Others may wait behind them.
    #[inline]
    pub(super) fn copies_first<O: Outputs>(&mut self, out: &mut O) {
        if self.copies.are_waiting() && !planted!(OvertakenCopies) {
            self.write_copies(out);
        }
    }

    #[inline(never)]
    fn write_copies<O: Outputs>(&mut self, out: &mut O) {
        let Self { copies, mounts, trouble, .. } = self;
        copies.write_all(&mounts.gates, (trouble, out));
    }

    /// Updates that were merged into others, and copies that wait or did: what a turn
    /// does beside what it sends at once.
    pub(crate) const fn work_done(&self) -> u64 {
        self.statistics.updates_merged + self.copies.taken()
    }

    /// When updates are to wait.
    pub fn copy_by_mount(&mut self, when: When) {
        self.copies.when = when;
    }
}
