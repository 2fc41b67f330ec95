//! Who connects and means no good, or nothing: others come in all the same, and
//! neither memory nor log grow by it.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use tapeline_chaos::market::{Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{Program, report, wait_until};
use tapeline_rssl::{ClientConfig, Connection, KeyExchange, Opening};
use tapeline_time::Time;

use super::program::tapeline;

fn run(source: SocketAddr) -> Program {
    run_with(source, &[])
}

fn run_with(source: SocketAddr, flags: &[&str]) -> Program {
    let source = source.to_string();
    let ports = ["--rssl-port", "0", "--ni-port", "0", "--ws-port", "0"];
    tapeline(&[&["run", "--source", &source], &ports[..], flags].concat())
}

/// Writes all of it, unless the peer hangs up.
fn write(socket: &mut TcpStream, bytes: &[u8]) {
    if let Err(error) = socket.write_all(bytes) {
        assert!(matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset));
    }
}

/// A connection whose handshake is over, and nothing else.
fn shaken_hands(address: SocketAddr, opening: Opening) -> TcpStream {
    let config =
        ClientConfig { key_exchange: KeyExchange::Never, opening, ..ClientConfig::default() };
    let mut client = Connection::client(&config, 1, Time::ZERO).expect("a configuration");
    let mut socket = TcpStream::connect(address).expect("it listens");
    while !client.is_active() {
        while let Some(sent) = client.poll_transmit() {
            let bytes: Vec<u8> = sent.iter().flat_map(|slice| slice.to_vec()).collect();
            socket.write_all(&bytes).expect("it reads");
            client.sent(bytes.len(), Time::ZERO);
        }
        let count = socket.read(client.recv_buffer()).expect("it answers");
        assert!(count > 0, "it hung up");
        client.received(count, Time::ZERO);
        while client.poll_event().is_some() {}
    }
    socket
}

#[test]
fn idle_connections_of_one_address_keep_nobody_out() {
    let tape = Tape::new(10);
    let source = Source::start(&tape, loopback());
    let program = run(source.address);
    let address = program.address("rssl");
    let mut idle: Vec<_> =
        (0..300).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    let watcher = Watcher::start(&tape, &[address]);
    let took = watcher.wait_fresh();
    report(format_args!("300 idle connections: a mount has its images after {took:?}"));
    drop(watcher);
    idle.extend((0..300).map(|_| shaken_hands(address, Opening::Socket)));
    let watcher = Watcher::start(&tape, &[address]);
    let took = watcher.wait_fresh();
    report(format_args!("300 that did not log in: a mount has its images after {took:?}"));
    drop(idle);
}

/// A message of 5 MiB in fragments of 6,000 bytes, but for its end.
fn unfinished(id: u8) -> Vec<u8> {
    const TOTAL: u32 = 5 << 20;
    let mut bytes = [&[0, 10, 3, 8], &TOTAL.to_be_bytes()[..], &[0, id]].concat();
    for _ in 0..TOTAL / 6_000 {
        bytes.extend(6_006_u16.to_be_bytes());
        bytes.extend([3, 4, 0, id]);
        bytes.resize(bytes.len() + 6_000, 0);
    }
    bytes
}

#[test]
fn who_did_not_log_in_has_little_memory() {
    let tape = Tape::new(10);
    let source = Source::start(&tape, loopback());
    let program = run(source.address);
    let address = program.address("rssl");
    let before = program.memory_bytes();
    let mut sockets: Vec<_> = (0..20).map(|_| shaken_hands(address, Opening::Socket)).collect();
    for id in 1..=6 {
        let bytes = unfinished(id);
        for socket in &mut sockets {
            write(socket, &bytes);
        }
    }
    let watcher = Watcher::start(&tape, &[address]);
    watcher.wait_fresh();
    let grown = program.memory_bytes().saturating_sub(before) >> 20;
    report(format_args!("20 connections with 600 MiB of fragments: {grown} MiB"));
    assert!(grown < 32, "{grown} MiB");
}

