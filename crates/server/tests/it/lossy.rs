//! A hub and a server between which frames are lost, in both directions, and
//! what must hold when the losses end, with no sign of life from any item:
//!
//! * the provider has open exactly what consumers watch, and so have hub and
//!   server;
//! * every consumer has the provider's last value of all that it watches, and
//!   knows that it can be trusted;
//! * when all is closed, nothing is left anywhere.
//!
//! The cores are driven without sockets, in simulated time.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use tapeline_backbone::sim::{Network, SimPort};
use tapeline_backbone::{
    Bus, FrameHeader, Incarnation, Kind, PortSettings, Publish, Published, Role,
};
use tapeline_channel::{Sent, SessionId};
use tapeline_hub::{HubConfig, Route};
use tapeline_omm::directory::{
    Directory, DirectoryRequest, DirectoryUpdate, FilterContent, FilterEntry, ServiceEntry,
    ServiceInfo, ServiceState,
};
use tapeline_omm::login::{LoginMsg, LoginRefresh, LoginRequest};
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_rwf::{
    CloseMsg, DataState, DataType, Domain, EncodeError, Encoder, FieldListHead, Msg, MsgKey, Real,
    RefreshFlags, RefreshMsg, RequestFlags, State, StreamState, UpdateMsg, patch_stream_id,
};
use tapeline_server::{AcceptAll, ServerConfig};
use tapeline_time::Time;

use crate::support::check;

const HUB: Incarnation = Incarnation(100);
const SERVER: Incarnation = Incarnation(7);
const SOURCE: SessionId = SessionId { index: 0, generation: 1 };
/// How long the repair of everything may take.
const CALM_MS: u64 = 3_000;

/// Random enough, and the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }
}

fn built(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 12];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("room");
    let len = encoder.finish().expect("room");
    buffer.truncate(len);
    buffer
}

fn quote(head: &Msg<'_>, bid: i64) -> Vec<u8> {
    built(|encoder| {
        let mut list =
            encoder.begin(head, DataType::FIELD_LIST)?.field_list(&FieldListHead::STANDARD)?;
        list.put(22, Real::decimal(bid, 2))?;
        list.finish()
    })
}

fn bid(msg: &Msg<'_>) -> Option<i64> {
    let payload = msg.payload();
    let list = (payload.data_type() == DataType::FIELD_LIST).then(|| payload.field_list())?;
    let entry = list.ok()?.iter().next()?.ok()?;
    entry.typed(DataType::REAL).real().ok()?.map(Real::mantissa)
}

/// The interactive provider of the service `FEED`.
#[derive(Default)]
struct Provider {
    /// Names of the items that are open, by stream.
    open: BTreeMap<i32, String>,
    bids: BTreeMap<String, i64>,
    /// Images have two parts.
    in_parts: bool,
    images: usize,
}

impl Provider {
    fn answers(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let msg = Msg::decode(bytes).expect("the hub sends messages");
        match &msg {
            Msg::Request(request) if request.domain == Domain::LOGIN => {
                let Ok(LoginMsg::Request(request)) = LoginMsg::decode(&msg) else {
                    return Vec::new();
                };
                let refresh = LoginRefresh::accept(&request, "welcome");
                vec![built(|encoder| refresh.encode(encoder))]
            }
            Msg::Request(request) if request.domain == Domain::SOURCE => {
                let mut directory = Directory::default();
                let info = ServiceInfo {
                    name: Some("FEED".into()),
                    capabilities: Some(vec![Domain::MARKET_PRICE]),
                    ..ServiceInfo::default()
                };
                let state = ServiceState::new(true, true);
                let filters = [FilterContent::Info(info), FilterContent::State(state)];
                let service = ServiceEntry::add(1, filters.map(FilterEntry::set).into());
                directory.apply_update(&DirectoryUpdate::new(0, vec![service]));
                let asked = DirectoryRequest::decode(request).expect("a request");
                let refresh = directory.refresh(&asked, &State::open_ok(""));
                vec![built(|encoder| refresh.encode(encoder))]
            }
            Msg::Request(request) => {
                let name = request.key.name.expect("a name");
                let name = String::from_utf8_lossy(name).into_owned();
                let open = self.open.entry(request.stream_id).or_insert(name.clone());
                assert_eq!(*open, name, "a reissue");
                assert!(request.flags.contains(RequestFlags::STREAMING));
                if request.flags.contains(RequestFlags::NO_REFRESH) {
                    return Vec::new();
                }
                self.images += 1;
                self.image(request.stream_id, &name)
            }
            Msg::Close(close) => {
                assert!(self.open.remove(&close.stream_id).is_some(), "a close of nothing");
                Vec::new()
            }
            other => panic!("{other:?}"),
        }
    }

