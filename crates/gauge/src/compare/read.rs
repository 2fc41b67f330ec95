//! Results of both sides, from records, the text of sfnt-pingpong, or a CSV of
//! published figures.

use std::collections::BTreeMap;
use std::fs;

use tapeline_measure::environment::Environment;
use tapeline_measure::record::{Tool, ToolLine};

use crate::GaugeError;
use crate::statistics::Classic;

/// Published by others: see the folder's README.
const PUBLISHED: &str = include_str!("../../published/sfnt-pingpong-tcp.csv");

/// What must be the same for two rows to be a pair.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) tool: String,
    /// Empty where the text does not tell.
    pub(super) transport: String,
    pub(super) role: String,
    pub(super) core: String,
    pub(super) rate_per_s: u64,
    pub(super) size_bytes: u64,
}

/// Figures of a row by name, in nanoseconds.
pub(super) type Figures = BTreeMap<&'static str, f64>;

/// One file, or one system of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Side {
    pub(super) name: String,
    /// Rounds of each row.
    pub(super) rows: BTreeMap<Key, Vec<Figures>>,
    /// What may explain a difference: `virtual`, `kernel` and so on.
    pub(super) facts: BTreeMap<&'static str, String>,
    /// Rows that count for nothing, and lines that are of something else.
    pub(super) notes: Vec<String>,
}

impl Side {
    /// `FILE`, `FILE:SYSTEM` of a CSV, or `published:SYSTEM`.
    pub(super) fn open(given: &str) -> Result<Self, GaugeError> {
        if let Some(system) = given.strip_prefix("published:") {
            return Self::of_csv(PUBLISHED, Some(system));
        }
        let (path, system) = match given.split_once(".csv:") {
            Some((path, system)) => (format!("{path}.csv"), Some(system)),
            None => (given.to_owned(), None),
        };
        let text = fs::read_to_string(&path).map_err(GaugeError::io(format!("reading {path}")))?;
        let side = match () {
            () if text.starts_with("system,") => Self::of_csv(&text, system)?,
            () if text.trim_start().starts_with('{') => Self::of_records(&text),
            () => Self::of_text(&text),
        };
        if side.rows.is_empty() {
            let why = side.notes.join("; ");
            return Err(GaugeError::Usage(format!("{path} has no rows that count: {why}")));
        }
        let file = path.rsplit('/').next().unwrap_or(&path).to_owned();
        Ok(if side.name.is_empty() { Self { name: file, ..side } } else { side })
    }

    fn add(&mut self, key: Key, figures: Figures) {
        self.rows.entry(key).or_default().push(figures);
    }

    /// A column of names, then those of a row of sfnt-pingpong.
    pub(super) fn of_csv(text: &str, system: Option<&str>) -> Result<Self, GaugeError> {
        let mut systems: BTreeMap<String, Self> = BTreeMap::new();
        for line in text.lines().skip(1) {
            let (name, rest) = match line.strip_prefix('"').and_then(|line| line.split_once("\","))
            {
                Some(quoted) => quoted,
                None => line.split_once(',').unwrap_or((line, "")),
            };
            // The row's order of columns, with the same reader.
            if let Some((size, row)) = Classic::of_row(&format!("\t{}", rest.replace(',', "\t"))) {
                let side = systems.entry(name.to_owned()).or_default();
                name.clone_into(&mut side.name);
                side.add(key_of_row(size, "tcp"), figures_of(row, 1.0));
            }
        }
        let names = || systems.keys().cloned().collect::<Vec<_>>().join("\n  ");
        let chosen = match system {
            Some(system) => systems.get(system),
            None if systems.len() == 1 => systems.values().next(),
            None => None,
        };
        let what = || {
            let given = system.unwrap_or("");
            format!("`{given}` is none of the systems; give FILE:SYSTEM with one of\n  {}", names())
        };
        chosen.cloned().ok_or_else(|| GaugeError::Usage(what()))
    }

    /// What sfnt-pingpong prints, of any version, or ours in its form.
    pub(super) fn of_text(text: &str) -> Self {
        let mut side = Self::default();
        let (mut transport, mut part) = (String::new(), 1.0);
        for line in text.lines() {
            if let Some(command) = line.strip_prefix("# cmdline:") {
                let named = |word: &&str| word.parse::<crate::Transport>().is_ok();
                command
                    .split_whitespace()
                    .find(named)
                    .unwrap_or_default()
                    .clone_into(&mut transport);
            }
            if line.trim_end() == "# reporting: RTT" {
                part = 2.0;
                side.notes.push("whole round trips, halved".to_owned());
            }
            if let Some(library) = line.strip_prefix("# LD_PRELOAD=") {
                side.facts.insert("stack", stack(library).to_owned());
            }
            if let Some(uname) = line.strip_prefix("# uname: ") {
                let release = uname.split_whitespace().nth(2).unwrap_or_default();
                side.facts.insert("kernel", release.to_owned());
            }
            if let Some((size, row)) = Classic::of_row(line) {
                side.add(key_of_row(size, &transport), figures_of(row, part));
            }
        }
        side
    }

