//! Sessions over TLS, with a certificate made for the test.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Told, World, tight};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use socket2::{Domain, Socket, Type};
use tapeline_channel::{ListenConfig, Sent, SessionId, TextConfig, Tls, TlsFiles};
use tapeline_rssl::websocket::{FrameHeader, TEXT};
use tapeline_rssl::{Connection, Event, Priority};

/// A listener's part, and what a client needs to trust it.
fn certificate() -> (Tls, Arc<ClientConfig>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = made.signing_key.serialize_pem();
    let tls = Tls::from_pem(made.cert.pem().as_bytes(), key.as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (tls, Arc::new(config))
}

/// A client's socket that never waits.
struct Secure {
    tls: ClientConnection,
    socket: TcpStream,
}

impl Secure {
    fn new(world: &World, config: &Arc<ClientConfig>) -> Self {
        Self::over(world.plain_client(), config)
    }

    fn over(socket: TcpStream, config: &Arc<ClientConfig>) -> Self {
        let name = ServerName::try_from("localhost").unwrap();
        let mut tls = ClientConnection::new(Arc::clone(config), name).unwrap();
        tls.set_buffer_limit(None);
        Self { tls, socket }
    }

    /// What came; `None` when nothing did, empty at the end.
    fn read(&mut self) -> Option<Vec<u8>> {
        self.push();
        match self.tls.read_tls(&mut self.socket) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return Some(Vec::new()),
        }
        self.tls.process_new_packets().unwrap();
        self.push();
        let mut room = vec![0; 65_536];
        match self.tls.reader().read(&mut room) {
            Ok(count) => Some(room[..count].to_vec()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Err(_) => Some(Vec::new()),
        }
    }

    /// What the socket does not take goes with the next read.
    fn write(&mut self, bytes: &[u8]) {
        self.tls.writer().write_all(bytes).unwrap();
        self.push();
    }

    fn push(&mut self) {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut self.socket) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                other => assert!(other.is_ok_and(|count| count > 0)),
            }
        }
    }
}

#[track_caller]
fn until<T>(world: &mut World, mut found: impl FnMut(&mut World) -> Option<T>) -> T {
    for _ in 0..2_000_000 {
        if let Some(found) = found(world) {
            return found;
        }
        world.poll();
    }
    panic!("not found; {} events were told", world.server.told.len());
}

