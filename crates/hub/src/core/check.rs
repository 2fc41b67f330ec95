//! Whether the tables say the same of each other.
//!
//! ```text
//!  servers ── request ──▶ items ◀── stream, place, ticket ── sources and offers
//!                          ▲ ▲
//!            waiting ──────┘ └────── deadline, claim
//!           (services)              (timers, claims)
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::Core;
use super::item::{Binding, Item, NEVER_MS};
use super::pressure::bytes_of;
use super::source::{Offer, Source};

/// What the items that are bound to an offer add up to.
#[derive(Debug, Default, PartialEq, Eq)]
struct Bound {
    open: u64,
    in_window: u64,
    ranked: usize,
    queued: usize,
}

impl Core {
    /// For tests, between two events: compares each table with those that have
    /// the same facts.
    ///
    /// # Panics
    /// Two tables contradict each other.
    pub fn check(&self) {
        self.items.check();
        self.servers.check();
        self.check_requests();
        let mut bound = BTreeMap::new();
        for (id, item) in self.items.iter() {
            self.check_item(id, item);
            if let Some(binding) = &item.binding {
                self.check_binding(id, item, binding, &mut bound);
            }
        }
        for (index, source) in self.sources.iter() {
            for (service_id, offer) in &source.offers {
                let bound = bound.remove(&(index, *service_id)).unwrap_or_default();
                self.check_offer((index, *service_id), offer, &bound);
            }
        }
        self.check_waiting();
        self.check_balances();
        self.check_claims();
        self.check_expiries();
        self.check_merges();
    }

    /// What was merged is charged to its items.
    fn check_merges(&self) {
        for (id, item) in self.items.iter() {
            let bytes = item.merges.as_ref().map(|merges| bytes_of(merges));
            let charge = self.pressure.charge_of(id);
            assert!(
                bytes.is_none() || bytes == charge,
                "merges of item {id}: {bytes:?}, {charge:?}"
            );
            assert!(bytes.is_none() || self.pressure.is_on(), "item {id} is merged without need");
        }
        assert_eq!(self.pressure.charged_bytes(), self.pressure.merged().1, "merged bytes");
    }

    /// Items of non-interactive providers.
    pub(crate) fn published_items(&self) -> usize {
        self.items.iter().filter(|(_, item)| item.published).count()
    }

    /// Published items that expire.
    fn check_expiries(&self) {
        let stale = self.items.iter().filter_map(|(id, item)| {
            let at_ms = item.stale_at_ms?;
            assert!(item.published && item.binding.is_none(), "item {id} expires: {item:?}");
            Some((item.service, at_ms, id))
        });
        self.expiries.check(&stale.collect());
    }

    /// Requests of servers, and the interests of items.
    fn check_requests(&self) {
        for (server, known) in self.servers.with_gone() {
            let mut open = 0;
            for (request, _, id) in known.requests(0, known.len()) {
                open += 1;
                let is_known = |item: &Item| {
                    item.interests.iter().any(|it| (it.server, it.request) == (server, request))
                };
                let item = self.items.get(id);
                assert!(
                    item.is_some_and(is_known),
                    "request {request} of server {server} for item {id}"
                );
            }
            assert_eq!(known.open(), open, "open requests of server {server}");
        }
    }

    fn check_item(&self, id: u32, item: &Item) {
        for interest in &item.interests {
            let server = self.servers.get(interest.server);
            let known = server.and_then(|server| server.item(interest.request));
            assert_eq!(known, Some(id), "{interest:?} of item {id}");
        }
        if item.armed_ms != NEVER_MS {
            assert!(self.timers.contains(item.armed_ms, id), "the timer of item {id}");
        }
        if let Some(deadline_ms) = item.deadline_ms() {
            let is_armed = item.armed_ms <= deadline_ms;
            assert!(is_armed, "item {id} is due at {deadline_ms}, looked at {}", item.armed_ms);
        }
    }

