//! A server and a hub, core against core: what both take for one item is one
//! item, whatever a service says of its quality from one time to the next.

use std::collections::VecDeque;
use std::net::SocketAddr;

use tapeline_backbone::{BusEvent, FrameHeader, Incarnation, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_hub::{HubConfig, Route};
use tapeline_omm::directory::{
    DirectoryFilter, DirectoryRefresh, DirectoryUpdate, FilterContent, FilterEntry, ServiceEntry,
    ServiceInfo, ServiceState,
};
use tapeline_omm::login::{LoginRefresh, LoginRequest};
use tapeline_rwf::{
    Domain, EncodeError, Encoder, Msg, MsgKey, Qos, RefreshFlags, RefreshMsg, RequestFlags,
    RequestMsg, State,
};
use tapeline_server::{AcceptAll, ServerConfig};
use tapeline_time::Time;

const HUB: Incarnation = Incarnation(100);
const SERVER: Incarnation = Incarnation(7);
/// The connection to the provider.
const PROVIDER: SessionId = SessionId { index: 0, generation: 1 };
/// The first stream of an item at the provider.
const FIRST_ITEM: i32 = 3;

/// What one side sends: messages to sessions, and frames with their bodies.
#[derive(Default)]
struct Sends {
    messages: Vec<Vec<u8>>,
    frames: VecDeque<(FrameHeader, Vec<u8>)>,
}

impl Sends {
    fn message(&mut self, message: &[u8]) -> Sent {
        self.messages.push(message.to_vec());
        Sent::Queued
    }

    fn frame(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        self.frames.push_back((header, parts.concat()));
        Published::Sent
    }
}

impl tapeline_hub::Outputs for Sends {
    fn send(&mut self, _: SessionId, message: &[u8]) -> Sent {
        self.message(message)
    }

    fn connect(&mut self, _: usize) {}

    fn close(&mut self, _: SessionId, reason: &str) {
        panic!("the provider is closed: {reason}");
    }

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        self.frame(header, parts)
    }
}

impl tapeline_server::Outputs for Sends {
    fn send(&mut self, _: SessionId, message: &[u8]) -> Sent {
        self.message(message)
    }

    fn send_on(&mut self, session: SessionId, _: i32, message: &[u8]) -> Sent {
        tapeline_server::Outputs::send(self, session, message)
    }

    fn close(&mut self, _: SessionId, reason: &str) {
        panic!("the mount is closed: {reason}");
    }

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        self.frame(header, parts)
    }
}

struct System {
    hub: tapeline_hub::Core,
    server: tapeline_server::Interpreter,
    /// Of the hub.
    from_hub: Sends,
    /// Of the server.
    from_server: Sends,
}

impl System {
    /// A provider whose service FEED has this quality, a hub, and a server.
    fn with_quality(quality: Qos) -> Self {
        let config =
            HubConfig { routes: vec![Route::to("source", 14_002)], ..HubConfig::named("hub") };
        let mut system = Self {
            hub: tapeline_hub::Core::new(config),
            server: tapeline_server::Interpreter::new(ServerConfig::default(), Box::new(AcceptAll)),
            from_hub: Sends::default(),
            from_server: Sends::default(),
        };
        system.hub.handle_timeout(Time::ZERO, &mut system.from_hub);
        system
            .tell_hub(tapeline_hub::Event::Bus(BusEvent::PeerUp { peer: SERVER, name: "server" }));
        system
            .tell_server(tapeline_server::Event::Bus(BusEvent::PeerUp { peer: HUB, name: "hub" }));
        system.tell_hub(tapeline_hub::Event::RouteOpened { route: 0, session: PROVIDER });
        let welcome = LoginRefresh::accept(&LoginRequest::new(1, "tapeline"), "welcome");
        system.provider_says(&written(|encoder| welcome.encode(encoder)));
        let service = ServiceEntry::add(
            1,
            vec![
                FilterEntry::set(FilterContent::Info(info(quality))),
                FilterEntry::set(FilterContent::State(ServiceState::new(true, true))),
            ],
        );
        let directory = DirectoryRefresh {
            stream_id: 2,
            solicited: true,
            clear_cache: true,
            state: State::open_ok("").into(),
            filter: DirectoryFilter::USUAL,
            service_id: None,
            services: vec![service],
        };
        system.provider_says(&written(|encoder| directory.encode(encoder)));
        system
    }

    fn tell_hub(&mut self, event: tapeline_hub::Event<'_>) {
        self.hub.handle(Time::ZERO, event, &mut self.from_hub);
        self.exchange();
    }

