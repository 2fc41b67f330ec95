use tapeline_itch::{
    AddAttributedOrder, Alpha, BrokenTrade, Executed, OperationalHalt, OrderCancelled,
    OrderDeleted, StockDirectory, SystemEvent, TradingAction,
};
use tapeline_omm::dictionary::FieldDictionary;

use super::*;
use crate::update::UpdateKind;

const NS: u64 = 34_200_000_000_001;
const LOCATE: u16 = 7;

fn stock() -> Alpha<8> {
    Alpha::new("AAPL")
}

fn says(feed: &mut NasdaqFeed, body: impl Into<Body>) {
    feed.message(&Message::new(LOCATE, NS, body));
}

fn adds(feed: &mut NasdaqFeed, order: u64, side: u8, price: u32, shares: u32) {
    says(feed, AddOrder { order, side, shares, stock: stock(), price: Price4(price) });
}

/// What is published, by item and domain.
fn published(feed: &mut NasdaqFeed) -> Vec<(String, Domain, bool)> {
    let mut found = Vec::new();
    feed.publish(|name, update| {
        found.push((name.to_owned(), update.domain, update.kind == UpdateKind::Image));
    })
    .expect("it fits");
    found
}

/// The fields of the quote as it is, as texts.
fn quote(feed: &NasdaqFeed) -> HashMap<i16, String> {
    let mut image = Vec::new();
    let kind = feed.image(Domain::MARKET_PRICE, "AAPL.O", &mut image).expect("it fits");
    let payload = tapeline_rwf::Encoded::new(kind.expect("an item"), &image);
    let list = payload.field_list().expect("fields");
    let fields = list.iter().map(|field| {
        let field = field.expect("a field");
        let kind = FieldDictionary::builtin().field(field.field_id).expect("is defined").rwf_type;
        let value = field.primitive(kind).expect("a value");
        (field.field_id, format!("{value:?}"))
    });
    fields.collect()
}

fn orders(feed: &NasdaqFeed) -> Vec<(u64, Side, i64, u32)> {
    let book = feed.book("AAPL.O").expect("a book");
    book.orders().map(|(id, of)| (id, of.side, of.price_nano / 100_000, of.size)).collect()
}

/// Volume, count, and the price of the last one in units of 10⁻⁴.
fn traded(feed: &NasdaqFeed) -> (u64, u64, Option<i64>) {
    let trades = feed.book("AAPL.O").expect("a book").trades();
    (trades.volume, trades.count, trades.last.map(|last| last.price_nano / 100_000))
}

#[test]
fn orders_come_trade_change_and_go() {
    let mut feed = NasdaqFeed::new(".O");
    feed.begin_day(1_000_000_000);
    adds(&mut feed, 1, b'B', 1_895_000, 300);
    let attributed = AddAttributedOrder {
        order: 2,
        side: b'S',
        shares: 200,
        stock: stock(),
        price: Price4(1_896_000),
        attribution: Alpha::new("UBS"),
    };
    says(&mut feed, attributed);
    says(&mut feed, Executed { order: 1, shares: 100, trade: 11 });
    assert_eq!(orders(&feed), [(1, Side::Bid, 1_895_000, 200), (2, Side::Ask, 1_896_000, 200)]);
    assert_eq!(traded(&feed), (100, 1, Some(1_895_000)));
    let last = feed.book("AAPL.O").and_then(|book| book.trades().last).expect("a trade");
    assert_eq!(last.time_ns, 1_000_000_000 + NS);
    says(&mut feed, OrderCancelled { order: 2, shares: 50 });
    let replaced = OrderReplaced { order: 1, new_order: 3, shares: 400, price: Price4(1_894_000) };
    says(&mut feed, replaced);
    assert_eq!(orders(&feed), [(2, Side::Ask, 1_896_000, 150), (3, Side::Bid, 1_894_000, 400)]);
    says(&mut feed, OrderDeleted { order: 2 });
    says(&mut feed, Executed { order: 3, shares: 400, trade: 12 });
    assert_eq!((orders(&feed), feed.unknown()), (vec![], 0));
}

#[test]
fn all_since_the_last_call_is_one_update_for_each_item() {
    let mut feed = NasdaqFeed::new(".O");
    adds(&mut feed, 1, b'B', 1_895_000, 300);
    adds(&mut feed, 2, b'S', 1_896_000, 300);
    let other =
        AddOrder { order: 3, side: b'B', shares: 1, stock: Alpha::new("ZVZZT"), price: Price4(1) };
    feed.message(&Message::new(9, NS, other));
    let told = published(&mut feed);
    let of = |name: &str| told.iter().filter(|told| told.0 == name).count();
    assert_eq!((told.len(), of("AAPL.O"), of("ZVZZT.O")), (6, 3, 3));
    assert_eq!(published(&mut feed), []);
    assert_eq!(feed.names().collect::<Vec<_>>(), ["AAPL.O", "ZVZZT.O"]);
    feed.restart();
    assert!(published(&mut feed).iter().all(|told| told.2), "images");
    assert_eq!(orders(&feed), []);
}

