//! The feed handler of CME Group: from captures, and from sockets.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::ops::ControlFlow;

use tapeline_exchange::{
    CmeConfig, CmeCounts, CmeHandler, CmeLines, Handler, Playing, Published, Speed,
};
use tapeline_feed::{CmeSettings, Depth, Side};
use tapeline_inspect::capture::read_datagrams;
use tapeline_mdp::{
    BookEntry, BookEntryKind, ChannelLimits, Definition, DefinitionGroups, DefinitionKind,
    MatchEvent, OrderAction, OrderBookEntry, OrderEntry, Packer, Price9, Side as MdpSide,
    SnapshotOrder, SnapshotOrderBook, TradeEntry, TradingStatus, UpdateAction,
};
use tapeline_omm::market::fid;
use tapeline_time::Time;
use tempfile::tempdir;

use crate::handlers::{Site, capture, process};
use crate::watching::Watching;

const ESZ6: i32 = 4711;
const BEGIN_NS: u64 = 1_796_049_000_000_000_000;
const END: MatchEvent = MatchEvent::END_OF_EVENT;

/// Groups by their last byte.
const LINE_A: u8 = 1;
const LINE_B: u8 = 2;
const SNAPSHOTS: u8 = 3;
const DEFINITIONS: u8 = 4;

fn price(quarters: i64) -> Price9 {
    // The display factor is a hundredth.
    Price9::from_nano(quarters * 25_000_000_000)
}

fn packet(sequence: u32, write: impl FnOnce(&mut Packer) -> bool) -> Vec<u8> {
    let (mut packer, mut bytes) = (Packer::new(sequence), Vec::new());
    assert!(write(&mut packer), "it fits");
    let sent_ns = BEGIN_NS + u64::from(sequence);
    packer.send(sent_ns, &mut |packet| bytes.extend_from_slice(packet));
    bytes
}

/// A bid of one order, and the order beside it.
fn bid(report: u32, order: u64, quarters: i64, quantity: i32) -> (BookEntry, OrderEntry) {
    let entry = BookEntry {
        price: Some(price(quarters)),
        quantity: Some(quantity.into()),
        security: ESZ6,
        report_sequence: report,
        orders: Some(1),
        level: 1,
        action: UpdateAction::New,
        kind: BookEntryKind::Bid,
    };
    let priority = Some(order);
    let (quantity, reference) = (Some(quantity), Some(1));
    let order = OrderEntry { order, priority, quantity, reference, action: OrderAction::New };
    (entry, order)
}

fn offer(order: u64, quarters: i64, quantity: i32) -> OrderBookEntry {
    OrderBookEntry {
        order: Some(order),
        priority: Some(order),
        price: Some(price(quarters)),
        quantity: Some(quantity),
        security: ESZ6,
        action: UpdateAction::New,
        side: Some(MdpSide::Sell),
    }
}

/// The changes of a morning: bids of 1 and 2, an offer of 3, a trade, and 1 is gone.
fn morning() -> Vec<Vec<u8>> {
    let (one, order_one) = bid(1, 1, 19_220, 100);
    let (two, order_two) = bid(2, 2, 19_221, 50);
    let trade = TradeEntry {
        price: price(19_221),
        quantity: 20,
        security: ESZ6,
        report_sequence: 3,
        orders: 2,
        aggressor: Some(MdpSide::Sell),
        action: UpdateAction::New,
        trade: Some(1),
    };
    let rest =
        BookEntry { quantity: Some(30), report_sequence: 4, action: UpdateAction::Change, ..two };
    let update = OrderEntry { quantity: Some(30), action: OrderAction::Update, ..order_two };
    let gone = BookEntry { report_sequence: 5, level: 2, action: UpdateAction::Delete, ..one };
    let cancel = OrderEntry { action: OrderAction::Delete, ..order_one };
    vec![
        packet(1, |packer| packer.book(BEGIN_NS, END, &[one], &[order_one])),
        packet(2, |packer| packer.book(BEGIN_NS, END, &[two], &[order_two])),
        packet(3, |packer| packer.order_book(BEGIN_NS, END, &[offer(3, 19_223, 70)])),
        packet(4, |packer| {
            packer.trade_summary(BEGIN_NS, MatchEvent::default(), &[trade], &[])
                && packer.book(BEGIN_NS, END, &[rest], &[update])
        }),
        packet(5, |packer| packer.book(BEGIN_NS, END, &[gone], &[cancel])),
    ]
}

fn definition() -> Vec<u8> {
    let mut future = Definition::new(DefinitionKind::Future, ESZ6, "ESZ6");
    future.display_factor = Price9::from_nano(10_000_000);
    future.trading_status = TradingStatus::ReadyToTrade;
    packet(1, |packer| packer.definition_future(&future, &DefinitionGroups::default()))
}

/// The orders there are behind packet 3, in two parts.
fn snapshots() -> Vec<Vec<u8>> {
    snapshots_of(3, &[(1, MdpSide::Buy, 19_220, 100), (2, MdpSide::Buy, 19_221, 50)])
}

