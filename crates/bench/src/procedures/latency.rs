//! Latency at set rates, in turns with the floor.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;
use std::time::{Duration, SystemTime};

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use tapeline_measure::table::{Table, micros, rate};

use super::search::Kept;
use super::{floor_measurement, measurement};
use crate::clients::Reading;
use crate::floor;
use crate::options::sweep_rates;
use crate::plan::Plan;
use crate::record::{Distribution, Measurement};
use crate::run::{OURS, Run};
use crate::system::Load;
use crate::{BenchError, Options, Output};

/// The floor of a round takes no longer than this.
const FLOOR: Duration = Duration::from_secs(2);

/// Where a sweep ends that nothing else ends.
const HIGHEST_RATE: u64 = 20_000_000;

/// A thread that spins on a core of its own has it for this share of the time
/// at least.
const OWN_CORE: f64 = 0.98;

/// The columns of the published tests in their order, then ours.
const HEAD: [&str; 18] = [
    "rate",
    "µs from",
    "mean",
    "stdev",
    "max",
    "min",
    "points",
    "p50",
    "p99",
    "p99.9",
    "p99.99",
    "p50/floor",
    "p99/floor",
    "achieved",
    "CPU s",
    "lost",
    "gaps",
    "conflated",
];

/// Every rate of every round, and the floor of each round.
pub(crate) fn latency(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let plan = Plan::one_client(options.latency_items, Reading::Fields);
    let rates = match options.is_sweep {
        true => sweep_rates(HIGHEST_RATE),
        false => options.rates.clone(),
    };
    let mut all: Vec<Measurement> = Vec::new();
    for round in 1..=options.rounds.max(1) {
        out.progress(&format!("latency: round {round}, floor"));
        let time = options.time.min(FLOOR);
        // Before the system is there: a thread that spins would be in its way.
        let floor = Distribution::of(&floor::tcp_ping_pong(&options.setup, time)?);
        let paced = Distribution::of(&floor::tcp_paced(&options.setup, time)?);
        for (name, floor) in [("bare TCP", floor), ("bare TCP, paced", paced)] {
            let measured = floor_measurement(name, time.as_secs_f64(), floor);
            out.record(Measurement { round: Some(round), ..measured });
        }
        let mut kept = Kept::new(&plan, options);
        let from = all.len();
        for per_s in &rates {
            out.progress(&format!("latency: round {round}, {}/s", rate(*per_s as f64)));
            let run = one(*per_s, &mut kept, options)?;
            write_hdr(options.hdr_folder.as_deref(), round, &run)?;
            let result = Measurement {
                round: Some(round),
                floor,
                ..measurement("latency", options, &plan, &run)
            };
            out.record(result.clone());
            let holds = result.valid;
            all.push(result);
            if options.is_sweep && !holds {
                break;
            }
        }
        drop(kept);
        show(&all[from..], paced.unwrap_or_default(), round, options, out);
    }
    Ok(())
}

/// One rate. In a sweep, a rate that was too slow is tried once more, since it
/// would end it. One that lost something is not.
fn one(rate: u64, kept: &mut Kept<'_>, options: &Options) -> Result<Run, BenchError> {
    let Options { pacing, warm_up, time, .. } = *options;
    let load = Load { rate, pacing, warm_up, time };
    let run = kept.run(&load)?;
    if options.is_sweep && run.flaw().is_some_and(|flaw| flaw.may_be_chance()) {
        return kept.run(&load);
    }
    Ok(run)
}

fn show(
    results: &[Measurement],
    paced: Distribution,
    round: u32,
    options: &Options,
    out: &mut dyn Output,
) {
    let mut table = Table::new(&HEAD);
    let mut notes = String::new();
    for result in results {
        add_rows(result, &paced, &mut table, &mut notes);
    }
    let floor = results.first().and_then(|result| result.floor).unwrap_or_default();
    let warm_up: f64 = results.iter().map(|result| result.warm_up_dropped_s).sum();
    out.table(&format!(
        "latency in µs, {}, {} items, {} pacing, round {round}\n\
         floor: bare TCP, half a round trip: p50 {}; at 50,000/s from schedule: p50 {}, p99 {}\n\
         {warm_up:.1} s of warm-up dropped in all\n\
         {table}{notes}",
        options.setup.label(),
        options.latency_items,
        options.pacing,
        micros(floor.p50_ns as f64),
        micros(paced.p50_ns as f64),
        micros(paced.p99_ns as f64),
    ));
    if options.is_sweep {
        out.table(&highest(results));
    }
}

/// What a sweep found.
fn highest(results: &[Measurement]) -> String {
    let last = results.iter().rev().find(|result| result.valid);
    let stopped_by = results.last().and_then(|result| result.why_invalid.as_deref());
    let highest = last.and_then(|result| result.rate_per_s);
    format!(
        "max sustained rate: {}; stopped by: {}\n",
        highest.map_or("none".to_owned(), |per_s| format!("{}/s", rate(per_s as f64))),
        stopped_by.unwrap_or("the end of the rates")
    )
}

