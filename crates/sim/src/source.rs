//! An interactive provider of the world.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::{
    ApiError, GenericHead, Provider, ProviderConfig, ProviderEvent, RefreshHead, Responses,
    ServiceSpec, StatusHead, StreamHandle, UpdateHead,
};
use tapeline_channel::sim::{Host, Network};
use tapeline_channel::{ListenConfig, OutputLimits, ReactorConfig};
use tapeline_omm::directory::{
    FilterContent, FilterEntry, ServiceEntry, ServiceLoad, ServiceState,
};
use tapeline_omm::market::ItemRequest;
use tapeline_rwf::{DataState, Domain, State, StateCode, StreamState};
use tapeline_time::Time;

use crate::entries::{Load, of_group, of_service};
use crate::images::{Groups, Images};
use crate::item::{BOOKS, Changes, Content, Item, Truth};
use crate::log::Log;
use crate::plan::{MirrorWay, Saying, Shape};
use crate::planted::Planted;
use crate::random::Random;
use crate::rights::Locks;

/// Hubs log in to sources by this and their number.
pub(crate) const HUB_USER: &str = "hub";

/// A stream that a client has open.
#[derive(Clone, Copy, Debug)]
struct Open {
    item: Item,
    /// The hub that asked.
    hub: usize,
    is_private: bool,
    /// It has had an image, or a part of one.
    is_served: bool,
}

/// A provider of all services, and what it has open.
pub(crate) struct Source {
    pub(crate) index: usize,
    pub(crate) at: SocketAddr,
    services: usize,
    provider: Option<Provider<Host>>,
    output: Option<OutputLimits>,
    has_books: bool,
    streams: BTreeMap<StreamHandle, Open>,
    by_item: BTreeMap<Item, Vec<StreamHandle>>,
    images: Images<StreamHandle>,
    /// All that it sends has the numbers of changes, which all sources have.
    has_numbers: bool,
    /// Changes that it has not sent, as it stands still.
    unsent: Vec<(Item, u64)>,
    pub(crate) stalled_until: Time,
    planted: Planted,
    sent: u64,
    /// A change that a planted fault sends later.
    kept: Option<(Item, u64)>,
    /// What it calls each service.
    names: Vec<String>,
    /// The number of each service, which changes when it was withdrawn; none
    /// while it is.
    ids: Vec<Option<u16>>,
    /// The number that each had when it was withdrawn.
    withdrawn: Vec<u16>,
    /// How many requests and items each takes.
    loads: Vec<Load>,
    /// Requests have no answer.
    is_mute: bool,
    /// Requests that have none.
    unanswered: Vec<StreamHandle>,
    /// Generic messages that it has had, and sent.
    generics: BTreeSet<u64>,
    generics_sent: u64,
    /// How often it was asked for an item, other than by private streams.
    pub(crate) requests: BTreeMap<Item, u64>,
    pub(crate) down_since: Time,
}

impl Source {
    pub(crate) fn new(
        index: usize,
        at: SocketAddr,
        shape: &Shape,
        (planted, random): (Planted, Random),
    ) -> Self {
        let output = output_limits(shape.provider_output_bytes);
        let has_numbers = shape.mirrored && shape.mirror_way == MirrorWay::Numbers;
        Self {
            index,
            at,
            services: shape.services,
            provider: None,
            output,
            has_books: shape.books > 0,
            streams: BTreeMap::new(),
            by_item: BTreeMap::new(),
            images: Images::new(
                shape.images,
                (Groups::new(shape), Locks::new(shape)),
                (planted, random),
            )
            .numbered(has_numbers),
            has_numbers,
            unsent: Vec::new(),
            stalled_until: Time::ZERO,
            planted,
            sent: 0,
            kept: None,
            names: (0..shape.services).map(|service| shape.name_at(index, service)).collect(),
            ids: (0..shape.services).map(|index| Some(index as u16 + 1)).collect(),
            withdrawn: vec![0; shape.services],
            loads: vec![Load::of(shape); shape.services],
            is_mute: false,
            unanswered: Vec::new(),
            generics: BTreeSet::new(),
            generics_sent: 0,
            requests: BTreeMap::new(),
            down_since: Time::ZERO,
        }
    }

