//! Another list of routes while the hub works.
//!
//! ```text
//!  a route that is           is dealt with so
//!  new                       a source, connected at once
//!  there, with other wishes  its order, weight, items and drain hold for what is asked next
//!  there, another way        a source the other way; the one before leaves
//!  not there any more        its source leaves
//! ```
//!
//! Routes are the same by their names. A source that leaves is asked for nothing new.
//! What is open there is asked for at another source as well, within that one's window,
//! and goes on with it when its image is complete and good (see `mirrors`): no consumer
//! hears more of it than an image, and no update is missed. The source is closed when it
//! has no item left, or after [`LEAVE_MS`]; then those that are left are lost, as they
//! would be with any source. These are private streams, snapshots, and what no other
//! source has.

use tapeline_time::Time;

use super::Core;
use super::backlog::Work;
use super::source::{Phase, Preference, Source, SourceKind};
use super::timers::ms;
use crate::{Outputs, Route};

/// How long what a source has may take to go on at another one, in milliseconds. Less
/// than a change of the configuration is watched for: one by which something is lost is
/// taken back.
pub(super) const LEAVE_MS: u64 = 20_000;

/// Why its session is closed.
pub(super) const LEFT: &str = "the source is not configured any more";

/// What another list of routes is, by the numbers that routes have for as long as the
/// hub keeps them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteChanges {
    /// Those that are new, or that go another way than before.
    pub added: Vec<usize>,
    /// Those whose sources leave.
    pub left: Vec<usize>,
}

impl Core {
    /// Has other routes from now on. The shell connects those that are new when it is
    /// asked to.
    pub fn adopt_routes(
        &mut self,
        now: Time,
        routes: &[Route],
        out: &mut impl Outputs,
    ) -> RouteChanges {
        let mut changes = RouteChanges { added: Vec::new(), left: self.routes_that_stay() };
        for route in routes {
            let is_it = |number: &usize| self.config.routes[*number].name == route.name;
            let known = changes.left.iter().position(is_it);
            match known.map(|place| (place, changes.left[place])) {
                Some((place, number)) if self.config.routes[number].is_same_way(route) => {
                    changes.left.remove(place);
                    self.prefer(number, route);
                }
                // The one before makes room when this one has what is open there.
                _ => changes.added.push(self.add_route(route)),
            }
        }
        for number in &changes.left {
            self.leave_route(now, *number, out);
        }
        self.work_off(now, out);
        self.settle(now, out);
        changes
    }

    /// Routes of which no source leaves.
    fn routes_that_stay(&self) -> Vec<usize> {
        let of_source = |(_, source): (u32, &Source)| match source.kind {
            SourceKind::Route(number) if !source.leaves => Some(number),
            SourceKind::Route(_) | SourceKind::Provider => None,
        };
        let mut numbers: Vec<_> = self.sources.iter().filter_map(of_source).collect();
        numbers.sort_unstable();
        numbers
    }

    /// A source is asked in another order, or for other items, from now on.
    fn prefer(&mut self, number: usize, route: &Route) {
        self.config.routes[number] = route.clone();
        let index = self.sources.of_route(number);
        let Some(source) = index.and_then(|index| self.sources.known_mut(index)) else { return };
        source.preference = Preference::of(route);
        source.preference.drains |= source.is_drained;
        let services: Vec<_> = source.offers.values().map(|offer| offer.service).collect();
        for service in services {
            self.service_changed(service);
        }
    }

    fn add_route(&mut self, route: &Route) -> usize {
        let number = self.sources.free_route();
        if number == self.config.routes.len() {
            self.config.routes.push(route.clone());
        } else {
            self.config.routes[number] = route.clone();
        }
        let max_services = self.config.limits.max_services;
        self.sources.insert_route(number, route, max_services);
        number
    }

    fn leave_route(&mut self, now: Time, number: usize, out: &mut impl Outputs) {
        let Some(index) = self.sources.of_route(number) else { return };
        let Some(source) = self.sources.known_mut(index) else { return };
        source.leaves = true;
        source.preference.drains = true;
        let has_items = source.item_count() > 0;
        match (source.phase, source.session) {
            // Its items are still being told that it is lost: then it goes.
            (Phase::Down, _) if self.backlog.mourns(index) => {}
            (Phase::Down, _) => self.forget_route(index),
            // The shell says how that ended.
            (Phase::Connecting, _) => {}
            _ if has_items => {
                source.deadline_ms = Some(ms(now) + LEAVE_MS);
                let offers: Vec<_> = source.offers.values().map(|offer| offer.service).collect();
                for service in offers {
                    // From now on: what is asked for there meanwhile is to move, too.
                    self.note_leaving(service);
                    self.service_changed(service);
                }
            }
            _ => self.give_up(index, LEFT, out),
        }
    }

