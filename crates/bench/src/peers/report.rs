//! The systems side by side.

use tapeline_measure::histogram;
use tapeline_measure::table::{Table, rate};

use super::measure::{Highest, Measured};
use super::options::{Peer, Setting};
use super::trial::Trial;
use crate::Row;
use crate::record::Distribution;

/// What the ratio of ours to theirs is to be.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Aim {
    AtLeast(f64),
    Above(f64),
    Below(f64),
}

impl Aim {
    fn is_met(self, ratio: f64) -> bool {
        match self {
            Self::AtLeast(least) => ratio >= least,
            Self::Above(bound) => ratio > bound,
            Self::Below(bound) => ratio < bound,
        }
    }

    /// Whether `a` is further from what is aimed at than `b`.
    fn is_worse(self, a: f64, b: f64) -> bool {
        match self {
            Self::AtLeast(_) | Self::Above(_) => a < b,
            Self::Below(_) => a > b,
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtLeast(least) => format!("at least {least} x"),
            Self::Above(bound) => format!("more than {bound} x"),
            Self::Below(bound) => format!("less than {bound} x"),
        }
    }
}

/// A figure of the trials of one rate.
#[derive(Clone, Copy)]
struct Figure {
    name: &'static str,
    unit: &'static str,
    of: fn(&Trial) -> Option<f64>,
}

const fn latency(name: &'static str, of: fn(&Trial) -> Option<f64>) -> Figure {
    Figure { name, unit: "µs", of }
}

fn micros(trial: &Trial, nanos: fn(&Distribution) -> u64) -> Option<f64> {
    Some(nanos(trial.latency.as_ref()?) as f64 / 1e3)
}

const PER_CPU_SECOND: Figure = Figure {
    name: "updates out per server CPU second",
    unit: "updates/s",
    of: Trial::per_server_second,
};
const P50: Figure = latency("p50", |trial| micros(trial, |all| all.p50_ns));
const P99: Figure = latency("p99", |trial| micros(trial, |all| all.p99_ns));
const P999: Figure = latency("p99.9", |trial| micros(trial, |all| all.p999_ns));

impl Figure {
    /// Its median over the trials that count.
    fn median(self, trials: &[Trial]) -> Option<f64> {
        let valid = trials.iter().filter(|trial| trial.flaw().is_none());
        let middle = histogram::median(valid.filter_map(self.of));
        (!middle.is_nan()).then_some(middle)
    }
}

/// Every system at every rate, medians of the rounds.
pub(super) fn table(all: &[Measured]) -> Table {
    let mut table = Table::new(&[
        "peers, medians",
        "out /s",
        "p50 µs",
        "p99 µs",
        "p99.9 µs",
        "CPU s/s",
        "out per CPU s",
        "valid",
        "",
    ]);
    for measured in all {
        for (at, trials) in measured.trials.iter().filter(|(_, trials)| !trials.is_empty()) {
            table.row(trials_row(measured.peer, *at, trials));
        }
        if let Some(Highest { found, trials }) = &measured.highest {
            let mut row = match found.rate {
                Some(at) => trials_row(measured.peer, at, trials),
                None => vec!["-".to_owned(); 9],
            };
            row[0] = format!("{}, highest", measured.peer);
            row[8] = found.stopped_by.clone().unwrap_or_default();
            table.row(row);
        }
        if let Some(trouble) = &measured.trouble {
            let mut row = vec![measured.peer.to_string()];
            row.resize(8, String::new());
            row.push(trouble.clone());
            table.row(row);
        }
    }
    table
}

