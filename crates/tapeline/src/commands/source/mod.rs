//! `tapeline source`: the sink-driven publisher.

mod statistics;

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tapeline_api::{
    Login, Provider, ProviderConfig, Publisher, PublisherConfig, Server, ServiceSpec,
};
use tapeline_channel::MonotonicClock;
use tapeline_feed::DataFile;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::directory::ServiceEntry;
use tapeline_rssl::Time;
use tapeline_rwf::Domain;

use super::client::item_names;
use crate::addresses::Addresses;
use crate::config::Log;
use crate::dictionary;
use crate::failure::{Failure, Verdict, warn};
use crate::pace::Pace;
use crate::source::{
    self, Broadcasting, Commands, Interactive, NonInteractive, Order, Playing, Publishing,
    Rebroadcasting, Replay, Replaying, Speed, Stock,
};
use crate::stop::Stop;
use statistics::Statistics;

/// Publish data, and update what somebody has open
///
/// Listens as an interactive provider, to which a hub connects. Every item that
/// is asked for is there: with its own data if there is some, with that of a
/// template otherwise; only items that are open are updated. With --connect it
/// is a non-interactive provider instead, which calls a hub and publishes all
/// of its items. While it runs, `ur N` on standard input sets the rate of
/// updates.
///
/// Exit status: 0 after SIGTERM, SIGINT or --seconds, 2 if it could not start
/// or the hub refused its login.
#[derive(clap::Args)]
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

    /// A file with the items of a non-interactive provider, one a line
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
    #[arg(short = 'Q', long, value_name = "FILE", conflicts_with_all = ["template", "recording"])]
    data: Option<PathBuf>,

    /// A recording to play, in the DBN format (market by order): each of its
    /// instruments as quote, order book and price levels, from the first request
    /// on
    #[arg(long, value_name = "FILE", conflicts_with_all = ["template", "items", "file"])]
    recording: Option<PathBuf>,

    /// How fast: `recorded`, `x10`, or a number of events a second
    #[arg(long, value_name = "SPEED", default_value = "recorded", requires = "recording")]
    speed: Speed,

    /// Play the recording again and again
    #[arg(long = "loop", requires = "recording")]
    endless: bool,

    /// The item of the data whose content every other item gets
    #[arg(short = 'q', long, value_name = "ITEM")]
    template: Option<String>,

    /// Updates a second, over all items
    #[arg(short = 'U', long, value_name = "RATE", default_value_t = 1000)]
    rate: u64,

    /// Bursts a second in which updates are sent (also -tps)
    #[arg(long, value_name = "N", default_value_t = 1000)]
    tps: u64,

    /// Updates a second that carry the time in field 3902 (also -UL)
    #[arg(long = "ul", value_name = "RATE", default_value_t = 0)]
    stamps: u64,

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

    /// End after this many seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,

    /// What to log, as `debug` or `api=debug`
    #[arg(long, value_name = "LEVELS", default_value = "info")]
    log: String,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    crate::log::start(&Log::default(), Some(&args.log))?;
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
    Stock(Stock),
    Replay(Box<Replay>),
}

impl Data {
    fn load(args: &Args, dictionary: &FieldDictionary) -> Result<Self, Failure> {
        match &args.recording {
            Some(path) => Ok(Self::Replay(Box::new(Replay::open(path, args.speed, args.endless)?))),
            None => Ok(Self::Stock(match &args.data {
                Some(path) => Stock::file(&DataFile::open(path, dictionary)?),
                None => Stock::sample(args.template.clone()),
            })),
        }
    }

