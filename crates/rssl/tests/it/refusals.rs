//! How connections end that should not go on, and what is said about it.

use crate::support::pair::Pair;
use crate::support::{self, Heard};
use tapeline_rssl::{
    ClientConfig, CloseReason, Compression, ConfigError, Connection, Event, FlushOrder, Opening,
    Origins, Priority, ProtocolError, ServerConfig, Version,
};
use tapeline_time::Time;

fn websocket() -> Opening {
    Opening::WebSocket { host: "h:1".to_owned(), path: "/WebSocket".to_owned() }
}

fn tunnel() -> Opening {
    Opening::HttpTunnel {
        host: "h:1".to_owned(),
        path: "/".to_owned(),
        process_id: 1,
        address: [127, 0, 0, 1],
    }
}

fn with(opening: Opening) -> ClientConfig {
    ClientConfig { opening, ..ClientConfig::default() }
}

#[test]
fn a_refusal_reaches_the_client_in_words_over_every_carrier() {
    let text = "all 500 sessions are in use".to_owned();
    for opening in [Opening::Socket, websocket(), tunnel()] {
        for version in Version::NEWEST_FIRST {
            let client = ClientConfig { version, ..with(opening.clone()) };
            let server = ServerConfig { refusal: Some(text.clone()), ..ServerConfig::default() };
            let mut pair = Pair::new(&client, &server, 1);
            pair.run();
            assert_eq!(pair.client.closed, Some(CloseReason::Refused { text: text.clone() }));
            assert_eq!(pair.server.closed, Some(CloseReason::RefusedClient { text: text.clone() }));
            assert!(pair.server.connection.is_finished());
            assert_eq!(pair.client.closed.unwrap().fallback(), None);
        }
    }
}

#[test]
fn another_protocol_type_is_refused() {
    let client = ClientConfig { protocol_type: 2, ..ClientConfig::default() };
    let mut pair = Pair::new(&client, &ServerConfig::default(), 1);
    pair.run();
    let text = "Connection refused.".to_owned();
    assert_eq!(pair.client.closed, Some(CloseReason::Refused { text }));
}

#[test]
fn only_a_hang_up_instead_of_an_answer_leads_to_fallback() {
    let mut client = Connection::client(&ClientConfig::default(), 1, Time::ZERO).unwrap();
    client.peer_closed();
    let Some(Event::Closed(reason)) = client.poll_event() else { panic!("it is closed") };
    assert_eq!(reason.fallback(), Some(Version::V13));
    assert_eq!(
        reason.to_string(),
        "the server hung up without an answer to RIPC 14; connect again with RIPC 13"
    );
    assert_eq!(client.close_reason(), Some(&reason));
    assert!(client.poll_event().is_none());

    let mut websocket = Connection::client(&with(websocket()), 1, Time::ZERO).unwrap();
    websocket.peer_closed();
    assert_eq!(websocket.poll_event(), Some(Event::Closed(CloseReason::HandshakeCut)));

    let mut pair = Pair::connected(&ClientConfig::default(), &ServerConfig::default(), 1);
    pair.client.connection.peer_closed();
    pair.run();
    assert_eq!(pair.client.closed.unwrap().fallback(), None);
}