    /// A source is asked for nothing new, and what is open there goes to others as that of
    /// one that leaves does; but it stays, with what no other has. Or it is asked again.
    /// Whether there is such a source.
    pub fn drain_source(
        &mut self,
        now: Time,
        name: &str,
        drains: bool,
        out: &mut impl Outputs,
    ) -> bool {
        let is_it = |number: &usize| self.config.routes[*number].name == name;
        let Some(number) = self.routes_that_stay().into_iter().find(is_it) else { return false };
        let index = self.sources.of_route(number);
        let Some(source) = index.and_then(|index| self.sources.known_mut(index)) else {
            return false;
        };
        source.is_drained = drains;
        source.preference.drains = drains || self.config.routes[number].drains;
        let services: Vec<_> = source.offers.values().map(|offer| offer.service).collect();
        for service in services {
            let was_left = self.services.get(service).is_some_and(|known| known.is_left);
            self.note_leaving(service);
            if !drains && was_left {
                self.stop_moving(service);
            }
            self.service_changed(service);
        }
        self.work_off(now, out);
        self.settle(now, out);
        true
    }

    /// Nothing of a service leaves its source any more: what others were asked for meanwhile
    /// is closed.
    fn stop_moving(&mut self, service: u16) {
        let is_left = self.services.get(service).is_some_and(|known| known.is_left);
        if is_left || self.is_mirrored(service) {
            return;
        }
        let moving: Vec<_> = self
            .sources
            .offering(service)
            .filter_map(|(_, service_id, source)| source.offers.get(&service_id))
            .flat_map(|offer| offer.mirrors.items().map(|(_, id)| id))
            .filter(|id| !self.balances.is_moving(service, *id))
            .collect();
        for id in moving {
            self.forget_mirrors(id);
        }
    }

    /// What is open of a service at sources that give it away is asked for at others, if
    /// that is not done already, as of mirrored ones.
    pub(super) fn move_to_others(&mut self, service: u16) {
        if self.is_mirrored(service) {
            return;
        }
        let leaving = self.sources.offering(service).filter(|(_, _, source)| source.gives_away());
        let works: Vec<_> = leaving
            .filter_map(|(source, service_id, known)| {
                let generation = known.offers.get(&service_id)?.generation;
                Some(Work::Move { source, service_id, generation, next: 0 })
            })
            .collect();
        for work in works {
            self.backlog.add(work);
        }
    }

    /// The next item of a source that leaves: it is asked for at another one. Whether
    /// there may be more.
    pub(super) fn move_next(
        &mut self,
        now: Time,
        place: (u32, u16, u32),
        next: &mut u32,
        out: &mut impl Outputs,
    ) -> bool {
        let (found, is_left) = self.next_bound(place, next);
        if let Some(id) = found {
            self.mirror(now, id, out);
        }
        is_left
    }

    /// An item of a source that leaves is asked for at the one that would be chosen for it.
    pub(super) fn begin_move(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(service) = self.items.get(id).map(|item| item.service) else { return };
        if !self.is_to_move(id) || self.has_mirror(service, id) {
            return;
        }
        if let Some(place) = self.choose(id) {
            self.mirror_at(now, place, id, out);
        }
    }

    /// Works out whether a source of a service leaves.
    pub(super) fn note_leaving(&mut self, service: u16) {
        let is_left = self.sources.offering(service).any(|(_, _, source)| source.gives_away());
        if let Some(known) = self.services.get_mut(service) {
            known.is_left = is_left;
        }
    }

    /// Whether an item is at a source that leaves, or goes to one that has less to do.
    pub(super) fn is_to_move(&self, id: u32) -> bool {
        let Some(item) = self.items.get(id) else { return false };
        let source = item.binding.and_then(|it| self.sources.get(it.source));
        source.is_some_and(Source::gives_away) || self.balances.is_moving(item.service, id)
    }

    /// An item does not move any more: it did, or its source is lost before another one
    /// had it.
    pub(super) fn end_move(&mut self, id: u32) {
        let service = self.items.get(id).map(|item| item.service);
        if service.is_some_and(|service| !self.is_mirrored(service)) {
            self.close_mirrors(id);
        }
    }

    /// An item has left a source: one that leaves and has no other is closed.
    pub(super) fn left(&mut self, index: u32, out: &mut impl Outputs) {
        let is_done = self.sources.get(index).is_some_and(|source| {
            source.leaves && source.session.is_some() && source.item_count() == 0
        });
        if is_done {
            self.give_up(index, LEFT, out);
        }
    }

    /// The source of a route that is not there any more is gone.
    pub(super) fn forget_route(&mut self, index: u32) {
        let Some(source) = self.sources.get(index) else { return };
        let SourceKind::Route(number) = source.kind else {
            debug_assert!(false, "only routes are in the configuration");
            return;
        };
        self.sources.remove_route(index, number);
        self.config.routes[number] = Route::none();
        for service in self.services.forget_route(number) {
            self.service_changed(service);
        }
    }
}
