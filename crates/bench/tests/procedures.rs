//! Every procedure runs, briefly, and loses nothing at a rate that any machine
//! holds.

use std::time::Duration;

use tapeline_bench::{Options, Output, Procedure, Value, Workload, count, run};
use tapeline_channel::Idle;

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

impl Recorded {
    fn of(&self, bench: &str, what: &str) -> Vec<&Value> {
        let is_it = |value: &&Value| value["bench"] == bench && value["what"] == what;
        self.results.iter().filter(is_it).collect()
    }
}

fn brief() -> Options {
    Options {
        rates: vec![500],
        time: Duration::from_millis(300),
        warm_up: Duration::from_millis(50),
        rounds: 1,
        latency_items: 10,
        items: 10,
        mounts: 4,
        common_items: 3,
        own_items: 2,
        idle: Idle::Yield,
        ..Options::default()
    }
}

#[test]
fn latency_is_told_beside_the_floor_and_nothing_is_lost() {
    let mut out = Recorded::default();
    run(&[Procedure::Floor, Procedure::Latency], &brief(), &mut out).unwrap();
    let runs = out.of("latency", "run");
    assert_eq!(runs.len(), 1);
    let run = runs[0];
    assert_eq!(run["lost"], 0, "{run}");
    assert_eq!(run["conflated"], 0, "{run}");
    assert!(run["received"].as_u64() > Some(0), "{run}");
    assert!(run["from_schedule"]["count"].as_u64() > Some(0), "{run}");
    let floor = out.of("latency", "floor");
    assert!(floor[0]["figures"]["p50_us"].as_f64() > Some(0.0), "{floor:?}");
    assert_eq!(out.of("floor", "fan_out").len(), 1);
    assert!(out.tables.iter().any(|table| table.starts_with("from schedule")), "{:?}", out.tables);
}

#[test]
fn updates_of_common_items_reach_every_mount() {
    // 64 updates: every other one of a common item.
    assert_eq!(count(Workload::Fanout, 64, &brief()).unwrap(), 32 * 4 + 32);
    assert_eq!(count(Workload::Single, 64, &brief()).unwrap(), 64);
    assert_eq!(count(Workload::Batch, 100, &brief()).unwrap(), 100);
}