#[test]
fn pings_without_end_make_no_output_grow() {
    let tape = Tape::new(10);
    let source = Source::start(&tape, loopback());
    let program = run(source.address);
    let address = program.address("rssl");
    let before = program.memory_bytes();
    let opening = Opening::WebSocket { host: address.to_string(), path: "/WebSocket".to_owned() };
    // Masked with zeros, with as much in it as there may be.
    let ping = [&[0x89, 0x80 | 0x7d, 0, 0, 0, 0][..], &[7; 125]].concat();
    let pings = ping.repeat(8_000);
    let sockets: Vec<_> = (0..4)
        .map(|_| {
            let mut socket = shaken_hands(address, opening.clone());
            for _ in 0..40 {
                write(&mut socket, &pings);
            }
            socket
        })
        .collect();
    let watcher = Watcher::start(&tape, &[address]);
    watcher.wait_fresh();
    let grown = program.memory_bytes().saturating_sub(before) >> 20;
    report(format_args!("4 connections with 320,000 pings each, no answer read: {grown} MiB"));
    assert!(grown < 16, "{grown} MiB");
    drop(sockets);
}

#[test]
fn many_bad_connections_are_a_few_lines_and_a_count() {
    let tape = Tape::new(1);
    let source = Source::start(&tape, loopback());
    let program = run(source.address);
    let address = program.address("rssl");
    for _ in 0..2_000 {
        let mut socket = TcpStream::connect(address).expect("it listens");
        write(&mut socket, &[0xff; 8]);
        // Its end: what it was told of, if anything.
        let _ = socket.read(&mut [0; 64]);
    }
    let about = |log: &str| log.lines().filter(|line| line.contains(" did not become ")).count();
    let is_counted =
        |log: &str| log.contains("msg=\"more connections did not become mounts\" count=");
    wait_until("the lines that were left out to be counted", || is_counted(&program.log()));
    let lines = about(&program.log());
    report(format_args!("2,000 bad connections: {lines} lines"));
    assert!(lines <= 100, "{lines}");
}

#[test]
fn a_page_of_another_site_cannot_mount() {
    let tape = Tape::new(1);
    let source = Source::start(&tape, loopback());
    let program = run_with(source.address, &["--allow-origin", "https://desk.example.com"]);
    let ask = |port: &str, subprotocol: &str, origin: &str| {
        let address = program.address(port);
        let mut socket = TcpStream::connect(address).expect("it listens");
        let head = format!(
            "GET /WebSocket HTTP/1.1\r\nHost: {address}\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nOrigin: {origin}\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nCookie: AuthToken=secret\r\n\
             Sec-WebSocket-Protocol: {subprotocol}\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).expect("it reads");
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).expect("it answers");
        String::from_utf8_lossy(&answer).into_owned()
    };
    for (port, subprotocol) in [("ws", "tr_json2"), ("ws", "rssl.rwf"), ("rssl", "rssl.rwf")] {
        let own = format!("http://{}", program.address(port));
        for origin in [own.as_str(), "https://desk.example.com"] {
            assert_eq!(ask(port, subprotocol, origin), "HTTP/1.1 101", "{port} {subprotocol}");
        }
        for origin in ["http://evil.example", "http://desk.example.com", "null"] {
            assert_eq!(ask(port, subprotocol, origin), "HTTP/1.1 403", "{port} {subprotocol}");
        }
    }
    let mut tunnel = TcpStream::connect(program.address("rssl")).expect("it listens");
    tunnel
        .write_all(b"POST / HTTP/1.1\r\nHost: a\r\nOrigin: http://evil.example\r\n\r\n")
        .expect("it reads");
    let mut answer = String::new();
    let _ = tunnel.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
}

#[test]
fn without_file_descriptors_left_sources_come_back_and_the_log_says_why_nobody_else_does() {
    let tape = Tape::new(10);
    let source = Source::start(&tape, loopback());
    let address = source.address;
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 128; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_tapeline")]);
    let source_at = address.to_string();
    let arguments = ["run", "--source", &source_at, "--rssl-port", "0", "--ni-port", "0"];
    let program = Program::start(shell, &arguments);
    let is_warned = |log: &str| log.contains("below what max-mounts needs");
    assert!(is_warned(&program.log()), "no word of the limit");
    let watcher = Watcher::start(&tape, &[program.address("rssl")]);
    watcher.wait_fresh();
    let _others: Vec<_> =
        (0..100).map(|_| Watcher::start(&tape, &[program.address("rssl")])).collect();
    let cannot = "msg=\"no connection can be accepted\"";
    wait_until("the log to say that there is nothing left", || program.log().contains(cannot));

    drop(source);
    watcher.wait_stale();
    let _source = Source::start(&tape, address);
    let took = watcher.wait_fresh();
    report(format_args!("source back without descriptors: fresh after {took:?}"));
    assert!(program.log().matches(cannot).count() <= 3, "it is said once in a while");
}
