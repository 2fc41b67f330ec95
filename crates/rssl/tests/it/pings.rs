//! Pings and silence, under virtual time.

use std::time::Duration;

use crate::support::pair::Pair;
use tapeline_rssl::{ClientConfig, CloseReason, Opening, Pings, Priority, ServerConfig};
use tapeline_time::Time;

const SECOND: Duration = Duration::from_secs(1);

fn pair(ping_timeout_s: u8) -> Pair {
    let client = ClientConfig { ping_timeout_s, ..ClientConfig::default() };
    let server = ServerConfig { min_ping_timeout_s: 3, ..ServerConfig::default() };
    Pair::connected(&client, &server, 1)
}

#[test]
fn the_ping_timeout_is_clamped_to_the_servers_range() {
    let agreed = |asked, min_ping_timeout_s, max_ping_timeout_s| {
        let client = ClientConfig { ping_timeout_s: asked, ..ClientConfig::default() };
        let server =
            ServerConfig { min_ping_timeout_s, max_ping_timeout_s, ..ServerConfig::default() };
        Pair::connected(&client, &server, 1).client.connected.unwrap().ping_timeout_s
    };
    assert_eq!(agreed(255, 60, 90), 90);
    assert_eq!(agreed(7, 3, 30), 7);
    assert_eq!(agreed(1, 20, 60), 20);
}

#[test]
fn an_idle_side_pings_every_third_of_the_timeout() {
    let mut pair = pair(30);
    for _ in 0..120 {
        pair.pass(SECOND);
        pair.run();
    }
    assert!(pair.client.closed.is_none() && pair.server.closed.is_none());
    assert_eq!(pair.client.connection.counters().pings_sent, 12);
    assert_eq!(pair.server.connection.counters().pings_received, 12);
    assert!(pair.client.wire.ends_with(&[0, 3, 2, 0, 3, 2]));
}

#[test]
fn a_server_pings_as_often_as_it_is_told_but_never_too_late() {
    let sent = |interval_s| {
        let client = ClientConfig { ping_timeout_s: 30, ..ClientConfig::default() };
        let pings = Pings { interval_s: Some(interval_s), ..Pings::default() };
        let server = ServerConfig { pings, ..ServerConfig::default() };
        let mut pair = Pair::connected(&client, &server, 1);
        for _ in 0..60 {
            pair.pass(SECOND);
            pair.run();
        }
        assert!(pair.client.closed.is_none() && pair.server.closed.is_none());
        pair.server.connection.counters().pings_sent
    };
    assert_eq!((sent(5), sent(200)), (12, 4));
}

#[test]
fn a_server_that_is_told_not_to_ping_sends_none_and_is_given_up_by_who_waits_for_them() {
    let after = |are_sent| {
        let client = ClientConfig { ping_timeout_s: 30, ..ClientConfig::default() };
        let pings = Pings { are_sent, ..Pings::default() };
        let server = ServerConfig { pings, ..ServerConfig::default() };
        let mut pair = Pair::connected(&client, &server, 1);
        for _ in 0..29 {
            pair.pass(SECOND);
            pair.run();
        }
        let sent = pair.server.connection.counters().pings_sent;
        pair.pass(SECOND);
        pair.run();
        (sent, pair.client.closed.clone())
    };
    assert_eq!(after(true), (2, None));
    assert_eq!(after(false), (0, Some(CloseReason::PingTimeout { timeout_s: 30 })));
}

#[test]
fn a_client_that_need_not_ping_is_kept() {
    let closed = |are_expected| {
        let client = ClientConfig { ping_timeout_s: 30, ..ClientConfig::default() };
        let pings = Pings { are_expected, ..Pings::default() };
        let server = ServerConfig { pings, ..ServerConfig::default() };
        let mut pair = Pair::connected(&client, &server, 1);
        for _ in 0..90 {
            // The client's side does nothing, and so does not ping.
            pair.pass_at_server(SECOND);
        }
        pair.server.closed.clone()
    };
    assert_eq!(closed(true), Some(CloseReason::PingTimeout { timeout_s: 30 }));
    assert_eq!(closed(false), None);
}

#[test]
fn a_side_that_writes_does_not_ping() {
    let mut pair = pair(30);
    for _ in 0..60 {
        pair.pass(SECOND);
        pair.server.connection.send(Priority::High, b"update").unwrap();
        pair.run();
    }
    assert_eq!(pair.server.connection.counters().pings_sent, 0);
    assert_eq!(pair.client.connection.counters().pings_sent, 6);
}

#[test]
fn waiting_output_stands_for_a_ping() {
    let mut pair = pair(30);
    pair.server.connection.pack(Priority::Low, b"still packing").unwrap();
    assert_eq!(pair.server.connection.sendable_bytes(), 0);
    pair.pass(10 * SECOND);
    assert!(pair.server.connection.sendable_bytes() > 0);
    pair.run();
    assert_eq!(pair.server.connection.counters().pings_sent, 0);
    assert_eq!(pair.client.messages, [b"still packing"]);
}

#[test]
fn silence_for_the_whole_timeout_closes_and_not_a_moment_less() {
    let mut pair = pair(3);
    let start = pair.now;
    // The server is gone: nothing the client sends arrives.
    pair.now = start.after(Duration::from_millis(2999));
    pair.client.connection.handle_timeout(pair.now);
    pair.drop_in_flight();
    assert!(pair.client.connection.poll_event().is_none());
    pair.now = start.after(3 * SECOND);
    assert_eq!(pair.client.connection.next_deadline(), Some(pair.now));
    pair.client.connection.handle_timeout(pair.now);
    pair.run();
    assert_eq!(pair.client.closed, Some(CloseReason::PingTimeout { timeout_s: 3 }));
    assert!(pair.client.connection.is_finished());
    assert_eq!(pair.client.connection.next_deadline(), None);
}

