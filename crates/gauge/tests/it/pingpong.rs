//! Round trips over every transport and muxer, briefly: what is held is what
//! came, not how fast.

use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use tapeline_gauge::pingpong::{self, StartServer};
use tapeline_gauge::statistics::Classic;
use tapeline_gauge::{GaugeError, Muxer, Transport};
use tapeline_measure::record::{Tool, ToolLine};

use crate::support::{Told, words};

/// So few messages that a busy machine does them in time.
const BRIEF: &str = "--format=classic --threads --affinity any --noise=0 --minms=0 --maxms=0 \
                     --miniter=20 --maxiter=40 --warmupms=0 --warmupiter=10";

fn run(line: &str) -> Result<Told, GaugeError> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let mut out = Told::default();
    pingpong::run(&arguments, false, &StartServer::Thread, &mut out).map(|_| out)
}

#[track_caller]
pub(crate) fn rows(line: &str) -> Vec<(usize, Classic)> {
    let done = run(&format!("{BRIEF} {line}")).unwrap_or_else(|error| panic!("{line}: {error}"));
    done.text.lines().filter_map(Classic::of_row).collect()
}

/// The same with a server that is started otherwise than as a thread.
#[track_caller]
pub(crate) fn rows_of(line: &str, start: &StartServer<'_>) -> Vec<(usize, Classic)> {
    let brief = BRIEF.replace("--threads", "");
    let mut out = Told::default();
    let done = pingpong::run(&words(&format!("{brief} {line}")), false, start, &mut out);
    done.unwrap_or_else(|error| panic!("{line}: {error}"));
    out.text.lines().filter_map(Classic::of_row).collect()
}

#[track_caller]
fn assert_measures(line: &str, sizes: &[usize]) {
    let rows = rows(line);
    let measured: Vec<usize> = rows.iter().map(|(size, _)| *size).collect();
    assert_eq!(measured, sizes, "{line}");
    for (size, row) in rows {
        assert!(row.min <= row.median && row.median <= row.max, "{line} {size}: {row:?}");
        assert!(row.iter == 20, "{line} {size}: {row:?}");
    }
}

#[test]
fn every_transport_carries_every_size() {
    for transport in Transport::ALL {
        for spin in ["", "--spin=1;0", "--spin"] {
            let line = format!("{spin} --sizes=1,64,20000 {transport}");
            assert_measures(&line, &[1, 64, 20_000]);
        }
    }
}

#[test]
fn datagrams_may_be_empty() {
    assert_measures("--sizes=0,1,9 udp", &[0, 1, 9]);
    assert_measures("--sizes=0,1,9 unix_datagram", &[0, 1, 9]);
}

#[test]
fn every_muxer_waits_on_every_descriptor() {
    for transport in ["tcp", "udp", "pipe", "unix_stream", "unix_datagram"] {
        for muxer in Muxer::ALL {
            for spin in ["", "--spin"] {
                let line = format!("{spin} --muxer={muxer} --n-pipe=3 --sizes=5 {transport}");
                assert_measures(&line, &[5]);
            }
        }
    }
}

#[test]
fn several_messages_make_an_iteration() {
    for transport in ["tcp", "udp", "unix_stream", "rssl", "ring"] {
        assert_measures(&format!("--n-pings=3 --n-pongs=2 --more --sizes=40 {transport}"), &[40]);
    }
}

#[test]
fn sessions_take_turns() {
    for options in ["", "--spin", "--muxer=epoll", "--n-pings=3 --n-pongs=2"] {
        assert_measures(&format!("--sessions=7 {options} --sizes=1,40 tcp"), &[1, 40]);
    }
    let told = run(&format!("{BRIEF} --sessions=7 --sizes=1 tcp")).expect("measured");
    assert!(told.text.contains("transport=tcp sessions=7 "), "{}", told.text);
}

#[test]
fn moments_of_the_kernel_are_told_whatever_waits() {
    for transport in ["tcp", "udp"] {
        for muxer in Muxer::ALL {
            for spin in ["", "--spin"] {
                let line =
                    format!("{spin} --muxer={muxer} --timestamps=kernel --sizes=5 {transport}");
                assert_measures(&line, &[5]);
            }
        }
    }
    assert_measures("--timestamps=kernel --sessions=3 --sizes=1,40000 tcp", &[1, 40_000]);
    assert_measures("--timestamps=kernel --n-pings=3 --n-pongs=2 --sizes=9 tcp", &[9]);
    assert_measures("--timestamps=kernel --mcast=239.1.2.49 --mcastintf=lo --sizes=9 udp", &[9]);
}

