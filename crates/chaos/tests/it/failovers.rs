//! `make failovers`, twice each.

use std::time::Duration;

use tapeline_chaos::failover::{Case, Interruption, Plan, run};

use crate::programs::plan;

/// Few enough for a machine that is busy with other tests.
const ITEMS: usize = 200;
const UPDATES_PER_S: u64 = 2_000;

/// What is longer than that is no failover.
const TOO_LONG: Duration = Duration::from_secs(20);

/// Lets it happen twice, the second time to what stood in the first time.
fn twice(case: Case) -> Option<Vec<Interruption>> {
    let tapeline = plan(ITEMS, 0).tapeline;
    let plan = Plan { tapeline, items: ITEMS, updates_per_s: UPDATES_PER_S };
    let mut seen = Vec::new();
    let ran = run(case, &plan, 2, |_, interruption| {
        let Interruption { first_us, last_us, .. } = interruption;
        eprintln!("  {}: first item after {first_us} us, last after {last_us} us", case.what());
        seen.push(*interruption);
    })?;
    let outcome = ran.unwrap_or_else(|error| panic!("{error}"));
    assert!(outcome.broken().is_empty(), "{case}: {:?}", outcome.broken());
    for interruption in &seen {
        assert!(interruption.last_us < TOO_LONG.as_micros() as u64, "{interruption:?}");
    }
    Some(seen)
}

#[test]
fn a_consumer_without_a_standby_is_told_and_gets_images_elsewhere() {
    let Some(seen) = twice(Case::Reconnect) else { return };
    for interruption in seen {
        assert!(interruption.images >= ITEMS as u64, "{interruption:?}");
    }
}

#[test]
fn a_standby_takes_over_and_no_source_is_asked() {
    let Some(seen) = twice(Case::Standby) else { return };
    for interruption in seen {
        assert_eq!((interruption.images, interruption.stale), (ITEMS as u64, 0));
    }
}

#[test]
fn a_hub_stands_in_for_another() {
    let _ = twice(Case::Hub);
}

#[test]
fn a_source_is_asked_for_what_another_had() {
    let _ = twice(Case::Source);
}

#[test]
fn the_death_of_a_mirrored_source_is_not_told() {
    let Some(seen) = twice(Case::Mirrored) else { return };
    for interruption in seen {
        assert!(interruption.images <= ITEMS as u64, "{interruption:?}");
    }
}

#[test]
fn the_loss_of_a_network_of_two_is_not_seen() {
    let _ = twice(Case::Network);
}

#[test]
fn where_nothing_dies_nothing_is_seen() {
    let Some(seen) = twice(Case::Nothing) else { return };
    for interruption in seen {
        assert_eq!((interruption.images, interruption.stale, interruption.closed), (0, 0, 0));
    }
}
