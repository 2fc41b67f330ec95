//! Messages of older and newer versions, and those that are no messages.

use tapeline_mdp::{
    Definition, DefinitionGroups, DefinitionKind, Feed, MatchEvent, MdpError, Message, Packer,
    Packet, Price9, Side, SnapshotOrder, SnapshotOrderBook, TradeEntry, TradeOrder, UpdateAction,
};

/// Bytes of the head of a packet, and of that and the head of its first message.
const PACKET_HEAD: usize = 12;
const BODY: usize = PACKET_HEAD + 10;

/// A packet of what is written.
fn packet(write: impl FnOnce(&mut Packer) -> bool) -> Vec<u8> {
    let (mut packer, mut bytes) = (Packer::new(7), Vec::new());
    assert!(write(&mut packer));
    packer.send(1, &mut |packet| bytes.extend_from_slice(packet));
    bytes
}

fn trade() -> TradeEntry {
    TradeEntry {
        price: Price9::from_nano(1_500_000_000),
        quantity: 3,
        security: 4711,
        report_sequence: 9,
        orders: 2,
        aggressor: Some(Side::Sell),
        action: UpdateAction::New,
        trade: Some(5),
    }
}

const ORDER: TradeOrder = TradeOrder { order: 77, quantity: 3 };

fn trades() -> Vec<u8> {
    packet(|packer| packer.trade_summary(1, MatchEvent::LAST_TRADE, &[trade(); 2], &[ORDER; 2]))
}

/// Puts a number in.
fn set(bytes: &mut [u8], at: usize, number: usize) {
    bytes[at..at + 2].copy_from_slice(&(number as u16).to_le_bytes());
}

/// Puts the size of the only message right.
fn resize(bytes: &mut [u8]) {
    set(bytes, PACKET_HEAD, bytes.len() - PACKET_HEAD);
}

fn only(bytes: &[u8]) -> Result<Message<'_>, MdpError> {
    Packet::read(bytes).expect("a packet").messages().next().expect("a message")
}

#[test]
fn what_a_newer_version_has_more_is_passed_over() {
    let mut bytes = trades();
    // Five bytes more in the block, one in each trade, eight in each order.
    set(&mut bytes, PACKET_HEAD + 2, 11 + 5);
    bytes.splice(BODY + 11..BODY + 11, [0xaa; 5]);
    let entries = BODY + 16;
    set(&mut bytes, entries, 33);
    bytes.splice(entries + 3 + 32..entries + 3 + 32, [0xaa; 1]);
    bytes.splice(entries + 3 + 65..entries + 3 + 65, [0xaa; 1]);
    let orders = entries + 3 + 66;
    set(&mut bytes, orders, 24);
    bytes.splice(orders + 8 + 16..orders + 8 + 16, [0xaa; 8]);
    bytes.extend([0xaa; 8]);
    // A group that is not known, and what fills the message up.
    bytes.extend([4, 0, 1, 1, 2, 3, 4, 0, 0]);
    resize(&mut bytes);
    let Ok(Message::TradeSummary(summary)) = only(&bytes) else { panic!("trades") };
    assert_eq!(summary.entries().collect::<Vec<_>>(), [trade(); 2]);
    assert_eq!(summary.orders().collect::<Vec<_>>(), [ORDER; 2]);
}

#[test]
fn what_an_older_version_lacks_is_none() {
    // Version 9 has futures without the number that they have outside.
    let feeds = [Feed { kind: "GBX", depth: 10 }];
    let groups = DefinitionGroups { feeds: &feeds, ..DefinitionGroups::default() };
    let mut future = Definition::new(DefinitionKind::Future, 4711, "ESZ6");
    future.guid = Some(42);
    let mut bytes = packet(|packer| packer.definition_future(&future, &groups));
    let Ok(Message::Definition(read)) = only(&bytes) else { panic!("a definition") };
    assert_eq!((read.guid, read.feeds().next()), (Some(42), Some(feeds[0])));
    bytes.drain(BODY + 216..BODY + 224);
    set(&mut bytes, PACKET_HEAD + 2, 216);
    resize(&mut bytes);
    let Ok(Message::Definition(read)) = only(&bytes) else { panic!("a definition") };
    assert_eq!((read.guid, read.feeds().next()), (None, Some(feeds[0])));
    // A message that ends before its last group has none.
    let mut bytes = trades();
    bytes.truncate(BODY + 11 + 3 + 64);
    resize(&mut bytes);
    let Ok(Message::TradeSummary(summary)) = only(&bytes) else { panic!("trades") };
    assert_eq!((summary.entries().count(), summary.orders().count()), (2, 0));
}

#[test]
fn a_group_without_entries_may_say_any_length() {
    let mut bytes = packet(|packer| packer.trade_summary(1, MatchEvent::default(), &[], &[]));
    set(&mut bytes, BODY + 11, 0);
    let Ok(Message::TradeSummary(summary)) = only(&bytes) else { panic!("trades") };
    assert_eq!((summary.entries().count(), summary.orders().count()), (0, 0));
}

