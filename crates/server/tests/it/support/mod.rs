//! A server core with a recorder behind it, and short ways to say what
//! consumers and hubs send.

mod recorder;
mod say;
mod show;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_backbone::repair::{Held, HeldFlags, Page, Wanted};
use tapeline_backbone::{BusEvent, FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_channel::{Sent, SessionId};
use tapeline_entitle::{LoginAnswer, LoginQuestion, Person, Policy, PolicyChange, Unidentified};
use tapeline_server::{AcceptAll, Event, Interpreter, JsonEvent, LoginPolicy, ServerConfig, When};
use tapeline_time::Time;

pub use recorder::{Bounds, Recorder};
pub use say::*;
pub use show::show;

/// The hub that most tests have.
pub const HUB: Incarnation = Incarnation(100);
/// Another hub.
pub const HUB_2: Incarnation = Incarnation(200);
/// This server, as hubs know it.
pub const SERVER: Incarnation = Incarnation(7);

/// With more items, mounts or posts the tables are not compared after every
/// event.
const MOST_CHECKED: usize = 100;

/// Whether the tables of a core agree, unless that takes long.
pub fn check(core: &Interpreter) {
    let it = core.statistics();
    if it.items.max(it.mounts).max(it.posts) <= MOST_CHECKED {
        core.check();
    }
}

/// A server, its mounts and its hubs.
pub struct World {
    pub core: Interpreter,
    pub out: Recorder,
    pub now: Time,
    /// Long work is left to do until [`work_off`](Self::work_off) is called.
    pub is_late: bool,
    next_session: u32,
}

impl World {
    /// A server with default settings, and nothing else.
    pub fn new() -> Self {
        Self::with(ServerConfig::default())
    }

    pub fn with(config: ServerConfig) -> Self {
        Self::with_policy(config, Box::new(AcceptAll))
    }

    pub fn with_policy(config: ServerConfig, policy: Box<dyn LoginPolicy>) -> Self {
        let core = Interpreter::new(config, policy);
        Self { core, out: Recorder::default(), now: Time::ZERO, is_late: false, next_session: 0 }
    }

    /// A server with the hub [`HUB`], whose service `FEED` is up.
    pub fn with_feed() -> Self {
        Self::feed_with(ServerConfig::default())
    }

    pub fn feed_with(config: ServerConfig) -> Self {
        let mut world = Self::with(config);
        world.hub_up(HUB);
        world.hub_directory(HUB, vec![service(1, "FEED", true)]);
        world.published();
        world
    }

    /// A policy is in force from now on, and everybody may have other rights.
    pub fn enforce(&mut self, policy: &str) {
        let policy = Policy::parse("policy.toml", policy).unwrap_or_else(|faults| {
            panic!("{}", faults.iter().map(ToString::to_string).collect::<String>())
        });
        // 2026-11-25.
        let unix_ms = 1_795_564_800_000;
        let change = PolicyChange { policy: Arc::new(policy), changed: None, unix_ms };
        self.handle(Event::Policy(&change));
    }

    /// An operator ends the logins of a user.
    pub fn log_out(&mut self, user: &str) -> usize {
        let count = self.core.log_out(user);
        if !self.is_late {
            self.work_off();
        }
        count
    }

    /// It is asked who logs in from now on.
    pub fn identify(&mut self) {
        self.core.identify_logins();
    }

    /// The questions about logins since the last time.
    pub fn asked(&mut self) -> Vec<LoginQuestion> {
        std::mem::take(&mut self.out.asked)
    }

    /// A question about a login is answered.
    pub fn answer_login(&mut self, number: u64, who: Result<Person, Unidentified>) {
        self.handle(Event::Identified(&LoginAnswer { number, who }));
    }

    /// What was written down of usage since the last time.
    pub fn usages(&mut self) -> Vec<String> {
        std::mem::take(&mut self.out.usages)
    }

    pub fn records(&mut self) -> Vec<String> {
        std::mem::take(&mut self.out.records)
    }

    /// A consumer connects and logs in as this user; the answer is left.
    pub fn log_in(&mut self, user: &str) -> SessionId {
        let session = self.connect();
        self.say(session, &login(1, user));
        session
    }

    pub fn handle(&mut self, event: Event<'_>) {
        self.core.handle(self.now, event, &mut self.out);
        check(&self.core);
        if !self.is_late {
            self.work_off();
        }
    }

    fn handle_json(&mut self, event: JsonEvent<'_>) {
        self.core.handle_json(self.now, event, &mut self.out);
        check(&self.core);
        if !self.is_late {
            self.work_off();
        }
    }

    /// Does what is due, a slice of what is left to do among it.
    pub fn handle_timeout(&mut self) {
        self.core.handle_timeout(self.now, &mut self.out);
        check(&self.core);
    }

    /// Does what is left to do of all that came.
    pub fn work_off(&mut self) {
        let mut slices = 0;
        let is_left = |it: tapeline_server::Statistics| it.backlog + it.mounts_draining > 0;
        while is_left(self.core.statistics()) {
            slices += 1;
            assert!(slices < 1_000_000, "it comes to no end");
            assert!(self.core.next_deadline().is_some_and(|deadline| deadline <= self.now));
            self.handle_timeout();
        }
    }

    /// Lets time go by, doing what becomes due.
    pub fn pass(&mut self, wait: Duration) {
        self.now = self.now.after(wait);
        if self.core.next_deadline().is_some_and(|deadline| deadline <= self.now) {
            self.handle_timeout();
            self.work_off();
        }
    }

    /// Lets as much time go by as a service may take to become known.
    pub fn settle(&mut self) {
        self.pass(Duration::from_secs(15));
    }

    /// A consumer connects.
    pub fn connect(&mut self) -> SessionId {
        self.connect_from([10, 0, 0, 1])
    }

    /// A consumer connects from an address.
    pub fn connect_from(&mut self, address: [u8; 4]) -> SessionId {
        let session = SessionId { index: self.next_session, generation: 1 };
        self.next_session += 1;
        let peer = SocketAddr::from((address, 1000));
        self.handle(Event::Opened { session, peer });
        session
    }

    /// A consumer connects whose session has this index and generation, and
    /// logs in.
    pub fn mount_as(&mut self, index: u32, generation: u32) -> SessionId {
        let session = SessionId { index, generation };
        let peer = SocketAddr::from(([10, 0, 0, 1], 1000));
        self.handle(Event::Opened { session, peer });
        self.say(session, &login(1, "user"));
        self.heard(session);
        session
    }

    /// A consumer connects that speaks JSON.
    pub fn connect_json(&mut self) -> SessionId {
        self.next_session += 1;
        self.connect_json_as(self.next_session - 1, 1)
    }

    /// A consumer connects that speaks JSON, with this index and generation.
    pub fn connect_json_as(&mut self, index: u32, generation: u32) -> SessionId {
        let session = SessionId { index, generation };
        let peer = SocketAddr::from(([10, 0, 0, 1], 1000));
        self.handle_json(JsonEvent::Opened { session, peer });
        session
    }

    /// A JSON mount that is logged in; the answer is taken off.
    pub fn mount_json(&mut self) -> SessionId {
        let session = self.connect_json();
        self.text(session, r#"{"ID":1,"Domain":"Login","Key":{"Name":"user"}}"#);
        let answer = self.heard_json(session);
        assert!(
            answer[0].starts_with(r#"{"ID":1,"Type":"Refresh","Domain":"Login""#),
            "{answer:?}"
        );
        assert_eq!(answer.len(), 1, "{answer:?}");
        session
    }

    /// The handshake of a JSON mount had cookies.
    pub fn cookies(&mut self, session: SessionId, cookies: &str) {
        self.handle_json(JsonEvent::Cookies { session, cookies });
    }

    /// A JSON mount sends a frame.
    pub fn text(&mut self, session: SessionId, text: &str) {
        self.handle_json(JsonEvent::Frame { session, text });
    }

    /// What a JSON mount got since the last time. Each is one JSON object.
    pub fn heard_json(&mut self, session: SessionId) -> Vec<String> {
        let texts = std::mem::take(&mut self.out.texts);
        let (own, others): (Vec<_>, _) = texts.into_iter().partition(|(to, ..)| *to == session);
        self.out.texts = others;
        own.into_iter()
            .map(|(_, text, _)| {
                let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
                assert!(value.is_object(), "{text}");
                text
            })
            .collect()
    }

    /// A consumer connects and logs in; the answer is taken off.
    pub fn mount(&mut self) -> SessionId {
        let session = self.connect();
        self.say(session, &login(1, "user"));
        let answer = self.heard(session);
        assert_eq!(answer.len(), 1, "{answer:?}");
        assert!(answer[0].starts_with("REFRESH 1 LOGIN"), "{answer:?}");
        session
    }

    /// A consumer sends a message.
    pub fn say(&mut self, session: SessionId, bytes: &[u8]) {
        self.handle(Event::Message { session, bytes });
    }

    /// A message of a consumer that begins so is longer than is taken.
    pub fn too_long(&mut self, session: SessionId, head: &[u8]) {
        self.handle(Event::TooLong { session, head, length: 7_000_000, max: 6 << 20 });
    }

    pub fn disconnect(&mut self, session: SessionId) {
        self.handle(Event::Closed { session });
    }

    /// The output of a session has drained, and all that waits for it is worked
    /// off.
    pub fn drain(&mut self, session: SessionId) {
        self.out.answers.remove(&session);
        self.drained(session);
        self.work_off();
    }

    /// The output of a session has drained.
    pub fn drained(&mut self, session: SessionId) {
        self.handle(Event::Drained { session });
    }

    /// So many messages may wait for a session from now on.
    pub fn bound(&mut self, session: SessionId, breach: usize, max: usize) {
        let bounds = Bounds { breach, max, waiting: 0, is_slow: false };
        self.out.bounds.insert(session, bounds);
    }

    /// A session with bounds reads all that waits for it, and what it is sent
    /// thereupon until it is slow again: printed.
    pub fn read(&mut self, session: SessionId) -> Vec<String> {
        self.read_into(session);
        self.heard(session)
    }

    /// The same, for who looks at it otherwise.
    pub fn read_into(&mut self, session: SessionId) {
        let bounds = self.out.bounds.get_mut(&session).expect("a session with bounds");
        bounds.waiting = 0;
        if std::mem::take(&mut bounds.is_slow) {
            self.drained(session);
        }
        self.work_off();
    }

    /// A session with bounds reads until nothing comes any more.
    pub fn read_all(&mut self, session: SessionId) -> Vec<String> {
        let mut all = self.heard(session);
        loop {
            let heard = self.read(session);
            if heard.is_empty() {
                return all;
            }
            all.extend(heard);
        }
    }

    /// Sending to a session answers this from now on.
    pub fn answer(&mut self, session: SessionId, sent: Sent) {
        self.out.answers.insert(session, sent);
    }

    /// What a consumer got since the last time, printed.
    pub fn heard(&mut self, session: SessionId) -> Vec<String> {
        self.heard_bytes(session).iter().map(|bytes| show(bytes)).collect()
    }

    pub fn heard_bytes(&mut self, session: SessionId) -> Vec<Vec<u8>> {
        let sent = std::mem::take(&mut self.out.sent);
        let (own, others) = sent.into_iter().partition(|(to, _)| *to == session);
        self.out.sent = others;
        let own: Vec<(SessionId, Vec<u8>)> = own;
        own.into_iter().map(|(_, bytes)| bytes).collect()
    }

    /// What was published since the last time: kind, target, item and body.
    pub fn published(&mut self) -> Vec<String> {
        std::mem::take(&mut self.out.published)
            .iter()
            .map(|(header, body)| {
                let shown = match header.kind {
                    Kind::Open | Kind::Reissue | Kind::Generic => format!(" {}", show(body)),
                    Kind::Post => {
                        let (reference, post) = body.split_at(4);
                        let reference = u32::from_le_bytes(reference.try_into().expect("four"));
                        format!(" {} {}", reference as i32, show(post))
                    }
                    Kind::Wanted => format!(" {}", wanted(body)),
                    _ => String::new(),
                };
                format!("{:?} {} {}{shown}", header.kind, header.target.0, header.item)
            })
            .collect()
    }

    pub fn hub_up(&mut self, hub: Incarnation) {
        self.handle(Event::Bus(BusEvent::PeerUp { peer: hub, name: "hub" }));
    }

    pub fn hub_down(&mut self, hub: Incarnation) {
        self.handle(Event::Bus(BusEvent::PeerDown { peer: hub }));
    }

    pub fn gap(&mut self, hub: Incarnation) {
        self.handle(Event::Bus(BusEvent::Gap { peer: hub, name: "", lost: 1 }));
    }

    /// A frame of a hub.
    pub fn frame(&mut self, header: FrameHeader, body: &[u8]) {
        self.handle(Event::Bus(BusEvent::Frame { header, body }));
    }

    /// A frame for this server alone. One that answers a request answers the
    /// last one with its number.
    pub fn frame_to_us(&mut self, hub: Incarnation, kind: Kind, item: u32, body: &[u8]) {
        let request = match kind {
            Kind::Accept => body.first_chunk().map(|bytes| u32::from_le_bytes(*bytes)),
            Kind::Refuse | Kind::Defer => Some(item),
            _ => None,
        };
        let serial = request.and_then(|request| self.out.serials.get(&request)).copied();
        self.answer_to(hub, kind, item, (serial.unwrap_or(0), body));
    }

    /// The answer to the request with a serial.
    pub fn answer_to(
        &mut self,
        hub: Incarnation,
        kind: Kind,
        item: u32,
        (serial, body): (u32, &[u8]),
    ) {
        let mut header = FrameHeader::new(kind, SERVER, item);
        (header.sender, header.item_seq) = (hub, serial);
        self.frame(header, body);
    }

    /// The hub's directory, whole.
    pub fn hub_directory(
        &mut self,
        hub: Incarnation,
        services: Vec<tapeline_omm::directory::ServiceEntry>,
    ) {
        self.frame_to_us(hub, Kind::Directory, 1, &directory_refresh(services));
    }

    /// A change of the hub's directory.
    pub fn hub_update(
        &mut self,
        hub: Incarnation,
        services: Vec<tapeline_omm::directory::ServiceEntry>,
    ) {
        self.frame_to_us(hub, Kind::Directory, 1, &directory_update(services));
    }

    /// The hub accepts the request `reference` as its item.
    pub fn accept(&mut self, hub: Incarnation, item: u32, reference: u32) {
        self.frame_to_us(hub, Kind::Accept, item, &reference.to_le_bytes());
    }

    /// A hub's only page of what it holds for this server.
    pub fn held(&mut self, hub: Incarnation, round: u32, as_of: u32, entries: &[Held]) {
        let mut body = Vec::new();
        Page { from: 0, to: u32::MAX, as_of }.write(&mut body);
        for entry in entries {
            entry.write(&mut body);
        }
        let mut header = FrameHeader::new(Kind::Held, SERVER, round);
        (header.sender, header.flags) = (hub, FrameFlags::LAST);
        self.frame(header, &body);
    }

    /// A message of an item for all servers.
    pub fn item(&mut self, hub: Incarnation, item: u32, seq: u32, body: &[u8]) {
        self.item_with(hub, item, seq, FrameFlags::empty(), body);
    }

    /// Updates of items of a hub, which wait to be copied by mount.
    pub fn in_a_busy_turn(&mut self, hub: Incarnation, updates: &[(u32, u32, &[u8])]) {
        self.out.credit_bytes = 4_096;
        self.core.copy_by_mount(When::Always);
        self.core.gather();
        for (item, seq, body) in updates {
            let mut header = FrameHeader::new(Kind::Item, Incarnation::ALL, *item);
            (header.sender, header.item_seq) = (hub, *seq);
            self.frame(header, body);
        }
        self.core.spread(&mut self.out);
        self.out.credit_bytes = 0;
        check(&self.core);
    }

    pub fn item_with(
        &mut self,
        hub: Incarnation,
        item: u32,
        seq: u32,
        flags: FrameFlags,
        body: &[u8],
    ) {
        let mut header = FrameHeader::new(Kind::Item, Incarnation::ALL, item);
        (header.sender, header.item_seq, header.flags) = (hub, seq, flags);
        self.frame(header, body);
    }

    /// A message of an item for this server alone.
    pub fn item_to_us(&mut self, hub: Incarnation, item: u32, seq: u32, body: &[u8]) {
        let mut header = FrameHeader::new(Kind::Item, SERVER, item);
        (header.sender, header.item_seq) = (hub, seq);
        self.frame(header, body);
    }

    /// An item open on a stream of a mount: asked for, accepted as the hub's
    /// item `item`, and its first image sent.
    pub fn open_item(&mut self, session: SessionId, stream_id: i32, name: &str, item: u32) {
        self.say(session, &request(stream_id, name));
        let opens: Vec<_> = self.out.published.drain(..).map(|(header, _)| header).collect();
        let [open] = opens[..] else { panic!("one request: {opens:?}") };
        self.accept(HUB, item, open.item);
        self.item(HUB, item, 1, &image(&[(22, 100), (25, 101)]));
        let heard = self.heard(session);
        assert_eq!(heard.len(), 1, "{heard:?}");
    }
}

/// A request that a hub holds, accepted and with its image.
pub const fn live(request: u32, serial: u32, item: u32, item_seq: u32) -> Held {
    Held { request, serial, item, item_seq, flags: HeldFlags::ACCEPTED.union(HeldFlags::LIVE) }
}

/// A page of what the server wants: its range, and each request with its serial.
fn wanted(body: &[u8]) -> String {
    let (page, entries) = Page::read(body).expect("a page");
    let entries: Vec<_> = Wanted::entries(entries)
        .map(|it| {
            format!("{}#{}{}", it.request, it.serial, if it.flags.is_empty() { "" } else { "!" })
        })
        .collect();
    let to = if page.to == u32::MAX { String::new() } else { page.to.to_string() };
    format!("{}..{to} {}", page.from, entries.join(" "))
}
