//! A hub's core, with providers and servers that do anything in any order.
//!
//! Each step of an input is a byte that says what happens (see [`World::step`])
//! and a few that say to whom and how. What the core did before can be referred
//! to: streams that it opened, requests that it holds. What the shell never does
//! happens here neither: frames come only from servers that are up, and are of
//! kinds that servers send.
//!
//! After each step the tables of the core must agree. When all are gone and
//! time has passed, it must hold nothing.

use std::time::Duration;

use tapeline_backbone::repair::{Page, Wanted, WantedFlags};
use tapeline_backbone::{BusEvent, FrameFlags, FrameHeader, Incarnation, Kind, Published, Role};
use tapeline_channel::{Sent, SessionId};
use tapeline_hub::{Core, Event, HubConfig, Outputs, Route, Unpublished};
use tapeline_omm::directory::{
    FilterContent, FilterEntry, ServiceEntry, ServiceLoad, ServiceState,
};
use tapeline_rwf::{
    AckMsg, Domain, Encoder, GenericMsg, Msg, MsgKey, PostFlags, PostMsg, Priority, RefreshFlags,
    RequestFlags, RequestMsg, State,
};
use tapeline_time::Time;

use crate::steps::{Answers, Steps, state};

/// What providers say, as the scenarios of the hub have it.
#[path = "../../crates/hub/tests/it/support/provider.rs"]
#[allow(dead_code, reason = "scenarios say more")]
mod provider;

/// Few, so that the same ones meet.
const NAMES: [&str; 5] = ["A", "B", "C", "D", ""];
const REQUESTS: usize = 12;
const SERVERS: [Incarnation; 3] = [Incarnation(0xA), Incarnation(0xB), Incarnation(0xC)];
const ROUTES: usize = 2;

/// In this time everything is given up: time-outs, retries, what is kept of a
/// non-interactive provider.
const FOR_GOOD: Duration = Duration::from_secs(3600);

fn encode(msg: &Msg<'_>) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    encoder.message(msg).expect("the message can be written");
    let len = encoder.finish().expect("the buffer is large enough");
    buffer.truncate(len);
    buffer
}

/// What the core did, as far as steps refer to it.
#[derive(Debug, Default)]
struct Seen {
    /// Streams that providers were asked for, and messages that they can answer.
    streams: Vec<(SessionId, i32)>,
    posts: Vec<(SessionId, i32, u32)>,
    /// Sessions that it closed.
    closed: Vec<SessionId>,
    /// Routes to be connected.
    routes: Vec<usize>,
    answers: Answers,
}

impl Outputs for Seen {
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent {
        let sent = self.answers.answer(session);
        match Msg::decode(message).expect("what the core sends can be read") {
            Msg::Request(request) => self.streams.push((session, request.stream_id)),
            Msg::Post(post) => {
                self.posts.push((session, post.stream_id, post.post_id.unwrap_or(0)));
            }
            _ => {}
        }
        sent
    }

    fn connect(&mut self, route: usize) {
        assert!(!self.routes.contains(&route), "route {route} is asked for twice");
        self.routes.push(route);
    }

    fn close(&mut self, session: SessionId, _: &str) {
        self.closed.push(session);
    }

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        assert_eq!(header.kind.sender(), Some(Role::Hub), "a kind that hubs send");
        if header.kind == Kind::Item {
            Msg::decode(&parts.concat()).expect("what the core publishes can be read");
        }
        self.answers.published.unwrap_or(Published::Sent)
    }

    fn is_congested(&self) -> bool {
        self.answers.is_congested
    }
}

/// A core and those around it.
struct World {
    core: Core,
    seen: Seen,
    now: Time,
    sessions: u32,
    /// Sessions of interactive providers, and of the others.
    asked: Vec<SessionId>,
    publishers: Vec<SessionId>,
    servers: Vec<Incarnation>,
}

/// Runs one input.
pub fn events(data: &[u8]) {
    let mut steps = Steps::new(data);
    let mut world = World::new(&mut steps);
    while !steps.is_over() {
        world.step(&mut steps);
        world.core.check();
    }
    world.end();
}

