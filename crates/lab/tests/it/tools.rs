//! The tools that judge a host, as processes and by their classic names.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{arg, children, folder, lab, run};

/// So few messages that a machine with other work to do does them in time.
const BRIEF: [&str; 9] = [
    "--affinity=any",
    "--noise=0",
    "--minms=0",
    "--maxms=0",
    "--miniter=20",
    "--maxiter=20",
    "--warmupms=0",
    "--warmupiter=20",
    "--sizes=1,64,1024",
];

/// What scripts look for: a line of eight whole numbers.
fn rows(text: &str) -> Vec<Vec<u64>> {
    let of = |line: &str| line.split_whitespace().map(|word| word.parse().ok()).collect();
    let all = text.lines().filter_map(of);
    all.filter(|row: &Vec<u64>| row.len() == 8).collect()
}

/// What a reader with `^[ \t]*(\d+(?:[ \t]+\d+){7})[ \t]*$` takes of a text.
fn by_expression(text: &str) -> Vec<Vec<u64>> {
    let of = |line: &str| -> Option<Vec<u64>> {
        let is_of_it = |byte: u8| byte.is_ascii_digit() || byte == b' ' || byte == b'\t';
        line.bytes().all(is_of_it).then_some(())?;
        let words: Vec<&str> = line.split([' ', '\t']).filter(|word| !word.is_empty()).collect();
        (words.len() == 8).then(|| words.iter().map(|word| word.parse().unwrap()).collect())
    };
    text.lines().filter_map(of).collect()
}

/// What a reader with `sscanf("%d %d …")` takes: numbers from the front, as far
/// as there are eight; lines of `#` are passed over.
fn by_scanning(text: &str) -> Vec<Vec<u64>> {
    let of = |line: &str| -> Option<Vec<u64>> {
        let mut rest = line;
        let mut numbers = Vec::new();
        while numbers.len() < 8 {
            rest = rest.trim_start();
            let end = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
            numbers.push(rest[..end].parse().ok()?);
            rest = &rest[end..];
        }
        Some(numbers)
    };
    text.lines().filter(|line| !line.starts_with('#')).filter_map(of).collect()
}

#[track_caller]
fn assert_rows(text: &str) {
    assert_eq!(by_expression(text), rows(text), "{text}");
    assert_eq!(by_scanning(text), rows(text), "{text}");
    let sizes: Vec<u64> = rows(text).iter().map(|row| row[0]).collect();
    assert_eq!(sizes, [1, 64, 1024], "{text}");
}

#[test]
fn a_local_server_is_a_process_and_gone_afterwards() {
    for transport in ["tcp", "udp", "pipe", "unix_stream", "unix_datagram", "rssl"] {
        let mut args = vec!["pingpong", "--format=classic"];
        args.extend(BRIEF);
        args.push(transport);
        let done = run(&args);
        assert_eq!(done.status, Some(0), "{transport}: {}", done.err);
        assert_rows(&done.out);
    }
}

/// What a process's media driver has in memory.
fn shared(process: u32) -> usize {
    let prefix = format!("tapeline-gauge-{process}-");
    let Ok(entries) = std::fs::read_dir("/dev/shm") else { return 0 };
    let names = entries.filter_map(Result::ok).map(|entry| entry.file_name());
    names.filter(|name| name.to_string_lossy().starts_with(&prefix)).count()
}

#[test]
fn a_driver_in_memory_is_gone_with_its_measurement() {
    let long = ["pingpong", "--miniter=10", "--minms=60000", "--maxms=60000", "aeron"];
    let short = ["pingpong", "--miniter=10", "--minms=400", "--maxms=400", "--sizes=1", "aeron"];
    let cell = ["nwtool", "matrix", "--transports=aeron", "--sizes=100", "--rates=100"];
    let matrix = [&cell[..], &["--seconds=0.4", "--bounds=none"]].concat();
    for (args, is_ended) in [(&long[..], true), (&short[..], false), (&matrix[..], false)] {
        let mut tool = lab(args);
        tool.args(["--noise=0", "--affinity=any"]).stdout(Stdio::null());
        let mut tool = tool.spawn().unwrap();
        let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
        let follower = loop {
            assert!(tool.try_wait().unwrap().is_none(), "{args:?}");
            assert!(std::time::Instant::now() < until, "no driver for {args:?}");
            if let Some(id) = children(tool.id()).into_iter().find(|id| shared(*id) > 0) {
                break id;
            }
            std::thread::yield_now();
        };
        if is_ended {
            kill_process(Pid::from_child(&tool), Signal::TERM).unwrap();
        }
        let status = tool.wait().unwrap().code();
        assert_eq!(status == Some(2), is_ended, "{args:?}: {status:?}");
        assert_eq!(shared(follower), 0, "{args:?}");
    }
}

