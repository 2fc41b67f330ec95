//! Market data of an exchange as items: what a MITCH reader delivers becomes
//! market by order, market by price and market price.

use std::collections::BTreeMap;

use tapeline_instrument::{Price, Side as QuoteSide};
use tapeline_mitch::{Books, Message, TopOfBook};
use tapeline_rwf::{DataType, Domain};

use crate::FeedError;
use crate::book::{Action, Book, Level, Order, Side, Trade};
use crate::market_state::{self, MarketState};
use crate::published::{Instrument, Payloads};
use crate::update::Update;

/// Units of 10⁻⁹ in one of 10⁻⁸, which the exchange's prices have.
const NANO_PER_UNIT: i64 = 10;

const NS_PER_S: u64 = 1_000_000_000;

/// A trade that is cancelled.
const CANCELLED: u8 = 1;

/// The instruments of an exchange, as items of the three domains that
/// [`Recording`](crate::Recording) has, under their names: what a table of names
/// says, else the number and `.X`.
///
/// Messages change books at once; [`publish`](Self::publish) gives what all of them
/// since the last call have changed, one update for each item, so that nobody sees
/// half a match. Orders without a limit, which wait for an auction, are not in the
/// items. The quote says the session too (`MKT_STATUS`), and in calls what the auction
/// would bring (`IND_AUC`, `IND_AUCVOL`).
#[derive(Debug, Default)]
pub struct ExchangeFeed {
    names: BTreeMap<u32, String>,
    instruments: BTreeMap<u32, Instrument>,
    /// Orders by id, as messages about them do not say more.
    orders: Books,
    payloads: Payloads,
    /// Midnight of the exchange's day, in nanoseconds since 1970 UTC.
    midnight_ns: u64,
    second: u32,
}

impl ExchangeFeed {
    /// No instruments yet; `midnight_ns` is the exchange's, in nanoseconds since
    /// 1970 UTC.
    pub fn new(midnight_ns: u64) -> Self {
        Self { midnight_ns, ..Self::default() }
    }

    /// Names an instrument.
    pub fn name(&mut self, instrument: u32, name: &str) {
        self.names.insert(instrument, name.to_owned());
    }

