//! Thousands of random events, and what must hold through all of them:
//!
//! * a source never has two streams with one key, nor more requests without
//!   an image than its window, and is asked on no stream twice;
//! * a server gets an item's frames only between its acceptance and its end,
//!   and those for all of them without a hole;
//! * when the storm is over, every request has an image that is open and ok,
//!   and when all are closed, nothing is left anywhere.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::{World, config, item_request, provider};
use tapeline_backbone::repair::{Held, HeldFlags, Page};
use tapeline_backbone::{FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_channel::SessionId;
use tapeline_hub::{Event, HubConfig};
use tapeline_omm::directory::{FilterContent, ServiceLoad, ServiceState};
use tapeline_rwf::{
    DataState, Domain, Msg, MsgKey, Priority, RefreshFlags, RequestFlags, State, StateCode,
    StreamState,
};

/// Items of the interactive providers, and of the one that publishes.
const NAMES: [&str; 9] = ["AA", "BB", "CC", "DD", "EE", "FF", "P1", "P2", "P3"];
const PUBLISHED: [&str; 3] = ["P1", "P2", "P3"];
const PUB: u16 = 2;
const WINDOW: usize = 3;
const REQUESTS: u32 = 5;

/// Random enough, and the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }
}

/// A stream as a provider sees it.
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the stream")]
struct Stream {
    name: String,
    streaming: bool,
    private: bool,
    /// An image is due, and how many of its parts have been sent.
    due: Option<u16>,
    has_image: bool,
    answered: bool,
}

/// An interactive provider.
struct Provider {
    session: SessionId,
    streams: BTreeMap<i32, Stream>,
    /// Streams that it ended.
    ended: BTreeSet<i32>,
    is_up: bool,
    limit: Option<u64>,
}

impl Provider {
    fn new(world: &mut World, route: usize, limit: Option<u64>) -> Self {
        let session = world.route_opened(route);
        world.says(session, &provider::login_accepted());
        let load = ServiceLoad {
            open_window: Some(WINDOW as u64),
            open_limit: limit,
            ..ServiceLoad::default()
        };
        world.says(session, &provider::directory(&[provider::loaded_feed(load)]));
        Self { session, streams: BTreeMap::new(), ended: BTreeSet::new(), is_up: true, limit }
    }

    fn hears(&mut self, bytes: &[u8]) {
        match Msg::decode(bytes).expect("the hub sends what can be read") {
            Msg::Request(request) if matches!(request.domain, Domain::LOGIN | Domain::SOURCE) => {}
            Msg::Request(request) => {
                let name = String::from_utf8_lossy(request.key.name.expect("a name")).into_owned();
                let streaming = request.flags.contains(RequestFlags::STREAMING);
                let wants_image = !request.flags.contains(RequestFlags::NO_REFRESH);
                let stream = request.stream_id;
                if let Some(open) = self.streams.get_mut(&stream) {
                    assert_eq!((&open.name, open.streaming), (&name, streaming), "a reissue");
                    assert!(!wants_image || open.due.is_none(), "two images due on one stream");
                    if wants_image {
                        open.due = Some(0);
                        open.answered = false;
                    }
                    return;
                }
                assert!(self.is_up, "a request while the service takes none");
                assert!(wants_image);
                let private = request.flags.contains(RequestFlags::PRIVATE_STREAM);
                let others = self.streams.values().filter(|s| s.name == name && !s.private);
                assert!(private || others.count() == 0, "two streams for {name}");
                let open = Stream {
                    name,
                    streaming,
                    private,
                    due: Some(0),
                    has_image: false,
                    answered: false,
                };
                self.streams.insert(stream, open);
                let unanswered = self.streams.values().filter(|s| !s.has_image && !s.answered);
                assert!(unanswered.count() <= WINDOW, "the window is kept");
                let open = self.streams.values().filter(|s| s.streaming).count() as u64;
                assert!(
                    !streaming || self.limit.is_none_or(|limit| open <= limit),
                    "the limit too"
                );
            }
            Msg::Close(close) => {
                let is_open = self.streams.remove(&close.stream_id).is_some();
                // What was changed is closed once more when it was ended here.
                let was_ended = self.ended.remove(&close.stream_id);
                assert!(is_open || was_ended, "a close of nothing");
            }
            other => panic!("{other:?}"),
        }
    }

