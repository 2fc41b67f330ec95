//! Items that are open go, so many a second at most, to the source that they would be
//! asked for at now, where that is much better placed.
//!
//! ```text
//!                 a second                          a second
//!   ──┬─────────────────────────────┬───────────────────────────────▶
//!     look: which source is crowded?  look again, when none of these
//!     N of its items are asked for    is on its way any more
//!     at others, each goes on there
//!     when its image is complete
//! ```
//!
//! A source is crowded where another one is asked before it (rank, order), is less loaded
//! by more than [`MARGIN`], or is no more loaded and has less than nine tenths of its
//! items for its weight. Items move as those of a source that leaves do (see `routes`), so
//! no consumer hears more of it than an image (`FAILOVER_COMPLETED`: this source may be a
//! little behind that one). Mirrored services have all items at all
//! sources, and nothing to balance.

use std::collections::BTreeMap;

use tapeline_time::Time;

use super::super::Core;
use super::super::backlog::Work;
use super::super::routes::LEAVE_MS;
use super::super::services::HubService;
use super::super::source::Source;
use super::super::timers::{at_ms, ms};
use super::is_for_mirrors;
use crate::{Outputs, Rebalance};

/// Load factors that differ by no more are as good as the same (platform.md 2.2).
const MARGIN: u64 = 10;

/// How often sources are compared.
const LOOK_MS: u64 = 1_000;

/// In one look so many steps are taken to find items, beside those for each that may move.
const STEPS: u32 = 1_024;

/// Services of which what is open is balanced, by number.
#[derive(Debug, Default)]
pub(in crate::core) struct Balances(BTreeMap<u16, Balance>);

#[derive(Debug)]
struct Balance {
    per_s: u32,
    look_ms: u64,
    /// The source that items were taken from last, so that each that is crowded has its
    /// turn.
    turn: u32,
    /// Where the search for items goes on.
    next: u32,
    /// Items that are asked for at another source, and since when, in milliseconds.
    moving: BTreeMap<u32, u64>,
}

/// A look at a crowded source that goes on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    pub(crate) source: u32,
    pub(crate) service_id: u16,
    generation: u32,
    service: u16,
    /// How many items may still move, and how many steps may be taken to find them.
    moves: u32,
    steps: u32,
}

impl Balances {
    pub(in crate::core) fn deadline(&self) -> Option<Time> {
        self.0.values().map(|balance| at_ms(balance.look_ms)).min()
    }

    /// Whether an item of a service is on its way to another source.
    pub(in crate::core) fn is_moving(&self, service: u16, id: u32) -> bool {
        self.0.get(&service).is_some_and(|balance| balance.moving.contains_key(&id))
    }

    /// An item is not on its way any more. Whether it was.
    pub(in crate::core) fn end(&mut self, service: u16, id: u32) -> bool {
        self.0.get_mut(&service).is_some_and(|balance| balance.moving.remove(&id).is_some())
    }

    /// All that is on its way.
    pub(in crate::core) fn moving(&self) -> impl Iterator<Item = (u16, u32)> + '_ {
        let of = |(service, balance): (&u16, &Balance)| {
            let service = *service;
            balance.moving.keys().map(move |id| (service, *id)).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of)
    }
}

impl Core {
    /// The sources of a service changed: whether there are several, between which what is
    /// open is to be balanced.
    pub(in crate::core) fn look_for_balance(&mut self, now: Time, service: u16) {
        let Some(known) = self.services.get(service) else { return };
        let Rebalance::Slow { per_s } = known.rebalance else { return };
        if known.is_mirrored() || self.sources.offering(service).count() < 2 {
            if self.balances.0.get(&service).is_some_and(|balance| balance.moving.is_empty()) {
                self.balances.0.remove(&service);
            }
            return;
        }
        self.balances.0.entry(service).or_insert(Balance {
            per_s: per_s.max(1),
            look_ms: ms(now) + LOOK_MS,
            turn: 0,
            next: 0,
            moving: BTreeMap::new(),
        });
    }

    /// An item is where it is to be, or stays where it is: what another source was asked for
    /// is closed there.
    pub(in crate::core) fn end_balance(&mut self, id: u32) {
        let Some(service) = self.items.get(id).map(|item| item.service) else { return };
        let is_left = |it: &HubService| it.is_left;
        if self.balances.end(service, id) && !self.services.get(service).is_some_and(is_left) {
            self.forget_mirrors(id);
        }
    }

    /// Whether an item is on its way to a source that has less to do.
    pub(in crate::core) fn is_balanced(&self, id: u32) -> bool {
        let service = self.items.get(id).map(|item| item.service);
        service.is_some_and(|service| self.balances.is_moving(service, id))
    }

