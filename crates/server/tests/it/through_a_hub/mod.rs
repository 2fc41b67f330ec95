//! A provider, a hub, a server and consumers, over real sockets and a backbone
//! in memory.

mod storm;
mod text;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use tapeline_backbone::sim::{Network, SimPort};
use tapeline_backbone::{Incarnation, PortSettings, Role};
use tapeline_channel::{
    ConnectConfig, ListenConfig, Reactor, ReactorConfig, Sent, SessionEvent, SessionId,
};
use tapeline_hub::{Hub, HubConfig, Route};
use tapeline_omm::directory::{
    DirectoryFilter, DirectoryMsg, DirectoryRequest, FilterContent, FilterEntry, ServiceEntry,
    ServiceInfo, ServiceState,
};
use tapeline_omm::login::{LoginMsg, LoginRefresh, LoginRequest};
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_rwf::{
    AckMsg, CloseMsg, DataState, DataType, Domain, EncodeError, Encoder, FieldListHead, Msg,
    MsgKey, PostFlags, PostMsg, Real, RefreshFlags, RefreshMsg, RequestFlags, State, StateCode,
    StatusMsg, StreamState, UpdateMsg,
};
use tapeline_server::{AcceptAll, Server, ServerConfig};
use tapeline_time::MonotonicClock;

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

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

/// The bid of a message.
fn bid(bytes: &[u8]) -> Option<i64> {
    let msg = Msg::decode(bytes).ok()?;
    let payload = msg.payload();
    let list = (payload.data_type() == DataType::FIELD_LIST).then(|| payload.field_list())?;
    let entry = list.ok()?.iter().next()?.ok()?;
    entry.typed(DataType::REAL).real().ok()?.map(Real::mantissa)
}

/// A provider of the service `FEED`, which has every item but `NO.SUCH`.
struct Provider {
    reactor: Reactor,
    port: u16,
    session: Option<SessionId>,
    /// Streams of items that are open, with their names.
    open: Vec<(i32, String)>,
    /// The last bid of items whose bid is not 100.
    bids: BTreeMap<String, i64>,
    /// What it was asked: class, domain and name.
    asked: Vec<String>,
}

impl Provider {
    fn new() -> Self {
        let mut reactor = Reactor::new(ReactorConfig::default()).expect("sockets");
        let listener = reactor.listen(ANY_PORT, &ListenConfig::default()).expect("a free port");
        let port = reactor.local_addr(listener).expect("it listens").port();
        Self {
            reactor,
            port,
            session: None,
            open: Vec::new(),
            bids: BTreeMap::new(),
            asked: Vec::new(),
        }
    }

    fn turn(&mut self, clock: &MonotonicClock) {
        let Self { reactor, session, open, bids, asked, .. } = self;
        reactor.poll(clock.now(), Some(Duration::ZERO), |event, outbox| match event {
            SessionEvent::Opened { session: opened, .. } => *session = Some(opened),
            SessionEvent::Message { session, bytes } => {
                let msg = Msg::decode(bytes).expect("a message");
                for answer in answers(&msg, bids, open, asked) {
                    assert_eq!(outbox.send(session, &answer), Sent::Queued);
                }
            }
            SessionEvent::Closed { .. } => {
                *session = None;
                open.clear();
            }
            _ => {}
        });
    }

    fn update(&mut self, name: &str, bid: i64) {
        self.bids.insert(name.to_owned(), bid);
        let stream = self.open.iter().find(|(_, open)| open == name).map(|(stream, _)| *stream);
        let (Some(session), Some(stream)) = (self.session, stream) else { return };
        let head = UpdateMsg::new(Domain::MARKET_PRICE, stream);
        let sent = self.reactor.outbox().send(session, &quote(&head.into(), bid));
        assert_eq!(sent, Sent::Queued);
    }
}

