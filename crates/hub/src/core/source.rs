//! Sources: the providers that a hub is connected to, or wants to be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};

use tapeline_channel::SessionId;
use tapeline_omm::Text;
use tapeline_omm::directory::{Directory, Service};
use tapeline_omm::pages::Line;
use tapeline_rwf::Domain;

use super::claims::Kept;
use super::identify::ProviderLogin;
use super::members::Members;
use super::mirrors::Mirrors;
use super::publishers::Publisher;
use super::rate::RequestRate;
use super::streams::{StreamIds, StreamTable};
use crate::{ItemNames, Route};

/// One provider, connected or not.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the source")]
pub(crate) struct Source {
    /// Which way it comes.
    pub(crate) kind: SourceKind,
    /// What it is asked for, and when.
    pub(crate) preference: Preference,
    /// Its route is not configured any more, and what is open here goes on elsewhere.
    pub(crate) leaves: bool,
    /// An operator drains it: it is asked for nothing new, and what is open there goes to
    /// others, as far as they have it.
    pub(crate) is_drained: bool,
    /// How long it says that the hub took to answer the last time, in microseconds,
    pub(crate) round_trip_us: Option<u64>,
    /// and how often TCP sent something again.
    pub(crate) retransmits: Option<u64>,
    /// Its connection.
    pub(crate) session: Option<SessionId>,
    /// How far the connection is.
    pub(crate) phase: Phase,
    /// What it offers, as it says.
    pub(crate) directory: Directory,
    /// Which stream of a non-interactive provider brought a service.
    pub(crate) brought_by: BTreeMap<u16, i32>,
    /// The services that are taken from it, by its own ids.
    pub(crate) offers: BTreeMap<u16, Offer>,
    /// How many offers there were so far.
    pub(crate) generations: u32,
    /// How many times it said something of many items.
    pub(crate) sayings: u32,
    /// Services that it may not publish into, of which the operator was told.
    pub(crate) refused: BTreeSet<u16>,
    /// It has published all that it may, of which the operator was told.
    pub(crate) is_full: bool,
    /// Its open item streams.
    pub(crate) streams: StreamTable,
    /// Free stream ids.
    pub(crate) ids: StreamIds,
    /// Who a non-interactive provider is, and where it connects from.
    pub(crate) publisher: Publisher,
    pub(crate) peer: IpAddr,
    /// Stream of a provider's own login.
    pub(crate) login_stream: i32,
    /// Its login, where it was asked who it is.
    pub(crate) login: Option<Box<ProviderLogin>>,
    /// When that is over unless it is renewed, in milliseconds.
    pub(crate) login_ends_ms: Option<u64>,
    /// Whether it takes posts.
    pub(crate) takes_posts: bool,
    /// Whether it obeys a pause.
    pub(crate) obeys_pause: bool,
    /// Its output is full: no requests until it has drained.
    pub(crate) is_slow: bool,
    /// Streams that are to be closed when it has drained, before anything else
    /// is asked for.
    pub(crate) unclosed: Line<(Domain, i32)>,
    /// Items of which a change is to be told when it has drained.
    pub(crate) untold: BTreeSet<u32>,
    /// When the present phase has lasted too long, in milliseconds.
    pub(crate) deadline_ms: Option<u64>,
    /// The service that was last sent what waits there.
    pub(crate) service_turn: u16,
    /// How long to wait before the next attempt to connect, in milliseconds.
    pub(crate) delay_ms: u64,
}

/// Which way a source comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SourceKind {
    /// The hub connects to it and asks for items.
    Route(usize),
    /// It connects and sends what it has.
    Provider,
}

/// What a source is asked for, and when.
#[derive(Debug, Clone)]
pub(crate) struct Preference {
    /// Those with a lower number first.
    pub(crate) order: u16,
    weight: u64,
    /// These items alone.
    items: Option<ItemNames>,
    /// No new items.
    pub(crate) drains: bool,
    /// Bounds on what it says itself.
    open_window: u64,
    open_limit: u64,
    /// How many requests a second, if that is bounded.
    rate: Option<RequestRate>,
}

impl Preference {
    /// As of a source that nothing is said of.
    const NONE: Self = Self {
        order: 0,
        weight: 1,
        items: None,
        drains: false,
        open_window: u64::MAX,
        open_limit: u64::MAX,
        rate: None,
    };

    pub(crate) fn of(route: &Route) -> Self {
        Self {
            order: route.order,
            weight: u64::from(route.weight.max(1)),
            items: route.items.clone(),
            drains: route.drains,
            open_window: route.open_window.unwrap_or(u64::MAX).max(1),
            open_limit: route.open_limit.unwrap_or(u64::MAX),
            rate: route.max_requests_per_s.map(RequestRate::new),
        }
    }