#[test]
fn each_kind_of_garbage_after_the_handshake_is_named() {
    let overrun = ProtocolError::FragmentOverrun { id: 1, got: 4, total: 3 };
    let unexpected = |flags, extended| ProtocolError::UnexpectedFrame { flags, extended };
    let cases: [(&[u8], ProtocolError); 12] = [
        (&[0, 2], ProtocolError::ShortFrame { length: 2, header: 3 }),
        (&[0, 3, 0], unexpected(0, 0)),
        (&[0, 4, 0x42, 1], unexpected(0x42, 0)),
        (&[0, 4, 0x0a, 1], unexpected(0x0a, 0)),
        (&[0, 4, 1, 1], unexpected(1, 1)),
        (&[0, 4, 3, 2], unexpected(3, 2)),
        (&[0, 4, 4, 1], ProtocolError::NotCompressed),
        (&[0, 5, 3, 4, 1], ProtocolError::ShortFrame { length: 5, header: 6 }),
        (&[0, 14, 3, 8, 0, 0, 0, 3, 0, 1, 1, 2, 3, 4], overrun),
        (&[0, 7, 0x12, 0, 3, 1, 2], ProtocolError::PackedOverrun { length: 3, left: 2 }),
        (&[0, 4, 0x12, 0], ProtocolError::PackedOverrun { length: 0, left: 1 }),
        (&[0, 12, 8, 8, 1, 2, 3, 4, 5, 6, 7, 8], unexpected(8, 0)),
    ];
    for (garbage, expected) in cases {
        for to_server in [true, false] {
            let mut pair = Pair::connected(&ClientConfig::default(), &ServerConfig::default(), 1);
            let mut wire = b"\x00\x05\x02ok".to_vec();
            wire.extend_from_slice(garbage);
            let side = if to_server {
                pair.inject_to_server(&wire);
                &pair.server
            } else {
                pair.inject_to_client(&wire);
                &pair.client
            };
            assert_eq!(side.messages, [b"ok"], "what came before is kept");
            assert_eq!(side.closed, Some(expected.clone().into()));
            assert!(side.connection.is_finished());
        }
    }
}

#[test]
fn compressed_garbage_is_named() {
    for (compression, text) in
        [(Compression::Zlib, "a zlib stream"), (Compression::Lz4, "an LZ4 block")]
    {
        let client = ClientConfig { compression, ..ClientConfig::default() };
        let server = ServerConfig { compression, ..ServerConfig::default() };
        let mut pair = Pair::connected(&client, &server, 1);
        pair.inject_to_server(&[0, 8, 4, 0xf5, 0xf5, 0xf5, 0xf5, 0xf5]);
        assert_eq!(pair.server.closed, Some(ProtocolError::Decompress(text).into()));

        let mut pair = Pair::connected(&client, &server, 1);
        pair.inject_to_server(&[0, 4, 0x0c, 1, 0, 4, 0x02, b'x', 0, 4, 0x14, 1]);
        assert_eq!(pair.server.messages, [b"x"], "plain frames may come between the parts");
        assert_eq!(pair.server.closed, Some(ProtocolError::BrokenSplit { flags: 0x14 }.into()));
    }
}

#[test]
fn zero_length_things_mean_nothing() {
    let mut pair = Pair::connected(&ClientConfig::default(), &ServerConfig::default(), 1);
    // An empty packed body, a body that ends early, an empty message in
    // fragments, a fragment of an unknown id.
    pair.inject_to_server(&[0, 3, 0x12]);
    pair.inject_to_server(&[0, 10, 0x12, 0, 1, b'a', 0, 0, 9, 9]);
    pair.inject_to_server(&[0, 10, 3, 8, 0, 0, 0, 0, 0, 1]);
    pair.inject_to_server(&[0, 7, 3, 4, 0, 9, b'z']);
    pair.inject_to_server(&[0, 4, 2, b'b']);
    assert_eq!(pair.server.messages, [b"a", b"b"]);
    assert_eq!(pair.server.closed, None);
    assert_eq!(pair.server.connection.counters().pings_received, 0);
}

#[test]
fn a_first_fragment_that_is_the_whole_message_ends_the_old_one_of_its_id() {
    let mut pair = Pair::connected(&ClientConfig::default(), &ServerConfig::default(), 1);
    pair.inject_to_server(&[0, 11, 3, 8, 0, 0, 0, 2, 0, 1, b'a']);
    pair.inject_to_server(&[0, 11, 3, 8, 0, 0, 0, 1, 0, 1, b'w']);
    pair.inject_to_server(&[0, 7, 3, 4, 0, 1, b'b']);
    assert_eq!(pair.server.messages, [b"w"]);
    assert_eq!(pair.server.closed, None);
}