    fn tell_server(&mut self, event: tapeline_server::Event<'_>) {
        self.server.handle(Time::ZERO, event, &mut self.from_server);
        self.exchange();
    }

    /// Carries frames between the two until neither has anything to say.
    fn exchange(&mut self) {
        for _ in 0..1_000 {
            if let Some((mut header, body)) = self.from_hub.frames.pop_front() {
                header.sender = HUB;
                let event = BusEvent::Frame { header, body: &body };
                let event = tapeline_server::Event::Bus(event);
                self.server.handle(Time::ZERO, event, &mut self.from_server);
            } else if let Some((mut header, body)) = self.from_server.frames.pop_front() {
                header.sender = SERVER;
                let event = tapeline_hub::Event::Bus(BusEvent::Frame { header, body: &body });
                self.hub.handle(Time::ZERO, event, &mut self.from_hub);
            } else {
                return;
            }
        }
        panic!("hub and server come to no end: {:?}", self.from_server.frames);
    }

    fn provider_says(&mut self, bytes: &[u8]) {
        self.tell_hub(tapeline_hub::Event::Message { session: PROVIDER, bytes });
    }

    /// The provider says that its service has this quality from now on.
    fn change_quality(&mut self, quality: Qos) {
        let filter = FilterEntry::update(FilterContent::Info(info(quality)));
        let update = DirectoryUpdate::new(2, vec![ServiceEntry::update(1, vec![filter])]);
        self.provider_says(&written(|encoder| update.encode(encoder)));
    }

    /// A consumer connects and logs in.
    fn mount(&mut self, index: u32) -> SessionId {
        let session = SessionId { index, generation: 1 };
        let peer = SocketAddr::from(([10, 0, 0, 1], 1000));
        self.tell_server(tapeline_server::Event::Opened { session, peer });
        let login = LoginRequest::new(1, "user");
        self.consumer_says(session, &written(|encoder| login.encode(encoder)));
        session
    }

    fn consumer_says(&mut self, session: SessionId, bytes: &[u8]) {
        self.tell_server(tapeline_server::Event::Message { session, bytes });
    }

    fn open(&mut self, session: SessionId, stream_id: i32) {
        let request = RequestMsg {
            flags: RequestFlags::STREAMING,
            key: MsgKey::item(1, "TRI.N"),
            ..RequestMsg::new(Domain::MARKET_PRICE, stream_id)
        };
        self.consumer_says(session, &message(&request.into()));
    }

    /// How many images consumers got.
    fn images(&self) -> usize {
        let messages = self.from_server.messages.iter().map(|bytes| Msg::decode(bytes));
        messages.filter(|msg| is_image(msg.as_ref().expect("a message"))).count()
    }
}

fn written(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 1 << 12];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("it can be written");
    let len = encoder.finish().expect("room");
    buffer.truncate(len);
    buffer
}

fn is_image(msg: &Msg<'_>) -> bool {
    matches!(msg, Msg::Refresh(refresh) if refresh.domain == Domain::MARKET_PRICE)
}

fn message(msg: &Msg<'_>) -> Vec<u8> {
    written(|encoder| encoder.message(msg))
}

fn info(quality: Qos) -> ServiceInfo {
    ServiceInfo {
        name: Some("FEED".into()),
        capabilities: Some(vec![Domain::MARKET_PRICE]),
        qos: Some(vec![quality]),
        ..ServiceInfo::default()
    }
}

/// A provider that says of its quality that it may change, and later that it
/// does not, has the same item all the same. A server that took it for two had
/// each of them taken away by the other, without end.
#[test]
fn an_item_is_one_whether_or_not_its_quality_may_change() {
    let fixed = Qos::REALTIME_TICK_BY_TICK;
    let dynamic = Qos { dynamic: true, ..fixed };
    for (before, after) in [(dynamic, fixed), (fixed, dynamic)] {
        let mut system = System::with_quality(before);
        let (first, second) = (system.mount(0), system.mount(1));
        system.open(first, 5);
        let image = RefreshMsg {
            flags: RefreshFlags::SOLICITED | RefreshFlags::REFRESH_COMPLETE,
            state: State::open_ok("All is well"),
            qos: Some(before),
            ..RefreshMsg::new(Domain::MARKET_PRICE, FIRST_ITEM)
        };
        system.provider_says(&message(&image.into()));
        assert_eq!(system.images(), 1);
        system.change_quality(after);
        system.open(second, 6);
        assert_eq!(system.server.statistics().items, 1);
        assert_eq!(system.hub.counters().opens, 1, "the server has it already");
        assert_eq!(system.images(), 2);
    }
}
