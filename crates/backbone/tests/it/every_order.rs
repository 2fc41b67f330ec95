//! What threads share, in every order of their steps.

use loom::sync::Arc;
use loom::thread;

use handover::Handover;

mod sync {
    pub(super) use std::sync::PoisonError;

    pub(super) use loom::sync::atomic::{AtomicBool, Ordering};
    pub(super) use loom::sync::{Mutex, MutexGuard};
}

#[path = "../../src/local/handover.rs"]
mod handover;

#[test]
fn what_is_handed_over_arrives_once() {
    loom::model(|| {
        let handover = Arc::new(Handover::default());
        let give = |end: u8| {
            let handover = Arc::clone(&handover);
            thread::spawn(move || handover.hand_over(end))
        };
        let givers = [give(1), give(2)];
        let mut taken = Vec::new();
        // A turn while they do, and one after that.
        handover.take_into(&mut taken);
        for giver in givers {
            giver.join().expect("no panic");
        }
        handover.take_into(&mut taken);
        taken.sort_unstable();
        assert_eq!(taken, [1, 2]);
    });
}