    fn spec(&self, id: u16, service: usize) -> ServiceEntry {
        let spec = ServiceSpec::new(id, self.names[service].clone());
        let spec = if self.has_books { spec.domain(Domain::MARKET_BY_PRICE) } else { spec };
        let mut entry = spec.entry();
        entry.filters.extend(self.loads[service].filter());
        entry
    }

    pub(crate) fn start(&mut self, network: &Network, seed: u64) {
        let ids = self.ids.iter().enumerate();
        let services: Vec<_> =
            ids.filter_map(|(index, id)| Some(self.spec((*id)?, index))).collect();
        let reactor = ReactorConfig { seed, ..ReactorConfig::default() };
        let system = network.host(self.at.ip());
        let mut provider = Provider::with_system(ProviderConfig::new(services), reactor, system);
        let mut listen = ListenConfig::default();
        if let Some(output) = self.output {
            listen.session.output = output;
        }
        provider.listen_with(self.at, &listen).expect("nobody else listens there");
        self.provider = Some(provider);
    }

    pub(crate) fn crash(&mut self, now: Time) {
        if self.is_up() {
            self.down_since = now;
        }
        self.provider = None;
        self.streams.clear();
        self.by_item.clear();
        self.images.forget_all();
        self.unsent.clear();
        self.unanswered.clear();
        self.kept = None;
    }

    /// From here on it does what it is asked for.
    pub(crate) fn calm(&mut self, now: Time, truth: &Truth) {
        self.images.calm(now);
        self.set_mute(now, false, truth);
        for service in 0..self.services {
            self.set_load(service, (0, 0));
            self.set_burden(service, 0);
        }
    }

    /// Whether it leaves requests without an answer.
    pub(crate) fn set_mute(&mut self, now: Time, is_mute: bool, truth: &Truth) {
        self.is_mute = is_mute;
        if !is_mute {
            for stream in std::mem::take(&mut self.unanswered) {
                self.send_image(now, stream, truth);
            }
        }
    }

    /// Ends the streams of an item.
    pub(crate) fn end_item(&mut self, item: Item, is_for_good: bool) {
        let stream = if is_for_good { StreamState::CLOSED } else { StreamState::CLOSED_RECOVER };
        self.end_streams(stream, |its| *its == item);
    }

    fn end_streams(&mut self, stream_state: StreamState, which: impl Fn(&Item) -> bool) {
        let Some(provider) = &mut self.provider else { return };
        let (data, code) = (DataState::SUSPECT, StateCode::NONE);
        let state = State::new(stream_state, data, code, "ended by its source");
        let items: Vec<_> = self.by_item.keys().filter(|item| which(item)).copied().collect();
        let mut ended: BTreeSet<_> =
            items.iter().filter_map(|item| self.by_item.remove(item)).flatten().collect();
        // Snapshots of which parts are to come are streams as well.
        ended.extend(self.images.begun_of(which));
        provider.with(|responses| {
            for stream in &ended {
                // It may be gone, and nobody heard of that yet.
                let _ = responses.status(*stream, &StatusHead::of(state));
            }
        });
        for stream in ended {
            self.streams.remove(&stream);
            self.images.forget(stream);
        }
    }

    fn update_service(&mut self, service: usize, filter: FilterEntry) {
        let service = service % self.services;
        let (Some(id), Some(provider)) = (self.ids[service], &mut self.provider) else { return };
        let entry = ServiceEntry::update(id, vec![filter]);
        provider.with(|responses| responses.update_directory(vec![entry]));
    }

    /// Says that a service is up, or is not, and takes requests or does not.
    pub(crate) fn set_service(&mut self, service: usize, is_up: bool, is_accepting: bool) {
        let state = ServiceState::new(is_up, is_accepting);
        self.update_service(service, FilterEntry::set(FilterContent::State(state)));
    }

    /// How many requests and items a service takes.
    pub(crate) fn set_load(&mut self, service: usize, (window, limit): (u64, u64)) {
        let before = self.loads[service % self.services];
        self.say_load(service, Load { window, limit, ..before });
    }

    /// How loaded it is with a service, in percent.
    pub(crate) fn set_burden(&mut self, service: usize, percent: u64) {
        let before = self.loads[service % self.services];
        self.say_load(service, Load { percent, ..before });
    }

