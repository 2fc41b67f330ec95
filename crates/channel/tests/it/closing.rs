//! How sessions end, from both sides and in the middle of things.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::support::{LOOPBACK, Told, World, tight};
use socket2::{Domain, Socket, Type};
use tapeline_channel::{
    ConnectConfig, ListenConfig, Page, Pages, Sent, SessionEvent, SessionOptions,
};
use tapeline_rssl::{ClientConfig, Connection, ServerConfig, Version};
use tapeline_time::Time;

fn is_empty(world: &World) -> bool {
    world.client.reactor.session_count() + world.server.reactor.session_count() == 0
}

#[test]
fn a_close_by_the_server_delivers_what_was_sent_before() {
    let mut world = World::new(&ListenConfig::default());
    let (client, server) = world.open(&ConnectConfig::default());
    let long = vec![5; 3_000_000];
    for message in [&b"one"[..], &long, b"three"] {
        assert_ne!(world.server.reactor.outbox().send(server, message), Sent::Full);
    }
    world.server.reactor.outbox().close(server, "enough");
    assert_eq!(world.server.reactor.outbox().send(server, b"late"), Sent::Gone);
    world.run_until(|world| is_empty(world) && !world.client.closed().is_empty());
    assert_eq!(world.client.messages(), [b"one", &long[..], b"three"]);
    let text = "closed by the peer; connect again if its data is still wanted".to_owned();
    assert_eq!(world.client.closed(), [(client, text)]);
    let text = "closed by this side: enough".to_owned();
    assert_eq!(world.server.closed(), [(server, text)]);
}

#[test]
fn a_close_by_the_client_is_told_at_both_sides_once() {
    let mut world = World::new(&ListenConfig::default());
    let (client, server) = world.open(&ConnectConfig::default());
    world.client.reactor.outbox().close(client, "done");
    world.client.reactor.outbox().close(client, "again");
    world.run_until(|world| is_empty(world) && !world.server.closed().is_empty());
    world.poll();
    assert_eq!(world.client.closed(), [(client, "closed by this side: done".to_owned())]);
    assert_eq!(world.server.closed().len(), 1);
    assert_eq!(world.server.closed()[0].0, server);
}

#[test]
fn a_close_in_the_callback_ends_the_delivery() {
    let mut world = World::new(&ListenConfig::default());
    let (client, server) = world.open(&ConnectConfig::default());
    for text in [&b"a"[..], b"b", b"c"] {
        assert_eq!(world.client.reactor.outbox().send(client, text), Sent::Queued);
    }
    while world.server.closed().is_empty() {
        let now = world.now();
        world.client.poll(now);
        world.server.poll_with(now, |event, outbox| {
            if let SessionEvent::Message { session, .. } = event {
                assert_eq!(outbox.send(session, b"goodbye"), Sent::Queued);
                outbox.close(session, "heard enough");
                assert_eq!(outbox.send(session, b"late"), Sent::Gone);
                assert!(!outbox.is_open(session));
            }
        });
    }
    assert_eq!(world.server.messages(), [b"a"]);
    assert_eq!(world.server.closed(), [(server, "closed by this side: heard enough".to_owned())]);
    world.run_until(is_empty);
    assert_eq!(world.client.messages(), [b"goodbye"]);
}

#[test]
fn one_session_can_close_another_in_its_callback() {
    let mut world = World::new(&ListenConfig::default());
    let (client_a, _) = world.open(&ConnectConfig::default());
    let (client_b, server_b) = world.open(&ConnectConfig::default());
    assert_eq!(world.client.reactor.outbox().send(client_a, b"close b"), Sent::Queued);
    while world.client.closed().is_empty() {
        let now = world.now();
        world.client.poll(now);
        world.server.poll_with(now, |event, outbox| {
            if matches!(event, SessionEvent::Message { .. }) {
                outbox.close(server_b, "by a");
                assert_eq!(outbox.send(server_b, b"late"), Sent::Gone);
            }
        });
    }
    assert_eq!(world.client.closed()[0].0, client_b);
    assert_eq!(world.server.closed(), [(server_b, "closed by this side: by a".to_owned())]);
}

#[test]
fn a_session_id_is_never_used_again() {
    let mut world = World::new(&ListenConfig::default());
    let mut ids = Vec::new();
    for round in 1..=5 {
        let (client, server) = world.open(&ConnectConfig::default());
        assert!(!ids.contains(&server));
        ids.push(server);
        world.client.reactor.outbox().close(client, "next");
        world.run_until(|world| is_empty(world) && world.server.closed().len() == round);
    }
    assert!(ids.iter().all(|id| id.index == 0), "{ids:?}");
    let outbox = &mut world.server.reactor.outbox();
    assert!(ids.iter().all(|id| outbox.send(*id, b"late") == Sent::Gone));
}

