//! The whole loop on sockets: a client's orders by TCP, market data by UDP over lines
//! that lose some, feed handler, hub, server, and a consumer. At rest its books are
//! the engine's.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tapeline_api::{Consumer, Login, Publisher, PublisherConfig, Server, ServiceSpec};
use tapeline_exchange::{
    Door, ExchangeConfig, FeedConfig, FeedHandler, FeedSockets, Feeding, Line, Venue, VenueConfig,
};
use tapeline_instrument::{Session, Side};
use tapeline_matching::BookId;
use tapeline_node::Node;
use tapeline_ntg::{Initiator, Limits, Message};
use tapeline_omm::market::fid;
use tapeline_rwf::{DataState, Domain};
use tapeline_time::{MonotonicClock, Time};

use crate::processes::{PROGRAM, Running, own_address};
use crate::recorded_orders::{self, Asking};
use crate::recording;
use crate::support::{EPOCH_NS, config, new, order};
use crate::watching::{SERVICE, Watching, consumer, node};

/// However busy the machine is, what is waited for has come by then.
const PATIENCE: Duration = Duration::from_secs(60);

/// Between the exchange and a feed handler: loses datagrams of either line.
struct Lossy {
    from: [UdpSocket; 2],
    to: [SocketAddr; 2],
    percent: u64,
    random: u64,
    lost: usize,
}

impl Lossy {
    fn new(percent: u64) -> Self {
        let socket = || {
            let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            socket.set_nonblocking(true).expect("a socket");
            socket
        };
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
        Self { from: [socket(), socket()], to: [nowhere; 2], percent, random: 1, lost: 0 }
    }

    fn lines(&self) -> Vec<Line> {
        let line = |socket: &UdpSocket| match socket.local_addr().expect("bound") {
            SocketAddr::V4(to) => Line { to, interface: Ipv4Addr::UNSPECIFIED, ttl: 1 },
            SocketAddr::V6(_) => unreachable!(),
        };
        self.from.iter().map(line).collect()
    }

    fn turn(&mut self) {
        let mut room = [0; 2048];
        for (socket, to) in self.from.iter().zip(self.to) {
            while let Ok(len) = socket.recv(&mut room) {
                self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                if (self.random >> 33) % 100 < self.percent || to.port() == 9 {
                    self.lost += 1;
                    continue;
                }
                socket.send_to(&room[..len], to).expect("loopback takes it");
            }
        }
    }
}

/// A client of the gateway on a socket.
struct Client {
    socket: TcpStream,
    session: Initiator,
    reports: usize,
    sent: usize,
}

impl Client {
    fn new(at: SocketAddr, now: Time, user: &str) -> Self {
        let mut socket = TcpStream::connect(at).expect("it listens");
        let mut session = Initiator::new(now, Limits::default());
        session.log_on(now, user, &format!("{user}-secret1"), &mut |bytes| {
            socket.write_all(bytes).expect("a connection");
        });
        socket.set_nonblocking(true).expect("a socket");
        Self { socket, session, reports: 0, sent: 0 }
    }

    fn turn(&mut self, now: Time) {
        let mut room = [0; 16_384];
        let Self { socket, session, reports, .. } = self;
        while let Ok(len) = socket.read(&mut room) {
            assert!(len > 0, "the exchange has closed");
            let mut answer = Vec::new();
            let send = &mut |bytes: &[u8]| answer.extend_from_slice(bytes);
            let count = |message: &Message| *reports += usize::from(message.kind() == b'8');
            session.received(now, &room[..len], send, count).expect("messages");
            socket.write_all(&answer).expect("room");
        }
        let mut beat = Vec::new();
        session.timeout(now, &mut |bytes| beat.extend_from_slice(bytes));
        socket.write_all(&beat).expect("room");
    }

    fn order(&mut self, now: Time, message: &Message) {
        let socket = &mut self.socket;
        self.session.send(now, message, &mut |bytes| socket.write_all(bytes).expect("room"));
        self.sent += 1;
    }
}

struct World {
    clock: MonotonicClock,
    venue: Venue,
    lossy: Lossy,
    feed: Option<(FeedSockets, Feeding, Publisher)>,
    node: Node,
    consumer: Consumer,
    watching: Watching,
    clients: Vec<Client>,
    random: u64,
}

impl World {
    fn new(percent: u64) -> Self {
        Self::of(percent, config())
    }

