//! The procedures themselves.

use std::time::Duration;

use serde_json::{Value, json};

use crate::clients::Reading;
use crate::latency_stats::{Summary, median};
use crate::search::highest_rate;
use crate::system::{Plan, Run, System};
use crate::table::{Table, rate};
use crate::{BenchError, Options, Output, floor};

/// A search ends when it knows the rate to this share.
const SEARCH_STEP: f64 = 0.05;

/// The floor alone.
pub(crate) fn floor(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let mut table = Table::new(&["floor", "p50 µs", "p99 µs", "p99.9 µs", "max µs"]);
    out.progress("floor: bare TCP ping-pong");
    let ping = floor::ping_pong(options.time)?;
    let cells = [ping.p50_us, ping.p99_us, ping.p999_us, ping.max_us];
    let mut row = vec![format!("bare TCP, half round trip of {} bytes", floor::MESSAGE_BYTES)];
    row.extend(cells.map(|figure| format!("{figure:.2}")));
    table.row(row);
    out.result(
        &json!({"bench": "floor", "what": "tcp_half_round_trip", "figures": ping.to_json()}),
    );
    out.table(&table.to_string());
    out.progress("floor: bare fan-out");
    let bytes = floor::fan_out(options.mounts, options.time)?;
    let mut table = Table::new(&["floor", "MB/s"]);
    let text = format!("large writes to {} sockets", options.mounts);
    table.row(vec![text, format!("{:.0}", bytes / 1e6)]);
    out.result(&json!({
        "bench": "floor", "what": "fan_out", "sockets": options.mounts, "bytes_per_s": bytes,
    }));
    out.table(&table.to_string());
    Ok(())
}

/// Latency at set rates, in turns with the floor.
pub(crate) fn latency(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let plan =
        Plan::one_client(options.latency_items, Reading::Fields, options.cache, options.idle);
    let mut table = Table::new(&[
        "latency", "rate", "mean", "stdev", "min", "p50", "p99", "p99.9", "p99.99", "max",
        "points", "busy", "",
    ]);
    let mut floors: Vec<Summary> = Vec::new();
    let mut runs: Vec<Vec<Run>> = vec![Vec::new(); options.rates.len()];
    for round in 1..=options.rounds.max(1) {
        out.progress(&format!("latency: round {round}, floor"));
        let ping = floor::ping_pong(options.time.min(Duration::from_secs(2)))?;
        floors.push(ping);
        table.row(latency_row(&format!("floor {round}"), "", &ping, ""));
        out.result(&json!({"bench": "latency", "what": "floor", "round": round,
            "figures": ping.to_json()}));
        for (at, per_second) in options.rates.iter().enumerate() {
            out.progress(&format!("latency: round {round}, {}/s", rate(*per_second as f64)));
            // A thread that spins beside the ping-pong would be in its way.
            let mut system = System::start(&plan, options.patience)?;
            let run = system.run(*per_second, options.warm_up, options.time);
            drop(system);
            report_latency(&run, round, &mut table, out);
            runs[at].push(run);
        }
    }
    out.table(&table.to_string());
    let ratios = ratios(&floors, &runs, out);
    out.table(&ratios.to_string());
    Ok(())
}

fn latency_row(what: &str, rate: &str, figures: &Summary, note: &str) -> Vec<String> {
    let cells = [
        figures.mean_us,
        figures.stdev_us,
        figures.min_us,
        figures.p50_us,
        figures.p99_us,
        figures.p999_us,
        figures.p9999_us,
        figures.max_us,
    ];
    let mut row = vec![what.to_owned(), rate.to_owned()];
    row.extend(cells.map(|figure| format!("{figure:.1}")));
    row.extend([figures.count.to_string(), note.to_owned()]);
    row
}

fn report_latency(run: &Run, round: u32, table: &mut Table, out: &mut dyn Output) {
    let note = run.flaw().map_or(String::new(), |flaw| format!("INVALID: {flaw}"));
    let busy = format!("{:.0} %", run.busy * 100.0);
    let per_second = rate(run.rate as f64);
    for (what, figures) in [("from schedule", &run.from_schedule), ("from send", &run.from_send)] {
        let mut row = latency_row(&format!("{what} {round}"), &per_second, figures, &busy);
        row.push(note.clone());
        table.row(row);
    }
    let mut json = run.to_json();
    json["bench"] = "latency".into();
    json["what"] = "run".into();
    json["round"] = round.into();
    out.result(&json);
}

/// Medians of the rounds beside the floor's.
fn ratios(floors: &[Summary], runs: &[Vec<Run>], out: &mut dyn Output) -> Table {
    let of_floor = |figure: fn(&Summary) -> f64| median(floors.iter().map(figure));
    let (floor_p50, floor_p99) = (of_floor(|f| f.p50_us), of_floor(|f| f.p99_us));
    let mut table = Table::new(&[
        "from schedule, medians",
        "mean µs",
        "p50 µs",
        "/ floor",
        "p99 µs",
        "/ floor",
        "lost",
        "valid",
    ]);
    table.row(vec![
        "bare TCP half round trip".to_owned(),
        String::new(),
        format!("{floor_p50:.2}"),
        "1".to_owned(),
        format!("{floor_p99:.2}"),
        "1".to_owned(),
        String::new(),
        String::new(),
    ]);
    for runs in runs {
        let valid: Vec<&Run> = runs.iter().filter(|run| run.flaw().is_none()).collect();
        let of = |figure: fn(&Summary) -> f64| {
            median(valid.iter().map(|run| figure(&run.from_schedule)))
        };
        let (mean, p50, p99) = (of(|f| f.mean_us), of(|f| f.p50_us), of(|f| f.p99_us));
        let lost: u64 = runs.iter().map(|run| run.expected.saturating_sub(run.received)).sum();
        let per_second = runs.first().map_or(0, |run| run.rate);
        table.row(vec![
            format!("{}/s", rate(per_second as f64)),
            format!("{mean:.2}"),
            format!("{p50:.2}"),
            format!("{:.2}", p50 / floor_p50),
            format!("{p99:.2}"),
            format!("{:.2}", p99 / floor_p99),
            lost.to_string(),
            format!("{} of {}", valid.len(), runs.len()),
        ]);
        out.result(&json!({
            "bench": "latency", "what": "ratio", "rate": per_second, "mean_us": mean,
            "p50_us": p50, "p99_us": p99, "floor_p50_us": floor_p50, "floor_p99_us": floor_p99,
            "p50_ratio": p50 / floor_p50, "p99_ratio": p99 / floor_p99, "lost": lost,
            "valid": valid.len(), "rounds": runs.len(),
        }));
    }
    table
}

