//! Searches of the highest rate at which a system loses nothing.

use std::time::Duration;

use crate::plan::Plan;
use crate::run::Run;
use crate::schedule::{MAX_RATE, Pacing};
use crate::search::Search;
use crate::system::{Load, System};
use crate::table::rate;
use crate::{BenchError, Options, Output};

/// A search ends when it knows the rate to this share.
const STEP: f64 = 0.03;

/// The warm-up of a trial is this part of its time.
const WARM_UP_PART: u32 = 3;

/// A rate that held for the short time of a trial, and not for the whole, is
/// lowered by this share, so many times.
const LOWERED: f64 = 0.95;
const MOST_LOWERED: usize = 4;

/// What is looked for.
pub(crate) struct Goal<'a> {
    /// What the search is called.
    pub(crate) name: &'a str,
    /// Where it begins, in updates a second.
    pub(crate) from: u64,
    /// What else must hold than that all came; says why it does not.
    pub(crate) or_else: fn(&Run) -> Option<String>,
}

/// What a search found.
pub(crate) struct Found {
    /// The run at the highest rate that held for the whole time.
    pub(crate) run: Option<Run>,
    /// What became of the lowest rate that did not.
    pub(crate) stopped_by: String,
    /// Bytes of an update on the wire to a client.
    pub(crate) wire_bytes: usize,
    /// From the login to the last image.
    pub(crate) ready_after: Duration,
}

/// A system that is used for many runs, and made anew when one has broken it.
pub(crate) struct Kept<'a> {
    plan: &'a Plan,
    options: &'a Options,
    system: Option<System>,
}

impl<'a> Kept<'a> {
    pub(crate) fn new(plan: &'a Plan, options: &'a Options) -> Self {
        Self { plan, options, system: None }
    }

    pub(crate) fn system(&mut self) -> Result<&mut System, BenchError> {
        let Options { setup, patience, .. } = self.options;
        let system = match self.system.take() {
            Some(system) => system,
            None => System::start(self.plan, setup, *patience)?,
        };
        Ok(self.system.insert(system))
    }

    pub(crate) fn run(&mut self, load: &Load) -> Result<Run, BenchError> {
        let run = self.system()?.run(load);
        if !run.is_clean() {
            self.system = None;
        }
        Ok(run)
    }
}

/// What became of a rate.
enum Tried {
    Holds(Box<Run>),
    /// It was too slow, which the machine's other work may have caused.
    Late(String),
    /// Something was lost, or worse: that is no accident.
    Failed(String),
}

/// Looks for the highest rate that holds, in short trials, and has it hold for
/// the whole time then.
pub(crate) fn search(
    goal: &Goal<'_>,
    plan: &Plan,
    options: &Options,
    out: &mut dyn Output,
) -> Result<Found, BenchError> {
    let mut kept = Kept::new(plan, options);
    let system = kept.system()?;
    let mut found = Found {
        run: None,
        stopped_by: "the end of the search".to_owned(),
        wire_bytes: system.update_wire_bytes(),
        ready_after: system.ready_after,
    };
    let load = |rate: u64, time: Duration| Load {
        rate,
        pacing: options.pacing,
        warm_up: options.warm_up.min(options.probe / WARM_UP_PART).max(least_warm_up(options)),
        time,
    };
    let mut lowest_bad = u64::MAX;
    let mut try_rate = |rate: u64, time: Duration, out: &mut dyn Output| {
        let run = kept.run(&load(rate, time))?;
        let flaw = run.flaw();
        let why = flaw.as_ref().map(ToString::to_string).or_else(|| (goal.or_else)(&run));
        report(goal.name, &run, why.as_deref(), out);
        Ok::<_, BenchError>(match why {
            None => Tried::Holds(Box::new(run)),
            Some(why) if flaw.is_none_or(|flaw| flaw.may_be_chance()) => Tried::Late(why),
            Some(why) => Tried::Failed(why),
        })
    };
    let search = Search {
        from: options.search_from.unwrap_or(goal.from),
        step: STEP,
        max_trials: options.max_probes,
    };
    let best = search.run(|rate| {
        if rate > MAX_RATE {
            return Ok::<_, BenchError>(false);
        }
        let mut tried = try_rate(rate, options.probe, out)?;
        if matches!(&tried, Tried::Late(_)) {
            // The machine may have been busy elsewhere: once again.
            tried = try_rate(rate, options.probe, out)?;
        }
        let (Tried::Failed(why) | Tried::Late(why)) = tried else { return Ok(true) };
        if rate <= lowest_bad {
            lowest_bad = rate;
            found.stopped_by = format!("{why}, at {}/s", self::rate(rate as f64));
        }
        Ok(false)
    })?;
    let mut candidate = best;
    for _ in 0..=MOST_LOWERED {
        let Some(rate) = candidate else { break };
        match try_rate(rate, options.time, out)? {
            Tried::Holds(run) => {
                found.run = Some(*run);
                break;
            }
            Tried::Late(why) | Tried::Failed(why) => {
                found.stopped_by = format!("{why}, at {}/s", self::rate(rate as f64));
            }
        }
        candidate = Some((rate as f64 * LOWERED) as u64);
    }
    Ok(found)
}

/// Bursts come five times a second.
fn least_warm_up(options: &Options) -> Duration {
    match options.pacing {
        Pacing::Bursts => Duration::from_millis(200),
        Pacing::Even | Pacing::Ticks(_) => Duration::ZERO,
    }
}

fn report(name: &str, run: &Run, why: Option<&str>, out: &mut dyn Output) {
    out.progress(&format!(
        "{name}: {}/s in, {}/s out: {}",
        rate(run.rate as f64),
        rate(run.rate as f64 * run.fan_out),
        why.unwrap_or("holds"),
    ));
}
