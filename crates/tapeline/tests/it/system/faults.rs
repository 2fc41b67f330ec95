//! What breaks, who notices, and how soon it is well again.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::Ordering;

use tapeline_chaos::market::{Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{Program, report, wait_until};
use tapeline_rssl::{ClientConfig, Connection, Event, Priority};
use tapeline_time::Time;

use super::program::tapeline;

/// A multicast channel on loopback that no other test uses.
pub(crate) fn backbone() -> String {
    // The port above it is used too; an even one leaves it to no other test.
    let port = loop {
        let socket = UdpSocket::bind(loopback()).expect("a free port");
        let port = socket.local_addr().expect("bound").port();
        if port.is_multiple_of(2) {
            break port;
        }
    };
    format!("aeron:udp?endpoint=239.77.1.1:{port}|interface=127.0.0.1")
}

/// A port that is free now, for programs that are started again on it.
pub(crate) fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind(loopback()).expect("a free port");
    listener.local_addr().expect("bound").port()
}

fn owned(arguments: &[&str]) -> Vec<String> {
    arguments.iter().map(ToString::to_string).collect()
}

pub(crate) fn run_arguments(source: SocketAddr, backbone: &str) -> Vec<String> {
    let any = ["--rssl-port", "0", "--ni-port", "0", "--backbone", backbone];
    owned(&[&["run", "--source", &source.to_string()], &any[..]].concat())
}

pub(crate) fn hub_arguments(backbone: &str, source: SocketAddr) -> Vec<String> {
    let source = source.to_string();
    owned(&["hub", "--backbone", backbone, "--ni-port", "0", "--source", &source])
}

pub(crate) fn server_arguments(backbone: &str, port: u16) -> Vec<String> {
    owned(&["server", "--backbone", backbone, "--rssl-port", &port.to_string()])
}

pub(crate) fn run(source: SocketAddr) -> Program {
    tapeline(&run_arguments(source, "aeron:ipc"))
}

pub(crate) fn hub(backbone: &str, source: SocketAddr) -> Program {
    tapeline(&hub_arguments(backbone, source))
}

pub(crate) fn server(backbone: &str, port: u16) -> Program {
    tapeline(&server_arguments(backbone, port))
}

#[test]
fn a_source_that_dies_makes_items_stale_and_its_return_heals_them() {
    let tape = Tape::new(100);
    let source = Source::start(&tape, loopback());
    let address = source.address;
    let program = run(address);
    let watcher = Watcher::start(&tape, &[program.address("rssl")]);
    watcher.wait_fresh();
    tape.publish(5_000, 10_000);
    watcher.wait_all_of(&tape);

    drop(source);
    let noticed = watcher.wait_stale();
    let _source = Source::start(&tape, address);
    let healed = watcher.wait_fresh();
    tape.publish(5_000, 10_000);
    watcher.wait_all_of(&tape);
    report(format_args!(
        "source killed: stale after {} ms, fresh {} ms after its return",
        noticed.as_millis(),
        healed.as_millis()
    ));
    assert_eq!(watcher.holes(), 0);
    assert_eq!(watcher.seen.closed.load(Ordering::Relaxed), 0, "consumers keep their streams");
    assert_eq!(watcher.seen.downs.load(Ordering::Relaxed), 0, "consumers keep their connection");
}

#[test]
fn one_of_two_sources_takes_over_from_the_other() {
    let (one, two) = (Tape::new(20), Tape::new(20));
    let first = Source::start(&one, loopback());
    let second = Source::start(&two, loopback());
    let (first_at, second_at) = (first.address.to_string(), second.address.to_string());
    let program = tapeline(&[
        "run",
        "--source",
        &first_at,
        "--source",
        &second_at,
        "--rssl-port",
        "0",
        "--backbone",
        "aeron:ipc",
    ]);
    let watcher = Watcher::start(&one, &[program.address("rssl")]);
    watcher.wait_fresh();
    assert_eq!(one.streams() + two.streams(), 20, "each item is at one source");
    drop(first);
    let taken = wait_until("the other source to have every item", || two.streams() == 20);
    watcher.wait_fresh();
    report(format_args!(
        "one of two sources killed: all at the other after {} ms",
        taken.as_millis()
    ));
    assert_eq!(watcher.seen.closed.load(Ordering::Relaxed), 0);
}

