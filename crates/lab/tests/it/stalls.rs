//! Sides that are held for a second: what a tool that waits for its turn hides,
//! and these do not.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::support::{arg, children, folder, lab};

/// How long a side is held.
const HELD: Duration = Duration::from_secs(1);

/// The least that has to be seen of it, in nanoseconds.
const SEEN_NS: u64 = 890_000_000;

fn hold(process: u32) {
    let id = Pid::from_raw(process.cast_signed()).unwrap();
    // One that has just ended is not held, which its figures tell.
    let _ = kill_process(id, Signal::STOP);
    // How long it is held is what is looked for.
    std::thread::sleep(HELD);
    let _ = kill_process(id, Signal::CONT);
}

/// How often a process has waited for something.
fn waits(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

/// Waits until a process has waited so often from now on, or is gone.
fn await_waits(process: u32, count: u64) {
    let Some(from) = waits(process) else { return };
    let end = Instant::now() + HELD;
    while waits(process).is_some_and(|now| now < from + count) && Instant::now() < end {
        std::thread::yield_now();
    }
}

fn lines(from: impl Read) -> impl Iterator<Item = String> {
    BufReader::new(from).lines().map_while(Result::ok)
}

fn started(command: &mut Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Records of a tool, those with figures.
fn records(json: &Path, tool: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(json).unwrap();
    let wanted = format!("\"tool\":\"{tool}\"");
    let of_tool = text.lines().filter(|line| line.contains(&wanted));
    let all: Vec<Value> = of_tool.map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!all.is_empty(), "{text}");
    all
}

fn figure(record: &Value, of: &str, name: &str) -> u64 {
    record[of][name].as_u64().unwrap_or_else(|| panic!("no {of} {name}: {record}"))
}

/// A sender and its echo, one of which is held; what the sender recorded.
fn chain(holds_sender: bool) -> Value {
    let folder = folder();
    let json = folder.path().join("out.jsonl");
    let args = ["nwtool", "send", "--port=0", "--bind=127.0.0.1", "--noise=0", "--rate=1000"];
    let own = ["--interval=0.3", "--seconds=4", "--warm-up=0", "--size=64", "--json", arg(&json)];
    let mut first = started(&mut lab(&[&args[..], &own[..]].concat()));
    let text = lines(first.stderr.take().unwrap()).next().unwrap();
    let port = text.split(' ').find(|word| word.starts_with("127.0.0.1:")).unwrap();
    let mut second = started(&mut lab(&["nwtool", "forward", port]));
    let mut said = lines(first.stdout.take().unwrap());
    // A head of two lines, and the first interval.
    assert!(said.by_ref().nth(2).is_some(), "it sends");
    hold(if holds_sender { first.id() } else { second.id() });
    said.for_each(drop);
    assert!(first.wait().unwrap().code().is_some());
    assert!(second.wait().unwrap().code().is_some());
    records(&json, "nwtool").remove(0)
}

#[test]
fn a_sender_that_stood_still_shows_from_schedule() {
    let tool = chain(true);
    // On a busy machine too little may have been sent for figures.
    if tool["valid"] == true {
        let (due, sent) =
            (figure(&tool, "from_schedule", "p99_ns"), figure(&tool, "from_send", "p99_ns"));
        assert!(due > SEEN_NS && sent < due / 2, "{tool}");
    }
}

#[test]
fn an_echo_that_stood_still_shows_from_send_as_well() {
    let tool = chain(false);
    if tool["valid"] == true {
        assert!(figure(&tool, "from_schedule", "p99_ns") > SEEN_NS, "{tool}");
        assert!(figure(&tool, "from_send", "p99_ns") > SEEN_NS, "{tool}");
    }
}

/// Two sizes, in the second of which the server is held; their records.
fn held_server() -> Vec<Value> {
    let folder = folder();
    let json = folder.path().join("out.jsonl");
    let mut client = started(
        lab(&["pingpong", "--format=classic", "-q", "--noise=0", "--affinity=any", "--rtt"])
            .args(["--sizes=1,2", "--minms=1500", "--maxms=1500", "--warmupms=0"])
            .args(["--warmupiter=1", "--miniter=10", "--json", arg(&json), "tcp"]),
    );
    let mut rows = lines(client.stdout.take().unwrap());
    assert!(rows.next().is_some(), "the first size is measured");
    // A machine that stood still until now may be done with the second.
    if let [server] = children(client.id())[..] {
        // What comes first of the second is its warm-up, which does not count.
        await_waits(server, 500);
        hold(server);
    }
    rows.for_each(drop);
    assert_eq!(client.wait().unwrap().code(), Some(0));
    records(&json, "pingpong")
}

#[test]
fn a_server_that_stood_still_is_the_maximum_of_its_size_alone() {
    let max = |of: &Value| figure(of, "from_send", "max_ns");
    let tools = (0..5).map(|_| held_server()).find(|tools| max(&tools[1]) > SEEN_NS);
    let tools = tools.expect("in one of five runs it was held in time");
    // It is one of many, and what was measured before does not have it.
    assert!(figure(&tools[1], "from_send", "p50_ns") < SEEN_NS, "{tools:?}");
    assert!(max(&tools[0]) < max(&tools[1]), "{tools:?}");
}

#[test]
fn a_receiver_that_stood_still_lost_it_in_its_own_queue() {
    let folder = folder();
    let json = folder.path().join("out.jsonl");
    let mut receiver = started(
        lab(&["mcast", "receive", "--group=127.0.0.1", "--port=0", "--seconds=3.5", "--noise=0"])
            .args(["--rcvbuf=16384", "--interval=0.5", "--json", arg(&json)]),
    );
    let said = lines(receiver.stderr.take().unwrap()).next().unwrap();
    let port = format!("--port={}", said.rsplit(' ').next().unwrap());
    let send = ["mcast", "send", "--group=127.0.0.1", "--rate=2000", "--size=400", "--seconds=2.5"];
    let mut sender = started(&mut lab(&[&send[..], &[&port]].concat()));
    let mut seconds = lines(receiver.stdout.take().unwrap());
    // Its head, and an interval with messages.
    let has_come = |line: &String| {
        line.split_whitespace().nth(1).and_then(|rate| rate.parse::<f64>().ok()) > Some(0.0)
    };
    assert!(seconds.by_ref().any(|line| has_come(&line)), "they come");
    hold(receiver.id());
    seconds.for_each(drop);
    assert!(sender.wait().unwrap().code().is_some());
    assert!(receiver.wait().unwrap().code().is_some());
    let tool = records(&json, "mcast").remove(0);
    let count = |name: &str| figure(&tool, "counts", name);
    assert!(count("own_queue") > 1_000, "{tool}");
    assert!(count("lost") > 1_000 && count("lost") <= count("own_queue"), "{tool}");
}

#[test]
fn a_part_that_stood_still_shows_in_the_flow() {
    let folder = folder();
    let json = folder.path().join("out.jsonl");
    let mut flow = started(
        lab(&["aio", "run", "nwtool-chain", "@rate=500", "--seconds=4", "--noise=0"]).args([
            "--warm-up=0.1",
            "--json",
            arg(&json),
        ]),
    );
    let mut said = lines(flow.stdout.take().unwrap());
    assert!(said.any(|line| line.starts_with("receive ")), "it runs");
    let parts = children(flow.id());
    assert_eq!(parts.len(), 3);
    // The second answers the first.
    hold(parts[1]);
    said.for_each(drop);
    assert!(flow.wait().unwrap().code().is_some());
    let tools = records(&json, "aio");
    let sender = tools.iter().find(|tool| tool["role"] == "send").unwrap();
    if sender["valid"] == true {
        assert!(figure(sender, "from_schedule", "p99_ns") > SEEN_NS, "{sender}");
        assert_eq!(figure(sender, "counts", "lost"), 0, "{sender}");
    }
}
