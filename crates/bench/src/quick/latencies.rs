//! Rows of latency beside the half round trip of bare TCP.

use std::time::Duration;

use tapeline_measure::histogram::median;

use super::row::{Name, Row};
use super::{decoding, on};
use crate::procedures::{Kept, floor_measurement, measurement};
use crate::record::{Distribution, Measurement};
use crate::setup::{Between, Setup, Topology};
use crate::system::Load;
use crate::{BenchError, Options, Output, floor};

pub(super) const IN_A_THREAD: &[Name] = &[
    ("latency 50,000/s, one thread over IPC, median", "µs", "at most 2.5 times the floor"),
    (
        "latency 50,000/s, one thread over IPC, p99",
        "µs",
        "at most 3 times the p99 of the floor at that rate",
    ),
    (
        "latency 500,000/s, one thread over IPC, mean",
        "µs",
        "at most 8 times the floor, below 178, nothing lost",
    ),
];
/// The same in the same order.
pub(super) const OVER_RINGS: &[Name] = &[
    ("latency 50,000/s, one thread over rings, median", "µs", "at most 2.2 times the floor"),
    (
        "latency 50,000/s, one thread over rings, p99",
        "µs",
        "at most 3 times the p99 of the floor at that rate",
    ),
    (
        "latency 500,000/s, one thread over rings, mean",
        "µs",
        "at most 8 times the floor, below 178, nothing lost",
    ),
];
pub(super) const OVER_IPC: &[Name] =
    &[("latency 50,000/s, two processes over IPC, median", "µs", "at most 3.5 times the floor")];
pub(super) const OVER_MULTICAST: &[Name] = &[(
    "latency 50,000/s, two processes over multicast, median",
    "µs",
    "at most 4.5 times the floor",
)];
pub(super) const WITH_LOSS: &[Name] = &[(
    "1 % loss between two hosts, 50,000/s, p99 beyond that without",
    "µs",
    "at most 100, nothing lost",
)];

/// The low and the high rate, in updates a second.
const LOW: u64 = 50_000;
const HIGH: u64 = 500_000;

/// The published mean at the high rate, in microseconds.
const PUBLISHED_MEAN_US: f64 = 178.0;

/// How long the floor is measured beside each run.
const FLOOR: Duration = Duration::from_millis(500);

/// Datagrams that are lost, in percent.
const LOSS_PERCENT: f64 = 1.0;

/// Medians over rounds, in microseconds.
struct Medians {
    p50: f64,
    p99: f64,
    mean: f64,
    floor_p50: f64,
    /// Of the floor at the same rate, from schedule: a machine that stands still
    /// costs a floor without a schedule one sample, and a system at a rate
    /// hundreds.
    floor_p99: f64,
    lost: u64,
    /// Datagrams that the network was told to drop, in all rounds.
    dropped: u64,
}

/// The rates one after the other, in turns with the floor. An error, as text,
/// if no round of one of them is valid.
fn rounds(
    rates: &[u64],
    options: &Options,
    out: &mut dyn Output,
) -> Result<Vec<Result<Medians, String>>, BenchError> {
    let plan = decoding(options);
    let (mut floors, mut paced) = (Vec::new(), Vec::new());
    let mut runs: Vec<Vec<Measurement>> = vec![Vec::new(); rates.len()];
    for round in 1..=options.rounds.max(1) {
        let label = options.setup.label();
        out.progress(&format!("quick: latency, {label}, round {round}"));
        let floor = Distribution::of(&floor::tcp_ping_pong(&options.setup, FLOOR)?);
        out.record(floor_measurement("bare TCP", FLOOR.as_secs_f64(), floor));
        floors.extend(floor);
        let at_pace = Distribution::of(&floor::tcp_paced(&options.setup, FLOOR)?);
        out.record(floor_measurement("bare TCP, paced", FLOOR.as_secs_f64(), at_pace));
        paced.extend(at_pace);
        let mut kept = Kept::new(&plan, options);
        for (rate, runs) in rates.iter().zip(&mut runs) {
            let Options { pacing, warm_up, time, .. } = *options;
            let run = kept.run(&Load { rate: *rate, pacing, warm_up, time })?;
            let result = measurement("latency", options, &plan, &run);
            let result = Measurement { round: Some(round), floor, ..result };
            out.record(result.clone());
            runs.push(result);
        }
    }
    Ok(runs.iter().map(|runs| medians(&floors, &paced, runs)).collect())
}

fn medians(
    floors: &[Distribution],
    paced: &[Distribution],
    runs: &[Measurement],
) -> Result<Medians, String> {
    let valid = runs.iter().filter(|run| run.valid).filter_map(|run| run.from_schedule);
    let valid: Vec<Distribution> = valid.collect();
    if valid.len() * 2 <= runs.len() {
        let why = runs.iter().find_map(|run| run.why_invalid.clone());
        let why = why.unwrap_or_else(|| "nothing came".to_owned());
        return Err(format!("{} of {} rounds count: {why}", valid.len(), runs.len()));
    }
    let of = |all: &[Distribution], figure: fn(&Distribution) -> f64| {
        median(all.iter().map(figure)) / 1000.0
    };
    Ok(Medians {
        p50: of(&valid, |its| its.p50_ns as f64),
        p99: of(&valid, |its| its.p99_ns as f64),
        mean: of(&valid, |its| its.mean_ns),
        floor_p50: of(floors, |its| its.p50_ns as f64),
        floor_p99: of(paced, |its| its.p99_ns as f64),
        lost: runs.iter().map(|run| run.lost).sum(),
        dropped: runs.iter().filter_map(|run| run.dropped_datagrams).sum(),
    })
}

