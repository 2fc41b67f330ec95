use tapeline_mdp::{
    BookEntry, DefinitionGroups, DefinitionKind, EntryKind, Feed, HaltReason, OpenFlag,
    OrderAction, OrderBookEntry, OrderEntry, Packer, Price9, SettlementType, Side as MdpSide,
    SnapshotEntry, Text, TradeEntry, TradingEvent, VolumeEntry,
};

use super::*;
use crate::book::Side;
use crate::update::UpdateKind;

const FUTURE: i32 = 4711;
const TIME_NS: u64 = 1_796_049_000_000_000_000;
const END: MatchEvent = MatchEvent::END_OF_EVENT;

fn settings(depth: Depth) -> CmeSettings {
    CmeSettings { suffix: ".C".into(), depth, has_definitions: true, has_snapshots: true }
}

/// Gives the packet with these messages.
fn packet(sequence: u32, write: impl FnOnce(&mut Packer) -> bool) -> Vec<u8> {
    let (mut packer, mut bytes) = (Packer::new(sequence), Vec::new());
    assert!(write(&mut packer), "it fits");
    packer.send(TIME_NS + u64::from(sequence), &mut |packet| bytes.extend_from_slice(packet));
    bytes
}

fn says(feed: &mut CmeFeed, sequence: u32, write: impl FnOnce(&mut Packer) -> bool) {
    let bytes = packet(sequence, write);
    feed.packet(&Packet::read(&bytes).expect("a packet"), &bytes);
}

fn loops(feed: &mut CmeFeed, write: impl FnOnce(&mut Packer) -> bool) {
    let bytes = packet(1, write);
    feed.loop_packet(&Packet::read(&bytes).expect("a packet"));
}

fn price(quarters: i64) -> Price9 {
    Price9::from_nano(quarters * 25_000_000_000)
}

fn level(report: u32, place: u8, quarters: i64, size: i64) -> BookEntry {
    BookEntry {
        price: Some(price(quarters)),
        quantity: Some(size),
        security: FUTURE,
        report_sequence: report,
        orders: Some(1),
        level: place,
        action: UpdateAction::New,
        kind: BookEntryKind::Bid,
    }
}

fn trade(report: u32, quarters: i64, quantity: i64) -> TradeEntry {
    TradeEntry {
        price: price(quarters),
        quantity,
        security: FUTURE,
        report_sequence: report,
        orders: 2,
        aggressor: Some(MdpSide::Buy),
        action: UpdateAction::New,
        trade: Some(1),
    }
}

fn define(feed: &mut CmeFeed, security: i32, symbol: &str) {
    let mut of = Definition::new(DefinitionKind::Future, security, symbol);
    of.display_factor = Price9::from_nano(10_000_000);
    (of.group, of.asset) = ("ES", "ES");
    of.trading_status = TradingStatus::PreOpen;
    let groups = DefinitionGroups { feeds: &[Feed { kind: "GBX", depth: 3 }], ..<_>::default() };
    loops(feed, |packer| packer.definition_future(&of, &groups));
}

fn bids(feed: &CmeFeed, name: &str) -> Vec<(i64, u64)> {
    let book = feed.book(name).expect("a book");
    book.levels(Side::Bid).rev().map(|(price, level)| (price, level.size)).collect()
}

fn published(feed: &mut CmeFeed) -> Vec<(String, Domain, bool)> {
    let mut found = Vec::new();
    feed.publish(|name, update| {
        found.push((name.to_owned(), update.domain, update.kind == UpdateKind::Image));
    })
    .expect("it fits");
    found
}

/// The items that turned, and whether they are not to be trusted.
fn turned(feed: &mut CmeFeed) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    feed.turned(|name, is_unsure| found.push((name.to_owned(), is_unsure)));
    found
}

/// One that has all since the first packet, and a definition.
fn feed() -> CmeFeed {
    let mut feed = CmeFeed::new(settings(Depth::Levels));
    feed.begin(1);
    define(&mut feed, FUTURE, "ESZ6");
    feed
}

