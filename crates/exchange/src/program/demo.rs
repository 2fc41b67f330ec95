//! `tapeline exchange demo`: the whole loop in one process.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tapeline_api::Server;
use tapeline_backbone::{Carrier, PortSettings, Role};
use tapeline_channel::Idle;
use tapeline_ending::{Stop, Verdict};
use tapeline_exchange::{
    Door, ExchangeCounts, FeedConfig, FeedHandler, FeedSockets, Feeding, Line, Plan, SessionId,
    Traded, Traders, Venue, VenueConfig,
};
use tapeline_hub::HubConfig;
use tapeline_instrument::{Price, Schedule, Session, Turn};
use tapeline_matching::BookId;
use tapeline_node::{HubPart, NewPolicy, Node, NodeConfig, PARK_MICROS, ServerPart};
use tapeline_server::{ServerConfig, Transport};
use tapeline_time::{MonotonicClock, Time};

use super::config::Config;
use super::failure::Failure;
use super::ready::Ready;
use super::run::{Answers, Counts, NAME, now_ns};
use super::{Common, feed};

/// A day of the demonstration, in seconds: opening, trading, closing.
const DAY_S: u32 = 240;

/// One step of traders, which is what the market's clock goes by.
const STEP_MS: u64 = 10;

/// Steps that are made up for when the machine was busy.
const MOST_STEPS: u64 = 50;

/// Show a market: traders, exchange, feed handler, hub, server, and the page
///
/// Simulated makers and takers trade by the native gateway, with news now and
/// then, through days of four minutes: opening call, regular trading, closing
/// call. The market data goes by UDP to a feed handler, from there to a hub and a
/// server, and the page at the address that is printed shows it: book, trades,
/// session, what the auction would bring. Anybody may trade along at the port
/// `orders`, and watch by RSSL or WebSocket.
///
/// Exit status: 0 if there were trades, 1 if there were none, 2 if it could not
/// start.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// Draws what traders do
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// The port of the page and of WebSocket consumers
    #[arg(long, value_name = "PORT", default_value_t = 15000)]
    ws_port: u16,

    /// The port of RSSL consumers
    #[arg(long, value_name = "PORT", default_value_t = 14002)]
    rssl_port: u16,

    /// Let the system choose all ports
    #[arg(long)]
    any_port: bool,

    /// Simulated makers; with none, and no takers, the market is yours alone
    #[arg(long, value_name = "N", default_value_t = 4)]
    makers: usize,

    /// Simulated takers
    #[arg(long, value_name = "N", default_value_t = 8)]
    takers: usize,

    /// Trade all day, without calls and closes
    #[arg(long)]
    open: bool,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let (config, mut watch) = args.common.start()?;
    let stop = args.common.stop()?;
    let mut ready = Ready::default();
    let node = start_node(args, &stop, &mut ready)?;
    let hub = node.hub;
    let here = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let line = Line { to: here, interface: Ipv4Addr::UNSPECIFIED, ttl: 1 };
    let (feed_lines, send_lines) = mpsc::channel();
    let feed_config = feed::feed_config(&config);
    let publishing = config.clone();
    let stop_of_feed = stop.clone();
    let (found_doors, doors) = mpsc::channel();
    let feed = spawn("feed", move || {
        let sockets = |replay, snapshot| FeedSockets::new(&[line, line], replay, snapshot);
        serve_feed(&publishing, &feed_config, hub, &stop_of_feed, sockets, (&feed_lines, &doors))
    })?;
    let market = Market::start(args, &config, &send_lines, &found_doors)?;
    for (door, address) in market.venue.listening() {
        ready.add(door.name(), address);
    }
    watch.announce(&mut ready);
    ready.write(args.common.ready_file.as_deref())?;
    let items: Vec<String> = config
        .instruments
        .iter()
        .map(|of| format!("item={}/{}", config.feed.service, of.name))
        .collect();
    println!("http://{}/?{}", node.page, items.join("&"));
    println!("orders by the native gateway: {}", market.door(Door::Orders));
    println!("orders by FIX: {}", market.door(Door::Fix));
    let (mut counts, answers) = (Counts::new(&watch, NAME, &[])?, Answers::new(&watch, NAME)?);
    let traded = market.run(&stop, &mut counts, &answers);
    stop.ask();
    join(feed, "feed")?;
    join(node.thread, "hub-and-server")?;
    println!("{traded} trades");
    Ok(Verdict::of(traded == 0))
}

fn spawn(
    name: &str,
    work: impl FnOnce() -> Result<(), Failure> + Send + 'static,
) -> Result<JoinHandle<Result<(), Failure>>, Failure> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map_err(Failure::Thread)
}

