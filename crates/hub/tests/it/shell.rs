//! The whole hub: real sockets to a provider on this machine, a backbone in
//! memory.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::support::{self, item_request, lines, provider};
use tapeline_backbone::sim::{Network, SimPort};
use tapeline_backbone::{Bus, BusEvent, FrameHeader, Incarnation, Kind, PortSettings, Role};
use tapeline_channel::{
    ConnectConfig, ListenConfig, Reactor, ReactorConfig, SessionEvent, SessionId,
};
use tapeline_hub::{Hub, HubConfig, HubError, Route};
use tapeline_time::MonotonicClock;

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Turns everything until a condition holds.
struct Machine {
    clock: MonotonicClock,
    hub: Hub<SimPort>,
    server: SimPort,
    hub_id: Option<Incarnation>,
    frames: Vec<String>,
    provider: Reactor,
    session: Option<SessionId>,
    /// What the provider was sent.
    heard: Vec<String>,
    closed: usize,
}

impl Machine {
    fn new(config: HubConfig, provider: Reactor) -> Self {
        let network = Network::new(1);
        let port = |role, id| {
            let settings =
                PortSettings { incarnation: Incarnation(id), ..PortSettings::new(role, "peer") };
            network.port(settings)
        };
        let server = port(Role::Server, 2);
        let hub = Hub::new(config, port(Role::Hub, 1)).expect("a hub");
        Self {
            clock: MonotonicClock::start(),
            hub,
            server,
            hub_id: None,
            frames: Vec::new(),
            provider,
            session: None,
            heard: Vec::new(),
            closed: 0,
        }
    }

    fn turn(&mut self) {
        let now = self.clock.now();
        let Self { hub, server, hub_id, frames, provider, session, heard, closed, .. } = self;
        hub.duty_cycle(now);
        server.poll(now, 100, |event, _| match event {
            BusEvent::PeerUp { peer, .. } => *hub_id = Some(peer),
            BusEvent::Frame { header, body } => frames.push(lines::frame(&header, body)),
            BusEvent::PeerDown { .. } => *hub_id = None,
            BusEvent::Gap { .. } => frames.push("gap".to_owned()),
        });
        server.work(now);
        provider.poll(now, Some(Duration::from_millis(1)), |event, _| match event {
            SessionEvent::Opened { session: opened, .. } => *session = Some(opened),
            SessionEvent::Message { bytes, .. } => heard.push(lines::message(bytes)),
            SessionEvent::Closed { .. } => *closed += 1,
            _ => {}
        });
    }

    fn until(&mut self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let start = self.clock.now();
        while !holds(self) {
            self.turn();
            let waited = self.clock.now().since(start);
            assert!(
                waited < Duration::from_secs(20),
                "{what}: {:?}, {:?}",
                self.heard,
                self.frames
            );
        }
    }

    fn says(&mut self, bytes: &[u8]) {
        let session = self.session.expect("connected");
        assert_eq!(self.provider.outbox().send(session, bytes), tapeline_channel::Sent::Queued);
    }

    fn open(&mut self, request: u32, name: &str) {
        let body = support::encode(&item_request(1, name).into());
        let hub = self.hub_id.expect("the hub is up");
        let _ = self.server.publish(FrameHeader::new(Kind::Open, hub, request), &[&body]);
    }
}

fn listening() -> (Reactor, u16) {
    let mut reactor = Reactor::new(ReactorConfig::default()).expect("sockets");
    let listener = reactor.listen(ANY_PORT, &ListenConfig::default()).expect("a free port");
    let port = reactor.local_addr(listener).expect("it listens").port();
    (reactor, port)
}

#[test]
fn an_item_comes_from_an_interactive_provider_over_real_sockets() {
    let (provider, port) = listening();
    let mut config = HubConfig::named("hub");
    // The first endpoint is nobody's: the route goes on to the second.
    let mut route = Route::to("127.0.0.1", 1);
    route.endpoints.push(tapeline_hub::Endpoint { host: "127.0.0.1".to_owned(), port });
    config.routes = vec![route];
    let mut machine = Machine::new(config, provider);
    machine.until("login", |m| m.heard.len() == 1);
    machine.says(&provider::login_accepted());
    machine.until("directory request", |m| m.heard.len() == 2);
    machine.says(&provider::directory(&[provider::feed(1)]));
    machine.until("directory", |m| {
        m.frames.iter().any(|frame| frame.ends_with("directory change: 1 FEED up"))
    });
    machine.frames.clear();
    machine.open(7, "TRI.N");
    machine.until("request", |m| m.heard.len() == 3);
    machine.says(&provider::refresh(3, "TRI.N"));
    for bid in 0..100 {
        machine.says(&provider::update(3, bid));
    }
    machine.until("updates", |m| m.frames.len() >= 102);
    assert_eq!(machine.heard[2], "Request 3 1:TRI.N streaming");
    assert_eq!(machine.frames[0], "2 accept 7 as item 0");
    assert!(machine.frames[1].starts_with("all #1 image Refresh"));
    assert!(machine.frames[101].starts_with("all #101 Update 0"));
    let now = machine.clock.now();
    machine.hub.shutdown(now);
    machine.until("goodbye", |m| m.closed == 1 && m.hub_id.is_none());
    machine.until("all sockets closed", |m| m.hub.session_count() == 0);
}

#[test]
fn a_provider_that_connects_publishes_over_real_sockets() {
    let mut config = HubConfig::named("hub");
    config.ni_listen = Some(ANY_PORT);
    let mut machine =
        Machine::new(config, Reactor::new(ReactorConfig::default()).expect("sockets"));
    let port = machine.hub.listening()[0].port();
    machine.provider.connect("127.0.0.1", port, &ConnectConfig::default());
    machine.until("connection", |m| m.session.is_some() && m.hub_id.is_some());
    machine.says(&provider::provider_login());
    machine.until("login", |m| m.heard.len() == 1);
    machine.says(&provider::directory_on(0, &[provider::feed(1)]));
    machine.says(&provider::refresh(-1, "TRI.N"));
    machine.until("directory", |m| m.hub.counters().items == 1);
    machine.open(0, "TRI.N");
    machine.until("image", |m| m.frames.iter().any(|frame| frame.contains("image")));
}

#[test]
fn a_route_to_nowhere_is_an_error_that_names_it() {
    let network = Network::new(1);
    let port = network.port(PortSettings::new(Role::Hub, "hub"));
    let mut config = HubConfig::named("hub");
    config.routes = vec![Route { endpoints: Vec::new(), ..Route::to("feed", 1) }];
    let error = Hub::new(config, port).expect_err("no endpoint");
    assert!(matches!(error, HubError::NoEndpoint { .. }));
    assert_eq!(
        error.to_string(),
        "route \"feed\" has no endpoint; give it at least one host and port"
    );
}