    /// A request went to it.
    pub(crate) fn asked(&mut self) {
        if let Some(rate) = &mut self.rate {
            rate.take();
        }
    }

    /// Whether it had all the requests that it may have for now.
    fn is_asked_enough(&self) -> bool {
        self.rate.as_ref().is_some_and(RequestRate::is_used_up)
    }

    /// When it may be asked again, where it had enough.
    pub(crate) fn may_be_asked_ms(&self) -> Option<u64> {
        self.rate.as_ref().and_then(RequestRate::due_ms)
    }

    /// Whether it may be asked again from now on.
    pub(crate) fn refill(&mut self, now_ms: u64) -> bool {
        self.rate.as_mut().is_some_and(|rate| rate.refill(now_ms))
    }

    /// Whether it is asked for items of this name at all. What has no name is
    /// nobody's in particular.
    pub(crate) fn is_for(&self, name: &[u8]) -> bool {
        self.items.as_ref().is_none_or(|items| name.is_empty() || items.contains(name))
    }

    /// How full it is with so many items beside others, the emptier the less.
    pub(crate) const fn fullness(&self, items: u64) -> u64 {
        // One more than it has: where nobody has any, the heaviest is the first.
        items.saturating_add(1).saturating_mul(1 << 20) / self.weight
    }
}

impl fmt::Display for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.order, self.weight)?;
        if let Some(rate) = &self.rate {
            write!(f, " {}/s", rate.per_s())?;
        }
        match self.drains {
            true => f.write_str(" drains"),
            false => Ok(()),
        }
    }
}

/// How far the connection to a source is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Not connected; to be connected when the time has come.
    Down,
    /// Asked the shell to connect.
    Connecting,
    /// Waits for the login to be accepted, or to come.
    Login,
    /// Waits for the first directory.
    Directory,
    /// Has a directory.
    Up,
}

/// A service of one source.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    /// The hub's id of the service.
    pub(crate) service: u16,
    /// Its place in the group that it is in: those with a lower one are asked first.
    pub(crate) rank: u16,
    /// Which of all offers of this source it is.
    pub(crate) generation: u32,
    /// The items that are bound here.
    pub(crate) members: Members,
    /// Items bound here.
    pub(crate) open: u64,
    /// Items that are another source's, by the streams on which this one stands
    /// by for them.
    pub(crate) claims: BTreeMap<i32, Kept>,
    /// Items of a mirrored service that are another source's, with which this one
    /// stands by.
    pub(crate) mirrors: Mirrors,
    /// Requests without their image.
    pub(crate) in_window: u64,
    /// Items whose requests wait for room in the window.
    pub(crate) queue: Queue,
    /// Items that wait for room to be asked for another image.
    pub(crate) images: Line<u32>,
    /// Of these two, the next is an image.
    pub(crate) is_images_turn: bool,
}

/// Requests that wait, first come, first served.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    items: BTreeMap<u64, u32>,
    last_ticket: u64,
}

impl Queue {
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The items, by the number by which each can be taken out.
    pub(crate) const fn items(&self) -> &BTreeMap<u64, u32> {
        &self.items
    }

    /// Adds an item. The number by which it can be taken out.
    pub(crate) fn add(&mut self, id: u32) -> u64 {
        self.last_ticket += 1;
        self.items.insert(self.last_ticket, id);
        self.last_ticket
    }

    pub(crate) fn pop_first(&mut self) -> Option<u32> {
        self.items.pop_first().map(|(_, id)| id)
    }

    /// Takes an item out, if it has not had its turn.
    pub(crate) fn remove(&mut self, ticket: u64) {
        self.items.remove(&ticket);
    }
}

/// What is to be asked for when the window has room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wish {
    /// An item that is not open at the source yet.
    Item(u32),
    /// Another image of one that is.
    Image(u32),
}

impl Source {
    pub(crate) fn new(kind: SourceKind, max_services: usize) -> Self {
        let mut directory = Directory::default();
        directory.max_services = max_services;
        Self {
            kind,
            preference: Preference::NONE,
            leaves: false,
            is_drained: false,
            session: None,
            phase: Phase::Down,
            directory,
            brought_by: BTreeMap::new(),
            offers: BTreeMap::new(),
            refused: BTreeSet::new(),
            is_full: false,
            generations: 0,
            sayings: 0,
            streams: StreamTable::default(),
            ids: StreamIds::default(),
            publisher: Publisher::default(),
            peer: Ipv4Addr::UNSPECIFIED.into(),
            login_stream: 0,
            login: None,
            login_ends_ms: None,
            takes_posts: false,
            obeys_pause: false,
            round_trip_us: None,
            retransmits: None,
            is_slow: false,
            unclosed: Line::default(),
            untold: BTreeSet::new(),
            deadline_ms: Some(0),
            service_turn: 0,
            delay_ms: 0,
        }
    }