/// The highest rate of one source to one client.
pub(crate) fn throughput(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let plan = Plan::one_client(options.items, Reading::Headers, options.cache, options.idle);
    let from = options.search_from.unwrap_or(100_000);
    let found = search("throughput", &plan, from, options, out)?;
    let mut table =
        Table::new(&["no fan-out", "items", "updates/s", "MB/s", "ready s", "stopped by"]);
    table.row(vec![
        "one source, one client".to_owned(),
        options.items.to_string(),
        rate(found.rate),
        format!("{:.0}", found.rate * found.wire_bytes as f64 / 1e6),
        format!("{:.2}", found.ready_after.as_secs_f64()),
        found.stopped_by.clone(),
    ]);
    out.result(&json!({
        "bench": "throughput", "what": "result", "items": options.items, "updates_per_s": found.rate,
        "stopped_by": found.stopped_by, "ready_s": found.ready_after.as_secs_f64(),
    }));
    out.table(&table.to_string());
    Ok(())
}

/// Producer 50/50, beside the bare fan-out.
pub(crate) fn fanout(options: &Options, out: &mut dyn Output) -> Result<(), BenchError> {
    let Options { mounts, common_items: common, own_items: own, .. } = *options;
    let plan = Plan::fifty_fifty(mounts, common, own, options.cache, options.idle);
    out.progress("fan-out: floor before");
    let before = floor::fan_out(mounts, options.time)?;
    let from = options.search_from.unwrap_or(10_000);
    let found = search("fanout", &plan, from, options, out)?;
    out.progress("fan-out: floor after");
    let after = floor::fan_out(mounts, options.time)?;
    let floor = f64::midpoint(before, after) / found.wire_bytes as f64;
    let outbound = found.rate * (0.5 * mounts as f64 + 0.5);
    let mut table = Table::new(&[
        "producer 50/50",
        "in /s",
        "out /s",
        "MB/s",
        "floor out /s",
        "share",
        "ready s",
        "stopped by",
    ]);
    table.row(vec![
        format!("{mounts} mounts of {} items", common + own),
        rate(found.rate),
        rate(outbound),
        format!("{:.0}", outbound * found.wire_bytes as f64 / 1e6),
        rate(floor),
        format!("{:.0} %", outbound / floor * 100.0),
        format!("{:.2}", found.ready_after.as_secs_f64()),
        found.stopped_by.clone(),
    ]);
    out.result(&json!({
        "bench": "fanout", "what": "result", "mounts": mounts, "common_items": common,
        "own_items": own, "in_per_s": found.rate, "out_per_s": outbound,
        "floor_out_per_s": floor, "floor_bytes_per_s": [before, after],
        "share": outbound / floor, "stopped_by": found.stopped_by,
    }));
    out.table(&table.to_string());
    Ok(())
}

struct Found {
    rate: f64,
    stopped_by: String,
    wire_bytes: usize,
    ready_after: Duration,
}

/// Looks for the highest rate that holds. A trial that fails is made once
/// again, on a new system, since the machine may have been busy elsewhere.
fn search(
    bench: &str,
    plan: &Plan,
    from: u64,
    options: &Options,
    out: &mut dyn Output,
) -> Result<Found, BenchError> {
    let mut system = Some(System::start(plan, options.patience)?);
    let mut found = Found {
        rate: 0.0,
        stopped_by: String::new(),
        wire_bytes: system.as_ref().map_or(0, System::update_wire_bytes),
        ready_after: system.as_ref().map_or(Duration::ZERO, |system| system.ready_after),
    };
    let best = highest_rate(from, SEARCH_STEP, |per_second| {
        for attempt in 1..=2 {
            let mut tried = match system.take() {
                Some(system) => system,
                None => System::start(plan, options.patience)?,
            };
            let run = tried.run(per_second, options.warm_up, options.time);
            report_trial(bench, &run, attempt, out);
            let Some(flaw) = run.flaw() else {
                system = Some(tried);
                return Ok(true);
            };
            found.stopped_by = format!("{flaw} at {}/s", rate(per_second as f64));
        }
        Ok::<bool, BenchError>(false)
    })?;
    found.rate = best.unwrap_or(0) as f64;
    Ok(found)
}

fn report_trial(bench: &str, run: &Run, attempt: u32, out: &mut dyn Output) {
    let verdict = run.flaw().map_or("holds".to_owned(), |flaw| flaw.to_string());
    out.progress(&format!(
        "{bench}: {}/s in, {}/s out, hub and server busy {:.0} %: {verdict}",
        rate(run.rate as f64),
        rate(run.expected as f64 / run.sent.max(1) as f64 * run.rate as f64),
        run.busy * 100.0,
    ));
    let mut json: Value = run.to_json();
    json["bench"] = bench.into();
    json["what"] = "trial".into();
    json["attempt"] = attempt.into();
    out.result(&json);
}