    fn of(percent: u64, exchange: ExchangeConfig) -> Self {
        let clock = MonotonicClock::start();
        let lossy = Lossy::new(percent);
        let venue_config = VenueConfig {
            exchange,
            host: Ipv4Addr::LOCALHOST.into(),
            ports: [0; Door::ALL.len()],
            lines: lossy.lines(),
            epoch_ns: EPOCH_NS,
            journal: None,
            replicas: None,
            gateways: None,
            busy_poll: Duration::ZERO,
            distribution: None,
        };
        let venue = Venue::start(&venue_config, clock.now()).expect("it starts");
        let node = node();
        let consumer = consumer(&node);
        Self {
            clock,
            venue,
            lossy,
            feed: None,
            node,
            consumer,
            watching: Watching::of("VOD.L"),
            clients: Vec::new(),
            random: 7,
        }
    }

    fn door(&self, wanted: Door) -> SocketAddr {
        self.venue.listening().find(|(door, _)| *door == wanted).expect("it listens").1
    }

    fn start_feed(&mut self) {
        let here = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let line = Line { to: here, interface: Ipv4Addr::UNSPECIFIED, ttl: 1 };
        let (replay, snapshot) = (self.door(Door::Replay), self.door(Door::Snapshot));
        let sockets = FeedSockets::new(&[line, line], replay, snapshot).expect("ports");
        for (to, address) in self.lossy.to.iter_mut().zip(sockets.addresses()) {
            *to = address;
        }
        let handler = FeedHandler::new(&FeedConfig {
            group: b'A',
            segment: "SETS".to_owned(),
            user: "FEED".to_owned(),
            password: "FEED".to_owned(),
            names: vec![(7, "VOD.L".to_owned())],
            max_buffered: 10_000,
            silence: Duration::from_secs(20),
            midnight_ns: EPOCH_NS,
        });
        let feeding = Feeding::new(handler, SERVICE);
        let hub = self.node.hubs().next().expect("a hub").listening()[0];
        let service = ServiceSpec::new(1, SERVICE)
            .domain(Domain::MARKET_BY_ORDER)
            .domain(Domain::MARKET_BY_PRICE);
        let hub = Server::new(hub.ip().to_string(), hub.port());
        let publisher =
            Publisher::new(PublisherConfig::new([hub], Login::new("feed"), [service.entry()]));
        self.feed = Some((sockets, feeding, publisher.expect("sockets")));
    }

    /// A feed handler as a process, at lines of its own.
    fn feed_process(&mut self, dir: &Path, number: usize) -> Running {
        let [ready, log] = ["ready", "log"].map(|what| dir.join(format!("{what}-{number}")));
        let hub = self.node.hubs().next().expect("a hub").listening()[0].to_string();
        let child = Command::new(PROGRAM)
            .args(["feed", "--log", "info", "--hub", &hub])
            .args(["--replay", &self.door(Door::Replay).to_string()])
            .args(["--snapshot", &self.door(Door::Snapshot).to_string()])
            .args([Path::new("--ready-file"), &ready, &dir.join("feed.toml")])
            .stderr(fs::File::create(&log).expect("room"))
            .spawn()
            .expect("the program");
        let mut running = Running { child, ports: BTreeMap::new(), log };
        self.until("the feed handler to listen", |_| {
            assert!(!running.has_ended(), "it ended");
            ready.exists()
        });
        running
    }

    /// Lines that a process reads, as a file for it says.
    fn read_by_process(&mut self, dir: &Path) {
        let ip = own_address();
        let free = || UdpSocket::bind((ip, 0)).expect("a port");
        let [a, b] = [free(), free()].map(|socket| socket.local_addr().expect("bound"));
        self.lossy.to = [a, b];
        let text = format!(
            "[market-data]\nline-a = \"{a}\"\nline-b = \"{b}\"\n[feed]\nservice = \"{SERVICE}\"\n\
             [[instrument]]\nid = 7\nname = \"VOD.L\"\ntick = \"0.01\"\n"
        );
        fs::write(dir.join("feed.toml"), text).expect("room");
    }

    fn turn(&mut self) {
        let now = self.clock.now();
        self.venue.turn(now, Duration::ZERO, || now);
        self.lossy.turn();
        self.clients.iter_mut().for_each(|client| client.turn(now));
        if let Some((sockets, feeding, publisher)) = &mut self.feed {
            sockets.turn(Duration::ZERO, || now, &mut feeding.handler);
            publisher.with(|submissions| feeding.publish(now, submissions));
            publisher.poll(Some(Duration::ZERO), feeding);
            assert_eq!(feeding.failure(), None);
        }
        self.node.turn(self.node.now());
        self.watching.turn(&mut self.consumer);
    }

