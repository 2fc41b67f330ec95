//! What threads share, in every order of their steps.

use loom::thread;

use count::SharedCount;
use sync::{Arc, AtomicUsize, Ordering};

mod sync {
    pub(super) use loom::sync::Arc;
    pub(super) use loom::sync::atomic::{AtomicUsize, Ordering};
}

#[path = "../../src/siblings/count.rs"]
mod count;

#[test]
fn of_two_that_claim_the_last_place_one_has_it() {
    loom::model(|| {
        let all = Arc::new(AtomicUsize::new(0));
        let claim = || {
            let mut count = SharedCount::of(&all);
            thread::spawn(move || {
                let has_it = count.claim(2) && count.claim(2);
                assert_eq!(count.own() == 2, has_it);
                // What it has stays until the others had their turn.
                (count, has_it)
            })
        };
        let claims = [claim(), claim()].map(|claim| claim.join().expect("no panic"));
        let own: usize = claims.iter().map(|(count, _)| count.own()).sum();
        assert_eq!((own, all.load(Ordering::Relaxed)), (2, 2));
        drop(claims);
        assert_eq!(all.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn what_is_added_and_taken_away_at_once_is_the_sum() {
    loom::model(|| {
        let all = Arc::new(AtomicUsize::new(0));
        let mut there = SharedCount::of(&all);
        let other = thread::spawn(move || {
            there.add(5);
            there.set(2);
            there
        });
        let mut here = SharedCount::of(&all);
        here.add(3);
        here.sub(1);
        let there = other.join().expect("no panic");
        assert_eq!((here.own(), there.own(), here.total()), (2, 2, 4));
    });
}
