//! Every named limit, hit.

use crate::support::Heard;
use crate::support::pair::Pair;
use tapeline_rssl::{
    ClientConfig, CloseReason, Compression, Connection, Limit, Limits, Opening, Priority,
    SendError, ServerConfig,
};
use tapeline_time::Time;

#[track_caller]
fn check(closed: Option<&CloseReason>, limit: Limit, value: u64, max: u64) {
    assert_eq!(closed, Some(&CloseReason::Limit { limit, value, max }));
}

fn small() -> Limits {
    Limits {
        handshake_frame_bytes: 100,
        http_head_bytes: 400,
        chunk_line_bytes: 16,
        message_bytes: 10_000,
        send_bytes: 10_000,
        reassembly_bytes: 15_000,
        reassembly_count: 3,
        output_bytes: 20_000,
        ..Limits::default()
    }
}

fn server_with(limits: Limits) -> ServerConfig {
    ServerConfig { limits, ..ServerConfig::default() }
}

fn pair() -> Pair {
    Pair::connected(&ClientConfig::default(), &server_with(small()), 1)
}

#[test]
fn handshake_frame() {
    let mut server = Connection::server(&server_with(small()), 1, Time::ZERO).unwrap();
    let mut heard = Heard::default();
    heard.feed(&mut server, &[0, 101]);
    check(heard.closed.as_ref(), Limit::HandshakeFrame, 101, 100);

    let config = ClientConfig { limits: small(), ..ClientConfig::default() };
    let mut client = Connection::client(&config, 1, Time::ZERO).unwrap();
    let mut heard = Heard::default();
    heard.feed(&mut client, &[0xff, 0xff]);
    check(heard.closed.as_ref(), Limit::HandshakeFrame, 65_535, 100);
}

#[test]
fn http_head() {
    for start in [&b"GET /WebSocket HTTP/1.1\r\n"[..], b"POST / HTTP/1.1\r\n"] {
        let mut server = Connection::server(&server_with(small()), 1, Time::ZERO).unwrap();
        let mut heard = Heard::default();
        heard.feed(&mut server, start);
        for _ in 0..400 {
            heard.feed(&mut server, b"x");
        }
        check(heard.closed.as_ref(), Limit::HttpHead, 401, 400);
    }
}

fn tunnel() -> Opening {
    Opening::HttpTunnel {
        host: "h:1".to_owned(),
        path: "/".to_owned(),
        process_id: 1,
        address: [0; 4],
    }
}

#[test]
fn chunk_line() {
    let client = ClientConfig { opening: tunnel(), limits: small(), ..ClientConfig::default() };
    let mut pair = Pair::connected(&client, &ServerConfig::default(), 1);
    pair.piece = 1;
    pair.inject_to_client(b"5;name=value;name=value\r\n");
    check(pair.client.closed.as_ref(), Limit::ChunkLine, 17, 16);
}

#[test]
fn fragment_size() {
    let limits = Limits { fragment_bytes: 5000, ..Limits::default() };
    let client = ClientConfig { limits, ..ClientConfig::default() };
    let mut pair = Pair::new(&client, &ServerConfig::default(), 1);
    pair.run();
    check(pair.client.closed.as_ref(), Limit::FragmentSize, 6144, 5000);
}

