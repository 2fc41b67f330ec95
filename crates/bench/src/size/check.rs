//! What is predicted, beside what is measured.

use tapeline_measure::table::{Table, or_dash, rate};

use super::Costs;
use crate::plan::Plan;
use crate::procedures::{Goal, search};
use crate::run::Run;
use crate::{BenchError, ClientKind, Options, Output};

/// Operating points: mounts of as many common items as own ones each.
const MOUNTS: [usize; 3] = [4, 20, 100];

/// Predictions are to be as near as this.
const WITHIN: f64 = 0.2;

/// Looks for the highest rate of three operating points, and holds the updates that a thread
/// of hub and server takes in each second that it is busy against what the costs say.
/// Returns whether all are within a fifth.
///
/// Errors: the system cannot be started, or somebody wants the program to end.
pub fn check(costs: &Costs, options: &Options, out: &mut dyn Output) -> Result<bool, BenchError> {
    let head = ["mounts", "fan-out", "predicted in /s", "measured in /s", "predicted/measured"];
    let mut table = Table::new(&head).with_last("within 20 %");
    let mut are_near = true;
    for mounts in MOUNTS {
        let plan = Plan {
            reading: ClientKind::Lean.reading(),
            ..Plan::fifty_fifty(mounts, options.common_items, options.own_items)
        };
        let fan_out = plan.fan_out();
        let goal = Goal { name: "size: check", from: FROM / mounts as u64, or_else: &|_| None };
        let found = search(&goal, &plan, options, out)?;
        let predicted = 1e9 / costs.update_ns(fan_out);
        let measured = found.run.as_ref().and_then(Run::per_busy_cpu_second);
        let measured = measured.map(|out_per_s| out_per_s / fan_out);
        let is_near = measured.is_some_and(|measured| is_near(predicted, measured));
        are_near &= is_near;
        table.row(vec![
            mounts.to_string(),
            format!("{fan_out:.1}"),
            rate(predicted),
            or_dash(measured, rate),
            or_dash(measured, |measured| format!("{:.2}", predicted / measured)),
            if is_near { "yes".to_owned() } else { "NO".to_owned() },
        ]);
    }
    out.table(&table.to_string());
    Ok(are_near)
}

/// Where searches begin, in updates a second for a single mount.
const FROM: u64 = 2_000_000;

fn is_near(predicted: f64, measured: f64) -> bool {
    (predicted / measured - 1.0).abs() <= WITHIN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_more_or_less_is_near() {
        assert!(is_near(119.0, 100.0) && is_near(81.0, 100.0));
        assert!(!is_near(121.0, 100.0) && !is_near(79.0, 100.0));
    }
}