    pub(crate) fn is_interactive(&self) -> bool {
        matches!(self.kind, SourceKind::Route(_))
    }

    /// What it says of a service, as long as it is connected.
    pub(crate) fn service(&self, service_id: u16) -> Option<&Service> {
        self.directory.service(service_id).filter(|_| self.phase == Phase::Up)
    }

    /// Whether it takes new requests for a service now.
    pub(crate) fn is_usable(&self, service_id: u16) -> bool {
        self.service(service_id).is_some_and(Service::is_usable)
    }

    /// Whether nothing more may be asked for now: it does not read, or has not
    /// been told yet what is closed.
    pub(crate) fn is_held(&self) -> bool {
        self.is_slow || !self.unclosed.is_empty()
    }

    /// Whether no item may be asked for now: as above, or it had as many requests as it
    /// may have in a second.
    pub(crate) fn takes_no_request(&self) -> bool {
        self.is_held() || self.preference.is_asked_enough()
    }

    /// Whether what is open there is to go to others.
    pub(crate) const fn gives_away(&self) -> bool {
        self.leaves || self.is_drained
    }

    /// What it is to be asked for next, if a service has room for that: new
    /// items and images in turn. Who takes no new items still gives images of
    /// what is open, one at a time.
    pub(crate) fn next_wish(&mut self, service_id: u16, max_window: u64) -> Option<Wish> {
        if self.takes_no_request() {
            return None;
        }
        let window = self.open_window(service_id).min(max_window);
        let is_usable = self.is_usable(service_id);
        let offer = self.offers.get_mut(&service_id)?;
        let has_item = is_usable && offer.in_window < window && !offer.queue.is_empty();
        let has_image = offer.in_window < window.max(1) && !offer.images.is_empty();
        if has_image && (offer.is_images_turn || !has_item) {
            offer.is_images_turn = false;
            offer.images.pop_front().map(Wish::Image)
        } else if has_item {
            offer.is_images_turn = true;
            offer.queue.pop_first().map(Wish::Item)
        } else {
            None
        }
    }

    /// How many items are bound to it, and how many it stands by for.
    pub(crate) fn item_count(&self) -> u64 {
        self.offers.values().map(|offer| offer.open + offer.claims.len() as u64).sum()
    }

    /// How much waits until it can be sent.
    pub(crate) fn unsent(&self) -> usize {
        let wishes = self
            .offers
            .values()
            .map(|offer| offer.queue.len() + offer.images.len() + offer.mirrors.waiting());
        self.unclosed.len() + self.untold.len() + wishes.sum::<usize>()
    }

    /// Whether it offers a service on request and does not say that it is up.
    pub(crate) fn is_down(&self, service_id: u16) -> bool {
        let state = self.service(service_id).and_then(|service| service.state.as_ref());
        self.is_interactive() && state.is_none_or(|state| state.is_up != Some(true))
    }

    /// Whether it takes new requests for a service, room or not.
    pub(crate) fn takes_requests(&self, service_id: u16) -> bool {
        self.is_usable(service_id) && self.open_window(service_id) > 0
    }

    /// How many requests may be without their image. 0: no requests are taken.
    pub(crate) fn open_window(&self, service_id: u16) -> u64 {
        let load = self.service(service_id).and_then(|service| service.load.as_ref());
        let own = load.and_then(|load| load.open_window).unwrap_or(u64::MAX);
        own.min(self.preference.open_window)
    }

    /// How many items may be open.
    pub(crate) fn open_limit(&self, service_id: u16) -> u64 {
        let load = self.service(service_id).and_then(|service| service.load.as_ref());
        let own = load.and_then(|load| load.open_limit).unwrap_or(u64::MAX);
        own.min(self.preference.open_limit)
    }

    /// How busy it says that it is; not at all, if it does not.
    pub(crate) fn load_factor(&self, service_id: u16) -> u64 {
        let load = self.service(service_id).and_then(|service| service.load.as_ref());
        load.and_then(|load| load.load_factor).unwrap_or(0)
    }

    /// Everything that belongs to the connection that was is void.
    pub(crate) fn reset(&mut self) {
        self.session = None;
        (self.round_trip_us, self.retransmits) = (None, None);
        self.phase = Phase::Down;
        self.directory.clear();
        self.brought_by.clear();
        self.offers.clear();
        self.streams.clear();
        self.ids = StreamIds::default();
        self.takes_posts = false;
        self.obeys_pause = false;
        self.is_slow = false;
        self.unclosed.clear();
        self.untold.clear();
        self.deadline_ms = None;
    }
}