impl World {
    fn new(steps: &mut Steps<'_>) -> Self {
        let mut config = HubConfig::named("hub");
        let setting = steps.byte();
        config.routes = (0..ROUTES).map(|it| Route::to(format!("source-{it}"), 14_002)).collect();
        config.cache_interactive = setting & 1 != 0;
        config.pause_upstream = setting & 2 != 0;
        if setting & 4 != 0 {
            config.unpublished = Unpublished::NotFound;
        }
        if setting & 8 != 0 {
            // Small enough for a short input to reach.
            let limits = &mut config.limits;
            (limits.max_items, limits.max_posts, limits.max_servers) = (3, 2, 2);
            (limits.max_items_per_provider, limits.max_requests_per_server) = (2, 4);
            (limits.max_image_bytes, limits.items_per_slice) = (100, 1);
        }
        let mut world = Self {
            core: Core::new(config),
            seen: Seen::default(),
            now: Time::ZERO.after(Duration::from_secs(1)),
            sessions: 0,
            asked: Vec::new(),
            publishers: Vec::new(),
            servers: Vec::new(),
        };
        world.core.handle_timeout(world.now, &mut world.seen);
        // As most inputs need it.
        world.source_up(true);
        world.server_up(SERVERS[0]);
        world
    }

    fn handle(&mut self, event: Event<'_>) {
        self.core.handle(self.now, event, &mut self.seen);
        self.settle();
    }

    /// Forgets sessions that the core closed, and ends those that are gone.
    fn settle(&mut self) {
        for session in std::mem::take(&mut self.seen.answers.gone) {
            self.forget(session);
            self.core.handle(self.now, Event::Closed { session }, &mut self.seen);
        }
        for session in std::mem::take(&mut self.seen.closed) {
            self.forget(session);
        }
    }

    fn forget(&mut self, session: SessionId) {
        self.asked.retain(|other| *other != session);
        self.publishers.retain(|other| *other != session);
        self.seen.streams.retain(|(other, _)| *other != session);
        self.seen.posts.retain(|(other, ..)| *other != session);
    }

    fn session(&mut self) -> SessionId {
        self.sessions += 1;
        SessionId { index: self.sessions, generation: 1 }
    }

    fn says(&mut self, session: SessionId, bytes: &[u8]) {
        self.handle(Event::Message { session, bytes });
    }

    fn source_up(&mut self, is_usable: bool) {
        let Some(route) = self.seen.routes.pop() else { return };
        let session = self.session();
        self.asked.push(session);
        self.handle(Event::RouteOpened { route, session });
        if is_usable {
            self.says(session, &provider::login_accepted());
            self.says(session, &provider::directory(&[provider::feed(1)]));
        }
    }

    fn server_up(&mut self, peer: Incarnation) {
        if !self.servers.contains(&peer) {
            self.servers.push(peer);
            self.handle(Event::Bus(BusEvent::PeerUp { peer, name: "server" }));
        }
    }

    fn server_down(&mut self, peer: Incarnation) {
        self.servers.retain(|other| *other != peer);
        self.handle(Event::Bus(BusEvent::PeerDown { peer }));
    }

    fn frame(&mut self, from: Incarnation, kind: Kind, item: u32, flags: FrameFlags, body: &[u8]) {
        let mut header = FrameHeader::new(kind, Incarnation(1), item);
        (header.sender, header.flags) = (from, flags);
        self.handle(Event::Bus(BusEvent::Frame { header, body }));
    }

    fn pass(&mut self, wait: Duration) {
        let end = self.now.after(wait);
        // Bounded, so that a deadline that does not move on is found.
        for _ in 0..100_000 {
            match self.core.next_deadline() {
                Some(deadline) if deadline <= end => {
                    self.now = self.now.max(deadline);
                    self.core.handle_timeout(self.now, &mut self.seen);
                    self.settle();
                    self.core.check();
                }
                _ => {
                    self.now = end;
                    return;
                }
            }
        }
        panic!("the core is due again and again");
    }

