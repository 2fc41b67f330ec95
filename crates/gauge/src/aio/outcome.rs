//! What became of a flow: what ended where, by which way, and how long each
//! part of the way took beside what it was to take.

use std::collections::BTreeMap;

use tapeline_measure::histogram::{Distribution, to_hdr};
use tapeline_measure::record::{Hop, Tool};

use super::engine::ModuleDone;
use super::flow::{Flow, Kind};
use super::modules::{Heard, Way};
use super::part::{PartDone, RunPlan};
use crate::sequence::Arrivals;

/// Of what was due, so much has to be sent and to come.
const LEAST_SHARE: f64 = 0.99;

/// What ended at a module.
pub(super) struct End {
    pub(super) module: usize,
    pub(super) ways: Vec<Vec<Hop>>,
    /// Of the first way.
    pub(super) predicted_ns: Option<f64>,
    pub(super) from_send: Option<Distribution>,
    pub(super) from_schedule: Option<Distribution>,
    pub(super) lateness: Option<Distribution>,
    pub(super) arrivals: Arrivals,
    pub(super) lost: u64,
    pub(super) due: u64,
    pub(super) sent: u64,
    pub(super) clock_errors: u64,
    pub(super) achieved_per_s: f64,
    pub(super) why_invalid: Option<String>,
    hdr: Option<String>,
    series: Vec<[u64; 5]>,
}

/// All that ended.
pub(super) struct Outcome {
    pub(super) ends: Vec<End>,
    cpu_seconds: BTreeMap<String, f64>,
    seconds: f64,
    warm_up_s: f64,
}

/// How many copies of each message of a source come to a module, as far as the
/// flow alone says; `None` where modules choose.
fn copies(flow: &Flow, from: usize, to: usize) -> Option<u64> {
    let module = &flow.modules[from];
    let factor = match &module.kind {
        Kind::Match { share, .. } if *share < 1.0 => return None,
        Kind::Match { copies, .. } => u64::from(*copies),
        Kind::Route(_) | Kind::Sequencer { in_turn: true } => return None,
        Kind::Delay(delay) if delay.duplicate + delay.loss > 0.0 => return None,
        _ => 1,
    };
    let mut sum = 0;
    for link in module.outputs.iter().map(|link| &flow.links[*link]) {
        let connections = if module.kind == Kind::Fanout { link.connections as u64 } else { 1 };
        let arriving = match link.to {
            Some(next) if next == to => 1,
            // What comes to a client ends there, so that no way goes round.
            Some(next) if flow.modules[next].kind.origin().is_none() => copies(flow, next, to)?,
            _ => 0,
        };
        sum += factor * connections * arriving;
    }
    Some(sum)
}

impl Outcome {
    pub(super) fn of(
        flow: &Flow,
        done: &PartDone,
        hops: &BTreeMap<usize, f64>,
        plan: RunPlan,
    ) -> Self {
        let is_end =
            |of: &&ModuleDone| matches!(flow.modules[of.module].kind, Kind::Client(_) | Kind::Sink);
        let ends = done.modules.iter().filter(is_end);
        let ends = ends.filter_map(|of| end(flow, of, done, hops, plan)).collect();
        Self {
            ends,
            cpu_seconds: done.cpu_seconds.clone(),
            seconds: plan.seconds.as_secs_f64(),
            warm_up_s: plan.warm_up.as_secs_f64(),
        }
    }

    /// Whether all that was measured counts.
    pub(super) fn is_valid(&self) -> bool {
        self.ends.iter().all(|end| end.why_invalid.is_none())
    }

    /// A record an end.
    pub(super) fn records(&self, flow: &Flow, scenario: &str, overhead_ns: u64) -> Vec<Tool> {
        self.ends.iter().map(|end| self.record(flow, end, scenario, overhead_ns)).collect()
    }

    fn record(&self, flow: &Flow, end: &End, scenario: &str, overhead_ns: u64) -> Tool {
        let module = &flow.modules[end.module];
        let origins: Vec<_> = flow.modules.iter().filter_map(|of| of.kind.origin()).collect();
        let rate: f64 = origins.iter().map(|of| of.whole_rate_per_s()).sum();
        let polling = flow.threads.iter().filter(|of| of.is_polling).count();
        let valid = end.why_invalid.is_none();
        let counts = [
            ("due", end.due),
            ("sent", end.sent),
            ("received", end.arrivals.received),
            ("lost", end.lost),
            ("reordered", end.arrivals.reordered),
            ("duplicated", end.arrivals.duplicated),
            ("clock_errors", end.clock_errors),
        ];
        Tool {
            tool: "aio".to_owned(),
            transport: scenario.to_owned(),
            role: module.name.clone(),
            unit: if module.kind == Kind::Sink { "way" } else { "round" }.to_owned(),
            size_bytes: origins.iter().map(|of| of.bytes as u64).max(),
            rate_per_s: Some(rate.round() as u64),
            options: [
                ("flow".to_owned(), flow.name.clone()),
                ("polling".to_owned(), format!("{polling} of {} threads", flow.threads.len())),
            ]
            .into(),
            clock: "monotonic".to_owned(),
            overhead_ns,
            round: 1,
            seconds: self.seconds,
            warm_up_dropped_s: self.warm_up_s,
            valid,
            why_invalid: end.why_invalid.clone(),
            achieved_per_s: Some(end.achieved_per_s),
            from_schedule: end.from_schedule.filter(|_| valid),
            from_send: end.from_send.filter(|_| valid),
            lateness: end.lateness.filter(|_| valid),
            hdr: end.hdr.clone().filter(|_| valid),
            counts: counts.map(|(name, count)| (name.to_owned(), count)).into(),
            hops: end.ways.first().cloned().unwrap_or_default(),
            cpu_seconds: self.cpu_seconds.clone(),
            series: if valid { end.series.clone() } else { Vec::new() },
            ..Tool::default()
        }
    }
}

