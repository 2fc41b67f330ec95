//! `tapeline-lab size`: what a site of any size needs.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;
use tapeline_bench::size::{self, Costs, Needs, Site};
use tapeline_bench::{Options, Output};
use tapeline_ending::Stop;

use crate::failure::{Failure, Verdict};

/// Says how many servers, cores, memory and network a site needs, by what each thing was
/// measured to cost
///
/// Exit status: 0 when there is an answer, 1 when no number of servers would do or a
/// prediction of --check is not within 20 %, 2 when nothing can be read or measured.
#[derive(ClapArgs)]
pub(crate) struct Args {
    /// Consumers' connections
    #[arg(long, value_name = "N", default_value_t = 100)]
    mounts: u64,
    /// Different items that are open
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    items: u64,
    /// Items that each mount has open, in the mean
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    items_per_mount: u64,
    /// Updates a second that come from sources
    #[arg(long, value_name = "N", default_value_t = 50_000.0)]
    rate: f64,
    /// Mounts that an update goes to, in the mean; without it, as many as watch an item
    #[arg(long, value_name = "N")]
    fan_out: Option<f64>,
    /// Bytes of an update on a mount's connection; without it, as measured
    #[arg(long, value_name = "BYTES")]
    update_bytes: Option<f64>,
    /// Share of the time for which a thread may be busy
    #[arg(long, value_name = "SHARE", default_value_t = 0.7)]
    busy: f64,
    /// Updates out a second that one server carries here, as `bench knee` found: its
    /// number of servers is told beside
    #[arg(long, value_name = "N")]
    knee_out: Option<f64>,
    /// What things cost, as --measure --json wrote it; without it, as docs/sizing.md has it
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// Measure what things cost on this machine
    #[arg(long)]
    measure: bool,
    /// Hold three predicted rates against measured ones
    #[arg(long, conflicts_with = "measure")]
    check: bool,
    /// Items over which the cost of one is measured
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    sample: usize,
    /// Turns of each measurement
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: u32,
    /// Write what things cost, or with neither --measure nor --check what is needed, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the page of what things cost
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
}

struct Terminal;

impl Output for Terminal {
    fn table(&mut self, text: &str) {
        println!("{text}");
    }
}

pub(crate) fn run(args: &Args) -> Result<Verdict, Failure> {
    let items = args.sample.max(1);
    let options = Options { rounds: args.rounds, items, ..Options::default() };
    if args.measure || args.check {
        let stop = Stop::on_signals(None).map_err(Failure::Signals)?;
        tapeline_bench::interrupt_when(stop.flag());
    }
    let costs = match (args.measure, &args.costs) {
        (true, _) => size::measure(&options, &mut Terminal)?,
        (false, Some(file)) => read(file)?,
        (false, None) => Costs::measured(),
    };
    if let Some(page) = &args.page {
        fs::write(page, size::page(&costs)).map_err(Failure::creating(page))?;
    }
    if args.check {
        return Ok(Verdict::of(!size::check(&costs, &options, &mut Terminal)?));
    }
    if args.measure {
        match &args.json {
            Some(file) => fs::write(file, costs.to_json()).map_err(Failure::creating(file))?,
            None => print!("{}", costs.to_json()),
        }
        return Ok(Verdict::Good);
    }
    answer(args, &costs)
}

fn read(file: &Path) -> Result<Costs, Failure> {
    let wrong = |why: String| {
        let text = format!("{}: {why}; `size --measure --json FILE` writes one", file.display());
        Failure::Setting(text)
    };
    let text = fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    Costs::from_json(&text).map_err(wrong)
}

fn site(args: &Args) -> Result<Site, Failure> {
    let shares =
        [args.busy, args.rate, args.fan_out.unwrap_or(1.0), args.update_bytes.unwrap_or(1.0)];
    let counts = [args.mounts, args.items, args.items_per_mount];
    if counts.contains(&0) || shares.iter().any(|it| !it.is_finite() || *it <= 0.0) {
        let text = "mounts, items, rates, bytes and shares are above 0";
        return Err(Failure::Setting(text.to_owned()));
    }
    if args.busy > 1.0 {
        let text = format!("--busy is {}; give a share of the time, up to 1", args.busy);
        return Err(Failure::Setting(text));
    }
    Ok(Site {
        mounts: args.mounts,
        items: args.items,
        rate_per_s: args.rate,
        items_per_mount: args.items_per_mount,
        fan_out: args.fan_out,
        update_wire_bytes: args.update_bytes,
        busy_most: args.busy,
    })
}

fn answer(args: &Args, costs: &Costs) -> Result<Verdict, Failure> {
    let needs = match site(args)?.needs(costs) {
        Ok(needs) => needs,
        Err(error) => {
            println!("{error}");
            return Ok(Verdict::Bad);
        }
    };
    print!("{}", needs.table());
    println!(
        "cores: 1 for the hub, 1 for each server or shard, and a share of one for the threads \
         that wait: {} in all",
        needs.servers + 1
    );
    if let Some(knee) = args.knee_out.filter(|knee| *knee > 0.0) {
        println!("by the knee that was measured: {:.0} servers", (needs.out_per_s / knee).ceil());
    }
    println!("costs: measured on {}; what this leaves out: docs/sizing.md", costs.processor);
    if let Some(file) = &args.json {
        fs::write(file, json(&needs)).map_err(Failure::creating(file))?;
    }
    Ok(Verdict::Good)
}

fn json(needs: &Needs) -> String {
    let part = |part: &size::PartNeeds| {
        serde_json::json!({
            "cores": part.cores,
            "memoryBytes": part.memory_bytes,
            "inBytesPerS": part.in_bytes_per_s,
            "outBytesPerS": part.out_bytes_per_s,
        })
    };
    let all = serde_json::json!({
        "fanOut": needs.fan_out,
        "servers": needs.servers,
        "updatesOutPerS": needs.out_per_s,
        "openingS": needs.opening_s,
        "hub": part(&needs.hub),
        "server": part(&needs.server),
    });
    format!("{all:#}\n")
}
