//! Mirrored services: all sources have all items open, one of them is used.
//!
//! ```text
//!  active   ── messages ──▶ item ──▶ servers
//!  standby  ── messages ──▶ its image, kept here   (Mirrors, one in each offer)
//! ```
//!
//! The first source of a service that takes requests, by order, is the active
//! one, and stays it for as long as it does. Whatever is open there is asked for
//! at the others too, within their windows, and their images are kept up to date.
//! When the active one is lost, each of its items goes on with the stream of a
//! standby that has it: without a word where both have the same, else with an
//! image that replaces what servers have. Nothing is asked of anybody. An item
//! that no standby has is asked for, as of any other service.
//!
//! A service may go back to the first source some time after that is there again (see
//! [`failback`]).
//!
//! What a standby closes it is asked for again after a while, and what the active one
//! closes may go on at a standby (see [`refused`]).
//!
//! Private streams, snapshots and dictionaries are not mirrored.
//!
//! The same is done for a while, of any service, for what is open at a source that
//! leaves (see `routes`), and for items that a crowded source has too many of (see
//! [`balance`]): each is asked for at the one source that is chosen for it, and goes on
//! there as soon as that has it.

mod active;
mod balance;
mod failback;
mod go_on;
mod numbers;
mod refused;
mod streams;

use std::collections::BTreeMap;

use tapeline_cache::{FieldRules, Image};
use tapeline_omm::directory::SourceMirroringMode;
use tapeline_omm::is_administrative;
use tapeline_omm::pages::Line;
use tapeline_omm::state::is_final;
use tapeline_rwf::{Domain, Msg, RefreshFlags};
use tapeline_time::Time;

pub(super) use self::active::Failovers;
pub(super) use self::balance::{Balances, Look};
pub(super) use self::failback::Failbacks;
pub(super) use self::numbers::Repeats;
use self::refused::Refused;
use super::Core;
use super::backlog::Work;
use super::choice::would_take;
use super::image::keep_status;
use super::item::Item;
use super::services::HubService;
use super::source::Source;
use super::timers::ms;
use crate::{Outputs, Rebalance};

/// So many items are looked at in one step, to find those of a service.
const PASSED_OVER: u32 = 16;

/// The items with which a source stands by.
#[derive(Debug, Default)]
pub(crate) struct Mirrors {
    by_stream: BTreeMap<i32, Mirror>,
    /// Their streams.
    by_item: BTreeMap<u32, i32>,
    /// Items to be asked for when the window has room. Some may not be of use
    /// any more.
    queue: Line<u32>,
    /// Those that it closed, to be asked for again.
    refused: Refused,
    /// Those that were asked for and have not been answered.
    asked: u64,
    /// When one of them changed last, in milliseconds.
    pub(crate) updated_ms: u64,
    /// What the source was told that it is.
    pub(crate) mode: Option<SourceMirroringMode>,
}

/// An item with which a source stands by.
#[derive(Debug)]
struct Mirror {
    item: u32,
    /// That of the item, which may be gone before its stream is closed.
    domain: Domain,
    /// What the source has of it; nothing where its stream alone is kept.
    image: Option<Box<Image>>,
    /// It was asked for, or for an image of it, and has not been answered.
    is_asked: bool,
    /// Parts of an image are to come.
    in_parts: bool,
}

impl Mirror {
    /// Applies a message to what is kept of the item. Whether that could be: an image that
    /// cannot be kept is not complete, and nobody goes on with it.
    fn keep(&mut self, msg: &Msg<'_>, rules: Option<&dyn FieldRules>) -> bool {
        if let Msg::Refresh(refresh) = msg {
            self.in_parts = !refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE);
        }
        let Some(image) = &mut self.image else { return true };
        match msg {
            Msg::Refresh(refresh) => image.refresh(refresh).is_ok(),
            Msg::Update(update) => image.update(update, rules).is_ok(),
            Msg::Status(status) => {
                keep_status(image, status, false);
                true
            }
            // The active source's count.
            _ => true,
        }
    }
}

impl Mirrors {
    /// Items that are open there, or asked for.
    pub(crate) fn len(&self) -> usize {
        self.by_stream.len()
    }

