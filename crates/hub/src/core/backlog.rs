//! Work that grows with items, done a slice at a time.
//!
//! A source that is lost may have had 500,000 items, and a state of its service
//! is one of each of them. Done at once, that keeps everybody waiting, and
//! servers take the hub for gone. So what is to be done stands in a line, and
//! each [`handle_timeout`](super::Core::handle_timeout) does a slice of it; the
//! first one is done at once, which is all that most events need.
//!
//! What is to be done for one item keeps its order with what else happens to it:
//!
//! * An item of a lost source or service that is closed, or goes elsewhere,
//!   before its turn is none of it any more: its binding is another one.
//! * A source that comes back is not connected before all its items have been
//!   told of its loss; a service that is offered again is another offer.
//! * A message for an item that is still to be told a state of its group is
//!   later than that: it is told first.

use std::collections::{BTreeMap, VecDeque};

use tapeline_omm::{GroupId, StateBuf};
use tapeline_planted::planted;
use tapeline_time::Time;

use super::Core;
use super::claims::{Claim, Kept};
use super::fate::Loss;
use super::item::Binding;
use super::members::Ranks;
use super::mirrors::{Look, Mirrors};
use super::services::HubService;
use super::source::Queue;
use crate::Outputs;
use tapeline_omm::pages::List;

/// How many items that wait are tried while there seems to be room for none.
const MAX_TRIES: usize = 64;

/// Something to be done for many items.
#[derive(Debug)]
pub(crate) enum Work {
    /// The items of an offer are lost.
    Lost(Box<LostOffer>),
    /// Posts wait for acks of a source that is lost.
    Unacked { source: u32 },
    /// All that hung on a source's connection has been told: it can be
    /// connected again.
    Mourned { source: u32 },
    /// A source said something about all items of a service or group.
    Told(Box<Told>),
    /// Items that nobody publishes any more are of a service that is an
    /// interactive provider's.
    Claimed { service: u16, after: Option<(u64, u32)> },
    /// A source offers a mirrored service: items that are open elsewhere, from
    /// this id on, are asked for there too.
    Mirror { source: u32, service_id: u16, generation: u32, next: u32 },
    /// A source is not the active one of a mirrored service any more: its items,
    /// from this id on, go on at the one that is.
    Away { source: u32, service_id: u16, generation: u32, next: u32 },
    /// A source leaves: its items, from this id on, are asked for at others.
    Move { source: u32, service_id: u16, generation: u32, next: u32 },
    /// A source is crowded: some of its items are asked for at others.
    Balance(Look),
    /// A member of a group is down: its items, from this id on, go on at others.
    Leave { source: u32, service_id: u16, generation: u32, next: u32 },
    /// Something about the sources of a service changed.
    Changed { service: u16, is_said: bool, left: Option<usize> },
    /// Servers are told of all services, from this id on, whether requests are taken.
    Pressed { next: u32 },
}

/// An offer that was withdrawn, with the items that were bound there.
#[derive(Debug)]
pub(crate) struct LostOffer {
    pub(crate) source: u32,
    pub(crate) service_id: u16,
    pub(crate) generation: u32,
    pub(crate) loss: Loss,
    /// By group.
    pub(crate) items: Vec<List<u32>>,
    /// The list and the place in it that is next.
    pub(crate) next: (usize, usize),
    /// Items that its source stood by for, by stream.
    pub(crate) claims: BTreeMap<i32, Kept>,
    /// Of no use any more, and too large to be freed at once.
    pub(crate) ranks: Ranks,
    /// The same.
    pub(crate) queue: Queue,
    /// The same: what it stood by with.
    pub(crate) mirrors: Mirrors,
}

/// What was said about items.
#[derive(Debug, Clone)]
pub(crate) enum Saying {
    /// How they are.
    State(StateBuf),
    /// That they are of another group from now on.
    Merged(GroupId),
}

/// What a source said about all items of an offer, or of a group there.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) source: u32,
    pub(crate) service_id: u16,
    pub(crate) generation: u32,
    /// Counts what a source said: an item keeps the number of the last that it
    /// has heard.
    pub(crate) number: u32,
    /// Of this group alone.
    pub(crate) group: Option<GroupId>,
    pub(crate) saying: Saying,
    /// The group that is being told, and how many of it are left: those with
    /// the lowest places.
    pub(crate) at: Option<(GroupId, usize)>,
}

/// What is still to be done, in order.
#[derive(Debug, Default)]
pub(crate) struct Backlog {
    works: VecDeque<Work>,
    /// How many of them are sayings.
    sayings: usize,
}

