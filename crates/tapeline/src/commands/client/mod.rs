//! `tapeline client`: the test consumer.

mod decoding;
mod items;
mod latency_file;
mod measuring;
mod opening;
mod output;
mod secure;
mod standing_by;
mod statistics;
mod watch;

use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::{ArgAction, ValueEnum};
use tapeline_api::{Consumer, ConsumerConfig, DictionarySource, Login, Protocol, Server};
use tapeline_channel::{ConnectConfig, ReactorConfig, random_seed};
use tapeline_omm::Secret;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::Domain;
use tapeline_time::MonotonicClock;

use super::watched::AdminPort;
use crate::addresses::Addresses;
use crate::classic;
use crate::config::Log;
use crate::console::palette;
use crate::dictionary;
use crate::failure::{Failure, Verdict};
use crate::measure::stamp_field;
use decoding::Depth;
pub(super) use items::item_names;
use latency_file::LatencyFile;
use measuring::Measuring;
pub(super) use output::value_text;
use output::{Form, Output};
use secure::Secure;
use standing_by::StandingBy;
use tapeline_ending::Stop;
use watch::Watch;

/// How long one turn waits for something to happen.
const TURN: Duration = Duration::from_millis(50);

/// Open items at a server and show what comes, or how much of it
///
/// Shows the data, unless it is to measure: with --statistics, --interval or
/// --latency-file it shows rates and latencies, each interval and at the end.
///
/// Exit status: 0 if every item got an image (and, with --exit-after-image, as
/// soon as it did), 1 if an item was refused or got none, 2 if the command
/// could not be carried out, as when the login was refused.
#[derive(clap::Args)]
#[command(disable_help_flag = true, after_help = classic::help(&classic::CLIENT))]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Args {
    /// Names of items
    items: Vec<String>,

    /// A server, repeatable; the next one is tried when one fails
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:14002")]
    #[arg(conflicts_with_all = ["host", "port"])]
    server: Vec<Server>,

    /// Host of the server, in place of --server [default: 127.0.0.1]
    #[arg(short = 'h', long, value_name = "HOST")]
    host: Option<String>,

    /// Port of the server, in place of --server [default: 14002]
    #[arg(short = 'p', long, value_name = "PORT")]
    port: Option<u16>,

    /// A WebSocket port of a server, in place of --server; repeatable too
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["server", "host", "port"])]
    ws: Vec<Server>,

    /// What is spoken over the WebSocket
    #[arg(long, value_name = "NAME", requires = "ws", default_value = "tr_json2")]
    subprotocol: Subprotocol,

    #[command(flatten)]
    standing_by: StandingBy,

    #[command(flatten)]
    secure: Secure,

    /// The service; without it, the first one of the directory
    #[arg(short = 'S', long, value_name = "NAME")]
    service: Option<String>,

    /// A file with names of items, one a line; or in XML, as 350k.xml
    #[arg(short = 'f', long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Names of items, separated by commas
    #[arg(long = "il", value_name = "NAMES", value_delimiter = ',')]
    item_list: Vec<String>,

    #[arg(help = "Domain by number or name, as 6 or MARKET_PRICE")]
    #[arg(long = "md", value_name = "DOMAIN", value_parser = domain, default_value = "6")]
    domain: Domain,

    /// Only these fields, by number
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    fields: Vec<i16>,

    /// Requests that may be without an answer at one time [default: what the
    /// service allows]
    #[arg(short = 'o', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    open_window: Option<u32>,

    /// Images without updates
    #[arg(long)]
    snapshot: bool,

    /// The user who logs in
    #[arg(short = 'u', long, value_name = "NAME", default_value = "tapeline")]
    user: String,

    /// The user's password
    #[arg(long, value_name = "TEXT")]
    password: Option<String>,

    /// Measure: show rates and latencies instead of the data
    #[arg(long)]
    statistics: bool,

    /// Measure, with a line of statistics every so many seconds; 0 for the last
    /// table alone [default: 1]
    #[arg(short = 'I', long, value_name = "SECONDS")]
    interval: Option<u64>,

    /// Measure, and write each latency into this file, in microseconds, one a
    /// line; if its name ends in .csv, with a head, the moment and the item
    #[arg(long, value_name = "FILE")]
    latency_file: Option<PathBuf>,

    /// The field that says when an update was made, by number or acronym
    #[arg(long, value_name = "FIELD", default_value = "3902")]
    stamp_field: String,

    /// How much of each update is decoded while measuring: 0 its header, 1 up
    /// to the time stamp, 2 all fields without their values, 3 all values
    #[arg(short = 'd', long, value_name = "N", default_value = "1", value_parser = decoding::depth)]
    decode: Depth,

    /// Show the data while measuring
    #[arg(short = 'X', long)]
    show_data: bool,

    /// Write one JSON object a line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    admin: AdminPort,

    /// Write what listens where into this file once it does
    #[arg(long, value_name = "FILE", requires = "admin_port")]
    ready_file: Option<PathBuf>,

    /// End after this many seconds
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,

    /// End after this many updates
    #[arg(long, value_name = "N")]
    updates: Option<u64>,

    /// End when every item has its image
    #[arg(long)]
    exit_after_image: bool,

    /// A field dictionary to use instead of the server's
    #[arg(long, value_name = "FILE", requires = "enums")]
    dictionary: Option<PathBuf>,

    /// Enumeration tables to use instead of the server's
    #[arg(long, value_name = "FILE", requires = "dictionary")]
    enums: Option<PathBuf>,

    /// What to log, as `debug` or `api=debug`
    #[arg(long, value_name = "LEVELS", default_value = "warn")]
    log: String,

    // -h is the host.
    /// Print help
    #[arg(long, action = ArgAction::HelpLong)]
    help: Option<bool>,
}