#[test]
fn a_message_that_is_wrong_does_not_hide_the_next() {
    let write = |packer: &mut Packer| {
        packer.trade_summary(1, MatchEvent::default(), &[trade()], &[ORDER])
            && packer.heartbeat()
            && packer.channel_reset(1, MatchEvent::END_OF_EVENT, &[3])
    };
    let error = |change: &dyn Fn(&mut [u8])| {
        let mut bytes = packet(write);
        change(&mut bytes);
        let packet = Packet::read(&bytes).expect("a packet");
        let messages: Vec<_> = packet.messages().collect();
        assert_eq!(messages[1], Ok(Message::Heartbeat));
        assert!(matches!(messages[2], Ok(Message::ChannelReset(_))) && messages.len() == 3);
        messages[0].map(|_| ()).expect_err("wrong").to_string()
    };
    let text = "schema 8 is not that of MDP 3.0, which is 1";
    assert_eq!(error(&|bytes| set(bytes, PACKET_HEAD + 6, 8)), text);
    let text = "template 48: a block of 8 bytes, where 9 are needed";
    assert_eq!(error(&|bytes| set(bytes, PACKET_HEAD + 2, 8)), text);
    let text = "template 48: a block of 29 bytes, where 30 are needed";
    assert_eq!(error(&|bytes| set(bytes, BODY + 11, 29)), text);
    let text = "template 48: 2570 bytes do not fit into the 70 that are left of it";
    assert_eq!(error(&|bytes| set(bytes, PACKET_HEAD + 2, 2570)), text);
    let text = "template 48: 8160 bytes do not fit into the 56 that are left of it";
    assert_eq!(error(&|bytes| bytes[BODY + 13] = 255), text);
}

#[test]
fn a_size_that_is_wrong_ends_the_packet() {
    let whole = packet(|packer| packer.heartbeat() && packer.heartbeat());
    let error = |size: usize| {
        let mut bytes = whole.clone();
        set(&mut bytes, PACKET_HEAD, size);
        let results: Vec<_> = Packet::read(&bytes).expect("a packet").messages().collect();
        assert_eq!(results.len(), 1);
        results[0].map(|_| ()).expect_err("wrong").to_string()
    };
    let text = |size| {
        format!("a message that says it has {size} bytes is no message of the 20 that are left")
    };
    assert_eq!([0, 9, 21].map(error), [0, 9, 21].map(text));
    let cut = Packet::read(&whole[..=PACKET_HEAD]).expect("a packet");
    let results: Vec<_> = cut.messages().collect();
    assert_eq!(results, [Err(MdpError::Size { size: 0, left: 1 })]);
    let short = Packet::read(&whole[..11]).expect_err("too short").to_string();
    assert_eq!(short, "11 bytes are too few for the head of a packet, which has 12");
    assert_eq!(Packet::read(&whole[..12]).map(|packet| packet.messages().count()), Ok(0));
}

#[test]
fn templates_that_are_not_read_are_named() {
    let mut bytes = packet(Packer::heartbeat);
    for template_id in [27, 59, 68, 70] {
        set(&mut bytes, PACKET_HEAD + 4, template_id.into());
        assert_eq!(only(&bytes), Ok(Message::Other { template_id }));
    }
}

#[test]
fn what_does_not_fit_is_given_again() {
    let order = SnapshotOrder {
        order: 1,
        priority: None,
        price: Price9::from_nano(1),
        quantity: 1,
        side: Some(Side::Buy),
    };
    let mut packer = Packer::new(u32::MAX);
    let snapshot = SnapshotOrderBook::new(4711);
    // 12 and 41 bytes, then 29 for each order.
    assert!(!packer.snapshot_order_book(&snapshot, &[order; 49]));
    assert!(packer.is_empty());
    assert!(packer.snapshot_order_book(&snapshot, &[order; 48]));
    assert!(!packer.snapshot_order_book(&snapshot, &[order]));
    assert!(packer.heartbeat(), "ten bytes are left");
    let mut sent = Vec::new();
    packer.send(1, &mut |packet| sent.push(packet.to_vec()));
    let packet = Packet::read(&sent[0]).expect("a packet");
    assert_eq!((packet.sequence, packet.messages().count()), (u32::MAX, 2));
    assert_eq!(packer.sequence(), 0);
    assert!(!packer.channel_reset(1, MatchEvent::default(), &[1; 256]));
    assert!(packer.channel_reset(1, MatchEvent::default(), &[1; 255]));
    let groups = DefinitionGroups { attributes: &[1; 256], ..DefinitionGroups::default() };
    let future = Definition::new(DefinitionKind::Future, 4711, "ESZ6");
    assert!(!Packer::new(1).definition_future(&future, &groups));
}
