//! `tapeline exchange replay`: what a journal holds and leads to.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use tapeline_ending::Verdict;
use tapeline_exchange::{Replayed, replay};
use tracing::level_filters::LevelFilter;

use super::config::Config;
use super::failure::Failure;
use super::log;

/// Do again what a journal says, and print what it comes to
///
/// Everything that orders in the journal led to happens again, without sockets: the
/// same journal gives the same hash of all reports and all market data, on any
/// machine. What `run` noted of its events meanwhile is compared. A process that
/// still writes the journal has to end first; what it left of an entry that nobody
/// was told of is cut off.
///
/// Exit status: 0, or 2 if the journal is damaged, of another market, or leads to
/// other events than it did.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The configuration that the journal was made with
    #[arg(value_name = "CONFIG")]
    config: Option<PathBuf>,

    /// The folder of the journal
    #[arg(long, value_name = "DIR")]
    journal: Option<PathBuf>,

    /// Print each order that came: entry, user and the client's name for it
    #[arg(long)]
    orders: bool,

    /// For machines
    #[arg(long)]
    json: bool,

    /// What to log
    #[arg(long, value_name = "LEVEL", default_value = "warn", value_parser = log::level)]
    log: LevelFilter,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    log::start(args.log, None);
    let config = Config::read(args.config.as_deref())?;
    let dir = args.journal.as_deref().or(config.journal.dir.as_deref());
    let dir = dir.ok_or(Failure::NoJournal)?;
    let exchange = config.venue(0)?.exchange;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut written = Ok(());
    let replayed = replay(&exchange, &config.journal_in(dir), |entry, user, name| {
        if args.orders && written.is_ok() {
            written = writeln!(out, "{entry} {user} {name}");
        }
    })?;
    written?;
    print(&mut out, &replayed, args.json)?;
    out.flush()?;
    Ok(Verdict::Good)
}

fn print(out: &mut impl Write, replayed: &Replayed, is_json: bool) -> io::Result<()> {
    let Replayed { snapshot, entries, last, commands, torn_bytes, .. } = replayed;
    let Replayed { reports, trades, orders, units, hash, .. } = replayed;
    let hash = format!("{hash:016x}");
    if is_json {
        let line = serde_json::json!({
            "snapshot": snapshot, "entries": entries, "last": last, "commands": commands, "torn_bytes": torn_bytes,
            "reports": reports, "trades": trades, "orders": orders, "units": units, "hash": hash,
        });
        return writeln!(out, "{line}");
    }
    writeln!(
        out,
        "snapshot {snapshot}; entries {entries}, the last {last}; commands {commands}; reports {reports}; trades \
         {trades}; orders alive {orders}; units {units}; torn bytes {torn_bytes}; events {hash}"
    )
}