#[test]
fn broken_requests_are_closed_without_an_answer() {
    let mut pair = Pair::new(&ClientConfig::default(), &ServerConfig::default(), 1);
    let mut heard = Heard::default();
    heard.poll(&mut pair.client.connection);
    let good = heard.sent;
    for at in [2, 6, 8, 9, 15] {
        let mut broken = good.clone();
        broken[at] = broken[at].wrapping_add(1);
        let mut server = Connection::server(&ServerConfig::default(), 1, Time::ZERO).unwrap();
        let mut heard = Heard::default();
        heard.feed(&mut server, &broken);
        let is_named = matches!(
            heard.closed,
            Some(CloseReason::Protocol(
                ProtocolError::Request(_) | ProtocolError::UnknownVersion(_)
            ))
        );
        assert!(is_named, "byte {at}: {:?}", heard.closed);
        assert!(heard.sent.is_empty());
    }
}

#[test]
fn websocket_frames_that_rssl_does_not_use_close_with_a_code() {
    let cases: [(&[u8], &str); 6] = [
        (&[0x82, 0x03, 0, 3, 2], "a client's frame is not masked"),
        (&[0x81, 0x80, 0, 0, 0, 0], "a text frame; rssl.rwf is binary"),
        (
            &[0xc2, 0x83, 0, 0, 0, 0, 0, 3, 2],
            "a reserved bit is set, no extension applies to rssl.rwf",
        ),
        (
            &[0x02, 0x83, 0, 0, 0, 0, 0, 3, 2],
            "a fragmented message; rssl.rwf puts one RIPC frame into one frame",
        ),
        (&[0x82, 0x84, 0, 0, 0, 0, 0, 3, 2, 0], "not exactly one RIPC frame in a frame"),
        (&[0x82, 0x80, 0, 0, 0, 0], "not exactly one RIPC frame in a frame"),
    ];
    for (frame, what) in cases {
        let mut pair = Pair::connected(&with(websocket()), &ServerConfig::default(), 1);
        pair.inject_to_server(frame);
        assert_eq!(pair.server.closed, Some(ProtocolError::WebSocket(what).into()));
        assert!(pair.server.wire.ends_with(&[0x88, 2, 0x03, 0xea]), "close code 1002");
        assert_eq!(pair.client.closed, Some(CloseReason::PeerClosed));
    }
}

#[test]
fn websocket_pings_are_answered_and_pongs_ignored() {
    let mut pair = Pair::connected(&with(websocket()), &ServerConfig::default(), 1);
    pair.inject_to_client(&[0x89, 2, b'h', b'i', 0x8a, 1, b'x']);
    let (_, controls) = support::frames::unwrap(
        support::frames::Around::WebSocket,
        &pair.client.wire[support::frames::after_head(&pair.client.wire)..],
    );
    assert_eq!(controls, [(10, b"hi".to_vec())]);
    pair.inject_to_server(&[0x89, 0x82, 1, 1, 1, 1, b'h' ^ 1, b'i' ^ 1]);
    assert!(pair.server.wire.ends_with(&[0x8a, 2, b'h', b'i']));
    assert!(pair.client.closed.is_none() && pair.server.closed.is_none());
}

#[test]
fn closing_sends_what_is_queued_first() {
    for opening in [Opening::Socket, websocket(), tunnel()] {
        let is_websocket = opening == websocket();
        let mut pair = Pair::connected(&with(opening), &ServerConfig::default(), 1);
        for priority in Priority::ALL {
            pair.server.connection.pack(priority, b"last words").unwrap();
        }
        pair.server.connection.close();
        pair.server.connection.close();
        assert!(!pair.server.connection.is_finished());
        pair.run();
        assert_eq!(pair.server.closed, Some(CloseReason::Local));
        assert!(pair.server.connection.is_finished());
        assert_eq!(pair.client.messages.len(), 3);
        if is_websocket {
            assert!(pair.server.wire.ends_with(b"\x88\x10\x03\xe8Normal Closure"));
            assert_eq!(pair.client.closed, Some(CloseReason::PeerClosed));
        } else {
            pair.client.connection.peer_closed();
            pair.run();
            assert_eq!(pair.client.closed, Some(CloseReason::PeerClosed));
        }
    }
}

