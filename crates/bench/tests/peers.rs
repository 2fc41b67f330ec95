//! The comparison with other systems, with ours alone and briefly: nothing is
//! lost, and every figure is there.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tapeline_bench::peers::{self, Options, Peer};
use tapeline_bench::{Output, Value};

#[derive(Default)]
struct Recorded {
    results: Vec<Value>,
    tables: Vec<String>,
}

impl Output for Recorded {
    fn table(&mut self, text: &str) {
        self.tables.push(text.to_owned());
    }

    fn result(&mut self, result: &Value) {
        self.results.push(result.clone());
    }
}

fn brief(peers: Vec<Peer>) -> Options {
    Options {
        peers,
        folder: PathBuf::from("/nowhere"),
        rates_out: vec![2_000],
        rounds: 1,
        time: Duration::from_millis(200),
        warm_up: Duration::from_millis(50),
        compile: Duration::ZERO,
        search: Duration::ZERO,
        clients: 4,
        items: 10,
        watchers: 2,
        affinity: None,
        ..Options::default()
    }
}

/// The program, if a build of the workspace has put it beside this test.
fn tapeline() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let program = test.parent()?.parent()?.join("tapeline");
    let runs = Command::new(&program).arg("--version").output();
    runs.is_ok_and(|output| output.status.success()).then_some(program)
}

fn trials<'a>(out: &'a Recorded, peer: Peer) -> Vec<&'a Value> {
    let is_it = |value: &&'a Value| value["what"] == "trial" && value["peer"] == peer.name();
    out.results.iter().filter(is_it).collect()
}

#[test]
fn updates_pass_aeron_and_what_is_missing_is_named() {
    let mut out = Recorded::default();
    let options = brief(vec![Peer::Aeron, Peer::Nats, Peer::ZeroMq, Peer::JavaParked]);
    let rows = peers::run(&options, &mut out).unwrap();
    assert!(rows.is_empty(), "without us there is nothing to compare: {rows:?}");
    let trials = trials(&out, Peer::Aeron);
    assert_eq!(trials.len(), 1);
    assert!(trials[0]["expected"].as_u64() > Some(0), "{}", trials[0]);
    assert_eq!(trials[0]["received"], trials[0]["expected"], "{}", trials[0]);
    assert_eq!(trials[0]["bad"], 0, "{}", trials[0]);
    for missing in ["nats-server", "zeromq-proxy", "eta"] {
        let text = format!("/nowhere/{missing} is missing; bench/peers/run.sh builds it");
        assert!(out.tables[0].contains(&text), "{text}: {}", out.tables[0]);
    }
}

#[test]
fn updates_pass_hub_and_server_and_none_is_lost() {
    let Some(program) = tapeline() else {
        eprintln!("left out: the program is not built beside this test");
        return;
    };
    let mut out = Recorded::default();
    let peers = vec![Peer::TapelineParked, Peer::TapelineThroughput, Peer::Nats];
    let options = Options { tapeline: program, ..brief(peers) };
    let rows = peers::run(&options, &mut out).unwrap();
    for peer in [Peer::TapelineParked, Peer::TapelineThroughput] {
        let trials = trials(&out, peer);
        assert_eq!(trials.len(), 1, "{:?}", out.results);
        let trial = trials[0];
        assert!(trial["expected"].as_u64() > Some(0), "{trial}");
        assert_eq!(trial["received"], trial["expected"], "{trial}");
        assert_eq!(trial["bad"], 0, "{trial}");
        assert!(trial["server_cpu_seconds"].as_f64() > Some(0.0), "{trial}");
        assert!(trial["latency"]["p50_ns"].as_u64() > Some(0), "{trial}");
    }
    let p50 = rows.iter().find(|row| row.row.starts_with("NATS: p50")).unwrap();
    assert!(p50.reason.as_deref().is_some_and(|reason| reason.contains("missing")), "{p50:?}");
}
