//! What the tools that judge a host leave behind: one JSON object a line, in
//! the form of the market data procedures' files.
//!
//! ```text
//! {"bench":"environment","version":"0.1.0",…}
//! {"bench":"tool","tool":"pingpong","transport":"tcp","unit":"half","size_bytes":64,…}
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::disturbance::Disturbance;
use crate::environment::Environment;
use crate::histogram::Distribution;

/// A line of a file that a tool writes. `bench` says which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "bench", rename_all = "snake_case")]
pub enum ToolLine {
    /// What a tool measured in one cell.
    Tool(Box<Tool>),
    /// A setting of the machine, beside what it should be.
    Setting(Box<Setting>),
    /// The machine it was measured on: before its cells, and after them.
    Environment(Box<Environment>),
}

impl ToolLine {
    /// The line as a JSON object.
    pub fn to_value(&self) -> Value {
        // All keys are texts and no number is refused, so that this never is null.
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// What a tool measured in one cell: one transport, one size, one rate. A
/// duration is in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tool {
    /// `pingpong`, `jitter` and so on.
    pub tool: String,
    /// What messages went through.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub transport: String,
    /// Which side measured; for a core, how.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// What the figures are of: `half` or `round` trips, `gap`, `lateness`.
    pub unit: String,
    /// Bytes of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size_bytes: Option<u64>,
    /// Messages a second that were to be sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<u64>,
    /// What figures depend on, as it was typed or chosen.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// What time was read from: `tsc` or `monotonic`.
    pub clock: String,
    /// What measuring nothing takes, in the median. Not taken away.
    pub overhead_ns: u64,
    /// Which repeat this was, from 1.
    pub round: u32,
    /// How long was measured, in seconds.
    pub seconds: f64,
    /// How long messages went before that, in seconds.
    pub warm_up_dropped_s: f64,
    /// Whether the figures count.
    pub valid: bool,
    /// Why they do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_invalid: Option<String>,
    /// Messages a second that came to their end, or operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub achieved_per_s: Option<f64>,
    /// From when a message was due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_schedule: Option<Distribution>,
    /// How much later than due messages were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lateness: Option<Distribution>,
    /// From when a message was sent, or of gaps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_send: Option<Distribution>,
    /// The figures as the classic tool reckons them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub classic: BTreeMap<String, u64>,
    /// What was counted: `sent`, `received`, `lost` and so on.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// What the seconds of a run have in common, by the figure's name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub per_second: BTreeMap<String, f64>,
    /// Parts of a way, in their order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<Hop>,
    /// What the core did by itself, measured before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<Noise>,
    /// What others had of its cores meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<Disturbance>,
    /// Seconds on a processor while it was measured, by part.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub cpu_seconds: BTreeMap<String, f64>,
    /// `good`, or what makes a cell not so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// What a file lies on: `ext4`, `memory`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub medium: Option<String>,
    /// The distribution from send: an HDR histogram of nanoseconds in the
    /// compressed V2 form, in base64.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hdr: Option<String>,
    /// Of each second: its number, count, minimum, mean and maximum.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<[u64; 5]>,
}

/// A part of the way of a message, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Hop {
    /// As `gateway`, or `gateway→sequencer`.
    pub name: String,
    /// `work`, or what messages go through.
    pub kind: String,
    /// What it was to take.
    pub predicted_ns: f64,
    /// What it took, in the median.
    pub p50_ns: u64,
    /// 99 % took no longer.
    pub p99_ns: u64,
    /// 99.9 % took no longer.
    pub p999_ns: u64,
}

/// What a setting of the machine is and should be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Setting {
    /// As `net.core.rmem_max`.
    pub id: String,
    /// What it is now.
    pub present: String,
    /// What it should be.
    pub wanted: String,
    /// `ok`, `differs`, `unknown`, `cannot`, `gone` or `advice`.
    pub state: String,
    /// For which profile.
    pub profile: String,
    /// Who says so.
    pub source: String,
}

/// What a core did by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Noise {
    /// Which.
    pub core: u32,
    /// Share of the time in which the thread did not run.
    pub lost_percent: f64,
    /// The longest time for which it did not.
    pub max_ns: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_one_line_that_can_be_read_again() {
        let tool = Tool {
            tool: "pingpong".to_owned(),
            transport: "tcp".to_owned(),
            unit: "half".to_owned(),
            size_bytes: Some(64),
            classic: [("mean".to_owned(), 4012)].into(),
            valid: true,
            ..Tool::default()
        };
        let line = ToolLine::Tool(Box::new(tool));
        let text = line.to_value().to_string();
        assert!(
            text.starts_with(r#"{"bench":"tool","tool":"pingpong","transport":"tcp""#),
            "{text}"
        );
        assert!(!text.contains("why_invalid"), "{text}");
        assert_eq!(serde_json::from_str::<ToolLine>(&text).unwrap(), line);
        let newer = r#"{"bench":"tool","tool":"nwtool","newer":1}"#;
        assert!(serde_json::from_str::<ToolLine>(newer).is_ok());
    }
}