    /// Items that wait to be asked for.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.len()
    }

    /// Whether all that it was asked for is answered.
    fn is_settled(&self) -> bool {
        self.queue.is_empty() && self.asked == 0
    }

    pub(crate) fn items(&self) -> impl Iterator<Item = (i32, u32)> + '_ {
        self.by_stream.iter().map(|(stream_id, mirror)| (*stream_id, mirror.item))
    }

    /// Frees one, and says whether there was any; and which stream it had at its
    /// source.
    pub(crate) fn free_one(&mut self) -> (bool, Option<(Domain, i32)>) {
        let stream = self.by_stream.pop_first();
        let was_one = self.by_item.pop_first().is_some()
            | self.queue.pop_front().is_some()
            | self.refused.free_one();
        let stream = stream.map(|(stream_id, mirror)| (mirror.domain, stream_id));
        (was_one | stream.is_some(), stream)
    }

    fn take(&mut self, id: u32) -> Option<(i32, Mirror)> {
        let stream_id = self.by_item.remove(&id)?;
        let mirror = self.by_stream.remove(&stream_id)?;
        self.asked -= u64::from(mirror.is_asked);
        Some((stream_id, mirror))
    }

    /// Panics where the tables contradict each other.
    pub(crate) fn check(&self) {
        let asked = self.by_stream.values().filter(|mirror| mirror.is_asked).count();
        assert_eq!((self.by_stream.len(), self.asked), (self.by_item.len(), asked as u64));
        for (item, stream_id) in &self.by_item {
            assert_eq!(self.by_stream.get(stream_id).map(|it| it.item), Some(*item));
        }
    }
}

/// Whether an item of a mirrored service is mirrored.
fn is_for_mirrors(item: &Item) -> bool {
    item.streaming
        && !item.private
        && !item.published
        && !is_administrative(item.key.as_ref().domain)
}

impl Core {
    /// How many items sources stand by with.
    pub(super) fn mirrors(&self) -> usize {
        let offers = self.sources.iter().flat_map(|(_, source)| source.offers.values());
        offers.map(|offer| offer.mirrors.len()).sum()
    }

    /// Whether a service is mirrored.
    pub(super) fn is_mirrored(&self, service: u16) -> bool {
        self.services.get(service).is_some_and(HubService::is_mirrored)
    }

    /// Whether sources of a service stand by with items of others.
    pub(super) fn has_mirrors(&self, service: u16) -> bool {
        let is_slow = |known: &HubService| matches!(known.rebalance, Rebalance::Slow { .. });
        let may_have = |it: &HubService| it.is_mirrored() || it.is_left || is_slow(it);
        self.services.get(service).is_some_and(may_have)
    }

    /// Whether a source is to stand by with an item: of a mirrored service each one, else
    /// one, where the item is to move.
    fn is_to_have(&self, index: u32, id: u32) -> bool {
        let Some(item) = self.items.get(id) else { return false };
        let is_elsewhere = item.binding.is_some_and(|binding| binding.source != index);
        let is_wanted = self.is_mirrored(item.service)
            || (self.is_to_move(id) && !self.has_mirror(item.service, id));
        is_elsewhere && is_for_mirrors(item) && is_wanted
    }

    /// Whether any source stands by with an item.
    pub(super) fn has_mirror(&self, service: u16, id: u32) -> bool {
        let mut offers = self.sources.offering(service);
        offers.any(|(_, service_id, source)| {
            source.offers.get(&service_id).is_some_and(|it| it.mirrors.by_item.contains_key(&id))
        })
    }

    /// An item was asked for at its source: so it is at the others of its
    /// service, when they have room.
    pub(super) fn mirror(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(item) = self.items.get(id) else { return };
        let Some(binding) = item.binding else { return };
        if !is_for_mirrors(item) {
            return;
        }
        if !self.is_mirrored(item.service) {
            return self.begin_move(now, id, out);
        }
        let others: Vec<_> = self
            .sources
            .offering(item.service)
            .filter(|(index, _, source)| *index != binding.source && !source.gives_away())
            .map(|(index, service_id, _)| (index, service_id))
            .collect();
        for (index, service_id) in others {
            self.mirror_at(now, (index, service_id), id, out);
        }
    }

    pub(super) fn mirror_at(
        &mut self,
        now: Time,
        (index, service_id): (u32, u16),
        id: u32,
        out: &mut impl Outputs,
    ) {
        let source = self.sources.get_mut(index);
        let Some(offer) = source.and_then(|source| source.offers.get_mut(&service_id)) else {
            return;
        };
        if !offer.mirrors.by_item.contains_key(&id) {
            offer.mirrors.queue.push_back(id);
            self.pump(now, index, service_id, out);
        }
    }

    /// A source offers a mirrored service: it is asked for all that is open of
    /// it elsewhere.
    pub(super) fn mirror_all(&mut self, index: u32, service_id: u16, generation: u32) {
        self.backlog.add(Work::Mirror { source: index, service_id, generation, next: 0 });
    }

