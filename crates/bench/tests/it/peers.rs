//! The comparison with other systems, briefly, with those that are in this
//! program. Ours is tried with the program's own tests.

use std::path::PathBuf;
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
        time: Duration::from_secs(1),
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
