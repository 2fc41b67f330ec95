//! `tapeline demo`: the whole path in one process.

mod quotes;
mod summary;

use std::io::{self, IsTerminal};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_api::{
    Consumer, ConsumerConfig, DictionarySource, Login, Provider, ProviderConfig, Server,
    ServiceSpec,
};
use tapeline_feed::DataFile;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::Domain;
use tapeline_time::MonotonicClock;

use crate::composition::{self, Credentials, Roles};
use crate::config::{Log, Port, Settings, Source};
use crate::console::Screen;
use crate::failure::{Failure, Verdict};
use quotes::Quotes;
use tapeline_ending::Stop;
use tapeline_node::{Node, NodeError};
use tapeline_playback::Pace;
use tapeline_playback::{Playing, Publishing, Stamps, Stock};

/// The service of the demonstration.
const SERVICE: &str = "DEMO";

/// Bursts a second in which updates are sent.
const BURSTS_PER_S: u64 = 1000;

/// Show quotes going from a source through hub, backbone and server to a client
///
/// It ends with what was seen: items, updates, latency, and what to try next.
///
/// All of it runs in this process: the source and the client on one thread, hub
/// and server on another, connected by RSSL over loopback and by the embedded
/// media driver.
///
/// Exit status: 0 if updates flowed, 1 if none did, 2 if it could not start.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Names of items; without any, those of the sample
    items: Vec<String>,

    /// A data file with an image and updates for every item, instead of the
    /// sample
    #[arg(short = 'Q', long, value_name = "FILE")]
    data: Option<PathBuf>,

    /// End after this many seconds; without it, on SIGTERM or SIGINT
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,

    /// Updates a second, over all items
    #[arg(short = 'U', long, value_name = "RATE", default_value_t = 1000)]
    rate: u64,

    /// What to log, as `debug` or `hub=debug`
    #[arg(long, value_name = "LEVELS", default_value = "error")]
    log: String,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    crate::log::start(&Log::default(), Some(&args.log), None)?;
    let stop = Stop::on_signals(args.seconds.map(Duration::from_secs)).map_err(Failure::Signals)?;
    let stock = match &args.data {
        Some(path) => Stock::file(&DataFile::open(path, FieldDictionary::builtin())?, None),
        None => Stock::sample(None),
    };
    let names = match args.items.is_empty() {
        true => stock.names(Domain::MARKET_PRICE),
        false => args.items.clone(),
    };
    let dictionary = Arc::new(FieldDictionary::builtin().clone());
    let service = ServiceSpec::new(1, SERVICE);
    let mut provider =
        Provider::new(ProviderConfig::new([service.entry()]).dictionary(dictionary))?;
    let source = provider.listen(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;

    let (started, wait) = mpsc::channel();
    let stop_of_node = stop.clone();
    let node = thread::Builder::new()
        .name("hub-and-server".to_owned())
        .spawn(move || serve(source, &stop_of_node, &started))
        .map_err(Failure::Thread)?;
    let shown = match wait.recv() {
        Ok(server) => show(args, provider, stock, Quotes::new(SERVICE, &names), server, &stop),
        // It ended before it listened, and says why below.
        Err(_) => Ok(0),
    };
    stop.ask();
    match node.join() {
        Ok(served) => served?,
        Err(_) => return Err(NodeError::Panicked("hub-and-server".to_owned()).into()),
    }
    Ok(Verdict::of(shown? == 0))
}

/// Hub and server, on the thread that calls this.
fn serve(source: SocketAddr, stop: &Stop, started: &Sender<SocketAddr>) -> Result<(), Failure> {
    let source = Source { hosts: vec![source.to_string()], ..Source::default() };
    let mut settings = Settings { sources: vec![source], ..Settings::default() };
    settings.hub.ni_port = Port::Off;
    settings.server.listen = Ipv4Addr::LOCALHOST.to_string();
    settings.server.rssl_port = Port::At(0);
    let roles = Roles { is_hub: true, is_server: true };
    let mut node =
        Node::start(composition::node_config(&settings, roles, None, &Credentials::default())?)?;
    let listening = node.servers().next().and_then(|server| server.listening().first().copied());
    if let Some(address) = listening {
        let _ = started.send(address);
    }
    Ok(node.run(|| !stop.is_asked())?)
}

/// Source and client: returns how many updates the client got.
fn show(
    args: &Args,
    mut provider: Provider,
    stock: Stock,
    mut quotes: Quotes,
    server: SocketAddr,
    stop: &Stop,
) -> Result<u64, Failure> {
    let server = Server::new(server.ip().to_string(), server.port());
    let mut config = ConsumerConfig::new([server], Login::new("demo"));
    config.dictionary = DictionarySource::Download;
    config.reconnect.first_delay = Duration::from_millis(50);
    let mut consumer = Consumer::new(config)?;
    let clock = MonotonicClock::start();
    let now = clock.now();
    // Every update says when it was sent.
    let pace = Pace::new(now, args.rate, BURSTS_PER_S);
    let stamps = Stamps::new(now, args.rate, BURSTS_PER_S);
    let mut publishing = Publishing::new(stock, (pace, stamps));
    let is_terminal = io::stdout().is_terminal();
    let mut screen = Screen::new(is_terminal);
    let interval = Duration::from_millis(if is_terminal { 250 } else { 1000 });
    let mut drawn = Instant::now();
    while !stop.is_asked() {
        let mut work = tapeline_playback::serve(&mut provider, &mut publishing, &clock)?;
        work += consumer.poll(Some(Duration::ZERO), &mut quotes);
        let is_under_way = quotes.updates() < publishing.counts().updates;
        match () {
            () if work > 0 => {}
            // The client is not to sleep over an update that is on its way.
            () if is_under_way => thread::yield_now(),
            () => tapeline_playback::rest(publishing.next(), &clock),
        }
        if drawn.elapsed() >= interval {
            drawn = Instant::now();
            screen.draw(&mut io::stdout().lock(), &quotes.lines())?;
        }
    }
    let program = std::env::args().next().unwrap_or_else(|| "tapeline".to_owned());
    Screen::new(false).draw(&mut io::stdout().lock(), &quotes.summary().lines(&program))?;
    Ok(quotes.updates())
}
