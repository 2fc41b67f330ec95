//! Rows of the highest rates.

use std::time::Duration;

use tapeline_measure::histogram::median;

use super::row::{Name, Row};
use crate::clients::Reading;
use crate::plan::Plan;
use crate::procedures::{Found, Goal, beside_floor, measurement, search};
use crate::record::Measurement;
use crate::run::Run;
use crate::system::System;
use crate::{BenchError, Options, Output};

pub(super) const ONE_CLIENT: &[Name] = &[
    (
        "highest rate, mean below 1 ms, 100,000 items, all decoded",
        "updates/s",
        "above 1.65 M, then 3 M",
    ),
    ("highest rate, no fan-out, 100,000 items", "updates/s", "above 1.8 M, then 3 M"),
    ("100,000-item watchlist: login to last image, median", "s", "below 1"),
];
pub(super) const FAN_OUT: &[Name] = &[
    (
        "Producer 50/50, 100 mounts, outbound a CPU second of hub and server",
        "updates",
        "at least half of the floor",
    ),
    ("Producer 50/50, 100 mounts, outbound, highest rate", "updates/s", "above 10.1 M"),
];

/// Items of the watchlist.
const ITEMS: usize = 100_000;

/// Where searches begin, in updates a second of the source.
const FROM: u64 = 800_000;
const FROM_FAN_OUT: u64 = 100_000;

/// The time to the last image is the median of at least so many starts.
const STARTS: usize = 5;

/// How long the floor of the fan-out is measured, and the fan-out in turns with it, at most.
const FLOOR: Duration = Duration::from_secs(1);

const MILLISECOND_NS: f64 = 1e6;

fn is_slow(run: &Run) -> Option<String> {
    let mean_ns = run.from_schedule.mean();
    (mean_ns >= MILLISECOND_NS).then(|| format!("the mean was {:.2} ms", mean_ns / 1e6))
}

pub(super) fn one_client(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    let plan = Plan::one_client(ITEMS, Reading::Fields);
    let goal = Goal { name: "quick: mean below 1 ms", from: FROM, or_else: &is_slow };
    let decoded = search(&goal, &plan, options, out)?;
    tell("latency", &plan, options, &decoded, out);
    let plan = Plan::one_client(ITEMS, Reading::Headers);
    let goal = Goal { name: "quick: no fan-out", from: FROM, or_else: &|_| None };
    let plain = search(&goal, &plan, options, out)?;
    tell("throughput", &plan, options, &plain, out);
    Ok(vec![
        rate(&ONE_CLIENT[0], &decoded, 1.65e6),
        rate(&ONE_CLIENT[1], &plain, 1.8e6),
        images(&plan, [&decoded, &plain], options, out)?,
    ])
}

fn rate(name: &Name, found: &Found, published: f64) -> Row {
    let Some(run) = &found.run else { return Row::none(name, &found.stopped_by) };
    let per_s = run.achieved_per_s();
    // The published limit is one aim, and the project's own another.
    let text = match per_s {
        _ if per_s >= 3e6 => "both are met",
        _ if per_s > published => "the first is met",
        _ => "neither is met",
    };
    let row = Row::of(name, per_s).met(per_s >= 3e6);
    row.because(format!("{text}; stopped by: {}", found.stopped_by))
}

/// Searches make a system anew when one was broken; what is missing for a
/// median is started here.
fn images(
    plan: &Plan,
    found: [&Found; 2],
    options: &Options,
    out: &mut dyn Output,
) -> Result<Row, BenchError> {
    let starts = found.into_iter().flat_map(|found| &found.ready_after);
    let mut seconds: Vec<f64> = starts.map(Duration::as_secs_f64).collect();
    while seconds.len() < STARTS {
        out.progress("quick: images of a watchlist");
        let system = System::start(plan, &options.setup, options.patience)?;
        seconds.push(system.ready_after.as_secs_f64());
    }
    let (count, middle) = (seconds.len(), median(seconds.iter().copied()));
    let worst = seconds.into_iter().fold(0.0, f64::max);
    let row = Row::of(&ONE_CLIENT[2], middle).met(middle < 1.0);
    Ok(row.because(format!("of {count} starts, the slowest {worst:.2} s")))
}

pub(super) fn fan_out(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    let Options { mounts, common_items: common, own_items: own, clients, .. } = *options;
    // The floors, and the runs in turns with them, are brief.
    let options = &Options { time: options.time.min(FLOOR), ..options.clone() };
    let plan = Plan { reading: clients.reading(), ..Plan::fifty_fifty(mounts, common, own) };
    let goal = Goal { name: "quick: producer 50/50", from: FROM_FAN_OUT, or_else: &|_| None };
    let beside = beside_floor(&goal, &plan, options, out)?;
    let Some(run) = &beside.found.run else {
        return Ok(Row::missing(FAN_OUT, &beside.found.stopped_by).collect());
    };
    let result = beside.result(&plan, options);
    out.record(result.clone());
    let full = result.full.unwrap_or_else(|| "not told".to_owned());
    let why = format!(
        "{} items a mount, {:.0} in/s; full: {full}; stopped by: {}",
        common + own,
        run.achieved_per_s(),
        beside.found.stopped_by
    );
    let per_s = run.out_per_s();
    let highest = Row::of(&FAN_OUT[1], per_s).beside(beside.floor(|its| its.updates_per_s));
    let floor = beside.floor(|its| its.per_busy_cpu_second);
    let per_cpu_s = match beside.run(Run::per_busy_cpu_second) {
        Some(ours) => Row::of(&FAN_OUT[0], ours).beside(floor).met(ours >= 0.5 * floor),
        None => Row::none(&FAN_OUT[0], "how busy the server was is not told"),
    };
    let memory = format!("{:.1} M copies/CPU s in memory alone", beside.copies_per_cpu_s / 1e6);
    Ok(vec![per_cpu_s.because(memory), highest.met(per_s > 10.1e6).because(why)])
}

fn tell(procedure: &str, plan: &Plan, options: &Options, found: &Found, out: &mut dyn Output) {
    let Some(run) = &found.run else { return };
    out.record(Measurement {
        stopped_by: Some(found.stopped_by.clone()),
        update_bytes: Some(found.wire_bytes as u64),
        ..measurement(procedure, options, plan, run)
    });
}
