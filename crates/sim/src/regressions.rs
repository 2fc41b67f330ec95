//! Stories that broke once, as they were planned: they stay the same when the
//! generator changes.

mod crossings;
mod images;
mod losses;
mod slow_mounts;

use std::time::Duration;

use crate::plan::Plan;
use crate::run::{Options, run_plan};

const fn micros(count: u64) -> Duration {
    Duration::from_micros(count)
}

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn holds(plan: &Plan) {
    if let (at, Err(what)) = run_plan(plan, &Options::default()) {
        panic!("breaks at {at:?}: {what}");
    }
}