/// All sources: those of routes, and the providers that have connected.
#[derive(Debug, Default)]
pub(crate) struct Sources {
    slots: Vec<Option<Source>>,
    /// The slots of routes, by their numbers. `None`: the number is free.
    by_route: Vec<Option<u32>>,
    /// By the index of the session, with its generation.
    by_session: Vec<Option<(u32, u32)>>,
}

impl Sources {
    pub(crate) fn with_routes(routes: &[Route], max_services: usize) -> Self {
        let mut sources = Self::default();
        for (number, route) in routes.iter().enumerate() {
            sources.insert_route(number, route, max_services);
        }
        sources
    }

    /// The source of a route.
    pub(crate) fn of_route(&self, number: usize) -> Option<u32> {
        self.by_route.get(number).copied().flatten()
    }

    /// A number that no route has.
    pub(crate) fn free_route(&self) -> usize {
        let free = self.by_route.iter().position(Option::is_none);
        free.unwrap_or(self.by_route.len())
    }

    /// A source for a route with a free number, not connected.
    pub(crate) fn insert_route(&mut self, number: usize, route: &Route, max_services: usize) {
        let source = Source::new(SourceKind::Route(number), max_services);
        let index = self.insert(Source { preference: Preference::of(route), ..source });
        if number >= self.by_route.len() {
            self.by_route.resize(number + 1, None);
        }
        debug_assert!(self.by_route[number].is_none(), "route {number} has a source");
        self.by_route[number] = Some(index);
    }

    pub(crate) fn remove_route(&mut self, index: u32, number: usize) {
        debug_assert_eq!(self.of_route(number), Some(index), "route {number}");
        self.by_route[number] = None;
        self.remove(index);
    }

    pub(crate) fn get(&self, index: u32) -> Option<&Source> {
        self.slots.get(index as usize)?.as_ref()
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Source> {
        self.slots.get_mut(index as usize)?.as_mut()
    }

    /// A source that is there: another table, or who calls, has its index.
    #[track_caller]
    pub(crate) fn known(&self, index: u32) -> Option<&Source> {
        let source = self.get(index);
        debug_assert!(source.is_some(), "source {index} is gone, and another table has its index");
        source
    }

    /// The same to change.
    #[track_caller]
    pub(crate) fn known_mut(&mut self, index: u32) -> Option<&mut Source> {
        let source = self.get_mut(index);
        debug_assert!(source.is_some(), "source {index} is gone, and another table has its index");
        source
    }

    /// Which source a session belongs to.
    #[inline]
    pub(crate) fn of_session(&self, session: SessionId) -> Option<u32> {
        let (generation, source) = (*self.by_session.get(session.index as usize)?)?;
        (generation == session.generation).then_some(source)
    }

    pub(crate) fn attach(&mut self, session: SessionId, source: u32) {
        let place = session.index as usize;
        if place >= self.by_session.len() {
            self.by_session.resize(place + 1, None);
        }
        self.by_session[place] = Some((session.generation, source));
    }

    pub(crate) fn detach(&mut self, session: SessionId) {
        if self.of_session(session).is_some() {
            self.by_session[session.index as usize] = None;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &Source)> {
        self.slots.iter().enumerate().filter_map(|(i, slot)| Some((i as u32, slot.as_ref()?)))
    }

    /// A place for a provider that connects.
    pub(crate) fn insert(&mut self, source: Source) -> u32 {
        let free = self.slots.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[place] = Some(source);
        place as u32
    }

    pub(crate) fn remove(&mut self, index: u32) {
        if let Some(slot) = self.slots.get_mut(index as usize) {
            *slot = None;
        }
    }

    /// How many providers have logged in.
    pub(crate) fn providers(&self) -> usize {
        let is_provider = |source: &Source| !source.is_interactive();
        self.iter().filter(|(_, it)| is_provider(it) && it.phase != Phase::Login).count()
    }

    /// Items of the non-interactive provider that has most.
    pub(crate) fn most_published(&self) -> u64 {
        let providers = self.iter().filter(|(_, source)| !source.is_interactive());
        providers.map(|(_, source)| source.item_count()).max().unwrap_or(0)
    }

    /// The sources of a service, with their own ids of it.
    pub(crate) fn offering(&self, service: u16) -> impl Iterator<Item = (u32, u16, &Source)> {
        self.iter().flat_map(move |(index, source)| {
            let of_this = move |(id, offer): (&u16, &Offer)| {
                (offer.service == service).then_some((index, *id, source))
            };
            source.offers.iter().filter_map(of_this)
        })
    }
}

/// Whether a service is taken from a source that is restricted to some.
pub(crate) fn is_wanted(wanted: Option<&[String]>, name: &Text) -> bool {
    wanted.is_none_or(|wanted| wanted.iter().any(|wanted| *name == **wanted))
}