    /// ```text
    /// 0      a route opens, or fails      10     a server comes, goes, has a hole
    /// 1      a login, as it should be     11     a request of a server
    /// 2      a directory                  12     a close or a reissue
    /// 3, 4   an image, or a part of one   13     a post or a generic message
    /// 5      an update                    14     a repair
    /// 6      a status                     15     any frame
    /// 7      an ack, a generic message    16     a publisher comes
    /// 8      any message; one too long    17     what sending answers
    /// 9      a session ends or drains     18     time
    /// ```
    fn step(&mut self, steps: &mut Steps<'_>) {
        match steps.below(19) {
            0 => self.route(steps),
            1 => self.of_source(steps, |_, _| provider::login_accepted()),
            2 => self.of_source(steps, |_, steps| directory(steps)),
            3 | 4 => self.of_stream(steps, image),
            5 => self.of_stream(steps, |steps, stream| {
                provider::update(stream, i64::from(steps.byte()))
            }),
            6 => {
                self.of_stream(steps, |steps, stream| provider::status(stream, state(steps.byte())))
            }
            7 => self.answer(steps),
            8 => self.anything(steps),
            9 => self.session_event(steps),
            10 => self.server_event(steps),
            11 => self.open(steps),
            12 => self.change(steps),
            13 => self.post(steps),
            14 => self.repair(steps),
            15 => self.any_frame(steps),
            16 => self.publisher(steps),
            17 => self.outputs(steps),
            _ => {
                let waits_ms = [0, 1, 20, 300, 2_000, 16_000, 70_000];
                let wait_ms = waits_ms[steps.below(waits_ms.len())];
                self.pass(Duration::from_millis(wait_ms));
            }
        }
    }

    fn route(&mut self, steps: &mut Steps<'_>) {
        match (steps.below(4), self.seen.routes.pop()) {
            (0, Some(route)) => self.handle(Event::RouteFailed { route }),
            (kind, Some(route)) => {
                self.seen.routes.push(route);
                self.source_up(kind > 1);
            }
            (_, None) => {}
        }
    }

    /// A session of any provider.
    fn any_session(&self, steps: &mut Steps<'_>) -> Option<SessionId> {
        let all: Vec<_> = self.asked.iter().chain(&self.publishers).copied().collect();
        steps.one(&all).copied()
    }