#[test]
fn trades_that_are_not_printable_are_told_by_their_auction() {
    let mut feed = NasdaqFeed::new(".O");
    adds(&mut feed, 1, b'B', 1_895_000, 300);
    let executed = |shares, trade, printable| ExecutedAtPrice {
        order: 1,
        shares,
        trade,
        printable,
        price: Price4(1_890_000),
    };
    says(&mut feed, executed(100, 11, b'N'));
    assert_eq!((traded(&feed), orders(&feed)[0].3), ((0, 0, None), 200));
    let (stock, price) = (stock(), Price4(1_890_000));
    says(&mut feed, CrossTrade { shares: 5_000, stock, price, trade: 12, cross_type: b'O' });
    assert_eq!(traded(&feed), (5_000, 1, Some(1_890_000)));
    says(&mut feed, executed(50, 13, b'Y'));
    says(
        &mut feed,
        tapeline_itch::Trade { order: 0, side: b'B', shares: 7, stock, price, trade: 14 },
    );
    assert_eq!(traded(&feed), (5_057, 3, Some(1_890_000)));
    let found = quote(&feed);
    assert!(found[&3871].contains("5000"), "{found:?}");
    assert!(found[&3873].starts_with("Blank"), "{found:?}");
    // The close has brought nothing.
    says(&mut feed, CrossTrade { shares: 0, stock, price: Price4(0), trade: 15, cross_type: b'C' });
    assert_eq!(traded(&feed).1, 3);
}

#[test]
fn a_trade_that_is_broken_counts_no_more() {
    let mut feed = NasdaqFeed::new(".O");
    adds(&mut feed, 1, b'B', 1_895_000, 300);
    says(&mut feed, Executed { order: 1, shares: 100, trade: 11 });
    says(&mut feed, Executed { order: 1, shares: 50, trade: 12 });
    published(&mut feed);
    says(&mut feed, BrokenTrade { trade: 11 });
    assert_eq!((traded(&feed).0, traded(&feed).1), (50, 1));
    assert_eq!(published(&mut feed).len(), 1, "the quote");
    says(&mut feed, BrokenTrade { trade: 11 });
    assert_eq!((traded(&feed).0, feed.unknown()), (50, 0), "once is enough");
    says(&mut feed, BrokenTrade { trade: 99 });
    assert_eq!(feed.unknown(), 1);
}

#[test]
fn only_so_many_trades_can_be_broken() {
    let mut feed = NasdaqFeed::keeping(".O", 2);
    adds(&mut feed, 1, b'B', 1_895_000, 300);
    for trade in 11..14 {
        says(&mut feed, Executed { order: 1, shares: 10, trade });
    }
    says(&mut feed, BrokenTrade { trade: 11 });
    assert_eq!((traded(&feed).0, feed.unknown(), feed.trades.len()), (30, 1, 2));
    says(&mut feed, BrokenTrade { trade: 12 });
    assert_eq!((traded(&feed).0, feed.unknown()), (20, 1));
}

#[test]
fn what_is_about_orders_that_are_not_there_is_counted() {
    let mut feed = NasdaqFeed::new(".O");
    says(&mut feed, OrderDeleted { order: 1 });
    assert_eq!((feed.names().count(), feed.unknown()), (0, 1), "nobody knows of what");
    adds(&mut feed, 1, b'B', 1_895_000, 300);
    says(&mut feed, Executed { order: 2, shares: 1, trade: 1 });
    says(&mut feed, OrderCancelled { order: 2, shares: 1 });
    says(&mut feed, OrderReplaced { order: 2, new_order: 3, shares: 1, price: Price4(1) });
    assert_eq!((orders(&feed).len(), traded(&feed).1, feed.unknown()), (1, 0, 4));
}

