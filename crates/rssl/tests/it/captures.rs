//! Every captured session of the vendor's own SDK, replayed against this crate
//! in the place of each of its two sides.

use crate::support::frames::{Around, after_head, unwrap};
use crate::support::{Capture, Expected, Heard, Split};
use tapeline_rssl::websocket::accept_key;
use tapeline_rssl::{
    ClientConfig, CloseReason, Compression, Connection, KeyExchange, Opening, ProtocolError,
    ServerConfig, Version,
};
use tapeline_time::Time;

/// The captured ack, bare.
fn captured_ack(capture: &Capture) -> Option<Vec<u8>> {
    let record = capture.record(false, "connect ack")?;
    Some(unwrap(around(capture, false), &record.bytes).0.remove(0))
}

fn around(capture: &Capture, to_server: bool) -> Around {
    if capture.name.contains("ws-rwf") {
        Around::WebSocket
    } else if capture.name.contains("http") && !to_server {
        Around::Chunks
    } else {
        Around::Nothing
    }
}

fn named_compression(name: &str) -> Compression {
    match name.rsplit('-').next() {
        Some("zlib") => Compression::Zlib,
        Some("lz4") => Compression::Lz4,
        _ => Compression::None,
    }
}

fn text_at(bytes: &[u8], length_at: usize) -> String {
    let length = usize::from(bytes[length_at]);
    String::from_utf8(bytes[length_at + 1..length_at + 1 + length].to_vec()).unwrap()
}

/// The configuration of the server in the capture.
fn server_config(capture: &Capture) -> ServerConfig {
    let session = capture.session();
    let mut config = ServerConfig {
        compression: named_compression(session),
        force_compression: session.starts_with("eta-force"),
        ..ServerConfig::default()
    };
    if session == "eta-protocol-mismatch" {
        config.protocol_type = 2;
    }
    if session == "eta-nak" {
        config.refusal = Some("Connection refused.".to_owned());
    }
    let Some(ack) = captured_ack(capture) else { return config };
    config.fragment_bytes = u16::from_be_bytes([ack[10], ack[11]]);
    config.compression_level = ack[18];
    (config.min_ping_timeout_s, config.max_ping_timeout_s) = match session {
        "eta-small-fragments" => (3, 30),
        "eta-pings-one-way" => (60, 90),
        _ if session.starts_with("ema") => (3, 60),
        _ => (20, 60),
    };
    if ack[9] >= 8 {
        let key_block = if ack[9] == 9 && ack[19] == 8 { 27 } else { 0 };
        config.component_version = text_at(&ack, 20 + key_block);
    }
    config
}

/// The configuration of the client in the capture, read from its request.
fn client_config(capture: &Capture) -> ClientConfig {
    let record = capture.record(true, "connect request").expect("a request");
    let request = unwrap(around(capture, true), &record.bytes).0.remove(0);
    let version = Version::from_request_code(u32::from(request[6])).expect("a known version");
    let bitmap = usize::from(request[9]);
    let host_at = if version == Version::V11 { 14 } else { 15 } + bitmap;
    let host_name = text_at(&request, host_at);
    let address_at = host_at + 1 + host_name.len();
    let address = text_at(&request, address_at);
    let component_at = address_at + 2 + address.len();
    ClientConfig {
        version,
        opening: opening(capture),
        compression: match (bitmap, request[10]) {
            (1, 1) => Compression::Zlib,
            (1, 2) => Compression::Lz4,
            _ => Compression::None,
        },
        ping_timeout_s: request[10 + bitmap],
        key_exchange: if request[7] == 8 { KeyExchange::Always } else { KeyExchange::Never },
        component_version: if version >= Version::V13 {
            text_at(&request, component_at)
        } else {
            "not sent".to_owned()
        },
        host_name,
        address,
        ..ClientConfig::default()
    }
}

fn opening(capture: &Capture) -> Opening {
    let head = String::from_utf8_lossy(&capture.records[0].bytes).into_owned();
    let host = head.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap_or("").to_owned();
    let path = head.split(' ').nth(1).unwrap_or("").to_owned();
    if head.starts_with("GET ") {
        Opening::WebSocket { host, path }
    } else if head.starts_with("POST ") {
        let open = &capture.records[1].bytes;
        let process_id = u16::from_be_bytes([open[7], open[8]]);
        Opening::HttpTunnel { host, path, process_id, address: [127, 0, 0, 1] }
    } else {
        Opening::Socket
    }
}

#[track_caller]
fn check_messages(expected: &[Expected], heard: &Heard, context: &str) {
    assert_eq!(heard.messages.len(), expected.len(), "{context}: {:?}", heard.closed);
    for (at, (expected, got)) in expected.iter().zip(&heard.messages).enumerate() {
        expected.check(got, &format!("{context}, message {at}"));
    }
}

