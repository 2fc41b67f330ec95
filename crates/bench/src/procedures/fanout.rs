//! Producer 50/50, beside the bare fan-out.

use tapeline_measure::table::{Table, or_dash, rate};

use super::latency::cpu;
use super::measurement;
use super::search::{Goal, search};
use super::throughput::nothing;
use crate::plan::Plan;
use crate::record::Measurement;
use crate::{BenchError, Options, Output, floor};

/// Where the search begins, in updates a second of the source.
const FROM: u64 = 40_000;

/// Half of the updates go to all mounts, half to one.
pub(crate) fn fanout(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let Options { mounts, common_items: common, own_items: own, .. } = *options;
    let plan = Plan::fifty_fifty(mounts, common, own);
    out.progress("fan-out: floor before");
    let before = floor::tcp_fan_out(&options.setup, mounts, options.time)?;
    let goal = Goal { name: "fan-out", from: FROM, or_else: &|_| None };
    let found = search(&goal, &plan, options, out)?;
    out.progress("fan-out: floor after");
    let after = floor::tcp_fan_out(&options.setup, mounts, options.time)?;
    let floor_out = f64::midpoint(before, after) / found.wire_bytes as f64;
    let result = match &found.run {
        Some(run) => measurement("fanout", options, &plan, run),
        None => nothing("fanout", options, &found.stopped_by),
    };
    let result = Measurement {
        update_bytes: Some(found.wire_bytes as u64),
        floor_out_per_s: Some(floor_out),
        stopped_by: Some(found.stopped_by.clone()),
        hdr: None,
        ..result
    };
    let out_per_s = result.updates_out_per_s;
    let head = [
        "producer 50/50",
        "in /s",
        "out /s",
        "MB/s",
        "floor out /s",
        "of floor",
        "CPU s",
        "out/CPU s",
        "images after s",
        "stopped by",
    ];
    let mut table = Table::new(&head);
    table.row(vec![
        format!("{}, {mounts} mounts of {} items", options.setup.label(), common + own),
        or_dash(result.achieved_per_s, rate),
        or_dash(out_per_s, rate),
        or_dash(out_per_s, |per_s| format!("{:.0}", per_s * found.wire_bytes as f64 / 1e6)),
        rate(floor_out),
        or_dash(out_per_s, |per_s| format!("{:.0} %", per_s / floor_out * 100.0)),
        cpu(&result),
        or_dash(result.updates_per_cpu_second, rate),
        format!("{:.2}", found.ready_after_s()),
        found.stopped_by,
    ]);
    out.record(result);
    out.table(&table.to_string());
    Ok(())
}