    /// Lines of JSON.
    pub(super) fn of_records(text: &str) -> Self {
        let mut side = Self::default();
        let (mut is_debug, mut left_out, mut others) = (false, 0, 0);
        for line in text.lines().filter(|line| !line.trim().is_empty()) {
            match serde_json::from_str::<ToolLine>(line) {
                Ok(ToolLine::Environment(environment)) => {
                    is_debug = environment.is_debug_build;
                    side.add_facts(&environment);
                }
                Ok(ToolLine::Tool(tool)) if tool.valid && !is_debug => side.add_tool(&tool),
                Ok(ToolLine::Tool(_)) => left_out += 1,
                Ok(ToolLine::Setting(_)) | Err(_) => others += 1,
            }
        }
        if left_out > 0 {
            let what = "rows are of a debug build or not valid, and left out";
            side.notes.push(format!("{left_out} {what}"));
        }
        if others > 0 {
            side.notes.push(format!("{others} lines are no records of tools"));
        }
        side
    }

    fn add_tool(&mut self, tool: &Tool) {
        let part = if tool.unit == "round" { 2.0 } else { 1.0 };
        let from_send = tool.from_send.unwrap_or_default();
        let classic = |name: &str| tool.classic.get(name).map(|nanos| *nanos as f64);
        let percentile = tool.options.get("percentile").is_none_or(|given| given == "99");
        let p99 = classic("percentile").filter(|_| percentile);
        let figures = [
            ("mean", classic("mean").unwrap_or(from_send.mean_ns)),
            ("min", classic("min").unwrap_or(from_send.min_ns as f64)),
            ("median", classic("median").unwrap_or(from_send.p50_ns as f64)),
            ("max", classic("max").unwrap_or(from_send.max_ns as f64)),
            ("p99", p99.unwrap_or(from_send.p99_ns as f64)),
            ("stddev", classic("stddev").unwrap_or(from_send.stddev_ns)),
        ];
        let key = Key {
            tool: tool.tool.clone(),
            transport: tool.transport.clone(),
            role: if tool.tool == "pingpong" { String::new() } else { tool.role.clone() },
            core: tool.options.get("core").cloned().unwrap_or_default(),
            rate_per_s: tool.rate_per_s.unwrap_or_default(),
            size_bytes: tool.size_bytes.unwrap_or_default(),
        };
        self.facts.insert("clock", tool.clock.clone());
        if let Some(spin) = tool.options.get("spin") {
            self.facts.insert("spin", spin.clone());
        }
        self.add(key, figures.map(|(name, nanos)| (name, nanos / part)).into());
    }

    fn add_facts(&mut self, environment: &Environment) {
        let machine = match &environment.hypervisor {
            Some(hypervisor) => format!("virtual under {hypervisor}"),
            None => "bare".to_owned(),
        };
        let model = environment.cpu.model.clone().unwrap_or_default();
        let kernel = environment.kernel.as_deref().unwrap_or_default();
        let release = kernel.split_whitespace().next().unwrap_or_default();
        self.facts.insert("machine", machine);
        self.facts.insert("processor", model);
        self.facts.insert("kernel", release.to_owned());
        self.facts.insert("stack", stack(&environment.preload.join(":")).to_owned());
    }
}

fn key_of_row(size: usize, transport: &str) -> Key {
    Key {
        tool: "pingpong".to_owned(),
        transport: transport.to_owned(),
        size_bytes: size as u64,
        ..Key::default()
    }
}

fn figures_of(row: Classic, part: f64) -> Figures {
    let all = [
        ("mean", row.mean),
        ("min", row.min),
        ("median", row.median),
        ("max", row.max),
        ("p99", row.percentile),
        ("stddev", row.stddev),
    ];
    all.map(|(name, nanos)| (name, nanos as f64 / part)).into()
}

/// What takes sockets over, by the library that is preloaded.
fn stack(preload: &str) -> &'static str {
    let known = [("onload", "Onload"), ("vma", "VMA"), ("xlio", "XLIO")];
    known.iter().find(|(name, _)| preload.contains(name)).map_or("kernel", |(_, stack)| stack)
}