    /// An item, and the offer to which it is bound.
    fn check_binding(
        &self,
        id: u32,
        item: &Item,
        binding: &Binding,
        bound: &mut BTreeMap<(u32, u16), Bound>,
    ) {
        let offer = self.offer_bound(binding);
        let Some((source, offer)) = offer else {
            // It is told in slices that the offer is withdrawn.
            assert!(!self.backlog.is_empty(), "item {id} is bound to nothing: {binding:?}");
            return;
        };
        assert_eq!(offer.service, item.service, "the service of item {id}");
        let place = offer.members.at(&item.group, item.place as usize);
        assert_eq!(place, Some(id), "the place of item {id} in its group");
        let bound = bound.entry((binding.source, binding.service_id)).or_default();
        bound.open += 1;
        bound.in_window += u64::from(item.in_window);
        if let Some(rank) = item.ranked {
            bound.ranked += 1;
            assert!(offer.members.is_ranked(rank, id), "the rank of item {id}");
        }
        match binding.stream_id {
            Some(stream_id) => {
                let known = source.streams.get(stream_id);
                assert_eq!(known, Some(id), "stream {stream_id} of item {id}");
            }
            None => {
                bound.queued += 1;
                let queued = offer.queue.items().get(&item.ticket);
                assert_eq!(queued, Some(&id), "the place of item {id} in the queue");
            }
        }
    }

    fn offer_bound(&self, binding: &Binding) -> Option<(&Source, &Offer)> {
        let source = self.sources.get(binding.source)?;
        let offer = source.offers.get(&binding.service_id)?;
        (offer.generation == binding.generation).then_some((source, offer))
    }

    /// An offer, and what the items bound to it add up to.
    fn check_offer(&self, place: (u32, u16), offer: &Offer, bound: &Bound) {
        let (members, ranked) = offer.members.counts();
        assert_eq!(members as u64, offer.open, "members of {place:?}");
        let queued = offer.queue.len();
        let has = Bound { open: offer.open, in_window: offer.in_window, ranked, queued };
        assert_eq!(&has, bound, "the offer and the items of {place:?}");
        offer.mirrors.check();
        for (stream_id, item) in offer.mirrors.items() {
            let item = self.items.get(item).expect("what is mirrored is there");
            assert_eq!(item.service, offer.service, "stream {stream_id} of {place:?} mirrors");
            let source = self.sources.get(place.0).expect("an offer is of a source");
            assert_eq!(source.streams.get(stream_id), None, "stream {stream_id} of {place:?}");
        }
        for (stream_id, kept) in &offer.claims {
            assert!(
                self.items.get(kept.item).is_some(),
                "stream {stream_id} of {place:?} stands by"
            );
        }
    }

    /// What goes to sources that have less to do.
    fn check_balances(&self) {
        for (service, id) in self.balances.moving() {
            let item = self.items.get(id).expect("what is on its way is there");
            assert_eq!(item.service, service, "item {id} is on its way");
            assert!(item.binding.is_some(), "item {id} is on its way from somewhere");
        }
        for (index, source) in self.sources.iter() {
            for (service_id, offer) in &source.offers {
                let known = self.services.get(offer.service).expect("an offer is of a service");
                if known.is_mirrored() || known.is_left {
                    continue;
                }
                for (_, id) in offer.mirrors.items() {
                    let is_moving = self.balances.is_moving(offer.service, id);
                    assert!(is_moving, "item {id} is at {index}, {service_id}, for nothing");
                }
            }
        }
    }

    /// Items that wait for a source.
    fn check_waiting(&self) {
        for (service, known) in self.services.iter() {
            for id in &known.waiting {
                let item = self.items.get(*id).expect("who waits is there");
                assert_eq!(item.service, service, "item {id} waits for a source");
                assert_eq!(item.binding, None, "item {id} waits for a source");
            }
        }
    }

    /// Providers that stand by, and the offers in which they do.
    fn check_claims(&self) {
        let mut offered = BTreeSet::new();
        for (source, known) in self.sources.iter() {
            for (service_id, offer) in &known.offers {
                let place = (source, *service_id, offer.generation);
                offered
                    .extend(offer.claims.iter().map(|(stream, kept)| (place, *stream, kept.item)));
            }
        }
        for claim in self.claims.iter() {
            let place = (claim.source, claim.service_id, claim.generation);
            let is_offered = offered.remove(&(place, claim.stream_id, claim.item));
            assert!(is_offered || !self.backlog.is_empty(), "nobody stands by: {claim:?}");
        }
        assert_eq!(offered.len(), 0, "stand by, and are not known to: {offered:?}");
    }
}