    /// The names of the items there are.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.instruments.values().map(|instrument| instrument.name.as_str())
    }

    /// The book of an item.
    pub fn book(&self, name: &str) -> Option<&Book> {
        self.instrument(name).map(|instrument| &instrument.book)
    }

    fn instrument(&self, name: &str) -> Option<&Instrument> {
        self.instruments.values().find(|instrument| instrument.name == name)
    }

    /// A message of the exchange, in order.
    pub fn message(&mut self, message: &Message) {
        let Some(ns) = self.ns_of(message) else { return };
        let time_ns = self.midnight_ns + u64::from(self.second) * NS_PER_S + u64::from(ns);
        let by_order = |order| self.orders.order(order).map(|quoted| quoted.instrument);
        let instrument = message.instrument().or_else(|| by_order(message.order()?));
        let Some(instrument) = instrument else { return };
        let actions = self.actions(message, time_ns);
        self.orders.apply(message);
        let names = &self.names;
        let of = self.instruments.entry(instrument).or_insert_with(|| {
            let name = names.get(&instrument).cloned();
            let name = name.unwrap_or_else(|| format!("{instrument}.X"));
            let market = Some(MarketState::default());
            Instrument { market, ..Instrument::new(instrument, name) }
        });
        of.time_ns = time_ns;
        if let Message::SymbolStatus(status) = message {
            leave_best_only(of, status.status, time_ns);
        }
        note_state(of, message);
        if let Message::TopOfBook(top) = message {
            tell_best(of, top, time_ns);
        }
        for action in actions.into_iter().flatten() {
            of.act(&action);
        }
    }

    /// The nanoseconds that a message has; it may be one about the second itself.
    fn ns_of(&mut self, message: &Message) -> Option<u32> {
        Some(match message {
            Message::Time(time) => {
                self.second = time.seconds;
                return None;
            }
            Message::SymbolDirectory(of) => of.ns,
            Message::SymbolStatus(of) => of.ns,
            Message::AddOrder(of) => of.ns,
            Message::AddAttributedOrder(of) => of.ns,
            Message::OrderDeleted(of) => of.ns,
            Message::OrderModified(of) => of.ns,
            Message::OrderBookClear(of) => of.ns,
            Message::TopOfBook(of) => of.ns,
            Message::Executed(of) => of.ns,
            Message::ExecutedAtPrice(of) => of.ns,
            Message::Trade(of) => of.ns,
            Message::AuctionTrade(of) => of.ns,
            Message::AuctionInfo(of) => of.ns,
            Message::Statistics(of) => of.ns,
            _ => return None,
        })
    }

    /// What a message does to the book of its instrument.
    fn actions(&self, message: &Message, time_ns: u64) -> [Option<Action>; 2] {
        let trade = |price: Price, size| {
            Action::Trade(Trade { price_nano: price.0 * NANO_PER_UNIT, size, time_ns })
        };
        // Bit 0: the trade is cancelled; bit 1, that it is amended, this exchange has not.
        let told = |price: Price, size, flags: u8, is_counted| match flags {
            0 => Some(trade(price, size)),
            CANCELLED => Some(Action::CancelTrade { size, is_counted }),
            _ => None,
        };
        let rest = |id, side: u8, price: Price, size, flags: u8| {
            let side = if side == b'B' { Side::Bid } else { Side::Ask };
            let order = Order { side, price_nano: price.0 * NANO_PER_UNIT, size, time_ns };
            let has_limit = flags & 1 << 4 == 0;
            has_limit.then_some(Action::Add(id, order))
        };
        match message {
            Message::AddOrder(of) => {
                [rest(of.order, of.side, of.price.0, of.quantity, of.flags), None]
            }
            Message::AddAttributedOrder(of) => {
                [rest(of.order, of.side, of.price.0, of.quantity, of.flags), None]
            }
            Message::OrderDeleted(of) => [self.reduced(of.order, u32::MAX, time_ns), None],
            Message::OrderModified(of) => {
                [self.modified(of.order, of.price.0, of.quantity, time_ns), None]
            }
            Message::OrderBookClear(_) => [Some(Action::Clear), None],
            Message::Executed(of) => {
                let price = self.orders.order(of.order).map(|quoted| quoted.price);
                let reduced = self.reduced(of.order, of.quantity, time_ns);
                [reduced, price.map(|price| trade(price, of.quantity))]
            }
            Message::ExecutedAtPrice(of) => {
                let shown = self.orders.order(of.order).map_or(0, |quoted| quoted.quantity);
                let reduced = self.reduced(of.order, shown.saturating_sub(of.display), time_ns);
                let is_printed = of.printable == b'Y';
                [reduced, is_printed.then(|| trade(of.price.0, of.quantity))]
            }
            Message::Trade(of) => [told(of.price.0, of.quantity, of.flags, true), None],
            Message::AuctionTrade(of) => [told(of.price.0, of.quantity, of.flags, false), None],
            _ => [None, None],
        }
    }

    fn reduced(&self, id: u64, size: u32, time_ns: u64) -> Option<Action> {
        let quoted = self.orders.order(id).filter(|quoted| !quoted.is_market)?;
        Some(Action::Cancel { id, size: size.min(quoted.quantity), time_ns })
    }

    fn modified(&self, id: u64, price: Price, size: u32, time_ns: u64) -> Option<Action> {
        let quoted = self.orders.order(id).filter(|quoted| !quoted.is_market)?;
        let side = if quoted.side == QuoteSide::Buy { Side::Bid } else { Side::Ask };
        let price_nano = price.0 * NANO_PER_UNIT;
        Some(Action::Modify(id, Order { side, price_nano, size, time_ns }))
    }

    /// All orders are void: the reader begins anew with a snapshot.
    pub fn restart(&mut self) {
        self.orders = Books::default();
        for of in self.instruments.values_mut() {
            of.act(&Action::Clear);
        }
    }

    /// Gives what has changed since the last call, item by item, to `each` with the
    /// item's name.
    ///
    /// # Errors
    /// An event does not fit a message.
    pub fn publish(&mut self, mut each: impl FnMut(&str, &Update<'_>)) -> Result<(), FeedError> {
        let Self { instruments, payloads, .. } = self;
        for of in instruments.values_mut().filter(|of| !of.touched.is_empty()) {
            payloads.publish(of, &mut each)?;
        }
        Ok(())
    }

    /// Appends the item as it is now to `out`, as
    /// [`Recording::image`](crate::Recording::image) does.
    ///
    /// # Errors
    /// The book has more than 65,535 orders.
    pub fn image(
        &self,
        domain: Domain,
        name: &str,
        out: &mut Vec<u8>,
    ) -> Result<Option<DataType>, FeedError> {
        self.instrument(name).map_or(Ok(None), |of| of.image(domain, out))
    }
}

