//! `tapeline exchange feed`: market data of an exchange to a hub.

use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

use tapeline_api::{Login, Publisher, PublisherConfig, Server, ServiceSpec};
use tapeline_ending::Verdict;
use tapeline_exchange::{ExchangeError, FeedConfig, FeedCounts, FeedHandler, FeedSockets, Feeding};
use tapeline_rwf::Domain;
use tapeline_time::MonotonicClock;

use super::Common;
use super::config::Config;
use super::failure::Failure;
use super::ready::Ready;
use super::run::{Counts, Named, now_ns};

const NS_PER_DAY: u64 = 86_400_000_000_000;

/// How long a turn waits: the hub is looked after in between.
const WAIT: Duration = Duration::from_millis(5);

/// After so many heartbeats that did not come, nothing is known any more.
const HEARTBEATS: u32 = 5;

/// Publish an exchange's market data at a hub
///
/// Reads both lines, has what is missing sent again, and publishes each
/// instrument as market by order, market by price and market price, as a
/// non-interactive provider. While something is missing its items are suspect.
/// The configuration is the exchange's own: lines, ports, names of instruments,
/// and in [feed] the hub.
///
/// Exit status: 0 after SIGTERM, SIGINT or --seconds, 2 if it could not start or
/// the hub refused its login.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    common: Common,

    /// The hub; repeatable, the next one is tried when one fails
    #[arg(long, value_name = "HOST:PORT")]
    hub: Vec<Server>,

    /// Where messages can be had again, instead of what the file says
    #[arg(long, value_name = "HOST:PORT")]
    replay: Option<String>,

    /// Where all orders can be had
    #[arg(long, value_name = "HOST:PORT")]
    snapshot: Option<String>,
}

impl Named for FeedCounts {
    fn all(&self) -> Vec<(&'static str, u64)> {
        self.named().to_vec()
    }
}

/// What a feed handler reads, of the exchange's configuration.
pub(super) fn feed_config(config: &Config) -> FeedConfig {
    let name = |instrument: &super::instruments::InstrumentSection| {
        (instrument.id, instrument.name.clone())
    };
    let now_ns = now_ns();
    FeedConfig {
        group: config.group(),
        segment: config.feed.segment.clone(),
        user: config.feed.user.clone(),
        password: config.feed.password.clone(),
        names: config.instruments.iter().map(name).collect(),
        max_buffered: config.limits.max_buffered,
        silence: Duration::from_millis(config.market_data.heartbeat_ms) * HEARTBEATS,
        midnight_ns: now_ns - now_ns % NS_PER_DAY,
    }
}

/// The publisher of a feed handler.
pub(super) fn publisher(
    config: &Config,
    hubs: impl IntoIterator<Item = Server>,
) -> Result<Publisher, Failure> {
    let service = ServiceSpec::new(config.feed.service_id, config.feed.service.as_str())
        .domain(Domain::MARKET_BY_ORDER)
        .domain(Domain::MARKET_BY_PRICE);
    let mut publishing = PublisherConfig::new(hubs, Login::new("exchange-feed"), [service.entry()]);
    publishing.reconnect.first_delay = Duration::from_millis(100);
    Ok(Publisher::new(publishing)?)
}

/// The hubs that are given, else those of the file.
pub(super) fn hubs(config: &Config, given: &[Server]) -> Result<Vec<Server>, Failure> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    let hub = |text: &String| {
        let failed = |error| ExchangeError::Config(format!("[feed] hub: {error}"));
        Ok(text.parse().map_err(failed)?)
    };
    config.feed.hub.iter().map(hub).collect()
}

pub(super) fn address(text: &str) -> Result<SocketAddr, Failure> {
    let failed = |what: &str| ExchangeError::Config(format!("{text}: {what}"));
    let mut found = text.to_socket_addrs().map_err(|error| failed(&error.to_string()))?;
    Ok(found.next().ok_or_else(|| failed("no such host"))?)
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let (config, mut watch) = args.common.start()?;
    let stop = args.common.stop()?;
    let at = |given: &Option<String>, port: u16| {
        address(&given.clone().unwrap_or_else(|| format!("{}:{port}", config.feed.exchange)))
    };
    let replay = at(&args.replay, config.market_data.replay_port)?;
    let snapshot = at(&args.snapshot, config.market_data.snapshot_port)?;
    let mut sockets = FeedSockets::new(&config.lines(), replay, snapshot)?;
    let mut feeding = Feeding::new(FeedHandler::new(&feed_config(&config)), &config.feed.service);
    let mut publisher = publisher(&config, hubs(&config, &args.hub)?)?;
    let mut ready = Ready::default();
    watch.announce(&mut ready);
    ready.write(args.common.ready_file.as_deref())?;
    let mut counts = Counts::new(&watch, "feed", &[])?;
    let clock = MonotonicClock::start();
    while !stop.is_asked() {
        sockets.turn(WAIT, || clock.now(), &mut feeding.handler);
        publisher.with(|submissions| feeding.publish(clock.now(), submissions));
        publisher.poll(Some(Duration::ZERO), &mut feeding);
        let now = clock.now();
        counts.publish(now, || feeding.counts(now));
        if let Some(failure) = feeding.failure() {
            return Err(Failure::Feed(failure.to_owned()));
        }
    }
    counts.tell(&feeding.counts(clock.now()));
    Ok(Verdict::Good)
}
