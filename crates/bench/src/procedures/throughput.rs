//! The highest rate of one source to one client.

use tapeline_measure::table::{Table, or_dash, rate};

use super::latency::cpu;
use super::measurement;
use super::search::{Goal, search};
use crate::clients::Reading;
use crate::plan::Plan;
use crate::record::Measurement;
use crate::{BenchError, Options, Output};

/// Where the search begins, in updates a second.
const FROM: u64 = 400_000;

/// Every update goes to one client.
pub(crate) fn throughput(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let plan = Plan::one_client(options.items, Reading::Headers);
    let goal = Goal { name: "throughput", from: FROM, or_else: &|_| None };
    let found = search(&goal, &plan, options, out)?;
    let result = match &found.run {
        Some(run) => measurement("throughput", options, &plan, run),
        None => nothing("throughput", options, &found.stopped_by),
    };
    let result = Measurement {
        update_bytes: Some(found.wire_bytes as u64),
        stopped_by: Some(found.stopped_by.clone()),
        hdr: None,
        ..result
    };
    let per_s = result.achieved_per_s;
    let head = [
        "no fan-out",
        "updates/s",
        "MB/s",
        "CPU s",
        "updates/CPU s",
        "images after s",
        "stopped by",
    ];
    let mut table = Table::new(&head);
    table.row(vec![
        format!("{}, {} items", options.setup.label(), options.items),
        or_dash(per_s, rate),
        or_dash(per_s, |per_s| format!("{:.0}", per_s * found.wire_bytes as f64 / 1e6)),
        cpu(&result),
        or_dash(result.updates_per_cpu_second, rate),
        format!("{:.2}", found.ready_after_s()),
        found.stopped_by,
    ]);
    out.record(result);
    out.table(&table.to_string());
    Ok(())
}

/// A search in which no rate held.
pub(super) fn nothing(procedure: &str, options: &Options, why: &str) -> Measurement {
    Measurement {
        procedure: procedure.to_owned(),
        topology: options.setup.label(),
        pacing: options.pacing.to_string(),
        profile: options.setup.tuning.to_string(),
        valid: false,
        why_invalid: Some(format!("no rate held: {why}")),
        ..Measurement::default()
    }
}