fn answers(
    msg: &Msg<'_>,
    bids: &BTreeMap<String, i64>,
    open: &mut Vec<(i32, String)>,
    asked: &mut Vec<String>,
) -> Vec<Vec<u8>> {
    let name = msg.key().and_then(|key| key.name).unwrap_or_default();
    let name = String::from_utf8_lossy(name).into_owned();
    asked.push(format!("{} {} {name}", msg.class(), msg.domain()));
    match msg {
        Msg::Request(request) if request.domain == Domain::LOGIN => {
            let Ok(LoginMsg::Request(request)) = LoginMsg::decode(msg) else { return Vec::new() };
            let mut refresh = LoginRefresh::accept(&request, "welcome");
            refresh.features.support_post = Some(true);
            vec![built(|encoder| refresh.encode(encoder))]
        }
        Msg::Request(request) if request.domain == Domain::SOURCE => {
            let mut directory = tapeline_omm::directory::Directory::default();
            let info = ServiceInfo {
                name: Some("FEED".into()),
                capabilities: Some(vec![Domain::MARKET_PRICE]),
                ..ServiceInfo::default()
            };
            let filters =
                [FilterContent::Info(info), FilterContent::State(ServiceState::new(true, true))];
            let service = ServiceEntry::add(1, filters.map(FilterEntry::set).into());
            directory
                .apply_update(&tapeline_omm::directory::DirectoryUpdate::new(0, vec![service]));
            let asked = DirectoryRequest::decode(request).expect("a request");
            let refresh = directory.refresh(&asked, &State::open_ok(""));
            vec![built(|encoder| refresh.encode(encoder))]
        }
        Msg::Request(request) if name == "NO.SUCH" => {
            let state = State::new(
                StreamState::CLOSED,
                DataState::SUSPECT,
                StateCode::NOT_FOUND,
                "The record could not be found",
            );
            let status = StatusMsg {
                state: Some(state),
                ..StatusMsg::new(request.domain, request.stream_id)
            };
            vec![built(|encoder| encoder.message(&status.into()))]
        }
        Msg::Request(request) => {
            let bid = bids.get(&name).copied().unwrap_or(100);
            let streaming = request.flags.contains(RequestFlags::STREAMING);
            if streaming && !open.iter().any(|(stream, _)| *stream == request.stream_id) {
                open.push((request.stream_id, name));
            }
            let stream = if streaming { StreamState::OPEN } else { StreamState::NON_STREAMING };
            let flags = RefreshFlags::SOLICITED
                | RefreshFlags::REFRESH_COMPLETE
                | RefreshFlags::CLEAR_CACHE;
            let head = RefreshMsg {
                flags,
                state: State::new(stream, DataState::OK, StateCode::NONE, "All is well"),
                key: Some(request.key),
                ..RefreshMsg::new(request.domain, request.stream_id)
            };
            vec![quote(&head.into(), bid)]
        }
        Msg::Close(close) => {
            open.retain(|(stream, _)| *stream != close.stream_id);
            Vec::new()
        }
        Msg::Post(post) => {
            let ack = AckMsg {
                ack_id: post.post_id.unwrap_or_default(),
                seq_num: post.seq_num,
                ..AckMsg::new(post.domain, post.stream_id)
            };
            vec![built(|encoder| encoder.message(&ack.into()))]
        }
        _ => Vec::new(),
    }
}

/// A consumer that keeps what it hears.
struct Consumer {
    reactor: Reactor,
    session: SessionId,
    is_open: bool,
    heard: Vec<Vec<u8>>,
}

impl Consumer {
    fn say(&mut self, bytes: &[u8]) {
        assert_eq!(self.reactor.outbox().send(self.session, bytes), Sent::Queued);
    }

    /// The messages of a stream since the last time.
    fn heard_on(&mut self, stream_id: i32) -> Vec<Vec<u8>> {
        let on_stream =
            |bytes: &Vec<u8>| Msg::decode(bytes).is_ok_and(|msg| msg.stream_id() == stream_id);
        let (own, others) = std::mem::take(&mut self.heard).into_iter().partition(on_stream);
        self.heard = others;
        own
    }
}

struct System {
    clock: MonotonicClock,
    network: Network,
    provider: Provider,
    hub: Option<Hub<SimPort>>,
    hubs_started: u32,
    server: Server<SimPort>,
    consumers: Vec<Consumer>,
}

