//! What the engine says: what happened to orders and books, in the order in
//! which it did. Reports to owners and market data are both made of it.
//!
//! | event | report to the owner (`ExecType`/`OrdStatus`) | market data (MITCH) |
//! |---|---|---|
//! | [`Rested`](Event::Rested) | 0/0, unless something traded or it was amended | A or F; none if hidden |
//! | [`Traded`](Event::Traded) | F/1 or F/2 to both, the aggressor's first | E, P for a hidden part, C in an auction |
//! | [`Parked`](Event::Parked) | 9/9 | |
//! | [`Amended`](Event::Amended) | 5/0 or 5/1 | U, or D if it leaves to trade |
//! | [`Replenished`](Event::Replenished) | D/1 | A with a new id |
//! | [`Repriced`](Event::Repriced) | D/0 | |
//! | [`ShownAgain`](Event::ShownAgain) | | A or F |
//! | [`Ended`](Event::Ended) | 4/4 or C/6 | D if it was shown |
//! | [`TradeCancelled`](Event::TradeCancelled) | H, and D of what does not end with it, to both | P or Q as cancelled |
//! | [`Refused`](Event::Refused) | 8/8, or Cancel Reject | |

use tapeline_instrument::{Cause, OrderId, Price, Session, Side, TradeId};

use crate::command::{BookId, Owner};
use crate::refusal::Refusal;

/// An order as it is behind an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// Its id, for all of its life.
    pub id: OrderId,
    /// Where the engine keeps it; whoever keeps more about orders can use the
    /// same number. It is free again behind the event with which the order ends.
    pub slot: u32,
    /// Whose it is.
    pub owner: Owner,
    /// What is not traded yet; 0 when the order has ended, by whatever cause.
    pub leaves: u32,
    /// What is traded.
    pub filled: u32,
}

/// An order as others see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Its id in market data: the order's own, and another one for each part of
    /// an iceberg.
    pub id: OrderId,
    /// Buy or sell.
    pub side: Side,
    /// How much is shown; 0 for hidden orders.
    pub quantity: u32,
    /// Its limit; 0 for orders without one.
    pub price: Price,
    /// It has no limit.
    pub is_market: bool,
    /// Market data says whose it is.
    pub is_named: bool,
}

/// Why an order came to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// It is new.
    New,
    /// It was parked until now.
    Awake,
    /// It was amended, and has traded or could have.
    Amended,
}

/// Which part of the resting order a trade is with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// What is shown.
    Shown,
    /// What is not.
    Hidden,
    /// Both orders met in the auction at the end of this call.
    Auction(Session),
    /// What is shown, at the closing price.
    ClosingPrice,
    /// The maker is pegged: at the middle of the best prices.
    Pegged,
    /// What is not, at the closing price.
    HiddenAtClosingPrice,
}

/// What a price of the day is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// An auction's.
    Auction,
    /// The average of continuous trading before the closing call, weighted by volume.
    Average,
    /// The last automated trade's.
    LastTrade,
}

/// An order, one of whose trades was cancelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Undone {
    /// The order; what is not traded yet is as it was. Nothing is left of one that has
    /// ended, and nothing more is said of it.
    pub order: Order,
    /// How much of it is shown.
    pub displays: u32,
}

impl Undone {
    /// The order is alive.
    pub const fn is_alive(&self) -> bool {
        self.order.leaves > 0
    }
}

