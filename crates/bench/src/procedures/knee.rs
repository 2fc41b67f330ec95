//! The rates behind which updates come late, for a server to compare itself with.

use std::time::Duration;

use tapeline_measure::histogram::median;
use tapeline_measure::table::{Table, micros, or_dash, rate};

use super::search::{Goal, Kept, search};
use crate::clients::Reading;
use crate::plan::Plan;
use crate::run::Run;
use crate::system::Load;
use crate::{BenchError, Knee, Options, Output};

/// The rate at which updates come as soon as they can: each is alone on its way.
const CALM_PER_S: u64 = 2_000;

/// So often it is looked how late they are then; the middle counts.
const CALM_RUNS: usize = 3;

/// A rate is behind the knee when its p99 is so many times that of a calm one.
const TIMES: f64 = 2.0;

/// A p99 below this is not told from one twice as long by what runs on a thread: it
/// is what a turn may take.
const LEAST_NS: f64 = 200_000.0;

/// Where updates are later than this when all is calm, something else has the machine, and
/// twice as late says nothing.
const MOST_CALM_NS: f64 = 5_000_000.0;

const FROM: u64 = 100_000;
const FROM_FAN_OUT: u64 = 10_000;

/// Finds the knee for updates that come in, with one client, and for those that go
/// out, with many.
pub(crate) fn knee(options: &Options, out: &mut dyn Output) -> Result<Knee, BenchError> {
    let Options { mounts, common_items: common, own_items: own, .. } = *options;
    let one = Plan::one_client(options.latency_items, Reading::Fields);
    let many = Plan { reading: Reading::Sampled, ..Plan::fifty_fifty(mounts, common, own) };
    let head = ["knee", "calm p99 µs", "in /s", "out /s", "stopped by"];
    let mut table = Table::new(&head);
    let incoming = find("knee: in", FROM, &one, options, (out, &mut table))?;
    let outgoing = find("knee: out", FROM_FAN_OUT, &many, options, (out, &mut table))?;
    out.table(&table.to_string());
    let (Some(incoming), Some(outgoing)) = (incoming, outgoing) else {
        return Err(BenchError::Ended("no rate came in time: the machine is busy".to_owned()));
    };
    Ok(Knee {
        updates_in_per_s: incoming.rate,
        updates_out_per_s: (outgoing.rate as f64 * outgoing.fan_out) as u64,
    })
}

/// The highest rate of a plan whose p99 is not far from that of a calm one.
fn find(
    name: &str,
    from: u64,
    plan: &Plan,
    options: &Options,
    (out, table): (&mut dyn Output, &mut Table),
) -> Result<Option<Run>, BenchError> {
    out.progress(&format!("{name}: how late updates are when all is calm"));
    let calm_ns = calm_p99_ns(plan, options)?;
    if calm_ns > MOST_CALM_NS {
        let text = "one in a hundred updates comes {} µs late when all is calm: the machine is busy \
                    elsewhere, and no knee can be found";
        return Err(BenchError::Ended(text.replace("{}", &micros(calm_ns))));
    }
    let most_ns = TIMES * calm_ns.max(LEAST_NS);
    let is_late = |run: &Run| {
        let p99_ns = run.from_schedule.value_at_quantile(0.99) as f64;
        (p99_ns > most_ns).then(|| format!("p99 {} µs", micros(p99_ns)))
    };
    let found = search(&Goal { name, from, or_else: &is_late }, plan, options, out)?;
    table.row(vec![
        name.to_owned(),
        micros(calm_ns),
        or_dash(found.run.as_ref().map(|run| run.rate as f64), rate),
        or_dash(found.run.as_ref().map(|run| run.rate as f64 * run.fan_out), rate),
        found.stopped_by,
    ]);
    Ok(found.run)
}

fn calm_p99_ns(plan: &Plan, options: &Options) -> Result<f64, BenchError> {
    let mut kept = Kept::new(plan, options);
    let time = options.probe.max(Duration::from_millis(500));
    let load = Load { rate: CALM_PER_S, pacing: options.pacing, warm_up: time / 3, time };
    let mut all = Vec::new();
    for _ in 0..CALM_RUNS {
        let run = kept.run(&load)?;
        if run.from_schedule.is_empty() {
            return Err(BenchError::Ended("of no update it is known how late it came".to_owned()));
        }
        all.push(run.from_schedule.value_at_quantile(0.99) as f64);
    }
    Ok(median(all))
}