impl System {
    fn new() -> Self {
        Self::with(ServerConfig::default())
    }

    fn with(config: ServerConfig) -> Self {
        let network = Network::new(1);
        let settings = PortSettings {
            incarnation: Incarnation(7),
            ..PortSettings::new(Role::Server, "server")
        };
        let config = ServerConfig { listen: vec![ANY_PORT], ..config };
        let server =
            Server::new(config, Box::new(AcceptAll), network.port(settings)).expect("a server");
        let mut system = Self {
            clock: MonotonicClock::start(),
            network,
            provider: Provider::new(),
            hub: None,
            hubs_started: 0,
            server,
            consumers: Vec::new(),
        };
        system.start_hub();
        system
    }

    fn start_hub(&mut self) {
        self.hubs_started += 1;
        let settings = PortSettings {
            incarnation: Incarnation(100 + self.hubs_started),
            ..PortSettings::new(Role::Hub, "hub")
        };
        let mut config = HubConfig::named("hub");
        config.routes = vec![Route::to("127.0.0.1", self.provider.port)];
        self.hub = Some(Hub::new(config, self.network.port(settings)).expect("a hub"));
    }

    fn turn(&mut self) {
        let now = self.clock.now();
        self.provider.turn(&self.clock);
        if let Some(hub) = &mut self.hub {
            hub.duty_cycle(now);
        }
        self.server.duty_cycle(now);
        for consumer in &mut self.consumers {
            let Consumer { reactor, is_open, heard, .. } = consumer;
            reactor.poll(now, Some(Duration::from_micros(200)), |event, _| match event {
                SessionEvent::Opened { .. } => *is_open = true,
                SessionEvent::Message { bytes, .. } => heard.push(bytes.to_vec()),
                SessionEvent::Closed { .. } => *is_open = false,
                _ => {}
            });
        }
    }

    fn until(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        let start = self.clock.now();
        while !holds(self) {
            self.turn();
            let waited = self.clock.now().since(start);
            assert!(waited < Duration::from_secs(20), "{what}");
        }
    }

    /// A consumer that is logged in and sees `FEED` up.
    fn consumer(&mut self) -> usize {
        let address = self.server.listening()[0];
        let mut reactor = Reactor::new(ReactorConfig::default()).expect("sockets");
        let session = reactor.connect("127.0.0.1", address.port(), &ConnectConfig::default());
        self.consumers.push(Consumer { reactor, session, is_open: false, heard: Vec::new() });
        let index = self.consumers.len() - 1;
        self.until("connected", |it| it.consumers[index].is_open);
        let login = LoginRequest::new(1, "user");
        self.consumers[index].say(&built(|encoder| login.encode(encoder)));
        self.until("logged in", |it| it.consumers[index].heard_on(1).len() == 1);
        let request = DirectoryRequest::new(2, DirectoryFilter::USUAL);
        self.consumers[index].say(&built(|encoder| request.encode(encoder)));
        self.until("service up", |it| {
            it.consumers[index].heard_on(2).iter().any(|bytes| is_feed_up(bytes))
        });
        index
    }

    fn request(&mut self, consumer: usize, stream_id: i32, name: &str, streaming: bool) {
        let key = MsgKey { service_id: Some(1), name: Some(name.as_bytes()), ..MsgKey::EMPTY };
        let request =
            ItemRequest { streaming, ..ItemRequest::new(Domain::MARKET_PRICE, stream_id, key) };
        let bytes = built(|encoder| request.encode(encoder, &RequestPayload::NONE));
        self.consumers[consumer].say(&bytes);
    }

    /// Waits for messages on a stream until one has this bid.
    fn until_bid(&mut self, consumer: usize, stream_id: i32, wanted: i64) -> Vec<Vec<u8>> {
        let mut all = Vec::new();
        self.until("bid", |it| {
            all.extend(it.consumers[consumer].heard_on(stream_id));
            all.last().and_then(|bytes| bid(bytes)) == Some(wanted)
        });
        all
    }