/// Two rows, one from schedule and one from send. A run that is not valid has
/// a line that says why, and no figures.
fn add_rows(result: &Measurement, paced: &Distribution, table: &mut Table, notes: &mut String) {
    let per_s = rate(result.rate_per_s.unwrap_or(0) as f64);
    let ours = result.cpu_seconds.get(OURS).map_or(1.0, |seconds| seconds / result.seconds);
    if ours < OWN_CORE {
        let _ = writeln!(
            notes,
            "{per_s}/s: source and clients spin and were on a core {:.0} % of the time: other work \
             was in the way",
            ours * 100.0
        );
    }
    if let Some(why) = &result.why_invalid {
        let _ = writeln!(notes, "{per_s}/s: INVALID: {why}");
        return;
    }
    for (from, figures) in [("schedule", result.from_schedule), ("send", result.from_send)] {
        let Some(figures) = figures else { continue };
        let ratio = |ours: u64, floor: u64| match floor {
            0 => "-".to_owned(),
            floor => format!("{:.2}", ours as f64 / floor as f64),
        };
        let floor_p50_ns = result.floor.map_or(0, |floor| floor.p50_ns);
        let mut row = vec![per_s.clone(), from.to_owned()];
        row.extend([figures.mean_ns, figures.stddev_ns].map(micros));
        row.extend([figures.max_ns, figures.min_ns].map(|ns| micros(ns as f64)));
        row.push(figures.count.to_string());
        let percentiles = [figures.p50_ns, figures.p99_ns, figures.p999_ns, figures.p9999_ns];
        row.extend(percentiles.map(|ns| micros(ns as f64)));
        row.push(ratio(figures.p50_ns, floor_p50_ns));
        row.push(ratio(figures.p99_ns, paced.p99_ns));
        row.push(rate(result.achieved_per_s.unwrap_or(0.0)));
        row.push(cpu(result));
        let counts = [Some(result.lost), result.gaps, result.conflated];
        row.extend(counts.map(|count| count.map_or("-".to_owned(), |count| count.to_string())));
        table.row(row);
    }
}

/// Seconds on a processor by part, in the order of their names; a dash if none
/// is known.
pub(super) fn cpu(result: &Measurement) -> String {
    if result.cpu_seconds.is_empty() {
        return "-".to_owned();
    }
    let parts = result.cpu_seconds.iter().map(|(part, s)| format!("{part} {s:.2}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// The latencies from schedule, as a log that HDR tools read.
fn write_hdr(folder: Option<&Path>, round: u32, run: &Run) -> Result<(), BenchError> {
    let Some(folder) = folder else { return Ok(()) };
    fs::create_dir_all(folder)?;
    let path = folder.join(format!("latency-{}-{round}.hlog", run.rate));
    let mut file = BufWriter::new(File::create(&path)?);
    let failed = |what: String| BenchError::HdrLog { path: path.clone(), what };
    write_log(&mut file, &run.from_schedule, run.time).map_err(failed)
}

fn write_log(
    file: &mut BufWriter<File>,
    nanos: &Histogram<u64>,
    time: Duration,
) -> Result<(), String> {
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .with_start_time(SystemTime::now())
        .begin_log_with(file, &mut serializer)
        .map_err(|error| error.to_string())?;
    log.write_histogram(nanos, Duration::ZERO, time, None).map_err(|error| format!("{error:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_does_not_count_has_no_figures() {
        let figures = Distribution { count: 7, p50_ns: 12_345, ..Distribution::default() };
        let valid = Measurement {
            rate_per_s: Some(50_000),
            valid: true,
            from_schedule: Some(figures),
            from_send: Some(figures),
            floor: Some(Distribution { p50_ns: 1_000, p99_ns: 1, ..figures }),
            ..Measurement::default()
        };
        let (mut table, mut notes) = (Table::new(&HEAD), String::new());
        let paced = Distribution { p99_ns: 2_000, ..figures };
        add_rows(&valid, &paced, &mut table, &mut notes);
        let text = table.to_string();
        assert!(text.contains("12.35") && text.lines().count() == 3, "{text}");
        let invalid = Measurement {
            valid: false,
            why_invalid: Some("3 updates were lost".to_owned()),
            ..valid.clone()
        };
        let mut table = Table::new(&HEAD);
        add_rows(&invalid, &paced, &mut table, &mut notes);
        assert_eq!(table.to_string().lines().count(), 1);
        assert_eq!(notes, "50 k/s: INVALID: 3 updates were lost\n");
        let found = "max sustained rate: 50 k/s; stopped by: 3 updates were lost\n";
        assert_eq!(highest(&[valid, invalid.clone()]), found);
        let found = "max sustained rate: none; stopped by: 3 updates were lost\n";
        assert_eq!(highest(&[invalid]), found);
    }
}
