//! What instruments are.

use tapeline_mdp::{
    Definition, DefinitionAction, DefinitionGroups, DefinitionKind, Feed, Leg, LifeEvent,
    MarketDate, MatchEvent, MaturityMonthYear, PutOrCall, SettlementType, Side, TradingStatus,
    Underlying,
};

use super::{is_written_as, nano, packet, packets, read_as};

/// A definition with some fields set: its groups are private.
macro_rules! with {
    ($base:expr; $($field:ident: $value:expr,)*) => {{
        let mut definition = $base;
        $(definition.$field = $value;)*
        definition
    }};
}

macro_rules! fields_are_the_same {
    ($one:expr, $other:expr; $($field:ident)*) => {
        $(assert_eq!($one.$field, $other.$field, stringify!($field));)*
    };
}

/// All fields but the groups.
fn same(read: &Definition<'_>, expected: &Definition<'_>) {
    fields_are_the_same! { read, expected;
        kind event total_reports update_action last_update_time_ns trading_status appl_id
        market_segment underlying_product exchange group asset symbol security security_type cfi
        maturity currency settlement_currency sub_type put_or_call strike_price match_algorithm
        min_trade_volume max_trade_volume min_price_increment min_price_increment_amount tick_rule
        display_factor main_fraction sub_fraction price_display_format unit_of_measure
        unit_of_measure_quantity reference_price settlement reference_date open_interest
        cleared_volume high_limit_price low_limit_price max_price_variation user_defined guid
    }
}

/// What all but one of the definitions say.
fn common(kind: DefinitionKind, security: i32, symbol: &str) -> Definition<'_> {
    with! {
        Definition::new(kind, security, symbol);
        event: MatchEvent::END_OF_EVENT,
        total_reports: Some(56_000),
        update_action: DefinitionAction::Add,
        last_update_time_ns: 1_659_284_400_000_000_000,
        trading_status: TradingStatus::ReadyToTrade,
        appl_id: 386,
        market_segment: 78,
        underlying_product: Some(16),
        exchange: "XNYM",
        group: "ZZ",
        asset: "A4M",
        currency: "USD",
        settlement_currency: "EUR",
        display_factor: nano(10_000_000),
        unit_of_measure: "MWH",
        reference_date: Some(MarketDate { days: 19_202 }),
    }
}

/// The groups that all but one of the definitions have.
fn has_common_groups(read: &Definition<'_>) {
    let events = [(5, 1_506_290_400_000_000_000), (7, 1_785_513_600_000_000_000)];
    let events = events.map(|(kind, time_ns)| LifeEvent { kind, time_ns });
    assert_eq!(read.events().collect::<Vec<_>>(), events);
    let feeds = [("GBX", 10), ("GBI", 2)].map(|(kind, depth)| Feed { kind, depth });
    assert_eq!(read.feeds().collect::<Vec<_>>(), feeds);
    assert_eq!(read.attributes().collect::<Vec<_>>(), [336_391]);
}

fn month(year: u16, month: u8) -> MaturityMonthYear {
    MaturityMonthYear { year: Some(year), month: Some(month), day: None, week: None }
}

#[test]
fn a_future() {
    let packet = &packets("MDInstrumentDefinitionFuture54")[0];
    let read = read_as!(packet, Definition);
    let expected = with! {
        common(DefinitionKind::Future, 157_821, "A4MN6");
        security_type: "FUT",
        cfi: "FCMXSX",
        maturity: month(2026, 7),
        min_trade_volume: 1,
        max_trade_volume: 999,
        min_price_increment: Some(nano(5_000_000_000)),
        min_price_increment_amount: Some(nano(2_000_000_000)),
        main_fraction: Some(32),
        sub_fraction: Some(2),
        price_display_format: Some(3),
        unit_of_measure_quantity: Some(nano(5_000_000_000)),
        reference_price: Some(nano(4_975_000_000_000)),
        settlement: SettlementType::FINAL | SettlementType::ROUNDED,
        open_interest: Some(1200),
        cleared_volume: Some(34),
        high_limit_price: Some(nano(6_000_000_000_000)),
        low_limit_price: Some(nano(5_000_000_000)),
        max_price_variation: Some(nano(25_000_000_000)),
        guid: Some(3_414_988_746_661),
    };
    same(&read, &expected);
    has_common_groups(&read);
    assert_eq!((read.legs().count(), read.underlyings().count()), (0, 0));
}

