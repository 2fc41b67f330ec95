//! Side 1: sends at a rate and measures the way to side 2 and back.

use std::net::SocketAddr;

use tapeline_measure::environment::Environment;
use tapeline_measure::histogram::{Distribution, to_hdr};
use tapeline_measure::record::{Noise, Tool, ToolLine};
use tapeline_measure::ticks::TickClock;

use super::cell::{self, CellDone, CellPlan, Line};
use super::options::Options;
use super::pair::{Open, came, listener, opened};
use crate::local_clock::LocalClock;
use crate::output::Output;
use crate::records::Records;
use crate::{GaugeError, setup};

/// Runs side 1. Returns whether the figures count.
pub(super) fn run(options: &Options, out: &mut dyn Output) -> Result<bool, GaugeError> {
    let plan = plan(options);
    if options.common.given.has("check") {
        out.text(&format!("{}\n", told(options, &plan)));
        return Ok(true);
    }
    let _held = setup::prepare(&options.common.given)?;
    tapeline_measure::processor::pin(options.common.cores[0].as_deref());
    let noise =
        setup::noise(&TickClock::best(), options.common.cores[0].as_deref(), options.common.noise);
    let environment = Environment::read();
    let mut records = Records::create(options.common.json.as_deref())?
        .with_log(options.common.given.text("hdr"), "nwtool")?;
    records.write(&ToolLine::Environment(Box::new(environment.clone())))?;
    let listener = listener(options.bind, options.port)?;
    let own = listener.local_addr().map_err(GaugeError::io("listening"))?;
    out.say(&format!(
        "side 1 (send) waits on {own} for side 2: nwtool forward HOST:{}",
        own.port()
    ));
    let mut control = came(&listener)?;
    let peer = control.peer.map_or("-".to_owned(), |peer| peer.to_string());
    let side = format!("side 2 (forward at {peer})");
    let listens = SocketAddr::new(control.own.unwrap_or(own.ip()), 0);
    let mut links = opened(&mut control, &open(options), Some(listens))
        .map_err(|error| error.of_side(&side))?;
    out.text(&match options.common.is_classic {
        true => classic_head(options),
        false => format!("{}\n{}", told(options, &plan), human_head()),
    });
    let is_quiet = options.common.is_quiet();
    let clock = LocalClock::new();
    let done = cell::run(&plan, &mut links, &mut control, &mut |line| {
        if is_quiet {
            return;
        }
        out.text(&match options.common.is_classic {
            true => classic_line(line, &peer, options.bytes, &clock.stamp()),
            false => human_line(line, options.bytes),
        });
    })
    .map_err(|error| error.of_side(&side))?;
    let tool = record(options, &plan, &done, noise);
    if !options.common.is_classic {
        out.text(&sum(&tool));
    }
    let is_valid = tool.valid;
    records.write(&ToolLine::Tool(Box::new(tool)))?;
    records.tell_disturbance(out);
    records.write(&ToolLine::Environment(Box::new(environment.after())))?;
    match done.is_cut_short {
        true => Err(tapeline_measure::stop::Interrupted.into()),
        false => Ok(is_valid),
    }
}

pub(super) fn open(options: &Options) -> Open {
    Open {
        transport: options.transport,
        connections: options.connections,
        options: options.link.clone(),
        is_spinning: options.spins[1],
        cores: options.common.cores[1].clone(),
        answer_bytes: Some(options.answer_bytes),
        samples_only: false,
        addresses: Vec::new(),
    }
}

pub(super) fn plan(options: &Options) -> CellPlan {
    CellPlan {
        transport: options.transport,
        bytes: options.bytes,
        rate_per_s: options.rate_per_s,
        pacing: options.pacing,
        recorded: options.recorded.clone(),
        warm_up: options.common.warm_up,
        seconds: options.seconds,
        window: options.window,
        is_spinning: options.spins[0],
        interval: options.common.interval,
        cores: vec![options.common.cores[0].clone()],
    }
}

