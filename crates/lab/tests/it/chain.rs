//! Sides as processes: matrices, signals, and hosts that are network
//! namespaces.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{arg, folder, lab, run};

const BRIEF: [&str; 4] = ["--noise=0", "--seconds=0.3", "--warm-up=0.05", "--affinity=any"];

fn matrix(resume: &Path) -> Vec<String> {
    let own = ["matrix", "--transports=tcp,udp,unix_stream,aeron", "--sizes=100,500"];
    let rates = ["--rates=100,1000".to_owned(), format!("--resume={}", resume.display())];
    let words = ["nwtool"].iter().chain(&own).chain(&BRIEF).map(|word| (*word).to_owned());
    words.chain(rates).collect()
}

fn as_args(words: &[String]) -> Vec<&str> {
    words.iter().map(String::as_str).collect()
}

fn cells(path: &Path) -> usize {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().filter(|line| line.starts_with(r#"{"bench":"tool","tool":"nwtool""#)).count()
}

#[test]
fn a_matrix_ends_with_its_tables_and_resumes_where_it_was_ended() {
    let folder = folder();
    let file = folder.path().join("matrix.jsonl");
    let words = matrix(&file);
    let mut child = lab(&as_args(&words)).stdout(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    while cells(&file) < 3 {
        assert!(Instant::now() < until && child.try_wait().unwrap().is_none(), "it measures");
        std::thread::yield_now();
    }
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    let had = cells(&file);
    assert!((3..16).contains(&had), "{had}");

    let done = run(&as_args(&words));
    assert!(matches!(done.status, Some(0 | 1)), "{}", done.err);
    assert_eq!(cells(&file), 16, "no finished cell is measured twice: {}", done.out);
    let told = format!(
        "4 cells over each of tcp, udp, unix_stream, aeron, {had} of them measured already"
    );
    assert!(done.out.starts_with(&told), "{}", done.out);
    for end in ["melting points: ", "own melting points: ", "latency   jitter  scalability"] {
        let squeezed = done.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            squeezed.contains(&end.split_whitespace().collect::<Vec<_>>().join(" ")),
            "{}",
            done.out
        );
    }
    assert!(
        done.out.contains("a round trip takes") || done.out.contains("melts at"),
        "{}",
        done.out
    );
}

#[test]
fn a_stream_is_told_as_the_classic_tool_does() {
    let folder = folder();
    let link = folder.path().join("sfnt-stream");
    symlink(env!("CARGO_BIN_EXE_tapeline-lab"), &link).unwrap();
    for transport in ["udp", "tcp"] {
        let done = Command::new(&link)
            .args(["--rates=1000-2000+1000", "--millisec=200", "--rtt-iter=100", "--stop=0"])
            .args(["--noise=0", "--affinity=any", transport])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&done.stdout);
        assert!(
            matches!(done.status.code(), Some(0 | 1)),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        assert!(text.contains("\n# msgsize=24\n# return_latency="), "{text}");
        let rows: Vec<Vec<u64>> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect())
            .collect();
        let targets: Vec<u64> = rows.iter().map(|row| row[0]).collect();
        assert_eq!(targets, [1000, 2000], "{text}");
        assert!(rows.iter().all(|row| row.len() == 17 && row[15] == 0), "{text}");
    }
}

/// Lines that a child says, and the child.
fn saying(command: &mut Command) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    (child, lines)
}

/// Network namespaces joined by a bridge, gone with this.
struct Hosts {
    names: Vec<String>,
}

impl Hosts {
    /// `None` where this user may not have any.
    fn new(count: usize) -> Option<Self> {
        let ip = |args: &[&str]| Command::new("ip").args(args).stderr(Stdio::null()).status();
        let id = std::process::id();
        let bridge = format!("tlg{id}");
        let hosts =
            Self { names: (0..=count).map(|n| format!("tapeline-gauge-{id}-{n}")).collect() };
        // The bridge is in a namespace too: nothing of this host is changed.
        let own = &hosts.names[0];
        let made = ip(&["netns", "add", own]).is_ok_and(|status| status.success());
        if !made
            || !ip(&["-n", own, "link", "add", &bridge, "type", "bridge"])
                .is_ok_and(|s| s.success())
        {
            eprintln!("left out: network namespaces need root and iproute2");
            return None;
        }
        let must = |args: &[&str]| assert!(ip(args).unwrap().success(), "ip {args:?}");
        must(&["-n", own, "link", "set", &bridge, "up"]);
        for n in 1..=count {
            let (name, near, far) = (&hosts.names[n], format!("tlg{id}n{n}"), "eth0");
            must(&["netns", "add", name]);
            must(&[
                "-n", own, "link", "add", &near, "type", "veth", "peer", "name", far, "netns", name,
            ]);
            must(&["-n", own, "link", "set", &near, "master", &bridge, "up"]);
            must(&["-n", name, "addr", "add", &format!("10.91.0.{n}/24"), "dev", far]);
            must(&["-n", name, "link", "set", far, "up"]);
            must(&["-n", name, "link", "set", "lo", "up"]);
            must(&["-n", name, "route", "add", "224.0.0.0/4", "dev", far]);
        }
        Some(hosts)
    }

