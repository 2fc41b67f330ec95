//! Books, trades and volumes.

use tapeline_mdp::{
    BookEntry, BookEntryKind, MatchEvent, OrderAction, OrderBookEntry, OrderEntry, Side,
    TradeEntry, TradeOrder, UpdateAction, VolumeEntry,
};

use super::{TRANSACT_TIME_NS, is_written_as, nano, packet, read_as};

#[test]
fn levels_and_the_orders_behind_them() {
    let packet = packet("MDIncrementalRefreshBook46");
    let book = read_as!(&packet, Book);
    assert_eq!(book.transact_time_ns, TRANSACT_TIME_NS);
    assert_eq!(book.event, MatchEvent::LAST_QUOTE | MatchEvent::END_OF_EVENT);
    let entries = [
        BookEntry {
            price: Some(nano(66_735_000_000_000)),
            quantity: Some(2),
            security: 30_975,
            report_sequence: 80_734,
            orders: Some(1),
            level: 2,
            action: UpdateAction::New,
            kind: BookEntryKind::Offer,
        },
        BookEntry {
            price: Some(nano(-37_630_000_000)),
            quantity: Some(17),
            security: -5,
            report_sequence: 80_735,
            orders: None,
            level: 1,
            action: UpdateAction::Overlay,
            kind: BookEntryKind::ImpliedBid,
        },
        BookEntry {
            price: None,
            quantity: None,
            security: 30_975,
            report_sequence: 80_736,
            orders: None,
            level: 0,
            action: UpdateAction::DeleteThrough,
            kind: BookEntryKind::BookReset,
        },
    ];
    let orders = [
        OrderEntry {
            order: 707_132_284_827,
            priority: Some(16_882_484_350),
            quantity: Some(2),
            reference: Some(1),
            action: OrderAction::New,
        },
        OrderEntry {
            order: u64::MAX,
            priority: None,
            quantity: None,
            reference: None,
            action: OrderAction::Delete,
        },
    ];
    assert_eq!(book.entries().collect::<Vec<_>>(), entries);
    assert_eq!(book.orders().collect::<Vec<_>>(), orders);
    is_written_as(&packet, |packer| {
        packer.book(book.transact_time_ns, book.event, &entries, &orders)
    });
}

#[test]
fn levels_with_long_quantities() {
    let packet = packet("MDIncrementalRefreshBookLongQty64");
    let book = read_as!(&packet, Book);
    let entries = [
        BookEntry {
            price: Some(nano(1_081_250_000)),
            quantity: Some(5_000_000_000),
            security: 30_975,
            report_sequence: 80_734,
            orders: Some(12),
            level: 2,
            action: UpdateAction::New,
            kind: BookEntryKind::Bid,
        },
        BookEntry {
            price: None,
            quantity: None,
            security: 30_975,
            report_sequence: 80_735,
            orders: None,
            level: 1,
            action: UpdateAction::Delete,
            kind: BookEntryKind::MarketBestOffer,
        },
    ];
    let orders = [OrderEntry {
        order: 707_132_284_827,
        priority: Some(16_882_484_350),
        quantity: Some(2),
        reference: Some(1),
        action: OrderAction::Update,
    }];
    assert_eq!(book.entries().collect::<Vec<_>>(), entries);
    assert_eq!(book.orders().collect::<Vec<_>>(), orders);
    is_written_as(&packet, |packer| {
        packer.book(book.transact_time_ns, book.event, &entries, &orders)
    });
}

#[test]
fn orders_alone() {
    let packet = packet("MDIncrementalRefreshOrderBook47");
    let book = read_as!(&packet, OrderBook);
    assert_eq!((book.transact_time_ns, book.event.bits()), (TRANSACT_TIME_NS, 128));
    let entries = [
        OrderBookEntry {
            order: Some(707_132_284_828),
            priority: Some(16_882_484_351),
            price: Some(nano(4_675_250_000_000)),
            quantity: Some(8),
            security: 4711,
            action: UpdateAction::Change,
            side: Some(Side::Buy),
        },
        OrderBookEntry {
            order: None,
            priority: None,
            price: None,
            quantity: None,
            security: 4712,
            action: UpdateAction::Delete,
            side: None,
        },
    ];
    assert_eq!(book.entries().collect::<Vec<_>>(), entries);
    is_written_as(&packet, |packer| packer.order_book(book.transact_time_ns, book.event, &entries));
}

#[test]
fn trades() {
    let packet = packet("MDIncrementalRefreshTradeSummary48");
    let trades = read_as!(&packet, TradeSummary);
    assert!(trades.event.is_last_trade() && !trades.event.is_end_of_event());
    let entries = [
        TradeEntry {
            price: nano(4_675_500_000_000),
            quantity: 5,
            security: 4711,
            report_sequence: 10,
            orders: 3,
            aggressor: Some(Side::Buy),
            action: UpdateAction::New,
            trade: Some(77),
        },
        TradeEntry {
            price: nano(4_675_250_000_000),
            quantity: 1,
            security: 4711,
            report_sequence: 11,
            orders: 0,
            aggressor: None,
            action: UpdateAction::Delete,
            trade: None,
        },
    ];
    let orders =
        [(9001, 5), (9002, 3), (9003, 2)].map(|(order, quantity)| TradeOrder { order, quantity });
    assert_eq!(trades.entries().collect::<Vec<_>>(), entries);
    assert_eq!(trades.orders().collect::<Vec<_>>(), orders);
    is_written_as(&packet, |packer| {
        packer.trade_summary(trades.transact_time_ns, trades.event, &entries, &orders)
    });
}

#[test]
fn trades_with_long_quantities() {
    let packet = packet("MDIncrementalRefreshTradeSummaryLongQty65");
    let trades = read_as!(&packet, TradeSummary);
    let entries = [TradeEntry {
        price: nano(1_081_260_000),
        quantity: 7_000_000_000,
        security: 30_975,
        report_sequence: 80_736,
        orders: 2,
        aggressor: Some(Side::Sell),
        action: UpdateAction::Change,
        trade: Some(78),
    }];
    let orders = [TradeOrder { order: 9004, quantity: 6 }];
    assert_eq!(trades.entries().collect::<Vec<_>>(), entries);
    assert_eq!(trades.orders().collect::<Vec<_>>(), orders);
    is_written_as(&packet, |packer| {
        packer.trade_summary(trades.transact_time_ns, trades.event, &entries, &orders)
    });
}

#[test]
fn volumes() {
    let entry = |quantity, security, report_sequence, action| VolumeEntry {
        quantity,
        security,
        report_sequence,
        action,
    };
    let short = [
        entry(123_456, 4711, 9, UpdateAction::New),
        entry(1, 4712, u32::MAX - 1, UpdateAction::Change),
    ];
    let long = [
        entry(9_000_000_000, 30_975, 80_737, UpdateAction::New),
        entry(i32::MAX.into(), 30_976, 1, UpdateAction::Change),
    ];
    let of =
        [("MDIncrementalRefreshVolume37", short), ("MDIncrementalRefreshVolumeLongQty66", long)];
    for (template, entries) in of {
        let packet = packet(template);
        let volume = read_as!(&packet, Volume);
        assert!(volume.event.is_last_volume());
        assert_eq!(volume.entries().collect::<Vec<_>>(), entries);
        is_written_as(&packet, |packer| {
            packer.volume(volume.transact_time_ns, volume.event, &entries)
        });
    }
}
