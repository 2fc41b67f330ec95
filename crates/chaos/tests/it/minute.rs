//! `make chaos` in a minute.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tapeline_chaos::fault::Fault;
use tapeline_chaos::site::Site;
use tapeline_chaos::trial::{HEALING, Trial, run, settle};

use crate::programs::plan;

/// Another order, and other victims, each time.
fn fresh_seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[test]
fn whatever_breaks_consumers_are_told_and_get_well() {
    let seed = fresh_seed();
    let faults = Fault::ALL.to_vec();
    let trial = Trial { plan: plan(50, seed), faults, duration: Duration::ZERO };
    let Some(ran) = run(
        &trial,
        || false,
        |at, episode| {
            eprintln!("  {:>5.1} s  {episode}", at.as_secs_f64());
        },
    ) else {
        return;
    };
    let tally = ran.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    let breaches: Vec<_> = tally.breaches().collect();
    assert!(breaches.is_empty(), "seed {seed}: {breaches:#?}");
    // Every one that can be here: all but steps of the clock.
    assert!(tally.episodes() >= Fault::ALL.len() as u64 - 2, "{}", tally.table());
}

#[test]
fn an_update_that_is_lost_is_found() {
    let Some(mut site) = Site::start(plan(10, 1)) else { return };
    settle(&mut site, "the start").expect("all is well");
    for source in site.sources() {
        (0..10).for_each(|item| source.skip(item));
    }
    let is_found = site.wait(HEALING, |site| {
        let consumers = site.consumers().iter();
        consumers.filter(|party| party.ledger().has_breaches()).count() == 4
    });
    assert!(is_found, "every consumer sees the hole");
    let mut breaches = site.consumers()[0].ledger().take_breaches().into_keys();
    let first = breaches.next().expect("a breach");
    assert!(first.starts_with("item ") && first.contains("lost without notice"), "{first}");
}