    fn say_load(&mut self, service: usize, load: Load) {
        let service = service % self.services;
        if std::mem::replace(&mut self.loads[service], load) == load {
            return;
        }
        let all = FilterEntry::set(FilterContent::Load(ServiceLoad::default()));
        self.update_service(service, load.filter().unwrap_or(all));
    }

    /// Says something of all items of a group, or of a service.
    pub(crate) fn say(&mut self, service: usize, group: usize, saying: Saying) {
        let service = service % self.services;
        let group = self.images.groups.now(service, group);
        let suspect = State::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, "said");
        let closed = State::new(
            StreamState::CLOSED_RECOVER,
            DataState::SUSPECT,
            StateCode::NONE,
            "all are ended",
        );
        let into = 3 - group;
        self.update_service(
            service,
            match saying {
                Saying::Suspect => of_group(group, Some(suspect), None),
                Saying::Closed => of_group(group, Some(closed), None),
                Saying::Merged => of_group(group, None, Some(into)),
                Saying::ServiceSuspect => of_service(suspect),
                Saying::ServiceClosed => of_service(closed),
            },
        );
        match saying {
            Saying::Closed => {
                let groups = self.images.groups.clone();
                let is_meant = |item: &Item| item.service == service && groups.of(*item) == group;
                self.end_streams(StreamState::CLOSED_RECOVER, is_meant);
            }
            Saying::ServiceClosed => {
                self.end_streams(StreamState::CLOSED_RECOVER, |item| item.service == service);
            }
            Saying::Merged => self.images.groups.merge(service, group, into),
            Saying::Suspect | Saying::ServiceSuspect => {}
        }
    }

    /// Takes back what was said.
    pub(crate) fn unsay(&mut self, service: usize, group: usize, saying: Saying) {
        let service = service % self.services;
        let group = self.images.groups.now(service, group);
        let good = State::new(StreamState::OPEN, DataState::OK, StateCode::NONE, "good again");
        let filter = match saying {
            Saying::Suspect => of_group(group, Some(good), None),
            Saying::ServiceSuspect => of_service(good),
            Saying::Closed | Saying::Merged | Saying::ServiceClosed => return,
        };
        self.update_service(service, filter);
    }

    /// Takes a service away, or has it again by another number.
    pub(crate) fn withdraw(&mut self, service: usize, is_gone: bool) {
        let service = service % self.services;
        let (entry, id) = match (self.ids[service], is_gone) {
            (Some(id), true) => {
                self.withdrawn[service] = id;
                (ServiceEntry::delete(id), None)
            }
            (None, false) => {
                let id = next_id(self.withdrawn[service]);
                (self.spec(id, service), Some(id))
            }
            _ => return,
        };
        self.ids[service] = id;
        if let Some(provider) = &mut self.provider {
            provider.with(|responses| responses.update_directory(vec![entry]));
        }
    }

    /// Since when it is gone, if it is.
    pub(crate) fn gone_since(&self) -> Option<Time> {
        (!self.is_up()).then_some(self.down_since)
    }

    /// Whether it answers nothing for now.
    pub(crate) const fn is_mute(&self) -> bool {
        self.is_mute
    }

    pub(crate) const fn is_up(&self) -> bool {
        self.provider.is_some()
    }

    pub(crate) fn open_streams(&self) -> usize {
        self.streams.len()
    }

    /// Whether it takes as many items of a service as anybody wants.
    pub(crate) fn is_limited(&self, service: usize) -> bool {
        self.loads.get(service).is_some_and(|load| load.limit > 0)
    }

    /// Whether it takes so many requests at a time.
    pub(crate) fn has_window(&self) -> bool {
        self.loads.iter().any(|load| load.window > 0)
    }

    /// Whether it has an item open, and has sent something of it.
    pub(crate) fn has(&self, item: Item) -> bool {
        let streams = self.by_item.get(&item).into_iter().flatten();
        streams.filter_map(|stream| self.streams.get(stream)).any(|open| open.is_served)
    }

    /// What it has open: the items, and whether each is one client's alone.
    pub(crate) fn open(&self) -> impl Iterator<Item = (Item, bool)> {
        self.streams.values().map(|open| (open.item, open.is_private))
    }

    /// The shared streams of each hub that have had something.
    pub(crate) fn served(&self) -> BTreeSet<(usize, Item)> {
        let served = self.streams.values().filter(|open| open.is_served && !open.is_private);
        served.map(|open| (open.hub, open.item)).collect()
    }

    /// Whether it has sent all that it was asked for, and that has arrived by now.
    pub(crate) fn is_settled(&self, now: Time) -> bool {
        self.is_up() && !self.is_mute && self.images.is_settled(now) && self.unanswered.is_empty()
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        self.images.deadline()
    }

    /// An item has changed.
    pub(crate) fn change(&mut self, now: Time, item: Item, seq: u64) {
        if !self.is_up() || item.service >= self.services {
            return;
        }
        self.unsent.push((item, seq));
        if now >= self.stalled_until {
            self.send_unsent();
        }
    }

    /// Sends an image that nobody asked for.
    pub(crate) fn send_unasked(&mut self, now: Time, item: Item, truth: &Truth) {
        if now < self.stalled_until {
            return;
        }
        for stream in self.by_item.get(&item).cloned().unwrap_or_default() {
            self.send_image(now, stream, truth);
        }
    }

    fn send_image(&mut self, now: Time, stream: StreamHandle, truth: &Truth) {
        self.send_unsent();
        let Self { provider: Some(provider), streams, images, .. } = self else { return };
        let Some(open) = streams.get_mut(&stream) else { return };
        open.is_served = true;
        provider.with(|responses| {
            let send = sending(responses);
            images.begin(now, (stream, open.item), truth, send);
        });
    }

    fn send_unsent(&mut self) {
        for (item, seq) in std::mem::take(&mut self.unsent) {
            self.sent += 1;
            let is_chosen = self.sent % 16 == 7;
            match self.planted {
                Planted::LostUpdate if is_chosen => continue,
                Planted::RepeatedUpdate if is_chosen => self.send(item, seq),
                Planted::FalseValue if is_chosen => {
                    self.send(item, seq + 1000);
                    continue;
                }
                Planted::SwappedUpdates if is_chosen && self.kept.is_none() => {
                    self.kept = Some((item, seq));
                    continue;
                }
                _ => {}
            }
            self.send(item, seq);
            if let Some((kept, seq)) = self.kept.take_if(|(kept, _)| *kept == item) {
                self.send(kept, seq);
            }
        }
    }

    fn send(&mut self, item: Item, seq: u64) {
        let seq_num = self.has_numbers.then_some(seq as u32);
        let head = UpdateHead { seq_num, ..UpdateHead::QUOTE };
        let Self { provider: Some(provider), images, by_item, .. } = self else { return };
        let Some(streams) = by_item.get(&item) else { return };
        let content = Content::update(item, seq);
        provider.with(|responses| {
            for stream in streams {
                match responses.update(*stream, &head, &content) {
                    // Whoever waits for an image, or is gone, needs no update;
                    // who takes none is cut off.
                    Ok(_) => images.note_update(*stream, seq),
                    Err(
                        ApiError::Held(_)
                        | ApiError::Void
                        | ApiError::Full
                        | ApiError::NotConnected,
                    ) => {}
                    Err(error) => panic!("a source cannot send: {error}"),
                }
            }
        });
    }

    pub(crate) fn turn(
        &mut self,
        now: Time,
        truth: &Truth,
        log: &mut Log,
        violations: &mut Vec<String>,
    ) -> usize {
        if now < self.stalled_until {
            return 0;
        }
        self.send_unsent();
        let Self {
            provider: Some(provider),
            streams,
            by_item,
            planted,
            images,
            index,
            is_mute,
            unanswered,
            generics,
            generics_sent,
            requests,
            ..
        } = self
        else {
            return 0;
        };
        let mut work = usize::from(images.deadline().is_some_and(|due| due <= now));
        provider.with(|responses| images.send_due(now, truth, sending(responses)));
        work += provider.poll(
            Some(Duration::ZERO),
            &mut |event: ProviderEvent<'_>, responses: &mut Responses<'_>| match event {
                ProviderEvent::Request { stream, request, .. } => {
                    let Some(item) = item_of(request) else {
                        panic!("a request for no item: {request:?}")
                    };
                    log.note(format_args!("source {index}: request for {item}"));
                    *requests.entry(item).or_default() += u64::from(!request.private);
                    let is_silent = *planted == Planted::Silence && item.name == 0;
                    // That of a snapshot is over with its image.
                    if request.streaming {
                        let is_served = !is_silent && !*is_mute;
                        let hub = hub_of(stream, responses).expect("hubs log in by their number");
                        let open = Open { item, hub, is_private: request.private, is_served };
                        streams.insert(stream, open);
                        by_item.entry(item).or_default().push(stream);
                    }
                    if is_silent {
                        return;
                    }
                    match *is_mute {
                        true => unanswered.push(stream),
                        false => images.begin(now, (stream, item), truth, sending(responses)),
                    }
                }
                ProviderEvent::Reissue { stream, wants_image: true, .. } => {
                    let Some(Open { item, .. }) = streams.get(&stream) else {
                        // A snapshot of which parts are to come.
                        return;
                    };
                    log.note(format_args!("source {index}: another image of {item}"));
                    match *is_mute {
                        true => unanswered.push(stream),
                        false => images.begin(now, (stream, *item), truth, sending(responses)),
                    }
                }
                ProviderEvent::Post { receipt, .. } => {
                    // Whoever posted may be gone.
                    let _ = responses.ack(receipt);
                }
                ProviderEvent::Generic { stream: Some(stream), msg, .. } => {
                    let number = Changes::read(&msg.payload).ok().and_then(|it| it.seq());
                    log.note(format_args!("source {index}: generic message {number:?}"));
                    if number.is_none_or(|number| !generics.insert(number)) {
                        violations.push(format!("source {index}: generic {number:?} comes again"));
                    }
                    let Some(Open { item, .. }) = streams.get(&stream) else { return };
                    *generics_sent += 1;
                    let answer = 1 + *index as u64 + 10 * *generics_sent;
                    let content = Content::part(*item, answer, (0, 1), 0);
                    let _ = responses.generic(stream, &GenericHead::default(), &content);
                }
                ProviderEvent::Close { stream } => {
                    log.note(format_args!("source {index}: close of {}", stream.index()));
                    images.forget(stream);
                    if let Some(Open { item, .. }) = streams.remove(&stream)
                        && let Some(of_item) = by_item.get_mut(&item)
                    {
                        of_item.retain(|its| *its != stream);
                        if of_item.is_empty() {
                            by_item.remove(&item);
                        }
                    }
                }
                ProviderEvent::Connected { client } => {
                    log.note(format_args!("source {index}: {client:?} connected"));
                }
                ProviderEvent::Disconnected { client, reason } => {
                    log.note(format_args!("source {index}: {client:?} gone: {reason}"));
                }
                _ => {}
            },
        );
        work
    }
}