    /// Looks at the services whose second is over.
    pub(in crate::core) fn balance(&mut self, now: Time) {
        let is_due = |(_, balance): &(&u16, &Balance)| balance.look_ms <= ms(now);
        let due: Vec<_> = self.balances.0.iter().filter(is_due).map(|(id, _)| *id).collect();
        for service in due {
            self.give_up_slow_moves(now, service);
            let crowded = self.next_crowded(service);
            let Some(balance) = self.balances.0.get_mut(&service) else { continue };
            balance.look_ms = ms(now) + LOOK_MS;
            // What is on its way is not counted where it will be: no more until it is there.
            if let Some((source, service_id, generation)) = crowded
                && balance.moving.is_empty()
            {
                balance.turn = source;
                let moves = balance.per_s;
                let steps = moves.saturating_add(STEPS);
                let look = Look { source, service_id, generation, service, moves, steps };
                self.backlog.add(Work::Balance(look));
            }
        }
    }

    /// What another source did not answer in time stays where it is.
    fn give_up_slow_moves(&mut self, now: Time, service: u16) {
        let Some(balance) = self.balances.0.get(&service) else { return };
        let is_slow = |(_, since_ms): &(&u32, &u64)| **since_ms + LEAVE_MS <= ms(now);
        let slow: Vec<_> = balance.moving.iter().filter(is_slow).map(|(id, _)| *id).collect();
        for id in slow {
            self.end_balance(id);
        }
    }

    /// The next source, after the last, from which items would better be elsewhere.
    fn next_crowded(&self, service: u16) -> Option<(u32, u16, u32)> {
        let turn = self.balances.0.get(&service)?.turn;
        let mut places: Vec<_> = self
            .sources
            .offering(service)
            .filter(|(_, _, source)| source.is_interactive() && !source.gives_away())
            .map(|(index, service_id, _)| (index, service_id))
            .collect();
        places.sort_unstable_by_key(|place| (place.0 <= turn, *place));
        let is_crowded = |from: &(u32, u16)| {
            places.iter().any(|to| {
                let source = self.sources.get(to.0);
                source.is_some_and(|it| it.takes_requests(to.1) && !it.preference.drains)
                    && self.is_better_placed(*from, *to, 0)
            })
        };
        let (index, service_id) = places.iter().copied().find(is_crowded)?;
        let offer = self.sources.get(index)?.offers.get(&service_id)?;
        Some((index, service_id, offer.generation))
    }

    /// Whether an item of one source would be much better at another one. So many items of
    /// the first are on their way already.
    fn is_better_placed(&self, from: (u32, u16), to: (u32, u16), moving: u64) -> bool {
        let (Some(ours), Some(theirs)) = (self.sources.get(from.0), self.sources.get(to.0)) else {
            return false;
        };
        let (Some(here), Some(there)) = (ours.offers.get(&from.1), theirs.offers.get(&to.1)) else {
            return false;
        };
        let left = here.open.saturating_sub(moving);
        if from == to || left == 0 {
            return false;
        }
        let of = |source: &Source, rank: u16| (rank, source.preference.order);
        let (asked, asked_there) = (of(ours, here.rank), of(theirs, there.rank));
        if asked != asked_there {
            return asked_there < asked;
        }
        let (load, load_there) = (ours.load_factor(from.1), theirs.load_factor(to.1));
        if load.abs_diff(load_there) > MARGIN {
            return load_there < load;
        }
        // As full as this one is, and that one would be with one more.
        let coming = (there.mirrors.len() + there.mirrors.waiting()) as u64;
        let fullness = u128::from(ours.preference.fullness(left - 1));
        let fullness_there = u128::from(theirs.preference.fullness(there.open + coming));
        load_there <= load && 10 * fullness_there < 9 * fullness
    }

    /// The next item of a crowded source: where it would be much better elsewhere, it is
    /// asked for there. Whether there may be more.
    pub(in crate::core) fn balance_next(
        &mut self,
        now: Time,
        look: &mut Look,
        out: &mut impl Outputs,
    ) -> bool {
        let Look { source, service_id, generation, service, .. } = *look;
        let Some(balance) = self.balances.0.get(&service) else { return false };
        let (mut next, moving) = (balance.next, balance.moving.len() as u64);
        let (found, is_left) = self.next_bound((source, service_id, generation), &mut next);
        if let Some(balance) = self.balances.0.get_mut(&service) {
            balance.next = if is_left { next } else { 0 };
        }
        look.steps -= 1;
        let place = found.and_then(|id| Some((id, self.better_place(id, moving)?)));
        if let Some((id, place)) = place {
            look.moves -= 1;
            if let Some(balance) = self.balances.0.get_mut(&service) {
                balance.moving.insert(id, ms(now));
            }
            self.mirror_at(now, place, id, out);
        }
        is_left && look.moves > 0 && look.steps > 0
    }

    /// Where an item would be much better than where it is.
    fn better_place(&mut self, id: u32, moving: u64) -> Option<(u32, u16)> {
        let item = self.items.get(id)?;
        let from = item.binding?.offer();
        // One whose image is on its way has enough to wait for.
        if !is_for_mirrors(item) || !item.live || self.has_mirror(item.service, id) {
            return None;
        }
        let to = self.choose(id)?;
        self.is_better_placed(from, to, moving).then_some(to)
    }
}