/// Orders there are behind a packet, and that of 3, in two parts.
fn snapshots_of(last_sequence: u32, bids: &[(u64, MdpSide, i64, i32)]) -> Vec<Vec<u8>> {
    let order = |order, side, quarters, quantity| SnapshotOrder {
        order,
        priority: None,
        price: price(quarters),
        quantity,
        side: Some(side),
    };
    let bids: Vec<_> = bids.iter().map(|it| order(it.0, it.1, it.2, it.3)).collect();
    let part = |current_chunk, orders: &[SnapshotOrder]| {
        let mut head = SnapshotOrderBook::new(ESZ6);
        (head.last_sequence, head.chunk_count) = (last_sequence, 2);
        head.current_chunk = current_chunk;
        packet(current_chunk, |packer| packer.snapshot_order_book(&head, orders))
    };
    vec![part(1, &bids), part(2, &[order(3, MdpSide::Sell, 19_223, 70)])]
}

fn is_whole(handler: &CmeHandler) {
    let book = handler.feed().book("ESZ6").expect("a book");
    let orders: Vec<_> = book.orders().map(|(id, of)| (id, of.side, of.size)).collect();
    assert_eq!(orders, [(2, Side::Bid, 30), (3, Side::Ask, 70)]);
    assert_eq!(book.best(Side::Bid).map(|(nano, _)| nano), Some(4_805_250_000_000));
    assert_eq!(book.trades().last.map(|last| last.size), Some(20));
}

/// Plays a capture; returns what there is at its end.
fn play(file: &[u8], speed: Speed) -> (CmeHandler, CmeCounts) {
    let mut lines = CmeLines::new();
    read_datagrams(file, &mut |_, datagram| {
        lines.look(datagram.destination, datagram.payload);
        ControlFlow::Continue(())
    })
    .expect("a whole capture");
    let settings = CmeSettings {
        depth: Depth::Orders,
        has_definitions: lines.has_definitions(),
        has_snapshots: lines.has_snapshots(),
        ..CmeSettings::default()
    };
    let (limits, silence) = (ChannelLimits::default(), std::time::Duration::from_secs(60));
    let mut handler = CmeHandler::new(&CmeConfig { settings, limits, silence });
    let mut playing = Playing::new(speed, Time::ZERO);
    read_datagrams(file, &mut |captured_ns, datagram| {
        playing.due(captured_ns);
        handler.timeout(playing.now());
        let origin = lines.origin(datagram.destination).expect("one channel");
        handler.packet(playing.now(), origin, datagram.payload);
        ControlFlow::Continue(())
    })
    .expect("a whole capture");
    let counts = handler.counts(playing.now(), &Published::default());
    (handler, counts)
}

#[test]
fn a_capture_of_two_lines_leads_to_the_same_at_any_speed() {
    let (packets, definition) = (morning(), definition());
    let mut all: Vec<(u64, u8, &[u8])> = vec![(0, DEFINITIONS, &definition)];
    // Each line lacks what the other one has, and they are not in step.
    for (packet, at) in packets.iter().zip(0..) {
        if at % 3 != 1 {
            all.push((10 * at, LINE_A, packet));
        }
        if at % 3 != 2 {
            all.push((10 * at + 1, LINE_B, packet));
        }
    }
    let file = capture(BEGIN_NS, &all);
    for speed in ["1", "1000", "max"] {
        let (handler, counts) = play(&file, speed.parse().expect("a speed"));
        is_whole(&handler);
        let found = (counts.packets_a, counts.packets_b, counts.packets_loop, counts.packets);
        assert_eq!(found, (3, 4, 1, 5), "at {speed}");
        assert_eq!((counts.stale, counts.losses, counts.messages_unknown), (0, 0, 0));
    }
}

#[test]
fn what_both_lines_lose_makes_items_suspect_until_a_snapshot_has_come() {
    let (packets, definition, snapshots) = (morning(), definition(), snapshots());
    // Packet 3 is lost, and what is behind it waits for 2 ms.
    let mut all: Vec<(u64, u8, &[u8])> = vec![
        (0, DEFINITIONS, &definition),
        (0, LINE_A, &packets[0]),
        (1, LINE_A, &packets[1]),
        (2, LINE_A, &packets[3]),
        (10, LINE_A, &packets[4]),
        (11, SNAPSHOTS, &snapshots[1]),
    ];
    let (handler, counts) = play(&capture(BEGIN_NS, &all), Speed::Most);
    assert_eq!((counts.losses, counts.unsure), (1, 1), "{counts:?}");
    assert!(handler.is_item_stale("ESZ6"));
    assert_eq!(handler.feed().book("ESZ6").map(|book| book.orders().len()), Some(2));
    all.extend([(12, SNAPSHOTS, &snapshots[0][..]), (13, SNAPSHOTS, &snapshots[1])]);
    let (handler, counts) = play(&capture(BEGIN_NS, &all), Speed::Most);
    assert_eq!((counts.stale, counts.snapshots, counts.unsure), (0, 1, 0), "{counts:?}");
    assert!(!handler.is_item_stale("ESZ6"));
    is_whole(&handler);
}

fn site(item: &'static str, own: &str) -> Site {
    let own = format!("depth = \"orders\"\nsuffix = \".C\"\nsilence-ms = 600000\n{own}");
    Site::new("cme", item, &own)
}

