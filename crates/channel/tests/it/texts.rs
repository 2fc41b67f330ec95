//! Text sessions over real sockets: a raw WebSocket client on the other side.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

use crate::support::{Told, World, tight};
use tapeline_channel::{
    CloseReason, ConnectConfig, ListenConfig, Page, Pages, Sent, SessionEvent, SessionId,
    TextClient, TextConfig, TextEvent,
};
use tapeline_rssl::websocket::{BINARY, CLOSE, FrameHeader, PING, PONG, TEXT, apply_mask};
use tapeline_rssl::{ClientConfig, Opening};

fn texts() -> ListenConfig {
    ListenConfig { text: Some(TextConfig::default()), ..ListenConfig::default() }
}

/// A client that only knows WebSocket.
struct Client {
    stream: TcpStream,
    received: Vec<u8>,
    is_over: bool,
}

impl Client {
    fn new(world: &World, subprotocols: &str) -> Self {
        Self::asking(world, &opening("//WebSocket", subprotocols))
    }

    fn asking(world: &World, request: &str) -> Self {
        let mut stream = world.plain_client();
        stream.write_all(request.as_bytes()).unwrap();
        Self { stream, received: Vec::new(), is_over: false }
    }

    fn read(&mut self) {
        let mut room = [0; 16_384];
        loop {
            match self.stream.read(&mut room) {
                Ok(0) => self.is_over = true,
                Ok(count) => {
                    self.received.extend_from_slice(&room[..count]);
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => self.is_over = true,
            }
            return;
        }
    }

    fn head(&mut self) -> Option<String> {
        self.read();
        let end = self.received.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
        let head = self.received.drain(..end).collect();
        Some(String::from_utf8(head).unwrap())
    }

    fn frame(&mut self) -> Option<(u8, Vec<u8>)> {
        self.read();
        let (header, length) = FrameHeader::parse(&self.received)?;
        let end = length + header.payload as usize;
        if self.received.len() < end {
            return None;
        }
        assert_eq!(header.mask, None);
        let frame: Vec<u8> = self.received.drain(..end).collect();
        Some((header.opcode, frame[length..].to_vec()))
    }

    fn send(&mut self, opcode: u8, payload: &[u8]) {
        let mask = Some([7, 8, 9, 10]);
        let header =
            FrameHeader { fin: true, reserved: 0, opcode, mask, payload: payload.len() as u64 };
        let (bytes, length) = header.encode();
        let mut frame = [&bytes[..length], payload].concat();
        apply_mask(&mut frame[length..], [7, 8, 9, 10]);
        self.stream.write_all(&frame).unwrap();
    }
}

fn opening(path: &str, subprotocols: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: a\r\nUpgrade: WebSocket\r\n\
         Connection: keep-alive, Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: {subprotocols}\r\n\r\n"
    )
}

/// Polls until `found` finds something.
#[track_caller]
fn until<T>(world: &mut World, mut found: impl FnMut(&mut World) -> Option<T>) -> T {
    for _ in 0..2_000_000 {
        if let Some(found) = found(world) {
            return found;
        }
        world.poll();
    }
    panic!("not found; told were {:?}", world.server.told);
}

fn open(world: &mut World, subprotocols: &str) -> (Client, SessionId) {
    let before = world.server.opened().len();
    let mut client = Client::new(world, subprotocols);
    let head = until(world, |_| client.head());
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    (client, world.server.opened()[before])
}

fn send(world: &mut World, session: SessionId, texts: &[&str]) -> Vec<Sent> {
    let mut outbox = world.server.reactor.outbox();
    texts.iter().map(|text| outbox.send_text(session, &[text.as_bytes()], false)).collect()
}

