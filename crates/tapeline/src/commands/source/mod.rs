//! `tapeline source`: the sink-driven publisher.

mod console;
mod statistics;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tapeline_api::{
    Login, Provider, ProviderConfig, ProviderCounters, Publisher, PublisherConfig,
    PublisherCounters, Server, ServiceSpec,
};
use tapeline_channel::{
    ConnectConfig, ListenConfig, ReactorConfig, SessionOptions, SocketOptions, random_seed,
};
use tapeline_feed::DataFile;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::directory::ServiceEntry;
use tapeline_rwf::Domain;
use tapeline_time::{MonotonicClock, Time};

use super::client::item_names;
use super::watched::{AdminPort, Watched};
use crate::addresses::Addresses;
use crate::classic;
use crate::config::Log;
use crate::dictionary;
use crate::failure::{Failure, Verdict};
use crate::measure::stamp_field;
use console::Console;
use tapeline_ending::Stop;
use tapeline_playback::Pace;
use tapeline_playback::{
    self, Broadcasting, Interactive, NonInteractive, Publishing, Rebroadcasting, Replay, Replaying,
    Speed, Stamps, Stock,
};

/// What its counts are shown as.
const NAME: &str = "source";

/// Updates a second that carry the time if nobody says how many: the usual
/// number, of which five minutes give 3,000.
const USUAL_STAMP_RATE: u64 = 10;

/// Publish data, and update what somebody has open
///
/// Listens as an interactive provider, to which a hub connects. Every item that
/// is asked for is there: with its own data if there is some, with that of a
/// template otherwise; only items that are open are updated. With --connect it
/// is a non-interactive provider instead, which calls a hub and publishes all
/// of its items. While it runs, `ur N` on standard input sets the rate of
/// updates, `ul N` how many of them carry the time, `quit` ends it.
///
/// Exit status: 0 after SIGTERM, SIGINT or --seconds, 2 if it could not start
/// or the hub refused its login.
#[derive(clap::Args)]
#[command(after_help = classic::help(&classic::SOURCE))]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Args {
    /// Items of a non-interactive provider; without any, those of the data
    #[arg(requires = "connect")]
    items: Vec<String>,

    /// Where to listen; port 0 for any port [default: 0.0.0.0:14002]
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "port")]
    listen: Option<SocketAddr>,

    /// The port to listen on, at all addresses
    #[arg(short = 'N', long = "port", value_name = "PORT")]
    port: Option<u16>,

    /// A hub to connect to as a non-interactive provider; repeatable, the next
    /// one is tried when one fails
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["listen", "port"])]
    connect: Vec<Server>,

    /// A file with the items of a non-interactive provider, one a line; or in
    /// XML, as 350k.xml
    #[arg(short = 'f', long, value_name = "FILE", requires = "connect")]
    file: Option<PathBuf>,

    /// Name of the service
    #[arg(short = 'S', long, value_name = "NAME", default_value = "SAMPLE")]
    service: String,

    /// Id of the service
    #[arg(long, value_name = "ID", default_value_t = 1)]
    service_id: u16,

    /// A data file with an image and updates for every item: TOML, or the
    /// MsgData.xml of the vendor's performance tools
    #[arg(short = 'Q', long, value_name = "FILE", conflicts_with = "recording")]
    data: Option<PathBuf>,

    /// A recording to play, in the DBN format (market by order): each of its
    /// instruments as quote, order book and price levels, from the first request
    /// on
    #[arg(long, value_name = "FILE", conflicts_with_all = ["template", "items", "file", "stamp", "stamp_on", "stamp_rate"])]
    recording: Option<PathBuf>,

    /// How fast: `recorded`, `x10`, or a number of events a second
    #[arg(long, value_name = "SPEED", default_value = "recorded", requires = "recording")]
    speed: Speed,

    /// Play the recording again and again
    #[arg(long = "loop", requires = "recording")]
    endless: bool,

    /// The item of the data whose content every other item gets; with --data
    /// the name of the file's item
    #[arg(short = 'q', long, value_name = "ITEM")]
    template: Option<String>,

    /// Updates a second, over all items
    #[arg(short = 'U', long, value_name = "RATE", default_value_t = 1000)]
    rate: u64,

    /// Ticks a second: updates are sent in a burst at each
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = ticks)]
    tps: u64,

    /// Put the time into some updates: microseconds of the host's monotonic
    /// clock
    #[arg(long)]
    stamp: bool,

    /// The item whose updates carry the time, as long as somebody has it open;
    /// or the field that carries it in any item, by number or acronym
    #[arg(long, value_name = "ITEM|FIELD")]
    stamp_on: Option<String>,

    /// Updates a second that carry the time, among those of --rate [default: 0;
    /// 10 with --stamp or --stamp-on]
    #[arg(long, value_name = "RATE")]
    stamp_rate: Option<u64>,

    #[arg(help = "1: send at once (TCP_NODELAY); 0: let TCP gather what it sends")]
    #[arg(long, value_name = "0|1", default_value = "1", default_missing_value = "1")]
    #[arg(num_args = 0..=1, require_equals = true, value_parser = switch)]
    no_delay: Switch,

    /// Seconds between lines of statistics; 0 for none
    #[arg(short = 'I', long, value_name = "N", default_value_t = 1)]
    interval: u64,

    /// Write statistics as JSON objects
    #[arg(long)]
    json: bool,

    /// The field dictionary that is offered
    #[arg(long, value_name = "FILE", requires = "enums")]
    dictionary: Option<PathBuf>,

    /// The enumeration tables that are offered
    #[arg(long, value_name = "FILE", requires = "dictionary")]
    enums: Option<PathBuf>,

    /// Write what listens where into this file once it does
    #[arg(long, value_name = "FILE")]
    ready_file: Option<PathBuf>,

    #[command(flatten)]
    admin: AdminPort,

    /// End after this many seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,

    /// What to log, as `debug` or `api=debug`
    #[arg(long, value_name = "LEVELS", default_value = "info")]
    log: String,
}

