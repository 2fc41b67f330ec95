//! The machine and the commands.

use std::collections::BTreeMap;

use super::format::{escape, three_digits, whole};
use crate::record::{Environment, Load, Record};

/// The runs of the report, each with what is known last of it: the record after
/// a run has more in it than the one before.
pub(super) fn runs(records: &[Record]) -> Vec<&Environment> {
    let mut all: Vec<&Environment> = Vec::new();
    for record in records {
        let Record::Environment(environment) = record else { continue };
        let is_same = |other: &&Environment| {
            other.started_utc == environment.started_utc
                && other.command_line == environment.command_line
        };
        match all.iter().position(is_same) {
            Some(at) => all[at] = environment,
            None => all.push(environment),
        }
    }
    all
}

/// The section; nothing without a record.
pub(super) fn section(records: &[Record]) -> String {
    let runs = runs(records);
    if runs.is_empty() {
        return String::new();
    }
    let each: String = runs.iter().map(|environment| one(environment)).collect();
    format!("<section id=\"environment\"><h2>Environment</h2>\n{each}</section>\n")
}

fn one(environment: &Environment) -> String {
    let row = |(name, text): &(&str, String)| {
        format!("<dt>{}</dt><dd>{}</dd>\n", escape(name), escape(text))
    };
    let rows: String =
        facts(environment).iter().filter(|(_, text)| !text.is_empty()).map(row).collect();
    format!(
        "<h3>{}</h3>\n<pre tabindex=\"0\" aria-label=\"Command line\">{}</pre>\n<dl>{rows}</dl>\n",
        escape(&environment.started_utc),
        escape(&command_line(environment)),
    )
}

/// What was typed, with quotes where the words need them.
pub(super) fn command_line(environment: &Environment) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_=./:,@%+".contains(c);
    let word = |word: &String| match !word.is_empty() && word.chars().all(is_plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    environment.command_line.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// The program with its commit.
pub(super) fn program(environment: &Environment) -> String {
    let commit = environment.git_commit.as_ref().map(|commit| format!(", commit {commit}"));
    let debug = if environment.is_debug_build { ", DEBUG BUILD" } else { "" };
    format!("{}{}{debug}", environment.version, commit.unwrap_or_default())
}

/// The processor in short.
pub(super) fn processor(environment: &Environment) -> String {
    let cpu = &environment.cpu;
    let parts = [
        cpu.model.clone(),
        cpu.online.as_ref().map(|cores| format!("cores {cores}")),
        environment.hypervisor.as_ref().map(|name| format!("virtual ({name} hypervisor)")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn facts(of: &Environment) -> Vec<(&'static str, String)> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let smt = of.cpu.has_smt.map_or("", |has_smt| if has_smt { "on" } else { "off" });
    let pairs = |pairs: &BTreeMap<String, String>| {
        pairs.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join("; ")
    };
    let memory = of.memory_kib.map(|kib| format!("{} GiB", three_digits(kib as f64 / 1_048_576.0)));
    let clock = of.clock_read_ns.map(|ns| format!("{} ns", three_digits(ns)));
    vec![
        ("Program", program(of)),
        ("Kernel", text(&of.kernel)),
        ("Kernel parameters", of.kernel_parameters.join(" ")),
        ("Processor", processor(of)),
        ("Microcode", text(&of.cpu.microcode)),
        ("Flags", of.cpu.flags.join(" ")),
        ("Cores allowed", text(&of.cpu.allowed)),
        ("Cores isolated", text(&of.cpu.isolated)),
        ("Threads sharing cores (SMT)", smt.to_owned()),
        ("NUMA nodes", of.cpu.numa_nodes.join("; ")),
        ("Governor", text(&of.cpu.governor)),
        ("Idle driver", text(&of.cpu.idle_driver)),
        ("Memory", memory.unwrap_or_default()),
        ("Transparent huge pages", text(&of.transparent_hugepages)),
        ("Interfaces", interfaces(of)),
        ("Parameters", pairs(&of.sysctls)),
        ("Clock source", text(&of.clock_source)),
        ("Reading the clock", clock.unwrap_or_default()),
        ("Preloaded", of.preload.join(", ")),
        ("Limits", pairs(&of.limits)),
        ("Load before", load(&of.before)),
        ("Load during", of.during.as_ref().map(load).unwrap_or_default()),
    ]
}

fn interfaces(of: &Environment) -> String {
    let each = of.interfaces.iter().map(|interface| {
        let parts = [
            Some(interface.name.clone()),
            interface.driver.as_ref().map(|driver| format!("driver {driver}")),
            interface.pci.clone(),
            interface.speed_mbit_per_s.map(|speed| format!("{} Mbit/s", whole(speed as f64))),
            interface.mtu_bytes.map(|mtu| format!("MTU {mtu}")),
            interface.tx_queue_packets.map(|length| format!("queue {length}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    });
    each.collect::<Vec<_>>().join("; ")
}

fn load(load: &Load) -> String {
    let average =
        load.average.map(|[one, five, fifteen]| format!("average {one} {five} {fifteen}"));
    let share = |name: &str, of: Option<f64>| of.map(|percent| format!("{name} {percent} %"));
    let parts = [average, share("busy", load.busy_percent), share("stolen", load.stolen_percent)];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_told_once_with_what_is_known_last() {
        let before = Environment {
            started_utc: "2026-11-22T04:15:02Z".to_owned(),
            ..Environment::default()
        };
        let during = Load { stolen_percent: Some(1.25), ..Load::default() };
        let after = Environment { during: Some(during), ..before.clone() };
        let records = [Record::from(before), Record::from(after)];
        assert_eq!(runs(&records).len(), 1);
        assert!(section(&records).contains("stolen 1.25 %"));
    }

    #[test]
    fn command_lines_can_be_typed_again() {
        let words = ["tapeline", "bench", "--note", "it's <b>", ""].map(str::to_owned);
        let environment = Environment { command_line: words.into(), ..Environment::default() };
        let typed = r"tapeline bench --note 'it'\''s <b>' ''";
        assert_eq!(command_line(&environment), typed);
        assert!(one(&environment).contains("&lt;b&gt;"));
    }

    #[test]
    fn a_debug_build_is_shouted() {
        let environment = Environment {
            version: "1".to_owned(),
            git_commit: Some("abc".to_owned()),
            is_debug_build: true,
            ..Environment::default()
        };
        assert_eq!(program(&environment), "1, commit abc, DEBUG BUILD");
    }
}