    /// Sends the next part of an image that is due.
    fn next_part(&mut self, world: &mut World, dice: &mut Dice) {
        let due: Vec<i32> =
            self.streams.iter().filter(|(_, s)| s.due.is_some()).map(|(id, _)| *id).collect();
        if due.is_empty() {
            return;
        }
        let id = due[dice.below(due.len())];
        let stream = self.streams.get_mut(&id).expect("it is open");
        let number = stream.due.take().expect("it is due");
        let is_last = number >= 2 || dice.below(2) == 0;
        let bytes = provider::refresh_with(id, &stream.name, |msg| {
            msg.part_num = Some(number);
            msg.flags.set(RefreshFlags::REFRESH_COMPLETE, is_last);
            msg.flags.set(RefreshFlags::PRIVATE_STREAM, stream.private);
        });
        if is_last {
            stream.has_image = true;
        } else {
            stream.due = Some(number + 1);
        }
        if is_last && !stream.streaming {
            self.streams.remove(&id);
        }
        world.says(self.session, &bytes);
    }

    fn any_stream(&self, dice: &mut Dice) -> Option<i32> {
        let ids: Vec<_> = self.streams.keys().copied().collect();
        (!ids.is_empty()).then(|| ids[dice.below(ids.len())])
    }

    fn set_up(&mut self, world: &mut World, is_up: bool) {
        self.is_up = is_up;
        let state = ServiceState::new(is_up, true);
        // What the hub sends because of this comes after it.
        world.says(self.session, &provider::change(FilterContent::State(state)));
    }
}

/// A non-interactive provider.
struct Publisher {
    session: SessionId,
    /// What it has published, and the next part of an image of it.
    items: BTreeMap<&'static str, (i32, Option<u16>)>,
    next: i32,
}

impl Publisher {
    fn new(world: &mut World) -> Self {
        let session = world.session();
        world.event(provider::opened(session));
        world.says(session, &provider::provider_login());
        let service = provider::service(PUB, "PUB", true);
        world.says(session, &provider::directory_on(0, &[service]));
        Self { session, items: BTreeMap::new(), next: -1 }
    }

    /// Publishes an image of an item, or the next part of one.
    fn publish(&mut self, world: &mut World, name: &'static str, dice: &mut Dice) {
        let next = &mut self.next;
        let (stream_id, part) = self.items.entry(name).or_insert_with(|| {
            *next -= 1;
            (*next, None)
        });
        let number = part.unwrap_or(0);
        let is_last = number >= 2 || dice.below(2) == 0;
        let bytes = provider::refresh_with(*stream_id, name, |msg| {
            msg.flags = RefreshFlags::empty();
            msg.flags.set(RefreshFlags::REFRESH_COMPLETE, is_last);
            msg.flags.set(RefreshFlags::CLEAR_CACHE, number == 0);
            msg.part_num = Some(number);
            msg.key = Some(MsgKey::item(PUB, name));
        });
        *part = (!is_last).then_some(number + 1);
        world.says(self.session, &bytes);
    }

    fn act(&mut self, world: &mut World, dice: &mut Dice) {
        let name = PUBLISHED[dice.below(PUBLISHED.len())];
        match (dice.below(10), self.items.get(name)) {
            (0, Some((stream_id, _))) => {
                let gone = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NONE, "");
                world.says(self.session, &provider::status(*stream_id, gone));
                self.items.remove(name);
            }
            (1..=5, Some((stream_id, _))) => {
                world.says(self.session, &provider::update(*stream_id, 1));
            }
            _ => self.publish(world, name, dice),
        }
    }

    /// All items are there, and whole.
    fn finish(&mut self, world: &mut World, dice: &mut Dice) {
        for name in PUBLISHED {
            while self.items.get(name).is_none_or(|(_, part)| part.is_some()) {
                self.publish(world, name, dice);
            }
        }
    }
}

/// A request as a server sees it.
#[derive(Debug, Clone, Default)]
struct Wish {
    name: &'static str,
    snapshot: bool,
    private: bool,
    item: Option<u32>,
    last_seq: Option<u32>,
    state: Option<(StreamState, DataState)>,
    has_image: bool,
}

struct Server {
    id: Incarnation,
    wishes: BTreeMap<u32, Wish>,
    round: u32,
}

