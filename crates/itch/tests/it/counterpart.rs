//! Our messages as `itchy` reads them, which somebody else wrote. It knows neither
//! `h` nor `O` (it panics), is stricter with characters than the document, and keeps
//! the spaces of texts.

use itchy::{Body as Theirs, MessageStream};
use tapeline_itch::{
    AddAttributedOrder, AddOrder, Alpha, Body, BrokenTrade, CrossTrade, Executed, ExecutedAtPrice,
    Imbalance, IpoQuoting, LuldCollar, Message, MwcbLevels, MwcbStatus, OrderCancelled,
    OrderDeleted, OrderReplaced, ParticipantPosition, Price4, Price8, RegSho, RetailInterest,
    StockDirectory, SystemEvent, Trade, TradingAction,
};

const NS: u64 = 57_600_123_456_789;

/// What they read of our bytes.
fn theirs(body: impl Into<Body>) -> Theirs {
    let message = Message::new(0xABCD, NS, body);
    let mut bytes = vec![0, 0];
    message.append(&mut bytes);
    bytes[1] = (bytes.len() - 2) as u8;
    let mut stream = MessageStream::from_reader(bytes.as_slice());
    let read = stream.next().expect("a message").expect("that is whole");
    assert_eq!((read.stock_locate, read.tracking_number, read.timestamp), (0xABCD, 0, NS));
    assert_eq!(read.tag, message.body.kind());
    assert!(stream.next().is_none(), "it is as long as they think");
    read.body
}

fn stock() -> Alpha<8> {
    Alpha::new("ZVZZT")
}

const THEIR_STOCK: &str = "ZVZZT   ";

/// The fields as they print them: their types have the same names in another order.
fn printed(body: impl Into<Body>) -> String {
    format!("{:?}", theirs(body)).replace(&format!("{THEIR_STOCK:?}"), "STOCK")
}

#[test]
fn orders_are_the_same_to_another_reader() {
    let price = Price4(1_234_567);
    let add = AddOrder { order: 7, side: b'S', shares: 8, stock: stock(), price };
    assert_eq!(
        printed(add),
        "AddOrder(AddOrder { reference: 7, side: Sell, shares: 8, stock: STOCK, \
         price: Price4(1234567), mpid: None })"
    );
    let attribution = Alpha::new("MMID");
    let add =
        AddAttributedOrder { order: 7, side: b'B', shares: 8, stock: stock(), price, attribution };
    assert_eq!(
        printed(add),
        "AddOrder(AddOrder { reference: 7, side: Buy, shares: 8, stock: STOCK, \
         price: Price4(1234567), mpid: Some(\"MMID\") })"
    );
    assert_eq!(
        printed(Executed { order: 7, shares: 8, trade: 9 }),
        "OrderExecuted { reference: 7, executed: 8, match_number: 9 }"
    );
    assert_eq!(
        printed(ExecutedAtPrice { order: 7, shares: 8, trade: 9, printable: b'Y', price }),
        "OrderExecutedWithPrice { reference: 7, executed: 8, match_number: 9, \
         printable: true, price: Price4(1234567) }"
    );
    assert_eq!(
        printed(OrderCancelled { order: 7, shares: 8 }),
        "OrderCancelled { reference: 7, cancelled: 8 }"
    );
    assert_eq!(printed(OrderDeleted { order: 7 }), "DeleteOrder { reference: 7 }");
    assert_eq!(
        printed(OrderReplaced { order: 7, new_order: 8, shares: 9, price }),
        "ReplaceOrder(ReplaceOrder { old_reference: 7, new_reference: 8, shares: 9, \
         price: Price4(1234567) })"
    );
}

