//! One message of each type as bytes, written down by hand from the document's
//! tables: type, locate 0x1234, tracking 0x0056, 9:30 and a nanosecond, then a line
//! for each field.

use tapeline_itch::{
    AddAttributedOrder, AddOrder, Alpha, Body, BrokenTrade, CrossTrade, DirectListing, Executed,
    ExecutedAtPrice, Head, Imbalance, IpoQuoting, LuldCollar, Message, MwcbLevels, MwcbStatus,
    OperationalHalt, OrderCancelled, OrderDeleted, OrderReplaced, ParticipantPosition, Price4,
    Price8, RegSho, RetailInterest, StockDirectory, SystemEvent, Timestamp, Trade, TradingAction,
};

/// Locate, tracking number and time of all of them.
const HEAD: &[u8] = b"\x12\x34\x00\x56\x1f\x1a\xce\xd9\xf0\x01";

const ORDER: u64 = 0x0102_0304_0506_0708;
const NEW_ORDER: u64 = 0x0102_0304_0506_0709;
const TRADE: u64 = 0x1112_1314_1516_1718;

fn stock() -> Alpha<8> {
    Alpha::new("AAPL")
}

/// The bytes of a type and its fields.
fn wire(kind: u8, fields: &[&[u8]]) -> Vec<u8> {
    [&[kind], HEAD].into_iter().chain(fields.iter().copied()).collect::<Vec<_>>().concat()
}

/// What is written is these bytes, and is read from them.
fn same(body: impl Into<Body>, kind: u8, fields: &[&[u8]]) {
    let timestamp = Timestamp::from_ns(34_200_000_000_001);
    let message =
        Message { head: Head { locate: 0x1234, tracking: 0x56, timestamp }, body: body.into() };
    let wire = wire(kind, fields);
    let mut written = Vec::new();
    message.append(&mut written);
    assert_eq!(written, wire, "{}", char::from(kind));
    assert_eq!(Message::read(&wire), Ok(message));
    assert_eq!(message.body.kind(), kind);
}

#[test]
fn the_day_and_the_whole_market() {
    same(SystemEvent { event: b'Q' }, b'S', &[b"Q"]);
    let levels = MwcbLevels {
        level_1: Price8(412_345_000_000),
        level_2: Price8(400_000_000_000),
        level_3: Price8(1),
    };
    let fields: [&[u8]; 3] = [
        b"\x00\x00\x00\x60\x01\xad\x60\x40",
        b"\x00\x00\x00\x5d\x21\xdb\xa0\x00",
        b"\x00\x00\x00\x00\x00\x00\x00\x01",
    ];
    same(levels, b'V', &fields);
    same(MwcbStatus { level: b'2' }, b'W', &[b"2"]);
}

#[test]
fn instruments() {
    let directory = StockDirectory {
        stock: stock(),
        market_category: b'Q',
        financial_status: b'N',
        round_lot_size: 100,
        round_lots_only: b'N',
        issue_classification: b'C',
        issue_sub_type: Alpha::new("Z"),
        authenticity: b'P',
        short_sale_threshold: b'N',
        ipo_flag: b' ',
        luld_tier: b'1',
        etp_flag: b'N',
        etp_leverage: 3,
        inverse: b'Y',
    };
    let fields: [&[u8]; 6] =
        [b"AAPL    ", b"QN", b"\x00\x00\x00\x64", b"NCZ PN 1N", b"\x00\x00\x00\x03", b"Y"];
    same(directory, b'R', &fields);
    let action = TradingAction { stock: stock(), state: b'H', reason: Alpha::new("T1") };
    same(action, b'H', &[b"AAPL    ", b"H", b" ", b"T1  "]);
    same(RegSho { stock: stock(), action: b'1' }, b'Y', &[b"AAPL    ", b"1"]);
    let position = ParticipantPosition {
        participant: Alpha::new("GSCO"),
        stock: stock(),
        primary: b'Y',
        mode: b'N',
        state: b'A',
    };
    same(position, b'L', &[b"GSCO", b"AAPL    ", b"Y", b"N", b"A"]);
    let halt = OperationalHalt { stock: stock(), market: b'Q', action: b'T' };
    same(halt, b'h', &[b"AAPL    ", b"Q", b"T"]);
    same(RetailInterest { stock: stock(), interest: b'A' }, b'N', &[b"AAPL    ", b"A"]);
}