/// `None` of an end that nothing of this run leads to.
fn end(
    flow: &Flow,
    of: &ModuleDone,
    all: &PartDone,
    predicted: &BTreeMap<usize, f64>,
    plan: RunPlan,
) -> Option<End> {
    let heard = of.heard.as_ref()?;
    let is_client = matches!(flow.modules[of.module].kind, Kind::Client(_));
    // Those whose messages end here.
    let origins: Vec<(usize, &Heard)> = all
        .modules
        .iter()
        .filter(|origin| flow.modules[origin.module].kind.origin().is_some())
        .filter_map(|origin| Some((origin.module, origin.heard.as_ref()?)))
        .filter(|(module, _)| match is_client {
            true => *module == of.module,
            false => copies(flow, *module, of.module) != Some(0),
        })
        .collect();
    let sum = |count: fn(&Heard) -> u64| origins.iter().map(|(_, heard)| count(heard)).sum::<u64>();
    let (due, sent) = (sum(|heard| heard.due), sum(|heard| heard.sent));
    let mut expected = Some(0_u64);
    for (module, origin) in &origins {
        let copies = if is_client { Some(1) } else { copies(flow, *module, of.module) };
        expected = expected.zip(copies).map(|(sum, copies)| sum + copies * origin.sent_in_all);
    }
    let arrivals = heard.arrivals;
    let lost = match expected.filter(|_| !origins.is_empty()) {
        Some(expected) => expected.saturating_sub(arrivals.received),
        None => arrivals.lost,
    };
    let seconds = plan.seconds.as_secs_f64();
    let measured = heard.from_send.0.len();
    let may_lose = flow.links.iter().any(|link| link.via.is_datagram());
    let is_late = due > 0 && (sent as f64) < LEAST_SHARE * due as f64;
    let why_invalid = match () {
        () if all.is_cut_short => Some("cut short".to_owned()),
        () if is_late => {
            Some(format!("sent {:.1} % of what was due", sent as f64 * 100.0 / due as f64))
        }
        () if measured == 0 && due > 0 => Some("nothing came".to_owned()),
        () if !may_lose && lost + arrivals.duplicated > 0 => {
            Some(format!("streams lost {lost} and repeated {}", arrivals.duplicated))
        }
        () => None,
    };
    let lateness = origins.first().map(|(_, origin)| &origin.lateness.0);
    let ways: Vec<Vec<Hop>> =
        heard.ways.iter().map(|way| hops(flow, of.module, &origins, way, predicted)).collect();
    Some(End {
        module: of.module,
        predicted_ns: ways.first().map(|way| way.iter().map(|hop| hop.predicted_ns).sum()),
        ways,
        from_send: Distribution::of(&heard.from_send.0),
        from_schedule: Distribution::of(&heard.from_schedule.0),
        lateness: lateness.and_then(Distribution::of),
        arrivals,
        lost,
        due,
        sent,
        clock_errors: heard.clock_errors,
        achieved_per_s: measured as f64 / seconds,
        why_invalid,
        hdr: to_hdr(&heard.from_send.0),
        series: heard.seconds.as_ref().map(crate::Intervals::series).unwrap_or_default(),
    })
}

/// Parts of a way in their order: a hop, a module, a hop …
fn hops(
    flow: &Flow,
    end: usize,
    origins: &[(usize, &Heard)],
    way: &Way,
    predicted: &BTreeMap<usize, f64>,
) -> Vec<Hop> {
    // Of several sources that come by one way, the first stands for all.
    let first = way.modules.first().map_or(end, |module| usize::from(*module));
    let leads = |module: usize| flow.link_between(module, first).is_some();
    let from = origins.iter().map(|(module, _)| *module).find(|module| leads(*module));
    let mut before = from.or(origins.first().map(|(module, _)| *module));
    let mut all = Vec::new();
    let name = |module: usize| flow.modules[module].name.clone();
    let part = |name: String, kind: &str, predicted_ns: f64, times: &super::modules::Times| {
        let at = |share: f64| times.0.value_at_quantile(share);
        let kind = kind.to_owned();
        Hop { name, kind, predicted_ns, p50_ns: at(0.5), p99_ns: at(0.99), p999_ns: at(0.999) }
    };
    let modules = way.modules.iter().map(|module| usize::from(*module)).chain([end]);
    for ((at, module), times) in modules.enumerate().zip(&way.hops) {
        let link = before.and_then(|before| flow.link_between(before, module));
        let number = link.and_then(|link| flow.links.iter().position(|of| of.name == link.name));
        let nanos = number.and_then(|number| predicted.get(&number)).copied().unwrap_or_default();
        let of_before = before.map_or("outside".to_owned(), name);
        let kind = link.map_or("-", |link| link.via.name());
        all.push(part(format!("{of_before}→{}", name(module)), kind, nanos, times));
        if let Some(times) = way.works.get(at) {
            let kind = &flow.modules[module].kind;
            all.push(part(name(module), kind.name(), kind.predicted_ns(), times));
        }
        before = Some(module);
    }
    all
}