    fn on(&self, host: usize, args: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.names[host], env!("CARGO_BIN_EXE_tapeline-lab")]);
        command.args(args).env("NO_COLOR", "1");
        command
    }

    fn slow_down(&self, host: usize) -> bool {
        let tbf = ["qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "10mbit"];
        let sizes = ["burst", "16kb", "latency", "20ms"];
        let name = &self.names[host];
        let tc = Command::new("tc").args(["-n", name]).args(tbf).args(sizes).status();
        tc.is_ok_and(|status| status.success())
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
    }
}

#[test]
fn hosts_pass_messages_name_who_goes_and_melt_where_the_link_does() {
    let Some(hosts) = Hosts::new(3) else { return };
    let folder = folder();
    // All messages once.
    let brief = ["--seconds=1", "--warm-up=0.1", "--noise=0", "--rate=1000", "--size=200"];
    let sides = |seconds: &str| {
        let mut send = vec!["nwtool", "send"];
        send.extend(brief);
        send.push(seconds);
        let (first, mut said) = saying(&mut hosts.on(1, &send));
        assert!(said.next().unwrap().contains("waits on"));
        let (second, mut of_second) = saying(
            &mut hosts.on(2, &["nwtool", "forward", "10.91.0.1", "--listen=23701", "--noise=0"]),
        );
        assert!(of_second.next().unwrap().contains("for side 3"));
        let third = hosts
            .on(3, &["nwtool", "receive", "10.91.0.2:23701", "--clocks-agree-within=0"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        (first, said, second, of_second, third)
    };
    let (mut first, _said, mut second, _of_second, third) = sides("--seconds=1");
    assert!(matches!(first.wait().unwrap().code(), Some(0 | 1)));
    assert_eq!(second.wait().unwrap().code(), Some(0));
    let third = third.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&third.stdout).into_owned();
    assert!(third.status.success(), "{text} {}", String::from_utf8_lossy(&third.stderr));
    assert!(text.contains(" received, 0 lost, 0 reordered, 0 duplicated"), "{text}");

    // Side 3 is killed: the others end within 3 s and name it.
    let (mut first, said, mut second, of_second, mut third) = sides("--seconds=60");
    let mut out = BufReader::new(third.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(out.by_ref().nth(1).is_some(), "it receives");
    third.kill().unwrap();
    let killed = Instant::now();
    assert_eq!((first.wait().unwrap().code(), second.wait().unwrap().code()), (Some(2), Some(2)));
    assert!(killed.elapsed() < Duration::from_secs(3), "{:?}", killed.elapsed());
    let last = |lines: &mut dyn Iterator<Item = String>| lines.last().unwrap_or_default();
    let (first, second) = (last(&mut { said }), last(&mut { of_second }));
    assert!(second.ends_with("side 3 (receive at 10.91.0.3) ended"), "{second}");
    assert!(first.contains("side 2 (forward at 10.91.0.2) ended, and says: side 3"), "{first}");
    third.wait().unwrap();

    // Two groups over the bridge: nothing is lost at 10,000/s each, and the rate
    // is the one that was set. What a busy machine delays is tried again.
    let json = folder.path().join("mcast.jsonl");
    let is_exact = (0..10).any(|_| {
        let receive = ["mcast", "receive", "--threads=2", "--seconds=3", "--rcvbuf=4000000"];
        let mut receiver =
            hosts.on(2, &[&receive[..], &["--json", arg(&json)]].concat()).spawn().unwrap();
        let of_sender = folder.path().join("sender.jsonl");
        let sent = hosts
            .on(1, &["mcast", "send", "--threads=2", "--rate=10000", "--seconds=1"])
            .args(["--json", arg(&of_sender)])
            .output()
            .unwrap();
        let why = String::from_utf8_lossy(&sent.stderr);
        assert!(matches!(sent.status.code(), Some(0 | 1)), "{why}");
        let is_whole = receiver.wait().unwrap().code() == Some(0);
        let text = std::fs::read_to_string(&json).unwrap();
        assert_eq!(text.matches(r#""role":"receive""#).count(), 2, "{text}");
        let text = std::fs::read_to_string(&of_sender).unwrap();
        let rates = text.lines().filter_map(|line| {
            serde_json::from_str::<serde_json::Value>(line).unwrap()["achieved_per_s"].as_f64()
        });
        let is_kept = |rate: f64| (rate / 10_000.0 - 1.0).abs() <= 0.001;
        is_whole && rates.map(is_kept).eq([true, true])
    });
    assert!(is_exact, "in none of ten seconds");

    // 10 Mbit/s hold 1,000 B at 1,000/s and not at 5,000/s.
    if !hosts.slow_down(1) {
        eprintln!("left out: tc cannot shape here");
        return;
    }
    let (mut serving, mut said) = saying(&mut hosts.on(2, &["nwtool", "forward", "--keep"]));
    assert!(said.next().unwrap().contains("serving on"));
    let slow = ["nwtool", "matrix", "10.91.0.2", "--sizes=1000", "--rates=1000,5000", "--noise=0"];
    let own =
        ["--seconds=2", "--warm-up=0.2", "--own-factors=1000,1000", "--bounds=none", "--ack=32"];
    let done = hosts.on(1, &[&slow[..], &own[..]].concat()).output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(text.contains("own melting points: tcp 5000/s at 1000 bytes"), "{text}");
    kill_process(Pid::from_child(&serving), Signal::TERM).unwrap();
    serving.wait().unwrap();
}
