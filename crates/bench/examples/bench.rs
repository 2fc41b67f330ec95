//! A set number of updates with everything in one thread, for instruction
//! counts. What is measured with a clock is `tapeline bench`.
//!
//! ```text
//! cargo build --release -p tapeline-bench --example bench
//! valgrind --tool=callgrind target/release/examples/bench count-batch --updates 12800
//! valgrind --tool=callgrind target/release/examples/bench count-batch --updates 25600
//! ```
//!
//! The difference of two runs, divided by that of their updates, is the cost of
//! one; the same with `--eyes-open`, beside it, what it costs to be looked at.

use clap::{Parser, ValueEnum};
use tapeline_bench::{ClientKind, Counted, Eyes, Options, Workload};

#[derive(Parser)]
struct Arguments {
    what: What,
    /// Updates to send.
    #[arg(long, default_value_t = 10_000)]
    updates: u64,
    /// Items of the one client.
    #[arg(long, default_value_t = 1_000)]
    items: usize,
    /// Client connections of the fan-out.
    #[arg(long, default_value_t = 100)]
    mounts: usize,
    /// Items that all mounts have, and again that each has for itself.
    #[arg(long, default_value_t = 500)]
    fanout_items: usize,
    /// Clients of the fan-out: lean, or api, as applications have them.
    #[arg(long, default_value = "api")]
    clients: ClientKind,
    /// Hub and server keep images.
    #[arg(long)]
    cache: bool,
    /// With all that a running process counts, publishes and stamps.
    #[arg(long)]
    eyes_open: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    /// One update in a turn.
    #[value(name = "count-single")]
    Single,
    /// 64 updates in a turn.
    #[value(name = "count-batch")]
    Batch,
    /// The same to all mounts.
    #[value(name = "count-fanout")]
    Fanout,
}

fn main() -> Result<(), tapeline_bench::BenchError> {
    let arguments = Arguments::parse();
    let mut options = Options {
        latency_items: arguments.items,
        mounts: arguments.mounts,
        common_items: arguments.fanout_items,
        own_items: arguments.fanout_items,
        clients: arguments.clients,
        ..Options::default()
    };
    options.setup.cache = arguments.cache;
    let workload = match arguments.what {
        What::Single => Workload::Single,
        What::Batch => Workload::Batch,
        What::Fanout => Workload::Fanout,
    };
    let eyes = if arguments.eyes_open { Eyes::Open } else { Eyes::Closed };
    let Counted { out, turns } =
        tapeline_bench::count(workload, arguments.updates, eyes, &options)?;
    println!("{} in, {out} out, {turns} turns", arguments.updates);
    Ok(())
}
