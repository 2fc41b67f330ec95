//! All systems, in turns.

use std::path::Path;

use serde_json::{Value, json};
use tapeline_measure::stop;
use tapeline_measure::table::rate;

use super::error::PeerError;
use super::options::{Options, Peer};
use super::search::{Found, highest_rate};
use super::start::start;
use super::trial::{Plan, Run, Trial};
use crate::Output;

/// What was found of a system.
#[derive(Debug)]
pub(super) struct Measured {
    pub(super) peer: Peer,
    /// The rates, each with its trials of all rounds.
    pub(super) trials: Vec<(u64, Vec<Trial>)>,
    pub(super) highest: Option<Highest>,
    /// Why it was not measured, or not to the end.
    pub(super) trouble: Option<String>,
    /// Whether it is not on this machine at all.
    pub(super) is_missing: bool,
}

/// The highest rate that held, and the trials that show it.
#[derive(Debug, Default)]
pub(super) struct Highest {
    pub(super) found: Found,
    /// One of the search, and those of the rounds after it.
    pub(super) trials: Vec<Trial>,
}

/// A rate that does not hold any more is lowered by this share, so many times.
const LOWERED: f64 = 0.9;
const MOST_LOWERED: usize = 8;

impl Measured {
    fn new(peer: Peer, rates: &[u64]) -> Self {
        let trials = rates.iter().map(|rate| (*rate, Vec::new())).collect();
        Self { peer, trials, highest: None, trouble: None, is_missing: false }
    }

    /// The highest of the set rates that held in most of its trials.
    fn highest_set_rate(&self) -> Option<u64> {
        let held = |trials: &[Trial]| trials.iter().filter(|trial| trial.flaw().is_none()).count();
        let good = self.trials.iter().filter(|(_, trials)| held(trials) * 2 > trials.len());
        good.map(|(rate, _)| *rate).max()
    }
}

/// Measures every system in every round.
pub(super) fn all(options: &Options, work: &Path, out: &mut dyn Output) -> Vec<Measured> {
    let new = |peer: &Peer| Measured::new(*peer, &options.rates_out);
    let mut all: Vec<Measured> = options.peers.iter().map(new).collect();
    for round in 1..=options.rounds.max(1) {
        for measured in &mut all {
            if stop::is_asked() {
                return all;
            }
            if let Err(error) = turn(measured, round, options, work, out) {
                out.progress(&format!("{}: {error}", measured.peer));
                let peer = measured.peer.name();
                let what = error.to_string();
                out.result(
                    &json!({"bench": "peers", "what": "trouble", "peer": peer, "trouble": what}),
                );
                measured.trouble = Some(what);
                measured.is_missing = matches!(error, PeerError::Missing { .. });
            }
        }
    }
    all
}

/// One system's turn: the set rates, then its highest one, which is looked for
/// in the first round.
fn turn(
    measured: &mut Measured,
    round: u32,
    options: &Options,
    work: &Path,
    out: &mut dyn Output,
) -> Result<(), PeerError> {
    let peer = measured.peer;
    if measured.is_missing {
        return Ok(());
    }
    let mut system = Started { peer, options, work, run: None };
    for (rate_out, trials) in &mut measured.trials {
        let plan = Plan { rate_out: *rate_out, warm_up: options.warm_up, time: options.time };
        let trial = system.trial(&plan)?;
        tell(peer, "trial", Some(round), &trial, out);
        trials.push(trial);
    }
    if !peer.is_searched() || options.search.is_zero() {
        return Ok(());
    }
    if let Some(highest) = &mut measured.highest {
        let Options { warm_up, time, .. } = *options;
        return highest.again(|rate_out| {
            let trial = system.trial(&Plan { rate_out, warm_up, time })?;
            tell(peer, "highest", Some(round), &trial, out);
            Ok(trial)
        });
    }
    let from = measured.highest_set_rate().or(options.rates_out.first().copied());
    let highest = search(from.unwrap_or(100_000), &mut system, out)?;
    out.result(&json!({
        "bench": "peers", "what": "highest", "peer": peer.name(),
        "rate_out_per_s": highest.found.rate, "stopped_by": highest.found.stopped_by,
    }));
    measured.highest = Some(highest);
    Ok(())
}

/// A system that is started when it is needed, and anew when something was
/// lost.
struct Started<'a> {
    peer: Peer,
    options: &'a Options,
    work: &'a Path,
    run: Option<Run>,
}