    /// Works all until something is so.
    fn until(&mut self, what: &str, mut is_so: impl FnMut(&mut Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "{what}: {}", self.differs().unwrap_or_default());
            self.turn();
        }
    }

    fn clients_come(&mut self) {
        self.come(["ANN", "BOB"].map(str::to_owned).into());
    }

    fn come(&mut self, users: Vec<String>) {
        let at = self.door(Door::Orders);
        for user in users {
            let now = self.clock.now();
            self.clients.push(Client::new(at, now, &user));
            // The exchange is this thread, too: nobody else accepts.
            self.turn();
        }
        self.until("logons", |world| world.clients.iter().all(|client| client.session.is_active()));
    }

    /// Orders around a price, so that some trade and some rest.
    fn trade(&mut self, orders: usize) {
        for _ in 0..orders {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            let draw = |bits: u32, below: u64| (self.random >> bits) % below;
            let side = if draw(20, 2) == 0 { "buy" } else { "sell" };
            let text = format!("{side} {}@10.{}", 1 + draw(30, 90), 10 + draw(40, 30));
            let mut message = new("X", &text);
            if draw(50, 8) == 0 {
                let mut iceberg = order("X", &text);
                iceberg.display = 1 + iceberg.quantity / 3;
                message = Message::NewOrder(iceberg);
            }
            let now = self.clock.now();
            let client = draw(55, 2) as usize;
            self.clients[client].order(now, &message);
            self.turn();
        }
    }

    /// Why the consumer's books are not the engine's; `None` if they are.
    fn differs(&self) -> Option<String> {
        let engine = self.venue.exchange().engine();
        let book = engine.book_of(tapeline_instrument::InstrumentId(7)).expect("it is traded");
        let (mut orders, mut levels) = (BTreeMap::new(), BTreeMap::new());
        for side in Side::BOTH {
            for depth in engine.depth(book, side) {
                let price = depth.price.expect("a limit").to_string();
                orders.insert(depth.id.0.to_string(), (price.clone(), u64::from(depth.quantity)));
                let key = format!("{price}{}", if side == Side::Buy { 'B' } else { 'A' });
                let level = levels.entry(key).or_insert((0_u64, 0_u64));
                (level.0, level.1) = (level.0 + u64::from(depth.quantity), level.1 + 1);
            }
        }
        let text = |key: &Vec<u8>| String::from_utf8(key.clone()).expect("a text");
        let of = |fields: &BTreeMap<i16, String>, id| fields.get(&id).cloned().unwrap_or_default();
        let number = |fields: &BTreeMap<i16, String>, id| of(fields, id).parse().unwrap_or(0);
        let [by_order, by_price, quote] = &self.watching.rows;
        let seen: BTreeMap<String, (String, u64)> = by_order
            .iter()
            .map(|(key, row)| (text(key), (of(row, fid::ORDER_PRC), number(row, fid::ORDER_SIZE))))
            .collect();
        if seen != orders {
            return Some(format!("orders: {} are seen, {} are there", seen.len(), orders.len()));
        }
        let seen: BTreeMap<String, u64> =
            by_price.iter().map(|(key, row)| (text(key), number(row, fid::ORDER_SIZE))).collect();
        let sizes: BTreeMap<String, u64> =
            levels.into_iter().map(|(key, (size, _))| (key, size)).collect();
        if seen != sizes {
            return Some(format!("levels: {seen:?} are seen, {sizes:?} are there"));
        }
        let quote = quote.get(&Vec::new()).cloned().unwrap_or_default();
        for (side, price_id, size_id) in
            [(Side::Buy, fid::BID, fid::BIDSIZE), (Side::Sell, fid::ASK, fid::ASKSIZE)]
        {
            let best = engine.best(book, side);
            let there = best.map(|best| (best.price.expect("a limit").to_string(), best.quantity));
            let there = there.map(|(price, size)| (price, size.to_string())).unwrap_or_default();
            let shown = (of(&quote, price_id), of(&quote, size_id));
            if best.is_some() && shown != there {
                return Some(format!("{side:?}: {shown:?} is seen, {there:?} is there"));
            }
        }
        None
    }

    fn are_taken(&self) -> bool {
        let counts = self.venue.counts();
        let sent: usize = self.clients.iter().map(|client| client.sent).sum();
        (counts.new_orders + counts.amendments + counts.cancels) as usize == sent
    }

    fn rests(&mut self) {
        self.until("all orders are taken", |world| world.are_taken());
        self.until("books are the engine's", |world| {
            world.watching.is_good() && world.differs().is_none()
        });
    }
}

#[test]
fn a_consumers_books_are_the_engines() {
    let mut world = World::new(0);
    world.start_feed();
    world.clients_come();
    for _ in 0..3 {
        world.trade(150);
        world.rests();
    }
    let counts = world.venue.counts();
    assert!(counts.trades > 50, "{counts:?}");
    let reports: usize = world.clients.iter().map(|client| client.reports).sum();
    assert_eq!(reports as u64, counts.reports);
    let (_, feeding, _) = world.feed.as_ref().expect("it runs");
    let seen = feeding.counts(world.clock.now());
    assert_eq!((seen.stales, seen.replays, seen.snapshots), (0, 0, 0), "{seen:?}");
    assert_eq!(world.watching.rows[2][&Vec::new()][&3915], "REG");
}