/// A number of ticks a second.
fn ticks(text: &str) -> Result<u64, String> {
    let ticks = text.parse().ok().filter(|ticks| (1..=1_000_000).contains(ticks));
    ticks.ok_or_else(|| "give a number from 1 to 1000000".to_owned())
}

/// Whether something is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Switch(bool);

fn switch(text: &str) -> Result<Switch, String> {
    match text {
        "0" => Ok(Switch(false)),
        "1" => Ok(Switch(true)),
        _ => Err("give 0 or 1".to_owned()),
    }
}

impl Args {
    fn stamp_rate(&self) -> u64 {
        let is_wanted = self.stamp || self.stamp_on.is_some();
        self.stamp_rate.unwrap_or(if is_wanted { USUAL_STAMP_RATE } else { 0 })
    }

    fn session(&self) -> SessionOptions {
        let socket = SocketOptions { nodelay: self.no_delay.0, ..SocketOptions::default() };
        SessionOptions { socket, ..SessionOptions::default() }
    }
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    crate::log::start(&Log::default(), Some(&args.log), None)?;
    let stop = Stop::on_signals(args.seconds.map(Duration::from_secs)).map_err(Failure::Signals)?;
    let dictionary = dictionary::load(args.dictionary.as_deref(), args.enums.as_deref())?;
    let data = Data::load(args, &dictionary)?;
    match args.connect.is_empty() {
        true => listen(args, data, dictionary, &stop)?,
        false => connect(args, data, &stop)?,
    }
    Ok(Verdict::Good)
}

/// What is published: templates or a recording.
enum Data {
    Stock(Stock, Stamping),
    Replay(Box<Replay>),
}

/// What carries the time.
enum Stamping {
    /// Any item.
    All,
    /// This one.
    Item(String),
}

impl Data {
    fn load(args: &Args, dictionary: &FieldDictionary) -> Result<Self, Failure> {
        if let Some(path) = &args.recording {
            return Ok(Self::Replay(Box::new(Replay::open(path, args.speed, args.endless)?)));
        }
        let stock = match &args.data {
            Some(path) => Stock::file(&DataFile::open(path, dictionary)?, args.template.clone()),
            None => Stock::sample(args.template.clone()),
        };
        let Some(name) = &args.stamp_on else { return Ok(Self::Stock(stock, Stamping::All)) };
        Ok(match stamp_field(name, dictionary)? {
            Some(field) => Self::Stock(stock.stamping(field), Stamping::All),
            None => Self::Stock(stock, Stamping::Item(name.clone())),
        })
    }

    /// The service with every domain that there is data of.
    fn service(&self, args: &Args) -> ServiceEntry {
        let domains = match self {
            Self::Stock(stock, _) => stock.domains(),
            Self::Replay(_) => Replay::DOMAINS.to_vec(),
        };
        let mut service = ServiceSpec::new(args.service_id, args.service.as_str());
        for domain in domains.into_iter().filter(|domain| *domain != Domain::MARKET_PRICE) {
            service = service.domain(domain);
        }
        service.entry()
    }
}

/// How many updates, and how many of them with the time.
fn paces(args: &Args, stamping: Stamping, now: Time) -> (Pace, Stamps) {
    let stamps = Stamps::new(now, args.stamp_rate(), args.tps);
    let stamps = match stamping {
        Stamping::All => stamps,
        Stamping::Item(name) => stamps.on_item(name),
    };
    (Pace::new(now, args.rate, args.tps), stamps)
}

