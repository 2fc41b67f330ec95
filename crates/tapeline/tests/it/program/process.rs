//! How the program starts and ends.

use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};

use super::support::{Running, run, tapeline};

const ANY_PORTS: [&str; 5] = ["run", "--rssl-port", "0", "--ni-port", "0"];

#[test]
fn the_ready_file_says_what_listens_where() {
    let mut node = Running::start(&ANY_PORTS);
    for name in ["rssl", "ni"] {
        let address = node.address(name);
        assert_ne!(address.port(), 0, "{name}");
        TcpStream::connect(address).expect("it listens");
    }
    node.log_until("component=server");
}

#[test]
fn a_port_can_be_off() {
    let node = Running::start(&["run", "--rssl-port", "0", "--ni-port", "off"]);
    let text = std::fs::read_to_string(node.ready_path()).expect("a ready file");
    assert_eq!(text.lines().count(), 1, "{text}");
    assert!(text.starts_with("rssl=127.0.0.1:"), "{text}");
}

#[test]
fn sigterm_ends_it_cleanly() {
    let node = Running::start(&ANY_PORTS);
    let (status, log) = node.terminate();
    assert_eq!(status, Some(0), "{log}");
    assert!(log.contains("msg=ended"), "{log}");
}

#[test]
fn a_source_and_its_clients_end_on_sigterm() {
    let source = Running::start(&["source", "--listen", "127.0.0.1:0"]);
    assert_eq!(source.terminate().0, Some(0));
}

/// As `timeout` sends them: to the program, and to its group.
#[test]
fn two_signals_at_once_are_one_wish() {
    let mut demo = tapeline(&["demo"]).stdout(Stdio::piped()).spawn().expect("the program starts");
    let mut out = BufReader::new(demo.stdout.take().expect("piped"));
    let mut said = String::new();
    assert!(out.read_line(&mut said).expect("text") > 0, "it ended");
    for signal in [Signal::INT, Signal::TERM] {
        kill_process(Pid::from_child(&demo), signal).expect("it runs");
    }
    out.read_to_string(&mut said).expect("text");
    assert_eq!(demo.wait().expect("it ends").code(), Some(0), "{said}");
    assert!(said.contains("\nSeen in "), "{said}");
}

#[test]
fn seconds_end_it_too() {
    let done = run(&["run", "--rssl-port", "0", "--ni-port", "0", "--seconds", "0"]);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert!(done.err.contains("msg=ready"), "{}", done.err);
}

#[test]
fn a_port_that_is_taken_is_named() {
    let node = Running::start(&ANY_PORTS);
    let port = node.address("rssl").port().to_string();
    let done = run(&["run", "--rssl-port", &port, "--ni-port", "0"]);
    assert_eq!(done.status, Some(2));
    let last = done.err.lines().last().unwrap_or_default();
    assert!(last.starts_with("tapeline: ") && last.contains(&port), "{}", done.err);
}

#[test]
fn log_levels_are_per_component() {
    let done = run(&[
        "run",
        "--rssl-port",
        "0",
        "--ni-port",
        "0",
        "--seconds",
        "0",
        "--log",
        "tapeline=error",
    ]);
    assert_eq!(done.status, Some(0));
    assert!(!done.err.contains("component=tapeline"), "{}", done.err);
    let done = run(&["run", "--log", "hub=loud"]);
    assert_eq!(done.status, Some(2));
    assert_eq!(
        done.err,
        "tapeline: log level is `loud`; give one of off, error, warn, info, debug, trace\n"
    );
}

#[test]
fn a_backbone_that_cannot_be_is_explained() {
    let done = run(&["run", "--backbone", "aeron:udp?endpoint=239.1.1.2:4000"]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("must be odd"), "{}", done.err);
}

#[test]
fn a_hub_or_a_server_alone_is_told_that_it_needs_more_than_rings() {
    for role in ["hub", "server"] {
        let done = run(&[role, "--backbone", "local"]);
        assert_eq!(done.status, Some(2));
        assert!(done.err.contains("do not meet over `local`"), "{}", done.err);
    }
}

#[test]
fn a_client_without_items_says_so() {
    let done = run(&["client"]);
    assert_eq!(done.status, Some(2));
    assert_eq!(done.err, "tapeline: no items; name them, or a file of names with -f\n");
}

#[test]
fn a_client_whose_server_is_away_got_no_answer() {
    // Nobody listens on the discard port of this host.
    let done = run(&["client", "--server", "127.0.0.1:9", "A", "B", "--seconds", "1"]);
    assert_eq!(done.status, Some(1));
    assert!(done.err.contains("2 of 2 items got no image"), "{}", done.err);
}

#[test]
fn a_server_that_could_meet_no_hub_is_told_how_to() {
    let done = run(&["server", "--rssl-port", "0"]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("meets no hub over aeron:ipc"), "{}", done.err);
}
