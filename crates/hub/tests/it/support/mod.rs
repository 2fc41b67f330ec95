//! A hub's core between fake providers and fake servers. What comes out is
//! told in one line each, so that a scenario reads as a conversation.

pub(crate) mod lines;
pub(crate) mod provider;

use std::time::Duration;

use tapeline_backbone::{BusEvent, FrameFlags, FrameHeader, Incarnation, Kind, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_entitle::LoginQuestion;
use tapeline_hub::{Core, Event, HubConfig, Outputs, Route};
use tapeline_omm::directory::ConsumerStatus;
use tapeline_rwf::{Domain, Encoder, Msg, MsgKey, RequestFlags, RequestMsg};
use tapeline_time::Time;

/// Everything that a core did.
#[derive(Default)]
pub(crate) struct Recorder {
    pub(crate) sent: Vec<(SessionId, Vec<u8>)>,
    pub(crate) frames: Vec<(FrameHeader, Vec<u8>)>,
    pub(crate) connects: Vec<usize>,
    pub(crate) closed: Vec<(SessionId, String)>,
    pub(crate) admitted: Vec<SessionId>,
    pub(crate) warned: Vec<(SessionId, String)>,
    /// Who logs in, where that is asked.
    pub(crate) asked: Vec<LoginQuestion>,
    /// What sending answers.
    pub(crate) answer: Option<Sent>,
    /// Whether the backbone has more waiting than it should.
    pub(crate) is_congested: bool,
    /// How much of the queue to the backbone is full.
    pub(crate) queue_percent: u8,
}

impl Outputs for Recorder {
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent {
        self.sent.push((session, message.to_vec()));
        self.answer.unwrap_or(Sent::Queued)
    }

    fn connect(&mut self, route: usize) {
        self.connects.push(route);
    }

    fn admit(&mut self, session: SessionId) {
        self.admitted.push(session);
    }

    fn ask_login(&mut self, question: LoginQuestion) -> bool {
        self.asked.push(question);
        true
    }

    fn close(&mut self, session: SessionId, reason: &str) {
        self.closed.push((session, reason.to_owned()));
    }

    fn warn(&mut self, session: SessionId, what: &str) {
        self.warned.push((session, what.to_owned()));
    }

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        self.frames.push((header, parts.concat()));
        Published::Sent
    }

    fn is_congested(&self) -> bool {
        self.is_congested
    }

    fn queue_percent(&self) -> u8 {
        self.queue_percent
    }
}

/// The servers of scenarios.
/// Above so many items the tables are not compared after every event.
const MOST_CHECKED: u64 = 100;

pub(crate) const A: Incarnation = Incarnation(0xA);
pub(crate) const B: Incarnation = Incarnation(0xB);

/// A core, a clock, and what came out.
pub(crate) struct World {
    pub(crate) core: Core,
    pub(crate) out: Recorder,
    pub(crate) now: Time,
    sessions: u32,
}

/// A configuration with this many routes.
pub(crate) fn config(routes: usize) -> HubConfig {
    let mut config = HubConfig::named("hub");
    config.routes = (0..routes).map(|i| Route::to(format!("source-{i}"), 14_002)).collect();
    config
}

impl World {
    /// A hub that has just started: its routes are to be connected.
    pub(crate) fn new(config: HubConfig) -> Self {
        let mut world = Self {
            core: Core::new(config),
            out: Recorder::default(),
            now: Time::ZERO.after(Duration::from_secs(1)),
            sessions: 0,
        };
        world.core.handle_timeout(world.now, &mut world.out);
        world
    }

    /// A hub with one server and with sources that have logged in and offer
    /// the service FEED; everything said so far is forgotten.
    pub(crate) fn with_sources(config: HubConfig) -> (Self, Vec<SessionId>) {
        let routes = config.routes.len();
        let mut world = Self::new(config);
        world.server_up(A);
        let sources = (0..routes).map(|route| world.source_up(route)).collect();
        world.forget();
        (world, sources)
    }

    pub(crate) fn forget(&mut self) {
        let Recorder { answer, is_congested, queue_percent, .. } = self.out;
        self.out = Recorder { answer, is_congested, queue_percent, ..Recorder::default() };
    }

    /// Whether the tables of the core agree, unless that takes long.
    fn check(&self) {
        if self.core.counters().items <= MOST_CHECKED {
            self.core.check();
        }
    }

    pub(crate) fn event(&mut self, event: Event<'_>) {
        self.core.handle(self.now, event, &mut self.out);
        self.check();
    }

    /// Lets time pass, with all timers on the way.
    pub(crate) fn pass(&mut self, ms: u64) {
        let end = self.now.after(Duration::from_millis(ms));
        while let Some(deadline) = self.core.next_deadline()
            && deadline <= end
        {
            self.now = self.now.max(deadline);
            self.core.handle_timeout(self.now, &mut self.out);
            self.check();
        }
        self.now = end;
    }

    pub(crate) fn session(&mut self) -> SessionId {
        self.sessions += 1;
        SessionId { index: self.sessions, generation: 1 }
    }