    fn image(&self, stream_id: i32, name: &str) -> Vec<Vec<u8>> {
        let bid = self.bids.get(name).copied().unwrap_or(100);
        let last = u16::from(self.in_parts);
        (0..=last)
            .map(|part| {
                let mut flags = RefreshFlags::SOLICITED;
                flags.set(RefreshFlags::REFRESH_COMPLETE, part == last);
                flags.set(RefreshFlags::CLEAR_CACHE, part == 0);
                let head = RefreshMsg {
                    flags,
                    state: State::open_ok("All is well"),
                    part_num: self.in_parts.then_some(part),
                    ..RefreshMsg::new(Domain::MARKET_PRICE, stream_id)
                };
                quote(&head.into(), bid)
            })
            .collect()
    }
}

/// What a consumer knows of an item.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Known {
    bid: Option<i64>,
    is_ok: bool,
}

/// A consumer's items by stream.
type Watchlist = BTreeMap<i32, (String, Known)>;

struct HubSide<'a, P> {
    port: &'a mut P,
    to_source: &'a mut Vec<Vec<u8>>,
    connects: &'a mut usize,
}

impl<P: Publish> tapeline_hub::Outputs for HubSide<'_, P> {
    fn send(&mut self, _: SessionId, message: &[u8]) -> Sent {
        self.to_source.push(message.to_vec());
        Sent::Queued
    }

    fn connect(&mut self, _: usize) {
        *self.connects += 1;
    }

    fn close(&mut self, _: SessionId, reason: &str) {
        panic!("the source is cut: {reason}");
    }

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        self.port.publish(header, parts)
    }

    fn is_congested(&self) -> bool {
        self.port.is_congested()
    }
}

struct ServerSide<'a, P> {
    port: &'a mut P,
    lists: &'a mut BTreeMap<SessionId, Watchlist>,
    images: &'a mut usize,
    closes: &'a mut usize,
}

impl<P: Publish> tapeline_server::Outputs for ServerSide<'_, P> {
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent {
        let msg = Msg::decode(message).expect("a message");
        let list = self.lists.get_mut(&session);
        let Some((name, known)) = list.and_then(|list| list.get_mut(&msg.stream_id())) else {
            return Sent::Queued;
        };
        let state = match &msg {
            Msg::Refresh(refresh) => Some(refresh.state),
            Msg::Status(status) => status.state,
            _ => None,
        };
        if let Some(state) = state {
            assert_eq!(state.stream, StreamState::OPEN, "nothing closes {name} here");
            known.is_ok = state.data == DataState::OK;
        }
        *self.images += usize::from(matches!(msg, Msg::Refresh(_)));
        assert!(known.bid.is_some() || !matches!(msg, Msg::Update(_)), "{name} has no image yet");
        known.bid = bid(&msg).or(known.bid);
        Sent::Queued
    }

    fn send_on(&mut self, session: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        let mut copy = message.to_vec();
        patch_stream_id(&mut copy, stream_id).expect("a message");
        self.send(session, &copy)
    }

    fn close(&mut self, _: SessionId, reason: &str) {
        panic!("a mount is cut: {reason}");
    }

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        *self.closes += usize::from(header.kind == Kind::Close);
        self.port.publish(header, parts)
    }

    fn is_congested(&self) -> bool {
        self.port.is_congested()
    }
}

struct System {
    now: Time,
    network: Network,
    provider: Provider,
    hub: tapeline_hub::Core,
    hub_port: SimPort,
    server: tapeline_server::Interpreter,
    server_port: SimPort,
    lists: BTreeMap<SessionId, Watchlist>,
    /// Images, or parts of them, that consumers got.
    images: usize,
    /// Closes that the server published.
    closes: usize,
}