fn join(thread: JoinHandle<Result<(), Failure>>, name: &str) -> Result<(), Failure> {
    thread.join().unwrap_or_else(|_| Err(Failure::Feed(format!("the thread {name} panicked"))))
}

/// Hub and server, on a thread of their own.
struct HubAndServer {
    thread: JoinHandle<Result<(), Failure>>,
    hub: SocketAddr,
    page: SocketAddr,
}

fn start_node(args: &Args, stop: &Stop, ready: &mut Ready) -> Result<HubAndServer, Failure> {
    let at = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, if args.any_port { 0 } else { port }));
    let (ws, rssl) = (at(args.ws_port), at(args.rssl_port));
    let (started, wait) = mpsc::channel();
    let stop = stop.clone();
    let thread = spawn("hub-and-server", move || serve_node(rssl, ws, &stop, &started))?;
    let Ok(addresses) = wait.recv() else {
        join(thread, "hub-and-server")?;
        return Err(Failure::Feed("hub and server ended before they began".to_owned()));
    };
    for (name, address) in addresses {
        ready.add(name, address);
    }
    let [(_, hub), _, (_, page)] = addresses;
    Ok(HubAndServer { thread, hub, page })
}

type Addresses = [(&'static str, SocketAddr); 3];

fn serve_node(
    rssl: SocketAddr,
    ws: SocketAddr,
    stop: &Stop,
    started: &Sender<Addresses>,
) -> Result<(), Failure> {
    let mut hub = HubConfig::named("hub");
    hub.ni_listen = Some((Ipv4Addr::LOCALHOST, 0).into());
    let port = PortSettings::new(Role::Hub, "hub");
    let hub = HubPart { config: hub, port, field_rules: None, edge: None };
    let server = ServerPart {
        config: ServerConfig {
            listen: vec![rssl],
            listen_websocket: vec![ws],
            pages: Some(Arc::new(tapeline_server::pages())),
            ..ServerConfig::default()
        },
        port: PortSettings::new(Role::Server, "server"),
        policy: NewPolicy::default(),
        edge: None,
        siblings: None,
    };
    let (hubs, servers) = (vec![hub], vec![server]);
    let idle = Idle::Park { micros: PARK_MICROS };
    let mut node =
        Node::start(NodeConfig { hubs, servers, idle, ..NodeConfig::on(Carrier::LOCAL) })?;
    let hub = node.hubs().next().and_then(|hub| hub.listening().first().copied());
    let server = node.servers().next();
    let of = |transport| server?.listening_at(transport).first().copied();
    if let (Some(hub), Some(rssl), Some(ws)) = (hub, of(Transport::Rssl), of(Transport::WebSocket))
    {
        let _ = started.send([("ni", hub), ("rssl", rssl), ("ws", ws)]);
    }
    Ok(node.run(|| !stop.is_asked())?)
}

/// The feed handler, which says where it listens and is told where it may ask.
fn serve_feed(
    config: &Config,
    feed_config: &FeedConfig,
    hub: SocketAddr,
    stop: &Stop,
    sockets: impl FnOnce(
        SocketAddr,
        SocketAddr,
    ) -> Result<FeedSockets, tapeline_exchange::ExchangeError>,
    (lines, doors): (&Sender<Vec<SocketAddr>>, &mpsc::Receiver<[SocketAddr; 2]>),
) -> Result<(), Failure> {
    let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 9));
    let mut sockets = sockets(nowhere, nowhere)?;
    let _ = lines.send(sockets.addresses().collect());
    // Without a market there is nothing to read.
    let Ok([replay, snapshot]) = doors.recv() else { return Ok(()) };
    sockets.ask_at(replay, snapshot);
    let mut feeding = Feeding::new(FeedHandler::new(feed_config), &config.feed.service);
    let hub = Server::new(hub.ip().to_string(), hub.port());
    let mut publisher = feed::publisher(config, [hub])?;
    let clock = MonotonicClock::start();
    while !stop.is_asked() {
        sockets.turn(Duration::from_millis(5), || clock.now(), &mut feeding.handler);
        publisher.with(|submissions| feeding.publish(clock.now(), submissions));
        publisher.poll(Some(Duration::ZERO), &mut feeding);
        if let Some(failure) = feeding.failure() {
            stop.ask();
            return Err(Failure::Feed(failure.to_owned()));
        }
    }
    Ok(())
}

/// The exchange, with traders who sit in it.
struct Market {
    venue: Venue,
    traders: Traders,
    sessions: Vec<SessionId>,
    heard: Vec<u8>,
}

