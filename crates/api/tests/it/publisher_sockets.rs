//! A publisher and a hub of the smallest kind over loopback sockets.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tapeline_api::{
    Flow, ItemHandle, Login, PublishSpec, Publisher, PublisherConfig, PublisherEvent,
    ReconnectPolicy, RefreshHead, Server, ServiceSpec, Submissions, UpdateHead, encode_update,
};
use tapeline_channel::{ListenConfig, ListenerId, Reactor, ReactorConfig, SessionEvent, SessionId};
use tapeline_omm::login::{LoginRefresh, LoginRequest};
use tapeline_rwf::{DataState, Domain, Encoder, Msg, Primitive, Real};
use tapeline_time::MonotonicClock;

/// How long a test may take before it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Accepts every login, and counts what it is sent.
struct Hub {
    reactor: Reactor,
    listener: ListenerId,
    clock: MonotonicClock,
    session: Option<SessionId>,
    logins: usize,
    directories: usize,
    /// Data state of the last image, by stream.
    images: BTreeMap<i32, DataState>,
    updates: usize,
}

impl Hub {
    fn new() -> Self {
        let mut reactor = Reactor::new(ReactorConfig::default()).expect("sockets");
        let address = ([127, 0, 0, 1], 0).into();
        let listener = reactor.listen(address, &ListenConfig::default()).expect("a free port");
        Self {
            reactor,
            listener,
            clock: MonotonicClock::start(),
            session: None,
            logins: 0,
            directories: 0,
            images: BTreeMap::new(),
            updates: 0,
        }
    }

    fn server(&self) -> Server {
        let address = self.reactor.local_addr(self.listener).expect("listening");
        Server::new(address.ip().to_string(), address.port())
    }

    fn poll(&mut self) {
        let mut login = None;
        let now = self.clock.now();
        self.reactor.poll(now, Some(Duration::ZERO), |event, _| match event {
            SessionEvent::Opened { session, .. } => self.session = Some(session),
            SessionEvent::Message { bytes, .. } => match Msg::decode(bytes).expect("a message") {
                Msg::Request(request) => login = LoginRequest::decode(&request).ok(),
                Msg::Refresh(refresh) if refresh.domain == Domain::SOURCE => self.directories += 1,
                Msg::Refresh(refresh) => {
                    assert!(refresh.key.is_some_and(|key| key.service_id == Some(5)));
                    self.images.insert(refresh.stream_id, refresh.state.data);
                }
                Msg::Update(update) => {
                    assert!(self.images.contains_key(&update.stream_id));
                    self.updates += 1;
                }
                other => panic!("unexpected {}", other.class()),
            },
            _ => {}
        });
        if let (Some(login), Some(session)) = (login, self.session) {
            assert!(login.attributes.is_provider());
            self.logins += 1;
            let mut buffer = [0; 1024];
            let mut encoder = Encoder::new(&mut buffer);
            LoginRefresh::accept(&login, "").encode(&mut encoder).expect("valid");
            let message = encoder.finish_bytes().expect("room");
            let _ = self.reactor.outbox().send(session, message);
            self.reactor.flush(now);
        }
    }
}

fn bid(value: i64) -> [(i16, Primitive<'static>); 1] {
    [(22, Real::decimal(value, 2).into())]
}

fn open(submissions: &mut Submissions<'_>, count: usize) -> Vec<ItemHandle> {
    (0..count)
        .map(|index| {
            let name = format!("ITEM{index}");
            let item = submissions.open(&PublishSpec::new("NI", &name)).expect("room");
            submissions.refresh(item, &RefreshHead::default(), &bid(1)).expect("kept");
            item
        })
        .collect()
}

/// Takes turns until something is so; publishes a new image of what is wanted.
fn until(publisher: &mut Publisher, hub: &mut Hub, what: &str, is_so: impl Fn(&Hub) -> bool) {
    let began = Instant::now();
    while !is_so(hub) {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        let mut refresh = |event: PublisherEvent<'_>, submissions: &mut Submissions<'_>| {
            if let PublisherEvent::RefreshWanted { item } = event {
                submissions.refresh(item, &RefreshHead::default(), &bid(2)).expect("sent");
            }
        };
        publisher.poll(Some(Duration::from_millis(1)), &mut refresh);
        hub.poll();
    }
}

#[test]
fn a_thousand_items_are_published_and_again_after_a_loss() {
    const ITEMS: usize = 1000;
    let mut hub = Hub::new();
    let services = [ServiceSpec::new(5, "NI").entry()];
    let mut config = PublisherConfig::new([hub.server()], Login::new("feed"), services);
    let soon = Duration::from_millis(1);
    config.reconnect = ReconnectPolicy { first_delay: soon, max_delay: soon, max_attempts: None };
    let mut publisher = Publisher::new(config).expect("sockets");
    let items = publisher.with(|submissions| open(submissions, ITEMS));
    until(&mut publisher, &mut hub, "all images", |hub| hub.images.len() == ITEMS);
    assert_eq!((hub.logins, hub.directories), (1, 1));

    let mut buffer = Vec::new();
    let head = UpdateHead::QUOTE;
    let len = encode_update(&mut buffer, Domain::MARKET_PRICE, &head, &bid(2)).expect("valid");
    publisher.with(|submissions| {
        for item in &items {
            assert_eq!(submissions.send(*item, &buffer[..len]).expect("sent"), Flow::Free);
        }
    });
    until(&mut publisher, &mut hub, "all updates", |hub| hub.updates == ITEMS);

    hub.images.clear();
    hub.reactor.close_all("test");
    let is_fresh = |hub: &Hub| {
        hub.images.len() == ITEMS && hub.images.values().all(|state| *state == DataState::OK)
    };
    until(&mut publisher, &mut hub, "all images, brought up to date", is_fresh);
    assert_eq!((hub.logins, hub.directories), (2, 2));

    let counts = publisher.counters();
    let counted = (counts.items, counts.connected, counts.lost, counts.updates);
    assert_eq!(counted, (ITEMS, 2, 1, ITEMS as u64));
    // The first ones, those of before the loss again, and the new ones.
    assert_eq!(counts.refreshes, 3 * ITEMS as u64);
}