impl System {
    fn new(seed: u64, hub: HubConfig, queue_bytes: usize) -> Self {
        let network = Network::new(seed);
        network.set_delay(Duration::from_millis(2));
        let settings = |role, incarnation| PortSettings {
            incarnation,
            queue_bytes,
            ..PortSettings::new(role, "member")
        };
        let mut system = Self {
            now: Time::ZERO.after(Duration::from_secs(1)),
            hub_port: network.port(settings(Role::Hub, HUB)),
            server_port: network.port(settings(Role::Server, SERVER)),
            network,
            provider: Provider::default(),
            hub: tapeline_hub::Core::new(hub),
            server: tapeline_server::Interpreter::new(ServerConfig::default(), Box::new(AcceptAll)),
            lists: BTreeMap::new(),
            images: 0,
            closes: 0,
        };
        system.pass(500);
        system
    }

    fn with_route(seed: u64, cache_interactive: bool) -> Self {
        let routes = vec![Route::to("source", 14_002)];
        let hub = HubConfig { routes, cache_interactive, ..HubConfig::named("hub") };
        Self::new(seed, hub, PortSettings::new(Role::Hub, "").queue_bytes)
    }

    /// Everything that happens in a millisecond.
    fn turn(&mut self) {
        self.now = self.now.after(Duration::from_millis(1));
        let now = self.now;
        let Self { hub, hub_port, .. } = self;
        let (mut to_source, mut connects) = (Vec::new(), 0);
        hub_port.poll(now, 256, |event, port| {
            let out = &mut HubSide { port, to_source: &mut to_source, connects: &mut connects };
            hub.handle(now, tapeline_hub::Event::Bus(event), out);
        });
        for _ in 0..50 {
            if hub.next_deadline().is_none_or(|deadline| deadline > now) {
                break;
            }
            let port = hub_port.outbound();
            let out = &mut HubSide { port, to_source: &mut to_source, connects: &mut connects };
            hub.handle_timeout(now, out);
        }
        for _ in 0..connects {
            self.hub_event(
                tapeline_hub::Event::RouteOpened { route: 0, session: SOURCE },
                &mut to_source,
            );
        }
        self.serve(to_source);
        self.hub_port.work(now);
        let Self { server, server_port, lists, images, closes, .. } = self;
        server_port.poll(now, 512, |event, port| {
            let out = &mut ServerSide { port, lists, images, closes };
            server.handle(now, tapeline_server::Event::Bus(event), out);
            check(server);
        });
        for _ in 0..50 {
            if server.next_deadline().is_none_or(|deadline| deadline > now) {
                break;
            }
            let out = &mut ServerSide { port: server_port.outbound(), lists, images, closes };
            server.handle_timeout(now, out);
            check(server);
        }
        self.server_port.work(now);
    }

    fn pass(&mut self, ms: u64) {
        for _ in 0..ms {
            self.turn();
        }
    }

    fn hub_event(&mut self, event: tapeline_hub::Event<'_>, to_source: &mut Vec<Vec<u8>>) {
        let Self { hub, hub_port, now, .. } = self;
        let mut connects = 0;
        let port = hub_port.outbound();
        hub.handle(*now, event, &mut HubSide { port, to_source, connects: &mut connects });
    }

    /// The provider answers what the hub said.
    fn serve(&mut self, mut to_source: Vec<Vec<u8>>) {
        while !to_source.is_empty() {
            for message in std::mem::take(&mut to_source) {
                for bytes in self.provider.answers(&message) {
                    let event = tapeline_hub::Event::Message { session: SOURCE, bytes: &bytes };
                    self.hub_event(event, &mut to_source);
                }
            }
        }
    }

    fn update(&mut self, name: &str, bid: i64) {
        self.provider.bids.insert(name.to_owned(), bid);
        let stream = self.provider.open.iter().find(|(_, open)| *open == name);
        let Some(stream_id) = stream.map(|(stream_id, _)| *stream_id) else { return };
        let bytes = quote(&UpdateMsg::new(Domain::MARKET_PRICE, stream_id).into(), bid);
        let mut to_source = Vec::new();
        let event = tapeline_hub::Event::Message { session: SOURCE, bytes: &bytes };
        self.hub_event(event, &mut to_source);
        self.serve(to_source);
    }

