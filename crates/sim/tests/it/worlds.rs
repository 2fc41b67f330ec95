//! Sets of worlds that hold, and planted faults that are found.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};

use tapeline_sim::{Failure, Options, Planted, Trace, run, shrink};

/// Worlds that are new in each run of the tests.
const FRESH: u64 = 150;

/// No more worlds are begun after that.
const PATIENCE: Duration = Duration::from_secs(10);

fn hold(seeds: std::ops::Range<u64>) {
    let began = Instant::now();
    for seed in seeds {
        if let Err(failure) = run(seed, &Options::default()) {
            panic!("{failure}\nshortest: {}", shrink(*failure.clone()));
        }
        if began.elapsed() > PATIENCE {
            return;
        }
    }
}

#[test]
fn worlds_of_before_hold() {
    hold(0..200);
}

#[test]
fn worlds_that_nobody_has_seen_hold() {
    let since = SystemTime::UNIX_EPOCH.elapsed().expect("it is later than 1970");
    let first = since.as_millis() as u64;
    println!("cargo run -p tapeline-sim -- --seeds {first}..{}", first + FRESH);
    hold(first..first + FRESH);
}

#[test]
fn a_seed_does_the_same_each_time() {
    let options = Options { trace: Trace::Digest, ..Options::default() };
    let mut digests = Vec::new();
    for seed in 0..20 {
        let [first, second] = [(); 2].map(|()| run(seed, &options).expect("it holds"));
        assert_eq!(first, second, "seed {seed}");
        digests.push(first.digest);
    }
    digests.dedup();
    assert_eq!(digests.len(), 20, "each seed does something else");
}

#[test]
fn the_story_of_a_failure_is_made_short() {
    let options = Options { planted: Planted::LostUpdate, ..Options::default() };
    let failure = (0..60).find_map(|seed| run(seed, &options).err()).expect("it is found");
    let shortest = shrink(*failure);
    let actions = shortest.actions.as_ref().map_or(usize::MAX, BTreeSet::len);
    assert!(actions <= 20, "{shortest}");
    assert!(shortest.parties.is_some(), "{shortest}");
    let Failure { actions, parties, .. } = shortest.clone();
    let options = Options { actions, parties, ..options };
    let again = run(shortest.seed, &options).expect_err("it is the same again");
    assert_eq!(*again, shortest);
}
