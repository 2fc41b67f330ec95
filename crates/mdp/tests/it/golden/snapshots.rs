//! Snapshots of levels and of orders.

use tapeline_mdp::{
    EntryKind, MarketDate, OpenFlag, SettlementType, Side, Snapshot, SnapshotEntry, SnapshotOrder,
    TradingStatus,
};

use super::{is_written_as, nano, packet, read_as};

/// What both snapshots of levels begin with.
fn is_head(snapshot: &Snapshot<'_>) {
    assert_eq!((snapshot.last_sequence, snapshot.total_reports), (1_587_084, 100));
    assert_eq!((snapshot.security, snapshot.report_sequence), (72_156, 66));
    assert_eq!(snapshot.transact_time_ns, 1_675_665_709_058_730_423);
    assert_eq!(snapshot.last_update_time_ns, 1_675_616_678_351_000_000);
    assert_eq!(snapshot.trade_date, Some(MarketDate { days: 19_394 }));
    assert_eq!(snapshot.trading_status, TradingStatus::ReadyToTrade);
    let prices = [snapshot.low_limit_price, snapshot.max_price_variation];
    assert_eq!(prices, [3_906_250, 125_000_000].map(|price| Some(nano(price))));
    assert_eq!(snapshot.high_limit_price, None);
}

const NOTHING: SnapshotEntry = SnapshotEntry {
    price: None,
    quantity: None,
    orders: None,
    level: None,
    reference_date: None,
    open_flag: None,
    settlement: SettlementType::NULL,
    kind: EntryKind::Bid,
};

#[test]
fn levels_and_figures() {
    let packet = packet("SnapshotFullRefresh52");
    let snapshot = read_as!(&packet, Snapshot);
    is_head(&snapshot);
    let entries = [
        SnapshotEntry {
            price: Some(nano(102_335_937_500)),
            quantity: Some(1),
            orders: Some(4),
            level: Some(1),
            ..NOTHING
        },
        SnapshotEntry {
            price: Some(nano(103_000_000_000)),
            reference_date: Some(MarketDate { days: 19_391 }),
            settlement: SettlementType::FINAL | SettlementType::ACTUAL,
            kind: EntryKind::SettlementPrice,
            ..NOTHING
        },
        SnapshotEntry {
            price: Some(nano(102_000_000_000)),
            open_flag: Some(OpenFlag::DailyOpen),
            kind: EntryKind::OpenPrice,
            ..NOTHING
        },
    ];
    assert_eq!(snapshot.entries().collect::<Vec<_>>(), entries);
    is_written_as(&packet, |packer| packer.snapshot(&snapshot, &entries));
}

#[test]
fn levels_with_long_quantities() {
    let packet = packet("SnapshotFullRefreshLongQty69");
    let snapshot = read_as!(&packet, Snapshot);
    is_head(&snapshot);
    let entries = [
        SnapshotEntry {
            price: Some(nano(1_081_250_000)),
            quantity: Some(5_000_000_000),
            orders: Some(12),
            level: Some(10),
            ..NOTHING
        },
        SnapshotEntry {
            price: Some(nano(1_081_260_000)),
            open_flag: Some(OpenFlag::DailyOpen),
            kind: EntryKind::OpenPrice,
            ..NOTHING
        },
    ];
    assert_eq!(snapshot.entries().collect::<Vec<_>>(), entries);
    is_written_as(&packet, |packer| packer.snapshot(&snapshot, &entries));
}

#[test]
fn orders() {
    let packet = packet("SnapshotFullRefreshOrderBook53");
    let snapshot = read_as!(&packet, SnapshotOrderBook);
    assert_eq!((snapshot.last_sequence, snapshot.total_reports), (1_587_084, 100));
    assert_eq!((snapshot.current_chunk, snapshot.chunk_count), (2, 3));
    assert_eq!((snapshot.security, snapshot.transact_time_ns), (72_156, 1_675_665_709_058_730_423));
    let entries = [
        SnapshotOrder {
            order: 8_412_100_503_729,
            priority: Some(20_539_229_825),
            price: nano(123_709_000_000),
            quantity: 20,
            side: Some(Side::Sell),
        },
        SnapshotOrder {
            order: 8_412_109_477_685,
            priority: None,
            price: nano(107_812_500_000),
            quantity: 68,
            side: Some(Side::Buy),
        },
    ];
    assert_eq!(snapshot.entries().collect::<Vec<_>>(), entries);
    is_written_as(&packet, |packer| packer.snapshot_order_book(&snapshot, &entries));
}
