//! Consumers of several servers: a provider, a hub, servers and a consumer over
//! real sockets, in one thread.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Handle, ItemSpec, Login, PostHead, Protocol, Provider,
    ProviderConfig, ProviderEvent, ReconnectPolicy, RefreshHead, Requests, Responses,
    Server as Address, ServiceSpec, StandbyServer, StandbySet, StreamHandle, UpdateHead,
};
use tapeline_backbone::sim::{Network, SimPort};
use tapeline_backbone::{Incarnation, PortSettings, Role};
use tapeline_hub::{Hub, HubConfig, Route};
use tapeline_rwf::{DataType, Encoded, Primitive, Real, StreamState};
use tapeline_server::{AcceptAll, Server, ServerConfig, Transport, WarmStandby};
use tapeline_time::MonotonicClock;

const PATIENCE: Duration = Duration::from_secs(60);
const ANY_PORT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);
const BID: i16 = 22;

fn quote(bid: i64) -> [(i16, Primitive<'static>); 1] {
    [(BID, Real::decimal(bid, 0).into())]
}

fn bid_of(payload: &Encoded<'_>) -> i64 {
    let field = payload.field_list().expect("fields").field(BID).expect("readable");
    let real = field.expect("a bid").typed(DataType::REAL).real().expect("a real");
    real.expect("not blank").to_string().parse().expect("a whole number")
}

/// What a consumer was told of one item.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Told {
    Image(i64),
    Update(i64),
    Status(String),
}

/// A source of which every item counts its updates.
struct Source {
    provider: Provider,
    items: Vec<(StreamHandle, i64)>,
    requests: usize,
    posts: usize,
    next: usize,
}

impl Source {
    fn turn(&mut self) {
        let Self { provider, items, requests, posts, .. } = self;
        let mut answer = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| match event {
            ProviderEvent::Request { stream, .. } => {
                *requests += 1;
                items.push((stream, 0));
                responses.refresh(stream, &RefreshHead::default(), &quote(0)).expect("sent");
            }
            // A hub has no images: it asks for one for each server that comes later.
            ProviderEvent::Reissue { stream, wants_image: true, .. } => {
                *requests += 1;
                let bid = items.iter().find(|(known, _)| *known == stream).expect("open").1;
                responses.refresh(stream, &RefreshHead::default(), &quote(bid)).expect("sent");
            }
            ProviderEvent::Close { stream } => items.retain(|(known, _)| *known != stream),
            ProviderEvent::Post { receipt, .. } => {
                *posts += 1;
                responses.ack(receipt).expect("sent");
            }
            _ => {}
        };
        provider.poll(Some(Duration::ZERO), &mut answer);
    }

    /// So many updates, item by item.
    fn update(&mut self, count: usize) {
        let Self { provider, items, next, .. } = self;
        provider.with(|responses| {
            for _ in 0..count {
                *next = (*next + 1) % items.len();
                let (stream, bid) = &mut items[*next];
                *bid += 1;
                responses.update(*stream, &UpdateHead::QUOTE, &quote(*bid)).expect("sent");
            }
        });
    }
}

struct Floor {
    clock: MonotonicClock,
    backbone: Network,
    source: Source,
    hub: Hub<SimPort>,
    servers: Vec<Option<Server<SimPort>>>,
    incarnations: u32,
    consumer: Option<Consumer>,
    handles: Vec<Handle>,
    told: Vec<Vec<Told>>,
    /// When each item was last told an image.
    images_at: Vec<Option<Instant>>,
    events: Vec<String>,
}

