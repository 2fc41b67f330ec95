//! Runs simulated worlds, and shows the story of one that breaks.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Write as _};
use std::ops::Range;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use tapeline_sim::{Failure, Options, Parties, Planted, Trace, catch, run, shrink};

/// Hubs, servers, sources and consumers in one thread and virtual time.
#[derive(Parser)]
#[command(version)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
struct Cli {
    /// The seeds of the worlds, as FIRST..END.
    #[arg(long, value_parser = seeds, default_value = "0..1000")]
    seeds: Range<u64>,
    /// The seed of one world.
    #[arg(long, conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Print a line an event.
    #[arg(long)]
    trace: bool,
    /// Only these actions of the plan, by number.
    #[arg(long, value_delimiter = ',', requires = "seed")]
    actions: Option<Vec<usize>>,
    /// At most so many hubs, servers, sources, consumers, services and items,
    /// as six numbers with commas.
    #[arg(long, requires = "seed")]
    parties: Option<Parties>,
    /// Plant a fault.
    #[arg(long, default_value = "nothing")]
    planted: Planted,
    /// Print a table of the planted faults, and how many seeds each takes.
    #[arg(long, conflicts_with_all = ["seeds", "seed", "planted"])]
    planted_table: bool,
    /// Leave the story of a world that breaks as it is.
    #[arg(long)]
    no_shrink: bool,
    /// Go on behind worlds that break.
    #[arg(long)]
    keep_going: bool,
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let (first, end) = text.split_once("..").ok_or("seeds are written FIRST..END")?;
    let number = |text: &str| text.parse().map_err(|error| format!("{text}: {error}"));
    Ok(number(first)?..number(end)?)
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let actions = cli.actions.clone().map(|actions| actions.into_iter().collect::<BTreeSet<_>>());
    let trace = if cli.trace { Trace::Print } else { Trace::Off };
    let options = Options { trace, planted: cli.planted, actions, parties: cli.parties };
    let seeds = cli.seed.map_or(cli.seeds.clone(), |seed| seed..seed + 1);
    // What panics is printed with its seed, and while a story is made short it
    // does so often.
    if !cli.trace {
        std::panic::set_hook(Box::new(|_| {}));
    }
    if cli.planted_table {
        return planted_table();
    }
    let (began, mut virtual_time, mut events, mut failed) =
        (Instant::now(), Duration::ZERO, 0, 0_u64);
    let mut ran = 0;
    for seed in seeds {
        ran += 1;
        match run(seed, &options) {
            Ok(summary) => {
                virtual_time += summary.virtual_time;
                events += summary.events;
            }
            Err(failure) => {
                failed += 1;
                report(&cli, *failure);
                if !cli.keep_going {
                    break;
                }
            }
        }
    }
    let s = began.elapsed().as_secs_f64();
    let (hours, per_s) = (virtual_time.as_secs_f64() / 3600.0, ran as f64 / s);
    say(format_args!(
        "{ran} seeds in {s:.1} s, {per_s:.1} a second; {hours:.2} virtual hours, {events} events; {failed} broken"
    ));
    if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Prints a line, if anybody still reads.
fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stdout(), "{line}");
}

/// Most worlds that are run to find a planted fault.
const MOST_FOR_PLANTED: u64 = 1000;

fn planted_table() -> ExitCode {
    let mut is_complete = true;
    say(format_args!("| fault | what is wrong | seeds | found as |\n|---|---|---|---|"));
    for planted in Planted::all() {
        let caught = catch(planted, MOST_FOR_PLANTED);
        is_complete &= caught.what.is_some();
        say(format_args!("{caught}"));
    }
    if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn report(cli: &Cli, failure: Failure) {
    say(format_args!("{failure}"));
    if !cli.no_shrink && !cli.trace {
        say(format_args!("shortest: {}", shrink(failure)));
    }
}