    fn of_source(
        &mut self,
        steps: &mut Steps<'_>,
        message: impl Fn(SessionId, &mut Steps<'_>) -> Vec<u8>,
    ) {
        if let Some(session) = self.any_session(steps) {
            let message = message(session, steps);
            self.says(session, &message);
        }
    }

    /// A message on a stream that the core opened, or that a publisher chooses.
    fn of_stream(
        &mut self,
        steps: &mut Steps<'_>,
        message: impl Fn(&mut Steps<'_>, i32) -> Vec<u8>,
    ) {
        let choice = steps.byte();
        let publisher = steps.one(&self.publishers).copied();
        let (session, stream) = match (choice & 3, publisher) {
            (0, Some(session)) => (session, -1 - i32::from(choice >> 2 & 3)),
            _ => match steps.one(&self.seen.streams) {
                Some(stream) => *stream,
                None => return,
            },
        };
        let message = message(steps, stream);
        self.says(session, &message);
    }

    fn answer(&mut self, steps: &mut Steps<'_>) {
        let key = MsgKey::item(1, NAMES[steps.below(NAMES.len())]);
        if steps.flag() {
            self.of_stream(steps, |_, stream| {
                encode(
                    &GenericMsg { key: Some(key), ..GenericMsg::new(Domain::MARKET_PRICE, stream) }
                        .into(),
                )
            });
        } else if let Some((session, stream, id)) = steps.one(&self.seen.posts).copied() {
            let ack = AckMsg { ack_id: id, ..AckMsg::new(Domain::MARKET_PRICE, stream) };
            self.says(session, &encode(&ack.into()));
        }
    }

    fn anything(&mut self, steps: &mut Steps<'_>) {
        let Some(session) = self.any_session(steps) else { return };
        let is_long = steps.byte() & 7 == 7;
        let bytes = steps.bytes();
        if is_long {
            self.handle(Event::TooLong {
                session,
                head: bytes,
                length: 70_000_000,
                max: 67_000_000,
            });
        } else {
            self.says(session, bytes);
        }
    }

    fn session_event(&mut self, steps: &mut Steps<'_>) {
        let Some(session) = self.any_session(steps) else { return };
        if steps.flag() {
            self.handle(Event::Drained { session });
        } else {
            self.handle(Event::Closed { session });
            self.forget(session);
        }
    }

    fn server_event(&mut self, steps: &mut Steps<'_>) {
        let peer = SERVERS[steps.below(SERVERS.len())];
        match (steps.below(3), self.servers.contains(&peer)) {
            (_, false) => self.server_up(peer),
            (0, true) => self.server_down(peer),
            (_, true) => self.handle(Event::Bus(BusEvent::Gap { peer, name: "", lost: 1 })),
        }
    }

    fn open(&mut self, steps: &mut Steps<'_>) {
        let Some(from) = steps.one(&self.servers).copied() else { return };
        let request = steps.below(REQUESTS) as u32;
        let bits = steps.byte();
        let name = NAMES[steps.below(NAMES.len())];
        let msg = request_msg(name, bits, 5);
        let mut flags = FrameFlags::empty();
        flags.set(FrameFlags::SNAPSHOT, bits & 1 == 0);
        flags.set(FrameFlags::PRIVATE, bits & 16 != 0);
        let mut header = FrameHeader::new(Kind::Open, Incarnation(1), request);
        (header.sender, header.flags) = (from, flags);
        header.item_seq = u32::from(steps.byte());
        let body = encode(&msg.into());
        self.handle(Event::Bus(BusEvent::Frame { header, body: &body }));
    }

    fn change(&mut self, steps: &mut Steps<'_>) {
        let Some(from) = steps.one(&self.servers).copied() else { return };
        let request = steps.below(REQUESTS) as u32;
        let bits = steps.byte();
        if bits & 128 != 0 {
            self.frame(from, Kind::Close, request, FrameFlags::empty(), &[]);
            return;
        }
        let body = encode(&request_msg(NAMES[steps.below(NAMES.len())], bits, 5).into());
        self.frame(from, Kind::Reissue, request, FrameFlags::empty(), &body);
    }

    fn post(&mut self, steps: &mut Steps<'_>) {
        let Some(from) = steps.one(&self.servers).copied() else { return };
        let bits = steps.byte();
        let name = NAMES[steps.below(NAMES.len())];
        let key = (bits & 2 != 0).then(|| MsgKey::item(1, name));
        let request = steps.below(REQUESTS) as u32;
        if bits & 1 != 0 {
            let msg = GenericMsg { key, ..GenericMsg::new(Domain::MARKET_PRICE, 5) };
            self.frame(from, Kind::Generic, request, FrameFlags::empty(), &encode(&msg.into()));
            return;
        }
        let mut flags = PostFlags::POST_COMPLETE;
        flags.set(PostFlags::ACK, bits & 4 != 0);
        let post_id = Some(steps.byte().into());
        let msg = PostMsg { flags, post_id, key, ..PostMsg::new(Domain::MARKET_PRICE, 5) };
        let body = [&u32::from(steps.byte()).to_le_bytes()[..], &encode(&msg.into())].concat();
        let mut frame = FrameFlags::empty();
        frame.set(FrameFlags::OFF_STREAM, bits & 8 != 0);
        self.frame(from, Kind::Post, request, frame, &body);
    }

    fn repair(&mut self, steps: &mut Steps<'_>) {
        let Some(from) = steps.one(&self.servers).copied() else { return };
        match steps.below(3) {
            0 => self.frame(from, Kind::DirectoryRequest, 0, FrameFlags::empty(), &[]),
            1 => {
                let round = u32::from(steps.byte());
                self.frame(from, Kind::HeldRequest, round, FrameFlags::empty(), &[]);
            }
            _ => {
                let round = steps.below(4) as u32;
                let first = steps.below(REQUESTS) as u32;
                let to = if steps.flag() { u32::MAX } else { first + 4 };
                let mut body = Vec::new();
                Page { from: first, to, as_of: u32::from(steps.byte()) }.write(&mut body);
                for _ in 0..steps.below(4) {
                    let entry = Wanted {
                        request: first + steps.below(6) as u32,
                        serial: u32::from(steps.byte()),
                        priority_count: 1,
                        priority_class: 1,
                        flags: WantedFlags::from_bits_retain(steps.byte()),
                    };
                    entry.write(&mut body);
                }
                let mut flags = FrameFlags::empty();
                flags.set(FrameFlags::LAST, steps.flag());
                self.frame(from, Kind::Wanted, round, flags, &body);
            }
        }
    }

    fn any_frame(&mut self, steps: &mut Steps<'_>) {
        let Some(from) = steps.one(&self.servers).copied() else { return };
        let kind = Kind::from_wire(16 + steps.below(8) as u8).expect("kinds of servers");
        let item = u32::from(steps.byte());
        let flags = FrameFlags::from_bits_retain(steps.byte());
        let body = steps.bytes();
        self.frame(from, kind, item, flags, body);
    }

    fn publisher(&mut self, steps: &mut Steps<'_>) {
        let session = self.session();
        self.publishers.push(session);
        self.handle(Event::ProviderOpened { session, peer: ([127, 0, 0, 1], 1000).into() });
        let bits = steps.byte();
        if bits & 1 == 0 {
            self.says(session, &provider::provider_login());
        }
        if bits & 2 == 0 {
            let name = if bits & 4 == 0 { "PUB" } else { "FEED" };
            let service = provider::service(1, name, bits & 8 == 0);
            self.says(session, &provider::directory_on(-7, &[service]));
        }
    }

    fn outputs(&mut self, steps: &mut Steps<'_>) {
        self.seen.answers = Answers::of(steps.byte());
    }

    /// All are gone, and time passes: nothing is left.
    fn end(mut self) {
        self.seen.answers = Answers::default();
        for session in
            [std::mem::take(&mut self.asked), std::mem::take(&mut self.publishers)].concat()
        {
            self.handle(Event::Closed { session });
            self.core.check();
        }
        for peer in std::mem::take(&mut self.servers) {
            self.server_down(peer);
            self.core.check();
        }
        // Routes are not connected any more.
        self.pass(FOR_GOOD);
        let left = self.core.counters();
        let left =
            (left.items, left.servers, left.sources_up, left.claims, left.backlog, left.owed);
        assert_eq!(left, (0, 0, 0, 0, 0, 0), "items, servers, sources, claims, backlog, owed");
    }
}

fn request_msg(name: &str, bits: u8, stream: i32) -> RequestMsg<'_> {
    let mut flags = RequestFlags::empty();
    flags.set(RequestFlags::STREAMING, bits & 1 != 0);
    flags.set(RequestFlags::PAUSE, bits & 2 != 0);
    flags.set(RequestFlags::NO_REFRESH, bits & 4 != 0);
    flags.set(RequestFlags::PRIVATE_STREAM, bits & 16 != 0);
    let domain = if bits & 8 != 0 { Domain::DICTIONARY } else { Domain::MARKET_PRICE };
    let priority = (bits & 32 != 0).then_some(Priority { class: bits >> 6, count: 2 });
    let key = MsgKey::item(if bits & 64 != 0 { 2 } else { 1 }, name);
    RequestMsg { flags, key, priority, ..RequestMsg::new(domain, stream) }
}

fn directory(steps: &mut Steps<'_>) -> Vec<u8> {
    let bits = steps.byte();
    let state = ServiceState::new(bits & 1 == 0, bits & 2 == 0);
    match bits >> 2 & 7 {
        0 => provider::directory(&[]),
        1 => provider::change(FilterContent::State(state)),
        2 => {
            let load = ServiceLoad {
                open_window: Some((bits >> 6).into()),
                open_limit: Some((bits >> 5).into()),
                ..ServiceLoad::default()
            };
            provider::change(FilterContent::Load(load))
        }
        3 => provider::directory_update(&[ServiceEntry::delete(1)]),
        4 => {
            let filters = vec![FilterEntry::set(FilterContent::State(state))];
            provider::directory_update(&[ServiceEntry::add(2, filters)])
        }
        5 => provider::directory(&[provider::service(2, "FEED", bits & 1 == 0)]),
        _ => {
            let services =
                [provider::service(1, "FEED", bits & 1 == 0), provider::service(2, "MORE", true)];
            provider::directory(&services)
        }
    }
}

fn image(steps: &mut Steps<'_>, stream: i32) -> Vec<u8> {
    let name = NAMES[steps.below(NAMES.len())];
    let bits = steps.byte();
    let state = if bits & 64 != 0 { state(steps.byte()) } else { State::open_ok("") };
    provider::refresh_with(stream, name, |msg| {
        msg.state = state;
        msg.flags.set(RefreshFlags::SOLICITED, bits & 1 == 0);
        msg.flags.set(RefreshFlags::REFRESH_COMPLETE, bits & 2 == 0);
        msg.flags.set(RefreshFlags::PRIVATE_STREAM, bits & 4 != 0);
        msg.flags.set(RefreshFlags::CLEAR_CACHE, bits & 32 != 0);
        msg.part_num = (bits & 2 != 0).then_some(u16::from(bits >> 3 & 3));
        if bits & 128 != 0 {
            msg.key = None;
        }
    })
}
