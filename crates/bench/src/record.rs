//! What a run leaves behind: one JSON object a line.
//!
//! ```text
//! {"bench":"environment","version":"0.1.0","command_line":["tapeline","bench",…],…}
//! {"bench":"result","procedure":"latency","topology":"thread","rate_per_s":50000,…}
//! ```
//!
//! A field that does not apply is absent, and a reader takes an absent field
//! for its default: files of an older or newer program can be read.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use tapeline_measure::environment::{Cpu, Environment, Interface, Load, Ticks};
pub use tapeline_measure::histogram::{Distribution, from_hdr, to_hdr};

/// A line of a result file. `bench` says which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "bench", rename_all = "snake_case")]
pub enum Record {
    /// What was measured.
    Result(Box<Measurement>),
    /// The machine it was measured on. It goes before its results; a second one
    /// may follow them.
    Environment(Box<Environment>),
}

impl Record {
    /// The record as a JSON object.
    pub fn to_value(&self) -> Value {
        // All keys are texts and no number is refused, so that this never is null.
        serde_json::to_value(self).unwrap_or_default()
    }
}

impl From<Measurement> for Record {
    fn from(measurement: Measurement) -> Self {
        Self::Result(Box::new(measurement))
    }
}

impl From<Environment> for Record {
    fn from(environment: Environment) -> Self {
        Self::Environment(Box::new(environment))
    }
}

/// What was measured in one run of a procedure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Measurement {
    /// The program and the machine that it was measured with, as a reader knows
    /// them from the environment in front of it. Not part of the line.
    #[serde(skip)]
    pub origin: String,
    /// What was done: `latency`, `throughput`, `fanout`, `floor` and so on.
    pub procedure: String,
    /// How source, hub, server and clients were spread over threads, processes
    /// and hosts; for a floor, what was measured.
    pub topology: String,
    /// How updates were spread over time: `even`, `ticks:1000`, `bursts`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub pacing: String,
    /// Which settings hub and server had: `latency` or `throughput`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile: String,
    /// Which turn of several this was, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// Updates a second that the source was to send.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u64>,
    /// Updates a second at the source that reached clients.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub achieved_per_s: Option<f64>,
    /// Items that were published.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub items: Option<u64>,
    /// Client connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mounts: Option<u64>,
    /// Clients that got each update, in the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fan_out: Option<f64>,
    /// Bytes of an update on a client's connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub update_bytes: Option<u64>,
    /// How long was measured, in seconds.
    pub seconds: f64,
    /// How long updates ran before that, in seconds, and were not measured.
    pub warm_up_dropped_s: f64,
    /// Whether the figures count. Those of a run that does not are kept for
    /// whoever looks for its flaw, and never shown as a result.
    pub valid: bool,
    /// Why they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_invalid: Option<String>,
    /// Latency from the moment at which an update was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_schedule: Option<Distribution>,
    /// Latency from the moment at which an update was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_send: Option<Distribution>,
    /// What the machine needs for the same bytes without us: the half round
    /// trip of bare TCP, measured beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor: Option<Distribution>,
    /// Updates that never came.
    pub lost: u64,
    /// Gaps that the backbone told of; `None` where it did not tell.
    pub gaps: Option<u64>,
    /// Datagrams of the backbone that the network dropped because it was told
    /// to lose some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dropped_datagrams: Option<u64>,
    /// Images that came again since something was lost.
    pub recovered: u64,
    /// Updates that were merged into later ones; `None` where the server did
    /// not tell.
    pub conflated: Option<u64>,
    /// Seconds on a processor in the time that was measured, by part.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_seconds: BTreeMap<String, f64>,
    /// Share of that time in which each part had something to do; what spins is on a
    /// processor all of it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub busy_shares: BTreeMap<String, f64>,
    /// Which side could do no more: `hub+server`, `clients`, `source`, `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full: Option<String>,
    /// Bytes of a write of the server to a client, in the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub write_bytes: Option<u64>,
    /// What ended a search for the highest rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
    /// Updates a second that reached all clients together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates_out_per_s: Option<f64>,
    /// The same of the floor: bare bytes of this size to as many sockets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_out_per_s: Option<f64>,
    /// Updates to clients for each second that hub and server were on a
    /// processor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates_per_cpu_second: Option<f64>,
    /// The same for each of those seconds in which they had something to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updates_per_busy_cpu_second: Option<f64>,
    /// The same of the floor: of the thread that writes, while its writes are taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub floor_per_busy_cpu_second: Option<f64>,
    /// Copies of the same bytes a second to as many buffers in memory, by one thread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_copies_per_s: Option<f64>,
    /// Bytes of memory, by what they are for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bytes: BTreeMap<String, f64>,
    /// The latencies from schedule: an HDR histogram of nanoseconds in the
    /// compressed V2 form, in base64. See [`to_hdr`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hdr: Option<String>,
    /// Updates that reached clients in each second, the warm-up included.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;

    use super::*;

    fn some() -> Histogram<u64> {
        let mut nanos = Histogram::new_with_bounds(1, 60_000_000_000, 3).unwrap();
        (1..=1000).for_each(|n| nanos.record(n * 1000).unwrap());
        nanos
    }

    #[test]
    fn a_result_is_one_line_that_can_be_read_again() {
        let nanos = some();
        let record = Record::from(Measurement {
            procedure: "latency".to_owned(),
            topology: "thread".to_owned(),
            rate_per_s: Some(50_000),
            valid: true,
            from_schedule: Distribution::of(&nanos),
            cpu_seconds: BTreeMap::from([("hub".to_owned(), 0.5)]),
            hdr: to_hdr(&nanos),
            series: vec![1, 2, 3],
            ..Measurement::default()
        });
        let line = serde_json::to_string(&record).unwrap();
        assert!(line.starts_with(r#"{"bench":"result","procedure":"latency""#), "{line}");
        assert!(!line.contains('\n') && !line.contains("stopped_by"), "{line}");
        assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
    }

    #[test]
    fn what_an_older_program_did_not_write_is_as_if_it_did_not_apply() {
        let line = r#"{"bench":"result","procedure":"latency","newer":1}"#;
        let Record::Result(read) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
        assert_eq!(*read, Measurement { procedure: "latency".to_owned(), ..Default::default() });
        assert!(serde_json::from_str::<Record>(r#"{"bench":"trial"}"#).is_err());
    }
}
