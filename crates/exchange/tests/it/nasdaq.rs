//! The feed handler of Nasdaq: from captures, and from sockets with servers that have
//! messages again and all orders.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::ops::ControlFlow;
use std::thread;
use std::time::{Duration, Instant};

use tapeline_exchange::{
    Handler, Line, NasdaqConfig, NasdaqCounts, NasdaqHandler, NasdaqSockets, NoLinks, Origin,
    Playing, Published,
};
use tapeline_feed::Side;
use tapeline_inspect::capture::read_datagrams;
use tapeline_itch::{
    AddOrder, Alpha, Asked, Body, EndOfSnapshot, Executed, Limits, Message, OrderReplaced, Packer,
    PacketHead, Price4, Server, StockDirectory, SystemEvent, TradingAction,
};
use tapeline_omm::market::fid;
use tapeline_time::{MonotonicClock, Time};
use tempfile::tempdir;

use crate::handlers::{Site, capture, process};
use crate::processes::PATIENCE;
use crate::watching::Watching;

/// 2026-11-30 14:30 UTC, half past nine in New York.
const OPEN_NS: u64 = 1_796_049_000_000_000_000;
const MIDNIGHT_NS: u64 = 1_796_014_800_000_000_000;

fn handler() -> NasdaqHandler {
    let (suffix, silence) = (".O".to_owned(), Duration::from_secs(60));
    let limits = Limits::default();
    NasdaqHandler::new(&NasdaqConfig { suffix, limits, silence, snapshot: None })
}

/// A morning in packets of one message each, the first one's number is 1.
fn morning() -> Vec<Vec<u8>> {
    let stock = Alpha::new("AAPL");
    let add = |order, side, price| {
        AddOrder { order, side, shares: 100, stock, price: Price4(price) }.into()
    };
    let state = TradingAction { stock, state: b'T', reason: Alpha::default() };
    let bodies: [Body; 8] = [
        SystemEvent { event: b'Q' }.into(),
        StockDirectory { stock, ..StockDirectory::default() }.into(),
        state.into(),
        add(1, b'B', 1_895_000),
        add(2, b'S', 1_896_000),
        Executed { order: 1, shares: 40, trade: 9 }.into(),
        OrderReplaced { order: 2, new_order: 3, shares: 70, price: Price4(1_897_000) }.into(),
        add(4, b'B', 1_894_000),
    ];
    let mut packets = Vec::new();
    let mut packer = Packer::new("20261130A", 1);
    for (body, number) in bodies.into_iter().zip(0..) {
        let locate = if number == 0 { 0 } else { 7 };
        let mut bytes = Vec::new();
        Message::new(locate, 34_200_000_000_000 + number, body).append(&mut bytes);
        packer.push(&bytes, &mut |_| unreachable!("each goes alone"));
        packer.flush(&mut |packet| packets.push(packet.to_vec()));
    }
    packets
}

/// What the books of the morning are at its end.
fn is_whole(handler: &NasdaqHandler) {
    let book = handler.feed().book("AAPL.O").expect("a book");
    let orders: Vec<_> = book.orders().map(|(id, of)| (id, of.side, of.size)).collect();
    assert_eq!(orders, [(1, Side::Bid, 60), (3, Side::Ask, 70), (4, Side::Bid, 100)]);
    let last = book.trades().last.expect("a trade");
    assert_eq!((last.price_nano, last.size), (189_500_000_000, 40));
    assert_eq!(last.time_ns, MIDNIGHT_NS + 34_200_000_000_005);
}

/// Plays a capture; returns what there is at its end.
fn play(file: &[u8], speed: &str) -> (NasdaqHandler, NasdaqCounts) {
    let (mut handler, mut line_a) = (handler(), None);
    let mut playing = Playing::new(speed.parse().expect("a speed"), Time::ZERO);
    read_datagrams(file, &mut |captured_ns, datagram| {
        playing.due(captured_ns);
        let is_a = datagram.destination == *line_a.get_or_insert(datagram.destination);
        let origin = if is_a { Origin::LineA } else { Origin::LineB };
        handler.packet((playing.now(), captured_ns), origin, datagram.payload, &mut NoLinks);
        ControlFlow::Continue(())
    })
    .expect("a whole capture");
    let counts = handler.counts(playing.now(), &Published::default());
    (handler, counts)
}

