//! The order book of one instrument.

use std::collections::BTreeMap;

use crate::market_state::MarketState;

/// A side of the book; the codes are those of the field `ORDER_SIDE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u16)]
pub enum Side {
    /// Buyers.
    Bid = 1,
    /// Sellers.
    Ask = 2,
}

/// One order that rests in the book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Its side.
    pub side: Side,
    /// Price in units of 10⁻⁹.
    pub price_nano: i64,
    /// What is left of its size.
    pub size: u32,
    /// When it was added or last changed, in nanoseconds since 1970 UTC.
    pub time_ns: u64,
}

/// All orders at one price of one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Level {
    /// Sum of their sizes.
    pub size: u64,
    /// How many orders there are, above 0.
    pub orders: u32,
    /// When any of them last changed, in nanoseconds since 1970 UTC.
    pub time_ns: u64,
}

/// The trades since the recording began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Trades {
    /// The last one, if there was any.
    pub last: Option<Trade>,
    /// Price of the first one, in units of 10⁻⁹.
    pub open_nano: i64,
    /// Highest price, in units of 10⁻⁹.
    pub high_nano: i64,
    /// Lowest price, in units of 10⁻⁹.
    pub low_nano: i64,
    /// Sum of their sizes.
    pub volume: u64,
    /// How many there were.
    pub count: u64,
}

/// One trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    /// Price in units of 10⁻⁹.
    pub price_nano: i64,
    /// Size.
    pub size: u32,
    /// When, in nanoseconds since 1970 UTC.
    pub time_ns: u64,
}

/// What happens to a book, by the market-by-order rules of CME as Databento
/// records them. A fill of a resting order changes nothing by itself: a cancel
/// of what was filled follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// An order comes, in place of one with its id if there is any.
    Add(u64, Order),
    /// An order loses some of its size, and is gone with the last of it.
    Cancel {
        /// Its id.
        id: u64,
        /// How much it loses.
        size: u32,
        /// When, in nanoseconds since 1970 UTC.
        time_ns: u64,
    },
    /// An order gets another price or size. One that is not known is added.
    Modify(u64, Order),
    /// All orders and levels are gone.
    Clear,
    /// A price of a side has a level, or none any more: for books of levels alone,
    /// whose orders nobody tells.
    Level {
        /// Its side.
        side: Side,
        /// Its price in units of 10⁻⁹.
        price_nano: i64,
        /// What is there from now on.
        level: Option<Level>,
    },
    /// Buyer and seller met; the orders change by actions of their own.
    Trade(Trade),
    /// What has been traded is told as a whole.
    Traded(Trades),
    /// A trade of before is cancelled. The last price and the highest and lowest stay:
    /// what they were without it, nobody has kept.
    CancelTrade {
        /// How much of it.
        size: u32,
        /// It counts no more. A part of an auction, which is one trade, was never counted.
        is_counted: bool,
    },
}

/// The order book of one instrument, with its trades.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Book {
    orders: BTreeMap<u64, Order>,
    bids: BTreeMap<i64, Level>,
    asks: BTreeMap<i64, Level>,
    trades: Trades,
}

/// What several actions have changed, with what was there before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Touched {
    pub(crate) orders: BTreeMap<u64, Option<Order>>,
    pub(crate) levels: BTreeMap<(Side, i64), Option<Level>>,
    /// The best of both sides before the first action, if any touched orders.
    pub(crate) best: Option<[Option<(i64, Level)>; 2]>,
    pub(crate) trades: Option<Trades>,
    /// What the market said before, if it has said something else.
    pub(crate) market: Option<MarketState>,
    pub(crate) is_cleared: bool,
}

impl Touched {
    pub(crate) fn is_empty(&self) -> bool {
        let is_same = self.orders.is_empty() && self.levels.is_empty() && !self.is_cleared;
        is_same && self.trades.is_none() && self.market.is_none()
    }

    pub(crate) fn clear(&mut self) {
        self.orders.clear();
        self.levels.clear();
        (self.best, self.trades, self.market, self.is_cleared) = (None, None, None, false);
    }
}

impl Book {
    /// A book without orders.
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies one action. A cancel of an order that is not known does nothing.
    pub fn apply(&mut self, action: &Action) {
        self.apply_noting(action, &mut Touched::default());
    }

