//! Runs in the order in which they are shown.

use std::collections::{BTreeMap, BTreeSet};

use hdrhistogram::Histogram;
use tapeline_measure::histogram::median;

use super::environment::{processor, program};
use super::format::whole;
use crate::record::{Distribution, Environment, Measurement, Record, from_hdr};

/// Results of one kind of procedure, in the order in which they were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Latency at a set rate.
    Latency,
    /// The highest rate to one client.
    Throughput,
    /// The highest rate to many clients.
    Fanout,
    /// What the machine does without us.
    Floor,
    /// Bytes of memory.
    Memory,
}

impl Kind {
    fn of(measurement: &Measurement) -> Self {
        match measurement.procedure.as_str() {
            "throughput" => Self::Throughput,
            "fanout" => Self::Fanout,
            "floor" => Self::Floor,
            _ if measurement.rate_per_s.is_none() && !measurement.bytes.is_empty() => Self::Memory,
            _ => Self::Latency,
        }
    }
}

pub(super) fn of_kind(records: &[Record], kind: Kind) -> Vec<&Measurement> {
    let results = records.iter().filter_map(|record| match record {
        Record::Result(measurement) => Some(&**measurement),
        Record::Environment(_) => None,
    });
    results.filter(|measurement| Kind::of(measurement) == kind).collect()
}

/// Records with each result's origin: results of different programs or machines
/// are never rounds of the same.
pub(super) fn with_origins(records: Vec<Record>) -> Vec<Record> {
    let mut origin = String::new();
    let told = records.into_iter().map(|mut record| {
        match &mut record {
            Record::Environment(environment) => {
                origin = format!("{} on {}", program(environment), machine(environment));
            }
            Record::Result(result) => result.origin.clone_from(&origin),
        }
        record
    });
    told.collect()
}

fn machine(environment: &Environment) -> String {
    let kernel = environment.kernel.clone().unwrap_or_default();
    [processor(environment), kernel].join(", ")
}

/// Latency of one arrangement, at one or more rates.
#[derive(Clone, Debug)]
pub(super) struct Series<'a> {
    /// What sets it apart from the others of the report.
    pub(super) name: String,
    /// Runs by rate, in updates a second.
    pub(super) rates: BTreeMap<u64, Rounds<'a>>,
}

impl Series<'_> {
    /// The highest rate that held, all of whose lower ones held too.
    pub(super) fn sustained_per_s(&self) -> Option<u64> {
        let held = self.rates.iter().take_while(|(_, rounds)| rounds.valid().next().is_some());
        held.last().map(|(rate, _)| *rate)
    }

    /// Why the rate after that did not hold.
    pub(super) fn stopped_by(&self) -> Option<&str> {
        let stopped = self.rates.values().find(|rounds| rounds.valid().next().is_none());
        stopped?.all.iter().find_map(|run| run.why_invalid.as_deref())
    }
}

/// The same run, made once or more often.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds<'a> {
    pub(super) all: Vec<&'a Measurement>,
}

impl<'a> Rounds<'a> {
    pub(super) fn valid(&self) -> impl Iterator<Item = &'a Measurement> {
        self.all.iter().copied().filter(|run| run.valid)
    }

    /// The middle of a figure of all rounds that count.
    pub(super) fn middle(&self, figure: impl Fn(&Measurement) -> Option<f64>) -> Option<f64> {
        let figures: Vec<f64> = self.valid().filter_map(figure).collect();
        (!figures.is_empty()).then(|| median(figures))
    }

    /// The middle of a figure of the latencies from schedule, in nanoseconds.
    pub(super) fn schedule_ns(&self, figure: fn(&Distribution) -> f64) -> Option<f64> {
        self.middle(|run| run.from_schedule.as_ref().map(figure))
    }

    /// The same from send.
    pub(super) fn send_ns(&self, figure: fn(&Distribution) -> f64) -> Option<f64> {
        self.middle(|run| run.from_send.as_ref().map(figure))
    }

    /// The same of the floor.
    pub(super) fn floor_ns(&self, figure: fn(&Distribution) -> f64) -> Option<f64> {
        self.middle(|run| run.floor.as_ref().map(figure))
    }

    /// All latencies from schedule of the rounds that count.
    pub(super) fn histogram(&self) -> Option<Histogram<u64>> {
        let mut histograms = self.valid().filter_map(|run| from_hdr(run.hdr.as_deref()?));
        let mut all = histograms.next()?;
        for more in histograms {
            all.add(more).ok()?;
        }
        Some(all)
    }
}

/// Latency runs by arrangement. A part of the arrangement is in the names only
/// if there is more than one of it.
pub(super) fn series<'a>(runs: &[&'a Measurement]) -> Vec<Series<'a>> {
    let differs = |part: &Part| {
        let texts: BTreeSet<String> = runs.iter().map(|run| part(run)).collect();
        texts.len() > 1
    };
    let parts: Vec<Part> = PARTS.into_iter().filter(differs).collect();
    let name = |run: &Measurement| {
        let texts: Vec<String> = parts.iter().map(|part| part(run)).collect();
        let text = texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>();
        if text.is_empty() { run.topology.clone() } else { text.join(", ") }
    };
    let mut all: Vec<Series<'a>> = Vec::new();
    for run in runs {
        let name = name(run);
        let at = all.iter().position(|series| series.name == name).unwrap_or_else(|| {
            all.push(Series { name, rates: BTreeMap::new() });
            all.len() - 1
        });
        let rates = &mut all[at].rates;
        rates.entry(run.rate_per_s.unwrap_or(0)).or_default().all.push(run);
    }
    all
}

type Part = fn(&Measurement) -> String;