impl Backlog {
    pub(crate) fn is_empty(&self) -> bool {
        self.works.is_empty()
    }

    /// Whether a source that is lost is still to be connected again, or forgotten.
    pub(crate) fn mourns(&self, index: u32) -> bool {
        let is_it = |work: &Work| matches!(work, Work::Mourned { source } if *source == index);
        self.works.iter().any(is_it)
    }

    /// Whether there may be items that a source is still to be asked to stand by with.
    pub(crate) fn is_mirroring(&self, place: (u32, u16, u32)) -> bool {
        self.works.iter().any(|work| {
            matches!(work, Work::Mirror { source, service_id, generation, .. }
                if (*source, *service_id, *generation) == place)
        })
    }

    /// Whether items may be still to be told something.
    #[inline]
    pub(crate) fn has_sayings(&self) -> bool {
        self.sayings > 0
    }

    pub(crate) fn add(&mut self, work: Work) {
        if let Work::Changed { service, .. } = work
            && let Some(Work::Changed { service: known, is_said, left }) = self.works.back_mut()
            && *known == service
        {
            // The one before has not come to its end, and does the same.
            (*is_said, *left) = (false, None);
            return;
        }
        self.sayings += usize::from(matches!(work, Work::Told(_)));
        self.works.push_back(work);
    }

    fn pop(&mut self) -> Option<Work> {
        let work = self.works.pop_front()?;
        self.sayings -= usize::from(matches!(work, Work::Told(_)));
        Some(work)
    }

    fn put_back(&mut self, work: Work) {
        self.sayings += usize::from(matches!(work, Work::Told(_)));
        self.works.push_front(work);
    }

    /// Items that are still to be dealt with, as far as that is known.
    pub(crate) fn len(&self) -> usize {
        let items = |work: &Work| match work {
            Work::Lost(lost) => {
                let left = lost.items.iter().skip(lost.next.0).map(List::len);
                left.sum::<usize>() - lost.next.1 + lost.claims.len()
            }
            Work::Changed { left, .. } => 1 + left.unwrap_or(0),
            Work::Told(told) => 1 + told.at.as_ref().map_or(0, |(_, left)| *left),
            Work::Unacked { .. }
            | Work::Pressed { .. }
            | Work::Mourned { .. }
            | Work::Claimed { .. }
            | Work::Mirror { .. }
            | Work::Move { .. }
            | Work::Balance(_)
            | Work::Leave { .. }
            | Work::Away { .. } => 1,
        };
        self.works.iter().map(items).sum()
    }
}

impl LostOffer {
    fn next(&mut self) -> Option<u32> {
        while let Some(list) = self.items.get_mut(self.next.0) {
            if let Some(id) = list.get(self.next.1) {
                self.next.1 += 1;
                return Some(*id);
            }
            *list = List::default();
            self.next = (self.next.0 + 1, 0);
        }
        None
    }

    fn next_claim(&mut self) -> Option<Claim> {
        let (stream_id, Kept { item, .. }) = self.claims.pop_first()?;
        let Self { source, service_id, generation, .. } = *self;
        Some(Claim { item, source, service_id, generation, stream_id })
    }
}

impl Core {
    /// Does a slice of what is still to be done.
    pub(super) fn work_off(&mut self, now: Time, out: &mut impl Outputs) {
        let mut left = self.config.limits.items_per_slice.max(1);
        while left > 0
            && let Some(mut work) = self.backlog.pop()
        {
            let mut is_done = false;
            while left > 0 && !is_done {
                left -= 1;
                is_done = !self.step(now, &mut work, out);
            }
            if !is_done {
                self.backlog.put_back(work);
            }
        }
    }