    // The side of the providers.

    /// A route's connection is there.
    pub(crate) fn route_opened(&mut self, route: usize) -> SessionId {
        let session = self.session();
        self.event(Event::RouteOpened { route, session });
        session
    }

    /// A route's provider comes up and offers FEED.
    pub(crate) fn source_up(&mut self, route: usize) -> SessionId {
        let session = self.route_opened(route);
        self.says(session, &provider::login_accepted());
        self.says(session, &provider::directory(&[provider::feed(1)]));
        session
    }

    /// A provider sends a message.
    pub(crate) fn says(&mut self, session: SessionId, bytes: &[u8]) {
        self.event(Event::Message { session, bytes });
    }

    pub(crate) fn closed(&mut self, session: SessionId) {
        self.event(Event::Closed { session });
    }

    /// What a provider was sent since the last look, a line each.
    pub(crate) fn heard_by(&mut self, session: SessionId) -> Vec<String> {
        let (its, others) = std::mem::take(&mut self.out.sent)
            .into_iter()
            .partition::<Vec<_>, _>(|(to, _)| *to == session);
        self.out.sent = others;
        its.iter().map(|(_, bytes)| lines::message(bytes)).collect()
    }

    /// What a source was told that it is, of mirrored ones; all else that it was
    /// sent is forgotten.
    pub(crate) fn modes_heard_by(&mut self, session: SessionId) -> Vec<u64> {
        let (its, others) = std::mem::take(&mut self.out.sent)
            .into_iter()
            .partition::<Vec<_>, _>(|(to, _)| *to == session);
        self.out.sent = others;
        let mode = |bytes: &[u8]| {
            let Ok(Msg::Generic(generic)) = Msg::decode(bytes) else { return None };
            let status = ConsumerStatus::decode(&generic).expect("a consumer status");
            let [entry] = status.entries[..] else { panic!("one service: {status:?}") };
            entry.source_mirroring.map(u64::from)
        };
        its.iter().filter_map(|(_, bytes)| mode(bytes)).collect()
    }

    // The side of the servers.

    pub(crate) fn server_up(&mut self, peer: Incarnation) {
        self.event(Event::Bus(BusEvent::PeerUp { peer, name: "server" }));
    }

    pub(crate) fn server_down(&mut self, peer: Incarnation) {
        self.event(Event::Bus(BusEvent::PeerDown { peer }));
    }

    pub(crate) fn frame(
        &mut self,
        from: Incarnation,
        kind: Kind,
        item: u32,
        flags: FrameFlags,
        body: &[u8],
    ) {
        let mut header = FrameHeader::new(kind, Incarnation(1), item);
        header.sender = from;
        header.flags = flags;
        self.event(Event::Bus(BusEvent::Frame { header, body }));
    }

    /// A server asks for an item with a request of its making.
    pub(crate) fn open_with(&mut self, from: Incarnation, request: u32, msg: &RequestMsg<'_>) {
        let bytes = encode(&(*msg).into());
        self.frame(from, Kind::Open, request, FrameFlags::empty(), &bytes);
    }

    /// A server asks for a streaming item of FEED.
    pub(crate) fn open(&mut self, from: Incarnation, request: u32, name: &str) {
        self.open_with(from, request, &item_request(1, name));
    }

    pub(crate) fn snapshot(&mut self, from: Incarnation, request: u32, name: &str) {
        let msg = RequestMsg { flags: RequestFlags::empty(), ..item_request(1, name) };
        self.open_with(from, request, &msg);
    }

    pub(crate) fn close(&mut self, from: Incarnation, request: u32) {
        self.frame(from, Kind::Close, request, FrameFlags::empty(), &[]);
    }

    pub(crate) fn reissue(&mut self, from: Incarnation, request: u32, msg: &RequestMsg<'_>) {
        let bytes = encode(&(*msg).into());
        self.frame(from, Kind::Reissue, request, FrameFlags::empty(), &bytes);
    }

    /// The frames since the last look, a line each.
    pub(crate) fn frames(&mut self) -> Vec<String> {
        let frames = std::mem::take(&mut self.out.frames);
        frames.iter().map(|(header, body)| lines::frame(header, body)).collect()
    }

    /// The item of the last `Accept`.
    pub(crate) fn accepted(&self) -> u32 {
        let is_accept = |(header, _): &&(FrameHeader, Vec<u8>)| header.kind == Kind::Accept;
        self.out.frames.iter().rev().find(is_accept).expect("something was accepted").0.item
    }
}

/// A streaming request for a market price.
pub(crate) fn item_request(service: u16, name: &str) -> RequestMsg<'_> {
    RequestMsg {
        flags: RequestFlags::STREAMING,
        key: MsgKey::item(service, name),
        ..RequestMsg::new(Domain::MARKET_PRICE, 5)
    }
}

pub(crate) fn encode(msg: &Msg<'_>) -> Vec<u8> {
    let mut buffer = vec![0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    encoder.message(msg).expect("the message can be written");
    let len = encoder.finish().expect("the buffer is large enough");
    buffer.truncate(len);
    buffer
}