#[test]
fn the_first_subprotocol_of_the_clients_list_that_is_spoken_is_taken() {
    let mut world = World::new(&texts());
    for (offered, chosen) in [
        ("tr_json2", "tr_json2"),
        ("rssl.json.v2", "rssl.json.v2"),
        ("soap, rssl.json.v2,tr_json2", "rssl.json.v2"),
        ("rssl.rwf, tr_json2", "rssl.rwf"),
        ("tr_json2, rssl.rwf", "tr_json2"),
    ] {
        let mut client = Client::new(&world, offered);
        let head = until(&mut world, |_| client.head());
        assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
        assert!(head.contains(&format!("Sec-WebSocket-Protocol: {chosen}\r\n")), "{head}");
        assert!(head.contains("Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{head}");
    }
    for offered in ["soap", "", "TR_JSON2"] {
        let mut client = Client::new(&world, offered);
        let head = until(&mut world, |_| client.head());
        assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{offered}: {head}");
        until(&mut world, |_| {
            client.read();
            client.is_over.then_some(())
        });
    }
}

#[test]
fn a_listener_without_texts_refuses_them() {
    let mut world = World::new(&ListenConfig::default());
    let mut client = Client::new(&world, "tr_json2");
    let head = until(&mut world, |_| client.head());
    assert!(head.starts_with("HTTP/1.1 400 Bad Request\r\n"), "{head}");
}

#[test]
fn one_port_carries_texts_and_both_ways_of_rssl() {
    let mut world = World::new(&texts());
    let (mut client, session) = open(&mut world, "tr_json2");
    let host = world.address.to_string();
    let websocket = Opening::WebSocket { host, path: "/WebSocket".to_owned() };
    for opening in [Opening::Socket, websocket] {
        let rssl = ClientConfig { opening, ..ClientConfig::default() };
        let (from, to) = world.open(&ConnectConfig { rssl, ..ConnectConfig::default() });
        assert_eq!(world.server.reactor.outbox().send(to, b"rwf"), Sent::Queued);
        assert_eq!(send(&mut world, to, &["{}"]), [Sent::Gone], "RSSL takes no texts");
        until(&mut world, |world| {
            let told = Told::Message(from, b"rwf".to_vec());
            world.client.told.contains(&told).then_some(())
        });
    }
    assert_eq!(world.server.reactor.outbox().send(session, b"rwf"), Sent::Gone);
    assert_eq!(send(&mut world, session, &["{1}"]), [Sent::Queued]);
    assert_eq!(until(&mut world, |_| client.frame()), (TEXT, b"[{1}]".to_vec()));
}

#[test]
fn texts_go_both_ways_and_share_frames_until_the_flush() {
    let mut world = World::new(&texts());
    let (mut client, session) = open(&mut world, "tr_json2");
    client.send(TEXT, b"{\"ID\":1}");
    client.send(PING, b"are you there");
    assert_eq!(until(&mut world, |_| client.frame()), (PONG, b"are you there".to_vec()));
    assert_eq!(world.server.messages(), [b"{\"ID\":1}".to_vec()]);

    send(&mut world, session, &["{1}", "{2}"]);
    let mut outbox = world.server.reactor.outbox();
    assert_eq!(outbox.send_text(session, &[b"{\"ID\":3,", b"3}"], true), Sent::Queued);
    send(&mut world, session, &["{4}", "{5}"]);
    let frames: Vec<_> = (0..3).map(|_| until(&mut world, |_| client.frame()).1).collect();
    assert_eq!(frames, [&b"[{1},{2}]"[..], b"[{\"ID\":3,3}]", b"[{4},{5}]"]);
}

#[test]
fn an_answer_from_within_the_event_goes_out_in_order() {
    let mut world = World::new(&texts());
    let (mut client, _) = open(&mut world, "tr_json2");
    client.send(TEXT, b"{1}");
    client.send(TEXT, b"{2}");
    let mut frames = Vec::new();
    let answers = |event: SessionEvent<'_>, outbox: &mut tapeline_channel::Outbox<'_>| {
        if let SessionEvent::Text(TextEvent::Frame { session, text }) = event {
            let alone = text == "{1}";
            assert_eq!(outbox.send_text(session, &[b"{a}", text.as_bytes()], alone), Sent::Queued);
            assert_eq!(outbox.send_text(session, &[b"{b}"], false), Sent::Queued);
            assert_eq!(outbox.send(session, b"rwf"), Sent::Gone);
        }
    };
    while frames.len() < 2 {
        let now = world.now();
        world.server.poll_with(now, answers);
        frames.extend(client.frame().map(|(_, bytes)| String::from_utf8(bytes).unwrap()));
    }
    let joined = frames.concat();
    assert!(joined.starts_with("[{a}{1}][{b}"), "{joined}");
}

#[test]
fn faults_and_closes_have_their_codes() {
    let config = TextConfig { max_message_bytes: 100, ..TextConfig::default() };
    let mut world = World::new(&ListenConfig { text: Some(config), ..ListenConfig::default() });
    let faults: [(u8, &[u8], u16); 5] = [
        (BINARY, b"\x00", 1003),
        (TEXT, b"\xFF\xFE", 1007),
        (TEXT, &[b'x'; 101], 1009),
        (3, b"", 1002),
        (CLOSE, &[0x03, 0xE9], 1001),
    ];
    for (opcode, payload, code) in faults {
        let (mut client, session) = open(&mut world, "tr_json2");
        client.send(opcode, payload);
        let (opcode, payload) = until(&mut world, |_| client.frame());
        let told = u16::from_be_bytes(*payload.first_chunk().unwrap());
        assert_eq!((opcode, told), (CLOSE, code));
        until(&mut world, |_| {
            client.read();
            client.is_over.then_some(())
        });
        assert_eq!(world.server.closed().iter().filter(|(id, _)| *id == session).count(), 1);
    }
    let (mut client, session) = open(&mut world, "tr_json2");
    world.server.reactor.outbox().close_text(session, 1008, "enough");
    let (opcode, payload) = until(&mut world, |_| client.frame());
    assert_eq!((opcode, &payload[..]), (CLOSE, &b"\x03\xF0enough"[..]));
}

#[test]
fn who_does_not_read_is_told_of_and_closed_with_try_again_later() {
    let mut world = World::new(&ListenConfig { session: tight(), ..texts() });
    let (mut client, session) = open(&mut world, "tr_json2");
    let text = format!("{{{}}}", "x".repeat(9_000));
    let sent = until(&mut world, |world| {
        let sent = send(world, session, &[&text])[0];
        (sent == Sent::Full).then_some(sent)
    });
    assert_eq!(sent, Sent::Full);
    let counters = world.server.reactor.session_counters(session).unwrap();
    assert!(counters.is_slow && counters.backlog_bytes <= 200_000, "{counters:?}");
    world.server.reactor.outbox().close(session, "the mount does not read");
    let last = until(&mut world, |_| client.frame().filter(|(opcode, _)| *opcode == CLOSE));
    assert_eq!(last.1, b"\x03\xF5the mount does not read");
}

#[test]
fn a_slow_client_that_reads_again_has_drained() {
    let mut world = World::new(&ListenConfig { session: tight(), ..texts() });
    let (mut client, session) = open(&mut world, "tr_json2");
    let text = format!("{{{}}}", "x".repeat(9_000));
    until(&mut world, |world| (send(world, session, &[&text])[0] == Sent::Slow).then_some(()));
    assert_eq!(world.server.drained(), 0);
    until(&mut world, |world| {
        while client.frame().is_some() {}
        (world.server.drained() == 1).then_some(())
    });
}

#[test]
fn silence_brings_pings_and_then_the_end() {
    let mut world = World::new(&texts());
    let (mut client, session) = open(&mut world, "tr_json2");
    for _ in 0..2 {
        world.ahead += Duration::from_secs(10);
        let ping = (TEXT, b"[{\"Type\":\"Ping\"}]".to_vec());
        assert_eq!(until(&mut world, |_| client.frame()), ping);
    }
    world.ahead += Duration::from_secs(10);
    let closed = until(&mut world, |world| world.server.closed().pop());
    let text = "nothing received for 30 s, the negotiated ping timeout; the peer is dead";
    assert_eq!(closed, (session, text.to_owned()));
}

#[test]
fn plain_requests_get_pages_where_there_are_some() {
    let page = Page {
        path: "/".to_owned(),
        content_type: "text/html".to_owned(),
        body: Arc::from("x".repeat(300_000).into_bytes()),
    };
    let pages = Some(Arc::new(Pages::new(vec![page])));
    let mut world = World::new(&ListenConfig { pages, ..texts() });
    for (path, status, length) in [("/", "200 OK", 300_000), ("/other", "404 Not Found", 23)] {
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        let mut client = Client::asking(&world, &request);
        let head = until(&mut world, |_| client.head());
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{head}");
        until(&mut world, |_| {
            client.read();
            client.is_over.then_some(())
        });
        assert_eq!(client.received.len(), length);
    }
    assert_eq!(world.server.rejected(), vec![CloseReason::Page.to_string(); 2]);
    assert_eq!(world.server.reactor.counters().pages, 2);
    open(&mut world, "tr_json2");

    let mut world = World::new(&texts());
    let mut client = Client::asking(&world, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    let head = until(&mut world, |_| client.head());
    assert!(head.starts_with("HTTP/1.1 400 "), "{head}");
}

#[test]
fn one_too_many_is_told_that_there_is_no_room() {
    let mut world = World::new(&ListenConfig { max_sessions: 1, ..texts() });
    let _first = open(&mut world, "tr_json2");
    let mut client = Client::new(&world, "tr_json2");
    let head = until(&mut world, |_| client.head());
    assert!(head.starts_with("HTTP/1.1 503 "), "{head}");
    assert_eq!(world.server.opened().len(), 1);
}

fn text_client() -> ConnectConfig {
    ConnectConfig { text: Some(TextClient::default()), ..ConnectConfig::default() }
}

#[test]
fn a_client_of_our_own_gets_texts_of_any_length() {
    let mut world = World::new(&texts());
    let (client, server) = world.open(&text_client());
    assert_eq!(world.client.reactor.outbox().send(client, b"rwf"), Sent::Gone);
    for text in ["{1}", "{2}"] {
        let sent = world.client.reactor.outbox().send_text(client, &[text.as_bytes()], true);
        assert_eq!(sent, Sent::Queued);
    }
    until(&mut world, |world| (world.server.messages().len() == 2).then_some(()));
    assert_eq!(world.server.messages(), [b"[{1}]", b"[{2}]"].map(|text| text.to_vec()));

    let long = format!("{{{}}}", "\u{21e7}".repeat(100_000));
    assert_eq!(send(&mut world, server, &["{3}", &long]), [Sent::Queued, Sent::Queued]);
    let frames = until(&mut world, |world| {
        let messages = world.client.messages();
        (messages.len() == 2).then_some(messages)
    });
    assert_eq!(frames, [b"[{3}]".to_vec(), format!("[{long}]").into_bytes()]);
}

#[test]
fn a_client_whose_subprotocols_nobody_speaks_is_told_why() {
    for (listen, words) in [(ListenConfig::default(), "status 400"), (texts(), "status 400")] {
        let mut world = World::new(&listen);
        let mut text = TextClient::default();
        text.text.subprotocols = vec!["soap".to_owned()];
        let session = world.connect(&ConnectConfig { text: Some(text), ..text_client() });
        let closed = until(&mut world, |world| world.client.closed().pop());
        assert_eq!(closed.0, session);
        assert!(closed.1.contains(words), "{}", closed.1);
    }
    let mut world = World::new(&texts());
    let text = TextClient { path: "/Web Socket".to_owned(), ..TextClient::default() };
    let session = world.connect(&ConnectConfig { text: Some(text), ..text_client() });
    let closed = until(&mut world, |world| world.client.closed().pop());
    assert_eq!(closed.0, session);
    assert!(closed.1.contains("HTTP head"), "{}", closed.1);
}
