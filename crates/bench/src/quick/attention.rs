//! Whether other work took the cores while rows were measured.
//!
//! Two witnesses are asked, each of which sees what the other may not:
//!
//! * what spins says how long it was on a core: source and clients all the time, hub
//!   and server unless they park, alone or in turns;
//! * the kernel says what programs that are not ours had of the cores, and what the
//!   hypervisor took.

use tapeline_channel::Idle;
use tapeline_measure::disturbance::{Disturbance, Watch};

use super::row::Row;
use crate::record::Measurement;
use crate::run::OURS;
use crate::setup::Setup;
use crate::{BenchError, Options, Output, Value};

/// What spins and was on a core for less than this share of the time was in somebody's
/// way, or somebody in its.
const OWN_CORE: f64 = 0.98;

/// So often rows are measured until they are not disturbed.
const TIMES: u32 = 2;

/// Measures rows, and once more if they were disturbed. Those that were disturbed each
/// time have no figure.
///
/// Errors: those of `measure`.
pub(super) fn undisturbed(
    options: &Options,
    out: &mut dyn Output,
    mut measure: impl FnMut(&mut dyn Output) -> Result<Vec<Row>, BenchError>,
) -> Result<Vec<Row>, BenchError> {
    until_undisturbed(|time| {
        let mut attention = Attention::start(&options.setup, out);
        let rows = measure(&mut attention);
        let why = attention.why();
        if let Some(why) = why.as_ref().filter(|_| time < TIMES) {
            out.progress(&format!("quick: disturbed ({why}): once more"));
        }
        (rows, why)
    })
}

fn until_undisturbed<E>(
    mut measure: impl FnMut(u32) -> (Result<Vec<Row>, E>, Option<String>),
) -> Result<Vec<Row>, E> {
    for time in 1.. {
        let (rows, why) = measure(time);
        match why {
            Some(why) if time >= TIMES => {
                return Ok(rows?.into_iter().map(|row| row.disturbed(&why)).collect());
            }
            Some(_) => {}
            None => return rows,
        }
    }
    Ok(Vec::new())
}

/// Hears what is measured, and passes it on.
struct Attention<'a> {
    out: &'a mut dyn Output,
    watch: Watch,
    /// Cores that hub and server keep busy all the time, if they do.
    their_cores: Option<usize>,
    /// Who was on a core for the smallest share of the time, and that share.
    least: Option<(&'static str, f64)>,
}

impl<'a> Attention<'a> {
    fn start(setup: &Setup, out: &'a mut dyn Output) -> Self {
        let cores = setup.affinity.iter().flat_map(|its| its.ours.iter().chain(&its.theirs));
        let cores: Vec<usize> = cores.copied().collect();
        let spins = !matches!(setup.idle(), Idle::Park { .. });
        Self {
            out,
            watch: Watch::start(&cores),
            their_cores: setup.affinity.as_ref().map(|its| its.theirs.len()).filter(|_| spins),
            least: None,
        }
    }

    fn note(&mut self, who: &'static str, share: f64) {
        if self.least.is_none_or(|(_, least)| share < least) {
            self.least = Some((who, share));
        }
    }

    fn look(&mut self, result: &Measurement) {
        if result.seconds <= 0.0 {
            return;
        }
        if let Some(seconds) = result.cpu_seconds.get(OURS) {
            self.note("source and clients", seconds / result.seconds);
        }
        let theirs = result.cpu_seconds.iter().filter(|(part, _)| *part != OURS);
        let (parts, seconds) = theirs.fold((0, 0.0), |sum, its| (sum.0 + 1, sum.1 + its.1));
        if let Some(cores) = self.their_cores.map(|cores| cores.min(parts)).filter(|it| *it > 0) {
            self.note("hub and server", seconds / cores as f64 / result.seconds);
        }
    }

