//! The comparison with other systems, with ours alone and briefly: nothing is
//! lost, and every figure is there.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use tapeline_bench::Output;
use tapeline_bench::peers::{self, Options, Peer};

use crate::support::tapeline;

#[derive(Default)]
struct Recorded(Vec<Value>);

impl Output for Recorded {
    fn table(&mut self, _: &str) {}

    fn result(&mut self, result: &Value) {
        self.0.push(result.clone());
    }
}

fn brief(peers: Vec<Peer>) -> Options {
    Options {
        peers,
        tapeline: tapeline(),
        folder: PathBuf::from("/nowhere"),
        rates_out: vec![2_000],
        rounds: 2,
        time: Duration::from_secs(1),
        warm_up: Duration::from_millis(50),
        compile: Duration::ZERO,
        search: Duration::ZERO,
        clients: 4,
        items: 10,
        watchers: 2,
        affinity: None,
    }
}

#[test]
fn updates_pass_hub_and_server_and_none_is_lost() {
    let mut out = Recorded::default();
    let ours = [Peer::TapelineParked, Peer::TapelineThroughput];
    let rows = peers::run(&brief([&ours[..], &[Peer::Nats]].concat()), &mut out).unwrap();
    for peer in ours {
        let is_its = |value: &&Value| value["what"] == "trial" && value["peer"] == peer.name();
        let trials: Vec<&Value> = out.0.iter().filter(is_its).collect();
        assert_eq!(trials.len(), 2, "{:?}", out.0);
        for trial in trials {
            assert!(trial["expected"].as_u64() > Some(0), "{trial}");
            assert_eq!(trial["received"], trial["expected"], "{trial}");
            assert_eq!(trial["bad"], 0, "{trial}");
            assert!(trial["server_cpu_seconds"].as_f64() > Some(0.0), "{trial}");
            assert!(trial["latency"]["p50_ns"].as_u64() > Some(0), "{trial}");
        }
    }
    let p50 = rows.iter().find(|row| row.row.starts_with("NATS: p50")).expect("a row");
    assert!(p50.reason.as_deref().is_some_and(|reason| reason.contains("missing")), "{p50:?}");
}
