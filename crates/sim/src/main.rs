//! Runs simulated worlds, and shows the story of one that breaks.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, IsTerminal as _, Write as _};
use std::num::NonZeroUsize;
use std::ops::Range;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
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
    /// None of the actions of the plan.
    #[arg(long, requires = "seed", conflicts_with = "actions")]
    no_actions: bool,
    /// At most so many hubs, servers, sources, publishers, consumers, services,
    /// quotes and books, as eight numbers with commas.
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
    /// How many worlds run at a time, each on a thread. Default: as many as
    /// there are cores.
    #[arg(long)]
    threads: Option<NonZeroUsize>,
}

fn seeds(text: &str) -> Result<Range<u64>, String> {
    let (first, end) = text.split_once("..").ok_or("seeds are written FIRST..END")?;
    let number = |text: &str| text.parse().map_err(|error| format!("{text}: {error}"));
    Ok(number(first)?..number(end)?)
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // What panics is printed with its seed, and while a story is made short it
    // does so often.
    if !cli.trace {
        std::panic::set_hook(Box::new(|_| {}));
    }
    if cli.planted_table {
        return planted_table();
    }
    let began = Instant::now();
    let tally = run_all(&cli);
    let Tally { ran, broken, virtual_time, events } = tally;
    let s = began.elapsed().as_secs_f64();
    let (hours, per_s) = (virtual_time.as_secs_f64() / 3600.0, ran as f64 / s);
    say(format_args!(
        "{ran} seeds in {s:.1} s, {per_s:.1} a second; {hours:.2} virtual hours, {:.0} an hour; \
         {events} events; {broken} broken",
        hours / s * 3600.0
    ));
    if broken > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// What came of all worlds.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    ran: u64,
    broken: u64,
    virtual_time: Duration,
    events: u64,
}

/// Runs all worlds that are asked for: as many at a time as there are threads,
/// each of which takes the next seed.
fn run_all(cli: &Cli) -> Tally {
    let actions = cli.actions.clone().map(|actions| actions.into_iter().collect::<BTreeSet<_>>());
    let actions = if cli.no_actions { Some(BTreeSet::new()) } else { actions };
    let trace = if cli.trace { Trace::Print } else { Trace::Off };
    let options = Options { trace, planted: cli.planted, actions, parties: cli.parties };
    let seeds = cli.seed.map_or(cli.seeds.clone(), |seed| seed..seed + 1);
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let threads = cli.threads.unwrap_or(cores).get().min(seeds.clone().count().max(1));
    let (next, tally) = (AtomicU64::new(seeds.start), Mutex::new(Tally::default()));
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let ran = run(seed, &options);
            let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
            tally.ran += 1;
            match ran {
                Ok(summary) => {
                    tally.virtual_time += summary.virtual_time;
                    tally.events += summary.events;
                }
                Err(failure) => {
                    tally.broken += 1;
                    if !cli.keep_going {
                        next.store(seeds.end, Ordering::Relaxed);
                    }
                    report(cli, *failure);
                }
            }
            if tally.ran.is_multiple_of(REPORTED_SEEDS) {
                tell_progress(&tally, &seeds);
            }
        }
    };
    std::thread::scope(|scope| (0..threads).for_each(|_| _ = scope.spawn(work)));
    *tally.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Worlds between two lines on how far it is.
const REPORTED_SEEDS: u64 = 1000;

/// Says how far it is to somebody who watches.
fn tell_progress(tally: &Tally, seeds: &Range<u64>) {
    if io::stderr().is_terminal() {
        let Tally { ran, broken, .. } = tally;
        let all = seeds.end - seeds.start;
        let _ = write!(io::stderr(), "\r{ran} of {all} worlds, {broken} broken ");
    }
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