#[test]
fn a_closed_session_whose_peer_does_not_read_is_given_up_in_time() {
    let mut world = World::new(&ListenConfig { session: tight(), ..ListenConfig::default() });
    let (_, server) = world.open(&ConnectConfig { session: tight(), ..ConnectConfig::default() });
    while world.server.reactor.outbox().send(server, &[1; 1000]) != Sent::Full {}
    world.server.reactor.outbox().close(server, "too slow");
    let now = world.now();
    for _ in 0..10 {
        world.server.poll(now);
    }
    assert_eq!(world.server.closed().len(), 1);
    assert_eq!(world.server.reactor.session_count(), 1);
    world.server.poll(now.after(Duration::from_millis(2_001)));
    assert_eq!(world.server.reactor.session_count(), 0);
}

/// A page that is being sent to a reader who takes a piece of it every tenth
/// of a second, to its end. Returns how much of the answer came, and how long
/// that took.
fn read_slowly(close_max_ms: u32) -> (usize, Duration) {
    let page = Page {
        path: "/".to_owned(),
        content_type: "text/plain".to_owned(),
        body: vec![b'x'; PAGE_BYTES].into(),
    };
    let pages = Some(Arc::new(Pages::new(vec![page])));
    let session = SessionOptions { close_max_ms, ..tight() };
    let mut world = World::new(&ListenConfig { pages, session, ..ListenConfig::default() });
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.set_recv_buffer_size(16_384).unwrap();
    socket.connect(&world.address.into()).unwrap();
    let mut reader = TcpStream::from(socket);
    reader.set_nonblocking(true).unwrap();
    reader.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").unwrap();
    let mut total = 0;
    let mut piece = [0; 8_192];
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        world.poll();
        match reader.read(&mut piece) {
            Ok(0) => return (total, world.ahead),
            Ok(count) => {
                total += count;
                world.ahead += Duration::from_millis(100);
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return (total, world.ahead),
        }
    }
    panic!("neither all of it nor an end came: {total} bytes");
}

const PAGE_BYTES: usize = 400_000;

#[test]
fn what_is_left_is_sent_for_as_long_as_the_peer_reads() {
    let (bytes, took) = read_slowly(60_000);
    assert!(bytes > PAGE_BYTES, "{bytes} bytes in {took:?}");
    assert!(took > Duration::from_secs(4), "{took:?}: that was not slow");
}

#[test]
fn a_peer_that_reads_for_ever_is_given_up_all_the_same() {
    let (bytes, took) = read_slowly(2_500);
    assert!(bytes < PAGE_BYTES, "{bytes} bytes in {took:?}");
}

#[test]
fn garbage_is_rejected_and_told() {
    let mut world = World::new(&ListenConfig::default());
    let mut plain = world.plain_client();
    plain.write_all(&[0xFF; 100]).unwrap();
    world.run_until(|world| !world.server.rejected().is_empty());
    let text = world.server.rejected().remove(0);
    assert!(text.starts_with("limit exceeded") || text.starts_with("protocol error"), "{text}");
    drop(plain);
    world.run_until(is_empty);
    assert_eq!(world.server.told.len(), 1);
}

#[test]
fn garbage_after_the_handshake_closes_the_session() {
    let mut world = World::new(&ListenConfig::default());
    let mut plain = Plain::connect(&mut world);
    plain.stream.write_all(&[0, 9, 0xEE, 1, 2, 3, 4, 5, 6]).unwrap();
    world.run_until(|world| !world.server.closed().is_empty());
    let text = &world.server.closed()[0].1;
    assert!(text.starts_with("protocol error: unexpected frame with flags 0xee"), "{text}");
}

#[test]
fn a_client_that_says_nothing_is_rejected_when_its_time_is_up() {
    let mut world = World::new(&ListenConfig::default());
    let _silent = world.plain_client();
    world.run_until(|world| world.server.reactor.session_count() == 1);
    let now = world.now();
    world.server.poll(now.after(Duration::from_secs(58)));
    assert_eq!(world.server.rejected().len(), 0);
    let due = world.server.reactor.next_deadline().unwrap();
    assert!(due > now.after(Duration::from_secs(58)) && due <= now.after(Duration::from_secs(60)));
    world.server.poll(due);
    world.server.poll(due);
    let texts = world.server.rejected();
    assert_eq!(texts.len(), 1);
    assert!(texts[0].starts_with("handshake not finished after 60000 ms"), "{texts:?}");
}