impl Floor {
    /// A source and a hub with services FEED and RATES.
    fn new() -> Self {
        let backbone = Network::new(1);
        let services = [ServiceSpec::new(1, "FEED").entry(), ServiceSpec::new(2, "RATES").entry()];
        let mut provider = Provider::new(ProviderConfig::new(services)).expect("sockets");
        let at = provider.listen(ANY_PORT).expect("a free port");
        let mut config = HubConfig::named("hub");
        config.routes = vec![Route::to("127.0.0.1", at.port())];
        let incarnation = Incarnation(100);
        let port = PortSettings { incarnation, ..PortSettings::new(Role::Hub, "hub") };
        let hub = Hub::new(config, backbone.port(port)).expect("a hub");
        let source = Source { provider, items: Vec::new(), requests: 0, posts: 0, next: 0 };
        Self {
            clock: MonotonicClock::start(),
            backbone,
            source,
            hub,
            servers: Vec::new(),
            incarnations: 0,
            consumer: None,
            handles: Vec::new(),
            told: Vec::new(),
            images_at: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Another server; none where the port is in use.
    fn server(
        &mut self,
        listen: [SocketAddr; 2],
        warm_standby: WarmStandby,
    ) -> Option<Server<SimPort>> {
        self.incarnations += 1;
        let config = ServerConfig {
            listen: vec![listen[0]],
            listen_websocket: vec![listen[1]],
            warm_standby,
            seed: self.incarnations.into(),
            ..ServerConfig::default()
        };
        let name = format!("server{}", self.incarnations);
        let incarnation = Incarnation(self.incarnations);
        let port = PortSettings { incarnation, ..PortSettings::new(Role::Server, &name) };
        Server::new(config, Box::new(AcceptAll), self.backbone.port(port)).ok()
    }

    fn with_servers(kinds: &[WarmStandby]) -> Self {
        let mut floor = Self::new();
        for kind in kinds {
            let server = floor.server([ANY_PORT; 2], *kind).expect("free ports");
            floor.servers.push(Some(server));
        }
        floor.until("services are up", |it| {
            it.servers.iter().flatten().all(|server| server.statistics().services == 2)
        });
        floor
    }

    fn listening(&self, server: usize) -> [SocketAddr; 2] {
        let server = self.servers[server].as_ref().expect("it runs");
        [Transport::Rssl, Transport::WebSocket].map(|transport| server.listening_at(transport)[0])
    }

    fn address(&self, server: usize, protocol: Protocol) -> Address {
        let at = self.listening(server)[usize::from(protocol == Protocol::Json)];
        Address::new(at.ip().to_string(), at.port())
    }

    fn consume(&mut self, protocol: Protocol, set: impl FnOnce(&Self) -> StandbySet) {
        let first = self.address(0, protocol);
        let delay = Duration::from_millis(10);
        let reconnect =
            ReconnectPolicy { first_delay: delay, max_delay: delay, max_attempts: None };
        let standby = Some(set(self));
        let config = ConsumerConfig {
            protocol,
            reconnect,
            standby,
            ..ConsumerConfig::new([first], Login::new("consumer"))
        };
        self.consumer = Some(Consumer::new(config).expect("sockets"));
    }

    fn open(&mut self, service: &str, names: &[&str]) {
        let consumer = self.consumer.as_mut().expect("a consumer");
        let spec = ItemSpec::new(service, "");
        let handles = consumer.with(|requests| requests.open_batch(&spec, names)).expect("room");
        self.handles.extend(handles);
        self.told.resize(self.handles.len(), Vec::new());
        self.images_at.resize(self.handles.len(), None);
    }

    fn turn(&mut self) {
        self.source.turn();
        let now = self.clock.now();
        self.hub.duty_cycle(now);
        for server in self.servers.iter_mut().flatten() {
            server.duty_cycle(now);
        }
        let Self { consumer: Some(consumer), told, images_at, events, .. } = self else { return };
        let mut note = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            let (handle, what) = match event {
                ConsumerEvent::Refresh { handle, msg } => {
                    images_at[handle.index()] = Some(Instant::now());
                    let is_well = msg.state.stream == StreamState::OPEN
                        && msg.state.data == tapeline_rwf::DataState::OK;
                    assert!(is_well, "{:?}", msg.state);
                    (handle, Told::Image(bid_of(&msg.payload)))
                }
                ConsumerEvent::Update { handle, msg } => {
                    (handle, Told::Update(bid_of(&msg.payload)))
                }
                ConsumerEvent::Status { handle, msg } => {
                    let state = msg.state.map(tapeline_omm::state::MessageApiText);
                    (handle, Told::Status(state.map(|it| it.to_string()).unwrap_or_default()))
                }
                ConsumerEvent::Active { server, service } => {
                    let service = service.map_or("all".to_owned(), ToString::to_string);
                    return events.push(format!("{server} has {service}"));
                }
                ConsumerEvent::LeftOut { server, reason } => {
                    return events.push(format!("{server} is left out: {reason}"));
                }
                ConsumerEvent::Ack { msg, .. } => {
                    return events.push(format!("ack {} {:?}", msg.ack_id, msg.nak_code));
                }
                _ => return,
            };
            told[handle.index()].push(what);
        };
        consumer.poll(Some(Duration::ZERO), &mut note);
    }

    fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !holds(self) {
            let so_far = (&self.told, self.consumer.as_ref().map(Consumer::counters));
            assert!(began.elapsed() < PATIENCE, "never: {what}; {:?} {so_far:?}", self.events);
            self.turn();
        }
    }

    fn images(&self) -> Vec<usize> {
        let images =
            |told: &Vec<Told>| told.iter().filter(|told| matches!(told, Told::Image(_))).count();
        self.told.iter().map(images).collect()
    }

    /// Each item has more images than it had.
    fn has_more(&self, before: &[usize]) -> bool {
        self.images().iter().zip(before).all(|(images, before)| images > before)
    }