impl Started<'_> {
    fn trial(&mut self, plan: &Plan) -> Result<Trial, PeerError> {
        let mut run = match self.run.take() {
            Some(run) => run,
            None => start(self.peer, self.options, self.work)?,
        };
        let trial = run.trial(plan)?;
        if trial.is_whole() {
            self.run = Some(run);
        }
        Ok(trial)
    }
}

/// Looks for the highest rate of a system.
fn search(from: u64, system: &mut Started<'_>, out: &mut dyn Output) -> Result<Highest, PeerError> {
    let time = system.options.search;
    let mut best = None;
    let found = highest_rate(from, |rate_out| {
        stop::check()?;
        // A server that hangs up on slow clients has reached its limit too.
        let trial = match system.trial(&Plan { rate_out, warm_up: time / 4, time }) {
            Ok(trial) => trial,
            Err(error @ PeerError::Missing { .. }) => return Err(error),
            Err(error) => return Ok(Some(error.to_string())),
        };
        tell(system.peer, "search", None, &trial, out);
        let flaw = trial.flaw().map(|flaw| flaw.to_string());
        if flaw.is_none() {
            best = Some(trial);
        }
        Ok::<_, PeerError>(flaw)
    })?;
    Ok(Highest { found, trials: best.into_iter().collect() })
}

impl Highest {
    /// Another trial at the highest rate. If it does not hold any more, the
    /// highest rate is the next lower one that does, or none.
    ///
    /// Errors: those of `trial`.
    fn again<E>(&mut self, mut trial: impl FnMut(u64) -> Result<Trial, E>) -> Result<(), E> {
        let Some(mut rate_out) = self.found.rate else { return Ok(()) };
        for _ in 0..=MOST_LOWERED {
            let trial = trial(rate_out)?;
            let Some(flaw) = trial.flaw() else {
                self.held(rate_out, trial);
                return Ok(());
            };
            self.found.stopped_by = Some(flaw.to_string());
            rate_out = (rate_out as f64 * LOWERED) as u64;
        }
        self.found.rate = None;
        self.trials.clear();
        Ok(())
    }

    /// A trial at this rate held. Those of a higher one are none of it.
    fn held(&mut self, rate_out: u64, trial: Trial) {
        if self.found.rate != Some(rate_out) {
            self.found.rate = Some(rate_out);
            self.trials.clear();
        }
        self.trials.push(trial);
    }
}

fn tell(peer: Peer, what: &str, round: Option<u32>, trial: &Trial, out: &mut dyn Output) {
    let figures = match trial.flaw() {
        Some(flaw) => flaw.to_string(),
        None => trial.latency.as_ref().map_or("nothing came".to_owned(), |latency| {
            format!("p50 {:.0} µs", latency.p50_ns as f64 / 1e3)
        }),
    };
    let turn = round.map_or(what.to_owned(), |round| format!("round {round}"));
    out.progress(&format!("{peer}: {turn}, {}/s out: {figures}", rate(trial.rate_out as f64)));
    let mut json: Value = trial.to_json();
    json["bench"] = "peers".into();
    json["what"] = what.into();
    json["peer"] = peer.name().into();
    json["round"] = round.into();
    out.result(&json);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::trial::good;

    fn found(rate: u64) -> Highest {
        let found = Found { rate: Some(rate), stopped_by: None };
        Highest { found, trials: vec![good()] }
    }

    /// A trial that holds up to this rate.
    fn up_to(limit: u64) -> impl FnMut(u64) -> Result<Trial, ()> {
        move |rate_out| {
            let received = if rate_out > limit { 990 } else { 1_000 };
            Ok(Trial { rate_out, received, ..good() })
        }
    }

    #[test]
    fn the_highest_rate_is_one_that_was_tried_and_held() {
        let mut highest = found(10_000);
        highest.again(up_to(10_000)).unwrap();
        assert_eq!((highest.found.rate, highest.trials.len()), (Some(10_000), 2));
        highest.again(up_to(8_500)).unwrap();
        assert_eq!(highest.found.rate, Some(8_100));
        assert_eq!(highest.found.stopped_by.as_deref(), Some("10 updates were lost"));
        let rates: Vec<u64> = highest.trials.iter().map(|trial| trial.rate_out).collect();
        assert_eq!(rates, [8_100], "trials of a rate that does not hold are dropped");
    }

    #[test]
    fn a_rate_that_never_holds_again_is_none() {
        let mut highest = found(10_000);
        highest.again(up_to(4_000)).unwrap();
        assert_eq!((highest.found.rate, highest.trials.len()), (None, 0));
        assert!(highest.found.stopped_by.is_some());
        highest.again(|rate| Err(format!("{rate} is tried"))).unwrap();
    }
}
