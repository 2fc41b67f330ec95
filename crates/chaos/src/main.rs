//! `tapeline-chaos`: real processes, everything that can break, and a table of
//! what consumers were told.

use std::io::{self, IsTerminal as _};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use tapeline_api::Protocol;
use tapeline_chaos::failover::{self, Case, Outcome};
use tapeline_chaos::fault::Fault;
use tapeline_chaos::party::{be_consumer, be_source};
use tapeline_chaos::site::Plan;
use tapeline_chaos::tally::Tally;
use tapeline_chaos::trial::{Trial, run};
use tapeline_ending::{Stop, Verdict};

/// Breaks hubs, servers, sources, consumers and what is between them, and says
/// what consumers were told, how soon, and when all was well again.
///
/// Needs root, for network namespaces. Exit status 1: an update was lost
/// without notice, or something did not get well again.
#[derive(Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    trial: TrialArgs,
}

#[derive(Args)]
struct TrialArgs {
    /// Each fault is struck once, then on until so many seconds have gone.
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// Decides in which order and to whom things happen; drawn if not given.
    #[arg(long)]
    seed: Option<u64>,
    /// Only these faults; `--list` names them.
    #[arg(value_name = "FAULT")]
    faults: Vec<Fault>,
    /// Name the faults.
    #[arg(long)]
    list: bool,
    /// Items, all of which each of the four consumers has.
    #[arg(long, default_value_t = 100)]
    items: usize,
    /// Updates a second of each of the two sources.
    #[arg(long, default_value_t = 2_000)]
    rate: u64,
    /// The `tapeline` to break; without it the one beside this program.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Has a part die that another one stands in for, a hundred times, and says how long
    /// a consumer was without data.
    ///
    /// Exit status 1: something was asked of a source, or told to the consumer, that
    /// should not have been.
    Failovers(FailoverArgs),
    /// A source, until its input ends.
    #[command(hide = true)]
    Source {
        #[arg(long)]
        listen: SocketAddr,
        #[arg(long)]
        items: usize,
    },
    /// A consumer, until its input ends.
    #[command(hide = true)]
    Consumer {
        #[arg(long = "server")]
        servers: Vec<SocketAddr>,
        #[arg(long)]
        items: usize,
        #[arg(long)]
        json: bool,
    },
}

#[derive(Args)]
struct FailoverArgs {
    /// Only these cases: reconnect, standby, hub, source, mirrored, network.
    #[arg(value_name = "CASE")]
    cases: Vec<Case>,
    /// How often each happens.
    #[arg(long, default_value_t = 100)]
    rounds: usize,
    /// Items, all of which the consumer has.
    #[arg(long, default_value_t = 1_000)]
    items: usize,
    /// Updates a second, over all items.
    #[arg(long, default_value_t = 20_000)]
    rate: u64,
    /// The `tapeline` to break; without it the one beside this program.
    #[arg(long)]
    program: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.command {
        Some(Command::Failovers(args)) => end(failovers(&args)),
        Some(Command::Source { listen, items }) => {
            be_source(listen, items);
            ExitCode::SUCCESS
        }
        Some(Command::Consumer { servers, items, json }) => {
            let protocol = if json { Protocol::Json } else { Protocol::default() };
            be_consumer(&servers, protocol, items);
            ExitCode::SUCCESS
        }
        None if cli.trial.list => {
            for fault in Fault::ALL {
                println!("{fault:<18} {}", fault.about().what);
            }
            ExitCode::SUCCESS
        }
        None => end(chaos(&cli.trial)),
    }
}

fn end(ran: Result<Verdict, String>) -> ExitCode {
    match ran {
        Ok(verdict) => verdict.into(),
        Err(error) => tapeline_ending::report("tapeline-chaos", &error, None),
    }
}

/// This program, and the one that it breaks.
fn programs(tapeline: Option<&PathBuf>) -> Result<(PathBuf, PathBuf), String> {
    let parties = std::env::current_exe().map_err(|error| error.to_string())?;
    let tapeline = tapeline.cloned().unwrap_or_else(|| parties.with_file_name("tapeline"));
    if tapeline.is_file() {
        return Ok((parties, tapeline));
    }
    let hint = "build it with `cargo build -p tapeline`, or name another with --program";
    Err(format!("there is no {}; {hint}", tapeline.display()))
}

fn failovers(args: &FailoverArgs) -> Result<Verdict, String> {
    let (_, tapeline) = programs(args.program.as_ref())?;
    let plan = failover::Plan { tapeline, items: args.items, updates_per_s: args.rate };
    let cases = if args.cases.is_empty() { Case::ALL.to_vec() } else { args.cases.clone() };
    let mut outcomes = Vec::new();
    for case in cases {
        let ran = failover::run(case, &plan, args.rounds, |round, seen| {
            let in_ms = |us: u64| us as f64 / 1_000.0;
            eprintln!(
                "{case:<10} {:>4} of {}: first item after {:.1} ms, last after {:.1} ms",
                round + 1,
                args.rounds,
                in_ms(seen.first_us),
                in_ms(seen.last_us)
            );
        });
        let outcome = ran.ok_or("namespaces cannot be made here: see above")??;
        outcome.broken().iter().for_each(|what| eprintln!("{case}: {what}"));
        outcomes.push(outcome);
    }
    if args.json {
        println!("{}", Outcome::all_json(&outcomes));
    } else {
        println!("{}", Outcome::table(&outcomes));
        println!(
            "{} items, {} updates a second; times in milliseconds, in the middle and at worst; \
             `silence` is the longest time without data of any item; stale items, images and \
             requests to sources in the middle",
            args.items, args.rate
        );
    }
    Ok(Verdict::of(outcomes.iter().any(|outcome| !outcome.broken().is_empty())))
}

fn chaos(args: &TrialArgs) -> Result<Verdict, String> {
    let (parties, tapeline) = programs(args.program.as_ref())?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let faults = if args.faults.is_empty() { Fault::ALL.to_vec() } else { args.faults.clone() };
    let plan = Plan { tapeline, parties, items: args.items, updates_per_second: args.rate, seed };
    let trial = Trial { plan, faults, duration: Duration::from_secs(args.seconds) };
    let stop = Stop::on_signals(None).map_err(|error| error.to_string())?;
    eprintln!("seed {seed}: {} faults in turn for {} s", trial.faults.len(), args.seconds);
    let is_shown = io::stderr().is_terminal() || !args.json;
    let ran = run(
        &trial,
        || stop.is_asked(),
        |at, episode| {
            if is_shown {
                eprintln!("{:>5.1} s  {episode}", at.as_secs_f64());
            }
            episode.breaches.iter().for_each(|breach| eprintln!("         {breach}"));
        },
    );
    let tally = ran.ok_or("namespaces cannot be made here: see above")??;
    print(&tally, args.json, seed);
    Ok(Verdict::of(tally.breaches().next().is_some()))
}

fn print(tally: &Tally, is_json: bool, seed: u64) {
    if is_json {
        let mut json = tally.json();
        json["seed"] = seed.into();
        println!("{json}");
        return;
    }
    println!("{}", tally.table());
    println!("{}", tally.histograms());
    println!(
        "{} faults, seed {seed}; times in milliseconds; `told` is the share of all items of all \
         consumers that became stale; `unnoticed` counts updates lost, repeated or swapped without \
         notice",
        tally.episodes()
    );
}
