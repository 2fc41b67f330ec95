//! All systems, in turns.

use std::path::Path;

use serde_json::{Value, json};

use super::error::PeerError;
use super::options::{Options, Peer};
use super::search::{Found, highest_rate};
use super::start::start;
use super::trial::{Plan, Run, Trial};
use crate::Output;
use crate::table::rate;

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

/// The highest rate that held, and the trial that shows it.
#[derive(Debug, Default)]
pub(super) struct Highest {
    pub(super) found: Found,
    pub(super) trial: Option<Trial>,
}

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
        let is_last = round == options.rounds.max(1);
        for measured in &mut all {
            if let Err(error) = turn(measured, round, is_last, options, work, out) {
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

/// One system's turn.
fn turn(
    measured: &mut Measured,
    round: u32,
    is_last: bool,
    options: &Options,
    work: &Path,
    out: &mut dyn Output,
) -> Result<(), PeerError> {
    let peer = measured.peer;
    if measured.is_missing {
        return Ok(());
    }
    let mut run = start(peer, options, work)?;
    for (rate_out, trials) in &mut measured.trials {
        let plan = Plan { rate_out: *rate_out, warm_up: options.warm_up, time: options.time };
        let trial = run.trial(&plan)?;
        tell(peer, "trial", Some(round), &trial, out);
        let is_whole = trial.is_whole();
        trials.push(trial);
        if !is_whole {
            run = start(peer, options, work)?;
        }
    }
    if is_last && peer.is_searched() && !options.search.is_zero() {
        let from = measured.highest_set_rate().or(options.rates_out.first().copied());
        let found = search(peer, from.unwrap_or(100_000), run, options, work, out)?;
        out.result(&json!({
            "bench": "peers", "what": "highest", "peer": peer.name(),
            "rate_out_per_s": found.found.rate, "stopped_by": found.found.stopped_by,
        }));
        measured.highest = Some(found);
    }
    Ok(())
}

/// Looks for the highest rate of a system.
fn search(
    peer: Peer,
    from: u64,
    run: Run,
    options: &Options,
    work: &Path,
    out: &mut dyn Output,
) -> Result<Highest, PeerError> {
    let (mut system, mut best) = (Some(run), None);
    let found = highest_rate(from, |rate_out| {
        let mut run = match system.take() {
            Some(run) => run,
            None => start(peer, options, work)?,
        };
        let plan = Plan { rate_out, warm_up: options.search / 4, time: options.search };
        // A server that hangs up on slow clients has reached its limit too.
        let trial = match run.trial(&plan) {
            Ok(trial) => trial,
            Err(error) => return Ok(Some(error.to_string())),
        };
        tell(peer, "search", None, &trial, out);
        if trial.is_whole() {
            system = Some(run);
        }
        let flaw = trial.flaw().map(|flaw| flaw.to_string());
        if flaw.is_none() {
            best = Some(trial);
        }
        Ok::<_, PeerError>(flaw)
    })?;
    Ok(Highest { found, trial: best })
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