    pub(crate) fn apply_noting(&mut self, action: &Action, touched: &mut Touched) {
        if let Action::Trade(trade) = action {
            touched.trades.get_or_insert(self.trades);
            return self.trades.add(*trade);
        }
        if let Action::CancelTrade { size, is_counted } = *action {
            touched.trades.get_or_insert(self.trades);
            return self.trades.take_back(size, is_counted);
        }
        if let Action::Traded(trades) = *action {
            touched.trades.get_or_insert(self.trades);
            self.trades = trades;
            return;
        }
        if touched.best.is_none() {
            touched.best = Some([self.best(Side::Bid), self.best(Side::Ask)]);
        }
        match *action {
            Action::Add(id, order) | Action::Modify(id, order) => {
                self.remove(id, order.time_ns, touched);
                self.insert(id, order, touched);
            }
            Action::Cancel { id, size, time_ns } => self.cancel(id, size, time_ns, touched),
            Action::Clear => {
                touched.is_cleared = true;
                self.orders.clear();
                self.bids.clear();
                self.asks.clear();
            }
            Action::Level { side, price_nano, level } => {
                self.set_level((side, price_nano), level, touched);
            }
            Action::Trade(_) | Action::Traded(_) | Action::CancelTrade { .. } => {}
        }
    }

    fn set_level(&mut self, place: (Side, i64), level: Option<Level>, touched: &mut Touched) {
        let (side, price_nano) = place;
        let levels = self.side_mut(side);
        let before = match level {
            Some(level) => levels.insert(price_nano, level),
            None => levels.remove(&price_nano),
        };
        touched.levels.entry(place).or_insert(before);
    }

    fn cancel(&mut self, id: u64, size: u32, time_ns: u64, touched: &mut Touched) {
        let Some(order) = self.remove(id, time_ns, touched) else { return };
        let left = order.size.saturating_sub(size);
        if left > 0 {
            self.insert(id, Order { size: left, time_ns, ..order }, touched);
        }
    }

    fn insert(&mut self, id: u64, order: Order, touched: &mut Touched) {
        touched.orders.entry(id).or_insert(None);
        self.orders.insert(id, order);
        let place = (order.side, order.price_nano);
        let levels = self.side_mut(order.side);
        let known = levels.get(&order.price_nano).copied();
        touched.levels.entry(place).or_insert(known);
        let level = levels.entry(order.price_nano).or_default();
        level.size += u64::from(order.size);
        level.orders += 1;
        level.time_ns = order.time_ns;
    }

    fn remove(&mut self, id: u64, time_ns: u64, touched: &mut Touched) -> Option<Order> {
        let order = self.orders.remove(&id)?;
        touched.orders.entry(id).or_insert(Some(order));
        let place = (order.side, order.price_nano);
        let levels = self.side_mut(order.side);
        let level = levels.get_mut(&order.price_nano)?;
        touched.levels.entry(place).or_insert(Some(*level));
        level.size -= u64::from(order.size);
        level.orders -= 1;
        level.time_ns = time_ns;
        if level.orders == 0 {
            levels.remove(&order.price_nano);
        }
        Some(order)
    }

    fn side_mut(&mut self, side: Side) -> &mut BTreeMap<i64, Level> {
        match side {
            Side::Bid => &mut self.bids,
            Side::Ask => &mut self.asks,
        }
    }

    /// The orders, ascending by id.
    pub fn orders(&self) -> impl ExactSizeIterator<Item = (u64, &Order)> {
        self.orders.iter().map(|(id, order)| (*id, order))
    }

    /// An order by its id.
    pub fn order(&self, id: u64) -> Option<&Order> {
        self.orders.get(&id)
    }

    /// The price levels of a side, ascending by price in units of 10⁻⁹.
    pub fn levels(&self, side: Side) -> impl DoubleEndedIterator<Item = (i64, &Level)> {
        let levels = match side {
            Side::Bid => &self.bids,
            Side::Ask => &self.asks,
        };
        levels.iter().map(|(price, level)| (*price, level))
    }

    /// The level at a price in units of 10⁻⁹.
    pub fn level(&self, side: Side, price_nano: i64) -> Option<&Level> {
        match side {
            Side::Bid => self.bids.get(&price_nano),
            Side::Ask => self.asks.get(&price_nano),
        }
    }

    /// The best price of a side, in units of 10⁻⁹, and its level.
    pub fn best(&self, side: Side) -> Option<(i64, Level)> {
        let best = match side {
            Side::Bid => self.bids.last_key_value(),
            Side::Ask => self.asks.first_key_value(),
        };
        best.map(|(price, level)| (*price, *level))
    }

    /// The trades so far.
    pub fn trades(&self) -> &Trades {
        &self.trades
    }
}

impl Trades {
    fn add(&mut self, trade: Trade) {
        if self.count == 0 {
            self.open_nano = trade.price_nano;
            self.high_nano = trade.price_nano;
            self.low_nano = trade.price_nano;
        }
        self.high_nano = self.high_nano.max(trade.price_nano);
        self.low_nano = self.low_nano.min(trade.price_nano);
        self.volume += u64::from(trade.size);
        self.count += 1;
        self.last = Some(trade);
    }