#[test]
fn frame() {
    let mut pair = pair();
    pair.inject_to_server(&[0x18, 0x04]);
    check(pair.server.closed.as_ref(), Limit::Frame, 6148, 6147);

    let opening = Opening::WebSocket { host: "h:1".to_owned(), path: "/WebSocket".to_owned() };
    let client = ClientConfig { opening, ..ClientConfig::default() };
    let mut pair = Pair::connected(&client, &ServerConfig::default(), 1);
    pair.inject_to_server(&[0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
    check(pair.server.closed.as_ref(), Limit::Frame, 1 << 32, 6147);
    assert!(pair.server.wire.ends_with(&[0x88, 2, 0x03, 0xf1]), "close code 1009");
}

#[test]
fn decompressed_body() {
    for compression in [Compression::Zlib, Compression::Lz4] {
        let client = ClientConfig { compression, ..ClientConfig::default() };
        let server = ServerConfig { compression, fragment_bytes: 100, ..ServerConfig::default() };
        let mut pair = Pair::connected(&client, &server, 1);
        let bomb = match compression {
            Compression::Zlib => {
                let mut out = Vec::with_capacity(200);
                flate2::Compress::new(flate2::Compression::best(), true)
                    .compress_vec(&[0; 5000], &mut out, flate2::FlushCompress::Sync)
                    .unwrap();
                out
            }
            _ => lz4_flex::block::compress(&[0; 5000]),
        };
        let mut frame = (bomb.len() as u16 + 3).to_be_bytes().to_vec();
        frame.push(4);
        frame.extend(bomb);
        pair.inject_to_server(&frame);
        let closed = pair.server.closed;
        let is_named = matches!(
            closed,
            Some(CloseReason::Limit { limit: Limit::DecompressedBody, max: 100, value: 101.. })
        );
        assert!(is_named, "{closed:?}");
    }
}

/// A first fragment with one byte of payload.
fn first(id: u8, total: u32) -> Vec<u8> {
    let mut frame = vec![0, 11, 3, 8];
    frame.extend(total.to_be_bytes());
    frame.extend([0, id, b'x']);
    frame
}

#[test]
fn message() {
    let mut pair = pair();
    pair.inject_to_server(&first(1, 10_001));
    pair.inject_to_server(&first(2, 2));
    pair.inject_to_server(&[0, 8, 3, 4, 0, 1, b'y', b'z'][..]);
    pair.inject_to_server(&[0, 7, 3, 4, 0, 2, b'y'][..]);
    // The connection goes on, and the rest of the message belongs to nothing.
    assert_eq!(pair.server.closed, None);
    assert_eq!(pair.server.too_long, [(b"x".to_vec(), 10_001, 10_000)]);
    assert_eq!(pair.server.messages, [b"xy"]);
    assert_eq!(pair.server.connection.counters().messages_too_long, 1);

    let mut pair = self::pair();
    let too_long = SendError::TooLong { length: 10_001, max: 10_000 };
    assert_eq!(pair.server.connection.send(Priority::High, &[0; 10_001]), Err(too_long));
    assert_eq!(pair.server.connection.queued_bytes(), 0);
    pair.server.connection.send(Priority::High, &[0; 10_000]).unwrap();
    pair.run();
    assert_eq!(pair.client.messages.len(), 1);
}

#[test]
fn reassembly() {
    let mut pair = pair();
    pair.inject_to_server(&first(1, 10_000));
    pair.inject_to_server(&first(2, 5_000));
    assert_eq!(pair.server.closed, None);
    pair.inject_to_server(&first(3, 2));
    assert_eq!(pair.server.closed, None);
    assert_eq!(pair.server.too_long, [(b"x".to_vec(), 2, 15_000)]);
}

#[test]
fn reassembly_count() {
    let mut pair = pair();
    for id in 1..4 {
        pair.inject_to_server(&first(id, 10));
    }
    pair.inject_to_server(&first(1, 10));
    assert_eq!(pair.server.closed, None, "a replaced message makes room");
    pair.inject_to_server(&first(4, 10));
    check(pair.server.closed.as_ref(), Limit::ReassemblyCount, 4, 3);
}

#[test]
fn output() {
    let mut pair = pair();
    let connection = &mut pair.server.connection;
    let mut accepted = 0;
    let error = loop {
        match connection.pack(Priority::High, &[7; 1000]) {
            Ok(_) => accepted += 1,
            Err(error) => break error,
        }
    };
    let queued = connection.queued_bytes();
    assert_eq!(error, SendError::OutputFull { queued, max: 20_000 });
    // Three frames of six; a fourth might hold 6,144 bytes.
    assert_eq!(accepted, 18);
    assert!(connection.pack_room(Priority::Low, 1000).is_err());
    let long = connection.send(Priority::Low, &[7; 2000]);
    assert_eq!(long, Err(error), "a message of its own is admitted by its size");
    assert_eq!(
        error.to_string(),
        format!("{queued} bytes are queued, at most 20000 may be; send less, conflate or close")
    );
    connection.flush();
    pair.run();
    assert_eq!(pair.client.messages.len(), accepted);
    pair.server.connection.pack(Priority::High, &[7; 1000]).unwrap();
}

#[test]
fn answers_to_websocket_pings() {
    let opening = Opening::WebSocket { host: "h:1".to_owned(), path: "/WebSocket".to_owned() };
    let client = ClientConfig { opening, ..ClientConfig::default() };
    let mut pair = Pair::connected(&client, &server_with(small()), 1);
    // A peer that pings and never reads.
    let connection = &mut pair.server.connection;
    for _ in 0..1000 {
        let room = connection.recv_buffer();
        room[..6].copy_from_slice(&[0x89, 0x80 | 0x64, 0, 0, 0, 0]);
        connection.received(106, pair.now);
        assert!(connection.poll_event().is_none());
    }
    assert!(connection.queued_bytes() <= 20_000);
}

#[test]
fn the_text_of_a_limit_names_it() {
    let text = CloseReason::Limit { limit: Limit::ReassemblyCount, value: 65, max: 64 }.to_string();
    assert_eq!(text, "limit exceeded: 65 of at most 64 messages in reassembly (reassembly_count)");
}

#[test]
fn who_has_shown_who_it_is_may_have_other_bounds() {
    let mut pair = pair();
    // The start of a message of 20,000 bytes, in fragments.
    let start = [0, 14, 3, 8, 0, 0, 0x4e, 0x20, 0, 1, b'a', b'b', b'c', b'd'];
    pair.server.connection.set_limits(&Limits::default());
    pair.client.connection.set_limits(&Limits::default());
    pair.inject_to_server(&start);
    assert_eq!(pair.server.closed, None);
    pair.server.connection.send(Priority::High, &vec![1; 30_000]).unwrap();
    pair.run();
    assert_eq!(pair.client.messages, [vec![1; 30_000]]);

    let mut pair = self::pair();
    pair.inject_to_server(&start);
    assert_eq!(pair.server.closed, None);
    assert_eq!(pair.server.too_long, [(b"abcd".to_vec(), 20_000, 10_000)]);
}