/// Both directions over the network, each by the driver of its side.
#[test]
fn aeron_goes_over_the_network() {
    for spin in ["", "--spin"] {
        let line = format!("{spin} --channel=aeron:udp --sizes=1,64,5000 aeron");
        assert_measures(&line, &[1, 64, 5_000]);
    }
    assert_measures("--channel=aeron:udp?endpoint=127.0.0.1:0;aeron:udp --sizes=9 aeron", &[9]);
    assert_measures("--channel=aeron:ipc --sizes=9 aeron", &[9]);
    let (address, server) = serving("--port=0 --bind=127.0.0.1");
    assert_measures(&format!("--channel=aeron:udp --sizes=1,64 aeron {address}"), &[1, 64]);
    assert!(server.join().unwrap().unwrap());
    let nowhere =
        run(&format!("{BRIEF} --channel=aeron:udp?endpoint=no-such-host.invalid:0 aeron"));
    assert!(nowhere.err().unwrap().to_string().starts_with("Aeron: "));
}

#[test]
fn sockets_take_their_options() {
    assert_measures("--nodelay --bind=127.0.0.1 --timeout=5 --sizes=7 tcp", &[7]);
    assert_measures("--connect --bind=127.0.0.1;127.0.0.1 --sizes=7 udp", &[7]);
    assert_measures("--ipv6 --sizes=7 udp", &[7]);
    let no_device = run(&format!("{BRIEF} --bindtodev=no-such-0 tcp")).err().unwrap().to_string();
    assert!(no_device.contains("cannot take part") || no_device.contains("No such"), "{no_device}");
}

#[test]
fn a_group_is_a_way() {
    assert_measures("--mcast=239.1.2.48 --mcastintf=lo --sizes=1,100 udp", &[1, 100]);
}

#[test]
fn samples_and_records_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let (raw, json) = (folder.path().join("raw"), folder.path().join("out.jsonl"));
    let line = format!("--raw={} --json={} --sizes=3 tcp", raw.display(), json.display());
    let [(3, row)] = rows(&line)[..] else { panic!("one row") };
    let text = std::fs::read_to_string(folder.path().join("raw-3.dat")).unwrap();
    let mut samples: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(Classic::of(&mut samples, 99.0), Some(row));

    let text = std::fs::read_to_string(json).unwrap();
    let lines: Vec<ToolLine> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let [ToolLine::Environment(_), ToolLine::Tool(tool), ToolLine::Environment(after)] = &lines[..]
    else {
        panic!("{text}")
    };
    let Tool { tool: name, transport, unit, size_bytes, valid, .. } = &**tool;
    assert_eq!((&name[..], &transport[..], &unit[..]), ("pingpong", "tcp", "half"));
    assert_eq!((*size_bytes, *valid, tool.classic["iter"]), (Some(3), true, row.iter));
    assert_eq!((tool.classic["mean"], tool.classic["percentile"]), (row.mean, row.percentile));
    assert!(after.during.is_some());
}

#[test]
fn whole_round_trips_and_gaps_between_them_are_asked_for() {
    let done = run(&format!("{BRIEF} --rtt --spin-gap=5 --sleep-gap=5 --sizes=1 tcp")).unwrap();
    assert!(done.text.contains("# reporting: RTT\n"), "{}", done.text);
    let quiet = run(&format!("{BRIEF} -q --rounds=2 --sizes=1 tcp")).unwrap();
    assert_eq!(quiet.text.lines().filter_map(Classic::of_row).count(), 2);
    assert!(!quiet.text.contains('#'), "{}", quiet.text);
}

#[test]
fn a_plan_measures_nothing() {
    let plan = run("--check --affinity any tcp").unwrap();
    assert!(plan.text.starts_with("tcp: 17 sizes, 1 rounds: 17 to 51 s"), "{}", plan.text);
}

/// A server in a thread; its address, and how it ended.
fn serving(line: &str) -> (SocketAddr, thread::JoinHandle<Result<bool, GaugeError>>) {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let (ready, said) = mpsc::channel();
    let thread = thread::spawn(move || {
        let mut out = Told { ready: Some(ready), ..Told::default() };
        pingpong::run(&arguments, false, &StartServer::Thread, &mut out)
    });
    let said = said.recv_timeout(Duration::from_secs(10)).expect("it serves");
    let address = said.strip_prefix("serving on ").unwrap_or_else(|| panic!("{said}"));
    (address.parse().unwrap(), thread)
}

