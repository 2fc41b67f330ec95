//! A run as a result.

use crate::Options;
use crate::plan::Plan;
use crate::record::{Distribution, Measurement, to_hdr};
use crate::run::Run;

/// What a run measured. A run with a flaw is not valid.
pub(crate) fn measurement(
    procedure: &str,
    options: &Options,
    plan: &Plan,
    run: &Run,
) -> Measurement {
    let why_invalid = run.flaw().map(|flaw| flaw.to_string());
    Measurement {
        procedure: procedure.to_owned(),
        topology: options.setup.label(),
        pacing: options.pacing.to_string(),
        profile: options.setup.tuning.to_string(),
        rate_per_s: Some(run.rate),
        achieved_per_s: Some(run.achieved_per_s()),
        items: Some(plan.items as u64),
        mounts: Some(plan.watchlists.len() as u64),
        fan_out: Some(run.fan_out),
        seconds: run.time.as_secs_f64(),
        warm_up_dropped_s: run.warm_up.as_secs_f64(),
        valid: why_invalid.is_none(),
        why_invalid,
        from_schedule: Distribution::of(&run.from_schedule),
        from_send: Distribution::of(&run.from_send),
        lost: run.lost(),
        gaps: run.gaps,
        recovered: run.recovered,
        dropped_datagrams: run.dropped,
        conflated: run.merged,
        cpu_seconds: run.cpu_seconds.clone(),
        busy_shares: run.busy_shares(),
        full: run.full(),
        write_bytes: run.write_bytes,
        updates_out_per_s: Some(run.out_per_s()),
        updates_per_cpu_second: run.per_cpu_second(),
        updates_per_busy_cpu_second: run.per_busy_cpu_second(),
        hdr: to_hdr(&run.from_schedule),
        series: run.series.clone(),
        ..Measurement::default()
    }
}

/// What a floor measured, by its name.
pub(crate) fn floor(
    topology: &str,
    seconds: f64,
    distribution: Option<Distribution>,
) -> Measurement {
    Measurement {
        procedure: "floor".to_owned(),
        topology: topology.to_owned(),
        seconds,
        valid: distribution.is_some(),
        floor: distribution,
        ..Measurement::default()
    }
}