pub(super) fn in_a_thread(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    on_one_thread(IN_A_THREAD, 2.5, &on(options, Topology::Thread), out)
}

pub(super) fn over_rings(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    let mut options = on(options, Topology::Thread);
    options.setup.between = Between::Local;
    on_one_thread(OVER_RINGS, 2.2, &options, out)
}

/// Median and p99 at the low rate, mean at the high one. The median is to be at
/// most so many times the floor.
fn on_one_thread(
    names: &'static [Name],
    most: f64,
    options: &Options,
    out: &mut dyn Output,
) -> Result<Vec<Row>, BenchError> {
    let mut found = rounds(&[LOW, HIGH], options, out)?.into_iter();
    let mut rows = Vec::new();
    match found.next().transpose() {
        Ok(Some(low)) => {
            let median = Row::of(&names[0], low.p50).beside(low.floor_p50);
            rows.push(median.met(low.p50 <= most * low.floor_p50));
            let tail = Row::of(&names[1], low.p99).beside(low.floor_p99);
            rows.push(tail.met(low.p99 <= 3.0 * low.floor_p99));
        }
        Ok(None) => {}
        Err(why) => rows.extend(Row::missing(&names[..2], &why)),
    }
    match found.next().transpose() {
        Ok(Some(high)) => {
            let is_met = high.mean <= 8.0 * high.floor_p50
                && high.mean < PUBLISHED_MEAN_US
                && high.lost == 0;
            rows.push(Row::of(&names[2], high.mean).beside(high.floor_p50).met(is_met));
        }
        Ok(None) => {}
        Err(why) => rows.extend(Row::missing(&names[2..], &why)),
    }
    Ok(rows)
}

fn one_median(
    name: &'static [Name],
    most: f64,
    options: &Options,
    out: &mut dyn Output,
) -> Result<Vec<Row>, BenchError> {
    let found = rounds(&[LOW], options, out)?.into_iter().next().transpose();
    Ok(match found {
        Ok(Some(low)) => {
            let row = Row::of(&name[0], low.p50).beside(low.floor_p50);
            vec![row.met(low.p50 <= most * low.floor_p50)]
        }
        Ok(None) => Vec::new(),
        Err(why) => Row::missing(name, &why).collect(),
    })
}

pub(super) fn over_ipc(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    one_median(OVER_IPC, 3.5, &on(options, Topology::Ipc), out)
}

pub(super) fn over_multicast(
    options: &Options,
    out: &mut dyn Output,
) -> Result<Vec<Row>, BenchError> {
    one_median(OVER_MULTICAST, 4.5, &on(options, Topology::Multicast), out)
}

pub(super) fn with_loss(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    let without = on(options, Topology::Namespaces);
    let setup = Setup { loss_percent: LOSS_PERCENT, ..without.setup.clone() };
    let with = Options { setup, ..without.clone() };
    let mut both = Vec::new();
    for options in [&without, &with] {
        both.extend(rounds(&[LOW], options, out)?);
    }
    let mut both = both.into_iter();
    Ok(match (both.next(), both.next()) {
        (Some(Ok(_)), Some(Ok(with))) if with.dropped == 0 => {
            Row::missing(WITH_LOSS, "the network dropped nothing").collect()
        }
        (Some(Ok(without)), Some(Ok(with))) => {
            let more = with.p99 - without.p99;
            let row = Row::of(&WITH_LOSS[0], more).met(more <= 100.0 && with.lost == 0);
            vec![row.because(format!(
                "p99 {:.0} with, {:.0} without; median {:.1} with, {:.1} without; \
                 {} datagrams dropped, {} updates lost",
                with.p99, without.p99, with.p50, without.p50, with.dropped, with.lost
            ))]
        }
        (Some(Err(why)), _) | (_, Some(Err(why))) => Row::missing(WITH_LOSS, &why).collect(),
        _ => Vec::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(p50_ns: u64, valid: bool) -> Measurement {
        Measurement {
            valid,
            why_invalid: (!valid).then(|| "late".to_owned()),
            from_schedule: Some(Distribution { p50_ns, ..Distribution::default() }),
            ..Measurement::default()
        }
    }

    #[test]
    fn rounds_that_do_not_count_are_left_out() {
        let floors = [Distribution { p50_ns: 4_000, ..Distribution::default() }];
        let paced = [Distribution { p99_ns: 9_000, ..Distribution::default() }];
        let runs = [run(10_000, true), run(900_000, false), run(14_000, true)];
        let found = medians(&floors, &paced, &runs).ok().unwrap();
        assert!((found.p50 - 12.0).abs() < 1e-9 && (found.floor_p50 - 4.0).abs() < 1e-9);
        assert!((found.floor_p99 - 9.0).abs() < 1e-9);
        let few = [run(1, true), run(1, false)];
        let why = medians(&floors, &paced, &few).err();
        assert_eq!(why.as_deref(), Some("1 of 2 rounds count: late"));
    }
}