/// Why an order ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Its owner wants so.
    Cancelled,
    /// A mass cancel met it.
    MassCancelled,
    /// Its time is over, or it could not trade at once as it must.
    Expired,
    /// It would have traded with its own firm.
    SelfMatch,
    /// It would have rested where it must not.
    Passive,
    /// There is no room for more orders.
    Full,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// An order, or what is left of it, is in the book.
    Rested {
        /// Where.
        book: BookId,
        /// Which.
        order: Order,
        /// As others see it.
        shown: Shown,
        /// Why now.
        entry: Entry,
    },
    /// Two orders met.
    Traded {
        /// Where.
        book: BookId,
        /// The trade.
        id: TradeId,
        /// At the resting order's price, or the auction's.
        price: Price,
        /// How much.
        quantity: u32,
        /// The order that came in; in an auction, the buyer's.
        taker: Order,
        /// The order that rested; in an auction, the seller's.
        maker: Order,
        /// The maker's id in market data.
        maker_shown: OrderId,
        /// The taker's id in market data, in an auction.
        taker_shown: OrderId,
        /// What is shown of the maker behind the trade, and of the taker in an
        /// auction.
        maker_displays: u32,
        /// See there.
        taker_displays: u32,
        /// The taker's side.
        side: Side,
        /// Which part of the maker.
        part: Part,
    },
    /// An order waits: for trades to reach its stop, or for an auction.
    Parked {
        /// Where.
        book: BookId,
        /// Which.
        order: Order,
        /// As others saw it; nothing is shown unless it was in a book before.
        shown: Shown,
    },
    /// An order is changed.
    Amended {
        /// Where.
        book: BookId,
        /// Which.
        order: Order,
        /// As others see it now.
        shown: Shown,
        /// What others saw before.
        displayed: u32,
        /// It stays where it stood.
        keeps_priority: bool,
        /// It left the book to trade; what is left comes back by `Rested`.
        leaves_book: bool,
    },
    /// An iceberg shows another part.
    Replenished {
        /// Where.
        book: BookId,
        /// Which.
        order: Order,
        /// As others see it, with a new id.
        shown: Shown,
    },
    /// The book has orders in market data again, of which it had the best prices only: one
    /// of them, the best of a side first.
    ShownAgain {
        /// Where.
        book: BookId,
        /// Which.
        order: Order,
        /// As others see it.
        shown: Shown,
    },
    /// An order has the closing price from now on.
    Repriced {
        /// Where.
        book: BookId,
        /// Which.
        order: Order,
        /// As others see it.
        shown: Shown,
    },
    /// An order is gone without a trade.
    Ended {
        /// Where.
        book: BookId,
        /// Which.
        order: Order,
        /// What is not done of it.
        quantity: u32,
        /// As others saw it.
        shown: Shown,
        /// Why.
        cause: Ending,
    },
    /// A trade is as if it had not been.
    TradeCancelled {
        /// Where.
        book: BookId,
        /// The trade.
        id: TradeId,
        /// Its price.
        price: Price,
        /// How much it was.
        quantity: u32,
        /// The buyer's order, and the seller's.
        orders: [Undone; 2],
        /// The call whose auction it was in.
        auction: Option<Session>,
    },
    /// A command is refused.
    Refused {
        /// Who asked.
        owner: Owner,
        /// The order that was meant; 0 for a new one.
        id: OrderId,
        /// Why.
        refusal: Refusal,
    },
    /// So many orders were cancelled by the mass cancel before this.
    MassCancelled {
        /// Of this firm.
        firm: u16,
        /// How many.
        count: u32,
    },
    /// A session has begun.
    Session {
        /// Where.
        book: BookId,
        /// Which.
        session: Session,
        /// Which it was before.
        before: Session,
        /// Why.
        cause: Cause,
    },
    /// A call goes on beyond its end.
    Extended {
        /// Where.
        book: BookId,
        /// Which call.
        session: Session,
        /// Why.
        cause: Cause,
        /// When it ends, in nanoseconds since 1970 UTC.
        until_ns: u64,
    },
    /// An auction is over: all its trades are before this.
    Auctioned {
        /// Where.
        book: BookId,
        /// The trade that the whole is published as.
        id: TradeId,
        /// At this price.
        price: Price,
        /// How much, on each side.
        quantity: u32,
        /// The call that it ends.
        session: Session,
    },
    /// What an auction would bring if it ended now.
    Indicative {
        /// Where.
        book: BookId,
        /// At this price; `None` if nothing would trade.
        price: Option<Price>,
        /// How much.
        quantity: u32,
        /// The call.
        session: Session,
    },
    /// The day has an opening or a closing price.
    Reference {
        /// Where.
        book: BookId,
        /// The opening's, else the closing's.
        is_opening: bool,
        /// The price.
        price: Price,
        /// What it is.
        by: FoundBy,
    },
}

/// Takes what the engine says.
pub trait Events {
    /// Something happened.
    fn event(&mut self, event: Event);
}

impl Events for Vec<Event> {
    #[inline]
    fn event(&mut self, event: Event) {
        self.push(event);
    }
}

/// Nobody listens.
impl Events for () {
    #[inline]
    fn event(&mut self, _: Event) {}
}