/// An interactive provider.
fn listen(
    args: &Args,
    data: Data,
    dictionary: FieldDictionary,
    stop: &Stop,
) -> Result<(), Failure> {
    let clock = MonotonicClock::start();
    let config = ProviderConfig::new([data.service(args)]);
    let mut provider = Provider::new(config.dictionary(Arc::new(dictionary)))?;
    let any = SocketAddr::from(([0, 0, 0, 0], args.port.unwrap_or(14002)));
    let mut addresses = Addresses::default();
    let listener = ListenConfig { session: args.session(), ..ListenConfig::default() };
    let (_, address) = provider.listen_with(args.listen.unwrap_or(any), &listener)?;
    addresses.add("rssl", address);
    let watched = args.admin.open(NAME, &[], &mut addresses)?;
    addresses.announce(args.ready_file.as_deref())?;
    let provider = (provider, watched);
    match data {
        Data::Stock(stock, stamping) => {
            let paces = paces(args, stamping, clock.now());
            serve_all(args, provider, Publishing::new(stock, paces), (&clock, stop))
        }
        Data::Replay(replay) => serve_all(args, provider, Replaying::new(*replay), (&clock, stop)),
    }
}

fn serve_all(
    args: &Args,
    (mut provider, mut watched): (Provider, Watched<ProviderCounters>),
    mut source: impl Interactive,
    (clock, stop): (&MonotonicClock, &Stop),
) -> Result<(), Failure> {
    let mut console = Console::new(args);
    while !stop.is_asked() {
        if tapeline_playback::serve(&mut provider, &mut source, clock)? == 0 {
            tapeline_playback::rest(source.next(), clock);
        }
        watched.turn(clock.now(), || (provider.counters(), provider.channel_counters()));
        console.turn(&mut source, clock, stop)?;
    }
    Ok(())
}

/// A non-interactive provider.
fn connect(args: &Args, data: Data, stop: &Stop) -> Result<(), Failure> {
    let clock = MonotonicClock::start();
    let hubs = args.connect.iter().cloned();
    let config = PublisherConfig::new(hubs, Login::new("tapeline"), [data.service(args)]);
    let reactor = ReactorConfig { seed: random_seed(), ..ReactorConfig::default() };
    let channel = ConnectConfig { session: args.session(), ..ConnectConfig::default() };
    let mut addresses = Addresses::default();
    let watched = args.admin.open(NAME, &config.bounds(), &mut addresses)?;
    let mut publisher = Publisher::with_channel(config, reactor, channel)?;
    addresses.announce(args.ready_file.as_deref())?;
    let service = args.service.as_str();
    match data {
        Data::Stock(mut stock, stamping) => {
            let names = match args.items.is_empty() && args.file.is_none() {
                true => stock.names(Domain::MARKET_PRICE),
                false => item_names(Domain::MARKET_PRICE, &args.items, &[], args.file.as_deref())?,
            };
            let items = (service, Domain::MARKET_PRICE, names.as_slice());
            let paces = paces(args, stamping, clock.now());
            let source = publisher
                .with(|submissions| Broadcasting::new(items, &mut stock, paces, submissions));
            publish_all(args, (publisher, watched), source?, (&clock, stop))
        }
        Data::Replay(replay) => {
            let source =
                publisher.with(|submissions| Rebroadcasting::new(service, *replay, submissions));
            publish_all(args, (publisher, watched), source?, (&clock, stop))
        }
    }
}

fn publish_all(
    args: &Args,
    (mut publisher, mut watched): (Publisher, Watched<PublisherCounters>),
    mut source: impl NonInteractive,
    (clock, stop): (&MonotonicClock, &Stop),
) -> Result<(), Failure> {
    let mut console = Console::new(args);
    while !stop.is_asked() {
        if tapeline_playback::publish(&mut publisher, &mut source, clock)? == 0 {
            tapeline_playback::rest(source.next(), clock);
        }
        watched.turn(clock.now(), || (publisher.counters(), publisher.channel_counters()));
        if let Some(text) = source.refusal() {
            return Err(Failure::LoginRefused(text.to_owned()));
        }
        console.turn(&mut source, clock, stop)?;
    }
    publisher.with(|submissions| {
        submissions.log_out();
    });
    publisher.flush();
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Source {
        #[command(flatten)]
        args: Args,
    }

    fn args(options: &[&str]) -> Args {
        let words = std::iter::once("source").chain(options.iter().copied());
        Source::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args
    }

    #[test]
    fn stamps_are_ten_a_second_unless_it_is_said() {
        for (options, rate) in [
            (&[][..], 0),
            (&["--stamp"], 10),
            (&["--stamp-on=RTRSY.O"], 10),
            (&["--stamp-rate=7"], 7),
            (&["--stamp", "--stamp-rate=0"], 0),
        ] {
            assert_eq!(args(options).stamp_rate(), rate, "{options:?}");
        }
    }

    #[test]
    fn sending_at_once_can_be_switched_off() {
        for (options, nodelay) in
            [(&[][..], true), (&["--no-delay"], true), (&["--no-delay=0"], false)]
        {
            assert_eq!(args(options).session().socket.nodelay, nodelay, "{options:?}");
        }
    }

    #[test]
    fn a_source_without_ticks_is_refused() {
        assert!(Source::try_parse_from(["source", "--tps=0"]).is_err());
    }
}