/// The best prices are all that is told of a book: each is the one level of its side.
fn tell_best(of: &mut Instrument, top: &TopOfBook, time_ns: u64) {
    for (side, price, size) in
        [(Side::Bid, top.bid.0, top.bid_size), (Side::Ask, top.ask.0, top.ask_size)]
    {
        let price_nano = price.0 * NANO_PER_UNIT;
        let is_there = size > 0;
        let before = of.book.best(side).map(|(price_nano, _)| price_nano);
        if let Some(before) = before.filter(|before| !is_there || *before != price_nano) {
            of.act(&Action::Level { side, price_nano: before, level: None });
        }
        if is_there {
            let level = Some(Level { size: size.into(), orders: 1, time_ns });
            of.act(&Action::Level { side, price_nano, level });
        }
    }
}

/// Where the best prices were all that was told, orders follow.
fn leave_best_only(of: &mut Instrument, status: u8, time_ns: u64) {
    let is_left = |state: MarketState| {
        state.session == market_state::BEST_ONLY && state.session != market_state::word(status)
    };
    if of.market.is_some_and(is_left) {
        tell_best(of, &TopOfBook::default(), time_ns);
    }
}

/// Notes what a message says besides orders and trades.
fn note_state(of: &mut Instrument, message: &Message) {
    let nano = |price: Price| price.0 * NANO_PER_UNIT;
    of.say(|state| match message {
        Message::SymbolDirectory(said) => {
            let close = said.previous_close.0;
            state.previous_close_nano = (close.0 > 0).then(|| nano(close));
        }
        Message::SymbolStatus(said) => {
            state.session = market_state::word(said.status);
            if !matches!(said.status, b'a' | b'd' | b'e' | b'f' | b'G' | b'q' | b'r') {
                state.indicative = None;
            }
            if said.status == b'w' {
                (state.opening, state.closing) = (None, None);
            }
        }
        Message::AuctionInfo(said) => {
            let price = (nano(said.price.0), u64::from(said.paired));
            state.indicative = (said.paired > 0).then_some(price);
        }
        Message::AuctionTrade(said) if said.flags == 0 => {
            let traded = Some((nano(said.price.0), u64::from(said.quantity)));
            match said.auction_type {
                b'C' => state.closing = traded,
                b'O' => state.opening = traded,
                // In the middle of the day.
                _ => {}
            }
        }
        Message::AuctionTrade(said) if said.flags == CANCELLED => {
            let traded = match said.auction_type {
                b'C' => &mut state.closing,
                b'O' => &mut state.opening,
                _ => &mut None,
            };
            if let Some((_, volume)) = traded {
                *volume = volume.saturating_sub(said.quantity.into());
            }
        }
        _ => {}
    });
}

#[cfg(test)]
mod tests {
    use tapeline_mitch::{
        AddOrder, AuctionInfo, AuctionTrade, Executed, OrderBookClear, OrderModified, SignedPrice,
        SymbolStatus, Time, Trade,
    };

    use super::*;
    use crate::update::UpdateKind;

    fn add(order: u64, side: u8, price: &str, quantity: u32) -> Message {
        let price = SignedPrice(price.parse().expect("a price"));
        AddOrder { order, side, price, quantity, instrument: 7, ns: 5, ..AddOrder::default() }
            .into()
    }

    fn domains(feed: &mut ExchangeFeed) -> Vec<(Domain, UpdateKind)> {
        let mut found = Vec::new();
        feed.publish(|name, update| {
            assert_eq!(name, "VOD.L");
            found.push((update.domain, update.kind));
        })
        .expect("it fits");
        found
    }