    fn mount_event(&mut self, event: tapeline_server::Event<'_>) {
        let Self { server, server_port, lists, images, closes, now, .. } = self;
        let out = &mut ServerSide { port: server_port.outbound(), lists, images, closes };
        server.handle(*now, event, out);
        check(server);
    }

    fn say(&mut self, session: SessionId, bytes: &[u8]) {
        self.mount_event(tapeline_server::Event::Message { session, bytes });
    }

    fn mount(&mut self, index: u32) -> SessionId {
        let session = SessionId { index, generation: 1 };
        let peer = ([10, 0, 0, 1], 1000).into();
        self.mount_event(tapeline_server::Event::Opened { session, peer });
        let login = LoginRequest::new(1, "user");
        self.say(session, &built(|encoder| login.encode(encoder)));
        self.lists.insert(session, Watchlist::new());
        session
    }

    fn open(&mut self, session: SessionId, stream_id: i32, name: &str) {
        let key = MsgKey::item(1, name);
        let request = ItemRequest::new(Domain::MARKET_PRICE, stream_id, key);
        let request = ItemRequest { streaming: true, ..request };
        let list = self.lists.get_mut(&session).expect("a mount");
        list.insert(stream_id, (name.to_owned(), Known::default()));
        self.say(session, &built(|encoder| request.encode(encoder, &RequestPayload::NONE)));
    }

    fn close(&mut self, session: SessionId, stream_id: i32) {
        self.lists.get_mut(&session).expect("a mount").remove(&stream_id);
        let close = CloseMsg::new(Domain::MARKET_PRICE, stream_id);
        self.say(session, &built(|encoder| encoder.message(&close.into())));
    }

    fn lose(&mut self, from_hub: u32, from_server: u32) {
        self.network.set_loss(HUB, SERVER, from_hub);
        self.network.set_loss(SERVER, HUB, from_server);
    }

    fn wanted(&self) -> BTreeSet<&str> {
        let items = self.lists.values().flat_map(BTreeMap::values);
        items.map(|(name, _)| name.as_str()).collect()
    }

    /// What is not as it is to be in the end.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let wanted = self.wanted();
        let mut open: Vec<_> = self.provider.open.values().map(String::as_str).collect();
        open.sort_unstable();
        if open != wanted.iter().copied().collect::<Vec<_>>() {
            faults.push(format!("the provider has open {open:?}, wanted is {wanted:?}"));
        }
        let counts =
            (self.hub.counters().items as usize, self.server.statistics().items, wanted.len());
        if counts.0 != counts.2 || counts.1 != counts.2 {
            faults.push(format!("items of hub, server, and those that are wanted: {counts:?}"));
        }
        for (name, known) in self.lists.values().flat_map(BTreeMap::values) {
            let bid = self.provider.bids.get(name).copied().or(Some(100));
            if *known != (Known { bid, is_ok: true }) {
                faults.push(format!("{name} is {bid:?}, and known as {known:?}"));
            }
        }
        faults
    }
}

const NAMES: [&str; 8] = ["A", "B", "C", "D", "E", "F", "G", "H"];

fn step(system: &mut System, dice: &mut Dice, mounts: &[SessionId], round: i32) {
    let session = mounts[dice.below(mounts.len())];
    let name = NAMES[dice.below(NAMES.len())];
    let stream = system.lists[&session].iter().find(|(_, (open, _))| open == name);
    let stream = stream.map(|(stream_id, _)| *stream_id);
    match (dice.below(3), stream) {
        (0, None) => system.open(session, 10 + round, name),
        (1, Some(stream_id)) => system.close(session, stream_id),
        _ => system.update(name, 1_000 + i64::from(round)),
    }
    system.provider.in_parts = dice.below(4) == 0;
    if dice.below(3) == 0 {
        system.pass(dice.below(12) as u64);
    }
}