#[test]
fn what_came_before_the_peers_fin_is_delivered() {
    let mut pair = Pair::connected(&ClientConfig::default(), &ServerConfig::default(), 1);
    let last = [&b"\x00\x05\x02hi"[..], b"\x00\x09\x12\x00\x01a\x00\x01b", b"\x00\x09\x02cut"];
    let last = last.concat();
    let room = pair.server.connection.recv_buffer();
    room[..last.len()].copy_from_slice(&last);
    pair.server.connection.received(last.len(), pair.now);
    pair.server.connection.peer_closed();
    pair.run();
    assert_eq!(pair.server.messages, [&b"hi"[..], b"a", b"b"]);
    assert_eq!(pair.server.closed, Some(CloseReason::PeerClosed));
}

#[test]
fn a_tunnel_that_ends_or_resumes_is_named() {
    let mut pair = Pair::connected(&with(tunnel()), &ServerConfig::default(), 1);
    pair.inject_to_client(b"5\r\n\x00\x05\x02hi\r\n0\r\n\r\n");
    assert_eq!(pair.client.messages, [b"hi"]);
    assert_eq!(pair.client.closed, Some(CloseReason::PeerClosed));

    let mut server = Connection::server(&ServerConfig::default(), 1, Time::ZERO).unwrap();
    let mut heard = Heard::default();
    heard.feed(&mut server, b"POST / HTTP/1.1\r\nHost: h\r\n\r\n");
    heard.feed(&mut server, &[0, 13, 0x84, 0, 0, 0, 1, 0, 0, 1, 0, 0, 127]);
    let expected = ProtocolError::Tunnel("a broken tunnel cannot be resumed");
    assert_eq!(heard.closed, Some(expected.into()));
}

#[test]
fn http_answers_that_open_nothing_are_named() {
    for (answer, expected) in [
        (&b"HTTP/1.1 404 Not Found\r\n\r\n"[..], ProtocolError::HttpStatus(404)),
        (b"HTTP/1.1 101 X\r\n\r\n", ProtocolError::Http("the answer upgrades to something else")),
        (
            b"\x00\x01\x02 \r\n\r\n",
            ProtocolError::Http("the answer is no HTTP/1.1 head of at most 64 lines"),
        ),
    ] {
        let mut client = Connection::client(&with(websocket()), 1, Time::ZERO).unwrap();
        let mut heard = Heard::default();
        heard.feed(&mut client, answer);
        assert_eq!(heard.closed, Some(expected.into()));
    }
}

#[test]
fn configurations_that_cannot_work_are_named() {
    let client = |config: ClientConfig| Connection::client(&config, 1, Time::ZERO).err();
    let server = |config: ServerConfig| Connection::server(&config, 1, Time::ZERO).err();
    let long = ClientConfig { host_name: "h".repeat(240), ..ClientConfig::default() };
    assert!(matches!(client(long), Some(ConfigError::RequestTooLong(256..))));
    let never = ClientConfig { ping_timeout_s: 0, ..ClientConfig::default() };
    assert_eq!(client(never), Some(ConfigError::PingTimeout { min: 0, max: 0 }));
    let split = with(Opening::WebSocket { host: "h\r\nX: y".to_owned(), path: "/".to_owned() });
    assert_eq!(client(split), Some(ConfigError::HttpText("h\r\nX: y".to_owned())));
    let tiny = ServerConfig { fragment_bytes: 15, ..ServerConfig::default() };
    assert_eq!(server(tiny), Some(ConfigError::FragmentSize(15)));
    let level = ServerConfig { compression_level: 10, ..ServerConfig::default() };
    assert_eq!(server(level), Some(ConfigError::CompressionLevel(10)));
    let empty = ServerConfig { min_ping_timeout_s: 61, ..ServerConfig::default() };
    assert_eq!(server(empty), Some(ConfigError::PingTimeout { min: 61, max: 60 }));
    let wordy = ServerConfig { component_version: "v".repeat(254), ..ServerConfig::default() };
    assert_eq!(server(wordy), Some(ConfigError::ComponentVersion(254)));
    assert!(FlushOrder::new("LLL").is_err());
}

