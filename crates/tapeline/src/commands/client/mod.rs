//! `tapeline client`: the test consumer.

mod items;
mod output;
mod statistics;
mod watch;

use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tapeline_api::{Consumer, ConsumerConfig, DictionarySource, Login, Server};
use tapeline_rwf::Domain;

use crate::config::Log;
use crate::console::palette;
use crate::dictionary;
use crate::failure::{Failure, Verdict};
use crate::stop::Stop;
pub(super) use items::item_names;
pub(super) use output::value_text;
use output::{Form, Output};
use watch::Watch;

/// How long one turn waits for something to happen.
const TURN: Duration = Duration::from_millis(50);

/// Open items at a server and show what comes, or how much of it
///
/// Exit status: 0 if every item got an image (and, with --exit-after-image, as
/// soon as it did), 1 if an item was refused or got none, 2 if the command
/// could not be carried out, as when the login was refused.
#[derive(clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct Args {
    /// Names of items
    items: Vec<String>,

    /// A server, repeatable; the next one is tried when one fails
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:14002")]
    server: Vec<Server>,

    /// The service; without it, the first one of the directory
    #[arg(short = 'S', long, value_name = "NAME")]
    service: Option<String>,

    /// A file with names of items, one a line
    #[arg(short = 'f', long, value_name = "FILE")]
    file: Option<PathBuf>,

    /// Names of items, separated by commas (also -il)
    #[arg(long = "il", value_name = "NAMES", value_delimiter = ',')]
    item_list: Vec<String>,

    #[arg(help = "Domain by number or name, as 6 or MARKET_PRICE (also -md)")]
    #[arg(long = "md", value_name = "DOMAIN", value_parser = domain, default_value = "6")]
    domain: Domain,

    /// Only these fields, by number
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    fields: Vec<i16>,

    /// Images without updates
    #[arg(long)]
    snapshot: bool,

    /// The user who logs in
    #[arg(short = 'u', long, value_name = "NAME", default_value = "tapeline")]
    user: String,

    /// Show rates and latencies every second instead of the data
    #[arg(long)]
    statistics: bool,

    /// Write one JSON object a line
    #[arg(long)]
    json: bool,

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
}

/// A domain by number or name.
pub(crate) fn domain(text: &str) -> Result<Domain, String> {
    let by_number = text.parse().map(Domain).ok();
    let found = by_number.or_else(|| Domain::from_name(&text.to_ascii_uppercase()));
    found.ok_or_else(|| "give a number from 1 to 255, or a name like MARKET_PRICE".to_owned())
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    crate::log::start(&Log::default(), Some(&args.log))?;
    let names = item_names(&args.items, &args.item_list, args.file.as_deref())?;
    let stop = Stop::on_signals(args.seconds.map(Duration::from_secs)).map_err(Failure::Signals)?;
    let mut config = ConsumerConfig::new(args.server.clone(), Login::new(args.user.as_str()));
    config.dictionary = match &args.dictionary {
        Some(_) => DictionarySource::Given(Arc::new(dictionary::load(
            args.dictionary.as_deref(),
            args.enums.as_deref(),
        )?)),
        None => DictionarySource::Download,
    };
    config.max_items = config.max_items.max(names.len() + 1);
    let mut out = BufWriter::new(io::stdout().lock());
    let form = Form { palette: palette(), is_json: args.json, is_statistics: args.statistics };
    let output = Output::new(&mut out, form);
    let mut watch = Watch::new(args, names, output);
    let mut consumer = Consumer::new(config)?;
    while !stop.is_asked() && !watch.is_done() {
        let wait = watch.next_tick().min(TURN);
        consumer.poll(Some(wait), &mut watch);
        watch.turn()?;
    }
    consumer.with(|requests| {
        requests.log_out();
    });
    consumer.poll(Some(Duration::ZERO), &mut watch);
    watch.finish()
}