#[test]
fn a_hub_that_dies_makes_items_stale_and_its_successor_heals_them() {
    let tape = Tape::new(100);
    let source = Source::start(&tape, loopback());
    let backbone = backbone();
    let first = hub(&backbone, source.address);
    let server = server(&backbone, 0);
    let watcher = Watcher::start(&tape, &[server.address("rssl")]);
    watcher.wait_fresh();
    tape.publish(5_000, 10_000);
    watcher.wait_all_of(&tape);

    first.kill();
    let noticed = watcher.wait_stale();
    let _second = hub(&backbone, source.address);
    let healed = watcher.wait_fresh();
    tape.publish(5_000, 10_000);
    watcher.wait_all_of(&tape);
    report(format_args!(
        "hub killed: stale after {} ms, fresh {} ms after the next one was up",
        noticed.as_millis(),
        healed.as_millis()
    ));
    assert_eq!(watcher.holes(), 0);
    assert_eq!(watcher.seen.downs.load(Ordering::Relaxed), 0);
}

#[test]
fn consumers_of_a_server_that_dies_go_to_the_next_one() {
    let tape = Tape::new(100);
    let source = Source::start(&tape, loopback());
    let backbone = backbone();
    let _hub = hub(&backbone, source.address);
    let first = server(&backbone, 0);
    let second = server(&backbone, 0);
    let watcher = Watcher::start(&tape, &[first.address("rssl"), second.address("rssl")]);
    watcher.wait_fresh();
    tape.set_rate(5_000);
    first.kill();
    let noticed =
        wait_until("the loss to be noticed", || watcher.seen.downs.load(Ordering::Relaxed) == 1);
    let healed = watcher.wait_fresh();
    tape.set_rate(0);
    watcher.wait_all_of(&tape);
    report(format_args!(
        "server killed: noticed after {} ms, fresh from the next after {} ms",
        noticed.as_millis(),
        healed.as_millis()
    ));
    assert_eq!(watcher.seen.closed.load(Ordering::Relaxed), 0, "the handles stay");
}

#[test]
fn a_server_that_comes_back_on_its_port_gets_its_consumers_back() {
    let tape = Tape::new(50);
    let source = Source::start(&tape, loopback());
    let backbone = backbone();
    let _hub = hub(&backbone, source.address);
    let port = free_port();
    let first = server(&backbone, port);
    let watcher = Watcher::start(&tape, &[first.address("rssl")]);
    watcher.wait_fresh();
    first.kill();
    watcher.wait_stale();
    let _second = server(&backbone, port);
    let healed = watcher.wait_fresh();
    tape.publish(1_000, 10_000);
    watcher.wait_all_of(&tape);
    report(format_args!("server back: fresh after {} ms", healed.as_millis()));
}

