//! Every recorded session of the vendor's SDK, followed from outside.

use serde_json::Value;
use tapeline_golden::{hex, transport_captures, unhex, vectors};
use tapeline_inspect::Inspector;
use tapeline_inspect::capture::{Frame, Seen, Session, Side};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Encoded};

fn side(record: &Value) -> Side {
    if record["direction"] == "client->server" { Side::Client } else { Side::Server }
}

/// Whether a message is the one that the record tells of, in whole or by
/// length and head.
fn is_same(message: &[u8], want: &Value) -> bool {
    match want["hex"].as_str() {
        Some(bytes) => hex(message) == bytes,
        None => {
            want["length"] == message.len()
                && want["head"].as_str().is_some_and(|head| hex(message).starts_with(head))
        }
    }
}

fn kind(frame: &Frame) -> &'static str {
    match frame {
        Frame::HttpHead(_) => "head",
        Frame::WebSocket { .. } => "control",
        Frame::Text(_) => "text",
        Frame::Tunnel => "tunnel",
        Frame::ConnectRequest(_) => "connectRequest",
        Frame::ConnectAck(_) => "connectAck",
        Frame::ConnectNak(_) => "connectNak",
        Frame::ClientKey => "clientKey",
        Frame::Ping => "ping",
        Frame::Data(_) => "data",
    }
}

/// What the record calls the same.
fn recorded_kind(name: &str) -> &str {
    match name {
        "wsRequest" | "wsResponse" | "httpRequest" | "httpResponse" => "head",
        "tunnelOpen" | "tunnelOpenAck" => "tunnel",
        "wsClose" => "control",
        other => other,
    }
}

/// Records of a capture that hold one frame each, by connection.
fn connections(name: &str) -> Vec<Vec<Value>> {
    let mut connections: Vec<Vec<Value>> = Vec::new();
    for record in vectors(name) {
        let number = record["connection"].as_u64().unwrap_or(0) as usize;
        connections.resize_with(connections.len().max(number + 1), Vec::new);
        connections[number].push(record);
    }
    connections
}

/// Feeds a connection in pieces of a size; returns messages by side.
fn follow(records: &[Value], piece: usize) -> [Vec<Vec<u8>>; 2] {
    let mut session = Session::new();
    let mut messages = [Vec::new(), Vec::new()];
    for record in records {
        let side = side(record);
        for bytes in unhex(record["hex"].as_str().expect("bytes")).chunks(piece) {
            for seen in session.feed(side, bytes) {
                messages[usize::from(side == Side::Server)].extend(seen.messages);
            }
        }
    }
    messages
}

#[test]
fn every_frame_of_every_rwf_session_is_told_with_its_messages() {
    let fields = FieldDictionary::builtin();
    let mut count = 0;
    for name in transport_captures().iter().filter(|name| !name.contains("json")) {
        for records in connections(name) {
            let mut session = Session::new();
            for record in &records {
                let about = &record["name"];
                let bytes = unhex(record["hex"].as_str().expect("bytes"));
                let seen = session.feed(side(record), &bytes);
                let want = recorded_kind(record["frame"]["type"].as_str().unwrap_or(""));
                // An edited request that the server answered by hanging up.
                if name.contains("unknown-version") && want == "connectRequest" {
                    continue;
                }
                let [seen] = seen.as_slice() else {
                    assert!(bytes.is_empty() && seen.is_empty(), "{about}: {seen:?}");
                    continue;
                };
                assert_eq!(seen.fault, None, "{about}");
                let frame = seen.frame.as_ref().expect("a frame");
                assert!(want.is_empty() || kind(frame) == want, "{about}: {frame:?}");
                let expected = record["messages"].as_array().map_or(&[][..], Vec::as_slice);
                assert_eq!(seen.messages.len(), expected.len(), "{about}");
                for (message, expected) in seen.messages.iter().zip(expected) {
                    assert!(is_same(message, expected), "{about}: {}", hex(message));
                    count += 1;
                    if let Some(value) = expected.get("value") {
                        let data = Encoded::new(DataType::MSG, message);
                        let read = Inspector::new(fields).to_value(&data, None);
                        assert_eq!(read.as_ref(), Ok(value), "{about}");
                    }
                }
            }
        }
    }
    assert!(count > 500, "{count} messages");
}

#[test]
fn pieces_of_any_size_give_the_same_messages() {
    for name in ["transport_ema-ws-rwf", "transport_eta-http-none", "transport_eta-v14-split-zlib"]
    {
        for records in connections(name) {
            let whole = follow(&records, usize::MAX);
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(follow(&records, piece), whole, "{name} {piece}");
            }
        }
    }
}

#[test]
fn a_session_from_its_middle_on_is_followed() {
    for name in
        ["transport_ema-socket-none", "transport_ema-socket-lz4", "transport_ema-socket-zlib"]
    {
        let [records] = &connections(name)[..] else { panic!("one connection") };
        let all = follow(records, usize::MAX);
        // From the first record on that holds content.
        let start = records.iter().position(|record| record.get("messages").is_some());
        let rest = follow(&records[start.expect("content")..], usize::MAX);
        assert_eq!(rest, all, "{name}");
    }
}