fn trials_row(peer: Peer, at: u64, trials: &[Trial]) -> Vec<String> {
    let text = |figure: Figure, digits: usize| {
        figure.median(trials).map_or("-".to_owned(), |value| format!("{value:.digits$}"))
    };
    let share =
        Figure { name: "", unit: "", of: |trial| Some(trial.server_seconds? / trial.seconds) };
    let flaws: Vec<_> = trials.iter().filter_map(Trial::flaw).collect();
    vec![
        peer.to_string(),
        rate(at as f64),
        text(P50, 1),
        text(P99, 1),
        text(P999, 1),
        text(share, 3),
        PER_CPU_SECOND.median(trials).map_or("-".to_owned(), rate),
        format!("{} of {}", trials.len() - flaws.len(), trials.len()),
        flaws.first().map_or(String::new(), ToString::to_string),
    ]
}

/// Us in one setting beside another system.
struct Pair {
    ours: Peer,
    theirs: Peer,
    name: &'static str,
    setting: &'static str,
}

const fn pair(ours: Peer, theirs: Peer, name: &'static str, setting: &'static str) -> Pair {
    Pair { ours, theirs, name, setting }
}

const JAVA: &str = "vendor's Java provider";

const PAIRS: [Pair; 9] = [
    pair(Peer::TapelineParked, Peer::JavaParked, JAVA, "both park"),
    pair(Peer::TapelineSpinning, Peer::JavaSpinning, JAVA, "both spin"),
    pair(Peer::TapelineThroughput, Peer::JavaThroughput, JAVA, "both gather"),
    pair(Peer::TapelineParked, Peer::Nats, "NATS", "ours parks"),
    pair(Peer::TapelineSpinning, Peer::Nats, "NATS", "ours spins"),
    pair(Peer::TapelineThroughput, Peer::Nats, "NATS", "ours gathers"),
    pair(Peer::TapelineParked, Peer::ZeroMq, "ZeroMQ", "ours parks"),
    pair(Peer::TapelineSpinning, Peer::ZeroMq, "ZeroMQ", "ours spins"),
    pair(Peer::TapelineThroughput, Peer::ZeroMq, "ZeroMQ", "ours gathers"),
];

/// Us beside each of the others: at the rate at which the comparison is worst
/// for us, and at the highest rate of each.
///
/// Who spins costs a core whatever he does, and who gathers is not after a
/// short latency: neither is compared in that.
pub(super) fn rows(all: &[Measured]) -> Vec<Row> {
    let find = |peer| all.iter().find(|measured| measured.peer == peer);
    let mut rows = Vec::new();
    for pair in &PAIRS {
        let Some((ours, theirs)) = find(pair.ours).zip(find(pair.theirs)) else { continue };
        let setting = pair.ours.setting();
        if setting != Setting::Spin {
            let aim = if pair.name == JAVA { Aim::AtLeast(3.0) } else { Aim::Above(1.0) };
            rows.push(compare(pair, PER_CPU_SECOND, aim, ours, theirs));
            rows.extend(highest(pair, aim, ours, theirs));
        }
        if setting != Setting::Throughput {
            let latencies = [P50, P99, P999];
            rows.extend(latencies.map(|it| compare(pair, it, Aim::Below(1.0), ours, theirs)));
        }
    }
    rows
}

/// The names of the rows of these systems at these rates.
pub(super) fn names(peers: &[Peer], rates_out: &[u64]) -> Vec<String> {
    let new = |peer: &Peer| Measured {
        peer: *peer,
        trials: Vec::new(),
        highest: Some(Highest::default()),
        trouble: None,
        is_missing: false,
    };
    let all: Vec<Measured> = peers.iter().map(new).collect();
    let mut names: Vec<String> = rows(&all).into_iter().map(|row| row.row).collect();
    let at_rates =
        |name: &String| rates_out.iter().map(|at| at_rate(name, *at)).collect::<Vec<String>>();
    names.extend(names.iter().flat_map(at_rates).collect::<Vec<String>>());
    names
}

/// The name of a row whose figure is that of one rate.
fn at_rate(name: &str, at: u64) -> String {
    format!("{name} at {}/s", rate(at as f64))
}

