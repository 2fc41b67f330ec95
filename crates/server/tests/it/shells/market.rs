//! A market of shells in one thread: providers, a hub, a server, consumers.

use std::time::{Duration, Instant};

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Handle, ItemHandle, ItemSpec, Login, Protocol,
    Provider, ProviderConfig, ProviderEvent, PublishSpec, Publisher, PublisherConfig,
    PublisherEvent, RefreshHead, Requests, Responses, Server as Address, ServiceSpec, StreamHandle,
    Submissions, UpdateHead,
};
use tapeline_backbone::sim::{Network, SimPort};
use tapeline_backbone::{Incarnation, PortSettings, Role};
use tapeline_channel::{ConnectConfig, ReactorConfig};
use tapeline_hub::{Hub, HubConfig, Route};
use tapeline_rssl::Compression;
use tapeline_rwf::{DataType, Encoded, Primitive, Real};
use tapeline_server::{AcceptAll, Server, ServerConfig, Transport};
use tapeline_time::Time;

use super::ground::Ground;

/// A test that takes longer is one that hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// The same in a world whose time is its own.
const MOST_TURNS: usize = 1_000_000;

pub(super) const HUB: Incarnation = Incarnation(100);
pub(super) const SERVER: Incarnation = Incarnation(7);

const BID: i16 = 22;

/// A consumer with what it was told, in words.
pub(super) struct Listener<G: Ground> {
    pub(super) consumer: Consumer<G::System>,
    /// What it has open.
    pub(super) items: Vec<(Handle, String)>,
    pub(super) told: Vec<String>,
    /// It reads nothing for now.
    pub(super) is_asleep: bool,
}

pub(super) struct Market<G: Ground> {
    pub(super) ground: G,
    pub(super) backbone: Network,
    pub(super) provider: Provider<G::System>,
    publisher: Publisher<G::System>,
    /// What the publisher publishes. Before that, it does not connect.
    published: Option<ItemHandle>,
    pub(super) hub: Hub<SimPort, G::System>,
    pub(super) server: Server<SimPort, G::System>,
    /// Streams that are open at the provider, with their names.
    pub(super) open: Vec<(StreamHandle, String)>,
    pub(super) bid: i64,
    pub(super) listeners: Vec<Listener<G>>,
}

