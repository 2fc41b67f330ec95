//! Runs worlds, and makes the story of one that breaks short.

use std::any::Any;
use std::collections::BTreeSet;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use tapeline_omm::HashSeed;
use tapeline_time::Time;

use crate::log::Trace;
use crate::plan::{Parties, Plan};
use crate::planted::{Caught, Planted};
use crate::world::World;

/// How worlds are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What becomes of the lines that say what happens.
    pub trace: Trace,
    /// A fault that is planted.
    pub planted: Planted,
    /// The actions of the plan that take place, by their place in it; all if
    /// absent.
    pub actions: Option<BTreeSet<usize>>,
    /// The most that there are of each kind; as the seed says if absent.
    pub parties: Option<Parties>,
}

/// What a world came to that broke nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How much time passed in it.
    pub virtual_time: Duration,
    /// What its consumers were told.
    pub events: u64,
    /// The same for two runs that did the same, if they were traced.
    pub digest: u64,
}

/// What did not hold in a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The seed of the world.
    pub seed: u64,
    /// When it was found.
    pub at: Time,
    /// What does not hold.
    pub what: String,
    /// The actions that took place; all if absent.
    pub actions: Option<BTreeSet<usize>>,
    /// The most that there were of each kind; as the seed says if absent.
    pub parties: Option<Parties>,
    /// The fault that was planted.
    pub planted: Planted,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, at, what, actions, parties, planted } = self;
        writeln!(f, "seed {seed} breaks at {:.6} s: {what}", at.since(Time::ZERO).as_secs_f64())?;
        let features = match planted {
            Planted::Code(_) => " --features planted",
            _ => "",
        };
        write!(f, "replay: cargo run -p tapeline-sim{features} -- --seed {seed} --trace")?;
        if let Some(actions) = actions {
            let actions: Vec<String> = actions.iter().map(usize::to_string).collect();
            match actions.is_empty() {
                true => write!(f, " --no-actions")?,
                false => write!(f, " --actions {}", actions.join(","))?,
            }
        }
        if let Some(parties) = parties {
            write!(f, " --parties {parties}")?;
        }
        if *planted != Planted::Nothing {
            write!(f, " --planted {planted}")?;
        }
        Ok(())
    }
}

/// Runs the world of a seed.
///
/// Errors: something does not hold.
pub fn run(seed: u64, options: &Options) -> Result<Summary, Box<Failure>> {
    let mut plan = Plan::of(seed);
    plan.shape.limit(&options.parties.unwrap_or(Parties::ALL));
    if let Some(kept) = &options.actions {
        let all = std::mem::take(&mut plan.actions).into_iter().enumerate();
        plan.actions = all.filter(|(index, _)| kept.contains(index)).map(|(_, it)| it).collect();
    }
    let (at, ran) = run_plan(&plan, options);
    let failure = |what: String| {
        let Options { actions, parties, planted, .. } = options.clone();
        Box::new(Failure { seed, at, what, actions, parties, planted })
    };
    let ran = ran.map_err(failure)?;
    Ok(Summary { virtual_time: at.since(Time::ZERO), ..ran })
}

/// Runs a world as it is planned. Returns when it was over, too.
pub(crate) fn run_plan(plan: &Plan, options: &Options) -> (Time, Result<Summary, String>) {
    // Whoever was first has chosen; no result depends on it.
    let _ = HashSeed::fixed([1, 2]).set_for_process();
    let in_code = match options.planted {
        Planted::Code(fault) => Some(fault),
        _ => None,
    };
    tapeline_planted::choose(in_code);
    let mut world = World::new(plan, options.planted, options.trace);
    let network = world.network.clone();
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let ran = world.run(&plan.actions);
        (ran, world.heard(), world.log.digest())
    }));
    tapeline_planted::choose(None);
    let at = network.now();
    let ran = match ran {
        Ok((Ok(()), events, digest)) => Ok(Summary { events, digest, ..Summary::default() }),
        Ok((Err(what), ..)) => Err(what),
        Err(panic) => Err(format!("panic: {}", words(&*panic))),
    };
    (at, ran)
}

/// Runs worlds with a planted fault, from seed 0 on, until one breaks.
pub fn catch(planted: Planted, most: u64) -> Caught {
    let options = Options { planted, ..Options::default() };
    // One that breaks without it says nothing of it.
    let holds = |failure: &Failure| run(failure.seed, &Options::default()).is_ok();
    let found = (0..most).find_map(|seed| run(seed, &options).err().filter(|it| holds(it)));
    let seeds = found.as_ref().map_or(most, |failure| failure.seed + 1);
    Caught { planted, seeds, what: found.map(|failure| failure.what) }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without words")
}

/// Leaves out parties and actions of a failure as long as something is broken
/// without them.
pub fn shrink(failure: Failure) -> Failure {
    let fewer_parties = with_fewer_parties(failure);
    let shortest = with_fewer_actions(fewer_parties);
    // With fewer actions it may need fewer parties.
    with_fewer_parties(shortest)
}

/// What a failure is of, whoever it befalls.
fn kind(what: &str) -> String {
    what.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}

/// The same failure with other actions or parties, if that is one.
fn changed(failure: &Failure, change: impl FnOnce(&mut Options)) -> Option<Failure> {
    let Failure { actions, parties, planted, .. } = failure.clone();
    let mut options = Options { planted, actions, parties, ..Options::default() };
    change(&mut options);
    // Another one would be another story.
    let is_same = |other: &Failure| kind(&other.what) == kind(&failure.what);
    run(failure.seed, &options).err().map(|failure| *failure).filter(is_same)
}

fn with_fewer_parties(failure: Failure) -> Failure {
    let mut smallest = failure;
    loop {
        let mut shape = Plan::of(smallest.seed).shape;
        shape.limit(&smallest.parties.unwrap_or(Parties::ALL));
        let smaller = Parties::fewer(&shape)
            .find_map(|fewer| changed(&smallest, |options| options.parties = Some(fewer)));
        match smaller {
            Some(smaller) => smallest = smaller,
            None => return smallest,
        }
    }
}

fn with_fewer_actions(failure: Failure) -> Failure {
    let mut shortest = failure;
    let count = Plan::of(shortest.seed).actions.len();
    let mut kept: Vec<usize> = match &shortest.actions {
        Some(actions) => actions.iter().copied().collect(),
        None => (0..count).collect(),
    };
    let mut piece = kept.len().max(1);
    loop {
        let mut from = 0;
        while from < kept.len() {
            let mut fewer = kept.clone();
            fewer.drain(from..(from + piece).min(kept.len()));
            let actions = Some(fewer.iter().copied().collect());
            match changed(&shortest, |options| options.actions = actions) {
                None => from += piece,
                Some(failure) => {
                    shortest = failure;
                    kept = fewer;
                }
            }
        }
        if piece == 1 {
            return shortest;
        }
        piece = piece.div_ceil(2);
    }
}