#[test]
fn the_session_is_that_of_the_instrument_within_the_hours_of_the_market() {
    let mut feed = NasdaqFeed::new(".O");
    let event = |feed: &mut NasdaqFeed, event| {
        feed.message(&Message::new(0, NS, SystemEvent { event }));
    };
    let word = |feed: &NasdaqFeed| {
        let market = &feed.instrument("AAPL.O").expect("an instrument").market;
        market.as_ref().expect("a market").session
    };
    says(&mut feed, StockDirectory { stock: stock(), ..Default::default() });
    assert_eq!(word(&feed), "", "nobody has said");
    let action = |state| TradingAction { stock: stock(), state, reason: Alpha::default() };
    event(&mut feed, b'S');
    says(&mut feed, action(b'T'));
    assert_eq!(word(&feed), "PRE");
    event(&mut feed, b'Q');
    assert_eq!(word(&feed), "REG");
    assert_eq!(quote(&feed)[&3915], format!("Rmtes({:?})", b"REG"));
    let halt = |action| OperationalHalt { stock: stock(), market: b'Q', action };
    says(&mut feed, halt(b'H'));
    assert_eq!(word(&feed), "HALT");
    says(&mut feed, OperationalHalt { market: b'B', ..halt(b'T') });
    assert_eq!(word(&feed), "HALT", "another market");
    says(&mut feed, halt(b'T'));
    for (state, said) in [(b'H', "HALT"), (b'P', "PAUSE"), (b'Q', "QUOTE"), (b'T', "REG")] {
        says(&mut feed, action(state));
        assert_eq!(word(&feed), said);
    }
    event(&mut feed, b'M');
    published(&mut feed);
    event(&mut feed, b'E');
    assert_eq!((word(&feed), published(&mut feed).len()), ("CLSD", 1));
}

#[test]
fn a_quote_says_what_an_auction_would_bring() {
    let mut feed = NasdaqFeed::new(".O");
    let imbalance = |paired, near| Imbalance {
        paired,
        stock: stock(),
        near: Price4(near),
        reference: Price4(1_800_000),
        cross_type: b'O',
        ..Imbalance::default()
    };
    let indicative = |feed: &NasdaqFeed| {
        let market = &feed.instrument("AAPL.O").expect("an instrument").market;
        let found = market.as_ref().expect("a market").indicative;
        found.map(|(price_nano, size)| (price_nano / 100_000, size))
    };
    says(&mut feed, imbalance(100, 0));
    assert_eq!(indicative(&feed), Some((1_800_000, 100)), "for the reference price");
    says(&mut feed, imbalance(200, 1_850_000));
    assert_eq!(indicative(&feed), Some((1_850_000, 200)));
    says(&mut feed, imbalance(0, 1_850_000));
    assert_eq!(indicative(&feed), None);
    says(&mut feed, imbalance(200, 1_850_000));
    let price = Price4(1_850_000);
    says(&mut feed, CrossTrade { shares: 9, stock: stock(), price, trade: 1, cross_type: b'O' });
    assert_eq!(indicative(&feed), None, "it is over");
}

#[test]
fn numbers_of_another_day_are_of_other_instruments() {
    let mut feed = NasdaqFeed::new(".O");
    let directory = |feed: &mut NasdaqFeed, locate, name: &str| {
        let of = StockDirectory { stock: Alpha::new(name), ..StockDirectory::default() };
        feed.message(&Message::new(locate, NS, of));
    };
    for (locate, name) in [(LOCATE, "AAPL"), (8, "MSFT"), (9, "OLD")] {
        directory(&mut feed, locate, name);
    }
    adds(&mut feed, 1, b'B', 1_895_000, 300);
    published(&mut feed);
    feed.begin_day(5);
    assert!(published(&mut feed).iter().all(|told| told.2), "all are empty");
    for (locate, name) in [(LOCATE, "MSFT"), (8, "NEW"), (9, "AAPL")] {
        directory(&mut feed, locate, name);
    }
    adds(&mut feed, 1, b'B', 10_000, 1);
    let side = |name: &str| feed.book(name).map(|book| book.orders().len());
    assert_eq!(["MSFT.O", "NEW.O", "AAPL.O"].map(side), [Some(1), Some(0), Some(0)]);
    let told = published(&mut feed);
    assert!(told.iter().all(|told| told.0 == "MSFT.O"), "{told:?}");
    assert_eq!(told.len(), 3);
}

#[test]
fn messages_and_their_updates_cost_no_allocation() {
    let mut feed = NasdaqFeed::new(".O");
    let day = |feed: &mut NasdaqFeed, first: u64| {
        let mut published = 0;
        for order in first..first + 5_000 {
            let (side, price) = if order % 2 == 0 { (b'B', 99_900) } else { (b'S', 100_100) };
            adds(feed, order, side, price + (order % 40) as u32 * 100, 100);
            says(feed, Executed { order, shares: 40, trade: order });
            if order >= first + 50 {
                says(feed, OrderDeleted { order: order - 50 });
            }
            if order % 4 == 0 {
                feed.publish(|_, _| published += 1).expect("it fits");
            }
        }
        for order in first + 4_950..first + 5_000 {
            says(feed, OrderDeleted { order });
        }
        published
    };
    for round in 0..2 {
        day(&mut feed, 1 + 5_000 * round);
    }
    let mut published = 0;
    let counted = allocation_counter::measure(|| published = day(&mut feed, 10_001));
    assert!(published > 3_000, "{published}");
    assert_eq!(counted.count_total, 0, "allocations for 15,000 messages");
}