fn quote(bid: i64) -> [(i16, Primitive<'static>); 1] {
    [(BID, Real::decimal(bid, 2).into())]
}

fn bid_of(payload: &Encoded<'_>) -> String {
    let list = match payload.data_type() {
        DataType::FIELD_LIST => payload.field_list().ok(),
        _ => None,
    };
    let field = list.and_then(|list| list.field(BID).ok()?);
    let bid = field.and_then(|field| field.typed(DataType::REAL).real().ok()?);
    bid.map(|bid| bid.to_string()).unwrap_or_default()
}

fn told(event: &ConsumerEvent<'_>, items: &[(Handle, String)]) -> Option<String> {
    let name = |handle: &Handle| {
        let item = items.iter().find(|(item, _)| item == handle);
        item.map(|(_, name)| name.as_str()).unwrap_or_default()
    };
    Some(match event {
        ConsumerEvent::Up { .. } => "up".to_owned(),
        ConsumerEvent::Down { recovers, .. } => format!("down, recovers: {recovers}"),
        ConsumerEvent::Ready => "ready".to_owned(),
        ConsumerEvent::Refresh { handle, msg } => {
            format!("{} {} {}", name(handle), bid_of(&msg.payload), msg.state.data)
        }
        ConsumerEvent::Update { handle, msg } => {
            format!("{} {}", name(handle), bid_of(&msg.payload))
        }
        ConsumerEvent::Status { handle, msg } => {
            let state = msg.state.map(|state| format!("{} {}", state.stream, state.data));
            format!("{} {}", name(handle), state.unwrap_or_default())
        }
        _ => return None,
    })
}

fn address(at: std::net::SocketAddr) -> Address {
    Address::new(at.ip().to_string(), at.port())
}

fn seeded(seed: u64) -> ReactorConfig {
    ReactorConfig { seed, ..ReactorConfig::default() }
}

impl<G: Ground> Market<G> {
    /// All but consumers, with everybody connected and all services up.
    pub(super) fn open(ground: G) -> Self {
        Self::open_with(ground, |_| {})
    }

    /// The same with a server that has other settings.
    pub(super) fn open_with(mut ground: G, edit: impl FnOnce(&mut ServerConfig)) -> Self {
        let backbone = Network::new(1);
        let feed = ProviderConfig::new([ServiceSpec::new(1, "FEED").entry()]);
        let mut provider = Provider::with_system(feed, seeded(1), ground.system());
        let at = provider.listen(ground.listen_at()).expect("a free port");
        let at = ground.tapped(at);
        let mut config = HubConfig::named("hub");
        config.routes = vec![Route::to("127.0.0.1", at.port())];
        config.ni_listen = Some(ground.listen_at());
        config.reactor = seeded(2);
        let port = PortSettings { incarnation: HUB, ..PortSettings::new(Role::Hub, "hub") };
        let hub = Hub::with_system(config, backbone.port(port), ground.system()).expect("a hub");
        let at = ground.tapped(hub.listening()[0]);
        let ours = [ServiceSpec::new(2, "OURS").entry()];
        let config = PublisherConfig::new([address(at)], Login::new("publisher"), ours);
        let connect = ConnectConfig::default();
        let publisher = Publisher::with_system(config, seeded(3), connect, ground.system());
        let listen = vec![ground.listen_at()];
        let listen_websocket = vec![ground.listen_at()];
        let mut config =
            ServerConfig { listen, listen_websocket, seed: 4, ..ServerConfig::default() };
        edit(&mut config);
        let port = PortSettings {
            incarnation: SERVER,
            // Small enough for what consumers ask to fill it.
            queue_bytes: 256 << 10,
            ..PortSettings::new(Role::Server, "server")
        };
        let (port, system) = (backbone.port(port), ground.system());
        let server = Server::with_system(config, Box::new(AcceptAll), port, system);
        let mut market = Self {
            ground,
            backbone,
            provider,
            publisher: publisher.expect("a publisher"),
            published: None,
            hub,
            server: server.expect("a server"),
            open: Vec::new(),
            bid: 10_000,
            listeners: Vec::new(),
        };
        market.until("the interactive service is up", |it| it.server.statistics().services == 1);
        let image = quote(market.bid);
        market.published = market.publisher.with(|submissions| {
            let item = submissions.open(&PublishSpec::new("OURS", "POSITION")).expect("room");
            submissions.refresh(item, &RefreshHead::default(), &image).expect("kept");
            Some(item)
        });
        market.until("both services are up", |it| it.server.statistics().services == 2);
        market
    }

    /// Another consumer, when it is ready; its number.
    pub(super) fn listener(&mut self, protocol: Protocol, at: std::net::SocketAddr) -> usize {
        self.listener_as(Login::new("consumer"), protocol, at)
    }

    /// The same with a login of its own.
    pub(super) fn listener_as(
        &mut self,
        login: Login,
        protocol: Protocol,
        at: std::net::SocketAddr,
    ) -> usize {
        let config = ConsumerConfig { protocol, ..ConsumerConfig::new([address(at)], login) };
        self.connected(config, ConnectConfig::default())
    }

    /// A consumer over RSSL that asks for this compression, when it is ready.
    pub(super) fn listener_with(
        &mut self,
        compression: Compression,
        at: std::net::SocketAddr,
    ) -> usize {
        let mut connect = ConnectConfig::default();
        connect.rssl.compression = compression;
        self.connected(ConsumerConfig::new([address(at)], Login::new("consumer")), connect)
    }

    fn connected(&mut self, config: ConsumerConfig, connect: ConnectConfig) -> usize {
        let index = self.listeners.len();
        let (reactor, system) = (seeded(10 + index as u64), self.ground.system());
        let consumer = Consumer::with_system(config, reactor, connect, system);
        let consumer = consumer.expect("a consumer");
        self.listeners.push(Listener {
            consumer,
            items: Vec::new(),
            told: Vec::new(),
            is_asleep: false,
        });
        self.until_told(index, "ready");
        index
    }

    /// Where a server is mounted over RSSL, and where over WebSocket; on tape.
    pub(super) fn addresses(&mut self) -> [std::net::SocketAddr; 2] {
        let (rssl, websocket) = (Transport::Rssl, Transport::WebSocket);
        [rssl, websocket]
            .map(|transport| self.ground.tapped(self.server.listening_at(transport)[0]))
    }

    /// Opens an item and waits for its image.
    pub(super) fn watch(&mut self, index: usize, service: &str, name: &str) {
        let listener = &mut self.listeners[index];
        let handle = listener.consumer.open(&ItemSpec::new(service, name)).expect("room");
        listener.items.push((handle, name.to_owned()));
        self.until_told(index, &format!("{name} {} OK", Real::decimal(self.bid, 2)));
    }

    /// Opens an item, and does not wait.
    pub(super) fn want(&mut self, index: usize, service: &str, name: &str) {
        let listener = &mut self.listeners[index];
        let handle = listener.consumer.open(&ItemSpec::new(service, name)).expect("room");
        listener.items.push((handle, name.to_owned()));
    }

    /// Whether a consumer was told that all services take requests.
    pub(super) fn is_accepting(&mut self, index: usize) -> bool {
        self.listeners[index].consumer.with(|requests| {
            requests.directory().services().all(|(_, service)| service.is_usable())
        })
    }

    /// Asks for one image of an item, for which nobody waits here.
    pub(super) fn ask(&mut self, index: usize, service: &str, name: &str) {
        let consumer = &mut self.listeners[index].consumer;
        consumer.open(&ItemSpec::new(service, name).snapshot()).expect("room");
    }

    pub(super) fn until_told(&mut self, index: usize, wanted: &str) {
        self.until(wanted, |it| it.listeners[index].told.iter().any(|told| told == wanted));
    }

    pub(super) fn now(&self) -> Time {
        self.ground.now()
    }

    pub(super) fn turn_provider(&mut self) {
        let Self { provider, open, bid, .. } = self;
        let answer = &mut |event: ProviderEvent<'_>, responses: &mut Responses<'_>| match event {
            ProviderEvent::Request { stream, request, .. } => {
                let name = String::from_utf8_lossy(request.key.name.unwrap_or_default());
                open.push((stream, name.into_owned()));
                let image = responses.refresh(stream, &RefreshHead::default(), &quote(*bid));
                image.expect("sent");
            }
            ProviderEvent::Close { stream } => open.retain(|(known, _)| *known != stream),
            ProviderEvent::Disconnected { .. } => open.clear(),
            _ => {}
        };
        provider.poll(Some(Duration::ZERO), answer);
    }

    pub(super) fn turn(&mut self) {
        let now = self.now();
        self.turn_provider();
        if self.published.is_some() {
            let ignore = &mut |_: PublisherEvent<'_>, _: &mut Submissions<'_>| {};
            self.publisher.poll(Some(Duration::ZERO), ignore);
        }
        self.hub.duty_cycle(now);
        self.server.duty_cycle(now);
        let awake = self.listeners.iter_mut().filter(|listener| !listener.is_asleep);
        for Listener { consumer, items, told: log, .. } in awake {
            let note = &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
                log.extend(told(&event, items));
            };
            consumer.poll(Some(Duration::ZERO), note);
        }
        self.ground.pass();
    }

    pub(super) fn turns(&mut self, count: usize) {
        for _ in 0..count {
            self.turn();
        }
    }

    pub(super) fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        for _ in 0..MOST_TURNS {
            if holds(self) {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "never: {what}; {:?}", self.all_told());
            self.turn();
        }
        panic!("never: {what}; {:?}", self.all_told());
    }

    pub(super) fn all_told(&self) -> Vec<Vec<String>> {
        self.listeners.iter().map(|listener| listener.told.clone()).collect()
    }

    /// The provider has another bid for all of its items.
    pub(super) fn update(&mut self, bid: i64) {
        self.bid = bid;
        let Self { provider, open, .. } = self;
        provider.with(|responses| {
            for (stream, _) in &*open {
                responses.update(*stream, &UpdateHead::QUOTE, &quote(bid)).expect("sent");
            }
        });
    }

    /// The publisher has another bid.
    pub(super) fn publish(&mut self, bid: i64) {
        self.bid = bid;
        let item = self.published.expect("an item");
        self.publisher.with(|submissions| {
            submissions.update(item, &UpdateHead::QUOTE, &quote(bid)).expect("sent");
        });
    }
}