/// What is spoken over a WebSocket, by the names that its opening has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Subprotocol {
    /// JSON
    #[value(name = "tr_json2", alias = "rssl.json.v2")]
    Json,
    /// RSSL
    #[value(name = "rssl.rwf")]
    Rwf,
}

impl Args {
    /// Whether rates and latencies are wanted.
    fn is_measuring(&self) -> bool {
        self.statistics || self.interval.is_some() || self.latency_file.is_some()
    }

    /// How often statistics are shown; `None` for only at the end.
    fn interval(&self) -> Option<Duration> {
        let seconds = self.interval.unwrap_or(1);
        (seconds > 0).then(|| Duration::from_secs(seconds))
    }

    fn servers(&self) -> Vec<Server> {
        if !self.ws.is_empty() {
            return self.ws.clone();
        }
        match (&self.host, self.port) {
            (None, None) => self.server.clone(),
            (host, port) => {
                let host = host.as_deref().unwrap_or("127.0.0.1");
                vec![Server::new(host, port.unwrap_or(14002))]
            }
        }
    }

    fn protocol(&self) -> Protocol {
        match self.subprotocol {
            _ if self.ws.is_empty() => Protocol::Rssl,
            Subprotocol::Json => Protocol::Json,
            Subprotocol::Rwf => Protocol::RsslWebSocket,
        }
    }

    fn login(&self) -> Login {
        let mut login = Login::new(self.user.as_str());
        login.attributes.password = self.password.as_deref().map(Secret::from);
        login
    }

    /// The dictionary that was given, if one was.
    fn dictionary(&self) -> Result<Option<Arc<FieldDictionary>>, Failure> {
        let (fields, enums) = (self.dictionary.as_deref(), self.enums.as_deref());
        let is_given = fields.is_some();
        is_given.then(|| dictionary::load(fields, enums).map(Arc::new)).transpose()
    }

    fn stamp_field(&self, dictionary: Option<&FieldDictionary>) -> Result<i16, Failure> {
        let name = self.stamp_field.as_str();
        let dictionary = dictionary.unwrap_or(FieldDictionary::builtin());
        stamp_field(name, dictionary)?.ok_or_else(|| {
            let text =
                format!("`{name}` is no field; give its number, or an acronym that is known");
            Failure::Setting(text)
        })
    }
}