    #[test]
    fn all_that_one_command_did_is_one_update_for_each_item() {
        let mut feed = ExchangeFeed::new(86_400 * NS_PER_S);
        feed.name(7, "VOD.L");
        feed.message(&Time { seconds: 28_800 }.into());
        feed.message(&add(1, b'B', "10.25", 100));
        feed.message(&add(2, b'B', "10.25", 50));
        feed.message(&add(3, b'S', "10.30", 70));
        assert_eq!(domains(&mut feed).len(), 3);
        assert_eq!(domains(&mut feed), []);
        feed.message(&Executed { order: 1, quantity: 100, trade: 9, ns: 6 }.into());
        feed.message(&Executed { order: 2, quantity: 10, trade: 10, ns: 6 }.into());
        assert_eq!(domains(&mut feed).len(), 3);
        let book = feed.book("VOD.L").expect("a book");
        assert_eq!(
            book.orders().map(|(id, order)| (id, order.size)).collect::<Vec<_>>(),
            [(2, 40), (3, 70)]
        );
        let last = book.trades().last.expect("a trade");
        assert_eq!((last.price_nano, last.size, book.trades().volume), (10_250_000_000, 10, 110));
        assert_eq!(last.time_ns, (86_400 + 28_800) * NS_PER_S + 6);
    }

    #[test]
    fn orders_without_a_limit_are_not_shown_and_auctions_are_one_trade() {
        let mut feed = ExchangeFeed::new(0);
        let market = AddOrder {
            order: 1,
            side: b'B',
            quantity: 9,
            instrument: 7,
            flags: 16,
            ..Default::default()
        };
        feed.message(&market.into());
        feed.message(&Executed { order: 1, quantity: 4, ..Executed::default() }.into());
        let price = SignedPrice(Price(1_025_000_000));
        feed.message(
            &AuctionTrade { instrument: 7, quantity: 500, price, ..Default::default() }.into(),
        );
        let book = feed.book("7.X").expect("a book");
        assert_eq!(book.orders().len(), 0);
        assert_eq!(book.trades().last.map(|trade| trade.size), Some(500));
    }

    #[test]
    fn a_trade_that_is_cancelled_counts_no_more() {
        let mut feed = ExchangeFeed::new(0);
        feed.message(&add(1, b'B', "10.25", 100));
        feed.message(&Executed { order: 1, quantity: 60, trade: 9, ns: 6 }.into());
        let price = SignedPrice("10.25".parse().expect("a price"));
        let auction = AuctionTrade {
            instrument: 7,
            quantity: 500,
            price,
            auction_type: b'O',
            ..Default::default()
        };
        feed.message(&auction.into());
        quote(&mut feed);
        let cancelled = Trade { instrument: 7, quantity: 60, price, flags: 1, ..Trade::default() };
        feed.message(&cancelled.into());
        let real = |mantissa| format!("Real(Real {{ mantissa: {mantissa}, hint: RealHint(14) }})");
        let volume_and_count = |volume, count| [(32, real(volume)), (77, real(count))];
        assert_eq!(quote(&mut feed), volume_and_count(500, 1));
        feed.message(&AuctionTrade { quantity: 200, flags: 1, ..auction }.into());
        let said = quote(&mut feed);
        // A part of the auction, which is one trade still.
        assert_eq!(said[..2], volume_and_count(300, 1));
        assert_eq!(said.last(), Some(&(3871, real(300))), "the volume of the auction");
    }

    /// The fields of an update of the quote, as texts.
    fn quote(feed: &mut ExchangeFeed) -> Vec<(i16, String)> {
        let mut found = Vec::new();
        feed.publish(|_, update| {
            if update.domain == Domain::MARKET_PRICE {
                let list = update.payload.field_list().expect("fields");
                for field in list.iter().map(|field| field.expect("a field")) {
                    let of = tapeline_omm::dictionary::FieldDictionary::builtin();
                    let kind = of.field(field.field_id).expect("is defined").rwf_type;
                    let value = field.primitive(kind).expect("a value");
                    found.push((field.field_id, format!("{value:?}")));
                }
            }
        })
        .expect("it fits");
        found
    }

    #[test]
    fn a_quote_says_the_session_and_what_an_auction_would_bring() {
        let mut feed = ExchangeFeed::new(0);
        feed.name(7, "VOD.L");
        let status = |status| SymbolStatus { instrument: 7, status, ..SymbolStatus::default() };
        feed.message(&status(b'a').into());
        let ids = |found: &[(i16, String)]| found.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        let first = quote(&mut feed);
        assert_eq!(ids(&first), [3915], "{first:?}");
        let price = SignedPrice(Price(1_003_000_000));
        let info = AuctionInfo { instrument: 7, paired: 300, price, ..AuctionInfo::default() };
        feed.message(&info.into());
        feed.message(&info.into());
        assert_eq!(ids(&quote(&mut feed)), [3912, 3913]);
        feed.message(&info.into());
        assert_eq!(quote(&mut feed), [], "nothing is new");
        let (quantity, instrument) = (300, 7);
        let trade =
            AuctionTrade { instrument, quantity, price, auction_type: b'O', ..Default::default() };
        feed.message(&trade.into());
        feed.message(&status(b'T').into());
        let found = ids(&quote(&mut feed));
        for id in [6, 3915, 3912, 3868, 3871] {
            assert!(found.contains(&id), "{id} is not among {found:?}");
        }
    }