#[test]
fn a_capture_of_two_lines_leads_to_the_same_at_any_speed() {
    let packets = morning();
    // Each line lacks what the other one has, and they are not in step.
    let mut both: Vec<(u64, u8, &[u8])> = Vec::new();
    for (packet, at) in packets.iter().zip(0..) {
        if at % 3 != 1 {
            both.push((10 * at, 111, packet));
        }
        if at % 3 != 2 {
            both.push((10 * at + 1, 112, packet));
        }
    }
    let file = capture(OPEN_NS, &both);
    assert_eq!(&file[40..60], b"\x45\0\0\x3e\0\0\0\0\x01\x11\0\0\x0a\0\0\x01\xe9\x36\x0c\x6f");
    for speed in ["1", "1000", "max"] {
        let (handler, counts) = play(&file, speed);
        is_whole(&handler);
        let found = (counts.packets_a, counts.packets_b, counts.messages, counts.holes);
        assert_eq!(found, (5, 6, 8, 0), "at {speed}");
        assert_eq!((counts.stale, counts.messages_unreadable, counts.messages_unknown), (0, 0, 0));
    }
}

#[test]
fn what_a_capture_lacks_makes_its_items_suspect() {
    let packets = morning();
    let times = (0..).step_by(200);
    let one: Vec<(u64, u8, &[u8])> = packets
        .iter()
        .zip(times)
        .filter(|(_, at)| *at != 600)
        .map(|(packet, at)| (at, 111, packet.as_slice()))
        .collect();
    let (_, counts) = play(&capture(OPEN_NS, &one), "max");
    assert_eq!((counts.holes, counts.stale), (1, 1), "{counts:?}");
    assert!(counts.requests > 1, "nobody answers: {counts:?}");
}