#[test]
fn after_any_loss_hub_and_server_agree_again() {
    for seed in 0..40 {
        let mut system = System::with_route(seed, seed % 2 == 1);
        let mut dice = Dice(seed);
        let mounts = [0, 1, 2].map(|index| system.mount(index));
        for round in 0..600 {
            match (round % 20, dice.below(4)) {
                (0, 0) => system.lose(200_000, 0),
                (0, 1) => system.lose(0, 200_000),
                (0, 2) => system.lose(300_000, 300_000),
                (0, _) => system.lose(0, 0),
                _ => {}
            }
            step(&mut system, &mut dice, &mounts, round);
        }
        system.lose(0, 0);
        system.pass(CALM_MS);
        assert_eq!(system.faults(), [""; 0], "seed {seed}");
        for session in mounts {
            let streams: Vec<_> = system.lists[&session].keys().copied().collect();
            for stream_id in streams {
                system.close(session, stream_id);
            }
        }
        system.pass(CALM_MS);
        assert_eq!(system.faults(), [""; 0], "seed {seed}, all closed");
    }
}

/// Ten items, quiet, and a loss of everything from one side while `change`
/// happens.
fn with_items(change: impl FnOnce(&mut System, SessionId)) -> System {
    let mut system = System::with_route(1, false);
    let session = system.mount(0);
    for stream_id in 10..20 {
        system.open(session, stream_id, &format!("ITEM{stream_id}"));
    }
    system.pass(100);
    assert_eq!(system.faults(), [""; 0]);
    change(&mut system, session);
    system
}

#[test]
fn a_lost_close_leaks_nothing() {
    let mut system = with_items(|system, session| {
        system.lose(0, 1_000_000);
        system.close(session, 12);
        system.close(session, 13);
        system.pass(5);
    });
    system.lose(0, 0);
    system.pass(1_000);
    assert_eq!(system.faults(), [""; 0]);
    assert_eq!(system.hub.counters().items, 8);
}

#[test]
fn a_lost_request_is_made_again_at_once() {
    let mut system = with_items(|system, session| {
        system.lose(0, 1_000_000);
        system.open(session, 30, "NEW");
        system.pass(5);
    });
    system.lose(0, 0);
    system.pass(1_000);
    assert_eq!(system.faults(), [""; 0]);
}

#[test]
fn an_update_that_was_lost_before_an_item_fell_quiet_is_repaired() {
    let mut system = with_items(|system, _| {
        // The hole is seen, and the question about it is lost as well.
        system.lose(1_000_000, 1_000_000);
        system.update("ITEM12", 77);
        system.pass(5);
        system.lose(0, 1_000_000);
        system.update("ITEM13", 78);
        system.pass(5);
    });
    system.lose(0, 0);
    system.pass(1_000);
    assert_eq!(system.faults(), [""; 0]);
}

#[test]
fn items_that_lost_nothing_are_left_alone() {
    let mut system = with_items(|system, _| {
        system.lose(1_000_000, 0);
        system.update("ITEM12", 77);
        system.pass(5);
        system.lose(0, 0);
    });
    let (images, asked) = (system.images, system.provider.images);
    for round in 0..1_000 {
        // The others go on, so that some of their updates are always under way.
        let name = format!("ITEM{}", 13 + round % 7);
        system.update(&name, i64::from(round));
        system.turn();
    }
    system.pass(100);
    assert_eq!(system.faults(), [""; 0]);
    assert_eq!(system.images - images, 1, "one image for the consumer");
    assert_eq!(system.provider.images - asked, 1, "and one from the provider");
}

/// More items end than the queue of the port holds closes of, while the network
/// takes nothing.
#[test]
fn what_a_congested_server_closes_is_closed() {
    let routes = vec![Route::to("source", 14_002)];
    let hub = HubConfig { routes, ..HubConfig::named("hub") };
    let mut system = System::new(1, hub, 64 << 10);
    let session = system.mount(0);
    for stream_id in 10..5_010 {
        system.open(session, stream_id, &format!("ITEM{stream_id}"));
        if stream_id % 50 == 0 {
            system.turn();
        }
    }
    system.pass(500);
    assert_eq!(system.faults(), [""; 0]);
    system.network.set_stuck(SERVER, true);
    system.lists.remove(&session);
    system.mount_event(tapeline_server::Event::Closed { session });
    system.pass(20);
    system.network.set_stuck(SERVER, false);
    system.pass(1_000);
    assert_eq!(system.faults(), [""; 0]);
    assert_eq!(system.server_port.counters().dropped, 0, "closes wait for room");
}
