//! The longest turn of hub and server while something large happens to them,
//! and the memory of mounts that do not read.
//!
//! ```text
//! cargo run --release -p tapeline-bench --example turns
//! cargo run --release -p tapeline-bench --example turns -- source-lost resume --runs 1
//! cargo run --release -p tapeline-bench --example turns -- memory --mounts 1000
//! ```
//!
//! Sources, hubs, server and clients are one thread: nobody waits for another,
//! and only the turns of hubs and server are timed. Sockets are real, between
//! hubs and server there is Aeron over shared memory. See `docs/measuring.md`.

mod clients;
mod meter;
mod scenarios;
mod source;
mod world;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use meter::Meter;
use scenarios::{Found, Scale};
use serde_json::json;
use world::Phase;

/// Why nothing could be measured.
type Failure = Box<dyn std::error::Error>;

#[derive(Parser)]
struct Arguments {
    /// What happens; without it all but `memory`.
    scenarios: Vec<Scenario>,
    /// How often; each figure is of the run with the shortest longest turn.
    #[arg(long, default_value_t = 3)]
    runs: usize,
    /// Of the numbers of items, for a quick look.
    #[arg(long, default_value_t = 100)]
    percent: usize,
    /// Mounts that stop reading, of `memory`. One of 5,000 items may take 15 MB.
    #[arg(long, default_value_t = 1_000)]
    mounts: usize,
    /// Adds a line for each phase to this file.
    #[arg(long)]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// A source of 500,000 items is lost, and comes back.
    SourceLost,
    /// A mount of 100,000 items is gone.
    MountGone,
    /// 400 mounts of 5,000 items each open them, and are gone at once.
    MountsGone,
    /// 50 services with 500,000 items at two hubs change.
    Directory,
    /// The same at one hub, whose source takes half of the items.
    OpenLimit,
    /// 50 mounts of 5,000 items stop reading, and go on.
    Resume,
    /// `--mounts` of them.
    Memory,
}

impl Scenario {
    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn run(self, scale: Scale) -> Result<Found, Failure> {
        match self {
            Self::SourceLost => scenarios::source_lost(scale),
            Self::MountGone => scenarios::mount_gone(scale),
            Self::MountsGone => scenarios::mounts_gone(scale),
            Self::Directory => scenarios::directory(scale),
            Self::OpenLimit => scenarios::open_limit(scale),
            Self::Resume => scenarios::resume(scale),
            Self::Memory => scenarios::memory(scale),
        }
    }
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let scale = Scale { percent: arguments.percent, mounts: arguments.mounts };
    let all = Scenario::value_variants().iter().copied();
    let scenarios: Vec<Scenario> = match arguments.scenarios.is_empty() {
        true => all.filter(|scenario| *scenario != Scenario::Memory).collect(),
        false => arguments.scenarios,
    };
    let mut file = arguments.json.map(File::create).transpose()?;
    println!("{HEAD}");
    for scenario in scenarios {
        let name = scenario.name();
        let found = match best_of(arguments.runs.max(1), || scenario.run(scale)) {
            Ok(found) => found,
            Err(failure) => {
                println!("{name:<12} {failure}");
                continue;
            }
        };
        for phase in &found.phases {
            print_phase(&name, phase);
            if let Some(file) = &mut file {
                writeln!(file, "{}", to_json(&name, phase))?;
            }
        }
        for (moment, bytes) in &found.memory {
            println!("{name:<12} {moment:<14} memory {:>8.1} MiB", *bytes as f64 / MIB);
            if let Some(file) = &mut file {
                writeln!(file, "{}", json!({"scenario": name, "at": moment, "bytes": bytes}))?;
            }
        }
    }
    Ok(())
}

const MIB: f64 = 1_048_576.0;

/// Runs it so often, and takes for each phase and role the run with the
/// shortest longest turn. Memory is that of the first run: what a later one
/// finds freed and not given back would be missing.
fn best_of(runs: usize, run: impl Fn() -> Result<Found, Failure>) -> Result<Found, Failure> {
    let mut best = run()?;
    for _ in 1..runs {
        let other = run()?;
        let phases = best.phases.into_iter().zip(other.phases);
        best.phases = phases
            .map(|(phase, other)| Phase {
                hub: phase.hub.better(other.hub),
                server: phase.server.better(other.server),
                time: phase.time.min(other.time),
                trouble: phase.trouble.or(other.trouble),
                ..phase
            })
            .collect();
    }
    Ok(best)
}

const HEAD: &str = "\
                            hub: longest, ms   turns above   server: longest, ms   turns above
scenario     phase           CPU     wall     1 ms    2 ms    CPU      wall     1 ms    2 ms   seconds";

fn print_phase(scenario: &str, phase: &Phase) {
    let Phase { name, hub, server, time, trouble } = phase;
    println!(
        "{scenario:<12} {name:<14} {} {}  {:>7.2}  {}",
        columns(hub),
        columns(server),
        time.as_secs_f64(),
        trouble.as_deref().unwrap_or_default()
    );
}

fn columns(meter: &Meter) -> String {
    format!(
        "{:>8.2} {:>8.2} {:>8} {:>7}",
        meter.longest_cpu.as_secs_f64() * 1e3,
        meter.longest_wall.as_secs_f64() * 1e3,
        meter.above_1_ms,
        meter.above_2_ms
    )
}

fn to_json(scenario: &str, phase: &Phase) -> serde_json::Value {
    let role = |meter: &Meter| {
        json!({
            "longest_cpu_us": meter.longest_cpu.as_micros() as u64,
            "longest_wall_us": meter.longest_wall.as_micros() as u64,
            "above_1_ms": meter.above_1_ms,
            "above_2_ms": meter.above_2_ms,
            "turns": meter.turns,
            "cpu_ms": meter.cpu.as_millis() as u64,
        })
    };
    json!({
        "scenario": scenario,
        "phase": phase.name,
        "hub": role(&phase.hub),
        "server": role(&phase.server),
        "seconds": phase.time.as_secs_f64(),
        "trouble": phase.trouble,
    })
}