fn compare(pair: &Pair, figure: Figure, aim: Aim, ours: &Measured, theirs: &Measured) -> Row {
    let mut worst: Option<(u64, f64, f64, f64)> = None;
    let mut is_unheld = false;
    for ((at, our_trials), (_, their_trials)) in ours.trials.iter().zip(&theirs.trials) {
        let (our_figure, their_figure) = (figure.median(our_trials), figure.median(their_trials));
        // What they hold and we do not is the worst that can be.
        is_unheld |= our_figure.is_none() && their_figure.is_some();
        let Some((value, other)) = our_figure.zip(their_figure) else { continue };
        let ratio = value / other;
        if worst.is_none_or(|(_, _, _, so_far)| aim.is_worse(ratio, so_far)) {
            worst = Some((*at, value, other, ratio));
        }
    }
    let Pair { name, setting, .. } = pair;
    let row = format!("{name}: {} ({setting})", figure.name);
    let why = |measured: &Measured| measured.trouble.clone().or_else(|| flaw(measured, figure));
    let reason = match (is_unheld, worst) {
        (true, _) => why(ours),
        (false, None) => {
            let why = why(ours).or_else(|| why(theirs));
            Some(why.unwrap_or("there is no rate at which both have this figure".to_owned()))
        }
        (false, Some(_)) => None,
    };
    Row {
        row: worst.map_or(row.clone(), |(at, ..)| at_rate(&row, at)),
        value: worst.map(|worst| worst.1),
        unit: figure.unit.to_owned(),
        floor: worst.map(|worst| worst.2),
        ratio: worst.map(|worst| worst.3),
        aim: aim.text(),
        met: match is_unheld {
            true => Some(false),
            false => worst.map(|worst| aim.is_met(worst.3)),
        },
        reason,
        ..Row::default()
    }
}

/// What was wrong with the first trial of a rate at which a system has no such
/// figure.
fn flaw(measured: &Measured, figure: Figure) -> Option<String> {
    let without = measured.trials.iter().filter(|(_, trials)| figure.median(trials).is_none());
    let flaw = without.flat_map(|(_, trials)| trials).find_map(Trial::flaw)?;
    Some(format!("{}: {flaw}", measured.peer))
}

const AT_HIGHEST: &str = "updates out per server CPU second at each one's highest rate";

/// The highest rates, at which nothing is aimed, and what they cost.
fn highest(pair: &Pair, aim: Aim, ours: &Measured, theirs: &Measured) -> Vec<Row> {
    let Some((ours, theirs)) = ours.highest.as_ref().zip(theirs.highest.as_ref()) else {
        return Vec::new();
    };
    let Pair { name, setting, .. } = pair;
    let why = |what: &str| {
        let both = [(pair.ours, ours), (pair.theirs, theirs)];
        let stopped = both.iter().find(|(_, all)| all.found.rate.is_none());
        match stopped {
            Some((peer, all)) => {
                let why = all.found.stopped_by.as_deref().unwrap_or("nothing was tried");
                format!("{peer}: no rate held: {why}")
            }
            None => format!("not known: {what}"),
        }
    };
    let row = |what: &str, aim: Option<Aim>, of: fn(&Highest) -> Option<f64>| {
        let (value, floor) = (of(ours), of(theirs));
        let ratio = value.zip(floor).map(|(value, floor)| value / floor);
        Row {
            row: format!("{name}: {what} ({setting})"),
            value,
            unit: "updates/s".to_owned(),
            floor,
            ratio,
            aim: aim.map_or(String::new(), Aim::text),
            met: aim.zip(ratio).map(|(aim, ratio)| aim.is_met(ratio)),
            reason: ratio.is_none().then(|| why(what)),
            ..Row::default()
        }
    };
    vec![
        row("highest rate without loss", None, |all| Some(all.found.rate? as f64)),
        row(AT_HIGHEST, Some(aim), |all| PER_CPU_SECOND.median(&all.trials)),
    ]
}

