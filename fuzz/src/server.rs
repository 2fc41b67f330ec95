//! A server's core, with consumers and hubs that do anything in any order.
//!
//! Each step of an input is a byte that says what happens (see [`World::step`])
//! and a few that say to whom and how. What the core did before can be referred
//! to: requests that it made of hubs, items that these accepted. What the shell
//! never does happens here neither: frames come only from hubs that are up, and
//! are of kinds that hubs send.
//!
//! After each step the tables of the core must agree. When all are gone and
//! time has passed, it must hold nothing.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_backbone::repair::{Held, HeldFlags, Page};
use tapeline_backbone::{BusEvent, FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_channel::SessionId;
use tapeline_omm::market::RequestPayload;
use tapeline_omm::view::View;
use tapeline_rwf::{AckMsg, DataState, Domain, MsgKey, StreamState};
use tapeline_server::{AcceptAll, Event, Interpreter, JsonEvent, ServerConfig};
use tapeline_time::Time;

use self::seen::Seen;
use crate::steps::{Answers, Steps, state};

mod seen;

/// What consumers and hubs say, as the scenarios of the server have it.
#[path = "../../crates/server/tests/it/support/say.rs"]
#[allow(dead_code, reason = "scenarios say more")]
mod say;

/// Few, so that the same ones meet.
const NAMES: [&str; 5] = ["A", "B", "C", "D", ""];
const HUBS: [Incarnation; 3] = [Incarnation(100), Incarnation(200), Incarnation(300)];
const SERVER: Incarnation = Incarnation(7);
const STREAMS: usize = 8;

const BATCH: [&[u8]; 3] = [b"A", b"B", b"C"];

/// In this time everything is given up.
const FOR_GOOD: Duration = Duration::from_secs(3600);

/// An item of a hub that it accepted for this server.
#[derive(Clone, Copy, Debug)]
struct Accepted {
    hub: Incarnation,
    item: u32,
    seq: u32,
    request: u32,
    serial: u32,
}

/// A core and those around it.
struct World {
    core: Interpreter,
    seen: Seen,
    now: Time,
    sessions: u32,
    mounts: Vec<SessionId>,
    json: Vec<SessionId>,
    hubs: Vec<Incarnation>,
    items: Vec<Accepted>,
    next_item: u32,
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
        let setting = steps.byte();
        let mut config = ServerConfig { cache: setting & 1 == 0, ..ServerConfig::default() };
        config.conflation = setting & 2 == 0;
        config.allow_same_item_twice = setting & 4 == 0;
        config.trust_post_user_info = setting & 8 != 0;
        if setting & 16 != 0 {
            // Small enough for a short input to reach.
            let limits = &mut config.limits;
            (limits.max_mounts, limits.max_items, limits.item_limit_per_mount) = (2, 3, 3);
            (limits.max_posts, limits.max_batch, limits.open_window) = (2, 3, 1);
            limits.max_mounts_per_user = Some(1);
        }
        let mut world = Self {
            core: Interpreter::new(config, Box::new(AcceptAll)),
            seen: Seen::default(),
            now: Time::ZERO,
            sessions: 0,
            mounts: Vec::new(),
            json: Vec::new(),
            hubs: Vec::new(),
            items: Vec::new(),
            next_item: 16,
        };
        // As most inputs need it.
        world.hub_up(HUBS[0], true);
        world.mount(true);
        world
    }

    fn handle(&mut self, event: Event<'_>) {
        self.core.handle(self.now, event, &mut self.seen);
        self.forget_closed();
    }

    fn handle_json(&mut self, event: JsonEvent<'_>) {
        self.core.handle_json(self.now, event, &mut self.seen);
        self.forget_closed();
    }

    fn forget_closed(&mut self) {
        for session in std::mem::take(&mut self.seen.answers.gone) {
            self.mounts.retain(|other| *other != session);
            self.json.retain(|other| *other != session);
            self.core.handle(self.now, Event::Closed { session }, &mut self.seen);
        }
        for session in std::mem::take(&mut self.seen.closed) {
            self.mounts.retain(|other| *other != session);
            self.json.retain(|other| *other != session);
        }
    }

    fn session(&mut self) -> SessionId {
        self.sessions += 1;
        SessionId { index: self.sessions, generation: 1 }
    }

    fn mount(&mut self, has_login: bool) {
        let session = self.session();
        self.mounts.push(session);
        let peer = SocketAddr::from(([10, 0, 0, 1], 1000));
        self.handle(Event::Opened { session, peer });
        if has_login {
            self.say(session, &say::login(1, "user"));
        }
    }

    fn mount_json(&mut self, has_login: bool) {
        let session = self.session();
        self.json.push(session);
        let peer = SocketAddr::from(([10, 0, 0, 2], 1000));
        self.handle_json(JsonEvent::Opened { session, peer });
        if has_login {
            let text = r#"{"ID":1,"Domain":"Login","Key":{"Name":"user"}}"#;
            self.handle_json(JsonEvent::Frame { session, text });
        }
    }

    fn say(&mut self, session: SessionId, bytes: &[u8]) {
        self.handle(Event::Message { session, bytes });
    }

    fn hub_up(&mut self, peer: Incarnation, has_feed: bool) {
        if self.hubs.contains(&peer) {
            return;
        }
        self.hubs.push(peer);
        self.handle(Event::Bus(BusEvent::PeerUp { peer, name: "hub" }));
        if has_feed {
            let directory = say::directory_refresh(vec![say::service(1, "FEED", true)]);
            self.to_us(peer, Kind::Directory, 1, &directory);
        }
    }

    fn hub_down(&mut self, peer: Incarnation) {
        self.hubs.retain(|other| *other != peer);
        self.items.retain(|item| item.hub != peer);
        self.seen.requests.retain(|(hub, ..)| *hub != peer);
        self.seen.posts.retain(|(hub, _)| *hub != peer);
        self.handle(Event::Bus(BusEvent::PeerDown { peer }));
    }

    fn frame(&mut self, header: FrameHeader, body: &[u8]) {
        self.handle(Event::Bus(BusEvent::Frame { header, body }));
    }

    fn to_us(&mut self, hub: Incarnation, kind: Kind, item: u32, body: &[u8]) {
        self.answer_to(hub, kind, item, (0, body));
    }

    /// The answer to the request with a serial.
    fn answer_to(&mut self, hub: Incarnation, kind: Kind, item: u32, (serial, body): (u32, &[u8])) {
        let mut header = FrameHeader::new(kind, SERVER, item);
        (header.sender, header.item_seq) = (hub, serial);
        self.frame(header, body);
    }

    fn pass(&mut self, wait: Duration) {
        let end = self.now.after(wait);
        // Bounded, so that a deadline that does not move on is found.
        for _ in 0..100_000 {
            match self.core.next_deadline() {
                Some(deadline) if deadline <= end => {
                    self.now = self.now.max(deadline);
                    self.core.handle_timeout(self.now, &mut self.seen);
                    self.forget_closed();
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
    /// 0      a mount comes, or goes        9      a hub comes, goes, has a hole
    /// 1      a login, a directory, a       10     a directory of a hub
    ///        dictionary is asked for       11     a request is accepted
    /// 2, 3   an item is asked for          12, 13 a message of an item
    /// 4      a stream is closed            14     refused, deferred, acked
    /// 5      a post or a generic message   15     a repair
    /// 6      any message; one too long     16     any frame
    /// 7      a JSON mount comes, or asks   17     what sending answers
    /// 8      a session drains, is cut      18     time
    /// ```
    fn step(&mut self, steps: &mut Steps<'_>) {
        match steps.below(19) {
            0 => self.come_or_go(steps),
            1 => self.admin(steps),
            2 | 3 => self.request(steps),
            4 => {
                if let Some(session) = steps.one(&self.mounts).copied() {
                    self.say(session, &say::close(stream(steps)));
                }
            }
            5 => self.post(steps),
            6 => self.anything(steps),
            7 => self.json(steps),
            8 => self.session_event(steps),
            9 => self.hub_event(steps),
            10 => self.directory(steps),
            11 => self.accept(steps),
            12 | 13 => self.item(steps),
            14 => self.answer(steps),
            15 => self.repair(steps),
            16 => self.any_frame(steps),
            17 => self.outputs(steps),
            _ => {
                let waits_ms = [0, 0, 1, 20, 300, 2_000, 16_000];
                let wait_ms = waits_ms[steps.below(waits_ms.len())];
                self.pass(Duration::from_millis(wait_ms));
            }
        }
    }

    fn come_or_go(&mut self, steps: &mut Steps<'_>) {
        let bits = steps.byte();
        if bits & 3 != 0 {
            self.mount(bits & 4 == 0);
            return;
        }
        let gone = if bits & 8 == 0 { &mut self.mounts } else { &mut self.json };
        if !gone.is_empty() {
            let session = gone.swap_remove(usize::from(bits >> 4) % gone.len());
            self.handle(Event::Closed { session });
        }
    }

    fn admin(&mut self, steps: &mut Steps<'_>) {
        let Some(session) = steps.one(&self.mounts).copied() else { return };
        let bits = steps.byte();
        let stream = stream(steps);
        let message = match bits & 3 {
            0 => say::login(
                if bits & 4 == 0 { 1 } else { stream },
                if bits & 8 == 0 { "user" } else { "b" },
            ),
            1 => say::directory_request(stream),
            2 => say::dictionary_request(stream, "RWFFld", u32::from(bits >> 2 & 15)),
            _ => say::login_with(bits & 4 != 0, bits & 8 != 0),
        };
        self.say(session, &message);
    }

    fn request(&mut self, steps: &mut Steps<'_>) {
        let Some(session) = steps.one(&self.mounts).copied() else { return };
        let (bits, more) = (steps.byte(), steps.byte());
        let name = NAMES[steps.below(NAMES.len())];
        let view = View::of_fields([22, 25]);
        let payload = RequestPayload {
            items: (more & 3 == 3).then_some(&BATCH),
            view: (more & 12 == 12).then_some(&view),
            keep_view: more & 28 == 16,
            ..RequestPayload::NONE
        };
        let message = say::request_with(stream(steps), name, &payload, |request| {
            request.streaming = bits & 1 == 0;
            request.pause = bits & 2 != 0;
            request.no_refresh = bits & 4 != 0;
            request.private = bits & 24 == 24;
            request.key_in_updates = bits & 32 != 0;
            if bits & 192 == 192 {
                request.key.service_id = Some(u16::from(more >> 6));
            }
        });
        self.say(session, &message);
    }

    fn post(&mut self, steps: &mut Steps<'_>) {
        let Some(session) = steps.one(&self.mounts).copied() else { return };
        let bits = steps.byte();
        let name = NAMES[steps.below(NAMES.len())];
        let stream = if bits & 4 == 0 { stream(steps) } else { 1 };
        let message = match bits & 1 {
            0 => say::generic(stream, name),
            _ => say::post(
                stream,
                u32::from(bits >> 4),
                (bits & 2 != 0).then(|| MsgKey::item(1, name)),
            ),
        };
        self.say(session, &message);
    }

    fn anything(&mut self, steps: &mut Steps<'_>) {
        let Some(session) = steps.one(&self.mounts).copied() else { return };
        let is_long = steps.byte() & 7 == 7;
        let bytes = steps.bytes();
        if is_long {
            self.handle(Event::TooLong { session, head: bytes, length: 7_000_000, max: 6 << 20 });
        } else {
            self.say(session, bytes);
        }
    }

    fn json(&mut self, steps: &mut Steps<'_>) {
        let bits = steps.byte();
        let Some(session) = steps.one(&self.json).copied() else {
            self.mount_json(bits & 1 == 0);
            return;
        };
        let (id, name) = (stream(steps), NAMES[steps.below(NAMES.len())]);
        let text = match bits & 7 {
            0 => {
                self.mount_json(bits & 8 == 0);
                return;
            }
            1 => format!(
                r#"{{"ID":{id},"Key":{{"Name":"{name}","Service":"FEED"}},"View":["BID"]}}"#
            ),
            2 => format!(
                r#"{{"ID":{id},"Key":{{"Name":["A","B","{name}"],"Service":1}},"Pause":true}}"#
            ),
            3 => format!(r#"{{"ID":{id},"Type":"Close"}}"#),
            4 => format!(r#"{{"ID":[{id},2,3],"Type":"Close"}}"#),
            5 => format!(
                r#"{{"ID":{id},"Key":{{"Name":"{name}"}},"Streaming":false,"KeyInUpdates":false}}"#
            ),
            6 => format!(
                r#"{{"ID":{id},"Type":"Post","PostID":{id},"Ack":true,"Key":{{"Name":"{name}","Service":1}},"Message":{{"ID":0,"Type":"Update","Fields":{{"BID":1}}}}}}"#
            ),
            _ => String::from_utf8_lossy(steps.bytes()).into_owned(),
        };
        self.handle_json(JsonEvent::Frame { session, text: &text });
    }

    fn session_event(&mut self, steps: &mut Steps<'_>) {
        let all: Vec<_> = self.mounts.iter().chain(&self.json).copied().collect();
        let Some(session) = steps.one(&all).copied() else { return };
        if steps.byte() & 7 == 7 {
            self.handle(Event::OutputBeyondPool { session });
        } else {
            self.handle(Event::Drained { session });
        }
    }

    fn hub_event(&mut self, steps: &mut Steps<'_>) {
        let peer = HUBS[steps.below(HUBS.len())];
        match (steps.below(4), self.hubs.contains(&peer)) {
            (kind, false) => self.hub_up(peer, kind > 0),
            (0, true) => self.hub_down(peer),
            (_, true) => self.handle(Event::Bus(BusEvent::Gap { peer, name: "", lost: 1 })),
        }
    }

    fn directory(&mut self, steps: &mut Steps<'_>) {
        let Some(hub) = steps.one(&self.hubs).copied() else { return };
        let bits = steps.byte();
        let is_up = bits & 1 == 0;
        let body = match bits >> 1 & 3 {
            0 => say::directory_refresh(Vec::new()),
            1 => say::directory_update(vec![say::service_state(1, is_up)]),
            2 => say::directory_refresh(vec![
                say::service(2, "FEED", is_up),
                say::service(3, "MORE", true),
            ]),
            _ => say::directory_refresh(vec![say::service(1, "FEED", is_up)]),
        };
        self.to_us(hub, Kind::Directory, 1, &body);
    }

    fn accept(&mut self, steps: &mut Steps<'_>) {
        let bits = steps.byte();
        if self.seen.requests.is_empty() {
            return;
        }
        let place = usize::from(bits >> 2) % self.seen.requests.len();
        let (hub, request, serial) = self.seen.requests[place];
        if bits & 1 == 0 {
            self.seen.requests.swap_remove(place);
        }
        self.next_item += 1;
        let item = if bits & 2 == 0 { self.next_item } else { 16 };
        self.items.push(Accepted { hub, item, seq: 0, request, serial });
        self.answer_to(hub, Kind::Accept, item, (serial, &request.to_le_bytes()));
    }

    fn item(&mut self, steps: &mut Steps<'_>) {
        if self.items.is_empty() {
            return;
        }
        let place = steps.below(self.items.len());
        let (bits, more) = (steps.byte(), steps.byte());
        let fields = [(22, i64::from(more)), (25, 1)];
        let body = match bits & 7 {
            0 | 1 => say::image(&fields),
            2 => say::image_part(u16::from(more & 3), more & 4 != 0, &fields),
            3 => say::image_of(state(more), &fields),
            4 => {
                let state = state(more);
                say::status(state.stream, state.data, "")
            }
            5 => say::generic(0, "G"),
            _ => say::update(&fields),
        };
        let known = &mut self.items[place];
        let is_to_us = bits & 8 != 0;
        if !is_to_us {
            // One is missing now and then.
            known.seq += if bits & 0xF0 == 0xF0 { 2 } else { 1 };
        }
        let target = if is_to_us { SERVER } else { Incarnation::ALL };
        let mut header = FrameHeader::new(Kind::Item, target, known.item);
        (header.sender, header.item_seq) = (known.hub, known.seq);
        header.flags.set(FrameFlags::IMAGE, bits & 7 < 4);
        header.flags.set(FrameFlags::LAST, bits & 0x70 == 0x70);
        self.frame(header, &body);
    }

    fn answer(&mut self, steps: &mut Steps<'_>) {
        let bits = steps.byte();
        if bits & 3 == 0 {
            if let Some((hub, reference)) = steps.one(&self.seen.posts).copied() {
                let ack = AckMsg { ack_id: reference, ..AckMsg::new(Domain::MARKET_PRICE, 0) };
                self.to_us(hub, Kind::Ack, reference, &say::encoded(&ack.into()));
            }
            return;
        }
        if self.seen.requests.is_empty() {
            return;
        }
        let place = usize::from(bits >> 3) % self.seen.requests.len();
        let (hub, request, serial) = self.seen.requests[place];
        if bits & 3 == 1 {
            self.answer_to(hub, Kind::Defer, request, (serial, &request.to_le_bytes()));
            return;
        }
        self.seen.requests.swap_remove(place);
        let stream = if bits & 4 == 0 { StreamState::CLOSED } else { StreamState::CLOSED_RECOVER };
        let body = say::status(stream, DataState::SUSPECT, "no");
        self.answer_to(hub, Kind::Refuse, request, (serial, &body));
    }

    fn repair(&mut self, steps: &mut Steps<'_>) {
        let Some(hub) = steps.one(&self.hubs).copied() else { return };
        let bits = steps.byte();
        let round = u32::from(bits >> 2 & 3);
        if bits & 1 == 0 {
            self.to_us(hub, Kind::WantedRequest, round, &[]);
            return;
        }
        let mut body = Vec::new();
        Page { from: 0, to: u32::MAX, as_of: u32::from(steps.byte()) }.write(&mut body);
        for known in self.items.iter().filter(|item| item.hub == hub) {
            if steps.flag() {
                let entry = Held {
                    request: known.request,
                    serial: known.serial,
                    item: known.item,
                    item_seq: known.seq + u32::from(steps.flag()),
                    flags: HeldFlags::from_bits_retain(steps.byte()),
                };
                entry.write(&mut body);
            }
        }
        let mut header = FrameHeader::new(Kind::Held, SERVER, round);
        header.sender = hub;
        header.flags.set(FrameFlags::LAST, bits & 2 == 0);
        self.frame(header, &body);
    }

    fn any_frame(&mut self, steps: &mut Steps<'_>) {
        let Some(hub) = steps.one(&self.hubs).copied() else { return };
        let kind = Kind::from_wire(2 + steps.below(8) as u8).expect("kinds of hubs");
        let target = if steps.flag() { SERVER } else { Incarnation::ALL };
        let mut header = FrameHeader::new(kind, target, u32::from(steps.byte()));
        header.sender = hub;
        header.item_seq = u32::from(steps.byte());
        header.flags = FrameFlags::from_bits_retain(steps.byte());
        self.frame(header, steps.bytes());
    }

    fn outputs(&mut self, steps: &mut Steps<'_>) {
        self.seen.answers = Answers::of(steps.byte());
    }

    /// All are gone, and time passes: nothing is left.
    fn end(mut self) {
        self.seen.answers = Answers::default();
        let sessions = [std::mem::take(&mut self.mounts), std::mem::take(&mut self.json)].concat();
        for session in sessions {
            self.handle(Event::Closed { session });
            self.core.check();
        }
        for peer in std::mem::take(&mut self.hubs) {
            self.hub_down(peer);
            self.core.check();
        }
        self.pass(FOR_GOOD);
        let it = self.core.statistics();
        let left = (it.mounts, it.items, it.hubs, it.posts, it.backlog, it.mounts_draining);
        assert_eq!(left, (0, 0, 0, 0, 0, 0), "mounts, items, hubs, posts, backlog, draining");
    }
}

fn stream(steps: &mut Steps<'_>) -> i32 {
    1 + steps.below(STREAMS) as i32
}
