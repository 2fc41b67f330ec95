//! What many servers behind one hub cost, up to a hundred of them and a million items:
//!
//! ```text
//! cargo run --release -p tapeline-sim --example scale -- --servers 1,10 --items 10000
//! cargo run --release -p tapeline-sim --example scale -- --page docs/scale.md --json scale.json
//! ```
//!
//! Times are those of this thread on its processor, memory is what allocations of a
//! party leave.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use clap::Parser;
use rustix::time::{ClockId, clock_gettime};
use tapeline_sim::scale::{Gauges, Phase, Row, Size, by_phase, json, measure_until, table};

/// What many servers behind one hub cost.
#[derive(Parser)]
struct Cli {
    /// How many servers, of each system that is measured.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 10, 30, 100])]
    servers: Vec<usize>,
    /// How many items, of each system that is measured.
    #[arg(long, value_delimiter = ',', default_values_t = [10_000, 100_000, 1_000_000])]
    items: Vec<u32>,
    /// Changes of items a second, where they change.
    #[arg(long, default_value_t = 2_000)]
    rate: u32,
    /// The last phase: those after it are left out.
    #[arg(long, default_value = Phase::RestartTogether.name())]
    until: Phase,
    /// Write the figures there.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Write the page of the documentation there.
    #[arg(long)]
    page: Option<PathBuf>,
}

/// The page, with a place for the processor, one for the rate and one for the tables.
const PAGE: &str = include_str!("page.txt");

fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn freed_bytes(drop_it: &mut dyn FnMut()) -> u64 {
    let freed = allocation_counter::measure(drop_it).bytes_current;
    (0..TIMES_AFTER_END).for_each(|_| put_in_order());
    u64::try_from(-freed).unwrap_or_default()
}

/// How often it takes what is below until nothing of a hub with a million items is left.
const TIMES_AFTER_END: usize = 2_000;

/// Pieces of memory so long that the GNU allocator first puts in order what it was given
/// back, 10,000 pieces at a time. That it does before it gives any, to whoever asks next.
const ASKED_BYTES: usize = 2 << 10;

/// One that was given back a moment ago, and is as long as what is asked for, spares it that.
const LENGTHS: usize = 64;

fn put_in_order() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    for _ in 0..2 {
        let length = ASKED_BYTES + 32 * (ASKED.fetch_add(1, Relaxed) % LENGTHS);
        std::hint::black_box(Vec::<u8>::with_capacity(length));
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            let _ = writeln!(io::stderr(), "{what}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<(), String> {
    let gauges = Gauges {
        thread_ns: Some(thread_ns),
        freed_bytes: Some(freed_bytes),
        put_in_order: Some(put_in_order),
    };
    let mut all: Vec<Row> = Vec::new();
    for items in &cli.items {
        for servers in &cli.servers {
            let began = Instant::now();
            let size = Size { servers: *servers, items: *items, changes_per_s: cli.rate };
            let rows = measure_until(size, gauges, cli.until)?;
            let _ = writeln!(io::stdout(), "{}", table(&rows));
            let s = began.elapsed().as_secs_f64();
            let _ = writeln!(io::stderr(), "{servers} servers, {items} items: {s:.1} s");
            all.extend(rows);
            // It goes on for long: what is known so far is not lost.
            write_all(cli, &all)?;
        }
    }
    Ok(())
}

fn write_all(cli: &Cli, all: &[Row]) -> Result<(), String> {
    if let Some(path) = &cli.json {
        write(path, &json(all))?;
    }
    if let Some(path) = &cli.page {
        let page = PAGE.replace("{processor}", &processor());
        let page = page.replace("{rate}", &cli.rate.to_string());
        write(path, &page.replace("{tables}", by_phase(all).trim_end()))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text)
        .map_err(|error| format!("{}: {error}; name a file that can be written", path.display()))
}

/// What the processor calls itself.
fn processor() -> String {
    let said = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = said.lines().find(|line| line.starts_with("model name"));
    let model = model.and_then(|line| line.split_once(':')).map(|(_, model)| model.trim());
    model.unwrap_or("unknown").to_owned()
}
