//! `tapeline exchange run`: an exchange in one process.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use tapeline_admin::{Admin, AdminConfig, EventFeed};
use tapeline_counters::{Act, Answer, Ask, Counted, QueryQueue, Registry, Rows, Scan, Writer};
use tapeline_edge::Edge;
use tapeline_ending::Verdict;
use tapeline_exchange::{Door, ExchangeCounts, ExchangeError, Stages, Venue};
use tapeline_time::{MonotonicClock, Time};
use tracing::level_filters::LevelFilter;

use super::failure::Failure;
use super::ready::Ready;
use super::{Common, log, operate};

/// What a market is called at the admin port.
pub(super) const NAME: &str = "exchange";

/// How often counts are published, and told in the log.
pub(super) const PUBLISH: Duration = Duration::from_millis(10);
const TELL: Duration = Duration::from_secs(60);

/// Run an exchange: gateways, matching, market data
///
/// One process, one market thread: orders over TCP by the native gateway's
/// protocol or by FIX, reports that were missed over the recovery channel, market
/// data as MITCH over UDP on two lines, and again over TCP by replay and snapshot.
/// Without a file it is open all day to everybody on this host. What listens
/// where is logged and, with --ready-file, written as lines like
/// `orders=127.0.0.1:14300`.
///
/// With --journal, nobody hears of an order before it is on the disk, and a start
/// goes on where the last run ended, however it did. Orders that ask for it go with
/// the sessions that ended with it. Without it, what happens is forgotten.
///
/// With --replica N, it is one of the replicas that the file names: one of them leads
/// and lets clients in, the others refuse them with 9998 and take over when it dies.
///
/// Exit status: 0 after SIGTERM, SIGINT or --seconds, 2 if it could not start.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// Choose all ports yourself: for tests and for several on one host
    #[arg(long)]
    any_port: bool,

    /// Keep a journal in this folder, and go on with the one that is there
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,

    /// Be this one of the members of [replicas], from 1; needs a journal of its own
    #[arg(long, value_name = "N")]
    replica: Option<u8>,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let (config, mut watch) = args.common.start()?;
    let stop = args.common.stop()?;
    let mut venue_config = config.venue(now_ns())?;
    if args.any_port {
        venue_config.ports = [0; Door::ALL.len()];
    }
    if let Some(dir) = &args.journal {
        venue_config.journal = Some(config.journal_in(dir));
    }
    venue_config.replicas = config.replicas.settings(args.replica)?;
    venue_config.gateways = config.gateways.market(args.replica);
    venue_config.distribution = config.distribution.market(args.replica);
    // Without a journal, what was before is forgotten.
    let history = venue_config.journal.as_ref().map_or(venue_config.epoch_ns, |_| 0);
    venue_config.exchange.gateways = config.gateways.terms(history);
    venue_config.exchange.distribution = config.distribution.terms(history);
    if venue_config.replicas.is_some() && venue_config.journal.is_none() {
        let what = "--replica needs a journal of its own; give --journal DIR, or [journal] dir";
        return Err(ExchangeError::Config(what.to_owned()).into());
    }
    let clock = MonotonicClock::start();
    let start = clock.now();
    // The market's clock begins with the process.
    let clock = move || Time::from_nanos(clock.now().as_nanos() - start.as_nanos());
    let mut venue = Venue::start(&venue_config, clock())?;
    let mut ready = Ready::default();
    for (door, address) in venue.listening() {
        ready.add(door.name(), address);
    }
    // Whoever starts anew listens where it did.
    for (port, (_, address)) in venue_config.ports.iter_mut().zip(venue.listening()) {
        *port = address.port();
    }
    watch.announce(&mut ready);
    for to in venue.lines() {
        tracing::info!(%to, "market data goes");
    }
    ready.write(args.common.ready_file.as_deref())?;
    let limits = [
        ("clients", config.limits.max_users as u64),
        ("orders", u64::from(config.limits.max_orders)),
        ("journal_segments", config.journal.max_segments as u64),
    ];
    let mut counts = Counts::new(&watch, NAME, &limits)?;
    let answers = Answers::new(&watch, NAME)?;
    while !stop.is_asked() {
        venue.turn(clock(), PUBLISH, clock);
        counts.publish(clock(), || venue.counts());
        answers.give(&mut venue, clock());
        if let Some(trouble) = venue.trouble() {
            counts.tell(&venue.counts());
            return Err(trouble.into());
        }
        if venue.is_deposed() {
            tracing::warn!("another replica leads; this one starts anew with its journal");
            venue.close();
            drop(venue);
            venue = Venue::start(&venue_config, clock())?;
        }
    }
    counts.tell(&venue.counts());
    venue.close();
    Ok(Verdict::Good)
}

