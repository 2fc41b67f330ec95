//! Searches of the highest rate at which a system loses nothing.

use std::time::Duration;

use tapeline_measure::histogram::median;
use tapeline_measure::schedule::{MAX_RATE, Pacing};
use tapeline_measure::table::rate;

use crate::plan::Plan;
use crate::run::Run;
use crate::search::{Length, Search};
use crate::system::{Load, System};
use crate::{BenchError, Options, Output};

/// A search ends when it knows the rate to this share.
const STEP: f64 = 0.03;

/// The warm-up of a trial is this part of its time.
const WARM_UP_PART: u32 = 3;

/// A system that does not hold this part of the rate at which a search begins
/// has no figure: the machine is busy elsewhere.
const LEAST_PART: u64 = 100;

/// Trials of the whole length to find the rate, unless none of them held.
const MAX_WHOLE: usize = 7;

/// What is looked for.
pub(crate) struct Goal<'a> {
    /// What the search is called.
    pub(crate) name: &'a str,
    /// Where it begins, in updates a second.
    pub(crate) from: u64,
    /// What else must hold than that all came; says why it does not.
    pub(crate) or_else: &'a dyn Fn(&Run) -> Option<String>,
}

/// What a search found.
pub(crate) struct Found {
    /// The run at the highest rate that held for the whole time.
    pub(crate) run: Option<Run>,
    /// What became of the lowest rate that did not.
    pub(crate) stopped_by: String,
    /// Bytes of an update on the wire to a client.
    pub(crate) wire_bytes: usize,
    /// From the login to the last image, of each time the system was started.
    pub(crate) ready_after: Vec<Duration>,
}

impl Found {
    /// The middle of the times from the login to the last image, in seconds.
    pub(crate) fn ready_after_s(&self) -> f64 {
        median(self.ready_after.iter().map(Duration::as_secs_f64))
    }
}

/// A system that is used for many runs, and made anew when one has broken it.
pub(crate) struct Kept<'a> {
    plan: &'a Plan,
    options: &'a Options,
    system: Option<System>,
    /// Of every start.
    ready_after: Vec<Duration>,
}

impl<'a> Kept<'a> {
    pub(crate) fn new(plan: &'a Plan, options: &'a Options) -> Self {
        Self { plan, options, system: None, ready_after: Vec::new() }
    }

    pub(crate) fn system(&mut self) -> Result<&mut System, BenchError> {
        let Options { setup, patience, .. } = self.options;
        let system = match self.system.take() {
            Some(system) => system,
            None => {
                let system = System::start(self.plan, setup, *patience)?;
                self.ready_after.push(system.ready_after);
                system
            }
        };
        Ok(self.system.insert(system))
    }

    pub(crate) fn run(&mut self, load: &Load) -> Result<Run, BenchError> {
        let run = self.system()?.run(load)?;
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
    let wire_bytes = kept.system()?.update_wire_bytes();
    let mut best: Option<Run> = None;
    let mut stopped = Stopped::default();
    let from = options.search_from.unwrap_or(goal.from);
    let search = Search {
        from,
        least: (from / LEAST_PART).max(1),
        step: STEP,
        max_trials: options.max_probes,
        max_whole: MAX_WHOLE,
    };
    search.run(|rate, length| {
        if rate > MAX_RATE {
            return Ok::<_, BenchError>(false);
        }
        let time = if length == Length::Short { options.probe } else { options.time };
        let load = load(options, rate, time);
        let mut tried = attempt(goal, &mut kept, &load, out)?;
        if matches!(&tried, Tried::Late(_)) {
            // The machine may have been busy elsewhere: once again.
            tried = attempt(goal, &mut kept, &load, out)?;
        }
        Ok(match tried {
            Tried::Holds(run) => {
                if length == Length::Whole {
                    best = Some(*run);
                }
                true
            }
            Tried::Failed(why) | Tried::Late(why) => {
                stopped.by(why, rate);
                false
            }
        })
    })?;
    let stopped_by = stopped.above(best.as_ref().map_or(0, |run| run.rate));
    Ok(Found { run: best, stopped_by, wire_bytes, ready_after: kept.ready_after })
}

/// Rates that did not hold, and why.
#[derive(Default)]
struct Stopped(Vec<(u64, String)>);

impl Stopped {
    fn by(&mut self, why: String, rate: u64) {
        self.0.push((rate, why));
    }

    /// What became of the lowest of them above a rate.
    fn above(self, best: u64) -> String {
        let lowest = self.0.into_iter().filter(|(rate, _)| *rate > best).min_by_key(|bad| bad.0);
        match lowest {
            Some((rate, why)) => format!("{why}, at {}/s", self::rate(rate as f64)),
            None => "the end of the search".to_owned(),
        }
    }
}

fn load(options: &Options, rate: u64, time: Duration) -> Load {
    let warm_up = options.warm_up.min(options.probe / WARM_UP_PART).max(least_warm_up(options));
    Load { rate, pacing: options.pacing, warm_up, time }
}

fn attempt(
    goal: &Goal<'_>,
    kept: &mut Kept<'_>,
    load: &Load,
    out: &mut dyn Output,
) -> Result<Tried, BenchError> {
    let run = kept.run(load)?;
    let flaw = run.flaw();
    let why = flaw.as_ref().map(ToString::to_string).or_else(|| (goal.or_else)(&run));
    report(goal.name, &run, why.as_deref(), out);
    Ok(match why {
        None => Tried::Holds(Box::new(run)),
        Some(why) if flaw.is_none_or(|flaw| flaw.may_be_chance()) => Tried::Late(why),
        Some(why) => Tried::Failed(why),
    })
}

/// Bursts come five times a second.
fn least_warm_up(options: &Options) -> Duration {
    match options.pacing {
        Pacing::Bursts => Duration::from_millis(200),
        Pacing::Even | Pacing::Ticks(_) | Pacing::Poisson(_) => Duration::ZERO,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stopped_a_search_is_the_next_rate_above() {
        let mut stopped = Stopped::default();
        stopped.by("far".to_owned(), 4_000);
        stopped.by("near".to_owned(), 3_000);
        stopped.by("by chance".to_owned(), 1_000);
        assert_eq!(stopped.above(2_000), "near, at 3 k/s");
        assert_eq!(Stopped::default().above(2_000), "the end of the search");
    }
}
