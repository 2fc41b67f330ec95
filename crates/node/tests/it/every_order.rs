//! What threads share, in every order of their steps.

use loom::sync::Arc;
use loom::sync::atomic::AtomicUsize;
use loom::thread;

use fate::{Fate, Verdict};
use sync::Ordering;

mod sync {
    pub(super) use loom::sync::atomic::{AtomicU8, Ordering};
}

#[path = "../../src/changes/fate.rs"]
mod fate;

#[test]
fn who_sees_that_a_change_holds_sees_what_was_done_before() {
    for (settle, wanted) in [
        (Fate::commit as fn(&Fate), Verdict::Committed),
        (Fate::abandon as fn(&Fate), Verdict::Abandoned),
    ] {
        loom::model(move || {
            let shared = Arc::new((AtomicUsize::new(0), Fate::default()));
            let other = Arc::clone(&shared);
            let edge = thread::spawn(move || {
                other.0.store(1, Ordering::Relaxed);
                settle(&other.1);
            });
            let (done, fate) = &*shared;
            match fate.verdict() {
                Verdict::Open => {}
                verdict => {
                    assert_eq!((verdict, done.load(Ordering::Relaxed)), (wanted, 1));
                    assert_eq!(fate.verdict(), wanted, "it is said once");
                }
            }
            edge.join().expect("no panic");
            assert_eq!(fate.verdict(), wanted);
        });
    }
}
