//! Producer 50/50, beside the bare fan-out.

use tapeline_measure::histogram::median;
use tapeline_measure::table::{Table, or_dash, rate};

use super::latency::cpu;
use super::measurement;
use super::search::{Found, Goal, Kept, search};
use super::throughput::nothing;
use crate::floor::{self, Writes};
use crate::plan::Plan;
use crate::record::Measurement;
use crate::run::Run;
use crate::system::Load;
use crate::{BenchError, Options, Output};

/// Where the search begins, in updates a second of the source.
const FROM: u64 = 40_000;

/// Where the server does not tell how much it writes at once: a packed frame.
const WRITE_BYTES: u64 = 6_144;

/// The highest rate of a fan-out, beside what the same work is without us.
pub(crate) struct BesideFloor {
    pub(crate) found: Found,
    /// Runs at that rate that held, in turns with the floor; the first one is that of the
    /// search.
    pub(crate) runs: Vec<Run>,
    pub(crate) floors: Vec<Writes>,
    /// Copies a CPU second, without sockets.
    pub(crate) copies_per_cpu_s: f64,
}

impl BesideFloor {
    /// The middle of the floors.
    pub(crate) fn floor(&self, figure: fn(&Writes) -> f64) -> f64 {
        median(self.floors.iter().map(figure))
    }

    /// The middle of the runs, of those that tell.
    pub(crate) fn run(&self, figure: fn(&Run) -> Option<f64>) -> Option<f64> {
        let figures: Vec<f64> = self.runs.iter().filter_map(figure).collect();
        (!figures.is_empty()).then(|| median(figures))
    }

    /// The run of the search as a result, with what is beside it.
    pub(crate) fn result(&self, plan: &Plan, options: &Options) -> Measurement {
        let result = match self.runs.first() {
            Some(run) => measurement("fanout", options, plan, run),
            None => nothing("fanout", options, &self.found.stopped_by),
        };
        Measurement {
            update_bytes: Some(self.found.wire_bytes as u64),
            floor_out_per_s: Some(self.floor(|its| its.updates_per_s)),
            floor_per_busy_cpu_second: Some(self.floor(|its| its.per_busy_cpu_second)),
            memory_copies_per_s: Some(self.copies_per_cpu_s),
            updates_per_busy_cpu_second: self.run(Run::per_busy_cpu_second),
            stopped_by: Some(self.found.stopped_by.clone()),
            hdr: None,
            ..result
        }
    }
}

/// Looks for the highest rate, then measures it and the floors in turns: the floor's
/// writes are as large as those of the server at that rate.
pub(crate) fn beside_floor(
    goal: &Goal<'_>,
    plan: &Plan,
    options: &Options,
    out: &mut dyn Output,
) -> Result<BesideFloor, BenchError> {
    let found = search(goal, plan, options, out)?;
    let mut runs: Vec<Run> = found.run.iter().cloned().collect();
    let write_bytes = runs.first().and_then(|run| run.write_bytes).unwrap_or(WRITE_BYTES) as usize;
    let work = (plan.watchlists.len(), write_bytes);
    let mut floors = Vec::new();
    for round in 1..=options.rounds.max(1) {
        out.progress(&format!("{}: floor, round {round}", goal.name));
        floors.push(floor::fan_out_writes(&options.setup, work, options.time)?);
        if let Some(rate) = found.run.as_ref().map(|run| run.rate) {
            out.progress(&format!("{}: once more at that rate, round {round}", goal.name));
            let Options { pacing, time, warm_up, .. } = *options;
            let load = Load { rate, pacing, warm_up, time };
            let run = Kept::new(plan, options).run(&load)?;
            runs.extend(run.flaw().is_none().then_some(run));
        }
    }
    floors.push(floor::fan_out_writes(&options.setup, work, options.time)?);
    let copies_per_cpu_s = floor::fan_out_copies(&options.setup, work, options.time)?;
    Ok(BesideFloor { found, runs, floors, copies_per_cpu_s })
}

/// Half of the updates go to all mounts, half to one.
pub(crate) fn fanout(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let Options { mounts, common_items: common, own_items: own, clients, .. } = *options;
    let plan = Plan { reading: clients.reading(), ..Plan::fifty_fifty(mounts, common, own) };
    let goal = Goal { name: "fan-out", from: FROM, or_else: &|_| None };
    let beside = beside_floor(&goal, &plan, options, out)?;
    let result = beside.result(&plan, options);
    let what = format!("{}, {mounts} mounts of {} items", options.setup.label(), common + own);
    out.table(&table(&what, &beside, &result));
    out.record(result);
    Ok(())
}

fn table(what: &str, beside: &BesideFloor, result: &Measurement) -> String {
    let head = [
        "producer 50/50",
        "out/CPU s of the server",
        "highest out /s",
        "in /s",
        "MB/s",
        "bytes a write",
        "full",
        "images after s",
    ];
    let bytes = beside.found.wire_bytes as f64;
    let per_cpu_s = result.updates_per_busy_cpu_second.or(result.updates_per_cpu_second);
    let mut table = Table::new(&head).with_last("stopped by");
    table.row(vec![
        what.to_owned(),
        or_dash(per_cpu_s, rate),
        or_dash(result.updates_out_per_s, rate),
        or_dash(result.achieved_per_s, rate),
        or_dash(result.updates_out_per_s, |per_s| format!("{:.0}", per_s * bytes / 1e6)),
        or_dash(result.write_bytes.map(|bytes| bytes as f64), |bytes| format!("{bytes:.0}")),
        full(result),
        format!("{:.2}", beside.found.ready_after_s()),
        beside.found.stopped_by.clone(),
    ]);
    let floor_cpu_s = beside.floor(|its| its.per_busy_cpu_second);
    let floor_per_s = beside.floor(|its| its.updates_per_s);
    let shares = (beside.floor(|its| its.writer_share), beside.floor(|its| its.reader_share));
    let mut floors = Table::new(&["floor", "/CPU s", "/s", "ours of it, /CPU s", "/s"])
        .with_last("how busy its sides were");
    let of = |ours: Option<f64>, floor: f64| or_dash(ours, |ours| format!("{:.2}", ours / floor));
    floors.row(vec![
        "the same writes, sockets and reading".to_owned(),
        rate(floor_cpu_s),
        rate(floor_per_s),
        of(per_cpu_s, floor_cpu_s),
        of(result.updates_out_per_s, floor_per_s),
        format!("writer {:.0} %, reader {:.0} %", shares.0 * 100.0, shares.1 * 100.0),
    ]);
    floors.row(vec![
        "the same copies, no sockets".to_owned(),
        rate(beside.copies_per_cpu_s),
        "-".to_owned(),
        of(per_cpu_s, beside.copies_per_cpu_s),
        "-".to_owned(),
        String::new(),
    ]);
    format!("{table}CPU s: {}\n{floors}", cpu(result))
}

/// Which side could do no more, and how busy each was.
fn full(result: &Measurement) -> String {
    let Some(full) = &result.full else { return "-".to_owned() };
    let shares = result.busy_shares.iter();
    let shares = shares.map(|(part, share)| format!("{part} {:.0} %", share * 100.0));
    format!("{full} ({})", shares.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_full_side_is_told_with_how_busy_all_were() {
        let result = Measurement {
            full: Some("hub+server".to_owned()),
            busy_shares: [("clients".to_owned(), 0.251), ("hub+server".to_owned(), 0.99)].into(),
            ..Measurement::default()
        };
        assert_eq!(full(&result), "hub+server (clients 25 %, hub+server 99 %)");
        assert_eq!(full(&Measurement::default()), "-");
    }
}
