//! Flows whose parts are processes, and flows between two commands.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{arg, folder, lab, run};

const BRIEF: [&str; 3] = ["--seconds=0.5", "--warm-up=0.1", "--noise=0"];

fn tools(json: &std::path::Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(json).unwrap();
    let lines = text.lines().filter(|line| line.contains(r#""tool":"aio""#));
    lines.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Whether it ended as it should, where a machine with other work to do may have sent
/// less than was due: that says nothing of a flow.
fn is_whole(status: Option<i32>, out: &str) -> bool {
    let why_not: Vec<&str> =
        out.lines().filter_map(|line| line.strip_prefix("not valid: ")).collect();
    match status {
        Some(0) => why_not.is_empty(),
        Some(1) => {
            !why_not.is_empty() && why_not.iter().all(|why| why.ends_with(" of what was due"))
        }
        _ => false,
    }
}

/// A port that nobody has.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn parts_are_processes_and_gone_afterwards() {
    let folder = folder();
    let json = folder.path().join("out.jsonl");
    for hop in ["tcp", "pipe", "unix_stream", "unix_datagram", "udp", "aeron"] {
        let hop_variable = format!("@hop={hop}");
        let mut args = vec!["aio", "run", "nwtool-chain", "@rate=200", &hop_variable];
        args.extend(BRIEF);
        args.extend(["--json", arg(&json)]);
        let done = run(&args);
        assert!(is_whole(done.status, &done.out), "{hop}: {} {}", done.err, done.out);
        let tools = tools(&json);
        let received: Vec<(&str, u64, u64)> = tools
            .iter()
            .map(|of| {
                let count = |name: &str| of["counts"][name].as_u64().unwrap();
                (of["role"].as_str().unwrap(), count("received"), count("lost"))
            })
            .collect();
        let [("send", answers, 0), ("receive", passed_on, 0)] = received[..] else {
            panic!("{hop}: {received:?}")
        };
        assert!(answers > 0 && answers == passed_on, "{hop}: {received:?}");
    }
}

#[test]
fn a_part_that_is_killed_ends_the_others_and_is_named() {
    let mut command = lab(&["aio", "run", "nwtool-chain", "--seconds=60", "--noise=0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(command.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.starts_with("receive ")), "it runs");
    let parts = crate::support::children(command.id());
    assert_eq!(parts.len(), 3);
    kill_process(Pid::from_raw(parts[1].cast_signed()).unwrap(), Signal::KILL).unwrap();
    let killed = Instant::now();
    lines.for_each(drop);
    assert_eq!(command.wait().unwrap().code(), Some(2));
    assert!(killed.elapsed() < Duration::from_secs(10), "{:?}", killed.elapsed());
    let mut said = String::new();
    command.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("part `side 2` ended"), "{said}");
    let is_gone = |id: &u32| !std::path::Path::new(&format!("/proc/{id}")).exists();
    assert!(parts.iter().all(is_gone), "{parts:?}");
}

#[test]
fn the_published_client_and_server_are_two_commands_with_classic_lines() {
    let folder = folder();
    let link = folder.path().join("AIO");
    symlink(env!("CARGO_BIN_EXE_tapeline-lab"), &link).unwrap();
    let port = format!("@port={}", free_port());
    let file = folder.path().join("statistics");
    let server = Command::new(&link)
        .args(["eth-server", &port, &format!("@stat_file={}", file.display()), "@interval=0.2"])
        .args(["--seconds=30", "--noise=0"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let client = Command::new(&link)
        .args(["eth-client", &port, "@rate=500", "@interval=0.2", "@count=2"])
        .args(BRIEF)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&client.stdout).into_owned();
    let err = String::from_utf8_lossy(&client.stderr);
    assert!(matches!(client.status.code(), Some(0 | 1)), "{text} {err}");
    assert!(text.contains("|   |   Type: P2PClientList\n"), "{text}");
    let line = text.lines().find(|line| line.starts_with("Avg: ") && !line.contains("-1")).unwrap();
    let words: Vec<&str> = line.split(' ').collect();
    assert_eq!([words[0], words[2], words[4], words[6]], ["Avg:", "Max:", "Min:", "Samples:"]);
    // It ends with its client.
    let server = server.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&server.stdout).into_owned();
    assert!(server.status.success() && text.contains("Type: P2PServer"), "{text}");
    assert!(text.contains("Recv rate: 1600.000 Bytes: "), "{text}");
    assert!(text.contains("Sent rate: 1600.000 Bytes: "), "{text}");
    assert!(std::fs::read_to_string(file).unwrap().starts_with("Recv rate: "));
}

#[test]
fn a_wire_is_late_both_ways_for_any_tool() {
    let echo = TcpListener::bind("127.0.0.1:0").unwrap();
    let (listen, port) = (free_port(), echo.local_addr().unwrap().port());
    let mut wire = lab(&["aio", "run", "wire", "@us=5000", "--seconds=60", "--noise=0"])
        .args([format!("@listen={listen}"), format!("@port={port}")])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    let mut near = loop {
        match TcpStream::connect(("127.0.0.1", listen)) {
            Ok(near) => break near,
            Err(error) => assert!(Instant::now() < until, "{error}"),
        }
    };
    let (mut far, _) = echo.accept().unwrap();
    for text in [&b"\xFF\xFF no message of ours, and longer than a head of one"[..], b"x"] {
        let sent = Instant::now();
        near.write_all(text).unwrap();
        let mut came = vec![0; text.len()];
        far.read_exact(&mut came).unwrap();
        assert_eq!(came, text);
        far.write_all(&came).unwrap();
        near.read_exact(&mut came).unwrap();
        assert!(
            came == text && sent.elapsed() >= Duration::from_millis(10),
            "{:?}",
            sent.elapsed()
        );
    }
    drop((near, far));
    assert_eq!(wire.wait().unwrap().code(), Some(0));
}

#[test]
fn a_signal_ends_a_flow_with_what_is_complete() {
    let folder = folder();
    let json = folder.path().join("out.jsonl");
    let mut command = lab(&["aio", "run", "order-native", "--seconds=60", "--noise=0"])
        .args(["@hop=ring", "--json", arg(&json)])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(command.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.by_ref().filter(|line| line.starts_with("executions ")).nth(1).is_some());
    kill_process(Pid::from_child(&command), Signal::TERM).unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(command.wait().unwrap().code(), Some(2));
    assert!(rest.iter().any(|line| line.starts_with("not valid: cut short")), "{rest:?}");
    assert_eq!(tools(&json)[0]["valid"], false);
}
