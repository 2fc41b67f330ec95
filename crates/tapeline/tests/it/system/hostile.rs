//! Hostile peers at every port: what breaks the rules is closed and named in
//! the log, what never ends is ended, and whatever comes in masses takes neither
//! memory nor the others' updates.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};
use tapeline_api::{Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Requests, Server};
use tapeline_chaos::market::{SERVICE, Source, Tape, Watcher, loopback};
use tapeline_chaos::program::{PATIENCE, Program, report, wait_until};
use tapeline_rssl::{ClientConfig, Compression, Connection, KeyExchange, Priority};
use tapeline_rwf::StateCode;
use tapeline_time::Time;

use super::program::tapeline;

/// Where they come from, so that the log can be seen to name them.
const HOSTILE: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 66);

const PORTS: [&str; 3] = ["rssl", "ws", "ni"];

/// How long the others may be without an update although they come all the
/// time: generous, as other tests have the processors as well.
const LONGEST_GAP: Duration = Duration::from_secs(2);

/// Items of the source, and of a mount at most.
const ITEMS: usize = 50;

/// Short, so that what never ends is seen to be ended.
const HANDSHAKE_MS: u64 = 1_500;

/// The opening of a JSON session.
const OPENING: &[u8] = b"GET /WebSocket HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: tr_json2\r\n\r\n";

/// A system with a consumer that has updates all the time.
struct Besieged {
    tape: std::sync::Arc<Tape>,
    program: Program,
    watcher: Watcher,
    memory_bytes: u64,
    _source: Source,
    _folder: tempfile::TempDir,
}

impl Besieged {
    fn new() -> Self {
        let tape = Tape::new(ITEMS);
        let source = Source::start(&tape, loopback());
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("besieged.toml");
        let text = format!(
            "[server]\nhandshake-timeout-ms = {HANDSHAKE_MS}\nitem-limit-per-mount = {ITEMS}\n\
             [hub]\nhandshake-timeout-ms = {HANDSHAKE_MS}\n"
        );
        fs::write(&config, text).expect("room");
        let (config, source_at) =
            (config.to_str().expect("a plain path"), source.address.to_string());
        let ports = ["--rssl-port", "0", "--ws-port", "0", "--ni-port", "0"];
        let program =
            tapeline(&[&["run", "--config", config, "--source", &source_at], &ports[..]].concat());
        let watcher = Watcher::start(&tape, &[program.address("rssl")]);
        watcher.wait_fresh();
        tape.set_rate(2_000);
        wait_until("updates", || watcher.updates() > 100);
        watcher.seen.take_longest_gap();
        let memory_bytes = program.memory_bytes();
        Self { tape, program, watcher, memory_bytes, _source: source, _folder: folder }
    }

    /// The consumer had every update, and in time; the program has taken at
    /// most so much memory.
    fn holds(&self, what: &str, grown_mib: u64) {
        let gap = self.watcher.seen.take_longest_gap();
        let grown = self.program.memory_bytes().saturating_sub(self.memory_bytes) >> 20;
        self.tape.set_rate(0);
        self.watcher.wait_all_of(&self.tape);
        report(format_args!(
            "{what}: others waited {} ms at most, memory grew by {grown} MiB",
            gap.as_millis()
        ));
        assert!(gap < LONGEST_GAP, "{what}: {gap:?}");
        assert!(grown <= grown_mib, "{what}: {grown} MiB");
        assert_eq!(self.watcher.holes(), 0, "{what}");
        assert_eq!(self.watcher.downs(), 0, "{what}");
        assert!(self.program.is_running(), "{what}");
    }

    /// Lines of the log about hostile peers.
    fn lines(&self) -> usize {
        let named = format!("peer={HOSTILE}:");
        self.program.log().lines().filter(|line| line.contains(&named)).count()
    }

    fn connect(&self, port: &str) -> TcpStream {
        connect(self.program.address(port))
    }
}

fn connect(address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.bind(&SocketAddr::from((HOSTILE, 0)).into()).expect("all of 127/8 is this host");
    socket.connect(&address.into()).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    socket.into()
}

/// Reads until the other side hangs up.
fn read_to_end(socket: &mut TcpStream) {
    let mut rest = [0; 4096];
    loop {
        match socket.read(&mut rest) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return,
            Err(error) => panic!("it did not hang up: {error}"),
        }
    }
}

