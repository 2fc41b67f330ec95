//! A backbone that takes no more: updates are merged for each item instead of
//! being lost, and servers are told that the hub takes no new requests.
//!
//! ```text
//!  queue of the port   0 %        low        high                      100 %
//!                      ├───────────┼──────────┼──────────────────────────┤
//!  while it grows      updates go out as they come   each is merged at its item
//!  while it falls      the end     merges go out     each is merged at its item
//! ```
//!
//! What remains of the queue above the upper bound is for what cannot be merged:
//! images, states, answers. Everything of an item goes out in its order: what was
//! merged of it goes before whatever else it has to say
//! ([`flush_merges`](super::item::Item::flush_merges)).

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_cache::{Conflation, Limits, Merged};
use tapeline_rwf::UpdateMsg;
use tapeline_time::Time;

use super::Core;
use super::backlog::Work;
use super::timers::ms;
use crate::Outputs;

/// How often the queue is looked at while it is too full, if nothing else happens.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);

/// When it was over for so long, servers are told that requests are taken again. What
/// they were told before stands behind all that waited then: taken back at once, it
/// would reach them together with that.
const CALM: Duration = Duration::from_secs(1);

/// Whether more waits for the backbone than should, and what was merged for that.
#[derive(Debug, Default)]
pub(super) struct Pressure {
    /// Since when.
    since: Option<Time>,
    /// When the queue is looked at again at the latest.
    look_at: Option<Time>,
    /// Servers are told that no requests are taken,
    is_told: bool,
    /// and when they are told that requests are.
    calm_at: Option<Time>,
    merges: Merges,
}

/// Items of which updates are merged.
#[derive(Debug, Default)]
struct Merges {
    /// What each was charged with. One whose merges went out before their turn is
    /// among them until that comes.
    charged: BTreeMap<u32, usize>,
    bytes: usize,
    /// Where the next turn begins.
    turn: u32,
}

impl Merges {
    fn charge(&mut self, id: u32, bytes: usize) {
        let before = self.charged.insert(id, bytes).unwrap_or(0);
        self.bytes = self.bytes - before + bytes;
    }

    /// The next item, round and round.
    fn next(&mut self) -> Option<u32> {
        let from_turn = self.charged.range(self.turn..).next();
        let (id, bytes) = from_turn.or_else(|| self.charged.first_key_value())?;
        let (id, bytes) = (*id, *bytes);
        self.charged.remove(&id);
        self.bytes -= bytes;
        self.turn = id.wrapping_add(1);
        Some(id)
    }
}

impl Pressure {
    /// Updates are merged.
    #[inline]
    pub(super) const fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// No requests are taken.
    pub(super) const fn takes_no_requests(&self) -> bool {
        self.is_told
    }

    /// When there is something to do.
    pub(super) const fn deadline(&self) -> Option<Time> {
        // While it is on nobody waits for the calm behind it.
        if self.look_at.is_some() { self.look_at } else { self.calm_at }
    }

    /// Items of which updates are merged, or were, and bytes of those.
    pub(super) fn merged(&self) -> (usize, usize) {
        (self.merges.charged.len(), self.merges.bytes)
    }

    /// What an item is charged with.
    pub(super) fn charge_of(&self, id: u32) -> Option<usize> {
        self.merges.charged.get(&id).copied()
    }

    /// What all are charged with, added up.
    pub(super) fn charged_bytes(&self) -> usize {
        self.merges.charged.values().sum()
    }
}

fn merges() -> Conflation {
    Conflation::new(Limits::CONFLATION)
}

/// What merged updates of an item take.
pub(super) fn bytes_of(merges: &Conflation) -> usize {
    size_of::<Conflation>() + merges.bytes()
}

impl Core {
    /// Whether updates are merged, as the backbone takes no more.
    pub fn is_pressed(&self) -> bool {
        self.pressure.is_on()
    }

    /// Looks at how full the queue to the backbone is. To be called in each turn,
    /// and between messages where many are read.
    pub fn look_at_backbone(&mut self, now: Time, out: &mut impl Outputs) {
        let percent = out.queue_percent();
        let bounds = self.config.pressure;
        let Some(since) = self.pressure.since else {
            if percent > bounds.high_percent {
                self.pressure.since = Some(now);
                self.pressure.look_at = Some(now.after(LOOK_INTERVAL));
                self.pressure.calm_at = None;
                self.counters.pressures += 1;
                if !std::mem::replace(&mut self.pressure.is_told, true) {
                    self.backlog.add(Work::Pressed { next: 0 });
                }
            } else if self.pressure.calm_at.is_some_and(|at| at <= now) {
                (self.pressure.calm_at, self.pressure.is_told) = (None, false);
                self.backlog.add(Work::Pressed { next: 0 });
            }
            return;
        };
        if percent >= bounds.low_percent {
            self.pressure.look_at = Some(now.after(LOOK_INTERVAL));
            return;
        }
        self.release_merges(bounds.low_percent, out);
        self.pressure.look_at = Some(now);
        if self.pressure.merges.charged.is_empty() && out.queue_percent() < bounds.low_percent {
            (self.pressure.since, self.pressure.look_at) = (None, None);
            self.pressure.calm_at = Some(now.after(CALM));
            self.counters.pressure_ms += now.since(since).as_millis() as u64;
        }
    }

    /// Sends what was merged, item by item, while the queue stays short.
    fn release_merges(&mut self, low_percent: u8, out: &mut impl Outputs) {
        for _ in 0..self.config.limits.items_per_slice.max(1) {
            if out.queue_percent() >= low_percent {
                break;
            }
            let Some(id) = self.pressure.merges.next() else { break };
            if self.items.get(id).is_some_and(|item| item.merges.is_some())
                && let Some(item) = self.items.get_mut(id)
            {
                item.flush_merges(id, out);
            }
        }
        self.items.settle();
    }

    /// Merges an update with others of its item. False: it is to be sent as it is.
    pub(super) fn merge(
        &mut self,
        now: Time,
        id: u32,
        update: &UpdateMsg<'_>,
        out: &mut impl Outputs,
    ) -> bool {
        let Some(item) = self.items.known_mut(id) else { return false };
        if item.interests.is_empty() {
            return false;
        }
        if item.merges.as_ref().is_some_and(|merges| !merges.can_count(update)) {
            item.flush_merges(id, out);
        }
        let charged = &mut self.pressure.merges;
        let is_full = charged.bytes >= self.config.pressure.merged_bytes;
        if is_full && item.merges.is_none() {
            return false;
        }
        let merges = item.merges.get_or_insert_with(|| Box::new(merges()));
        if merges.merge(ms(now), update) != Merged::Yes {
            if merges.is_empty() {
                item.merges = None;
            }
            return false;
        }
        self.counters.updates_merged += 1;
        match is_full {
            false => charged.charge(id, bytes_of(merges)),
            true => item.flush_merges(id, out),
        }
        true
    }

    /// The next service of which servers are told whether it takes requests. Whether
    /// there may be more.
    pub(super) fn tell_pressed(&mut self, next: &mut u32, out: &mut impl Outputs) -> bool {
        let is_left = |id: &u16| u32::from(*id) >= *next;
        let Some(id) = self.services.iter().map(|(id, _)| id).find(is_left) else { return false };
        *next = u32::from(id) + 1;
        self.say_service(id, out);
        true
    }
}