#[test]
fn by_the_classic_name_it_is_the_classic_tool() {
    let folder = folder();
    let link = folder.path().join("sfnt-pingpong");
    symlink(env!("CARGO_BIN_EXE_tapeline-lab"), &link).unwrap();
    let mut server = Command::new(&link)
        .args(["--port", "0", "--bind=127.0.0.1"])
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = String::new();
    BufReader::new(server.stderr.take().unwrap()).read_line(&mut said).unwrap();
    let address = said.trim().rsplit(' ').next().unwrap();
    let done = Command::new(&link)
        .args(BRIEF)
        .args(["tcp", address])
        .env("SFNT_OPTS", "--rtt --percentile=90")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{said} {}", String::from_utf8_lossy(&done.stderr));
    assert_rows(&text);
    assert!(text.starts_with("# cmdline: ") && text.contains("\n# percentile=90\n"), "{text}");
    assert!(text.contains("\n# reporting: RTT\n#"), "{text}");
    assert!(server.wait().unwrap().success());
}

#[test]
fn a_signal_ends_it_with_what_is_complete() {
    let folder = folder();
    let json = folder.path().join("out.jsonl");
    let mut child = lab(&["pingpong", "--format=classic", "--affinity=any", "--noise=0", "-q"])
        .args(["--json", arg(&json), "--miniter=10", "--minms=0", "--maxms=0", "--warmupms=0"])
        .args(["--warmupiter=0", "--sizes=1,2", "--rounds=100", "--sleep-gap=20000", "tcp"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.next().is_some_and(|line| line.is_ok()));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2));
    let text = std::fs::read_to_string(json).unwrap();
    assert!(text.lines().count() >= 3, "{text}");
    assert!(text.lines().last().unwrap().starts_with(r#"{"bench":"environment""#), "{text}");
}

#[test]
fn the_jitter_of_a_core_is_told_as_the_classic_tools_do() {
    let folder = folder();
    let (link, json) = (folder.path().join("sysjitter"), folder.path().join("out.jsonl"));
    symlink(env!("CARGO_BIN_EXE_tapeline-lab"), &link).unwrap();
    let done = Command::new(&link).args(["--runtime", "0.05", "100"]).output().unwrap();
    let text = String::from_utf8_lossy(&done.stdout);
    let keys: Vec<&str> = text.lines().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!((keys.len(), keys[0], keys[17]), (18, "core_i", "int_total(%)"), "{text}");
    assert!(text.contains("\nthreshold(ns): 100"), "{text}");

    let timer = ["jitter", "--format=cyclictest", "--runtime=0.05", "--json", arg(&json)];
    let done = run(&timer);
    assert_eq!(done.status, Some(0), "{}", done.err);
    assert!(done.out.starts_with("T: 0 (") && done.out.contains(" I:1000 C:"), "{}", done.out);
    let text = std::fs::read_to_string(&json).unwrap();
    assert!(text.contains(r#""tool":"jitter","role":"timer","unit":"lateness""#), "{text}");

    let missing = run(&["jitter", "--cores=1000"]);
    assert_eq!(missing.status, Some(2));
    assert!(
        missing.err.contains("core 1000 is not there: this process may use"),
        "{}",
        missing.err
    );
}

#[test]
fn a_bound_on_a_comparison_is_a_status() {
    let bare = "published:E5-2620v4 bare metal, ultra-low-latency firmware";
    let guest = "published:E5-2620v4 VM (KVM, passthrough)";
    for (bound, status) in [("3.0", 0), ("1.10", 1)] {
        let done = run(&["compare", "--figures=p99", "--fail-above", bound, bare, guest]);
        assert_eq!(done.status, Some(status), "{}", done.err);
        assert!(done.out.contains("geometric means over 17 rows: p99 2.03\n"), "{}", done.out);
    }
    assert_eq!(run(&["compare", bare]).status, Some(2));
}

#[test]
fn what_is_typed_wrongly_is_told() {
    let done = run(&["pingpong", "--sizs=1", "tcp"]);
    assert_eq!(done.status, Some(2));
    assert!(done.err.contains("did you mean --sizes?"), "{}", done.err);
    let help = run(&["pingpong", "--help"]);
    assert_eq!(help.status, Some(0));
    assert!(help.out.contains("--busy-poll") && help.out.contains("unix_datagram"), "{}", help.out);
}