#[test]
fn what_the_lines_lose_is_had_again_by_datagram() {
    let packets = morning();
    let here = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let line = Line { to: here, interface: Ipv4Addr::UNSPECIFIED, ttl: 1 };
    let server = UdpSocket::bind(here).expect("a port");
    server.set_nonblocking(true).expect("a socket");
    let again = server.local_addr().expect("bound");
    let mut sockets = NasdaqSockets::new(&[line, line], Some(again), None).expect("ports");
    let lines: Vec<_> = sockets.addresses().collect();
    let sender = UdpSocket::bind(here).expect("a port");
    // Nobody gets the messages from 4 to 6; line B has what line A lacks else.
    for (number, packet) in (1..).zip(&packets).filter(|(number, _)| !(4..=6).contains(number)) {
        sender.send_to(packet, lines[number % 2]).expect("loopback takes it");
    }
    let (mut handler, clock) = (handler(), MonotonicClock::start());
    let (began, mut asked) = (Instant::now(), Vec::new());
    let was_stale = Cell::new(false);
    loop {
        let clocks = (|| clock.now(), || OPEN_NS);
        sockets.turn(Duration::from_millis(1), clocks, &mut handler);
        let is_stale = handler.is_stale(clock.now());
        let counts = handler.counts(clock.now(), &Published::default());
        was_stale.set(was_stale.get() || is_stale && counts.holes > 0);
        if counts.messages == packets.len() as u64 {
            assert!(!is_stale && counts.packets_again >= 3, "{counts:?}");
            break;
        }
        let mut room = [0; 64];
        while let Ok((len, from)) = server.recv_from(&mut room) {
            let request = PacketHead::read(&room[..len]).expect("a request");
            asked.push((request.first, request.count));
            // The first request is lost on its way.
            if asked.len() > 1 {
                let first = request.first as usize - 1;
                for packet in &packets[first..first + usize::from(request.count)] {
                    server.send_to(packet, from).expect("loopback takes it");
                }
            }
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{counts:?} {asked:?}");
    }
    is_whole(&handler);
    assert!(was_stale.get(), "items were suspect meanwhile");
    assert_eq!(asked[..2], [(4, 3); 2], "what both lack, once more");
}

/// What the consumer has at the end of the morning: orders, levels, the quote.
fn is_the_morning(watching: &Watching) {
    let of = |at: usize, ids: &[i16]| -> Vec<String> {
        let fields = |row: &BTreeMap<i16, String>| {
            let field = |id| row.get(id).cloned().unwrap_or_default();
            ids.iter().map(field).collect::<Vec<_>>().join(" ")
        };
        watching.rows[at].values().map(fields).collect()
    };
    let order = [fid::ORDER_PRC, fid::ORDER_SIZE];
    assert_eq!(of(0, &order), ["189.50 60", "189.70 70", "189.40 100"]);
    assert_eq!(of(1, &order), ["189.40 100", "189.50 60", "189.70 70"]);
    let best = [fid::BID, fid::BIDSIZE, fid::ASK, fid::ASKSIZE];
    assert_eq!(of(2, &best), ["189.50 60 189.70 70"]);
}

/// A site with what the file says of Nasdaq.
fn site(nasdaq: &str) -> Site {
    let own = format!("suffix = \".O\"\nsilence-ms = 600000\n{nasdaq}");
    Site::new("nasdaq", "AAPL.O", &own)
}

/// Whether a consumer has all orders of the morning, good.
fn has_all(watching: &Watching) -> bool {
    watching.is_good() && watching.rows[0].len() == 3
}

#[test]
fn a_captured_morning_is_what_a_consumer_sees() {
    let mut site = site("");
    let file = site.dir.path().join("morning.pcap");
    let packets = morning();
    let all: Vec<_> = packets.iter().zip(0..).map(|(packet, ms)| (ms, 111, &packet[..])).collect();
    fs::write(&file, capture(OPEN_NS, &all)).expect("room");
    let file = file.to_str().expect("a text");
    let mut feed = process("nasdaq", site.dir.path(), &["--capture", file, "--speed", "max"]);
    site.until(&mut feed, has_all, || {});
    is_the_morning(&site.watching);
    let quote = &site.watching.rows[2][&Vec::new()];
    assert_eq!(quote[&fid::TRDPRC_1], "189.50");
}

/// What a server of snapshots has behind the sixth message of the morning, and that the
/// seventh is to follow.
fn snapshot(listener: &TcpListener) -> TcpStream {
    let (mut socket, _) = listener.accept().expect("the feed handler");
    socket.set_read_timeout(Some(PATIENCE)).expect("a socket");
    let (mut server, mut login, mut said) = (Server::new(Time::ZERO), None, Vec::new());
    let mut room = [0; 256];
    while login.is_none() {
        let len = socket.read(&mut room).expect("a login");
        assert!(len > 0, "the feed handler has left");
        let read = server.received(Time::ZERO, &room[..len], |asked| match asked {
            Asked::Login(request) => login = Some(request),
            other => panic!("{other:?}"),
        });
        read.expect("the protocol");
    }
    let login = login.expect("it came");
    let who = (login.user.as_str().to_owned(), login.password.as_str().to_owned(), login.first());
    assert_eq!(who, ("ANN".to_owned(), "SECRET".to_owned(), Some(1)));
    let mut send = |bytes: &[u8]| said.extend_from_slice(bytes);
    server.accept(Time::ZERO, ("GLIMPSE", 1), &mut send);
    let stock = Alpha::new("AAPL");
    let rests = |order, side, shares, price| {
        Body::from(AddOrder { order, side, shares, stock, price: Price4(price) })
    };
    let bodies = [
        SystemEvent { event: b'Q' }.into(),
        StockDirectory { stock, ..StockDirectory::default() }.into(),
        TradingAction { stock, state: b'T', reason: Alpha::default() }.into(),
        rests(1, b'B', 60, 1_895_000),
        rests(2, b'S', 100, 1_896_000),
    ];
    for (body, locate) in bodies.into_iter().zip([0, 7, 7, 7, 7]) {
        let mut bytes = Vec::new();
        Message::new(locate, 34_200_000_000_006, body).append(&mut bytes);
        server.message(Time::ZERO, &bytes, &mut send);
    }
    let mut end = Vec::new();
    EndOfSnapshot { next: 7 }.append(&mut end);
    server.message(Time::ZERO, &end, &mut send);
    socket.write_all(&said).expect("room");
    socket
}

#[test]
fn who_comes_late_has_all_orders_from_a_snapshot() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let at = listener.local_addr().expect("bound");
    let mut site = site(&format!(
        "lines = [\"127.0.0.1:0\"]\npatience-ms = 20\nattempts = 2\n\
         snapshot = \"{at}\"\nuser = \"ANN\"\npassword = \"SECRET\""
    ));
    let mut feed = process("nasdaq", site.dir.path(), &[]);
    let ready = site.dir.path().join("ready");
    site.until(&mut feed, |_| ready.exists(), || {});
    let text = fs::read_to_string(ready).expect("a file");
    let line: SocketAddrV4 = text
        .lines()
        .find_map(|line| line.strip_prefix("line-a="))
        .expect("a line")
        .parse()
        .expect("an address");
    // The first six messages are over, and nobody has them again.
    let (sender, packets) = (UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"), morning());
    let late = || {
        for packet in &packets[6..] {
            sender.send_to(packet, line).expect("loopback takes it");
        }
    };
    late();
    let server = thread::spawn(move || snapshot(&listener));
    site.until(&mut feed, has_all, || {});
    is_the_morning(&site.watching);
    assert!(!feed.has_ended());
    drop(server.join().expect("a snapshot"));
}

#[test]
fn without_a_line_or_with_one_too_many_it_says_what_to_do() {
    let dir = tempdir().expect("a folder");
    for (lines, wanted) in [
        ("", "lines of [nasdaq]"),
        (r#"lines = ["239.0.0.1:1", "239.0.0.2:1", "239.0.0.3:1"]"#, "line 2: 3 lines are given"),
        (r#"line = ["239.0.0.1:1"]"#, "unknown field `line`"),
    ] {
        let file = dir.path().join("nasdaq.toml");
        fs::write(&file, format!("[nasdaq]\n{lines}\n")).expect("room");
        let mut feed = process("nasdaq", dir.path(), &[]);
        let status = feed.child.wait().expect("it ends");
        let said = fs::read_to_string(&feed.log).expect("a file");
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
}