    #[test]
    fn where_the_best_prices_are_all_that_is_told_they_are_the_quote() {
        let mut feed = ExchangeFeed::new(0);
        feed.name(7, "VOD.L");
        let status = |status| SymbolStatus { instrument: 7, status, ..SymbolStatus::default() };
        feed.message(&status(b'T').into());
        feed.message(&add(1, b'B', "10.25", 100));
        feed.message(&add(2, b'S', "10.30", 40));
        quote(&mut feed);
        feed.message(&status(b'G').into());
        feed.message(&OrderBookClear { instrument: 7, ..OrderBookClear::default() }.into());
        let price = |text: &str| SignedPrice(text.parse().expect("a price"));
        let (bid, ask) = (price("10.25"), price("10.30"));
        let top = TopOfBook {
            instrument: 7,
            bid,
            bid_size: 100,
            ask,
            ask_size: 40,
            ..TopOfBook::default()
        };
        feed.message(&top.into());
        let levels = |feed: &ExchangeFeed| {
            let book = feed.book("VOD.L").expect("a book");
            assert_eq!(book.order_count(), 0);
            [Side::Bid, Side::Ask].map(|side| {
                let levels =
                    book.levels(side).map(|(price, level)| (price / 10_000_000, level.size));
                levels.collect::<Vec<_>>()
            })
        };
        assert_eq!(levels(&feed), [vec![(1025, 100)], vec![(1030, 40)]]);
        // A book that is cleared is a new image.
        let ids: Vec<i16> = quote(&mut feed).iter().map(|(id, _)| *id).collect();
        for id in [22, 25, 3915] {
            assert!(ids.contains(&id), "{id} is not among {ids:?}");
        }
        feed.message(&TopOfBook { bid: price("10.31"), ask_size: 0, ..top }.into());
        assert_eq!(levels(&feed), [vec![(1031, 100)], vec![]]);
        let info = AuctionInfo { instrument: 7, paired: 40, price: ask, ..AuctionInfo::default() };
        feed.message(&info.into());
        let ids: Vec<i16> = quote(&mut feed).iter().map(|(id, _)| *id).collect();
        for id in [22, 25, 31, 3912, 3913] {
            assert!(ids.contains(&id), "{id} is not among {ids:?}");
        }
        // It goes on: nothing of it is over.
        feed.message(&status(b'G').into());
        assert_eq!((levels(&feed)[0].len(), quote(&mut feed).len()), (1, 0));
        feed.message(&status(b'T').into());
        feed.message(&add(1, b'B', "10.25", 60));
        let book = feed.book("VOD.L").expect("a book");
        let bids: Vec<_> = book.levels(Side::Bid).map(|(_, level)| level.size).collect();
        assert_eq!((bids, book.order_count()), (vec![60], 1));
    }

    #[test]
    fn a_snapshot_is_an_image() {
        let mut feed = ExchangeFeed::new(0);
        feed.name(7, "VOD.L");
        feed.message(&add(1, b'B', "10.25", 100));
        let price = SignedPrice(Price(1_020_000_000));
        feed.message(&OrderModified { order: 1, quantity: 30, price, flags: 0, ns: 0 }.into());
        domains(&mut feed);
        feed.restart();
        feed.message(&add(4, b'B', "10.20", 5));
        assert!(domains(&mut feed).iter().all(|(_, kind)| *kind == UpdateKind::Image));
        let mut image = Vec::new();
        let kind = feed.image(Domain::MARKET_BY_ORDER, "VOD.L", &mut image).expect("it fits");
        assert_eq!((kind, image.is_empty()), (Some(DataType::MAP), false));
        assert_eq!(feed.image(Domain::MARKET_BY_ORDER, "A.N", &mut image).expect("no error"), None);
    }
}