impl Market {
    fn start(
        args: &Args,
        config: &Config,
        lines: &mpsc::Receiver<Vec<SocketAddr>>,
        doors: &Sender<[SocketAddr; 2]>,
    ) -> Result<Self, Failure> {
        let epoch_ns = now_ns();
        let mut venue = config.venue(epoch_ns)?;
        if args.any_port {
            venue.ports = [0; Door::ALL.len()];
        }
        let ended = |_| Failure::Feed("the feed handler ended before it began".to_owned());
        let to = lines.recv().map_err(ended)?;
        venue.lines = to.into_iter().filter_map(line_to).collect();
        venue.exchange.seed = args.seed;
        if !args.open {
            venue.exchange.plan = plan()?;
            // The first day begins with the program.
            let into_day_s = epoch_ns / 1_000_000_000 % u64::from(DAY_S);
            venue.exchange.utc_offset_s = -(into_day_s as i32);
        }
        let instruments = traded(&venue);
        let mut venue = Venue::start(&venue, Time::ZERO)?;
        let mut traders =
            Traders::new(Time::ZERO, instruments, (args.makers, args.takers), args.seed);
        let sessions: Vec<SessionId> =
            (0..traders.len()).map_while(|_| venue.join(Time::ZERO, Door::Orders)).collect();
        traders.log_on(Time::ZERO, |at, bytes| venue.say(Time::ZERO, sessions[at], bytes));
        let market = Self { venue, traders, sessions, heard: Vec::new() };
        let _ = doors.send([market.door(Door::Replay), market.door(Door::Snapshot)]);
        Ok(market)
    }

    fn door(&self, wanted: Door) -> SocketAddr {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        let found = self.venue.listening().find(|(door, _)| *door == wanted);
        found.map_or(nowhere, |(_, address)| address)
    }

    /// Trades until it is to stop. Returns how many trades there were.
    fn run(mut self, stop: &Stop, counts: &mut Counts<ExchangeCounts>, answers: &Answers) -> u64 {
        let clock = MonotonicClock::start();
        let start = clock.now();
        let mut steps = 0;
        while !stop.is_asked() {
            let due = clock.now().since(start).as_millis() as u64 / STEP_MS;
            for _ in 0..due.saturating_sub(steps).min(MOST_STEPS) {
                steps += 1;
                self.step(Time::from_nanos(steps * STEP_MS * 1_000_000));
            }
            // The market's clock goes by steps, so that its day is the same each time.
            let now = Time::from_nanos(steps * STEP_MS * 1_000_000);
            self.venue.turn(now, Duration::from_millis(2), || now);
            counts.publish(now, || self.venue.counts());
            answers.give(&mut self.venue, now);
        }
        self.venue.close();
        self.venue.counts().trades
    }

    fn step(&mut self, now: Time) {
        let Self { venue, traders, sessions, heard } = self;
        venue.turn(now, Duration::ZERO, || now);
        let session = venue.exchange().engine().session_of(BookId(0)).unwrap_or_default();
        traders.step(now, session, |at, bytes| venue.say(now, sessions[at], bytes));
        for (at, session) in sessions.iter().enumerate() {
            venue.hear(*session, heard);
            if !heard.is_empty() {
                traders.received(now, at, heard, |at, bytes| venue.say(now, sessions[at], bytes));
            }
        }
    }
}

fn line_to(address: SocketAddr) -> Option<Line> {
    let SocketAddr::V4(to) = address else { return None };
    Some(Line { to, interface: Ipv4Addr::UNSPECIFIED, ttl: 1 })
}

/// What traders know of the instruments.
fn traded(venue: &VenueConfig) -> Vec<Traded> {
    let of = |instrument: &tapeline_instrument::Instrument| {
        let close = instrument.previous_close.unwrap_or(Price(100 * Price::UNIT));
        let at = instrument.ticks.nearest(close);
        let value = instrument.ticks.price(at);
        let tick = Price(instrument.ticks.price(at + 1).0 - value.0);
        Traded { id: instrument.id.0, tick, value }
    };
    venue.exchange.instruments.iter().map(of).collect()
}

fn plan() -> Result<Plan, tapeline_exchange::ExchangeError> {
    let turn = |at_s, session, random_s| Turn { at_s, session, random_s };
    let schedule = Schedule::new(vec![
        turn(0, Session::OpeningCall, 0),
        turn(20, Session::Regular, 5),
        turn(180, Session::ClosingCall, 0),
        turn(205, Session::MarketClose, 5),
        turn(225, Session::Closed, 0),
    ])?;
    Ok(Plan::Schedule { schedule, day_s: DAY_S })
}