#[test]
fn rssl_goes_through_tls_in_both_directions_with_messages_of_every_size() {
    let (tls, config) = certificate();
    let mut world = World::new(&ListenConfig { tls: Some(tls), ..ListenConfig::default() });
    let mut socket = Secure::new(&world, &config);
    let now = world.now();
    let mut client = Connection::client(&tapeline_rssl::ClientConfig::default(), 1, now).unwrap();
    let words = b"TRI.N BID 45.12 ".repeat(40_000);
    let messages: Vec<&[u8]> = [1, 300, 6_144, 16_384, 70_000, 600_000].map(|n| &words[..n]).into();
    let mut heard: Vec<Vec<u8>> = Vec::new();
    let mut session = None;
    until(&mut world, |world| {
        let now = world.now();
        client.flush();
        while let Some(transmit) = client.poll_transmit() {
            let bytes: Vec<u8> = transmit.iter().flat_map(|slice| slice.to_vec()).collect();
            socket.write(&bytes);
            client.sent(bytes.len(), now);
        }
        if let Some(bytes) = socket.read() {
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let room = client.recv_buffer();
                let count = room.len().min(rest.len());
                room[..count].copy_from_slice(&rest[..count]);
                rest = &rest[count..];
                client.received(count, now);
                while let Some(event) = client.poll_event() {
                    match event {
                        Event::Message(message) => heard.push(message.to_vec()),
                        Event::Connected(_) => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
        }
        if session.is_none() && client.is_active() && !world.server.opened().is_empty() {
            for message in &messages {
                client.send(Priority::High, message).unwrap();
            }
            session = world.server.opened().first().copied();
            for message in &messages {
                let sent = world.server.reactor.outbox().send(session?, message);
                assert_eq!(sent, Sent::Queued);
            }
        }
        let is_done =
            heard.len() == messages.len() && world.server.messages().len() == messages.len();
        is_done.then_some(())
    });
    assert_eq!(heard, messages);
    assert_eq!(world.server.messages(), messages);
}

const OPENING: &[u8] = b"GET /WebSocket HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: tr_json2\r\n\r\n";

fn wss(options: ListenConfig) -> (World, Secure, SessionId) {
    wss_over(options, World::plain_client)
}

fn wss_over(
    options: ListenConfig,
    connect: impl FnOnce(&World) -> TcpStream,
) -> (World, Secure, SessionId) {
    let (tls, config) = certificate();
    let text = Some(TextConfig::default());
    let mut world = World::new(&ListenConfig { tls: Some(tls), text, ..options });
    let mut socket = Secure::over(connect(&world), &config);
    socket.write(OPENING);
    let head = until(&mut world, |_| socket.read().filter(|bytes| !bytes.is_empty()));
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
    let session = world.server.opened()[0];
    (world, socket, session)
}

#[test]
fn texts_go_through_tls() {
    let (mut world, mut socket, session) = wss(ListenConfig::default());
    socket.write(b"\x81\x84\0\0\0\0[{}]");
    until(&mut world, |world| {
        // A read pushes what the write could not.
        let _ = socket.read();
        world.server.told.contains(&Told::Message(session, b"[{}]".to_vec())).then_some(())
    });
    assert_eq!(world.server.reactor.outbox().send_text(session, &[b"{1}"], false), Sent::Queued);
    let frame = until(&mut world, |_| socket.read());
    assert_eq!(frame, b"\x81\x05[{1}]");
    world.server.reactor.outbox().close(session, "bye");
    let mut last = Vec::new();
    until(&mut world, |_| {
        let bytes = socket.read()?;
        last.extend_from_slice(&bytes);
        bytes.is_empty().then_some(())
    });
    assert_eq!(last, b"\x88\x05\x03\xE8bye");
}

#[test]
fn what_a_full_socket_did_not_take_comes_later_and_whole() {
    const MESSAGES: usize = 60;
    let (mut world, mut socket, session) =
        wss(ListenConfig { session: tight(), ..ListenConfig::default() });
    let text = "x".repeat(3_000);
    for _ in 0..MESSAGES {
        let sent = world.server.reactor.outbox().send_text(session, &[text.as_bytes()], true);
        assert!(matches!(sent, Sent::Queued | Sent::Slow), "{sent:?}");
    }
    for _ in 0..100 {
        world.poll();
    }
    let mut received = Vec::new();
    until(&mut world, |_| {
        received.extend(socket.read().unwrap_or_default());
        (received.len() >= MESSAGES * 3_006).then_some(())
    });
    let mut rest = &received[..];
    for _ in 0..MESSAGES {
        let (header, length) = FrameHeader::parse(rest).unwrap();
        assert_eq!((header.opcode, header.payload), (TEXT, 3_002));
        rest = &rest[length + 3_002..];
    }
    assert_eq!(rest, b"");
    until(&mut world, |world| (world.server.drained() > 0).then_some(()));
}

#[test]
fn what_came_before_garbage_is_read_before_the_session_ends() {
    let (mut world, mut socket, session) = wss(ListenConfig::default());
    socket.tls.writer().write_all(b"\x81\x84\0\0\0\0[{}]").unwrap();
    let mut bytes = Vec::new();
    while socket.tls.wants_write() {
        socket.tls.write_tls(&mut bytes).unwrap();
    }
    // A record whose content was never encrypted with the keys.
    bytes.extend_from_slice(&[23, 3, 3, 0, 20]);
    bytes.extend_from_slice(&[0xEE; 20]);
    socket.socket.write_all(&bytes).unwrap();
    until(&mut world, |world| (!world.server.closed().is_empty()).then_some(()));
    assert_eq!(world.server.messages(), [b"[{}]"]);
    let (closed, reason) = world.server.closed().remove(0);
    assert_eq!(closed, session);
    assert!(reason.starts_with("reading from the socket failed: "), "{reason}");
}

#[test]
fn what_is_encrypted_and_not_written_counts_as_waiting() {
    // All of it is encrypted at once, and the two sockets hold little of it.
    const MESSAGE_BYTES: usize = 60_000;
    let (mut world, mut socket, session) =
        wss_over(ListenConfig { session: tight(), ..ListenConfig::default() }, |world| {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_recv_buffer_size(4_096).unwrap();
            socket.connect(&world.address.into()).unwrap();
            socket.set_nonblocking(true).unwrap();
            socket.into()
        });
    let text = "x".repeat(MESSAGE_BYTES);
    let sent = world.server.reactor.outbox().send_text(session, &[text.as_bytes()], true);
    assert!(matches!(sent, Sent::Queued | Sent::Slow), "{sent:?}");
    for _ in 0..100 {
        world.poll();
    }
    let waiting = world.server.reactor.outbox().backlog_bytes(session);
    assert!(waiting > MESSAGE_BYTES / 2, "{waiting}");
    until(&mut world, |world| {
        let _ = socket.read();
        (world.server.reactor.outbox().backlog_bytes(session) == 0).then_some(())
    });
}

#[test]
fn who_speaks_no_tls_is_rejected_and_others_are_not() {
    let (tls, config) = certificate();
    let mut world = World::new(&ListenConfig { tls: Some(tls), ..ListenConfig::default() });
    let mut plain = world.plain_client();
    plain.write_all(OPENING).unwrap();
    let rejected = until(&mut world, |world| world.server.rejected().pop());
    assert!(rejected.starts_with("reading from the socket failed: "), "{rejected}");
    // One that says nothing has its time, as before RSSL.
    let _silent = world.plain_client();
    world.poll();
    world.ahead += Duration::from_secs(61);
    until(&mut world, |world| (world.server.rejected().len() == 2).then_some(()));
    let mut socket = Secure::new(&world, &config);
    socket.write(OPENING);
    let head = until(&mut world, |_| socket.read());
    assert!(head.starts_with(b"HTTP/1.1 400 "), "texts are not for this listener");
}

#[test]
fn a_key_that_is_none_says_what_to_give() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let pem = made.cert.pem();
    let error = |key: &str| Tls::from_pem(pem.as_bytes(), key.as_bytes()).unwrap_err().to_string();
    assert!(error("nothing").starts_with("TLS: private key: "), "{}", error("nothing"));
    let mixed = error(&other.signing_key.serialize_pem());
    assert!(mixed.starts_with("TLS: certificate and private key: "), "{mixed}");
    let files = TlsFiles { certificates: "no.pem".into(), key: "no.key".into(), client_ca: None };
    let missing = Tls::from_files(files).unwrap_err().to_string();
    assert!(missing.starts_with("TLS: no.pem: "), "{missing}");
    assert!(missing.ends_with("; give PEM files of a certificate chain and its private key"));
}