    /// Deals with one item. Whether there may be more to do.
    fn step(&mut self, now: Time, work: &mut Work, out: &mut impl Outputs) -> bool {
        match work {
            Work::Lost(lost) => {
                let (had_mirror, stream) = lost.mirrors.free_one();
                let is_left = lost.ranks.pop_first().is_some()
                    | lost.queue.pop_first().is_some()
                    | had_mirror;
                if let Some(stream) = stream.filter(|_| !matches!(lost.loss, Loss::Channel)) {
                    self.close_freed(lost.source, stream);
                }
                let Some(id) = lost.next() else {
                    let Some(claim) = lost.next_claim() else { return is_left };
                    self.release_claim(now, &claim, out);
                    return true;
                };
                let binding = self.items.get(id).and_then(|item| item.binding);
                let is_there = |binding: Binding| {
                    (binding.source, binding.generation) == (lost.source, lost.generation)
                };
                if binding.is_some_and(is_there) {
                    self.lost_there(now, id, lost.loss, out);
                }
                true
            }
            Work::Unacked { source } => self.next_post_lost(*source, out),
            Work::Mourned { source } => {
                self.mourned(now, *source);
                false
            }
            Work::Claimed { service, after } => self.reclaim_next(now, *service, after, out),
            Work::Told(told) => self.tell_next(now, told, out),
            Work::Pressed { next } => self.tell_pressed(next, out),
            Work::Away { source, service_id, generation, next } => {
                self.away_next(now, (*source, *service_id, *generation), next, out)
            }
            Work::Move { source, service_id, generation, next } => {
                self.move_next(now, (*source, *service_id, *generation), next, out)
            }
            Work::Balance(look) => self.balance_next(now, look, out),
            Work::Leave { source, service_id, generation, next } => {
                self.leave_next(now, (*source, *service_id, *generation), next, out)
            }
            Work::Mirror { source, service_id, generation, next } => {
                self.mirror_next(now, (*source, *service_id, *generation), next, out)
            }
            Work::Changed { service, is_said, left } => {
                if !std::mem::replace(is_said, true) {
                    self.note_leaving(*service);
                    self.move_to_others(*service);
                    self.say_service(*service, out);
                    self.look_at_active(now, *service);
                    self.tell_modes(*service, out);
                    self.look_for_first(now, *service);
                    self.look_for_balance(now, *service);
                    return true;
                }
                self.change_next(now, *service, left, out)
            }
        }
    }

    /// The next item to be told what its source said.
    fn tell_next(&mut self, now: Time, told: &mut Told, out: &mut impl Outputs) -> bool {
        let offer = self.sources.get(told.source).and_then(|it| it.offers.get(&told.service_id));
        let Some(offer) = offer.filter(|offer| offer.generation == told.generation) else {
            // Withdrawn meanwhile.
            return false;
        };
        let members = &offer.members;
        let Some((group, left)) = told.at.as_mut().filter(|(_, left)| *left > 0) else {
            let next = match (&told.group, &told.at) {
                (Some(group), None) => Some(group),
                (Some(_), Some(_)) => None,
                (None, at) => members.next_group(at.as_ref().map(|(group, _)| group)),
            };
            let next = next.map(|group| (group.clone(), members.len_of(group)));
            told.at = next;
            return told.at.is_some();
        };
        // From the end: whoever takes the place of one that leaves was told.
        *left = (*left).min(members.len_of(group)).saturating_sub(1);
        if let Some(id) = members.at(group, *left) {
            self.tell(now, id, told, out);
        }
        true
    }

    fn tell(&mut self, now: Time, id: u32, told: &Told, out: &mut impl Outputs) {
        let Some(item) = self.items.known_mut(id) else { return };
        if told.number <= item.heard {
            return;
        }
        item.heard = told.number;
        match &told.saying {
            Saying::State(state) => self.fanned_state(now, id, state, out),
            Saying::Merged(into) => self.set_group(id, into.clone()),
        }
    }

    /// An item is told what its source said of it and others, before anything
    /// that the source says later.
    pub(super) fn hear_first(&mut self, now: Time, id: u32, out: &mut impl Outputs) {
        let works = std::mem::take(&mut self.backlog.works);
        for work in &works {
            let Work::Told(told) = work else { continue };
            let Some(item) = self.items.get(id) else { break };
            let is_there = item.binding.is_some_and(|binding| {
                (binding.source, binding.generation) == (told.source, told.generation)
            });
            if is_there && told.group.as_ref().is_none_or(|group| *group == item.group) {
                self.tell(now, id, told, out);
            }
        }
        let added = std::mem::replace(&mut self.backlog.works, works);
        self.backlog.works.extend(added);
    }

    /// Goes on with what follows from a change of a service: requests that no
    /// longer fit go elsewhere, and those that wait try again, as far as there
    /// is room.
    fn change_next(
        &mut self,
        now: Time,
        service: u16,
        left: &mut Option<usize>,
        out: &mut impl Outputs,
    ) -> bool {
        if self.move_queued(service) {
            return true;
        }
        let waiting = self.services.get_mut(service).map_or(0, |service| service.waiting.len());
        let left = left.get_or_insert(waiting);
        if *left > MAX_TRIES && !self.has_room_for_any(service) {
            *left = MAX_TRIES;
        }
        let next = self.services.get_mut(service).filter(|_| *left > 0);
        let Some(id) = next.and_then(HubService::next_waiting) else {
            self.pump_service(now, service, out);
            return false;
        };
        *left -= 1;
        if !planted!(LostSeek) {
            self.seek(now, id, out);
        }
        true
    }
}