/// Whether a consumer has all orders of the morning, good.
fn has_all(watching: &Watching) -> bool {
    watching.is_good() && watching.rows[0].len() == 2
}

/// What the consumer has at the end of the morning.
fn is_the_morning(watching: &Watching) {
    let quote = &watching.rows[2][&Vec::new()];
    let of = |id: i16| quote.get(&id).map_or("", String::as_str);
    let ids = [fid::BID, fid::BIDSIZE, fid::ASK, fid::ASKSIZE, fid::TRDPRC_1];
    assert_eq!(ids.map(of), ["4805.25", "30", "4805.75", "70", "4805.25"]);
    let levels: Vec<&[u8]> = watching.rows[1].keys().map(Vec::as_slice).collect();
    assert_eq!(levels, [&b"4805.25B"[..], b"4805.75A"]);
}

#[test]
fn a_captured_morning_is_what_a_consumer_sees() {
    let mut site = site("ESZ6.C", "");
    let file = site.dir.path().join("morning.pcap");
    let (packets, definition) = (morning(), definition());
    let mut all: Vec<(u64, u8, &[u8])> = vec![(0, DEFINITIONS, &definition)];
    all.extend(packets.iter().zip(0..).map(|(packet, ms)| (ms, LINE_A, &packet[..])));
    fs::write(&file, capture(BEGIN_NS, &all)).expect("room");
    let file = file.to_str().expect("a text");
    let words = ["--capture", file, "--speed", "max"];
    let mut feed = process("cme", site.dir.path(), &words);
    site.until(&mut feed, has_all, || {});
    is_the_morning(&site.watching);
}

#[test]
fn who_comes_late_or_loses_a_packet_has_all_orders_from_a_loop() {
    // Without definitions items have numbers.
    let own = "lines = [\"127.0.0.1:0\"]\nsnapshots = [\"127.0.0.1:0\"]\n";
    let mut site = site("4711.C", own);
    let loops = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let mut feed = process("cme", site.dir.path(), &[]);
    let ready = site.dir.path().join("ready");
    site.until(&mut feed, |_| ready.exists(), || {});
    let text = fs::read_to_string(ready).expect("a file");
    let at = |name: &str| -> SocketAddrV4 {
        let line = text.lines().find_map(|line| line.strip_prefix(name)).expect("a line");
        line.parse().expect("an address")
    };
    let (line, of_loop) = (at("line-a="), at("loop="));
    let (packets, snapshots) = (morning(), snapshots());
    // The first three packets are over.
    for packet in &packets[3..] {
        loops.send_to(packet, line).expect("loopback takes it");
    }
    let mut sent = 0;
    site.until(&mut feed, has_all, || {
        // A loop: what is lost of it comes again.
        sent += 1;
        if sent % 100 == 1 {
            for packet in &snapshots {
                loops.send_to(packet, of_loop).expect("loopback takes it");
            }
        }
    });
    let quote = &site.watching.rows[2][&Vec::new()];
    assert_eq!(quote[&fid::BIDSIZE], "30");
    // Packet 6, by which 2 had grown, is lost: the next one tells.
    let seventh = packet(7, |packer| packer.order_book(BEGIN_NS, END, &[offer(4, 19_225, 5)]));
    loops.send_to(&seventh, line).expect("loopback takes it");
    site.until(&mut feed, |watching| !watching.is_good(), || {});
    let snapshots = snapshots_of(6, &[(2, MdpSide::Buy, 19_221, 35)]);
    let is_again = |watching: &Watching| watching.is_good() && watching.rows[0].len() == 3;
    site.until(&mut feed, is_again, || {
        sent += 1;
        if sent % 100 == 1 {
            for packet in &snapshots {
                loops.send_to(packet, of_loop).expect("loopback takes it");
            }
        }
    });
    let quote = &site.watching.rows[2][&Vec::new()];
    assert_eq!(quote[&fid::BIDSIZE], "35");
}

#[test]
fn without_a_line_or_with_one_too_many_or_nothing_to_read_it_says_what_to_do() {
    let dir = tempdir().expect("a folder");
    let empty = dir.path().join("empty.pcap");
    fs::write(&empty, capture(BEGIN_NS, &[(0, LINE_B, b"no packet")])).expect("room");
    let empty = empty.to_str().expect("a text");
    let three = r#"lines = ["239.0.0.1:1", "239.0.0.2:1", "239.0.0.3:1"]"#;
    for (lines, words, wanted) in [
        ("", &[][..], "lines of [cme]"),
        (three, &[], "line 2: 3 lines are given"),
        ("", &["--capture", empty], "has no packets of MDP 3.0 with changes"),
        ("depth = \"all\"", &[], "unknown variant `all`"),
    ] {
        fs::write(dir.path().join("cme.toml"), format!("[cme]\n{lines}\n")).expect("room");
        let mut feed = process("cme", dir.path(), words);
        let status = feed.child.wait().expect("it ends");
        let said = fs::read_to_string(&feed.log).expect("a file");
        assert_eq!(status.code(), Some(2), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
}