#[test]
fn missing_bytes_end_a_direction_and_say_so() {
    let mut session = Session::new();
    let seen = session.lose(Side::Server, 12);
    let fault = seen[0].fault.as_deref().expect("a fault");
    assert!(fault.starts_with("12 bytes are missing in the capture"), "{fault}");
    assert!(session.feed(Side::Server, &[0, 3, 2]).is_empty());
    assert_eq!(session.feed(Side::Client, &[0, 3, 2])[0].frame, Some(Frame::Ping));
    let seen = session.feed(Side::Client, &[0, 2, 2]);
    assert!(seen[0].fault.as_deref().is_some_and(|fault| fault.contains("less than the 3 bytes")));
}

#[test]
fn a_malformed_request_is_named_and_what_follows_is_read() {
    let mut session = Session::new();
    let seen = session.feed(Side::Client, &[0, 8, 0, 0, 0, 0, 0x17, 0, 0, 3, 2]);
    let [request, ping] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((&request.frame, request.length), (&None, 8));
    assert_eq!(request.fault.as_deref(), Some("malformed connect request: it is truncated"));
    assert_eq!((&ping.frame, &ping.fault), (&Some(Frame::Ping), &None));
    let seen = session.feed(Side::Client, &[0, 3, 0x40, 0, 3, 2]);
    let [lost] = &seen[..] else { panic!("{seen:?}") };
    assert!(lost.fault.as_deref().is_some_and(|fault| fault.ends_with("cannot be read")));
}

#[test]
fn a_fragment_without_its_start_is_told() {
    let mut session = Session::new();
    let fault = |seen: &[Seen]| seen[0].fault.clone();
    let next = [0, 8, 3, 4, 0, 1, b'c', b'd'];
    let headless = Some("a fragment of a message whose start was not seen".to_owned());
    assert_eq!(fault(&session.feed(Side::Server, &next)), headless);
    let first = [0, 12, 3, 8, 0, 0, 0, 4, 0, 1, b'a', b'b'];
    assert_eq!(fault(&session.feed(Side::Server, &first)), None);
    let seen = session.feed(Side::Server, &next);
    assert_eq!((seen[0].messages.as_slice(), fault(&seen)), (&[b"abcd".to_vec()][..], None));
    assert_eq!(fault(&session.feed(Side::Server, &next)), headless);
}

#[test]
fn what_is_wrong_in_a_frame_is_told_beside_what_came_before_it() {
    let mut session = Session::new();
    let seen = session.feed(Side::Server, &[0, 9, 0x12, 0, 1, b'a', 0, 9, b'b', 0, 3, 2]);
    assert_eq!(seen[0].messages, [b"a"]);
    assert_eq!(seen[0].fault.as_deref(), Some("packed message of 9 bytes where 1 are left"));
    assert_eq!(seen[1].frame, Some(Frame::Ping));
    let seen = session.feed(Side::Server, &[0, 4, 4, 0x78]);
    assert_eq!(seen[0].fault, None);
    let seen = session.feed(Side::Server, &[0, 6, 4, 0xff, 0xff, 0xff]);
    let fault = seen[0].fault.as_deref().expect("a fault");
    assert!(fault.ends_with("the capture may begin after its stream"), "{fault}");
}

#[test]
fn frames_before_a_broken_chunk_are_told() {
    let mut session = Session::new();
    let head = b"HTTP/1.1 200 OK\r\n\r\n";
    let bytes = [&head[..], b"3\r\n\x00\x03\x02\r\nxyz\r\n"].concat();
    let seen = session.feed(Side::Server, &bytes);
    let [_, ping, lost] = &seen[..] else { panic!("{seen:?}") };
    assert_eq!((&ping.frame, lost.length), (&Some(Frame::Ping), 5));
    assert!(lost.fault.as_deref().is_some_and(|fault| fault.contains("hexadecimal")));
}

#[test]
fn ordinary_http_is_not_followed() {
    for head in ["GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST /form HTTP/1.1\r\n\r\n"] {
        let mut session = Session::new();
        assert!(session.feed(Side::Client, head.as_bytes()).is_empty());
        assert!(session.is_foreign());
        assert!(session.feed(Side::Server, b"HTTP/1.1 200 OK\r\n\r\n<html>").is_empty());
    }
}

#[test]
fn json_sessions_show_their_text() {
    let [records] = &connections("transport_ema-ws-json")[..] else { panic!("one connection") };
    let mut session = Session::new();
    let mut texts = 0;
    for record in records {
        for seen in session.feed(side(record), &unhex(record["hex"].as_str().expect("bytes"))) {
            assert_eq!(seen.fault, None);
            if let Some(Frame::Text(text)) = seen.frame {
                assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
                texts += 1;
            }
        }
    }
    assert_eq!(texts, 30);
}
