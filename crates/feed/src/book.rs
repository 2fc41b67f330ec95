//! The order book of one instrument.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use self::ladder::Ladder;
use self::touched::{Notes, Unnoted};

mod ladder;
mod touched;

pub(crate) use self::touched::Touched;

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
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Book {
    orders: HashMap<u64, Order, FxBuildHasher>,
    bids: Ladder,
    asks: Ladder,
    trades: Trades,
}

impl Default for Book {
    fn default() -> Self {
        Self {
            orders: HashMap::default(),
            bids: Ladder::new(Side::Bid),
            asks: Ladder::new(Side::Ask),
            trades: Trades::default(),
        }
    }
}

impl Book {
    /// A book without orders.
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies one action. A cancel of an order that is not known does nothing.
    pub fn apply(&mut self, action: &Action) {
        self.change(action, &mut Unnoted);
    }

    pub(crate) fn apply_noting(&mut self, action: &Action, touched: &mut Touched) {
        self.change(action, touched);
    }

    fn change(&mut self, action: &Action, notes: &mut impl Notes) {
        match *action {
            Action::Trade(_) | Action::CancelTrade { .. } | Action::Traded(_) => {
                notes.trades(&self.trades);
            }
            _ => notes.quote(|| [self.bids.best(), self.asks.best()]),
        }
        match *action {
            Action::Add(id, order) | Action::Modify(id, order) => self.put(id, order, notes),
            Action::Cancel { id, size, time_ns } => self.cancel(id, size, time_ns, notes),
            Action::Level { side, price_nano, level } => {
                let before = self.side_mut(side).set(price_nano, level);
                notes.level((side, price_nano), before);
            }
            Action::Clear => {
                self.orders.clear();
                self.bids.clear();
                self.asks.clear();
                notes.clear();
            }
            Action::Trade(trade) => self.trades.add(trade),
            Action::CancelTrade { size, is_counted } => self.trades.take_back(size, is_counted),
            Action::Traded(trades) => self.trades = trades,
        }
    }

    /// An order is there from now on, in place of one with its id if there is any.
    fn put(&mut self, id: u64, order: Order, notes: &mut impl Notes) {
        let before = self.orders.insert(id, order);
        notes.order(id, before);
        if let Some(Order { side, price_nano, size, .. }) = before {
            let level = self.side_mut(side).leave(price_nano, size, order.time_ns);
            notes.level((side, price_nano), level);
        }
        let Order { side, price_nano, size, time_ns } = order;
        let level = self.side_mut(side).join(price_nano, size, time_ns);
        notes.level((side, price_nano), level);
    }

    fn cancel(&mut self, id: u64, size: u32, time_ns: u64, notes: &mut impl Notes) {
        let Some(order) = self.orders.get_mut(&id) else { return };
        let before = *order;
        let Order { side, price_nano, .. } = before;
        let left = before.size.saturating_sub(size);
        let level = if left > 0 {
            *order = Order { size: left, time_ns, ..before };
            self.side_mut(side).resize(price_nano, (before.size, left), time_ns)
        } else {
            self.orders.remove(&id);
            self.side_mut(side).leave(price_nano, before.size, time_ns)
        };
        notes.order(id, Some(before));
        notes.level((side, price_nano), level);
    }

    const fn side(&self, side: Side) -> &Ladder {
        match side {
            Side::Bid => &self.bids,
            Side::Ask => &self.asks,
        }
    }

    const fn side_mut(&mut self, side: Side) -> &mut Ladder {
        match side {
            Side::Bid => &mut self.bids,
            Side::Ask => &mut self.asks,
        }
    }

    /// The orders, ascending by id; they are sorted for it.
    pub fn orders(&self) -> impl ExactSizeIterator<Item = (u64, &Order)> {
        let mut orders: Vec<_> = self.orders.iter().map(|(id, order)| (*id, order)).collect();
        orders.sort_unstable_by_key(|(id, _)| *id);
        orders.into_iter()
    }

    /// How many orders there are.
    pub fn order_count(&self) -> usize {
        self.orders.len()
    }

    /// An order by its id.
    pub fn order(&self, id: u64) -> Option<&Order> {
        self.orders.get(&id)
    }

    /// The price levels of a side, ascending by price in units of 10⁻⁹.
    pub fn levels(&self, side: Side) -> impl DoubleEndedIterator<Item = (i64, &Level)> {
        self.side(side).iter()
    }

    /// The level at a price in units of 10⁻⁹.
    pub fn level(&self, side: Side, price_nano: i64) -> Option<&Level> {
        self.side(side).get(price_nano)
    }

    /// The best price of a side, in units of 10⁻⁹, and its level.
    pub fn best(&self, side: Side) -> Option<(i64, Level)> {
        self.side(side).best()
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
        touched.settle();
        assert_eq!(touched.orders(), [(1, Some(order(Side::Bid, 10, 5))), (2, None)]);
        let levels = [((Side::Bid, 10), Some(level(5, 1))), ((Side::Bid, 11), None)];
        assert_eq!(touched.levels(), levels);
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
        touched.settle();
        assert_eq!(touched.levels(), [11, 12, 13].map(|price| ((Side::Ask, price), None)));
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