#[test]
fn what_the_lines_lose_is_healed_and_items_are_suspect_meanwhile() {
    let mut world = World::new(30);
    world.start_feed();
    world.clients_come();
    world.until("items are there", |world| world.watching.states.iter().all(Option::is_some));
    for _ in 0..3 {
        world.trade(200);
        world.rests();
    }
    let (_, feeding, _) = world.feed.as_ref().expect("it runs");
    let seen = feeding.counts(world.clock.now());
    assert!(world.lossy.lost > 100 && seen.replays > 5, "{} lost, {seen:?}", world.lossy.lost);
    assert!(seen.stales > 0 && world.watching.suspects > 0, "{seen:?}");
}

#[test]
fn a_feed_handler_that_starts_late_begins_with_a_snapshot() {
    let mut world = World::new(0);
    world.clients_come();
    world.trade(300);
    world.start_feed();
    world.trade(50);
    world.rests();
    let (_, feeding, _) = world.feed.as_ref().expect("it runs");
    assert_eq!(feeding.counts(world.clock.now()).snapshots, 1);
    // And one that was away for a while.
    let (sockets, ..) = world.feed.take().expect("it runs");
    drop(sockets);
    world.trade(100);
    world.start_feed();
    world.rests();
}

#[test]
fn a_feed_handler_killed_twenty_times_under_load_has_the_engines_books_again() {
    let dir = tempfile::tempdir().expect("a folder");
    let mut world = World::new(0);
    world.read_by_process(dir.path());
    world.clients_come();
    let mut longest = Duration::ZERO;
    for life in 0..20 {
        let begun = Instant::now();
        let mut feed = world.feed_process(dir.path(), life);
        world.until("items are good", |world| world.watching.is_good());
        longest = longest.max(begun.elapsed());
        world.trade(20 + life * 7 % 31);
        feed.kill();
        // What was under way when it died is nowhere, and nobody takes the items for good.
        world.trade(10);
        world.until("items are suspect", |world| {
            world.watching.states.iter().flatten().all(|(_, data)| *data == DataState::SUSPECT)
        });
    }
    let _feed = world.feed_process(dir.path(), 20);
    world.rests();
    assert!(world.venue.counts().trades > 50, "{:?}", world.venue.counts());
    println!("from a start to good items {longest:?} at most");
}

#[test]
fn a_silent_exchange_makes_items_suspect() {
    let mut world = World::new(0);
    world.start_feed();
    world.clients_come();
    world.trade(20);
    world.rests();
    let now = world.clock.now();
    let (_, feeding, publisher) = world.feed.as_mut().expect("it runs");
    let later = now.after(Duration::from_secs(30));
    publisher.with(|submissions| feeding.publish(later, submissions));
    world.until("suspect", |world| world.watching.suspects >= 3);
}

/// The orders of a recording by 200 users on sockets; see `recorded_orders`.
#[test]
fn a_consumers_books_are_those_of_a_recorded_session() {
    let Some(records) = recording::records() else { return };
    let mut market = recorded_orders::market();
    // Two hundred clients come one behind the other, on a machine with other things to do.
    market.limits.heartbeat = Duration::from_secs(60);
    let mut world = World::of(0, market);
    world.start_feed();
    let session = |world: &World| world.venue.exchange().engine().session_of(BookId(0));
    world.until("a call", |world| session(world) == Some(Session::OpeningCall));
    world.come((1..=200).map(|user| format!("USER{user}")).collect());
    let (mut asking, mut recorded) = (Asking::default(), tapeline_feed::Book::new());
    for records in records.chunks(6_000) {
        for record in records {
            let now = world.clock.now();
            for (user, message) in asking.record(record) {
                world.clients[user].order(now, &message);
                // One behind the other: the exchange reads its connections in turns.
                world.until("an order to be taken", |world| world.are_taken());
            }
            recorded_orders::apply(&mut recorded, record);
        }
        world.rests();
        let [orders, prices, _] = &world.watching.rows;
        let levels = [tapeline_feed::Side::Bid, tapeline_feed::Side::Ask]
            .map(|side| recorded.levels(side).count());
        assert_eq!(orders.len(), recorded.orders().len());
        assert_eq!(prices.len(), levels[0] + levels[1]);
    }
    assert_eq!(world.watching.rows[0].len(), 11_217);
}