fn told(options: &Options, plan: &CellPlan) -> String {
    let what = match &plan.recorded {
        Some(all) => format!("{} recorded messages", all.len()),
        None => format!("{} bytes at {}/s, {}", plan.bytes, plan.rate_per_s, plan.pacing),
    };
    format!(
        "{}, {what}, {} connections, {:.0} s and {:.1} s of warm-up; round trips from send, in µs",
        plan.transport,
        options.connections,
        plan.seconds.as_secs_f64(),
        plan.warm_up.as_secs_f64(),
    )
}

/// A cell as a record.
pub(super) fn record(
    options: &Options,
    plan: &CellPlan,
    done: &CellDone,
    noise: Option<Noise>,
) -> Tool {
    let sender = &done.sender;
    let why_invalid = match done.is_cut_short {
        true => Some("cut short".to_owned()),
        false => sender.why_invalid(),
    };
    let valid = why_invalid.is_none();
    let arrivals = sender.arrivals();
    let counts = [
        ("due", sender.tally.due),
        ("sent", sender.sent_in_all()),
        ("received", arrivals.received),
        ("lost", arrivals.lost),
        ("reordered", arrivals.reordered),
        ("duplicated", arrivals.duplicated),
        ("clock_errors", sender.tally.clock_errors),
        ("forwarded", done.followed.forwarded),
        ("bad_connections", done.followed.bad_connections),
    ];
    let spin = options.spins.map(u8::from);
    let text = |side: usize| setup::cores_text(options.common.cores[side].as_deref());
    let chosen = [
        ("spin", format!("{};{}", spin[0], spin[1])),
        ("affinity", format!("{};{}", text(0), text(1))),
        ("pacing", plan.pacing.to_string()),
        ("connections", options.connections.to_string()),
        ("window", plan.window.to_string()),
    ];
    let per_second = sender.seconds.summed().filter(|_| valid);
    Tool {
        tool: "nwtool".to_owned(),
        transport: plan.transport.name().to_owned(),
        role: "send".to_owned(),
        unit: "round".to_owned(),
        size_bytes: plan.recorded.is_none().then_some(plan.bytes as u64),
        rate_per_s: plan.recorded.is_none().then_some(plan.rate_per_s),
        options: chosen.map(|(name, text)| (name.to_owned(), text)).into(),
        clock: "monotonic".to_owned(),
        overhead_ns: setup::overhead_ns(),
        round: 1,
        seconds: done.measured.seconds(),
        warm_up_dropped_s: plan.warm_up.as_secs_f64(),
        valid,
        why_invalid,
        achieved_per_s: Some(sender.tally.answered as f64 / done.measured.seconds()),
        // Of a cell that is not valid there are no figures.
        from_schedule: Distribution::of(&sender.from_schedule).filter(|_| valid),
        from_send: Distribution::of(&sender.from_send).filter(|_| valid),
        lateness: Distribution::of(&sender.lateness).filter(|_| valid),
        hdr: to_hdr(&sender.from_send).filter(|_| valid),
        counts: counts.map(|(name, count)| (name.to_owned(), count)).into(),
        per_second: per_second.map(|of| figures(&of)).unwrap_or_default(),
        series: if valid { sender.seconds.series() } else { Vec::new() },
        noise,
        disturbed: done.disturbed,
        cpu_seconds: done.cpu_seconds.map(|cpu| ("client".to_owned(), cpu)).into_iter().collect(),
        ..Tool::default()
    }
}

fn figures(of: &crate::PerSecond) -> std::collections::BTreeMap<String, f64> {
    [
        ("min", of.min as f64),
        ("mean_mean", of.mean_mean),
        ("mean_min", of.mean_min),
        ("mean_max", of.mean_max),
        ("max_min", of.max_min as f64),
        ("max_p90", of.max_p90 as f64),
        ("max_p95", of.max_p95 as f64),
        ("max_p99_5", of.max_p99_5 as f64),
        ("max_max", of.max_max as f64),
    ]
    .map(|(name, nanos)| (name.to_owned(), nanos))
    .into()
}

fn micros(nanos: f64) -> String {
    format!("{:.1}", nanos / 1000.0)
}

fn human_head() -> String {
    format!(
        "{:>10}{:>10}{:>9}{:>9}{:>10}{:>10}{:>9}\n",
        "msgs/s", "Mb/s", "min", "avg", "max", "buffered", "remain"
    )
}

