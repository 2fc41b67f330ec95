//! Alert rules and metrics as Prometheus' own tool sees them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::eyes::{admin_get, consumer, site};
use super::support::{Run, await_state};

/// What the linter says of names that stay: a rate has the second in its name, and what is
/// in percent is a whole number, so that whoever reads it in a view need not multiply.
const KNOWN: [&str; 2] = ["tapeline_server_drain_per_s ", "tapeline_thread_knee_percent "];

/// The tool, where there is one; continuous integration has it.
fn promtool() -> Option<Command> {
    if Command::new("promtool").arg("--version").output().is_ok() {
        return Some(Command::new("promtool"));
    }
    assert!(std::env::var_os("CI").is_none(), "no promtool: scripts/prerequisites.sh test");
    eprintln!("left out: no promtool");
    None
}

fn monitoring(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/monitoring").join(name)
}

#[test]
fn alerts_fire_where_they_should_and_nowhere_else() {
    for (arguments, name) in [
        (&["check", "rules"][..], "alerts.yml"),
        (&["test", "rules"], "alerts-test.yml"),
        (&["check", "config"], "prometheus.yml"),
    ] {
        let Some(mut promtool) = promtool() else { return };
        let output = promtool.args(arguments).arg(monitoring(name)).output().expect("it runs");
        let done = Run::of(&output);
        assert_eq!(done.status, Some(0), "{name}: {}{}", done.out, done.err);
    }
}

#[test]
fn every_alert_has_a_test() {
    let [rules, tests] = ["alerts.yml", "alerts-test.yml"]
        .map(|name| std::fs::read_to_string(monitoring(name)).expect("a file"));
    let alerts = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: "));
    let untested = |alert: &&str| {
        let name = format!("alertname: {alert}\n");
        !tests.contains(&name)
    };
    assert_eq!(alerts.filter(untested).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn metrics_of_a_running_process_pass_the_linter() {
    let Some(mut promtool) = promtool() else { return };
    let (_source, node) = site("[backbone]\nchannel = \"aeron:ipc\"\n");
    let _consumer = consumer(&node);
    let mut text = String::new();
    await_state("metrics of the media driver", || {
        text = admin_get(&node, "/metrics", "Accept: text/plain\r\n");
        text.contains("\ntapeline_driver_naks_sent_total{")
    });
    promtool.args(["check", "metrics"]).stdin(Stdio::piped());
    let mut promtool =
        promtool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut input = promtool.stdin.take().expect("a pipe");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let done = Run::of(&promtool.wait_with_output().expect("it ends"));
    writer.join().expect("no panic").expect("it reads");
    let said = format!("{}{}", done.out, done.err);
    let is_known = |line: &&str| KNOWN.iter().any(|known| line.starts_with(known));
    let more: Vec<_> = said.lines().filter(|line| !is_known(line)).collect();
    assert!(more.is_empty(), "{}", more.join("\n"));
}