/// A frame of a client over WebSocket, masked with zeros.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_be_bytes();
    [&[first, 0xff][..], &length, &[0; 4], payload].concat()
}

/// What is no opening of any session.
fn bad_openings() -> Vec<Vec<u8>> {
    vec![
        b"\0\x20garbage instead of a handshake...".to_vec(),
        vec![0xff; 4096],
        vec![0; 64],
        vec![b'A'; 70_000],
        b"GET / HTTP/1.0\r\n\r\n".to_vec(),
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n".to_vec(),
        [b"GET /WebSocket HTTP/1.1\r\nX: ".to_vec(), vec![b'y'; 100_000]].concat(),
        b"GET /WebSocket HTTP/1.1\r\n".repeat(500),
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03".to_vec(),
        b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(),
    ]
}

/// What a JSON session cannot go on behind.
fn bad_frames() -> Vec<Vec<u8>> {
    vec![
        // Not masked; an opcode that does not exist; a length of 2^40 and one
        // beyond any; a text that is none; one that is too long; bytes; a ping
        // that is too long; a part of nothing.
        b"\x81\x02{}".to_vec(),
        frame(0x8b, b""),
        [&[0x81, 0xff][..], &(1_u64 << 40).to_be_bytes(), &[0; 4]].concat(),
        [&[0x81, 0xff][..], &u64::MAX.to_be_bytes(), &[0; 4]].concat(),
        frame(0x81, b"\xff\xfe"),
        frame(0x81, &[b'['; 70_000]),
        frame(0x82, b"bytes"),
        frame(0x89, &[7; 126]),
        frame(0x80, b"{}"),
        // A hundred that are no messages end a session too.
        frame(0x81, &[b'['; 50_000]).repeat(100),
        frame(0x81, br#"{"ID":1e999,"Key":[[[[]]]],"Domain":"\ud800"}"#).repeat(100),
    ]
}

#[test]
fn what_breaks_the_rules_is_closed_and_named_at_every_port() {
    let besieged = Besieged::new();
    let mut closed = 0;
    for port in PORTS {
        for bytes in bad_openings() {
            let mut socket = besieged.connect(port);
            // It hangs up in the middle of some.
            let _ = socket.write_all(&bytes);
            let _ = socket.shutdown(std::net::Shutdown::Write);
            read_to_end(&mut socket);
            closed += 1;
        }
    }
    for bytes in bad_frames() {
        let mut socket = besieged.connect("ws");
        socket.write_all(OPENING).expect("it reads");
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).expect("it answers");
        assert_eq!(&answer, b"HTTP/1.1 101");
        let _ = socket.write_all(&bytes);
        read_to_end(&mut socket);
        closed += 1;
    }
    let lines = besieged.lines();
    assert!(lines >= 20, "they are named: {}", besieged.program.log());
    assert!(lines <= closed, "{lines} lines of {closed}");
    besieged.holds(&format!("{closed} violations, {lines} lines"), 16);
}

#[test]
fn handshakes_that_never_end_are_ended_at_every_port() {
    const EACH: usize = 60;
    let besieged = Besieged::new();
    let began = Instant::now();
    let mut slow: Vec<TcpStream> =
        PORTS.iter().flat_map(|port| (0..EACH).map(|_| besieged.connect(port))).collect();
    for socket in &slow {
        socket.set_nonblocking(true).expect("a socket");
    }
    // A byte now and then, as long as there is somebody who takes it.
    let mut bytes = OPENING.iter();
    while !slow.is_empty() {
        assert!(began.elapsed() < PATIENCE, "{} still stand", slow.len());
        let byte = *bytes.next().expect("they are ended before the opening is");
        slow.retain_mut(|socket| {
            let is_over = matches!(socket.read(&mut [0; 64]), Ok(0));
            let is_dead = matches!(socket.write(&[byte]), Err(error)
                if error.kind() != std::io::ErrorKind::WouldBlock);
            !is_over && !is_dead
        });
        thread::park_timeout(Duration::from_millis(100));
    }
    let took = began.elapsed();
    assert!(besieged.lines() > 0, "they are named: {}", besieged.program.log());
    besieged.holds(&format!("{} slow handshakes ended after {took:?}", PORTS.len() * EACH), 16);
}