#[test]
fn listings_and_collars() {
    let quoting =
        IpoQuoting { stock: stock(), release_s: 36_900, qualifier: b'A', price: Price4(210_000) };
    same(quoting, b'K', &[b"AAPL    ", b"\x00\x00\x90\x24", b"A", b"\x00\x03\x34\x50"]);
    let collar = LuldCollar {
        stock: stock(),
        reference: Price4(1_000_000),
        upper: Price4(1_050_000),
        lower: Price4(950_000),
        extension: 2,
    };
    let fields: [&[u8]; 5] = [
        b"AAPL    ",
        b"\x00\x0f\x42\x40",
        b"\x00\x10\x05\x90",
        b"\x00\x0e\x7e\xf0",
        b"\x00\x00\x00\x02",
    ];
    same(collar, b'J', &fields);
    let listing = DirectListing {
        stock: stock(),
        eligible: b'Y',
        min_price: Price4(950_000),
        max_price: Price4(1_050_000),
        near: Price4(1_000_000),
        near_time_ns: 34_200_000_000_001,
        lower: Price4(1),
        upper: Price4(2),
    };
    let fields: [&[u8]; 8] = [
        b"AAPL    ",
        b"Y",
        b"\x00\x0e\x7e\xf0",
        b"\x00\x10\x05\x90",
        b"\x00\x0f\x42\x40",
        b"\x00\x00\x1f\x1a\xce\xd9\xf0\x01",
        b"\x00\x00\x00\x01",
        b"\x00\x00\x00\x02",
    ];
    same(listing, b'O', &fields);
}

/// The numbers of [`ORDER`], [`NEW_ORDER`] and [`TRADE`].
const ORDER_BYTES: &[u8] = b"\x01\x02\x03\x04\x05\x06\x07\x08";
const NEW_ORDER_BYTES: &[u8] = b"\x01\x02\x03\x04\x05\x06\x07\x09";
const TRADE_BYTES: &[u8] = b"\x11\x12\x13\x14\x15\x16\x17\x18";

#[test]
fn orders() {
    let add = AddOrder {
        order: ORDER,
        side: b'B',
        shares: 300,
        stock: stock(),
        price: Price4(1_895_000),
    };
    let fields: [&[u8]; 5] =
        [ORDER_BYTES, b"B", b"\x00\x00\x01\x2c", b"AAPL    ", b"\x00\x1c\xea\x58"];
    same(add, b'A', &fields);
    let attributed = AddAttributedOrder {
        order: ORDER,
        side: b'S',
        shares: 300,
        stock: stock(),
        price: Price4(1_895_000),
        attribution: Alpha::new("UBS"),
    };
    let fields: [&[u8]; 6] =
        [ORDER_BYTES, b"S", b"\x00\x00\x01\x2c", b"AAPL    ", b"\x00\x1c\xea\x58", b"UBS "];
    same(attributed, b'F', &fields);
    let executed = Executed { order: ORDER, shares: 100, trade: TRADE };
    same(executed, b'E', &[ORDER_BYTES, b"\x00\x00\x00\x64", TRADE_BYTES]);
    let executed = ExecutedAtPrice {
        order: ORDER,
        shares: 100,
        trade: TRADE,
        printable: b'N',
        price: Price4(1_895_000),
    };
    let fields: [&[u8]; 5] =
        [ORDER_BYTES, b"\x00\x00\x00\x64", TRADE_BYTES, b"N", b"\x00\x1c\xea\x58"];
    same(executed, b'C', &fields);
    let cancelled = OrderCancelled { order: ORDER, shares: 0x0001_0203 };
    same(cancelled, b'X', &[ORDER_BYTES, b"\x00\x01\x02\x03"]);
    same(OrderDeleted { order: ORDER }, b'D', &[ORDER_BYTES]);
    let replaced =
        OrderReplaced { order: ORDER, new_order: NEW_ORDER, shares: 100, price: Price4(1_895_000) };
    let fields: [&[u8]; 4] =
        [ORDER_BYTES, NEW_ORDER_BYTES, b"\x00\x00\x00\x64", b"\x00\x1c\xea\x58"];
    same(replaced, b'U', &fields);
}

#[test]
fn trades_and_auctions() {
    let trade = Trade {
        order: 0,
        side: b'B',
        shares: 100,
        stock: stock(),
        price: Price4(1_895_000),
        trade: TRADE,
    };
    let fields: [&[u8]; 6] =
        [&[0; 8], b"B", b"\x00\x00\x00\x64", b"AAPL    ", b"\x00\x1c\xea\x58", TRADE_BYTES];
    same(trade, b'P', &fields);
    let cross = CrossTrade {
        shares: 5_000_000_000,
        stock: stock(),
        price: Price4(1_895_000),
        trade: TRADE,
        cross_type: b'O',
    };
    let fields: [&[u8]; 5] =
        [b"\x00\x00\x00\x01\x2a\x05\xf2\x00", b"AAPL    ", b"\x00\x1c\xea\x58", TRADE_BYTES, b"O"];
    same(cross, b'Q', &fields);
    same(BrokenTrade { trade: TRADE }, b'B', &[TRADE_BYTES]);
    let imbalance = Imbalance {
        paired: 1_000,
        imbalance: 256,
        direction: b'S',
        stock: stock(),
        far: Price4(1_000_000),
        near: Price4(1_050_000),
        reference: Price4(950_000),
        cross_type: b'C',
        variation: b'L',
    };
    let fields: [&[u8]; 9] = [
        b"\x00\x00\x00\x00\x00\x00\x03\xe8",
        b"\x00\x00\x00\x00\x00\x00\x01\x00",
        b"S",
        b"AAPL    ",
        b"\x00\x0f\x42\x40",
        b"\x00\x10\x05\x90",
        b"\x00\x0e\x7e\xf0",
        b"C",
        b"L",
    ];
    same(imbalance, b'I', &fields);
}