#[test]
fn a_server_that_says_nothing_closes_the_attempt_when_its_time_is_up() {
    let mut world = World::new(&ListenConfig::default());
    let silent = TcpListener::bind(LOOPBACK).unwrap();
    let port = silent.local_addr().unwrap().port();
    let config = ConnectConfig {
        rssl: ClientConfig {
            limits: tapeline_rssl::Limits { handshake_ms: 500, ..Default::default() },
            ..ClientConfig::default()
        },
        ..ConnectConfig::default()
    };
    let session = world.client.reactor.connect("127.0.0.1", port, &config);
    let (_held, _) = silent.accept_when_it_comes(&mut world);
    world.run_until(|world| world.client.reactor.session_counters(session).is_some());
    world.ahead = Duration::from_secs(1);
    world.run_until(|world| !world.client.closed().is_empty());
    let text = &world.client.closed()[0].1;
    assert!(text.starts_with("handshake not finished after 500 ms"), "{text}");
}

#[test]
fn silence_is_answered_with_pings_and_a_dead_peer_is_cut() {
    let mut world = World::new(&ListenConfig::default());
    let (_, server) = world.open(&ConnectConfig::default());
    let pings = |world: &World| {
        world.server.reactor.session_counters(server).map(|counters| counters.traffic.writes)
    };
    // A minute of nothing but pings, in steps of ten seconds.
    let before = pings(&world).unwrap();
    for _ in 0..12 {
        world.ahead += Duration::from_secs(10);
        for _ in 0..10 {
            world.poll();
        }
    }
    assert!(world.server.closed().is_empty() && world.client.closed().is_empty());
    assert!(pings(&world).unwrap() >= before + 4);
    // The client's machine stops.
    for _ in 0..7 {
        world.ahead += Duration::from_secs(10);
        let now = world.now();
        world.server.poll(now);
        world.server.poll(now);
    }
    let text = "nothing received for 60 s, the negotiated ping timeout; the peer is dead";
    assert_eq!(world.server.closed(), [(server, text.to_owned())]);
}

#[test]
fn a_client_over_the_number_is_refused_in_words_and_one_more_dropped() {
    let mut world =
        World::new(&ListenConfig { max_sessions: 2, max_refusals: 1, ..ListenConfig::default() });
    let (first, _) = world.open(&ConnectConfig::default());
    world.open(&ConnectConfig::default());
    let third = world.connect(&ConnectConfig::default());
    world.run_until(|world| !world.client.closed().is_empty());
    let text = "refused by the server: \"Too many connections. Try again later, or another \
                server.\"; do not try again unchanged";
    assert_eq!(world.client.closed(), [(third, text.to_owned())]);
    world.run_until(|world| world.server.reactor.session_count() == 2);
    assert_eq!(world.server.rejected().len(), 1);

    // One that holds the only refusal, and one beyond it.
    let _holder = world.plain_client();
    world.run_until(|world| world.server.reactor.counters().refused == 2);
    let mut dropped = world.plain_client();
    world.run_until(|world| world.server.reactor.counters().dropped == 1);
    dropped.set_nonblocking(false).unwrap();
    assert_eq!(dropped.read(&mut [0; 10]).unwrap(), 0);

    // A place that is free is given.
    world.client.reactor.outbox().close(first, "room");
    world.run_until(|world| world.server.closed().len() == 1);
    world.run_until(|world| world.server.reactor.session_count() == 2);
    let fourth = world.connect(&ConnectConfig::default());
    world.run_until(|world| world.client.opened().contains(&fourth));
}

#[test]
fn an_attempt_can_be_given_up() {
    let mut world = World::new(&ListenConfig::default());
    let session = world.connect(&ConnectConfig::default());
    world.client.reactor.outbox().close(session, "never mind");
    world.run_until(|world| !world.client.closed().is_empty());
    assert_eq!(
        world.client.told,
        [Told::Closed(session, "closed by this side: never mind".to_owned())]
    );
    assert_eq!(world.client.reactor.session_count(), 0);
}

#[test]
fn all_can_be_closed_at_once() {
    let mut world = World::new(&ListenConfig::default());
    for _ in 0..10 {
        world.open(&ConnectConfig::default());
    }
    world.server.reactor.close_all("shutting down");
    world.run_until(|world| is_empty(world) && world.client.closed().len() == 10);
    assert_eq!(world.server.closed().len(), 10);
}

