//! Rows of the highest rates.

use std::time::Duration;

use super::row::{Name, Row};
use crate::clients::Reading;
use crate::plan::Plan;
use crate::procedures::{Found, Goal, measurement, search};
use crate::record::Measurement;
use crate::run::Run;
use crate::{BenchError, Options, Output, floor};

pub(super) const ONE_CLIENT: &[Name] = &[
    (
        "highest rate, mean below 1 ms, 100,000 items, all decoded",
        "updates/s",
        "above 1.65 M, then 3 M",
    ),
    ("highest rate, no fan-out, 100,000 items", "updates/s", "above 1.8 M, then 3 M"),
    ("100,000-item watchlist: login to last image", "s", "below 1"),
];
pub(super) const FAN_OUT: &[Name] = &[
    ("Producer 50/50, 100 mounts, outbound", "updates/s", "above 10.1 M"),
    (
        "Producer 50/50, 100 mounts, outbound beside the floor",
        "updates/s",
        "at least half of the floor",
    ),
];

/// Items of the watchlist.
const ITEMS: usize = 100_000;

/// Where searches begin, in updates a second of the source.
const FROM: u64 = 800_000;
const FROM_FAN_OUT: u64 = 100_000;

/// How long the floor of the fan-out is measured, before and after.
const FLOOR: Duration = Duration::from_secs(1);

const MILLISECOND_NS: f64 = 1e6;

fn is_slow(run: &Run) -> Option<String> {
    let mean_ns = run.from_schedule.mean();
    (mean_ns >= MILLISECOND_NS).then(|| format!("the mean was {:.2} ms", mean_ns / 1e6))
}

pub(super) fn one_client(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    let plan = Plan::one_client(ITEMS, Reading::Fields);
    let goal = Goal { name: "quick: mean below 1 ms", from: FROM, or_else: is_slow };
    let decoded = search(&goal, &plan, options, out)?;
    tell("latency", &plan, options, &decoded, out);
    let plan = Plan::one_client(ITEMS, Reading::Headers);
    let goal = Goal { name: "quick: no fan-out", from: FROM, or_else: |_| None };
    let plain = search(&goal, &plan, options, out)?;
    tell("throughput", &plan, options, &plain, out);
    let ready_s = decoded.ready_after.min(plain.ready_after).as_secs_f64();
    let rate = |name: &Name, found: &Found, published: f64| {
        let per_s = found.run.as_ref().map_or(0.0, Run::achieved_per_s);
        // The published limit is one aim, and the project's own another.
        let row = Row::of(name, per_s).met(per_s >= 3e6);
        let passed = if per_s > published { "the first is met" } else { "neither is met" };
        let text = if per_s >= 3e6 { "both are met" } else { passed };
        row.because(format!("{text}; stopped by: {}", found.stopped_by))
    };
    Ok(vec![
        rate(&ONE_CLIENT[0], &decoded, 1.65e6),
        rate(&ONE_CLIENT[1], &plain, 1.8e6),
        Row::of(&ONE_CLIENT[2], ready_s).met(ready_s < 1.0),
    ])
}

pub(super) fn fan_out(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    let Options { mounts, common_items, own_items, .. } = *options;
    let plan = Plan::fifty_fifty(mounts, common_items, own_items);
    let before = floor::tcp_fan_out(&options.setup, mounts, FLOOR)?;
    let goal = Goal { name: "quick: producer 50/50", from: FROM_FAN_OUT, or_else: |_| None };
    let found = search(&goal, &plan, options, out)?;
    let after = floor::tcp_fan_out(&options.setup, mounts, FLOOR)?;
    tell("fanout", &plan, options, &found, out);
    let floor = f64::midpoint(before, after) / found.wire_bytes as f64;
    let per_s = found.run.as_ref().map_or(0.0, Run::out_per_s);
    let row = |name: &Name| Row::of(name, per_s).beside(floor);
    Ok(vec![
        row(&FAN_OUT[0]).met(per_s > 10.1e6).because(format!("stopped by: {}", found.stopped_by)),
        row(&FAN_OUT[1]).met(per_s >= 0.5 * floor),
    ])
}

fn tell(procedure: &str, plan: &Plan, options: &Options, found: &Found, out: &mut dyn Output) {
    let Some(run) = &found.run else { return };
    out.record(Measurement {
        stopped_by: Some(found.stopped_by.clone()),
        update_bytes: Some(found.wire_bytes as u64),
        ..measurement(procedure, options, plan, run)
    });
}