    /// What disturbed, if anything did.
    fn why(&self) -> Option<String> {
        let others =
            self.watch.ended().filter(Disturbance::is_worth_telling).map(|it| it.to_string());
        let least = self.least.filter(|(_, share)| *share < OWN_CORE);
        let least = least.map(|(who, share)| {
            format!("{who} spin and were on a core {:.0} % of the time", share * 100.0)
        });
        let all: Vec<String> = others.into_iter().chain(least).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

impl Output for Attention<'_> {
    fn table(&mut self, text: &str) {
        self.out.table(text);
    }

    fn progress(&mut self, text: &str) {
        self.out.progress(text);
    }

    fn result(&mut self, result: &Value) {
        self.out.result(result);
    }

    fn record(&mut self, measurement: Measurement) {
        self.look(&measurement);
        self.out.record(measurement);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Affinity;

    fn row() -> Row {
        Row::of(&("latency", "µs", "at most 5"), 4.0).beside(2.0).met(true)
    }

    /// Rows of measurements that are disturbed so often, and how many were made.
    fn measured(disturbed: u32) -> (Vec<Row>, u32) {
        let mut made = 0;
        let rows = until_undisturbed(|time| {
            made = time;
            let why = (time <= disturbed).then(|| "a build ran".to_owned());
            (Ok::<_, ()>(vec![row()]), why)
        });
        (rows.unwrap(), made)
    }

    #[test]
    fn what_was_disturbed_is_measured_once_more_and_then_has_no_figure() {
        assert_eq!(measured(0), (vec![row()], 1));
        assert_eq!(measured(1), (vec![row()], 2));
        let (rows, made) = measured(2);
        assert_eq!(made, 2);
        let row = &rows[0];
        assert!(row.is_disturbed);
        assert_eq!((row.value, row.floor, row.ratio, row.met), (None, None, None, None));
        assert!(row.reason.as_deref().unwrap().contains("a build ran"), "{row:?}");
    }

    #[test]
    fn an_error_of_a_disturbed_time_is_none_if_the_next_one_is_calm() {
        let rows = until_undisturbed(|time| match time {
            1 => (Err("cut off"), Some("a build ran".to_owned())),
            _ => (Ok(vec![row()]), None),
        });
        assert_eq!(rows, Ok(vec![row()]));
        let failed = until_undisturbed(|_| (Err("cut off"), Some("a build ran".to_owned())));
        assert_eq!(failed, Err("cut off"));
    }

    struct Nothing;

    impl Output for Nothing {
        fn table(&mut self, _: &str) {}
    }

    /// What is said of runs in which the parts were on a core for so long of a second.
    fn said(idle: Idle, seconds: &[(&str, f64)]) -> Option<String> {
        let affinity = Some(Affinity { ours: vec![0], theirs: vec![1] });
        let setup = Setup { affinity, idle: Some(idle), ..Setup::default() };
        let mut nothing = Nothing;
        let mut attention = Attention::start(&setup, &mut nothing);
        let cpu_seconds: BTreeMap<String, f64> =
            seconds.iter().map(|(part, seconds)| ((*part).to_owned(), *seconds)).collect();
        attention.record(Measurement { seconds: 1.0, cpu_seconds, ..Measurement::default() });
        attention.record(Measurement { seconds: 1.0, ..Measurement::default() });
        // Too short for the kernel's ticks to say anything.
        attention.why()
    }

    #[test]
    fn what_spins_says_how_long_it_was_on_a_core() {
        assert_eq!(said(Idle::Spin, &[(OURS, 0.99), ("hub+server", 0.985)]), None);
        let text = "hub and server spin and were on a core 91 % of the time";
        let lost = said(Idle::Spin, &[(OURS, 0.99), ("hub+server", 0.91)]);
        assert_eq!(lost.as_deref(), Some(text));
        // Two that yield to each other on a core fill it.
        let shared = [(OURS, 1.0), ("hub", 0.4), ("server", 0.59)];
        assert_eq!(said(Idle::Yield, &shared), None);
        let shared = [(OURS, 0.97), ("hub", 0.4), ("server", 0.55)];
        assert!(said(Idle::Yield, &shared).unwrap().starts_with("hub and server"));
        // Who parks is not on a core when there is nothing to do.
        let parked = [(OURS, 0.99), ("hub+server", 0.3)];
        assert_eq!(said(Idle::Park { micros: 50 }, &parked), None);
        let ours = said(Idle::Park { micros: 50 }, &[(OURS, 0.9)]);
        assert!(ours.unwrap().starts_with("source and clients"));
    }
}