#[test]
fn our_server_understands_every_captured_client() {
    for capture in Capture::all().iter().filter(|capture| !capture.is_json()) {
        let stream = capture.stream(true);
        for split in Split::SOME {
            let context = format!("{} {split:?}", capture.name);
            let mut server = Connection::server(&server_config(capture), 1, Time::ZERO).unwrap();
            let mut heard = Heard::default();
            for piece in split.pieces(&stream) {
                heard.feed(&mut server, piece);
            }
            // The captured server of the fallback hung up on purpose; ours
            // knows all four requests and waits for a key after the first.
            let expects_ack = match capture.session() {
                "eta-fallback" => !capture.name.ends_with("#0"),
                _ => captured_ack(capture).is_some(),
            };
            assert_eq!(heard.connected, expects_ack, "{context}: {:?}", heard.closed);
            check_messages(&capture.messages(true), &heard, &context);
            heard.hang_up(&mut server);
            if expects_ack {
                assert_eq!(heard.closed, Some(CloseReason::PeerClosed), "{context}");
            }
        }
    }
}

#[test]
fn our_server_answers_as_the_captured_server_did() {
    for capture in Capture::all().iter().filter(|capture| !capture.is_json()) {
        let name = &capture.name;
        let mut server = Connection::server(&server_config(capture), 1, Time::ZERO).unwrap();
        let mut heard = Heard::default();
        heard.feed(&mut server, &capture.stream(true));
        let mut ours = heard.sent.clone();
        let mut theirs = Vec::new();
        for record in capture.direction(false) {
            let is_answer = ["WebSocket opening", "HTTP response", "tunnel session", "connect "];
            if is_answer.iter().any(|note| record.note.starts_with(note)) {
                theirs.extend_from_slice(&record.bytes);
            }
        }
        if capture.session() == "eta-fallback" {
            // That server hung up on purpose; ours knows all four requests.
            assert_eq!(ours[2..4], [1, 1], "{name}");
            continue;
        }
        ours.truncate(theirs.len());
        mask_random_parts(&mut ours);
        mask_random_parts(&mut theirs);
        assert_eq!(tapeline_golden::hex(&ours), tapeline_golden::hex(&theirs), "{name}");
    }
}

/// Blanks P and the server's key in an ack with a key block, and the number of
/// a tunnel.
fn mask_random_parts(bytes: &mut [u8]) {
    if let Some(at) = bytes.windows(3).position(|window| window == [8, 1, 24]) {
        bytes[at + 3..at + 11].fill(0);
        bytes[at + 19..at + 27].fill(0);
    }
    if let Some(at) = bytes.windows(6).position(|window| window == b"7\r\n\x00\x07\x00") {
        bytes[at + 6..at + 10].fill(0);
    }
}

#[test]
fn our_client_asks_as_the_captured_client_did() {
    for capture in Capture::all().iter().filter(|capture| !capture.is_json()) {
        let name = &capture.name;
        if capture.session() == "eta-v14-unknown-version" {
            continue;
        }
        let mut client = Connection::client(&client_config(capture), 1, Time::ZERO).unwrap();
        let mut heard = Heard::default();
        let replayed = replay_to_client(&mut client, &mut heard, capture, Split::Whole);
        let (mut ours, mut theirs) = (heard.sent.clone(), capture.stream(true));
        if around(capture, true) == Around::WebSocket {
            compare_websocket_opening(&ours, &theirs, name);
            ours.drain(..after_head(&ours));
            theirs.drain(..after_head(&theirs));
            ours = unwrap(Around::WebSocket, &ours).0.concat();
            theirs = unwrap(Around::WebSocket, &theirs).0.concat();
        }
        // The client key ends what a client says on its own.
        let request = ours.len().min(theirs.len());
        let key = if replayed && sends_key(capture) { 12 } else { 0 };
        assert_eq!(
            tapeline_golden::hex(&ours[..request - key]),
            tapeline_golden::hex(&theirs[..request - key]),
            "{name}"
        );
        assert_eq!(ours.len(), request, "{name}: nothing more was said");
        assert_eq!(&ours[request - key..][..key.min(4)], &[0, 12, 8, 8][..key.min(4)], "{name}");
    }
}

fn sends_key(capture: &Capture) -> bool {
    capture.record(true, "client key").is_some()
}

fn compare_websocket_opening(ours: &[u8], theirs: &[u8], name: &str) {
    let lines = |bytes: &[u8]| -> Vec<String> {
        String::from_utf8_lossy(&bytes[..after_head(bytes)])
            .lines()
            .map(|line| match line.strip_prefix("Sec-WebSocket-Key: ") {
                Some(key) => format!("key of {} characters", key.len()),
                None => line.to_owned(),
            })
            .collect()
    };
    assert_eq!(lines(ours), lines(theirs), "{name}");
}

