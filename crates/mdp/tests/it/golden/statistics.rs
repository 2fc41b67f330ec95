//! Statistics, limits, and what is said of groups of instruments.

use tapeline_layout::Text;
use tapeline_mdp::{
    DailyStatistic, EntryKind, HaltReason, Limits, MarketDate, MatchEvent, OpenFlag,
    QuoteRequestEntry, SecurityStatus, SessionStatistic, SettlementType, TradingEvent,
    TradingStatus, UpdateAction,
};

use super::{TRANSACT_TIME_NS, is_written_as, nano, packet, packets, read_as};

#[test]
fn figures_of_days() {
    let packet = packet("MDIncrementalRefreshDailyStatistics49");
    let statistics = read_as!(&packet, DailyStatistics);
    assert_eq!(statistics.transact_time_ns, TRANSACT_TIME_NS);
    assert_eq!(statistics.event, MatchEvent::LAST_STATISTICS);
    let entries = [
        DailyStatistic {
            price: Some(nano(4_670_000_000_000)),
            quantity: None,
            security: 4711,
            report_sequence: 12,
            reference_date: Some(MarketDate { days: 19_206 }),
            settlement: SettlementType::FINAL | SettlementType::ACTUAL | SettlementType::ROUNDED,
            action: UpdateAction::New,
            kind: EntryKind::SettlementPrice,
        },
        DailyStatistic {
            price: None,
            quantity: Some(2_000_000),
            security: 4711,
            report_sequence: 13,
            reference_date: None,
            settlement: SettlementType::NULL,
            action: UpdateAction::Delete,
            kind: EntryKind::OpenInterest,
        },
    ];
    assert_eq!(statistics.entries().collect::<Vec<_>>(), entries);
}

#[test]
fn limits_of_prices() {
    let packet = packet("MDIncrementalRefreshLimitsBanding50");
    let limits = read_as!(&packet, LimitsBanding);
    let entries = [
        Limits {
            high: Some(nano(5_000_000_000_000)),
            low: Some(nano(4_400_000_000_000)),
            max_price_variation: Some(nano(6_000_000_000)),
            security: 4711,
            report_sequence: 14,
        },
        Limits {
            high: None,
            low: Some(nano(9_000_000_000_000)),
            max_price_variation: None,
            security: 5620,
            report_sequence: 1869,
        },
    ];
    assert_eq!(limits.entries().collect::<Vec<_>>(), entries);
}

#[test]
fn figures_of_sessions() {
    let packet_51 = packet("MDIncrementalRefreshSessionStatistics51");
    let entries = [
        SessionStatistic {
            price: nano(4_671_250_000_000),
            quantity: Some(350),
            security: 4711,
            report_sequence: 15,
            open_flag: Some(OpenFlag::IndicativeOpen),
            action: UpdateAction::New,
            kind: EntryKind::OpenPrice,
        },
        SessionStatistic {
            price: nano(4_660_000_000_000),
            quantity: None,
            security: 4711,
            report_sequence: 16,
            open_flag: None,
            action: UpdateAction::Change,
            kind: EntryKind::SessionLow,
        },
    ];
    let statistics = read_as!(&packet_51, SessionStatistics);
    assert_eq!(statistics.entries().collect::<Vec<_>>(), entries);
    let packet_67 = packet("MDIncrementalRefreshSessionStatisticsLongQty67");
    let entries = [
        SessionStatistic {
            price: nano(1_081_270_000),
            quantity: Some(11_000_000_000),
            security: 30_975,
            report_sequence: 80_738,
            open_flag: Some(OpenFlag::IntradayVwap),
            action: UpdateAction::New,
            kind: EntryKind::Vwap,
        },
        SessionStatistic {
            price: nano(1_081_280_000),
            quantity: None,
            security: 30_975,
            report_sequence: 80_739,
            open_flag: None,
            action: UpdateAction::Change,
            kind: EntryKind::SessionHighBid,
        },
    ];
    let statistics = read_as!(&packet_67, SessionStatistics);
    assert_eq!(statistics.entries().collect::<Vec<_>>(), entries);
}

#[test]
fn whether_instruments_trade() {
    let expected = [
        SecurityStatus {
            transact_time_ns: TRANSACT_TIME_NS,
            group: Text::new("ES"),
            asset: Text::new("ES"),
            security: Some(4711),
            trade_date: Some(MarketDate { days: 19_206 }),
            event: MatchEvent::END_OF_EVENT,
            status: TradingStatus::ReadyToTrade,
            reason: HaltReason::GroupSchedule,
            trading_event: TradingEvent::ResetStatistics,
        },
        SecurityStatus {
            transact_time_ns: TRANSACT_TIME_NS,
            group: Text::new("SILVER"),
            asset: Text::new(""),
            security: None,
            trade_date: None,
            event: MatchEvent::END_OF_EVENT,
            status: TradingStatus::Halt,
            reason: HaltReason::Surveillance,
            trading_event: TradingEvent::NoCancel,
        },
    ];
    let packets = packets("SecurityStatus30");
    assert_eq!(packets.len(), expected.len());
    for (packet, expected) in packets.iter().zip(expected) {
        assert_eq!(read_as!(packet, SecurityStatus), expected);
        is_written_as(packet, |packer| packer.security_status(&expected));
    }
}

#[test]
fn requests_for_quotes() {
    let packet = packet("QuoteRequest39");
    let request = read_as!(&packet, QuoteRequest);
    assert_eq!((request.transact_time_ns, request.request.as_str()), (TRANSACT_TIME_NS, "15R0003"));
    assert!(request.event.is_end_of_event());
    let entries = [
        QuoteRequestEntry {
            symbol: Text::new("ESZ6"),
            security: 4711,
            quantity: Some(25),
            quote_type: 1,
            side: Some(8),
        },
        QuoteRequestEntry {
            symbol: Text::new("ESH7-ESZ6-ESM7-ESU7X"),
            security: 4712,
            quantity: None,
            quote_type: 1,
            side: None,
        },
    ];
    assert_eq!(request.entries().collect::<Vec<_>>(), entries);
}
