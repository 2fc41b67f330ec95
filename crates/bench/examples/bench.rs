//! Runs the procedures.
//!
//! ```text
//! cargo run --release -p tapeline-bench --example bench -- all --seconds 5 --json bench.json
//! ```

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};
use tapeline_bench::{Options, Output, Procedure, Value, Workload};

/// Measures the whole path beside what this machine does without us.
#[derive(Parser)]
struct Arguments {
    what: What,
    /// Writes results as JSON, one a line.
    #[arg(long)]
    json: Option<PathBuf>,
    /// How long each run is measured.
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// How long each run goes on before it is measured.
    #[arg(long, default_value_t = 1.0)]
    warm_up: f64,
    /// Updates a second: of the latency procedure, or where a search begins.
    #[arg(long, value_delimiter = ',')]
    rate: Vec<u64>,
    /// Turns of floor and measurement.
    #[arg(long, default_value_t = 2)]
    rounds: u32,
    /// Items of the latency or throughput procedure.
    #[arg(long)]
    items: Option<usize>,
    /// Client connections of the fan-out procedure.
    #[arg(long)]
    mounts: Option<usize>,
    /// Items that all mounts have, and again that each has for itself.
    #[arg(long)]
    fanout_items: Option<usize>,
    /// Hub and server keep images.
    #[arg(long)]
    cache: bool,
    /// Hub and server yield when they have nothing to do.
    #[arg(long = "yield")]
    yields: bool,
    /// Updates to send, for instruction counts.
    #[arg(long, default_value_t = 10_000)]
    updates: u64,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum What {
    Floor,
    Latency,
    Throughput,
    Fanout,
    All,
    /// A set number of updates in one thread, one in a turn.
    CountSingle,
    /// The same, 64 in a turn.
    CountBatch,
    /// The same to all mounts.
    CountFanout,
}

struct Terminal {
    json: Option<BufWriter<File>>,
}

impl Output for Terminal {
    fn table(&mut self, text: &str) {
        println!("{text}");
    }

    fn progress(&mut self, text: &str) {
        eprintln!("{text}");
    }

    fn result(&mut self, result: &Value) {
        if let Some(json) = &mut self.json
            && let Err(error) = writeln!(json, "{result}").and_then(|()| json.flush())
        {
            eprintln!("results are not written any more: {error}");
            self.json = None;
        }
    }
}

fn options(arguments: &Arguments) -> Options {
    let mut options = Options {
        time: Duration::from_secs_f64(arguments.seconds),
        warm_up: Duration::from_secs_f64(arguments.warm_up),
        rounds: arguments.rounds,
        cache: arguments.cache,
        ..Options::default()
    };
    if arguments.yields {
        options.idle = tapeline_channel::Idle::Yield;
    }
    if let Some(first) = arguments.rate.first() {
        options.search_from = Some(*first);
        options.rates.clone_from(&arguments.rate);
    }
    if let Some(items) = arguments.items {
        (options.items, options.latency_items) = (items, items);
    }
    if let Some(mounts) = arguments.mounts {
        options.mounts = mounts;
    }
    if let Some(items) = arguments.fanout_items {
        (options.common_items, options.own_items) = (items, items);
    }
    options
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arguments::parse();
    let options = options(&arguments);
    let json = arguments.json.as_ref().map(File::create).transpose()?.map(BufWriter::new);
    let mut out = Terminal { json };
    let counted = match arguments.what {
        What::CountSingle => Some(Workload::Single),
        What::CountBatch => Some(Workload::Batch),
        What::CountFanout => Some(Workload::Fanout),
        _ => None,
    };
    if let Some(workload) = counted {
        let received = tapeline_bench::count(workload, arguments.updates, &options)?;
        println!("{} in, {received} out", arguments.updates);
        return Ok(());
    }
    let procedures = match arguments.what {
        What::Floor => vec![Procedure::Floor],
        What::Latency => vec![Procedure::Latency],
        What::Throughput => vec![Procedure::Throughput],
        What::Fanout => vec![Procedure::Fanout],
        _ => Procedure::ALL.to_vec(),
    };
    tapeline_bench::run(&procedures, &options, &mut out)?;
    Ok(())
}