    /// The servers have all items, and those that stand by have said so.
    fn until_warm(&mut self, answers: u64) {
        self.until("all servers answered", |it| {
            it.consumer.as_ref().is_some_and(|consumer| consumer.counters().refreshes >= answers)
        });
    }

    fn on_standby(&self, server: usize) -> usize {
        let server = self.servers[server].as_ref().expect("it runs");
        server.statistics().mounts_on_standby
    }

    /// Updates at so many a second, for a time.
    fn updates(&mut self, per_s: u32, during: Duration) {
        let (began, mut sent) = (Instant::now(), 0);
        while began.elapsed() < during {
            let due = (began.elapsed().as_secs_f64() * f64::from(per_s)) as usize;
            self.source.update(due - sent);
            sent = due;
            self.turn();
        }
    }

    /// From each image on, every update came once and in order; nothing else was
    /// said.
    fn check_order(&self) {
        for told in &self.told {
            let mut bid = None;
            for what in told {
                bid = Some(match what {
                    Told::Image(bid) => *bid,
                    Told::Update(next) => {
                        assert_eq!(Some(*next), bid.map(|bid| bid + 1), "{told:?}");
                        *next
                    }
                    Told::Status(state) => panic!("{state}; {told:?}"),
                });
            }
        }
    }
}

fn two_by_login(floor: &Floor, protocol: Protocol) -> StandbySet {
    StandbySet::by_login([floor.address(1, protocol)])
}