#[test]
fn levels_and_trades_are_items_of_the_symbol_in_displayed_prices() {
    let mut feed = feed();
    says(&mut feed, 1, |packer| {
        packer.book(TIME_NS, END, &[level(1, 1, 2_000, 5), level(2, 2, 1_999, 7)], &[])
    });
    assert_eq!(bids(&feed, "ESZ6.C"), [(500_000_000_000, 5), (499_750_000_000, 7)]);
    let of = |domain, is_image| ("ESZ6.C".to_owned(), domain, is_image);
    let (levels, quote) = (Domain::MARKET_BY_PRICE, Domain::MARKET_PRICE);
    assert_eq!(published(&mut feed), [of(levels, false), of(quote, false)]);
    says(&mut feed, 2, |packer| {
        packer.trade_summary(TIME_NS, MatchEvent::default(), &[trade(3, 2_000, 4)], &[])
    });
    assert_eq!(published(&mut feed), [], "amid an event");
    let volume = VolumeEntry {
        quantity: 904,
        security: FUTURE,
        report_sequence: 4,
        action: UpdateAction::New,
    };
    says(&mut feed, 3, |packer| packer.volume(TIME_NS, END, &[volume]));
    assert_eq!(published(&mut feed), [of(quote, false)]);
    let trades = feed.book("ESZ6.C").expect("a book").trades();
    let last = trades.last.expect("a trade");
    assert_eq!((last.price_nano, last.size), (500_000_000_000, 4));
    assert_eq!((trades.volume, trades.count, feed.unsure(), feed.unknown()), (904, 1, 0, 0));
    assert!(!feed.has(Domain::MARKET_BY_ORDER));
    let image = |domain| feed.image(domain, "ESZ6.C", &mut Vec::new()).expect("it fits").is_some();
    assert_eq!((image(Domain::MARKET_BY_ORDER), image(levels)), (false, true));
}

#[test]
fn orders_beside_levels_and_orders_alone_are_market_by_order() {
    let mut feed = CmeFeed::new(settings(Depth::Orders));
    feed.begin(1);
    define(&mut feed, FUTURE, "ESZ6");
    let beside = |order, quantity, action| OrderEntry {
        order,
        priority: Some(1),
        quantity: Some(quantity),
        reference: Some(1),
        action,
    };
    let alone = |order, quarters, action| OrderBookEntry {
        order: Some(order),
        priority: Some(2),
        price: Some(price(quarters)),
        quantity: Some(9),
        security: FUTURE,
        action,
        side: Some(MdpSide::Sell),
    };
    says(&mut feed, 1, |packer| {
        let orders = [beside(11, 5, OrderAction::New), beside(12, 2, OrderAction::New)];
        let deep = [alone(13, 2_040, UpdateAction::New), alone(14, 2_041, UpdateAction::New)];
        packer.book(TIME_NS, END, &[level(1, 1, 2_000, 7)], &orders)
            && packer.order_book(TIME_NS, END, &deep)
    });
    says(&mut feed, 2, |packer| {
        let orders = [beside(11, 3, OrderAction::Update), beside(12, 2, OrderAction::Delete)];
        let change = BookEntry { action: UpdateAction::Change, ..level(2, 1, 2_000, 3) };
        packer.book(TIME_NS, END, &[change], &orders)
            && packer.order_book(TIME_NS, END, &[alone(14, 2_041, UpdateAction::Delete)])
    });
    let book = feed.book("ESZ6.C").expect("a book");
    let orders: Vec<_> = book.orders().map(|(id, of)| (id, of.side, of.size)).collect();
    assert_eq!(orders, [(11, Side::Bid, 3), (13, Side::Ask, 9)]);
    assert_eq!(bids(&feed, "ESZ6.C"), [(500_000_000_000, 3)]);
    assert_eq!((feed.unknown(), feed.unsure()), (0, 0));
    assert!(published(&mut feed).iter().any(|(_, domain, _)| *domain == Domain::MARKET_BY_ORDER));
}