    /// The next item that a source may stand by with. Whether there may be more.
    pub(super) fn mirror_next(
        &mut self,
        now: Time,
        (index, service_id, generation): (u32, u16, u32),
        next: &mut u32,
        out: &mut impl Outputs,
    ) -> bool {
        let offer = self.sources.get(index).and_then(|it| it.offers.get(&service_id));
        let Some(service) =
            offer.filter(|it| it.generation == generation).map(|offer| offer.service)
        else {
            return false;
        };
        if self.sources.get(index).is_some_and(Source::gives_away) {
            return false;
        }
        for _ in 0..PASSED_OVER {
            let id = *next;
            if id >= self.items.end() {
                return false;
            }
            *next = id + 1;
            let is_asked = self.items.get(id).is_some_and(|item| {
                item.service == service && item.binding.is_some_and(|it| it.stream_id.is_some())
            });
            if is_asked && self.is_to_have(index, id) {
                self.mirror_at(now, (index, service_id), id, out);
                return true;
            }
        }
        true
    }

    /// Asks a source for the next item that it is to stand by with, if its
    /// window has room. Whether it did.
    pub(super) fn ask_mirror(
        &mut self,
        index: u32,
        service_id: u16,
        out: &mut impl Outputs,
    ) -> bool {
        let max_window = self.config.limits.max_window;
        loop {
            let Some(source) = self.sources.get_mut(index) else { return false };
            if source.takes_no_request() || !source.takes_requests(service_id) {
                return false;
            }
            let window = source.open_window(service_id).min(max_window);
            let limit = source.open_limit(service_id);
            let Some(offer) = source.offers.get_mut(&service_id) else { return false };
            let open = offer.open + offer.mirrors.len() as u64;
            if offer.in_window + offer.mirrors.asked >= window || open >= limit {
                return false;
            }
            let Some(id) = offer.mirrors.queue.pop_front() else { return false };
            if !self.is_to_have(index, id) {
                continue;
            }
            let Some(item) = self.items.get(id) else { continue };
            let Some(source) = self.sources.get(index) else { return false };
            if !would_take(source, service_id, item) {
                continue;
            }
            let is_there = source.offers.get(&service_id).is_some_and(|offer| {
                offer.service != item.service || offer.mirrors.by_item.contains_key(&id)
            });
            if !is_there {
                return self.ask_mirror_now(index, service_id, id, out);
            }
            if self.ask_mirror_image(index, service_id, id, out) {
                return true;
            }
        }
    }

    fn ask_mirror_now(
        &mut self,
        index: u32,
        service_id: u16,
        id: u32,
        out: &mut impl Outputs,
    ) -> bool {
        let Some(item) = self.items.get(id) else { return false };
        let (domain, service) = (item.key.as_ref().domain, item.service);
        let image = (!self.keeps_streams(service)).then(|| Box::new(self.new_image()));
        let Some(source) = self.sources.get_mut(index) else { return false };
        let stream_id = source.ids.take();
        let Some(offer) = source.offers.get_mut(&service_id) else { return false };
        let mirror = Mirror { item: id, domain, image, is_asked: true, in_parts: false };
        offer.mirrors.by_stream.insert(stream_id, mirror);
        offer.mirrors.by_item.insert(id, stream_id);
        offer.mirrors.asked += 1;
        self.counters.mirror_requests += 1;
        self.send_mirror_request(index, (service_id, stream_id), id, out);
        true
    }

