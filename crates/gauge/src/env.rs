//! What a machine is, for whoever reads figures of it: no name of a host, and no
//! path.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use serde_json::Value;
use tapeline_measure::environment::Environment;
use tapeline_measure::table::Table;
use tapeline_measure::ticks::TickClock;

use crate::GaugeError;
use crate::arguments::{self, Arguments, Known, flag, value};
use crate::ethtool;
use crate::output::Output;
use crate::pingpong::header::Header;

const KNOWN: [Known; 3] = [
    flag("json", "one JSON object"),
    value("format", "human, or sfnt: the lines in front of a ping-pong's rows (human)"),
    flag("help", "this text (-?)"),
];

/// Services that disturb a measurement.
const DISTURBING: [&str; 8] =
    ["irqbalance", "cron", "crond", "ntpd", "chronyd", "tuned", "auditd", "thermald"];

/// Variables of stacks that take sockets over.
const STACKS: [&str; 3] = ["EF_", "VMA_", "XLIO_"];

/// Tells the machine as its command line has it.
///
/// Errors: the command line is wrong.
pub fn run(typed: &[String], out: &mut dyn Output) -> Result<bool, GaugeError> {
    let given = Arguments::read(&KNOWN, typed)?;
    if given.has("help") {
        out.text(&format!("env    what this machine is\n\n{}", arguments::help(&KNOWN)));
        return Ok(true);
    }
    let environment = Environment::read();
    if given.text("format") == Some("sfnt") {
        let header =
            Header { tsc_hz: TickClock::best().hz(), ..Header::of_host(&environment, false) };
        let lines = header.lines();
        let is_of_host = |line: &&str| {
            !["# cmdline", "# percentile", "# reporting", "# tapeline", "#"]
                .iter()
                .any(|front| if *front == "#" { *line == "#" } else { line.starts_with(front) })
        };
        let kept: Vec<&str> = lines.lines().filter(is_of_host).collect();
        out.text(&format!("{}\n", kept.join("\n")));
        return Ok(true);
    }
    match given.text("format") {
        None | Some("human") => {}
        Some(other) => return Err(GaugeError::option("format", other, "give human or sfnt")),
    }
    let all = facts(&environment, Path::new("/"));
    if given.is_set("json")? {
        let object: serde_json::Map<String, Value> =
            all.into_iter().map(|(key, text)| (key, Value::from(text))).collect();
        out.text(&format!("{}\n", Value::from(object)));
        return Ok(true);
    }
    let mut table = Table::new(&["what"]).with_last("is");
    for (key, text) in all {
        table.row(vec![key, text]);
    }
    out.text(&table.to_string());
    Ok(true)
}

/// All that is told, by its name; what is not told is absent.
fn facts(environment: &Environment, root: &Path) -> BTreeMap<String, String> {
    let told = serde_json::to_value(environment).unwrap_or_default();
    let mut all = BTreeMap::new();
    flatten("", &told, &mut all);
    // It may name files.
    all.retain(|key, _| !key.starts_with("command_line"));
    all.extend(more(root));
    all
}

