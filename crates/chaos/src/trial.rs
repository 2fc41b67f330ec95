//! Breaks things at a site, one after the other, and looks at what consumers
//! were told.

use std::fmt::Write as _;
use std::thread;
use std::time::{Duration, Instant};

use crate::fault::Fault;
use crate::party::{Party, now_us};
use crate::site::{EACH, Plan, Site};
use crate::tally::{Episode, Tally};

/// How long anything may take to be well again.
pub const HEALING: Duration = Duration::from_secs(60);

/// How long all is left in peace between two faults, so that who came back has
/// met the others.
const CALM: Duration = Duration::from_millis(700);

/// For how long it is watched whether anybody is told at all.
const NOTICE: Duration = Duration::from_millis(900);

/// What is done.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What is started.
    pub plan: Plan,
    /// What is broken, in turn.
    pub faults: Vec<Fault>,
    /// Each fault is struck once; then on, in another order each time, until so
    /// much time has gone.
    pub duration: Duration,
}

/// Runs a trial, and hands over each episode as it ends, with the time since
/// the start. `None`, with a line that says why, where this machine lets nobody
/// make networks.
///
/// Errors: something did not get well again, in words.
pub fn run(
    trial: &Trial,
    mut is_over: impl FnMut() -> bool,
    mut show: impl FnMut(Duration, &Episode),
) -> Option<Result<Tally, String>> {
    let mut site = Site::start(trial.plan.clone())?;
    let began = Instant::now();
    let mut random = fastrand::Rng::with_seed(trial.plan.seed);
    let mut tally = Tally::default();
    if let Err(error) = settle(&mut site, "the start") {
        return Some(Err(error));
    }
    let mut faults = trial.faults.clone();
    faults.retain(|fault| fault.is_possible(&site));
    let mut is_first_round = true;
    while !faults.is_empty() {
        random.shuffle(&mut faults);
        for fault in &faults {
            let is_late = !is_first_round && began.elapsed() >= trial.duration;
            if is_late || is_over() {
                return Some(Ok(tally));
            }
            match episode(&mut site, *fault, random.usize(..EACH)) {
                Ok(episode) => {
                    show(began.elapsed(), &episode);
                    tally.add(episode);
                }
                Err(error) => return Some(Err(error)),
            }
        }
        is_first_round = false;
    }
    Some(Ok(tally))
}

fn episode(site: &mut Site, fault: Fault, victim: usize) -> Result<Episode, String> {
    thread::park_timeout(CALM);
    let broken_us = now_us();
    fault.strike(site, victim);
    if fault.about().has_stand_in {
        site.wait(NOTICE, |site| site.consumers().iter().any(|party| party.ledger().told() > 0));
        site.wait(fault.duration(), are_ok);
    } else {
        let until = broken_us + fault.duration().as_micros() as u64;
        site.wait(fault.duration(), |_| now_us() >= until);
    }
    let mended_us = now_us();
    fault.mend(site, victim);
    settle(site, &format!("{fault} of {victim}"))?;
    let mut times = Vec::new();
    let mut breaches = Vec::new();
    for (number, party) in site.consumers().iter().enumerate() {
        let mut ledger = party.ledger();
        times.extend(ledger.take(broken_us, mended_us));
        let said = ledger.take_breaches();
        breaches.extend(
            said.iter().map(|(text, count)| format!("consumer {number}: {text} ({count} times)")),
        );
    }
    let items = site.consumers().len() * site.plan().items;
    Ok(Episode { fault, times, items, breaches })
}

fn are_ok(site: &mut Site) -> bool {
    site.consumers().iter().all(|party| party.ledger().is_ok())
}

/// Waits until every consumer has what the sources have, with nothing under
/// way; then these go on.
///
/// Errors: it does not come to that, or a program ended by itself; in words.
pub fn settle(site: &mut Site, what: &str) -> Result<(), String> {
    let is_ok = site.wait(HEALING, are_ok);
    site.sources().for_each(|source| source.set_rate(0));
    let is_even = is_ok && site.wait(HEALING, |site| apart(site).is_empty());
    let rate = site.plan().updates_per_second;
    if is_even {
        site.sources().for_each(|source| source.set_rate(rate));
        let dead = site.programs().find(|running| !running.program().is_running());
        let Some(dead) = dead else { return Ok(()) };
        return Err(format!("after {what}: a program ended by itself\n{}", dead.log()));
    }
    let apart = apart(site);
    let shown: Vec<&str> = apart.iter().take(8).map(String::as_str).collect();
    let mut logs = String::new();
    for running in site.programs() {
        let _ = writeln!(logs, "---- {} ----\n{}", running.program().name(), running.log());
    }
    Err(format!(
        "{HEALING:?} after {what}, {} items are not what the sources have: {}\n{logs}",
        apart.len(),
        shown.join("; ")
    ))
}

/// Items of consumers that are not as any source has them.
fn apart(site: &mut Site) -> Vec<String> {
    let at_sources: Vec<Vec<Option<u32>>> = site.sources().map(Party::numbers).collect();
    let mut apart = Vec::new();
    for (number, party) in site.consumers().iter_mut().enumerate() {
        for (item, has) in party.numbers().into_iter().enumerate() {
            let is_at_source =
                at_sources.iter().any(|numbers| has.is_some() && numbers[item] == has);
            if !is_at_source {
                let published: Vec<_> = at_sources.iter().map(|numbers| numbers[item]).collect();
                apart.push(format!("consumer {number}, item {item}: {has:?} of {published:?}"));
            }
        }
    }
    apart
}