    /// The service with every domain that there is data of.
    fn service(&self, args: &Args) -> ServiceEntry {
        let domains = match self {
            Self::Stock(stock) => stock.domains(),
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
fn paces(args: &Args, now: Time) -> (Pace, Pace) {
    let stamps = Pace::new(now, args.stamps, args.stamps.clamp(1, args.tps.max(1)));
    (Pace::new(now, args.rate, args.tps), stamps)
}

fn announce(addresses: &Addresses, args: &Args) -> Result<(), Failure> {
    if let Some(path) = &args.ready_file {
        addresses.write(path)?;
    }
    tracing::info!("ready");
    Ok(())
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
    addresses.add("rssl", provider.listen(args.listen.unwrap_or(any))?);
    announce(&addresses, args)?;
    match data {
        Data::Stock(stock) => {
            let (pace, stamps) = paces(args, clock.now());
            serve_all(args, provider, Publishing::new(stock, pace, stamps), (&clock, stop))
        }
        Data::Replay(replay) => serve_all(args, provider, Replaying::new(*replay), (&clock, stop)),
    }
}

fn serve_all(
    args: &Args,
    mut provider: Provider,
    mut source: impl Interactive,
    (clock, stop): (&MonotonicClock, &Stop),
) -> Result<(), Failure> {
    let mut console = Console::new(args);
    while !stop.is_asked() {
        if source::serve(&mut provider, &mut source, clock)? == 0 {
            source::rest(source.next(), clock);
        }
        console.turn(&mut source, clock)?;
    }
    Ok(())
}

/// A non-interactive provider.
fn connect(args: &Args, data: Data, stop: &Stop) -> Result<(), Failure> {
    let clock = MonotonicClock::start();
    let hubs = args.connect.iter().cloned();
    let config = PublisherConfig::new(hubs, Login::new("tapeline"), [data.service(args)]);
    let mut publisher = Publisher::new(config)?;
    announce(&Addresses::default(), args)?;
    let service = args.service.as_str();
    match data {
        Data::Stock(mut stock) => {
            let names = match args.items.is_empty() && args.file.is_none() {
                true => stock.names(Domain::MARKET_PRICE),
                false => item_names(&args.items, &[], args.file.as_deref())?,
            };
            let items = (service, Domain::MARKET_PRICE, names.as_slice());
            let paces = paces(args, clock.now());
            let source = publisher
                .with(|submissions| Broadcasting::new(items, &mut stock, paces, submissions));
            publish_all(args, publisher, source?, (&clock, stop))
        }
        Data::Replay(replay) => {
            let source =
                publisher.with(|submissions| Rebroadcasting::new(service, *replay, submissions));
            publish_all(args, publisher, source?, (&clock, stop))
        }
    }
}

fn publish_all(
    args: &Args,
    mut publisher: Publisher,
    mut source: impl NonInteractive,
    (clock, stop): (&MonotonicClock, &Stop),
) -> Result<(), Failure> {
    let mut console = Console::new(args);
    while !stop.is_asked() {
        if source::publish(&mut publisher, &mut source, clock)? == 0 {
            source::rest(source.next(), clock);
        }
        if let Some(text) = source.refusal() {
            return Err(Failure::LoginRefused(text.to_owned()));
        }
        console.turn(&mut source, clock)?;
    }
    publisher.with(|submissions| {
        submissions.log_out();
    });
    publisher.flush();
    Ok(())
}

/// What is typed and what is printed while a source runs.
struct Console {
    orders: Commands,
    statistics: Statistics,
}

impl Console {
    fn new(args: &Args) -> Self {
        let statistics = Statistics::new(args.interval, args.json);
        Self { orders: Commands::read(), statistics }
    }

    fn turn(&mut self, source: &mut impl Playing, clock: &MonotonicClock) -> io::Result<()> {
        while let Some(order) = self.orders.next() {
            match order {
                Order::Rate(rate) => {
                    source.set_rate(clock.now(), rate);
                    tracing::info!(rate, "rate changed");
                }
                Order::Unknown(line) => {
                    warn(&format!("`{line}` is no command; type `ur RATE`"));
                }
            }
        }
        self.statistics.turn(|| source.counts())
    }
}