    fn open(&mut self, consumer: usize, stream_id: i32, name: &str) {
        self.request(consumer, stream_id, name, true);
        let heard = self.until_bid(consumer, stream_id, 100);
        assert!(matches!(Msg::decode(&heard[0]), Ok(Msg::Refresh(_))));
    }
}

fn is_feed_up(bytes: &[u8]) -> bool {
    let msg = Msg::decode(bytes).expect("a message");
    let services = match DirectoryMsg::decode(&msg) {
        Ok(DirectoryMsg::Refresh(refresh)) => refresh.services,
        Ok(DirectoryMsg::Update(update)) => update.services,
        _ => return false,
    };
    services.iter().flat_map(|service| &service.filters).any(|filter| {
        let FilterEntry::Content { content: FilterContent::State(state), .. } = filter else {
            return false;
        };
        state.is_up == Some(true)
    })
}

fn state_of(bytes: &[u8]) -> (StreamState, DataState) {
    match Msg::decode(bytes) {
        Ok(Msg::Refresh(refresh)) => (refresh.state.stream, refresh.state.data),
        Ok(Msg::Status(status)) => {
            let state = status.state.expect("a state");
            (state.stream, state.data)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn items_flow_from_a_provider_to_two_consumers() {
    let mut system = System::new();
    let (first, second) = (system.consumer(), system.consumer());
    system.open(first, 5, "TRI.N");
    system.open(second, 9, "TRI.N");
    assert_eq!(system.provider.open.len(), 1, "one stream for both");
    for bid in 101..200 {
        system.provider.update("TRI.N", bid);
    }
    assert_eq!(system.until_bid(first, 5, 199).len(), 99);
    assert_eq!(system.until_bid(second, 9, 199).len(), 99);
    // A newcomer gets the last value.
    let third = system.consumer();
    system.request(third, 5, "TRI.N", true);
    assert_eq!(system.until_bid(third, 5, 199).len(), 1);
    // The last one who leaves closes the item at the provider.
    for (consumer, stream_id) in [(first, 5), (second, 9), (third, 5)] {
        let close = CloseMsg::new(Domain::MARKET_PRICE, stream_id);
        let bytes = built(|encoder| encoder.message(&close.into()));
        system.consumers[consumer].say(&bytes);
    }
    system.until("closed", |it| it.provider.open.is_empty());
    assert_eq!(system.server.statistics().items, 0);
}

#[test]
fn where_no_image_is_kept_a_newcomer_is_the_only_one_who_gets_the_next() {
    let mut system = System::with(ServerConfig { cache: false, ..ServerConfig::default() });
    let (first, second) = (system.consumer(), system.consumer());
    system.open(first, 5, "TRI.N");
    system.open(second, 9, "TRI.N");
    let requests = system.provider.asked.iter().filter(|asked| asked.contains("TRI.N"));
    assert_eq!(requests.count(), 2, "no image is kept");
    system.provider.update("TRI.N", 101);
    assert_eq!(system.until_bid(first, 5, 101).len(), 1, "the update alone");
    assert_eq!(system.until_bid(second, 9, 101).len(), 1);
}

#[test]
fn a_snapshot_and_an_item_that_is_not_there_end_by_themselves() {
    let mut system = System::new();
    let consumer = system.consumer();
    system.request(consumer, 5, "TRI.N", false);
    let heard = system.until_bid(consumer, 5, 100);
    assert_eq!(state_of(&heard[0]), (StreamState::NON_STREAMING, DataState::OK));
    system.request(consumer, 6, "NO.SUCH", true);
    let mut heard = Vec::new();
    system.until("not found", |it| {
        heard = it.consumers[consumer].heard_on(6);
        !heard.is_empty()
    });
    assert_eq!(state_of(&heard[0]), (StreamState::CLOSED, DataState::SUSPECT));
    assert_eq!(system.server.statistics().items, 0);
    // Their streams can be used again.
    system.open(consumer, 5, "IBM.N");
    system.open(consumer, 6, "TRI.N");
}

#[test]
fn items_survive_the_death_of_a_hub() {
    let mut system = System::new();
    let consumer = system.consumer();
    for (stream_id, name) in (10..30).zip(["A", "B", "C", "D", "E", "F", "G", "H", "I", "J"]) {
        system.open(consumer, stream_id, name);
    }
    system.hub = None;
    let mut heard = Vec::new();
    system.until("stale", |it| {
        heard = it.consumers[consumer].heard_on(10);
        !heard.is_empty()
    });
    assert_eq!(state_of(&heard[0]), (StreamState::OPEN, DataState::SUSPECT));
    system.start_hub();
    let heard = system.until_bid(consumer, 10, 100);
    assert_eq!(state_of(&heard[0]), (StreamState::OPEN, DataState::OK));
    system.until("all are back", |it| it.provider.open.len() == 10);
    system.provider.update("J", 7);
    system.until_bid(consumer, 19, 7);
}

#[test]
fn items_survive_the_death_of_their_provider() {
    let mut system = System::new();
    let consumer = system.consumer();
    system.open(consumer, 5, "TRI.N");
    let session = system.provider.session.expect("connected");
    system.provider.reactor.outbox().close(session, "a crash");
    let mut heard = Vec::new();
    system.until("stale", |it| {
        heard = it.consumers[consumer].heard_on(5);
        !heard.is_empty()
    });
    assert_eq!(state_of(&heard[0]), (StreamState::OPEN, DataState::SUSPECT));
    let heard = system.until_bid(consumer, 5, 100);
    assert_eq!(state_of(heard.last().expect("an image")), (StreamState::OPEN, DataState::OK));
}

#[test]
fn lost_frames_are_repaired() {
    let mut system = System::new();
    let consumer = system.consumer();
    system.open(consumer, 5, "TRI.N");
    let (hub, server) = (Incarnation(101), Incarnation(7));
    system.network.set_loss(hub, server, 300_000);
    for bid in 101..400 {
        system.provider.update("TRI.N", bid);
        system.turn();
    }
    system.network.set_loss(hub, server, 0);
    system.provider.update("TRI.N", 400);
    system.until_bid(consumer, 5, 400);
    // A newcomer sees no trace of it.
    let other = system.consumer();
    system.request(other, 5, "TRI.N", true);
    let heard = system.until_bid(other, 5, 400);
    let image = heard.iter().find(|bytes| matches!(Msg::decode(bytes), Ok(Msg::Refresh(_))));
    assert_eq!(state_of(image.expect("an image")), (StreamState::OPEN, DataState::OK));
}

#[test]
fn a_post_reaches_the_provider_and_its_ack_the_poster() {
    let mut system = System::new();
    let consumer = system.consumer();
    system.open(consumer, 5, "TRI.N");
    for stream_id in [5, 1] {
        let post = PostMsg {
            flags: PostFlags::ACK | PostFlags::POST_COMPLETE,
            post_id: Some(42),
            key: (stream_id == 1).then_some(MsgKey::item(1, "IBM.N")),
            ..PostMsg::new(Domain::MARKET_PRICE, stream_id)
        };
        system.consumers[consumer].say(&quote(&post.into(), 1));
        let mut heard = Vec::new();
        system.until("acked", |it| {
            heard = it.consumers[consumer].heard_on(stream_id);
            !heard.is_empty()
        });
        let Ok(Msg::Ack(ack)) = Msg::decode(&heard[0]) else { panic!("{heard:?}") };
        assert_eq!((ack.ack_id, ack.nak_code), (42, None));
    }
    assert_eq!(system.provider.asked.iter().filter(|it| it.starts_with("POST")).count(), 2);
}

#[test]
fn a_server_that_shuts_down_ends_its_mounts() {
    let mut system = System::new();
    let consumer = system.consumer();
    system.open(consumer, 5, "TRI.N");
    let now = system.clock.now();
    system.server.shutdown(now);
    system.until("cut", |it| !it.consumers[consumer].is_open);
    system.until("all sockets closed", |it| it.server.is_idle());
    system.until("closed", |it| it.provider.open.is_empty());
}