/// The active server is killed under 10,000 updates/s of 1,000 items.
fn killed(protocol: Protocol) {
    const ITEMS: usize = 1_000;
    const PER_S: u32 = 10_000;
    let mut floor = Floor::with_servers(&[WarmStandby::default(); 2]);
    floor.consume(protocol, |floor| two_by_login(floor, protocol));
    let names: Vec<_> = (0..ITEMS).map(|item| format!("ITEM{item}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    floor.open("FEED", &names);
    floor.until_warm(2 * ITEMS as u64);
    assert_eq!(floor.on_standby(1), 1);
    floor.updates(PER_S, Duration::from_millis(300));
    let (requests, images) = (floor.source.requests, floor.images());
    assert!(images.iter().all(|images| *images > 0));
    let killed_at = Instant::now();
    floor.servers[0] = None;
    let (mut sent, began) = (0, Instant::now());
    while !floor.has_more(&images) {
        assert!(began.elapsed() < PATIENCE, "images are missing; {:?}", floor.events);
        let due = (began.elapsed().as_secs_f64() * f64::from(PER_S)) as usize;
        floor.source.update(due - sent);
        sent = due;
        floor.turn();
    }
    let times = floor.images_at.iter().flatten().map(|at| at.duration_since(killed_at));
    let (first, last) = (times.clone().min(), times.max());
    println!(
        "{protocol:?}: {ITEMS} items at {PER_S} updates/s, from the kill to the first image {:?}, \
         to the last {:?}",
        first.expect("images"),
        last.expect("images")
    );
    floor.updates(PER_S, Duration::from_millis(200));
    let bids: Vec<_> = floor.source.items.iter().map(|(_, bid)| *bid).collect();
    floor.until("the last updates", |it| {
        it.told.iter().zip(&bids).all(|(told, bid)| {
            matches!(told.last(), Some(Told::Update(last) | Told::Image(last)) if last == bid)
        })
    });
    floor.check_order();
    assert_eq!(floor.source.requests, requests, "the source is asked for nothing");
    assert_eq!(floor.events, ["0 has all", "1 has all"]);
    let counts = floor.consumer.as_ref().expect("a consumer").counters();
    assert_eq!((counts.take_overs, counts.items_taken_over), (1, ITEMS as u64));
}

#[test]
fn the_active_server_is_killed_and_every_item_goes_on_with_an_image() {
    killed(Protocol::Rssl);
}

#[test]
fn the_same_over_json() {
    killed(Protocol::Json);
}

#[test]
fn a_server_that_comes_back_stands_by_and_follows_in_its_turn() {
    let mut floor = Floor::with_servers(&[WarmStandby::default(); 2]);
    floor.consume(Protocol::Rssl, |floor| two_by_login(floor, Protocol::Rssl));
    floor.open("FEED", &["A", "B"]);
    floor.until_warm(4);
    let (ports, images) = (floor.listening(0), floor.images());
    floor.servers[0] = None;
    floor.until("images of the second", |it| it.has_more(&images));
    let again = loop {
        match floor.server(ports, WarmStandby::default()) {
            Some(again) => break again,
            None => floor.turn(),
        }
    };
    floor.servers[0] = Some(again);
    floor.until("the first stands by", |it| it.on_standby(0) == 1);
    let answered = floor.consumer.as_ref().expect("a consumer").counters().refreshes;
    floor.until_warm(answered + 2);
    assert_eq!(floor.on_standby(1), 0);
    floor.source.update(4);
    floor.until("updates", |it| it.told.iter().all(|told| told.last() == Some(&Told::Update(2))));
    let images = floor.images();
    floor.servers[1] = None;
    floor.until("images of the first again", |it| it.has_more(&images));
    floor.check_order();
    for told in &floor.told {
        assert_eq!(told.last(), Some(&Told::Image(2)));
    }
    assert_eq!(floor.events, ["0 has all", "1 has all", "0 has all"]);
}

#[test]
fn the_preferred_server_has_the_items_again_after_a_while() {
    let mut floor = Floor::with_servers(&[WarmStandby::default(); 2]);
    floor.consume(Protocol::Rssl, |floor| {
        two_by_login(floor, Protocol::Rssl).preferred(Duration::from_millis(50))
    });
    floor.open("FEED", &["A"]);
    floor.until_warm(2);
    let (ports, images) = (floor.listening(0), floor.images());
    floor.servers[0] = None;
    floor.until("an image of the second", |it| it.has_more(&images));
    let again = loop {
        match floor.server(ports, WarmStandby::default()) {
            Some(again) => break again,
            None => floor.turn(),
        }
    };
    floor.servers[0] = Some(again);
    floor.until("the second stands by", |it| it.on_standby(1) == 1);
    assert_eq!(floor.on_standby(0), 0);
    floor.source.update(3);
    floor.until("updates", |it| it.told[0].last() == Some(&Told::Update(3)));
    floor.check_order();
    assert_eq!(floor.events, ["0 has all", "1 has all", "0 has all"]);
}

#[test]
fn services_begin_at_servers_of_their_own_and_meet_at_the_one_that_is_left() {
    let mut floor = Floor::with_servers(&[WarmStandby::default(); 2]);
    floor.consume(Protocol::Rssl, |floor| {
        let server = floor.address(1, Protocol::Rssl);
        StandbySet::by_service([StandbyServer { server, services: vec!["RATES".to_owned()] }])
    });
    floor.open("FEED", &["A"]);
    floor.open("RATES", &["EUR="]);
    floor.until_warm(4);
    floor.source.update(4);
    floor.until("updates of both", |it| {
        it.told.iter().all(|told| told.last() == Some(&Told::Update(2)))
    });
    let mut began = floor.events.clone();
    began.sort();
    assert_eq!(began, ["0 has FEED", "1 has RATES"]);
    let images = floor.images();
    floor.servers[0] = None;
    floor.until("an image of FEED", |it| it.images()[0] > images[0]);
    floor.source.update(2);
    floor.until("updates of both", |it| {
        it.told.iter().all(|told| told.last() == Some(&Told::Update(3)))
    });
    assert_eq!(floor.images()[1], images[1], "the other service goes on");
    assert_eq!(floor.events.last().expect("some"), "1 has FEED");
    floor.check_order();
}

#[test]
fn a_source_has_a_post_once_and_the_application_one_ack() {
    let mut floor = Floor::with_servers(&[WarmStandby::default(); 2]);
    floor.consume(Protocol::Rssl, |floor| two_by_login(floor, Protocol::Rssl));
    floor.open("FEED", &["A"]);
    floor.until_warm(2);
    let (handle, mut ids) = (floor.handles[0], Vec::new());
    for bid in 1..=3 {
        let consumer = floor.consumer.as_mut().expect("a consumer");
        let post =
            consumer.with(|requests| requests.post(handle, &PostHead::default(), &quote(bid)));
        ids.push(post.expect("sent"));
    }
    floor.until("acks, and posts at the other server", |it| {
        let second = it.servers[1].as_ref().expect("it runs");
        it.events.len() == 4 && second.statistics().posts_on_standby == 3
    });
    assert_eq!((ids, floor.source.posts), (vec![1, 2, 3], 3));
    assert_eq!(floor.events[1..], ["ack 1 None", "ack 2 None", "ack 3 None"]);
}

#[test]
fn a_server_whose_login_offers_no_warm_standby_is_left_out() {
    let kinds = [WarmStandby::default(), WarmStandby::Off, WarmStandby::Service];
    let mut floor = Floor::with_servers(&kinds);
    floor.consume(Protocol::Rssl, |floor| {
        StandbySet::by_login([1, 2].map(|server| floor.address(server, Protocol::Rssl)))
    });
    floor.open("FEED", &["A"]);
    floor.until("two are left out", |it| it.events.len() == 3 && it.images() == [1]);
    let mut left_out = floor.events[1..].to_vec();
    left_out.sort();
    assert_eq!(
        left_out,
        [
            "1 is left out: its login does not offer warm standby (SupportStandby)",
            "2 is left out: its login offers warm standby with SupportStandbyMode 2, not by login"
        ]
    );
    assert_eq!(floor.consumer.as_ref().expect("a consumer").counters().servers, 1);
}