impl Server {
    fn open(&mut self, world: &mut World, request: u32, wish: Wish, class: u8) {
        let service = if PUBLISHED.contains(&wish.name) { PUB } else { 1 };
        let mut msg = item_request(service, wish.name);
        msg.flags.set(RequestFlags::STREAMING, !wish.snapshot);
        msg.flags.set(RequestFlags::PRIVATE_STREAM, wish.private);
        msg.priority = Some(Priority { class, count: 1 });
        self.wishes.insert(request, wish);
        world.open_with(self.id, request, &msg);
    }

    fn hears(&mut self, header: &FrameHeader, body: &[u8]) {
        if header.target != Incarnation::ALL && header.target != self.id {
            return;
        }
        match header.kind {
            Kind::Accept => {
                let request = u32::from_le_bytes(body.try_into().expect("four bytes"));
                let wish = self.wishes.get_mut(&request).expect("a request that is open");
                wish.item = Some(header.item);
                wish.last_seq = None;
            }
            Kind::Refuse => {
                self.wishes.remove(&header.item).expect("a request that is open");
            }
            Kind::Defer => assert_eq!(self.wishes[&header.item].item, None),
            Kind::Item => self.item(header, body),
            Kind::Held => self.held(body),
            Kind::Directory | Kind::Ack => {}
            kind => panic!("{kind:?}"),
        }
    }

    /// What the hub holds is what was heard of it so far.
    fn held(&self, body: &[u8]) {
        let (_, entries) = Page::read(body).expect("a page");
        let entries: Vec<_> = Held::entries(entries).collect();
        let requests: Vec<_> = entries.iter().map(|held| held.request).collect();
        assert_eq!(requests, self.wishes.keys().copied().collect::<Vec<_>>());
        for (held, wish) in entries.iter().zip(self.wishes.values()) {
            if held.flags.contains(HeldFlags::ACCEPTED) {
                assert_eq!(wish.item, Some(held.item), "{wish:?}");
                assert!(wish.last_seq.is_none_or(|last| last == held.item_seq), "{wish:?}");
            }
        }
    }

    fn item(&mut self, header: &FrameHeader, body: &[u8]) {
        let wishes = self.wishes.iter_mut().filter(|(_, wish)| wish.item == Some(header.item));
        let mut over = Vec::new();
        let is_to_all = header.target == Incarnation::ALL;
        let is_snapshot = header.flags.contains(FrameFlags::SNAPSHOT);
        let mut count = 0;
        for (request, wish) in wishes {
            count += 1;
            if is_to_all {
                if let Some(last) = wish.last_seq {
                    assert_eq!(header.item_seq, last + 1, "a hole for {wish:?}");
                }
                wish.last_seq = Some(header.item_seq);
            } else if let Some(last) = wish.last_seq {
                assert_eq!(header.item_seq, last, "as of what came last");
            }
            match Msg::decode(body).expect("it can be read") {
                Msg::Refresh(refresh) => {
                    assert!(header.flags.contains(FrameFlags::IMAGE));
                    assert!(refresh.key.is_none() && refresh.stream_id == 0);
                    wish.state = Some((refresh.state.stream, refresh.state.data));
                    if refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE)
                        && (is_to_all || is_snapshot == wish.snapshot)
                    {
                        wish.has_image = true;
                        if !is_to_all && is_snapshot {
                            over.push(*request);
                        }
                    }
                }
                Msg::Status(status) => {
                    let state = status.state.expect("a state");
                    wish.state = Some((state.stream, state.data));
                }
                Msg::Update(_) => {}
                other => panic!("{other:?}"),
            }
            if header.flags.contains(FrameFlags::LAST) {
                over.push(*request);
            }
        }
        assert!(is_to_all || count > 0, "a frame for a request that is not open");
        for request in over {
            self.wishes.remove(&request);
        }
    }
}

struct Storm {
    world: World,
    dice: Dice,
    /// How many items a provider takes; then there are no private streams.
    limit: Option<u64>,
    providers: [Option<Provider>; 2],
    publisher: Option<Publisher>,
    servers: Vec<Server>,
    next_server: u32,
}