/// What a server answers to a head, and why it closed, if it did.
fn answer(config: &ServerConfig, head: &str) -> (String, Option<CloseReason>) {
    let mut server = Connection::server(config, 1, Time::ZERO).unwrap();
    server.recv_buffer()[..head.len()].copy_from_slice(head.as_bytes());
    server.received(head.len(), Time::ZERO);
    let mut closed = None;
    while let Some(event) = server.poll_event() {
        if let Event::Closed(reason) = event {
            closed = Some(reason);
        }
    }
    let sent = server.poll_transmit().map(|sent| sent.iter().flat_map(|s| s.to_vec()).collect());
    (String::from_utf8(sent.unwrap_or_default()).unwrap(), closed)
}

fn upgrade(headers: &str) -> String {
    format!(
        "GET /WebSocket HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: rssl.rwf\r\n{headers}\r\n"
    )
}

#[test]
fn a_page_of_another_site_opens_nothing() {
    let config = ServerConfig {
        origins: Origins::new(["https://desk.example.com"]).unwrap(),
        ..ServerConfig::default()
    };
    for headers in [
        // Programs, which send none or name their target.
        "Host: mds1:14002\r\n",
        "Host: mds1:14002\r\nOrigin: http://mds1:14002\r\n",
        "Host: mds1:14002\r\norigin: https://desk.example.com\r\n",
    ] {
        let (answer, closed) = answer(&config, &upgrade(headers));
        assert!(answer.starts_with("HTTP/1.1 101 "), "{headers}: {answer}");
        assert_eq!(closed, None);
    }
    for headers in [
        "Host: mds1:14002\r\nOrigin: http://evil.example\r\n",
        "Host: mds1:14002\r\nOrigin: null\r\n",
        "Host: mds1:14002\r\nOrigin:\r\n",
        "Host: mds1:14002\r\nOrigin: http://mds1:14002\r\nOrigin: http://evil.example\r\n",
        "Origin: http://evil.example\r\n",
    ] {
        let (answer, closed) = answer(&config, &upgrade(headers));
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{headers}: {answer}");
        let is_told = matches!(closed, Some(CloseReason::Protocol(ProtocolError::Origin { .. })));
        assert!(is_told, "{headers}: {closed:?}");
    }
}

#[test]
fn no_page_opens_a_tunnel() {
    let config = ServerConfig {
        origins: Origins::new(["https://desk.example.com"]).unwrap(),
        ..ServerConfig::default()
    };
    let post = |origin: &str| {
        let origin =
            if origin.is_empty() { String::new() } else { format!("Origin: {origin}\r\n") };
        format!("POST / HTTP/1.1\r\nHost: mds1:14002\r\nContent-Length: 99\r\n{origin}\r\n")
    };
    assert_eq!(answer(&config, &post("")).1, None, "the vendor's clients send none");
    for origin in ["http://mds1:14002", "https://desk.example.com", "http://evil.example", "null"] {
        let (answer, closed) = answer(&config, &post(origin));
        assert!(answer.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{origin}: {answer}");
        assert!(closed.is_some());
    }
}

#[test]
fn a_long_origin_is_told_in_short() {
    let head = upgrade(&format!("Origin: http://{}\r\n", "x".repeat(5_000)));
    let (answer, closed) = answer(&ServerConfig::default(), &head);
    assert!(answer.len() < 600, "{answer}");
    assert!(closed.unwrap().to_string().len() < 400);
}