#[test]
fn a_future_with_little_to_say_is_written_too() {
    let packet = &packets("MDInstrumentDefinitionFuture54")[1];
    let read = read_as!(packet, Definition);
    let maturity = MaturityMonthYear { day: Some(18), week: Some(3), ..month(2026, 12) };
    let expected = with! {
        Definition::new(DefinitionKind::Future, 4711, "ESZ6");
        event: MatchEvent::END_OF_EVENT,
        update_action: DefinitionAction::Modify,
        last_update_time_ns: 1_659_284_400_000_000_000,
        appl_id: 310,
        market_segment: 64,
        underlying_product: Some(5),
        exchange: "XCME",
        group: "ES",
        asset: "ES",
        security_type: "FUT",
        cfi: "FFIXSX",
        maturity: maturity,
        currency: "USD",
        max_trade_volume: 3000,
        min_price_increment: Some(nano(250_000_000)),
        unit_of_measure: "IPNT",
    };
    same(&read, &expected);
    let feeds = [Feed { kind: "GBX", depth: 10 }];
    assert_eq!(read.feeds().collect::<Vec<_>>(), feeds);
    assert_eq!((read.events().count(), read.attributes().count()), (0, 0));
    let groups = DefinitionGroups { feeds: &feeds, ..DefinitionGroups::default() };
    is_written_as(packet, |packer| packer.definition_future(&expected, &groups));
    is_written_as(packet, |packer| packer.definition_future(&read, &groups));
}

#[test]
fn an_option() {
    let packet = packet("MDInstrumentDefinitionOption55");
    let read = read_as!(&packet, Definition);
    let expected = with! {
        common(DefinitionKind::Option, 157_822, "A4MN6 C50");
        security_type: "OOF",
        cfi: "OCEFPS",
        put_or_call: Some(PutOrCall::Call),
        strike_price: Some(nano(50_000_000_000)),
        maturity: month(2026, 7),
        match_algorithm: b'Q',
        min_trade_volume: 2,
        max_trade_volume: 998,
        min_price_increment: Some(nano(5_000_000)),
        min_price_increment_amount: Some(nano(2_500_000_000)),
        tick_rule: Some(4),
        main_fraction: Some(8),
        sub_fraction: Some(4),
        price_display_format: Some(2),
        unit_of_measure_quantity: Some(nano(5_000_000_000)),
        reference_price: Some(nano(4_975_000_000)),
        settlement: SettlementType::FINAL,
        open_interest: Some(1200),
        cleared_volume: Some(34),
        high_limit_price: Some(nano(9_000_000_000)),
        low_limit_price: Some(nano(1_000_000)),
        user_defined: b'Y',
        guid: Some(3_414_988_746_662),
    };
    same(&read, &expected);
    has_common_groups(&read);
    let underlyings = [Underlying { security: 157_821, symbol: "A4MN6" }];
    assert_eq!(read.underlyings().collect::<Vec<_>>(), underlyings);
}