/// What an arrangement consists of.
const PARTS: [Part; 7] = [
    |run| run.origin.clone(),
    |run| run.procedure.clone(),
    |run| run.topology.clone(),
    |run| if run.pacing.is_empty() { String::new() } else { format!("{} pacing", run.pacing) },
    |run| if run.profile.is_empty() { String::new() } else { format!("profile {}", run.profile) },
    |run| run.items.map_or(String::new(), |items| format!("{} items", whole(items as f64))),
    |run| run.mounts.map_or(String::new(), |mounts| format!("{} mounts", whole(mounts as f64))),
];

/// Some rates out of all that held: the lowest, the highest, and those in
/// between that are nearest to the same distance on a logarithmic scale.
pub(super) fn chosen<'a, 'b>(series: &'b Series<'a>, count: usize) -> Vec<(u64, &'b Rounds<'a>)> {
    let all: Vec<(u64, &Rounds<'a>)> = series
        .rates
        .iter()
        .filter(|(_, rounds)| rounds.histogram().is_some())
        .map(|(rate, rounds)| (*rate, rounds))
        .collect();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Vec::new() };
    let (low, high) = ((first.0.max(1) as f64).ln(), (last.0.max(1) as f64).ln());
    let nearest = |place: usize| {
        let wanted = low + (high - low) * place as f64 / (count.max(2) - 1) as f64;
        let distance = |at: &usize| ((all[*at].0.max(1) as f64).ln() - wanted).abs();
        (0..all.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0)
    };
    let places: BTreeSet<usize> = match all.len() <= count {
        true => (0..all.len()).collect(),
        false => (0..count).map(nearest).collect(),
    };
    places.into_iter().map(|at| all[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::to_hdr;

    fn run(topology: &str, rate: u64, mean_ns: f64, valid: bool) -> Measurement {
        let mut nanos = Histogram::new(3).unwrap();
        nanos.record(mean_ns as u64).unwrap();
        Measurement {
            procedure: "latency".to_owned(),
            topology: topology.to_owned(),
            pacing: "even".to_owned(),
            rate_per_s: Some(rate),
            valid,
            why_invalid: (!valid).then(|| "lost".to_owned()),
            from_schedule: Some(Distribution { mean_ns, ..Distribution::default() }),
            hdr: to_hdr(&nanos),
            ..Measurement::default()
        }
    }

    #[test]
    fn names_tell_only_what_differs() {
        let (a, b) = (run("thread", 1, 1.0, true), run("ipc", 1, 1.0, true));
        let names = |runs: &[&Measurement]| {
            series(runs).into_iter().map(|series| series.name).collect::<Vec<_>>()
        };
        assert_eq!(names(&[&a, &a]), ["thread"]);
        assert_eq!(names(&[&a, &b]), ["thread", "ipc"]);
        let bursts = Measurement { pacing: "bursts".to_owned(), ..a.clone() };
        assert_eq!(names(&[&a, &bursts]), ["even pacing", "bursts pacing"]);
        assert_eq!(names(&[]), [""; 0]);
    }

    #[test]
    fn runs_of_two_builds_are_not_rounds_of_one() {
        let build = |commit: &str| {
            let commit = Some(commit.to_owned());
            Record::from(Environment { git_commit: commit, ..Environment::default() })
        };
        let result = || Record::from(run("thread", 5, 1.0, true));
        let names = |records: &[Record]| {
            let runs = of_kind(records, Kind::Latency);
            let series = series(&runs);
            let named = series.iter().map(|one| (one.name.clone(), one.rates[&5].all.len()));
            named.collect::<Vec<_>>()
        };
        let same = with_origins(vec![build("a"), result(), build("a"), result()]);
        assert_eq!(names(&same), [("thread".to_owned(), 2)]);
        let other = with_origins(vec![build("a"), result(), result(), build("b"), result()]);
        let [(first, 2), (second, 1)] = &names(&other)[..] else { panic!("{:?}", names(&other)) };
        assert!(first.contains("commit a") && second.contains("commit b"), "{first} {second}");
    }

    #[test]
    fn rounds_that_do_not_count_are_not_in_the_middle() {
        let runs = [10.0, 20.0, 60.0].map(|mean| run("thread", 5, mean, true));
        let bad = run("thread", 5, 9000.0, false);
        let all: Vec<&Measurement> = runs.iter().chain([&bad]).collect();
        let series = series(&all);
        let rounds = &series[0].rates[&5];
        assert_eq!(rounds.schedule_ns(|figures| figures.mean_ns), Some(20.0));
        assert_eq!(rounds.send_ns(|figures| figures.mean_ns), None);
        let histogram = rounds.histogram().unwrap();
        assert_eq!((histogram.len(), histogram.max()), (3, 60));
        assert_eq!(Rounds { all: vec![&bad] }.schedule_ns(|figures| figures.mean_ns), None);
    }

    #[test]
    fn the_sustained_rate_has_no_hole_below() {
        let runs = [(1, true), (2, true), (3, false), (4, true)];
        let runs = runs.map(|(rate, valid)| run("thread", rate, 1.0, valid));
        let all: Vec<&Measurement> = runs.iter().collect();
        let series = series(&all);
        assert_eq!((series[0].sustained_per_s(), series[0].stopped_by()), (Some(2), Some("lost")));
    }

    #[test]
    fn chosen_rates_are_spread_over_all() {
        let runs: Vec<Measurement> =
            [1000, 2000, 10_000, 90_000, 100_000, 900_000].map(|r| run("x", r, 1.0, true)).into();
        let all: Vec<&Measurement> = runs.iter().collect();
        let series = series(&all);
        let rates = |count| chosen(&series[0], count).iter().map(|at| at.0).collect::<Vec<_>>();
        assert_eq!(rates(4), [1000, 10_000, 90_000, 900_000]);
        assert_eq!(rates(9).len(), 6);
    }
}