/// The hub that opened a stream, by the user that it logged in as.
fn hub_of(stream: StreamHandle, responses: &Responses<'_>) -> Option<usize> {
    let client = responses.stream(stream)?.client;
    let user = responses.login(client)?.user_name.to_string();
    user.strip_prefix(HUB_USER)?.parse().ok()
}

/// How an image is sent on a stream.
fn sending<'a>(
    responses: &'a mut Responses<'_>,
) -> impl FnMut(StreamHandle, Item, &RefreshHead<'_>, &Content) -> Result<(), ApiError> + 'a {
    |stream, _, head, content| responses.refresh(stream, head, content).map(drop)
}

/// How much output waits, if it is not as much as is usual.
pub(crate) fn output_limits(max_bytes: usize) -> Option<OutputLimits> {
    let (breach_bytes, ok_bytes) = (max_bytes / 10 * 3, max_bytes / 10);
    (max_bytes > 0).then_some(OutputLimits { breach_bytes, ok_bytes, max_bytes })
}

/// Services have numbers below this, and later ones that much apart.
const MOST_SERVICES: usize = 10;

const fn next_id(id: u16) -> u16 {
    (id + MOST_SERVICES as u16) % 10_000
}

fn item_of(request: &ItemRequest<'_>) -> Option<Item> {
    let name = std::str::from_utf8(request.key.name?).ok()?;
    let name = name.strip_prefix('I')?.parse().ok()?;
    let service = usize::from(request.key.service_id?).checked_sub(1)? % MOST_SERVICES;
    let item = Item { service, name };
    (request.domain == item.domain()).then_some(item)
}

const _: () = assert!(BOOKS > 100_000, "there are fewer quotes");
