//! Chains of two and three sides over loopback, in threads of one process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tapeline_gauge::{GaugeError, nwtool};
use tapeline_measure::record::{Tool, ToolLine};

use crate::support::{Told, words};

type Ended = (Result<bool, GaugeError>, String);

fn none(_: std::os::fd::OwnedFd) -> std::io::Result<std::process::Child> {
    Err(std::io::Error::other("no processes in this test"))
}

/// A side in a thread, and what it says beside its result.
fn side(line: &str) -> (mpsc::Receiver<String>, JoinHandle<Ended>) {
    let typed = words(line);
    let (ready, said) = mpsc::channel();
    let running = thread::spawn(move || {
        let mut out = Told { ready: Some(ready), ..Told::default() };
        let done = nwtool::run(&typed, false, &none, &mut out);
        (done, out.text)
    });
    (said, running)
}

/// The port in `… waits on ADDRESS for …` or `serving on ADDRESS`.
fn port(said: &mpsc::Receiver<String>) -> u16 {
    let text = said.recv_timeout(Duration::from_secs(10)).expect("it listens");
    let address = text.split(' ').find(|word| word.contains(':') && !word.contains("HOST"));
    let port = address.and_then(|address| address.rsplit(':').next()?.parse().ok());
    port.unwrap_or_else(|| panic!("{text}"))
}

const BRIEF: &str = "--noise=0 --seconds=0.5 --warm-up=0.1 --rate=2000 --size=200";

fn tool(json: &std::path::Path) -> Tool {
    let text = std::fs::read_to_string(json).unwrap();
    let tools = text.lines().filter_map(|line| match serde_json::from_str(line) {
        Ok(ToolLine::Tool(tool)) => Some(*tool),
        _ => None,
    });
    tools.into_iter().next_back().unwrap_or_else(|| panic!("{text}"))
}

#[test]
fn three_sides_pass_every_message_once() {
    for transport in ["tcp", "unix_stream", "aeron", "rssl"] {
        for connections in [1, 3] {
            let folder = tempfile::tempdir().unwrap();
            let json = folder.path().join("out.jsonl");
            let (said, first) = side(&format!(
                "send --port=0 --bind=127.0.0.1 {BRIEF} --transport={transport} \
                 --connections={connections} --json={}",
                json.display()
            ));
            let first_port = port(&said);
            let (said, second) =
                side(&format!("forward 127.0.0.1:{first_port} --listen=0 --bind=127.0.0.1"));
            let (_, third) = side(&format!("receive 127.0.0.1:{}", port(&said)));
            let (done, text) = first.join().unwrap();
            // A busy machine may be too late for a cell that counts.
            assert!(done.is_ok(), "{transport}: {done:?} {text}");
            assert!(second.join().unwrap().0.unwrap());
            let (done, text) = third.join().unwrap();
            assert!(done.unwrap(), "{text}");
            let sent = tool(&json).counts["sent"];
            assert!(sent > 0, "{text}");
            // Several connections have no order among each other.
            let expected = format!("{sent} received, 0 lost, ");
            assert!(text.contains(&expected), "{transport}: {text}, not {expected}");
            assert!(text.contains(", 0 duplicated"), "{transport}: {text}");
            assert!(connections > 1 || text.contains(" 0 reordered"), "{transport}: {text}");
        }
    }
}

#[test]
fn two_sides_measure_the_way_there_and_back() {
    for (transport, ack) in [("tcp", "full"), ("udp", "32"), ("udp", "full")] {
        let folder = tempfile::tempdir().unwrap();
        let json = folder.path().join("out.jsonl");
        let (said, first) = side(&format!(
            "send --port=0 --bind=127.0.0.1 {BRIEF} --transport={transport} --ack={ack} --json={}",
            json.display()
        ));
        let (_, second) = side(&format!("forward 127.0.0.1:{}", port(&said)));
        let (done, text) = first.join().unwrap();
        assert!(done.is_ok(), "{done:?}");
        assert!(text.contains("from send") || text.contains("not valid"), "{text}");
        assert!(second.join().unwrap().0.unwrap());
        let tool = tool(&json);
        assert_eq!((&tool.tool[..], &tool.unit[..]), ("nwtool", "round"));
        assert_eq!((tool.size_bytes, tool.rate_per_s), (Some(200), Some(2000)));
        assert_eq!(tool.counts["due"], 1000);
        assert_eq!(tool.valid, tool.from_send.is_some(), "figures only of cells that count");
    }
}

#[test]
fn the_classic_line_is_told_under_the_classic_letters() {
    let (said, first) = side(&format!("-W -p 0 -r 1000 -s 100 -i 0.2 {BRIEF} --size=100"));
    let (_, second) = side(&format!("forward 127.0.0.1:{}", port(&said)));
    let (done, text) = first.join().unwrap();
    assert!(done.is_ok() && second.join().unwrap().0.is_ok(), "{done:?}");
    let line = text.lines().find(|line| line.starts_with("[S]")).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!((words[1], words[3], words[5]), ("127.0.0.1", "msgs/s", "Mb/s"), "{line}");
    assert!(line.contains(" Min: ") && line.contains(" us Buffered:"), "{line}");
}

