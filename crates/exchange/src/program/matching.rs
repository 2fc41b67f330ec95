//! `tapeline exchange match`: a flow of orders through the engine.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use serde_json::json;
use tapeline_ending::Verdict;
use tapeline_exchange::{Flow, Runner, hash};

use super::failure::Failure;

/// Run a flow of orders through the matching engine: the hash of the result, and
/// messages a second
///
/// The file is one of flash1-dev/matching-engine-benchmark, compressed with zstd
/// or not. Times are of matching and of writing reports to memory; reading the
/// file and the hash are not in them.
///
/// Exit status: 0; 1 if the result is not what `--expect` says, 2 if the file
/// cannot be read.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The flow of orders
    #[arg(long, value_name = "FILE")]
    flow: PathBuf,

    /// Run it several times, each with an engine of its own
    #[arg(long)]
    bench: bool,

    /// How often `--bench` runs it
    #[arg(long, value_name = "N", default_value_t = 9, requires = "bench")]
    turns: u32,

    /// What the SHA-256 must be
    #[arg(long, value_name = "SHA256")]
    expect: Option<String>,

    /// One JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Runs the subcommand.
pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let flow = Flow::open(&args.flow)?;
    let turns = if args.bench { args.turns.max(1) } else { 1 };
    let mut rates = Vec::new();
    let mut reports = Vec::new();
    for _ in 0..turns {
        let mut runner = Runner::new(&flow)?;
        let start = Instant::now();
        runner.run(flow.messages());
        rates.push(flow.messages().len() as f64 / start.elapsed().as_secs_f64());
        reports = runner.into_reports();
    }
    rates.sort_by(f64::total_cmp);
    let (low, median, high) = (rates[0], rates[rates.len() / 2], rates[rates.len() - 1]);
    let hash = hash(&mut reports);
    let is_expected = args.expect.as_ref().is_none_or(|expected| *expected == hash);
    let mut out = io::stdout().lock();
    if args.json {
        let found = json!({
            "flow": args.flow.display().to_string(),
            "messages": flow.messages().len(),
            "reports": reports.len(),
            "sha256": hash,
            "is_expected": is_expected,
            "messages_per_s": { "median": median, "low": low, "high": high, "turns": turns },
        });
        writeln!(out, "{found}")?;
    } else {
        let million = |rate: f64| format!("{:.2}", rate / 1e6);
        writeln!(out, "messages  {:>12}", flow.messages().len())?;
        writeln!(out, "reports   {:>12}", reports.len())?;
        writeln!(out, "rate      {:>12} M/s", million(median))?;
        if turns > 1 {
            let (low, high) = (million(low), million(high));
            writeln!(out, "          {low:>12} to {high} in {turns} turns")?;
        }
        let verdict = match &args.expect {
            None => "",
            Some(_) if is_expected => "  as expected",
            Some(_) => "  NOT as expected",
        };
        writeln!(out, "sha256    {hash}{verdict}")?;
    }
    Ok(Verdict::of(!is_expected))
}