#[test]
fn a_book_that_lost_nothing_is_good_with_its_next_report() {
    let mut feed = feed();
    says(&mut feed, 1, |packer| packer.book(TIME_NS, END, &[level(1, 1, 2_000, 5)], &[]));
    assert_eq!((turned(&mut feed), feed.is_unsure("ESZ6.C")), (vec![], false));
    feed.lose(4);
    assert_eq!((feed.unsure(), feed.is_unsure("ESZ6.C")), (1, true));
    assert_eq!(turned(&mut feed), [("ESZ6.C".to_owned(), true)]);
    says(&mut feed, 4, |packer| packer.book(TIME_NS, END, &[level(2, 2, 1_999, 1)], &[]));
    assert_eq!((feed.unsure(), feed.snapshots()), (0, 0));
    assert_eq!(turned(&mut feed), [("ESZ6.C".to_owned(), false)]);
    feed.lose(6);
    // 3 was in packet 5.
    says(&mut feed, 6, |packer| packer.book(TIME_NS, END, &[level(4, 3, 1_998, 1)], &[]));
    assert_eq!((feed.unsure(), bids(&feed, "ESZ6.C").len()), (1, 2));
}

#[test]
fn a_snapshot_with_what_came_behind_it_is_the_book_again() {
    let mut feed = feed();
    says(&mut feed, 1, |packer| packer.book(TIME_NS, END, &[level(1, 1, 2_000, 5)], &[]));
    feed.lose(5);
    let entry = |kind, level, quarters, quantity| SnapshotEntry {
        price: Some(price(quarters)),
        quantity: Some(quantity),
        orders: Some(1),
        level,
        reference_date: None,
        open_flag: (kind == EntryKind::OpenPrice).then_some(OpenFlag::DailyOpen),
        settlement: SettlementType::default(),
        kind,
    };
    let entries = [
        entry(EntryKind::Bid, Some(1), 1_990, 8),
        entry(EntryKind::Trade, None, 1_990, 2),
        entry(EntryKind::OpenPrice, None, 1_980, 0),
        entry(EntryKind::SessionHigh, None, 2_004, 0),
        entry(EntryKind::SessionLow, None, 1_976, 0),
        entry(EntryKind::ElectronicVolume, None, 0, 12_345),
        entry(EntryKind::SettlementPrice, None, 1_960, 0),
    ];
    let snapshot = |last_sequence, report_sequence| {
        let mut of = Snapshot::new(FUTURE);
        (of.last_sequence, of.report_sequence) = (last_sequence, report_sequence);
        (of.last_update_time_ns, of.trading_status) = (TIME_NS, TradingStatus::ReadyToTrade);
        of
    };
    says(&mut feed, 5, |packer| packer.book(TIME_NS, END, &[level(9, 2, 1_989, 1)], &[]));
    loops(&mut feed, |packer| packer.snapshot(&snapshot(3, 7), &entries));
    assert_eq!(feed.unsure(), 1, "it lacks packet 4");
    loops(&mut feed, |packer| packer.snapshot(&snapshot(4, 8), &entries));
    assert_eq!((feed.unsure(), feed.snapshots()), (0, 1));
    assert_eq!(bids(&feed, "ESZ6.C"), [(497_500_000_000, 8), (497_250_000_000, 1)]);
    let trades = *feed.book("ESZ6.C").expect("a book").trades();
    assert_eq!((trades.open_nano, trades.high_nano), (495_000_000_000, 501_000_000_000));
    assert_eq!((trades.low_nano, trades.volume), (494_000_000_000, 12_345));
    assert!(published(&mut feed).iter().all(|(_, _, is_image)| *is_image));
    // One that is good needs none.
    loops(&mut feed, |packer| packer.snapshot(&snapshot(4, 8), &entries[..1]));
    assert_eq!(bids(&feed, "ESZ6.C").len(), 2);
}