    /// Whoever began in the middle of the day may not have counted it.
    fn take_back(&mut self, size: u32, is_counted: bool) {
        self.volume = self.volume.saturating_sub(size.into());
        self.count = self.count.saturating_sub(is_counted.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(side: Side, price: i64, size: u32) -> Order {
        Order { side, price_nano: price, size, time_ns: 1 }
    }

    fn level(size: u64, orders: u32) -> Level {
        Level { size, orders, time_ns: 1 }
    }

    fn levels(book: &Book, side: Side) -> Vec<(i64, Level)> {
        book.levels(side).map(|(price, level)| (price, *level)).collect()
    }

    #[test]
    fn levels_are_the_sums_of_their_orders() {
        let mut book = Book::new();
        book.apply(&Action::Add(1, order(Side::Bid, 10, 5)));
        book.apply(&Action::Add(2, order(Side::Bid, 10, 3)));
        book.apply(&Action::Add(3, order(Side::Ask, 12, 7)));
        assert_eq!(levels(&book, Side::Bid), [(10, level(8, 2))]);
        book.apply(&Action::Modify(2, order(Side::Bid, 11, 4)));
        assert_eq!(levels(&book, Side::Bid), [(10, level(5, 1)), (11, level(4, 1))]);
        assert_eq!(book.best(Side::Bid), Some((11, level(4, 1))));
        book.apply(&Action::Cancel { id: 2, size: 1, time_ns: 1 });
        assert_eq!(book.order(2).map(|order| order.size), Some(3));
        book.apply(&Action::Cancel { id: 2, size: 3, time_ns: 1 });
        book.apply(&Action::Cancel { id: 99, size: 3, time_ns: 1 });
        assert_eq!(levels(&book, Side::Bid), [(10, level(5, 1))]);
        book.apply(&Action::Clear);
        assert_eq!(book, Book::new());
    }

    #[test]
    fn touched_orders_remember_what_was_before_the_first_action() {
        let mut book = Book::new();
        book.apply(&Action::Add(1, order(Side::Bid, 10, 5)));
        let mut touched = Touched::default();
        book.apply_noting(&Action::Modify(1, order(Side::Bid, 11, 5)), &mut touched);
        book.apply_noting(&Action::Cancel { id: 1, size: 5, time_ns: 1 }, &mut touched);
        book.apply_noting(&Action::Add(2, order(Side::Bid, 10, 1)), &mut touched);
        let orders: Vec<_> = touched.orders.into_iter().collect();
        assert_eq!(orders, [(1, Some(order(Side::Bid, 10, 5))), (2, None)]);
        let levels: Vec<_> = touched.levels.into_iter().collect();
        assert_eq!(levels, [((Side::Bid, 10), Some(level(5, 1))), ((Side::Bid, 11), None)]);
    }

    #[test]
    fn levels_without_orders_are_set_and_gone() {
        let (mut book, mut touched) = (Book::new(), Touched::default());
        let mut set = |price_nano, level| {
            let side = Side::Ask;
            book.apply_noting(&Action::Level { side, price_nano, level }, &mut touched);
        };
        set(12, Some(level(8, 2)));
        set(11, Some(level(1, 1)));
        set(12, Some(level(9, 2)));
        set(11, None);
        set(13, None);
        assert_eq!(levels(&book, Side::Ask), [(12, level(9, 2))]);
        assert!(!touched.is_empty());
        let touched: Vec<_> = touched.levels.into_iter().collect();
        assert_eq!(touched, [11, 12, 13].map(|price| ((Side::Ask, price), None)));
        book.apply(&Action::Clear);
        assert_eq!(book, Book::new());
    }

    #[test]
    fn trades_add_up() {
        let mut book = Book::new();
        for (price, size) in [(10, 1), (12, 2), (9, 3)] {
            book.apply(&Action::Trade(Trade { price_nano: price, size, time_ns: 5 }));
        }
        let trades = book.trades();
        assert_eq!((trades.volume, trades.count), (6, 3));
        assert_eq!((trades.open_nano, trades.high_nano, trades.low_nano), (10, 12, 9));
        assert_eq!(trades.last.map(|trade| trade.price_nano), Some(9));
        book.apply(&Action::CancelTrade { size: 2, is_counted: true });
        let trades = book.trades();
        assert_eq!((trades.volume, trades.count, trades.high_nano), (4, 2, 12));
        for _ in 0..3 {
            book.apply(&Action::CancelTrade { size: 9, is_counted: true });
        }
        assert_eq!((book.trades().volume, book.trades().count), (0, 0));
    }
}