/// Nanoseconds since 1970 UTC.
pub(super) fn now_ns() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Who looks at the process from outside.
pub(super) struct Watch {
    registry: Registry,
    admin: Option<Admin>,
    /// Kept for as long as the admin port is there.
    _edge: Option<Edge>,
}

impl Watch {
    /// Starts the log, and the admin port if there is to be one.
    pub(super) fn start(level: LevelFilter, port: Option<u16>) -> Result<Self, Failure> {
        let registry = Registry::default();
        let Some(port) = port else {
            log::start(level, None);
            return Ok(Self { registry, admin: None, _edge: None });
        };
        let events = EventFeed::default();
        log::start(level, Some(events.clone()));
        let edge = Edge::start()?;
        let at = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let version = env!("CARGO_PKG_VERSION");
        let config = AdminConfig { version, ..AdminConfig::at(at) };
        let admin = Admin::start(&edge, config, registry.clone(), events, None)?;
        Ok(Self { registry, admin: Some(admin), _edge: Some(edge) })
    }

    pub(super) fn announce(&mut self, ready: &mut Ready) {
        if let Some(admin) = &self.admin {
            ready.add("admin", admin.address());
        }
    }
}

/// Answers who asks how long orders take in each stage.
pub(super) struct Answers(QueryQueue);

impl Answers {
    pub(super) fn new(watch: &Watch, name: &str) -> Result<Self, Failure> {
        watch.registry.open_queue(name).map(Self).map_err(Failure::Counters)
    }

    /// Answers what waits: there are as many rows as stages. What operators want done
    /// is in the next entry.
    pub(super) fn give(&self, venue: &mut Venue, now: Time) {
        while let Some(query) = self.0.next() {
            let answer = match &query.ask {
                Ask::Rows(rows) if rows.at.is_empty() || rows.at == NAME => {
                    look(rows, venue.stages())
                }
                Ask::Act(Act::Operate { words }) => Some(operated(words, venue, now)),
                Ask::Rows(_) | Ask::Act(_) => None,
            };
            query.answer(answer.into_iter().collect());
        }
    }
}

fn look(rows: &Rows, stages: &Stages) -> Option<Answer> {
    let mut scan = Scan::new(rows, stages)?;
    while !scan.step(stages, u32::MAX) {}
    Some(scan.finish(NAME, stages))
}

fn operated(words: &[String], venue: &mut Venue, now: Time) -> Answer {
    let done = operate::operation(words)
        .and_then(|operation| venue.operate(now, operation).map_err(|error| error.to_string()));
    match done {
        Ok(()) => Answer::of_act(NAME, 1),
        Err(why) => {
            tracing::warn!(words = words.join(" "), why, "what an operator wants is not done");
            Answer::of_refusal(NAME, why)
        }
    }
}

/// Publishes counts, and tells them in the log.
pub(super) struct Counts<C> {
    writer: Writer<C>,
    published: Time,
    told: Time,
    last: Vec<(&'static str, u64)>,
}

/// Counts by their names.
pub(super) trait Named: Counted {
    fn all(&self) -> Vec<(&'static str, u64)>;
}

impl Named for ExchangeCounts {
    fn all(&self) -> Vec<(&'static str, u64)> {
        self.named().to_vec()
    }
}

impl<C: Named> Counts<C> {
    pub(super) fn new(watch: &Watch, name: &str, limits: &[(&str, u64)]) -> Result<Self, Failure> {
        let writer = watch.registry.enter(name, limits).map_err(Failure::Counters)?;
        Ok(Self { writer, published: Time::ZERO, told: Time::ZERO, last: Vec::new() })
    }

    /// Publishes them when it is time to; only then they are added up.
    pub(super) fn publish(&mut self, now: Time, counts: impl FnOnce() -> C) {
        if now.since(self.published) < PUBLISH {
            return;
        }
        self.published = now;
        let counts = counts();
        self.writer.publish(&counts);
        if now.since(self.told) >= TELL {
            self.told = now;
            self.tell(&counts);
        }
    }

    /// Says in the log what is new.
    pub(super) fn tell(&mut self, counts: &C) {
        let all = counts.all();
        let is_new = |count: &&(&str, u64)| count.1 > 0 && !self.last.contains(count);
        let new: Vec<String> =
            all.iter().filter(is_new).map(|(name, value)| format!("{name}={value}")).collect();
        if !new.is_empty() {
            tracing::info!(counts = new.join(" "), "counters");
        }
        self.last = all;
    }
}