#[test]
fn without_definitions_and_snapshots_books_are_what_comes_and_are_not_trusted() {
    let of = CmeSettings { has_definitions: false, has_snapshots: false, ..<_>::default() };
    let mut feed = CmeFeed::new(of);
    feed.begin(77);
    says(&mut feed, 77, |packer| packer.book(TIME_NS, END, &[level(5, 1, 2_000, 5)], &[]));
    assert_eq!((bids(&feed, "4711"), feed.unsure()), (vec![(50_000_000_000_000, 5)], 1));
    feed.lose(80);
    assert_eq!(bids(&feed, "4711"), []);
    // What was there before is gone, whatever the numbers of the next reports are.
    for (sequence, report) in [(80, 6), (81, 7)] {
        says(&mut feed, sequence, |packer| {
            packer.book(TIME_NS, END, &[level(report, 1, 2_000, 1)], &[])
        });
        assert_eq!(feed.unsure(), 1, "report {report}");
    }
}

#[test]
fn a_group_trades_and_halts_and_a_reset_empties_all_books() {
    let mut feed = feed();
    define(&mut feed, FUTURE + 1, "NQZ6");
    says(&mut feed, 1, |packer| packer.book(TIME_NS, END, &[level(1, 1, 2_000, 5)], &[]));
    published(&mut feed);
    let status = |security, status| SecurityStatus {
        transact_time_ns: TIME_NS,
        group: Text::new("ES"),
        asset: Text::new(""),
        security,
        trade_date: None,
        event: END,
        status,
        reason: HaltReason::GroupSchedule,
        trading_event: TradingEvent::None,
    };
    says(&mut feed, 2, |packer| packer.security_status(&status(None, TradingStatus::ReadyToTrade)));
    assert_eq!(published(&mut feed).len(), 2, "both quotes");
    says(&mut feed, 3, |packer| packer.security_status(&status(Some(FUTURE), TradingStatus::Halt)));
    assert_eq!(published(&mut feed), [("ESZ6.C".to_owned(), Domain::MARKET_PRICE, false)]);
    says(&mut feed, 4, |packer| packer.channel_reset(TIME_NS, END, &[310]));
    assert_eq!((bids(&feed, "ESZ6.C"), feed.unsure()), (vec![], 0));
}

#[test]
fn packets_and_their_updates_cost_no_allocation() {
    let mut feed = feed();
    let mut reports = 1..;
    let mut report = || reports.next().expect("no end");
    let packets: Vec<Vec<u8>> = (1..=6_000)
        .map(|sequence| {
            let quarters = 2_000 + i64::from(sequence % 40);
            let bid = level(report(), 1, quarters, 5);
            let change =
                BookEntry { action: UpdateAction::Change, ..level(report(), 1, quarters, 4) };
            let trade = trade(report(), quarters, 1);
            let gone =
                BookEntry { action: UpdateAction::Delete, ..level(report(), 1, quarters, 4) };
            let entries: &[BookEntry] =
                if sequence % 3 == 0 { &[bid, change] } else { &[bid, change, gone] };
            packet(sequence, |packer| {
                packer.book(TIME_NS, MatchEvent::default(), entries, &[])
                    && packer.trade_summary(TIME_NS, END, &[trade], &[])
            })
        })
        .collect();
    let mut published = 0;
    let mut read = |packets: &[Vec<u8>]| {
        for bytes in packets {
            feed.packet(&Packet::read(bytes).expect("a packet"), bytes);
            feed.publish(|_, _| published += 1).expect("it fits");
        }
    };
    read(&packets[..3_000]);
    let counted = allocation_counter::measure(|| read(&packets[3_000..]));
    assert!(published > 6_000, "{published}");
    assert_eq!(counted.count_total, 0, "allocations for 3,000 packets");
}

mod lossy;