#[test]
fn a_single_byte_counts_as_life() {
    let mut pair = pair(3);
    for byte in [0, 4, 2, b'x'] {
        pair.now = pair.now.after(Duration::from_millis(2900));
        pair.client.connection.recv_buffer()[0] = byte;
        pair.client.connection.received(1, pair.now);
        pair.client.connection.handle_timeout(pair.now);
        pair.run();
    }
    assert!(pair.client.closed.is_none());
    assert_eq!(pair.client.messages, [b"x"]);
}

#[test]
fn the_deadline_is_the_next_thing_due() {
    let mut pair = pair(30);
    let ping = pair.now.after(10 * SECOND);
    assert_eq!(pair.client.connection.next_deadline(), Some(ping));
    pair.client.connection.handle_timeout(Time::from_nanos(ping.as_nanos() - 1));
    assert_eq!(pair.client.connection.queued_bytes(), 0);
    pair.client.connection.handle_timeout(ping);
    assert_eq!(pair.client.connection.queued_bytes(), 3);
    // Blocked: the ping stays queued and no second one joins it.
    pair.client.connection.handle_timeout(ping.after(10 * SECOND));
    assert_eq!(pair.client.connection.queued_bytes(), 3);
    assert_eq!(pair.client.connection.next_deadline(), Some(ping.after(20 * SECOND)));
}

#[test]
fn pings_are_wrapped_like_any_frame() {
    let host = "h:1".to_owned();
    for opening in [
        Opening::WebSocket { host: host.clone(), path: "/WebSocket".to_owned() },
        Opening::HttpTunnel { host, path: "/".to_owned(), process_id: 1, address: [0; 4] },
    ] {
        let is_tunnel = matches!(opening, Opening::HttpTunnel { .. });
        let client = ClientConfig { opening, ..ClientConfig::default() };
        let mut pair = Pair::connected(&client, &ServerConfig::default(), 1);
        pair.pass(20 * SECOND);
        pair.run();
        let ping: &[u8] =
            if is_tunnel { b"3;;;\r\n\x00\x03\x02\r\n" } else { b"\x82\x03\x00\x03\x02" };
        assert!(pair.server.wire.ends_with(ping));
        assert_eq!(pair.client.connection.counters().pings_received, 1);
        assert_eq!(pair.server.connection.counters().pings_received, 1);
    }
}

#[test]
fn a_bare_ping_of_the_vendors_tunnel_server_is_understood() {
    let opening = Opening::HttpTunnel {
        host: "h:1".to_owned(),
        path: "/".to_owned(),
        process_id: 1,
        address: [0; 4],
    };
    let client = ClientConfig { opening, ..ClientConfig::default() };
    let mut pair = Pair::connected(&client, &ServerConfig::default(), 1);
    pair.inject_to_client(b"\x00\x03\x02");
    pair.inject_to_client(b"5;;;\r\n\x00\x05\x02hi\r\n\x00\x03\x02");
    assert_eq!(pair.client.connection.counters().pings_received, 2);
    assert_eq!(pair.client.messages, [b"hi"]);
}

#[test]
fn a_handshake_that_takes_too_long_is_over() {
    let mut pair = Pair::new(&ClientConfig::default(), &ServerConfig::default(), 1);
    let deadline = pair.now.after(60 * SECOND);
    assert_eq!(pair.server.connection.next_deadline(), Some(deadline));
    pair.pass(59 * SECOND);
    assert!(pair.server.connection.poll_event().is_none());
    pair.pass(SECOND);
    pair.drop_in_flight();
    pair.run();
    let over = Some(CloseReason::HandshakeTimeout { limit_ms: 60_000 });
    assert_eq!((pair.client.closed, pair.server.closed), (over.clone(), over));
}

/// A masked ping of a WebSocket client, with this in it.
fn websocket_ping(payload: u8) -> [u8; 7] {
    [0x89, 0x81, 0, 0, 0, 0, payload]
}

fn over_websocket() -> ClientConfig {
    let opening = Opening::WebSocket { host: "h:1".to_owned(), path: "/WebSocket".to_owned() };
    ClientConfig { opening, ..ClientConfig::default() }
}

#[test]
fn of_pings_that_wait_for_an_answer_the_newest_gets_one() {
    let mut pair = Pair::connected(&over_websocket(), &ServerConfig::default(), 1);
    pair.server.connection.send(Priority::Low, &[7; 3000]).unwrap();
    let before = pair.server.connection.queued_bytes();
    for number in 0..=255 {
        pair.give_to_server(&websocket_ping(number));
    }
    // One answer waits, whatever else does.
    assert_eq!(pair.server.connection.queued_bytes(), before + 3);
    let sent = pair.server.wire.len();
    pair.run();
    let wire = &pair.server.wire[sent..];
    assert_eq!(wire[..3], [0x8a, 1, 0], "the first was answered at once");
    assert!(wire.ends_with(&[0x8a, 1, 255]), "and the newest when that was sent");
    assert_eq!(wire.len(), before + 6);
    pair.give_to_server(&websocket_ping(9));
    assert_eq!(pair.server.connection.queued_bytes(), 3);
}

#[test]
fn pings_that_nobody_reads_answers_of_make_nothing_grow() {
    let mut pair = Pair::connected(&over_websocket(), &ServerConfig::default(), 1);
    for number in 0..100_000_u32 {
        pair.give_to_server(&websocket_ping(number as u8));
    }
    assert_eq!(pair.server.connection.queued_bytes(), 3);
    assert!(pair.server.connection.send_memory_bytes() < 10_000);
}