/// A side 2 that answers each message after a while, written apart.
fn late_side(port: u16, delay: Duration) {
    let control = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut lines = BufReader::new(control.try_clone().unwrap()).lines();
    let mut say = control;
    writeln!(say, "{{\"version\":\"{}/3\"}}", env!("CARGO_PKG_VERSION")).unwrap();
    assert!(lines.next().unwrap().unwrap().contains("version"));
    let open = lines.next().unwrap().unwrap();
    let address = open.split("\"ip\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let mut data = TcpStream::connect(address.unwrap()).unwrap();
    data.set_nodelay(true).unwrap();
    writeln!(say, "\"ready\"").unwrap();
    let answering = thread::spawn(move || {
        let (mut message, mut received) = ([0; 200], 0);
        while data.read_exact(&mut message).is_ok() {
            received += 1;
            thread::sleep(delay);
            // The kind of an answer.
            message[6] = message[6] & 0x0F | 0x20;
            if data.write_all(&message).is_err() {
                break;
            }
        }
        received
    });
    assert!(lines.next().unwrap().unwrap().contains("end"));
    writeln!(say, "{{\"counts\":{{}}}}").unwrap();
    drop((say, lines));
    answering.join().unwrap();
}

#[test]
fn a_known_delay_is_found() {
    let measured = |delay_us: u64| {
        let folder = tempfile::tempdir().unwrap();
        let json = folder.path().join("out.jsonl");
        let (said, first) = side(&format!(
            "send --port=0 --bind=127.0.0.1 --noise=0 --seconds=1 --warm-up=0 --rate=50 \
             --size=200 --json={}",
            json.display()
        ));
        late_side(port(&said), Duration::from_micros(delay_us));
        assert!(first.join().unwrap().0.is_ok());
        tool(&json).from_send
    };
    for delay_us in [200, 1_000, 5_000_u64] {
        // A machine that stands still at the end of a cell has no figures.
        let of = (0..10).find_map(|_| measured(delay_us)).expect("one of ten cells counts");
        assert!(of.min_ns >= delay_us * 1_000 * 99 / 100, "{delay_us}: {of:?}");
        assert!(delay_us < 5_000 || of.min_ns < 2 * delay_us * 1_000, "{of:?}");
    }
}

#[test]
fn a_side_that_goes_is_named_by_the_others() {
    let (said, first) = side(&format!("send --port=0 --bind=127.0.0.1 {BRIEF} --seconds=60"));
    let control = TcpStream::connect(("127.0.0.1", port(&said))).unwrap();
    let mut lines = BufReader::new(control.try_clone().unwrap()).lines();
    let mut say = control.try_clone().unwrap();
    writeln!(say, "{{\"version\":\"{}/3\"}}", env!("CARGO_PKG_VERSION")).unwrap();
    assert!(lines.next().unwrap().unwrap().contains("version"));
    let open = lines.next().unwrap().unwrap();
    let address = open.split("\"ip\":\"").nth(1).and_then(|rest| rest.split('"').next());
    let _data = TcpStream::connect(address.unwrap()).unwrap();
    writeln!(say, "\"ready\"").unwrap();
    control.shutdown(std::net::Shutdown::Both).unwrap();
    let (done, _) = first.join().unwrap();
    assert_eq!(done.unwrap_err().to_string(), "side 2 (forward at 127.0.0.1) ended");
}

#[test]
fn a_side_that_keeps_on_serves_the_next_after_garbage() {
    // It ends with the process.
    let (said, _serving) = side("forward --port=0 --bind=127.0.0.1 --keep");
    let port = port(&said);
    for garbage in [&b"\x00\xFF\n"[..], b"{}\n", b"\"end\"\n", b"GET / HTTP/1.1\r\n\r\n", b""] {
        let mut other = TcpStream::connect(("127.0.0.1", port)).unwrap();
        other.write_all(garbage).unwrap();
    }
    let (_, matrix) = side(&format!(
        "matrix 127.0.0.1:{port} --noise=0 --sizes=64 --rates=500 --seconds=0.3 --warm-up=0 \
         --transports=tcp,udp --bounds=none"
    ));
    let (done, text) = matrix.join().unwrap();
    assert!(done.is_ok(), "{done:?} {text}");
    assert!(text.contains("own melting points: tcp"), "{text}");
}

#[test]
fn another_version_is_refused_with_both() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let old = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"{\"version\":\"0.0.1/0\"}\n").unwrap();
        BufReader::new(stream).lines().count()
    });
    let (_, second) = side(&format!("forward {address}"));
    let error = second.join().unwrap().0.unwrap_err().to_string();
    let ours = env!("CARGO_PKG_VERSION");
    let expected =
        format!("side 1 (send at {address}) has version 0.0.1/0, this one {ours}/3; use the same");
    assert_eq!(error, expected);
    old.join().unwrap();
}