/// Feeds the server's captured bytes, with the answer to our own WebSocket
/// key in the place of the captured one.
fn replay_to_client(
    client: &mut Connection,
    heard: &mut Heard,
    capture: &Capture,
    split: Split,
) -> bool {
    heard.poll(client);
    let mut stream = capture.stream(false);
    if capture.records[0].bytes.starts_with(b"GET ") {
        let request = String::from_utf8_lossy(&heard.sent).into_owned();
        let key = request
            .lines()
            .find_map(|line| line.strip_prefix("Sec-WebSocket-Key: "))
            .expect("a key");
        let head = after_head(&stream);
        let answer: String = String::from_utf8_lossy(&stream[..head])
            .split_inclusive("\r\n")
            .map(|line| {
                if line.starts_with("Sec-WebSocket-Accept") {
                    format!("Sec-WebSocket-Accept: {}\r\n", accept_key(key))
                } else {
                    line.to_owned()
                }
            })
            .collect();
        stream.splice(..head, answer.into_bytes());
    }
    for piece in split.pieces(&stream) {
        heard.feed(client, piece);
    }
    heard.connected
}

#[test]
fn our_client_understands_every_captured_server() {
    for capture in Capture::all().iter().filter(|capture| !capture.is_json()) {
        if capture.session() == "eta-v14-unknown-version" {
            continue;
        }
        let config = client_config(capture);
        for split in Split::SOME {
            let context = format!("{} {split:?}", capture.name);
            let mut client = Connection::client(&config, 1, Time::ZERO).unwrap();
            let mut heard = Heard::default();
            let connected = replay_to_client(&mut client, &mut heard, capture, split);
            assert_eq!(connected, captured_ack(capture).is_some(), "{context}: {:?}", heard.closed);
            check_messages(&capture.messages(false), &heard, &context);
            heard.hang_up(&mut client);
            let refused = CloseReason::Refused { text: "Connection refused.".to_owned() };
            let expected = match capture.session() {
                "eta-nak" | "eta-protocol-mismatch" => refused,
                "eta-fallback" => {
                    CloseReason::NoAnswer { asked: config.version, next: config.version.older() }
                }
                _ => CloseReason::PeerClosed,
            };
            assert_eq!(heard.closed, Some(expected), "{context}");
        }
    }
}

#[test]
fn fallback_walks_through_the_captured_requests() {
    let captures: Vec<Capture> =
        Capture::all().into_iter().filter(|c| c.session() == "eta-fallback").collect();
    assert_eq!(captures.len(), 4);
    let mut config = client_config(&captures[0]);
    let mut tried = 0;
    loop {
        let mut client = Connection::client(&config, 1, Time::ZERO).unwrap();
        let mut heard = Heard::default();
        heard.poll(&mut client);
        assert_eq!(heard.sent, captures[tried].stream(true));
        heard.hang_up(&mut client);
        tried += 1;
        match heard.closed.and_then(|reason| reason.fallback()) {
            Some(version) => config.version = version,
            None => break,
        }
    }
    assert_eq!(tried, 4);
}

#[test]
fn an_unknown_version_is_closed_without_an_answer() {
    let capture = Capture::named("eta-v14-unknown-version");
    let mut server = Connection::server(&server_config(&capture), 1, Time::ZERO).unwrap();
    let mut heard = Heard::default();
    heard.feed(&mut server, &capture.stream(true));
    assert_eq!(heard.closed, Some(ProtocolError::UnknownVersion(0x30).into()));
    assert!(heard.sent.is_empty());
}

#[test]
fn a_json_client_is_refused_or_handed_over() {
    for session in ["ema-ws-json", "ema-ws-json-deflate"] {
        let stream = Capture::named(session).stream(true);
        for split in Split::SOME {
            let mut server = Connection::server(&ServerConfig::default(), 1, Time::ZERO).unwrap();
            let mut heard = Heard::default();
            for piece in split.pieces(&stream) {
                heard.feed(&mut server, piece);
            }
            let offered = "tr_json2".to_owned();
            assert_eq!(heard.closed, Some(ProtocolError::Subprotocol { offered }.into()));
            assert!(heard.sent.starts_with(b"HTTP/1.1 400 Bad Request\r\n"));
            assert!(server.is_finished());

            let config = ServerConfig {
                other_subprotocols: vec!["tr_json2".to_owned()],
                ..ServerConfig::default()
            };
            let mut server = Connection::server(&config, 1, Time::ZERO).unwrap();
            let head = &stream[..after_head(&stream)];
            let mut heard = Heard::default();
            for piece in split.pieces(head) {
                heard.feed(&mut server, piece);
            }
            assert_eq!(heard.other_subprotocol.as_deref(), Some("tr_json2"));
            assert_eq!((server.unread(), heard.sent.len()), (head, 0));
        }
    }
}

#[test]
fn a_json_server_is_refused_by_our_client() {
    let capture = Capture::named("ema-ws-json");
    let config = ClientConfig { opening: opening(&capture), ..ClientConfig::default() };
    let mut client = Connection::client(&config, 1, Time::ZERO).unwrap();
    let mut heard = Heard::default();
    replay_to_client(&mut client, &mut heard, &capture, Split::Whole);
    let offered = "tr_json2".to_owned();
    assert_eq!(heard.closed, Some(ProtocolError::Subprotocol { offered }.into()));
}