#[test]
fn trades_and_auctions_are_the_same_to_another_reader() {
    let price = Price4(1_234_567);
    let trade = Trade { order: 0, side: b'B', shares: 8, stock: stock(), price, trade: 9 };
    assert_eq!(
        printed(trade),
        "NonCrossTrade(NonCrossTrade { reference: 0, side: Buy, shares: 8, stock: STOCK, \
         price: Price4(1234567), match_number: 9 })"
    );
    let cross = CrossTrade { shares: 8, stock: stock(), price, trade: 9, cross_type: b'C' };
    assert_eq!(
        printed(cross),
        "CrossTrade(CrossTrade { shares: 8, stock: STOCK, cross_price: Price4(1234567), \
         match_number: 9, cross_type: Closing })"
    );
    assert_eq!(printed(BrokenTrade { trade: 9 }), "BrokenTrade { match_number: 9 }");
    let imbalance = Imbalance {
        paired: 1,
        imbalance: 2,
        direction: b'S',
        stock: stock(),
        far: Price4(3),
        near: Price4(4),
        reference: Price4(5),
        cross_type: b'O',
        variation: b'L',
    };
    assert_eq!(
        printed(imbalance),
        "Imbalance(ImbalanceIndicator { paired_shares: 1, imbalance_shares: 2, \
         imbalance_direction: Sell, stock: STOCK, far_price: Price4(3), near_price: Price4(4), \
         current_ref_price: Price4(5), cross_type: Opening, price_variation_indicator: 'L' })"
    );
}

#[test]
fn instruments_are_the_same_to_another_reader() {
    let directory = StockDirectory {
        stock: stock(),
        market_category: b'G',
        financial_status: b'D',
        round_lot_size: 100,
        round_lots_only: b'Y',
        issue_classification: b'C',
        issue_sub_type: Alpha::new("Z"),
        authenticity: b'T',
        short_sale_threshold: b'N',
        ipo_flag: b' ',
        luld_tier: b'2',
        etp_flag: b'Y',
        etp_leverage: 3,
        inverse: b'N',
    };
    assert_eq!(
        printed(directory),
        "StockDirectory(StockDirectory { stock: STOCK, market_category: NasdaqGlobalMarket, \
         financial_status: Deficient, round_lot_size: 100, round_lots_only: true, \
         issue_classification: CommonStock, issue_subtype: NotApplicable, \
         authenticity: false, short_sale_threshold: Some(false), ipo_flag: None, \
         luld_ref_price_tier: Tier2, etp_flag: Some(true), etp_leverage_factor: 3, \
         inverse_indicator: false })"
    );
    let action = TradingAction { stock: stock(), state: b'P', reason: Alpha::new("LUDP") };
    assert_eq!(
        printed(action),
        "TradingAction { stock: STOCK, trading_state: Paused, reason: \"LUDP\" }"
    );
    assert_eq!(
        printed(RegSho { stock: stock(), action: b'2' }),
        "RegShoRestriction { stock: STOCK, action: Extant }"
    );
    let position = ParticipantPosition {
        participant: Alpha::new("MMID"),
        stock: stock(),
        primary: b'N',
        mode: b'P',
        state: b'W',
    };
    assert_eq!(
        printed(position),
        "ParticipantPosition(MarketParticipantPosition { mpid: \"MMID\", stock: STOCK, \
         primary_market_maker: false, market_maker_mode: Passive, \
         market_participant_state: Withdrawn })"
    );
    let collar = LuldCollar {
        stock: stock(),
        reference: Price4(1),
        upper: Price4(2),
        lower: Price4(3),
        extension: 4,
    };
    assert_eq!(
        printed(collar),
        "LULDAuctionCollar { stock: STOCK, ref_price: Price4(1), upper_price: Price4(2), \
         lower_price: Price4(3), extension: 4 }"
    );
    assert!(printed(RetailInterest { stock: stock(), interest: b'A' }).contains("BothSides"));
    let quoting = IpoQuoting { stock: stock(), release_s: 1, qualifier: b'A', price: Price4(2) };
    assert!(printed(quoting).contains("Price4(2)"));
}

#[test]
fn the_day_is_the_same_to_another_reader() {
    assert_eq!(printed(SystemEvent { event: b'M' }), "SystemEvent { event: EndOfMarketHours }");
    assert_eq!(printed(MwcbStatus { level: b'3' }), "Breach(L3)");
    let levels = MwcbLevels { level_1: Price8(1), level_2: Price8(2), level_3: Price8(3) };
    assert_eq!(
        printed(levels),
        "MwcbDeclineLevel { level1: Price8(1), level2: Price8(2), level3: Price8(3) }"
    );
}