/// The rows as a table.
pub(super) fn comparison(rows: &[Row]) -> Table {
    let mut table = Table::new(&["ours beside theirs", "ours", "theirs", "ratio", "aim", "met"]);
    for row in rows {
        let figure = |value: Option<f64>| match value {
            Some(value) if row.unit == "µs" => format!("{value:.1} µs"),
            Some(value) => rate(value),
            None => "-".to_owned(),
        };
        table.row(vec![
            row.row.clone(),
            figure(row.value),
            figure(row.floor),
            row.ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            row.aim.clone(),
            match row.met {
                Some(true) => "yes".to_owned(),
                Some(false) => match &row.reason {
                    Some(reason) => format!("no: {reason}"),
                    None => "no".to_owned(),
                },
                None => row.reason.clone().unwrap_or_default(),
            },
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::search::Found;
    use crate::peers::trial::good;
    use hdrhistogram::Histogram;

    fn trial(p50_us: f64, seconds: f64) -> Trial {
        let mut nanos = Histogram::new_with_bounds(1, 1_000_000, 3).unwrap();
        nanos.record((p50_us * 1e3) as u64).unwrap();
        let latency = Distribution::of(&nanos).map(|latency| Distribution {
            p50_ns: (p50_us * 1e3) as u64,
            p99_ns: 100_000,
            ..latency
        });
        Trial { latency, server_seconds: Some(seconds), ..good() }
    }

    fn measured(peer: Peer, trials: Vec<Vec<Trial>>) -> Measured {
        let trials = trials.into_iter().enumerate();
        Measured {
            peer,
            trials: trials.map(|(at, trials)| (100_000 * (at as u64 + 1), trials)).collect(),
            highest: Some(Highest {
                found: Found { rate: Some(2_000_000), stopped_by: None },
                trials: vec![trial(1.0, 0.5)],
            }),
            trouble: None,
            is_missing: false,
        }
    }

    fn row(rows: &[Row], name: &str) -> Row {
        let found = rows.iter().find(|row| row.row.starts_with(name));
        found.unwrap_or_else(|| panic!("{name} is not among {rows:#?}")).clone()
    }

    #[test]
    fn the_worst_rate_for_us_is_the_one_that_is_told() {
        let all = [
            measured(Peer::TapelineParked, vec![vec![trial(20.0, 0.1)], vec![trial(30.0, 0.2)]]),
            measured(Peer::Nats, vec![vec![trial(50.0, 0.2)], vec![trial(40.0, 1.0)]]),
        ];
        let rows = rows(&all);
        let p50 = row(&rows, "NATS: p50 (ours parks) at 200 k/s");
        assert_eq!((p50.value, p50.floor), (Some(30.0), Some(40.0)));
        assert_eq!((p50.ratio, p50.met), (Some(0.75), Some(true)));
        let cpu = row(&rows, "NATS: updates out per server CPU second (ours parks) at 100 k/s");
        assert_eq!((cpu.ratio, cpu.met), (Some(2.0), Some(true)));
        let p99 = row(&rows, "NATS: p99 (");
        assert_eq!((p99.ratio, p99.met), (Some(1.0), Some(false)), "equal is not less");
        let highest = row(&rows, "NATS: highest");
        assert_eq!((highest.ratio, highest.met), (Some(1.0), None));
        let cost = row(&rows, "NATS: updates out per server CPU second at each one's");
        assert_eq!((cost.ratio, cost.met), (Some(1.0), Some(false)), "equal is not more");
        assert_eq!(rows.len(), 6, "what was not measured has no rows: {rows:#?}");
    }

    #[test]
    fn a_rate_that_only_they_hold_is_an_aim_missed() {
        let lost = Trial { received: 0, ..trial(1.0, 0.1) };
        let all = [
            measured(Peer::TapelineParked, vec![vec![trial(20.0, 0.1)], vec![lost]]),
            measured(Peer::ZeroMq, vec![vec![trial(50.0, 0.2)], vec![trial(40.0, 1.0)]]),
        ];
        let p50 = row(&rows(&all), "ZeroMQ: p50");
        assert_eq!(p50.met, Some(false));
        let reason = format!("{}: 1000 updates were lost", Peer::TapelineParked);
        assert_eq!(p50.reason, Some(reason), "why the aim is missed though the ratio is good");
    }

    #[test]
    fn a_highest_rate_that_is_not_there_says_why() {
        let mut nats = measured(Peer::Nats, vec![vec![trial(50.0, 0.2)]]);
        let found = Found { rate: None, stopped_by: Some("3 updates were lost".to_owned()) };
        nats.highest = Some(Highest { found, trials: Vec::new() });
        let all = [measured(Peer::TapelineParked, vec![vec![trial(20.0, 0.1)]]), nats];
        for name in ["NATS: highest", "NATS: updates out per server CPU second at each one's"] {
            let row = row(&rows(&all), name);
            assert_eq!((row.ratio, row.met), (None, None));
            assert_eq!(row.reason.as_deref(), Some("nats: no rate held: 3 updates were lost"));
        }
    }

    #[test]
    fn a_figure_that_is_not_known_is_not_0() {
        let unknown = Trial { server_seconds: None, ..trial(20.0, 0.1) };
        let all = [
            measured(Peer::TapelineParked, vec![vec![trial(20.0, 0.1)]]),
            measured(Peer::Nats, vec![vec![unknown]]),
        ];
        let cpu = row(&rows(&all), "NATS: updates out per server CPU second (");
        assert_eq!((cpu.value, cpu.met), (None, None));
        assert!(cpu.reason.is_some_and(|why| why.contains("no rate at which both")));
    }

    #[test]
    fn the_names_of_rows_are_known_before() {
        let peers = [Peer::TapelineParked, Peer::Nats];
        let all = peers.map(|peer| measured(peer, vec![vec![trial(20.0, 0.1)]]));
        let names = names(&peers, &[100_000]);
        let rows = rows(&all);
        assert!(rows.iter().all(|row| names.contains(&row.row)), "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("NATS: ")), "{names:?}");
    }

    #[test]
    fn medians_leave_out_what_does_not_count() {
        let lost = Trial { received: 0, ..trial(1.0, 0.1) };
        let trials = [trial(10.0, 0.1), lost, trial(30.0, 0.1)];
        assert_eq!(P50.median(&trials), Some(20.0));
        assert_eq!(P50.median(&trials[1..2]), None);
        let text = trials_row(Peer::Nats, 100_000, &trials);
        assert_eq!(text[7..], ["2 of 3".to_owned(), "1000 updates were lost".to_owned()]);
    }

    #[test]
    fn the_vendors_provider_is_to_cost_three_times_as_much() {
        let all = [
            measured(Peer::TapelineParked, vec![vec![trial(20.0, 0.1)]]),
            measured(Peer::JavaParked, vec![vec![trial(20.0, 0.3)]]),
        ];
        let cpu = row(&rows(&all), "vendor's Java provider: updates out per server CPU second");
        assert_eq!((cpu.aim.as_str(), cpu.met), ("at least 3 x", Some(true)), "{cpu:?}");
        assert!(cpu.ratio.is_some_and(|ratio| (ratio - 3.0).abs() < 1e-9), "{cpu:?}");
    }

    #[test]
    fn a_system_that_was_not_there_is_named_with_the_reason() {
        let mut nats = measured(Peer::Nats, vec![vec![]]);
        nats.trouble = Some("nats-server is missing".to_owned());
        nats.highest = None;
        let all = [measured(Peer::TapelineParked, vec![vec![trial(20.0, 0.1)]]), nats];
        let p50 = row(&rows(&all), "NATS: p50 (ours parks)");
        assert_eq!((p50.value, p50.met), (None, None));
        assert_eq!(p50.reason.as_deref(), Some("nats-server is missing"));
        assert!(comparison(&rows(&all)).to_string().contains("nats-server is missing"));
        assert!(table(&all).to_string().contains("nats-server is missing"));
    }
}