#[test]
fn a_consumer_that_stops_reading_delays_nobody() {
    let tape = Tape::new(20);
    let source = Source::start(&tape, loopback());
    // Small enough that the test fills it: the kernel's buffers come on top.
    let folder = tempfile::tempdir().expect("a folder");
    let config = folder.path().join("small-output.toml");
    std::fs::write(
        &config,
        "[server]\noutput-max-bytes = 1000000\ntcp-send-buffer-bytes = 65536\n",
    )
    .expect("room on the disk");
    let program = tapeline(&[
        "run",
        "--config",
        config.to_str().expect("a plain path"),
        "--source",
        &source.address.to_string(),
        "--rssl-port",
        "0",
        "--ni-port",
        "0",
        "--backbone",
        "aeron:ipc",
    ]);
    let sleeper = Watcher::start(&tape, &[program.address("rssl")]);
    let reader = Watcher::start(&tape, &[program.address("rssl")]);
    sleeper.wait_fresh();
    reader.wait_fresh();
    sleeper.seen.asleep.store(true, Ordering::Relaxed);
    tape.publish(400_000, 100_000);
    let lag = reader.wait_all_of(&tape);
    report(format_args!("a reader beside a sleeper: {} ms behind at the end", lag.as_millis()));
    assert_eq!(reader.holes(), 0);
    assert_eq!(reader.updates(), tape.published());

    // Merged or cut, it ends with what is true now.
    sleeper.seen.asleep.store(false, Ordering::Relaxed);
    sleeper.wait_fresh();
    sleeper.wait_all_of(&tape);
    let merged = sleeper.seen.merged.load(Ordering::Relaxed);
    let cut = sleeper.seen.downs.load(Ordering::Relaxed);
    report(format_args!(
        "the sleeper: {} updates, {merged} of them merged, cut {cut} times",
        sleeper.updates()
    ));
    assert!(sleeper.updates() < tape.published(), "it did not get everything");
}

#[test]
fn garbage_costs_only_its_own_session() {
    let tape = Tape::new(20);
    let source = Source::start(&tape, loopback());
    let program = run(source.address);
    let server = program.address("rssl");
    let watcher = Watcher::start(&tape, &[server]);
    watcher.wait_fresh();
    tape.set_rate(10_000);

    for garbage in [&b"\0\x20garbage instead of a handshake..."[..], &[0xFF; 4096], &[0; 64]] {
        let mut socket = TcpStream::connect(server).expect("the server listens");
        let _ = socket.write_all(garbage);
        assert_closed(&mut socket, "garbage in front of a handshake");
    }
    for garbage in [&[0xFF; 100][..], &[0, 9, 4, 6, 0, 0, 0, 5, 0, 4, 1, 8], &[0; 30]] {
        let mut socket = TcpStream::connect(server).expect("the server listens");
        shake_hands(&mut socket, garbage);
        assert_closed(&mut socket, "garbage in place of a message");
    }

    tape.set_rate(0);
    watcher.wait_all_of(&tape);
    assert_eq!(watcher.holes(), 0);
    assert_eq!(watcher.seen.downs.load(Ordering::Relaxed), 0);
}

/// Connects as a client does, then sends `message` in a frame.
fn shake_hands(socket: &mut TcpStream, message: &[u8]) {
    let now = Time::ZERO;
    let mut client = Connection::client(&ClientConfig::default(), 1, now).expect("a valid default");
    loop {
        while let Some(transmit) = client.poll_transmit() {
            let bytes: Vec<u8> = transmit.iter().flat_map(|slice| slice.iter().copied()).collect();
            socket.write_all(&bytes).expect("the server reads");
            client.sent(bytes.len(), now);
        }
        if client.is_active() {
            break;
        }
        let count = socket.read(client.recv_buffer()).expect("the server answers");
        assert_ne!(count, 0, "the server hung up");
        client.received(count, now);
        while let Some(event) = client.poll_event() {
            assert!(matches!(event, Event::Connected(_)), "{event:?}");
        }
    }
    client.send(Priority::High, message).expect("room");
    client.flush();
    while let Some(transmit) = client.poll_transmit() {
        let bytes: Vec<u8> = transmit.iter().flat_map(|slice| slice.iter().copied()).collect();
        let _ = socket.write_all(&bytes);
        client.sent(bytes.len(), now);
    }
}

fn assert_closed(socket: &mut TcpStream, what: &str) {
    socket.set_read_timeout(Some(tapeline_chaos::program::PATIENCE)).expect("a socket");
    let mut rest = [0; 4096];
    loop {
        match socket.read(&mut rest) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return,
            Err(error) => panic!("{what} did not close the session: {error}"),
        }
    }
}
