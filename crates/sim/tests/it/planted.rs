//! Faults that are planted are found.

use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;

use tapeline_sim::{Options, Planted, catch, run};

#[test]
fn faults_of_parties_are_found_for_what_they_are() {
    for (planted, wanted) in [
        (Planted::LostUpdate, "an update is missing"),
        (Planted::RepeatedUpdate, "comes after"),
        (Planted::SwappedUpdates, "an update is missing"),
        (Planted::FalseValue, "was never sent"),
        (Planted::OldImage, "goes back"),
        (Planted::LostImage, "an update before an image"),
        (Planted::DeafClose, "which is closed"),
        (Planted::Silence, "after all is healed"),
        (Planted::LoneServer, "is nowhere for"),
    ] {
        let options = Options { planted, ..Options::default() };
        let mut broken = (0..MOST).filter_map(|seed| run(seed, &options).err());
        let is_found = broken.any(|failure| failure.what.contains(wanted));
        assert!(is_found, "{planted:?}: no `{wanted}` in {MOST} worlds");
    }
}

#[test]
fn a_fault_of_the_code_is_asked_for_by_name_where_it_is_built() {
    let parsed = "lost-close".parse::<Planted>();
    match tapeline_planted::IS_BUILT {
        true => assert_eq!(parsed.expect("it is built").to_string(), "lost-close"),
        false => assert!(parsed.expect_err("it is not built").contains("--features planted")),
    }
    assert!("lost-clothes".parse::<Planted>().expect_err("unknown").contains("lost-update"));
}

/// Most worlds that are run for a fault.
const MOST: u64 = 1000;

#[test]
fn every_fault_of_the_code_that_is_built_is_found() {
    let of_code: Vec<_> =
        Planted::all().filter(|planted| matches!(planted, Planted::Code(_))).collect();
    let next = AtomicUsize::new(0);
    // Minutes of work, and the only test of its run that takes more than seconds.
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let missed = thread::scope(|scope| {
        let search = || {
            let mine = std::iter::from_fn(|| of_code.get(next.fetch_add(1, Relaxed)).copied());
            mine.filter(|planted| catch(*planted, MOST).what.is_none()).collect::<Vec<_>>()
        };
        let searches: Vec<_> = (0..cores).map(|_| scope.spawn(search)).collect();
        let missed = searches.into_iter().map(|it| it.join().expect("a search panicked"));
        missed.flatten().collect::<Vec<_>>()
    });
    assert!(missed.is_empty(), "not found in {MOST} worlds: {missed:?}");
}