    /// A message on a stream with which a source stands by. Whether it is one.
    pub(super) fn mirror_message(
        &mut self,
        now: Time,
        index: u32,
        msg: &Msg<'_>,
        out: &mut impl Outputs,
    ) -> bool {
        let stream_id = msg.stream_id();
        let Some(source) = self.sources.get_mut(index) else { return false };
        let found = source.offers.iter_mut().find_map(|(service_id, offer)| {
            let Mirrors { by_stream, asked, updated_ms, .. } = &mut offer.mirrors;
            let mirror = by_stream.get_mut(&stream_id)?;
            if matches!(msg, Msg::Update(_)) {
                *updated_ms = ms(now);
            }
            Some((*service_id, mirror, asked))
        });
        let Some((service_id, mirror, asked)) = found else { return false };
        let rules = self.rules.as_deref().map(|rules| rules as &dyn FieldRules);
        self.counters.uncached += u64::from(!mirror.keep(msg, rules));
        let (state, is_end) = match msg {
            Msg::Refresh(refresh) => {
                let is_complete = refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE);
                (Some(refresh.state), is_complete)
            }
            Msg::Status(status) => (status.state, status.state.is_some()),
            _ => (None, false),
        };
        let has_room = is_end && std::mem::take(&mut mirror.is_asked);
        if has_room {
            *asked -= 1;
        }
        let id = mirror.item;
        if let Some(state) = state.filter(|state| is_final(state.stream)) {
            // It has its reasons, which are not those of the active one.
            self.counters.mirrors_closed += 1;
            self.forget_mirror((index, service_id), id);
            self.end_balance(id);
            self.ask_mirror_again(now, (index, service_id), id, state.stream);
        } else if state.is_some() && self.is_to_move(id) {
            self.move_on(now, id, out);
        } else if has_room {
            self.come_over(now, (index, service_id), id, out);
        }
        if has_room {
            self.pump(now, index, service_id, out);
        }
        true
    }

    /// Another source has an item of one that leaves: it goes on there.
    fn move_on(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let Some(from) = self.items.get(id).and_then(|item| item.binding) else { return };
        let is_balanced = self.is_balanced(id);
        if !self.go_on_with_mirror(now, id, out) {
            // Its image is not complete, or not good.
            return;
        }
        self.counters.items_moved += 1;
        self.counters.items_balanced += u64::from(is_balanced);
        self.end_move(id);
        self.left(from.source, out);
    }

    /// A source does not stand by with an item any more, and knows it.
    fn forget_mirror(&mut self, (index, service_id): (u32, u16), id: u32) -> Option<i32> {
        let source = self.sources.get_mut(index)?;
        let (stream_id, _) = source.offers.get_mut(&service_id)?.mirrors.take(id)?;
        source.ids.give_back(stream_id);
        Some(stream_id)
    }

    /// Nobody wants an item any more: its mirrors are closed.
    pub(super) fn close_mirrors(&mut self, id: u32) {
        let service = self.items.get(id).map(|item| item.service);
        if service.is_some_and(|service| self.has_mirrors(service)) {
            self.forget_mirrors(id);
        }
    }

    /// The mirrors of an item are closed.
    pub(super) fn forget_mirrors(&mut self, id: u32) {
        let Some(item) = self.items.get(id) else { return };
        let (service, domain) = (item.service, item.key.as_ref().domain);
        let places: Vec<_> =
            self.sources.offering(service).map(|(index, id, _)| (index, id)).collect();
        for (index, service_id) in places {
            if let Some(stream_id) = self.forget_mirror((index, service_id), id) {
                self.close_later(index, domain, stream_id);
            }
        }
    }

    /// A source that stood by took its service back, and still has the stream.
    pub(super) fn close_freed(&mut self, index: u32, (domain, stream_id): (Domain, i32)) {
        if let Some(source) = self.sources.get_mut(index) {
            source.ids.give_back(stream_id);
        }
        self.close_later(index, domain, stream_id);
    }

    /// A source that stands by with an item is asked for it as the one that has
    /// it: it has no stream twice. One of which nothing but the stream is kept goes on.
    pub(super) fn close_mirror_at(&mut self, place: (u32, u16), id: u32) {
        let Some(domain) = self.items.get(id).map(|item| item.key.as_ref().domain) else { return };
        if self.is_bare(place, id) {
            return;
        }
        if let Some(stream_id) = self.forget_mirror(place, id) {
            self.close_later(place.0, domain, stream_id);
        }
    }

    /// The next item of a source that is not the active one any more, and still
    /// there: it goes on at another one that has it. Whether there may be more.
    pub(super) fn away_next(
        &mut self,
        now: Time,
        place: (u32, u16, u32),
        next: &mut u32,
        out: &mut impl Outputs,
    ) -> bool {
        let (found, is_left) = self.next_bound(place, next);
        if let Some(id) = found
            && !self.come_away(now, id, out)
        {
            self.want_image_to_come_over(now, id, out);
        }
        is_left
    }

    /// The next item, from an id on, that is open at a source: its index, the service and
    /// the generation of its offer. Few are looked at in one step; whether there may be
    /// more.
    pub(super) fn next_bound(&self, place: (u32, u16, u32), next: &mut u32) -> (Option<u32>, bool) {
        for _ in 0..PASSED_OVER {
            let id = *next;
            if id >= self.items.end() {
                return (None, false);
            }
            *next = id + 1;
            let is_there = self.items.get(id).and_then(|item| item.binding).is_some_and(|it| {
                (it.source, it.service_id, it.generation) == place && it.stream_id.is_some()
            });
            if is_there {
                return (Some(id), true);
            }
        }
        (None, true)
    }
}