#[test]
fn a_spread() {
    let packet = packet("MDInstrumentDefinitionSpread56");
    let read = read_as!(&packet, Definition);
    let expected = with! {
        common(DefinitionKind::Spread, 157_824, "A4MN6-A4MQ6");
        security_type: "FUT",
        cfi: "FMMXSX",
        maturity: month(2026, 7),
        settlement_currency: "",
        sub_type: "SP",
        match_algorithm: b'K',
        min_trade_volume: 3,
        max_trade_volume: 997,
        min_price_increment: Some(nano(10_000_000)),
        tick_rule: Some(5),
        main_fraction: Some(16),
        sub_fraction: Some(1),
        price_display_format: Some(1),
        reference_price: Some(nano(-9_000_000)),
        settlement: SettlementType::FINAL | SettlementType::ACTUAL,
        open_interest: Some(11),
        cleared_volume: Some(12),
        high_limit_price: Some(nano(8_000_000_000)),
        low_limit_price: Some(nano(-8_000_000_000)),
        max_price_variation: Some(nano(60_000_000)),
        guid: Some(3_414_988_746_663),
    };
    same(&read, &expected);
    has_common_groups(&read);
    let legs = [
        Leg { security: 157_821, side: Some(Side::Buy), ratio: 1, price: None },
        Leg {
            security: 157_825,
            side: Some(Side::Sell),
            ratio: 2,
            price: Some(nano(4_970_000_000)),
        },
    ];
    assert_eq!(read.legs().collect::<Vec<_>>(), legs);
}

#[test]
fn bonds_and_repos() {
    let packet_57 = packet("MDInstrumentDefinitionFixedIncome57");
    let read = read_as!(&packet_57, Definition);
    let bond = with! {
        common(DefinitionKind::FixedIncome, 157_826, "UST 10Y");
        security_type: "TNOTE",
        cfi: "DBFTFR",
        match_algorithm: b'B',
        min_trade_volume: 4,
        max_trade_volume: 996,
        min_price_increment: Some(nano(15_625_000)),
        min_price_increment_amount: Some(nano(15_625_000_000)),
        display_factor: nano(1_000_000_000),
        main_fraction: Some(32),
        sub_fraction: Some(4),
        price_display_format: Some(5),
        unit_of_measure: "USD",
        unit_of_measure_quantity: Some(nano(1_000_000_000_000_000)),
        reference_price: Some(nano(99_500_000_000)),
        high_limit_price: Some(nano(110_000_000_000)),
        low_limit_price: Some(nano(90_000_000_000)),
        max_price_variation: Some(nano(500_000_000)),
        guid: Some(3_414_988_746_664),
    };
    same(&read, &bond);
    has_common_groups(&read);
    let packet_58 = packet("MDInstrumentDefinitionRepo58");
    let read = read_as!(&packet_58, Definition);
    let repo = with! {
        bond;
        kind: DefinitionKind::Repo,
        security: 157_827,
        symbol: "GC 1D",
        security_type: "REPO",
        cfi: "LRSTXC",
        min_trade_volume: 5,
        max_trade_volume: 995,
        min_price_increment: Some(nano(5_000_000)),
        min_price_increment_amount: None,
        main_fraction: None,
        sub_fraction: None,
        price_display_format: None,
        reference_price: Some(nano(2_310_000_000)),
        high_limit_price: Some(nano(10_000_000_000)),
        low_limit_price: Some(nano(-1_000_000_000)),
        max_price_variation: Some(nano(250_000_000)),
        guid: Some(3_414_988_746_665),
    };
    same(&read, &repo);
    has_common_groups(&read);
}

#[test]
fn a_pair_of_currencies() {
    let packet = packet("MDInstrumentDefinitionFX63");
    let read = read_as!(&packet, Definition);
    let expected = with! {
        common(DefinitionKind::Fx, 157_828, "EUR/USD");
        security_type: "FXSPOT",
        cfi: "IFXXXP",
        maturity: MaturityMonthYear { day: Some(29), ..month(2027, 1) },
        currency: "EUR",
        settlement_currency: "USD",
        min_trade_volume: 6,
        max_trade_volume: 994,
        min_price_increment: Some(nano(5_000)),
        display_factor: nano(1_000_000_000),
        unit_of_measure: "EUR",
        unit_of_measure_quantity: Some(nano(1_000_000_000)),
        high_limit_price: Some(nano(1_300_000_000)),
        low_limit_price: Some(nano(900_000_000)),
        max_price_variation: Some(nano(3_000_000)),
        reference_date: None,
        guid: Some(3_414_988_746_666),
    };
    same(&read, &expected);
    has_common_groups(&read);
}