#[test]
fn a_peer_that_vanishes_with_a_reset_closes_the_session() {
    let mut world = World::new(&ListenConfig {
        session: SessionOptions { close_ms: 100, ..SessionOptions::default() },
        ..ListenConfig::default()
    });
    let plain = Plain::connect(&mut world);
    let server = world.server.opened()[0];
    assert_eq!(world.server.reactor.outbox().send(server, b"unread"), Sent::Queued);
    world.server.reactor.flush(world.now());
    // Unread bytes make the kernel answer with a reset.
    drop(plain);
    world.run_until(|world| !world.server.closed().is_empty());
    world.run_until(|world| world.server.reactor.session_count() == 0);
}

#[test]
fn an_old_server_that_hangs_up_is_asked_again_as_before() {
    let mut world = World::new(&ListenConfig::default());
    let old = TcpListener::bind(LOOPBACK).unwrap();
    let port = old.local_addr().unwrap().port();
    let session = world.client.reactor.connect("127.0.0.1", port, &ConnectConfig::default());
    for code in [0x17, 0x16] {
        let (mut stream, _) = old.accept_when_it_comes(&mut world);
        let mut request = [0; 8];
        read_while_polling(&mut stream, &mut request, &mut world);
        assert_eq!(request[3..7], [0, 0, 0, code], "{request:?}");
    }
    let (stream, _) = old.accept_when_it_comes(&mut world);
    let connection = Connection::server(&ServerConfig::default(), 1, Time::ZERO).unwrap();
    let mut server = Plain { stream, connection };
    while !server.connection.is_active() {
        server.step();
        let now = world.now();
        world.client.poll(now);
    }
    server.step();
    let agreed = server.connection.negotiated().unwrap();
    assert_eq!(agreed.version, Version::V12);
    world.run_until(|world| world.client.opened() == [session]);
    assert!(world.client.closed().is_empty());
}

#[test]
fn without_fallback_the_hang_up_is_told() {
    let mut world = World::new(&ListenConfig::default());
    let old = TcpListener::bind(LOOPBACK).unwrap();
    let port = old.local_addr().unwrap().port();
    let config = ConnectConfig { fallback: false, ..ConnectConfig::default() };
    world.client.reactor.connect("127.0.0.1", port, &config);
    let (mut stream, _) = old.accept_when_it_comes(&mut world);
    read_while_polling(&mut stream, &mut [0; 8], &mut world);
    drop(stream);
    world.run_until(|world| !world.client.closed().is_empty());
    let text = &world.client.closed()[0].1;
    assert!(text.starts_with("the server hung up without an answer to RIPC 14"), "{text}");
}

/// An RSSL connection on a socket of the standard library.
struct Plain {
    stream: TcpStream,
    connection: Connection,
}

impl Plain {
    fn connect(world: &mut World) -> Self {
        let stream = world.plain_client();
        let connection = Connection::client(&ClientConfig::default(), 1, Time::ZERO).unwrap();
        let mut plain = Self { stream, connection };
        while world.server.opened().is_empty() {
            plain.step();
            let now = world.now();
            world.server.poll(now);
        }
        plain
    }

    fn step(&mut self) {
        while let Some(transmit) = self.connection.poll_transmit() {
            let count = transmit.total_bytes();
            self.stream.write_all(&transmit[0]).unwrap();
            assert_eq!(transmit.len(), 1);
            self.connection.sent(count, Time::ZERO);
        }
        if let Ok(count) = self.stream.read(self.connection.recv_buffer()) {
            self.connection.received(count, Time::ZERO);
        }
        while self.connection.poll_event().is_some() {}
    }
}

trait AcceptWhenItComes {
    fn accept_when_it_comes(&self, world: &mut World) -> (TcpStream, std::net::SocketAddr);
}

impl AcceptWhenItComes for TcpListener {
    fn accept_when_it_comes(&self, world: &mut World) -> (TcpStream, std::net::SocketAddr) {
        self.set_nonblocking(true).unwrap();
        loop {
            world.poll();
            if let Ok((stream, peer)) = self.accept() {
                stream.set_nonblocking(true).unwrap();
                return (stream, peer);
            }
        }
    }
}

fn read_while_polling(stream: &mut TcpStream, room: &mut [u8], world: &mut World) {
    let mut filled = 0;
    while filled < room.len() {
        world.poll();
        filled += stream.read(&mut room[filled..]).unwrap_or(0);
    }
}