/// A domain by number or name.
pub(crate) fn domain(text: &str) -> Result<Domain, String> {
    let by_number = text.parse().map(Domain).ok();
    let found = by_number.or_else(|| Domain::from_name(&text.to_ascii_uppercase()));
    found.ok_or_else(|| "give a number from 1 to 255, or a name like MARKET_PRICE".to_owned())
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    crate::log::start(&Log::default(), Some(&args.log), None)?;
    let names = item_names(args.domain, &args.items, &args.item_list, args.file.as_deref())?;
    let stop = Stop::on_signals(args.seconds.map(Duration::from_secs)).map_err(Failure::Signals)?;
    let dictionary = args.dictionary()?;
    let stamp_field = args.stamp_field(dictionary.as_deref())?;
    let latency_file = args.latency_file.as_deref().map(LatencyFile::create).transpose()?;
    let mut config = ConsumerConfig::new(args.servers(), args.login());
    config.protocol = args.protocol();
    config.order = args.standing_by.order();
    config.standby = args.standing_by.set();
    config.dictionary = match dictionary {
        Some(dictionary) => DictionarySource::Given(dictionary),
        None => DictionarySource::Download,
    };
    config.max_items = config.max_items.max(names.len() + 1);
    let mut out = BufWriter::new(io::stdout().lock());
    let shows_data = args.show_data || !args.is_measuring();
    let form = Form { palette: palette(), is_json: args.json, shows_data };
    let output = Output::new(&mut out, form);
    let measuring = args.is_measuring().then(|| Measuring::new(args, stamp_field, latency_file));
    let mut watch = Watch::new(args, names, measuring, output);
    let reactor = ReactorConfig { seed: random_seed(), ..ReactorConfig::default() };
    let connect = ConnectConfig { tls: args.secure.tls()?, ..ConnectConfig::default() };
    let clock = MonotonicClock::start();
    let mut addresses = Addresses::default();
    let mut watched = args.admin.open("client", &config.bounds(), &mut addresses)?;
    addresses.announce(args.ready_file.as_deref())?;
    let mut consumer = Consumer::with_channel(config, reactor, connect)?;
    while !stop.is_asked() && !watch.is_done() {
        let wait = watch.next_tick().min(TURN);
        consumer.poll(Some(wait), &mut watch);
        consumer.with(|requests| watch.open(requests));
        watch.turn()?;
        watched.turn(clock.now(), || (consumer.counters(), consumer.channel_counters()));
    }
    consumer.with(|requests| {
        requests.log_out();
    });
    consumer.poll(Some(Duration::ZERO), &mut watch);
    watch.finish()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Client {
        #[command(flatten)]
        args: Args,
    }

    fn args(options: &[&str]) -> Args {
        let words = std::iter::once("client").chain(options.iter().copied());
        Client::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args
    }

    fn servers(options: &[&str]) -> Vec<String> {
        args(options).servers().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn host_and_port_each_stand_in_for_the_server() {
        assert_eq!(servers(&[]), ["127.0.0.1:14002"]);
        assert_eq!(servers(&["--host", "mds1"]), ["mds1:14002"]);
        assert_eq!(servers(&["--port", "5"]), ["127.0.0.1:5"]);
        assert_eq!(servers(&["--server", "a:1", "--server", "b:2"]), ["a:1", "b:2"]);
        let both = Client::try_parse_from(["client", "--server", "a:1", "--host", "b"]);
        assert!(both.is_err(), "which one would count?");
    }

    #[test]
    fn a_websocket_speaks_json_unless_it_is_told_otherwise() {
        let protocol = |options: &[&str]| args(options).protocol();
        assert_eq!(
            (protocol(&[]), servers(&["--ws", "a:1"])),
            (Protocol::Rssl, vec!["a:1".to_owned()])
        );
        assert_eq!(protocol(&["--ws", "a:1"]), Protocol::Json);
        assert_eq!(protocol(&["--ws", "a:1", "--subprotocol", "rssl.json.v2"]), Protocol::Json);
        assert_eq!(
            protocol(&["--ws", "a:1", "--subprotocol", "rssl.rwf"]),
            Protocol::RsslWebSocket
        );
        for wrong in [&["--subprotocol", "rssl.rwf"][..], &["--ws", "a:1", "--port", "5"]] {
            let words = std::iter::once("client").chain(wrong.iter().copied());
            assert!(Client::try_parse_from(words).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn user_and_password_are_those_of_the_login() {
        let login = args(&["--user", "rmrds", "--password", "x"]).login();
        assert_eq!(login.user.to_string(), "rmrds");
        assert_eq!(login.attributes.password, Some(Secret::from("x")));
        assert_eq!(args(&[]).login().attributes.password, None);
    }

    #[test]
    fn what_only_measuring_needs_makes_it_measure() {
        assert!(!args(&["--show-data", "--decode=3"]).is_measuring());
        for option in ["--statistics", "--interval=5", "--latency-file=x"] {
            assert!(args(&[option]).is_measuring(), "{option}");
        }
        assert_eq!(args(&["--interval=5"]).interval(), Some(Duration::from_secs(5)));
        assert_eq!(args(&["--statistics"]).interval(), Some(Duration::from_secs(1)));
        assert_eq!(args(&["--interval=0"]).interval(), None);
    }

    #[test]
    fn a_stamp_field_that_is_none_is_told() {
        let failure = args(&["--stamp-field", "RTRSY.O"]).stamp_field(None).expect_err("no field");
        let text = "`RTRSY.O` is no field; give its number, or an acronym that is known";
        assert_eq!(failure.to_string(), text);
    }
}