impl Storm {
    fn new(seed: u64, config: HubConfig, limit: Option<u64>) -> Self {
        let mut world = World::new(config);
        let mut servers = Vec::new();
        for id in 1..=3 {
            world.server_up(Incarnation(id));
            servers.push(Server { id: Incarnation(id), wishes: BTreeMap::new(), round: 0 });
        }
        Self {
            world,
            dice: Dice(seed),
            limit,
            providers: [None, None],
            publisher: None,
            servers,
            next_server: 100,
        }
    }

    /// Hands out everything that the hub said.
    fn deliver(&mut self) {
        loop {
            let sent = std::mem::take(&mut self.world.out.sent);
            let frames = std::mem::take(&mut self.world.out.frames);
            let closed = std::mem::take(&mut self.world.out.closed);
            let connects = std::mem::take(&mut self.world.out.connects);
            let is_quiet =
                sent.is_empty() && frames.is_empty() && closed.is_empty() && connects.is_empty();
            for (session, bytes) in sent {
                let of = self.providers.iter_mut().flatten().find(|p| p.session == session);
                if let Some(provider) = of {
                    provider.hears(&bytes);
                }
            }
            for (header, body) in frames {
                for server in &mut self.servers {
                    server.hears(&header, &body);
                }
            }
            assert!(closed.is_empty(), "{closed:?}");
            for route in connects {
                // Half of the attempts fail.
                if self.dice.below(2) == 0 {
                    self.world.event(Event::RouteFailed { route });
                } else {
                    self.providers[route] = Some(Provider::new(&mut self.world, route, self.limit));
                }
            }
            if is_quiet {
                return;
            }
        }
    }

    fn step(&mut self) {
        let Self { world, dice, providers, publisher, servers, .. } = self;
        let place = dice.below(2);
        let server = dice.below(servers.len());
        let request = dice.below(REQUESTS as usize) as u32;
        match dice.below(115) {
            100..113 => match publisher {
                Some(publisher) => publisher.act(world, dice),
                None => *publisher = Some(Publisher::new(world)),
            },
            113..115 => {
                if let Some(publisher) = publisher.take() {
                    world.closed(publisher.session);
                }
            }
            0..30 => {
                if let Some(provider) = &mut providers[place] {
                    provider.next_part(world, dice);
                }
            }
            30..50 => {
                if let Some(provider) = &mut providers[place]
                    && let Some(id) = provider.any_stream(dice)
                {
                    world.says(provider.session, &provider::update(id, 1));
                }
            }
            50..65 => {
                let name = NAMES[dice.below(NAMES.len())];
                let server = &mut servers[server];
                // A server asks for an item once, but privately.
                let private = self.limit.is_none() && dice.below(5) == 0;
                let private = private && !PUBLISHED.contains(&name);
                let has_it = server.wishes.values().any(|wish| wish.name == name && !wish.private);
                if (private || !has_it) && !server.wishes.contains_key(&request) {
                    let snapshot = dice.below(4) == 0;
                    let wish = Wish { name, snapshot, private, ..Wish::default() };
                    server.open(world, request, wish, dice.below(4) as u8);
                }
            }
            65..72 => {
                let server = &mut servers[server];
                if server.wishes.remove(&request).is_some() {
                    world.close(server.id, request);
                }
            }
            72..76 => {
                let server = &servers[server];
                if let Some(wish) = server.wishes.get(&request).filter(|wish| !wish.snapshot) {
                    let mut msg = item_request(1, wish.name);
                    msg.flags.set(RequestFlags::PRIVATE_STREAM, wish.private);
                    world.reissue(server.id, request, &msg);
                }
            }
            76..84 => self.status(place),
            84..90 => world.pass(1_000),
            90..92 => world.pass(20_000),
            92..94 => {
                if let Some(provider) = providers[place].take() {
                    world.closed(provider.session);
                }
            }
            94..96 => {
                if let Some(provider) = &mut providers[place] {
                    let is_up = !provider.is_up;
                    provider.set_up(world, is_up);
                }
            }
            96..97 => {
                let gone = servers.remove(server);
                world.server_down(gone.id);
                self.next_server += 1;
                let id = Incarnation(self.next_server);
                world.server_up(id);
                servers.push(Server { id, wishes: BTreeMap::new(), round: 0 });
            }
            97..98 => {
                if let Some(provider) = &providers[place] {
                    world.says(provider.session, &[0, 200, 4, 6, 0]);
                }
            }
            _ => {
                let server = &mut servers[server];
                server.round += 1;
                world.frame(server.id, Kind::HeldRequest, server.round, FrameFlags::empty(), &[]);
                world.pass(0);
            }
        }
        self.deliver();
    }