#[test]
fn connects_without_end_take_neither_memory_nor_log() {
    const EACH: usize = 3_000;
    let besieged = Besieged::new();
    thread::scope(|scope| {
        for port in PORTS {
            let address = besieged.program.address(port);
            scope.spawn(move || (0..EACH).for_each(|_| drop(connect(address))));
        }
    });
    let count = PORTS.len() * EACH;
    let lines = besieged.lines();
    // Twenty of a kind in ten seconds.
    assert!(lines < 400, "{lines} lines of {count}");
    // Of those without a login, 2,048 at a port may be kept.
    besieged.holds(&format!("{count} connects, {lines} lines"), 48);
}

/// A session that asks for compression, its handshake done.
fn compressed(address: SocketAddr) -> (TcpStream, Connection) {
    let config = ClientConfig {
        compression: Compression::Zlib,
        key_exchange: KeyExchange::Never,
        ..ClientConfig::default()
    };
    let mut client = Connection::client(&config, 1, Time::ZERO).expect("a configuration");
    let mut socket = connect(address);
    while !client.is_active() {
        write_all(&mut client, &mut socket);
        let count = socket.read(client.recv_buffer()).expect("it answers");
        assert!(count > 0, "it hung up");
        client.received(count, Time::ZERO);
        while client.poll_event().is_some() {}
    }
    (socket, client)
}

/// Writes what a session has to send; says how many bytes were taken.
fn write_all(client: &mut Connection, socket: &mut TcpStream) -> usize {
    let mut written = 0;
    while let Some(sent) = client.poll_transmit() {
        let bytes: Vec<u8> = sent.iter().flat_map(|slice| slice.to_vec()).collect();
        // The server may have hung up.
        let _ = socket.write_all(&bytes);
        client.sent(bytes.len(), Time::ZERO);
        written += bytes.len();
    }
    written
}

#[test]
fn little_that_inflates_to_much_takes_no_memory() {
    const BOMB_BYTES: usize = 5 << 20;
    const BOMBS: usize = 40;
    let besieged = Besieged::new();
    let zeros = vec![0; BOMB_BYTES];
    for port in ["rssl", "ni"] {
        let mut wire_bytes = 0;
        let sessions: Vec<_> = (0..BOMBS)
            .map(|_| {
                let (mut socket, mut client) = compressed(besieged.program.address(port));
                client.send(Priority::High, &zeros).expect("room");
                client.flush();
                wire_bytes += write_all(&mut client, &mut socket);
                (socket, client)
            })
            .collect();
        let inflated = (BOMBS * BOMB_BYTES) >> 20;
        assert!(wire_bytes < BOMBS * BOMB_BYTES / 20, "{wire_bytes} bytes: compressed");
        for (mut socket, _) in sessions {
            read_to_end(&mut socket);
        }
        report(format_args!("{port}: {} KiB would be {inflated} MiB", wire_bytes >> 10));
    }
    assert!(besieged.lines() > 0, "they are named: {}", besieged.program.log());
    besieged.holds(&format!("{} bombs", 2 * BOMBS), 32);
}

#[test]
fn a_watchlist_beyond_its_bound_is_refused_item_by_item() {
    const ASKED: usize = 20_000;
    let besieged = Besieged::new();
    let server = besieged.program.address("rssl");
    let servers = vec![Server::new(server.ip().to_string(), server.port())];
    let mut consumer =
        Consumer::new(ConsumerConfig::new(servers, Login::new("greedy"))).expect("a reactor");
    for item in 0..ASKED {
        let name = format!("ITEM{item}");
        consumer.open(&ItemSpec::new(SERVICE, &name)).expect("room");
    }
    let mut refused = 0;
    let began = Instant::now();
    while refused < ASKED - ITEMS {
        assert!(began.elapsed() < PATIENCE, "{refused} of {ASKED} refused");
        consumer.poll(
            Some(Duration::from_millis(5)),
            &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
                let ConsumerEvent::Status { msg, .. } = event else { return };
                let code = msg.state.map(|state| state.code);
                refused += usize::from(code == Some(StateCode::TOO_MANY_ITEMS));
            },
        );
    }
    besieged.holds(&format!("{ASKED} items asked for by one mount"), 48);
}