fn flatten(front: &str, value: &Value, all: &mut BTreeMap<String, String>) {
    let under =
        |key: &str| if front.is_empty() { key.to_owned() } else { format!("{front}.{key}") };
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| flatten(&under(key), value, all));
        }
        Value::Array(values) if values.iter().any(Value::is_object) => {
            for (at, value) in values.iter().enumerate() {
                let named = value["name"].as_str().map_or(at.to_string(), str::to_owned);
                flatten(&under(&named), value, all);
            }
        }
        Value::Array(values) => {
            let texts: Vec<String> = values.iter().map(text_of).collect();
            if !texts.is_empty() {
                all.insert(front.to_owned(), texts.join(" "));
            }
        }
        Value::Null => {}
        other => drop(all.insert(front.to_owned(), text_of(other))),
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What the record of a measurement does not have.
fn more(root: &Path) -> BTreeMap<String, String> {
    let read = |path: &str| {
        let text = fs::read_to_string(root.join(path)).ok()?;
        Some(text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let list = |path: &str| {
        let entries = fs::read_dir(root.join(path)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    };
    let mut all = BTreeMap::new();
    let mut tell = |key: &str, text: Option<String>| {
        if let Some(text) = text {
            all.insert(key.to_owned(), text);
        }
    };
    tell("cgroup.cpu_quota", read("sys/fs/cgroup/cpu.max"));
    tell("cgroup.cpuset", read("sys/fs/cgroup/cpuset.cpus.effective"));
    tell("container", container(root).map(str::to_owned));
    tell("kernel.real_time", read("sys/kernel/realtime"));
    tell("cpu.turbo_off", read("sys/devices/system/cpu/intel_pstate/no_turbo"));
    tell("cpu.boost", read("sys/devices/system/cpu/cpufreq/boost"));
    let preference = "sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference";
    tell("cpu.energy_preference", read(preference));
    tell("cpu.idle_driver", read("sys/devices/system/cpu/cpuidle/current_driver"));
    let idle = "sys/devices/system/cpu/cpu0/cpuidle";
    let states: Vec<String> = list(idle)
        .into_iter()
        .filter_map(|state| {
            let name = read(&format!("{idle}/{state}/name"))?;
            Some(format!("{name} {} µs", read(&format!("{idle}/{state}/latency"))?))
        })
        .collect();
    tell("cpu.idle_states", Some(states.join(", ")).filter(|text| !text.is_empty()));
    let folder = "sys/devices/system/cpu/vulnerabilities";
    let mitigated: Vec<String> = list(folder)
        .into_iter()
        .filter(|name| {
            read(&format!("{folder}/{name}")).is_some_and(|text| text.starts_with("Mitigation"))
        })
        .collect();
    tell("cpu.mitigations", Some(mitigated.join(" ")).filter(|text| !text.is_empty()));
    for name in list("sys/class/net") {
        let at = format!("sys/class/net/{name}");
        let key = |what: &str| format!("interface.{name}.{what}");
        tell(&key("numa_node"), read(&format!("{at}/device/numa_node")));
        tell(&key("local_cores"), read(&format!("{at}/device/local_cpulist")));
        tell(&key("queue_length"), read(&format!("{at}/tx_queue_len")));
        let queues = list(&format!("{at}/queues"));
        let count = |front: &str| queues.iter().filter(|queue| queue.starts_with(front)).count();
        tell(&key("queues"), Some(format!("{} rx, {} tx", count("rx-"), count("tx-"))));
        tell(&key("rps_cpus"), read(&format!("{at}/queues/rx-0/rps_cpus")));
        // Of the kernel's own interfaces there is no card.
        if root == Path::new("/") && root.join(&at).join("device").exists() {
            for (what, text) in ethtool::facts(&name) {
                tell(&key(&what), Some(text));
            }
        }
    }
    let running: Vec<&str> = {
        let comms: Vec<String> = list("proc")
            .into_iter()
            .filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
            .filter_map(|pid| read(&format!("proc/{pid}/comm")))
            .collect();
        DISTURBING.into_iter().filter(|name| comms.iter().any(|comm| comm == name)).collect()
    };
    tell("services", Some(running.join(" ")).filter(|text| !text.is_empty()));
    tell("tuned.profile", read("etc/tuned/active_profile"));
    for (name, text) in env::vars() {
        if STACKS.iter().any(|front| name.starts_with(front)) && !text.contains('/') {
            tell(&format!("stack.{name}"), Some(text));
        }
    }
    all
}

/// What kind of container this is; `None` outside of one.
fn container(root: &Path) -> Option<&'static str> {
    if root.join(".dockerenv").exists() {
        return Some("docker");
    }
    if root.join("run/.containerenv").exists() {
        return Some("podman");
    }
    let groups = fs::read_to_string(root.join("proc/1/cgroup")).unwrap_or_default();
    ["kubepods", "docker", "containerd", "lxc"].into_iter().find(|word| groups.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_told_by_their_path_in_the_record() {
        let value = serde_json::json!({
            "a": {"b": 1, "c": ["x", "y"]},
            "command_line": ["program"],
            "interfaces": [{"name": "eth0", "mtu": 1500}],
            "none": null
        });
        let mut all = BTreeMap::new();
        flatten("", &value, &mut all);
        assert_eq!(all["a.b"], "1");
        assert_eq!((&all["a.c"][..], &all["interfaces.eth0.mtu"][..]), ("x y", "1500"));
        assert!(!all.contains_key("none"));
    }

    #[test]
    fn what_a_tree_tells_is_told() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("sys/fs/cgroup/cpu.max", "200000 100000\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/name", "C1\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state1/latency", "2\n"),
            ("sys/class/net/eth0/device/numa_node", "1\n"),
            ("proc/17/comm", "irqbalance\n"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let all = more(folder.path());
        let of = |key: &str| all.get(key).map(String::as_str);
        assert_eq!(of("cgroup.cpu_quota"), Some("200000 100000"));
        assert_eq!(of("cpu.idle_states"), Some("C1 2 µs"));
        assert_eq!(
            (of("interface.eth0.numa_node"), of("services")),
            (Some("1"), Some("irqbalance"))
        );
        assert_eq!(of("container"), None);
    }

    #[test]
    fn no_name_of_a_host_and_no_path_is_told() {
        let all = facts(&Environment::read(), Path::new("/"));
        let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        for (key, text) in &all {
            let is_path = |word: &str| word.starts_with('/') && word.len() > 1;
            assert!(!text.split([' ', ':', '=']).any(is_path), "{key}: {text}");
            let name = name.trim();
            assert!(name.len() < 4 || !text.contains(name), "{key}: {text}");
        }
        assert!(all.len() > 20, "{all:?}");
    }
}