    fn status(&mut self, place: usize) {
        let Some(provider) = &mut self.providers[place] else { return };
        let Some(id) = provider.any_stream(&mut self.dice) else { return };
        let stream = match self.dice.below(4) {
            0 => StreamState::CLOSED,
            1 => StreamState::CLOSED_RECOVER,
            _ => StreamState::OPEN,
        };
        if stream == StreamState::OPEN {
            let open = provider.streams.get_mut(&id).expect("it is open");
            open.answered |= open.due == Some(0);
        } else {
            provider.streams.remove(&id);
            provider.ended.insert(id);
        }
        let data = if stream == StreamState::OPEN { DataState::OK } else { DataState::SUSPECT };
        let state = State::new(stream, data, StateCode::NONE, "so it is");
        self.world.says(provider.session, &provider::status(id, state));
    }

    /// Everything is up and answers.
    fn calm(&mut self) {
        for _ in 0..60 {
            for provider in self.providers.iter_mut().flatten() {
                if !provider.is_up {
                    provider.set_up(&mut self.world, true);
                }
            }
            let publisher = self.publisher.get_or_insert_with(|| Publisher::new(&mut self.world));
            publisher.finish(&mut self.world, &mut self.dice);
            self.deliver();
            for _ in 0..60 {
                for provider in self.providers.iter_mut().flatten() {
                    provider.next_part(&mut self.world, &mut self.dice);
                }
                self.deliver();
            }
            self.world.pass(1_000);
            self.deliver();
        }
    }

    fn check_calm(&self, seed: u64) {
        assert!(self.providers.iter().all(Option::is_some), "both routes are up");
        let mut wanted = BTreeSet::new();
        let mut privately = 0;
        for server in &self.servers {
            for wish in server.wishes.values() {
                assert!(!wish.snapshot, "seed {seed}: {wish:?}");
                assert!(wish.has_image, "seed {seed}: {wish:?}");
                assert_eq!(
                    wish.state,
                    Some((StreamState::OPEN, DataState::OK)),
                    "seed {seed}: {wish:?}"
                );
                match wish.private {
                    true => privately += 1,
                    false => drop(wanted.insert(wish.name)),
                }
            }
        }
        wanted.retain(|name| !PUBLISHED.contains(name));
        let wanted = wanted.len() + privately;
        let open: Vec<_> = self
            .providers
            .iter()
            .flatten()
            .flat_map(|provider| provider.streams.values().map(|stream| stream.name.as_str()))
            .collect();
        assert_eq!(open.len(), wanted, "seed {seed}: {open:?}");
        let items = wanted + PUBLISHED.len();
        assert_eq!(self.world.core.counters().items, items as u64, "seed {seed}");
    }

    fn close_all(&mut self) {
        for server in &mut self.servers {
            for (request, _) in std::mem::take(&mut server.wishes) {
                self.world.close(server.id, request);
            }
        }
        self.deliver();
        assert!(self.providers.iter().flatten().all(|provider| provider.streams.is_empty()));
        assert_eq!(self.world.core.counters().items, PUBLISHED.len() as u64);
    }
}

fn weather(config: &HubConfig, limit: Option<u64>) {
    for seed in 0..60 {
        let mut storm = Storm::new(seed, config.clone(), limit);
        storm.deliver();
        for _ in 0..1_500 {
            storm.step();
        }
        storm.calm();
        storm.check_calm(seed);
        storm.close_all();
    }
}

#[test]
fn nothing_is_lost_or_left_over_after_a_storm() {
    weather(&config(2), None);
}

#[test]
fn nor_when_there_is_room_for_just_what_is_wanted() {
    weather(&config(2), Some(3));
}

#[test]
fn nor_when_what_happens_to_many_is_done_one_by_one() {
    for limit in [None, Some(3)] {
        let mut config = config(2);
        config.limits.items_per_slice = 1;
        weather(&config, limit);
    }
}

#[test]
fn nor_when_images_are_kept() {
    weather(&HubConfig { cache_interactive: true, ..config(2) }, None);
}