fn human_line(line: &Line, bytes: usize) -> String {
    let rate = line.sent as f64 / line.seconds;
    let of = |nanos: f64| if line.of.count == 0 { "-".to_owned() } else { micros(nanos) };
    format!(
        "{rate:>10.1}{:>10.2}{:>9}{:>9}{:>10}{:>10}{:>9}\n",
        rate * bytes as f64 * 8.0 / 1e6,
        of(line.of.min_ns as f64),
        of(line.of.mean_ns()),
        of(line.of.max_ns as f64),
        line.buffered,
        line.remain,
    )
}

/// What `NwTool` says before its lines.
fn classic_head(options: &Options) -> String {
    let slot = options.rate_per_s / 10_000;
    format!(
        "SendRes =100us, count = {slot}\nsizeof 32\nTest Duration: {:.0} minutes.\n",
        options.seconds.as_secs_f64() / 60.0
    )
}

/// `[S]20190312130441.972 10.25.90.31 10000.0 msgs/s 81.9 Mb/s Min: 11 us …`
fn classic_line(line: &Line, peer: &str, bytes: usize, stamp: &str) -> String {
    let rate = line.sent as f64 / line.seconds;
    let mbit = rate * bytes as f64 * 8.0 / 1e6;
    let min = if line.of.count == 0 { 0 } else { line.of.min_ns / 1000 };
    format!(
        "[S]{stamp} {peer} {rate:.1} msgs/s {} Mb/s Min: {min} us Avg: {} us Max: {} us \
         Buffered:{} Remain:{}\n",
        three_digits(mbit),
        line.of.mean_ns() as u64 / 1000,
        line.of.max_ns / 1000,
        line.buffered,
        line.remain,
    )
}

/// A number in three digits: `81.9`, `403`, `0.82`.
fn three_digits(number: f64) -> String {
    let before = number.abs().max(1.0).log10().floor() as usize + 1;
    format!("{number:.*}", 3_usize.saturating_sub(before))
}

/// The last lines of a person's output.
fn sum(tool: &Tool) -> String {
    let count = |name: &str| tool.counts.get(name).copied().unwrap_or_default();
    let head = format!(
        "{:.1} of {} msgs/s, {} sent, {} lost, {} reordered, {} duplicated\n",
        tool.achieved_per_s.unwrap_or_default(),
        tool.rate_per_s.map_or("recorded".to_owned(), |rate| rate.to_string()),
        count("sent"),
        count("lost"),
        count("reordered"),
        count("duplicated"),
    );
    if let Some(why) = &tool.why_invalid {
        return format!("{head}not valid: {why}\n");
    }
    let row = |name: &str, of: &Option<Distribution>| {
        let Some(of) = of else { return String::new() };
        let is_noise = tool.noise.is_some_and(|noise| noise.max_ns * 2 >= of.max_ns);
        format!(
            "{name:<14} p50 {}  p99 {}  p99.9 {}  p99.99 {}  max {}{} µs\n",
            micros(of.p50_ns as f64),
            micros(of.p99_ns as f64),
            micros(of.p999_ns as f64),
            micros(of.p9999_ns as f64),
            if is_noise { "~" } else { "" },
            micros(of.max_ns as f64),
        )
    };
    [
        head,
        row("from send", &tool.from_send),
        row("from schedule", &tool.from_schedule),
        row("sent late by", &tool.lateness),
    ]
    .concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::Interval;

    #[test]
    fn the_classic_line_is_theirs() {
        let of = Interval { count: 10_000, total_ns: 119_990_000, min_ns: 11_900, max_ns: 17_999 };
        let line = Line { seconds: 1.0, of, sent: 10_000, buffered: 0, remain: 0 };
        assert_eq!(
            classic_line(&line, "10.25.90.31", 1024, "20190312130441.972"),
            "[S]20190312130441.972 10.25.90.31 10000.0 msgs/s 81.9 Mb/s Min: 11 us Avg: 11 us \
             Max: 17 us Buffered:0 Remain:0\n"
        );
    }

    #[test]
    fn numbers_have_three_digits() {
        assert_eq!(
            [81.92, 403.2, 0.8192, 4096.0].map(three_digits),
            ["81.9", "403", "0.82", "4096"]
        );
    }
}