#[test]
fn a_server_serves_one_client_and_ends() {
    for transport in ["tcp", "udp", "rssl"] {
        let (address, server) = serving("--port=0 --bind=127.0.0.1");
        assert_measures(&format!("--sizes=1,64,1024 {transport} {address}"), &[1, 64, 1024]);
        assert!(server.join().unwrap().unwrap());
    }
}

#[test]
fn a_server_that_gets_something_else_says_so_and_ends() {
    use std::io::Write;
    let (address, server) = serving("--port=0 --bind=127.0.0.1");
    let mut other = std::net::TcpStream::connect(address).unwrap();
    other.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let error = server.join().unwrap().unwrap_err().to_string();
    assert!(error.starts_with("the other side says what this side does not know"), "{error}");
}

#[test]
fn a_server_that_keeps_on_serves_the_next_after_garbage() {
    use std::io::Write;
    // It ends with the process.
    let (address, _server) = serving("--port=0 --bind=127.0.0.1 --keep");
    for garbage in [&b"\x00\xFF\n"[..], b"{}\n", b"\"end\"\n", b""] {
        let mut other = std::net::TcpStream::connect(address).unwrap();
        other.write_all(garbage).unwrap();
    }
    assert_measures(&format!("--sizes=1,64 tcp {address}"), &[1, 64]);
    assert_measures(&format!("--sizes=9 udp {address}"), &[9]);
}

#[test]
fn a_server_that_waited_in_vain_says_so_to_its_client() {
    for transport in ["tcp", "unix_stream"] {
        let line = format!("{BRIEF} --timeout=0;1 --sleep-gap=1500000 --sizes=1 {transport}");
        let error = run(&line).err().unwrap().to_string();
        let expected = "the other side ended, and says: the other side sent nothing for --timeout";
        assert_eq!(error, expected, "{transport}");
    }
}

#[test]
fn a_server_of_another_version_is_refused_with_both() {
    use std::io::{BufRead, BufReader, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let old = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut line = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
        stream.write_all(b"{\"version\":\"0.0.1/0\"}\n").unwrap();
        line
    });
    let error = run(&format!("{BRIEF} tcp {address}")).err().unwrap().to_string();
    let ours = env!("CARGO_PKG_VERSION");
    assert_eq!(
        error,
        format!("the other side has version 0.0.1/0, this one {ours}/3; use the same")
    );
    assert!(old.join().unwrap().contains("version"));
}

/// Passes datagrams on between two sides, and loses every `nth` to the server.
fn losing(nth: usize) -> (u16, thread::JoinHandle<usize>) {
    let front = UdpSocket::bind("127.0.0.1:0").unwrap();
    let port = front.local_addr().unwrap().port();
    front.set_read_timeout(Some(Duration::from_millis(2500))).unwrap();
    let passing = thread::spawn(move || {
        let (mut count, mut lost, mut buffer) = (0, 0, [0; 2048]);
        while let Ok((bytes, from)) = front.recv_from(&mut buffer) {
            count += 1;
            match count % nth {
                0 => lost += 1,
                _ => drop(front.send_to(&buffer[..bytes], from)),
            }
        }
        lost
    });
    (port, passing)
}

/// A server that says where a relay listens that answers, and loses some.
#[test]
fn a_lost_ping_is_sent_again_and_counted() {
    use std::io::{BufRead, BufReader, Write};
    let (relay, passing) = losing(20);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let version = format!("{{\"version\":\"{}/3\"}}\n", env!("CARGO_PKG_VERSION"));
        stream.write_all(version.as_bytes()).unwrap();
        stream.write_all(format!("{{\"ready\":{{\"port\":{relay}}}}}\n").as_bytes()).unwrap();
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        lines.take_while(|line| line != "\"end\"").count()
    });
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("out.jsonl");
    let line = format!("--json={} --sizes=16 udp {address}", json.display());
    let rows = rows(&line);
    assert_eq!(rows.len(), 1);
    let (size, row) = rows[0];
    assert_eq!((size, row.iter), (16, 20));
    let text = std::fs::read_to_string(json).unwrap();
    let line = text.lines().find(|line| line.contains("\"tool\"")).unwrap();
    let ToolLine::Tool(tool) = serde_json::from_str(line).unwrap() else { panic!("{line}") };
    // Of 21 in the warm-up and 21 of the row, the 20th and the 40th are lost.
    assert_eq!(tool.counts["lost"], 1, "{line}");
    server.join().unwrap();
    assert_eq!(passing.join().unwrap(), 2);
}
