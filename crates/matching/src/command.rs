//! What is asked of the engine.

use tapeline_instrument::{Cause, OrderId, Price, Session, Side, TradeId};

/// One instrument's book, by its place among the engine's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BookId(pub u16);

/// Who an order belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Owner {
    /// The member firm; who prevents trades with itself does so by firm.
    pub firm: u16,
    /// Its user: only the same user cancels and amends.
    pub user: u16,
}

/// At which prices an order trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// At any.
    Market,
    /// At this one or better.
    Limit(Price),
    /// At any, from when trades have reached a price.
    Stop(Price),
    /// With a limit, from when trades have reached a price.
    StopLimit {
        /// Trades have reached this.
        stop: Price,
        /// The limit from then on.
        limit: Price,
    },
    /// At the middle of the best prices that are shown, hidden. It trades with others of
    /// its kind and with [`OrPegged`](Self::OrPegged).
    Pegged {
        /// At this one or better.
        limit: Option<Price>,
        /// In parts of at least so much, or all that is left of it; 0 for any.
        min_quantity: u32,
    },
    /// As a limit or market order, and with pegged orders first.
    OrPegged {
        /// At this one or better.
        limit: Option<Price>,
    },
    /// In the closing auction, at a distance from the last price before its call.
    Offset {
        /// In hundredths of a per cent: a buyer's limit is so much above the last price,
        /// a seller's below.
        bp: i32,
        /// At this one or better, whatever the last price is.
        limit: Option<Price>,
    },
}

/// How long an order stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeInForce {
    /// To the end of the day.
    #[default]
    Day,
    /// What does not trade at once expires.
    ImmediateOrCancel,
    /// All of it trades at once, or it expires untouched.
    FillOrKill,
    /// Until it is cancelled.
    UntilCancelled,
    /// To the end of the day of this second, since 1970 UTC.
    UntilDay(u32),
    /// To this second, since 1970 UTC; within a call, to its end.
    UntilTime(u32),
    /// In the opening auction only.
    AtOpening,
    /// In the closing auction only.
    AtClosing,
    /// In the next auction only.
    NextAuction,
    /// In auctions only, for the day.
    EveryAuction,
    /// In the next auction within the day only.
    NextIntraday,
    /// At the closing price, as soon as the closing auction has found it, with what that
    /// has left ("auction volume discovery").
    AtClosingVolume,
    /// The same, and then as [`AtClosingPrice`](Self::AtClosingPrice).
    FromClosingVolume,
    /// At the closing price, behind the closing auction.
    AtClosingPrice,
}

/// Which resting place an order accepts (MIT203, `PassiveOnly`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passive {
    /// Any, and trading at once.
    #[default]
    No,
    /// One where it trades with no visible order.
    NoVisibleMatch,
    /// One that sets a new best price.
    NewBest,
    /// One that is the best price, or sets it.
    Best,
    /// One with at most so many better prices.
    Within(u8),
}

/// What happens when both sides of a match are of the same firm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelfMatch {
    /// They trade.
    #[default]
    Allowed,
    /// The rest of the incoming order expires.
    CancelIncoming,
    /// The resting order expires.
    CancelResting,
}

/// For whom an order is, where that decides whom it trades with (MIT203, `OwnerType`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum OwnerType {
    /// For anybody.
    #[default]
    Any = 0,
    /// For a retail investor: it trades with everybody, and with who provides liquidity to
    /// such alone.
    Retail = 1,
    /// It provides liquidity to retail investors, and trades with these alone.
    RetailProvider = 2,
}

impl OwnerType {
    /// Whether orders for both may trade with each other.
    #[inline]
    pub const fn may_meet(self, other: Self) -> bool {
        match (self, other) {
            (Self::RetailProvider, other) | (other, Self::RetailProvider) => {
                matches!(other, Self::Retail)
            }
            _ => true,
        }
    }
}

/// An order that comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewOrder {
    /// What is to be traded.
    pub book: BookId,
    /// Whose it is.
    pub owner: Owner,
    /// Buy or sell.
    pub side: Side,
    /// At which prices.
    pub kind: Kind,
    /// How much.
    pub quantity: u32,
    /// How much of it others see at a time: all, a part of it (an iceberg), or
    /// nothing.
    pub display: u32,
    /// How long.
    pub time_in_force: TimeInForce,
    /// Where it may rest.
    pub passive: Passive,
    /// Whether it trades with others of its firm.
    pub self_match: SelfMatch,
    /// The owner's group of orders, for mass cancels; 0 is none.
    pub group: u8,
    /// Market data says whose it is.
    pub is_named: bool,
    /// The shown part of an iceberg differs each time.
    pub is_random_peak: bool,
    /// It is one side of a quote, which mass cancels of orders leave alone.
    pub is_quote: bool,
    /// For whom it is.
    pub owner_type: OwnerType,
}

impl NewOrder {
    /// An order of the day with a limit, shown in full.
    pub const fn limit(
        book: BookId,
        owner: Owner,
        side: Side,
        quantity: u32,
        price: Price,
    ) -> Self {
        Self {
            book,
            owner,
            side,
            kind: Kind::Limit(price),
            quantity,
            display: quantity,
            time_in_force: TimeInForce::Day,
            passive: Passive::No,
            self_match: SelfMatch::Allowed,
            group: 0,
            is_named: false,
            is_random_peak: false,
            is_quote: false,
            owner_type: OwnerType::Any,
        }
    }
}

/// Changes of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replace {
    /// The order.
    pub id: OrderId,
    /// Who asks.
    pub owner: Owner,
    /// What it asks for in all, what is traded included.
    pub quantity: u32,
    /// How much of it others see at a time.
    pub display: u32,
    /// Its limit; `None` leaves it as it is.
    pub limit: Option<Price>,
    /// What trades must reach; `None` leaves it as it is.
    pub stop: Option<Price>,
    /// When it expires; `None` leaves it as it is.
    pub expire_s: Option<u32>,
    /// Where it may rest if its limit changes.
    pub passive: Passive,
}

/// Which orders a mass cancel is for; all that is given must be so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MassCancel {
    /// Of this firm.
    pub firm: u16,
    /// Of this user of it.
    pub user: Option<u16>,
    /// In this book.
    pub book: Option<BookId>,
    /// Of this group.
    pub group: Option<u8>,
    /// Sides of quotes, and no orders.
    pub is_of_quotes: bool,
}

/// A trade that is to be as if it had not been.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeCancel {
    /// Where it was.
    pub book: BookId,
    /// The trade.
    pub id: TradeId,
    /// Its price.
    pub price: Price,
    /// How much of it: all.
    pub quantity: u32,
    /// The buyer's order, and the seller's.
    pub orders: [OrderId; 2],
    /// The call whose auction it was in; `None` for continuous trading.
    pub auction: Option<Session>,
}

/// One command. Whoever sends it has put all commands into one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// An order comes.
    New(NewOrder),
    /// An order changes.
    Replace(Replace),
    /// An order goes.
    Cancel {
        /// Which.
        id: OrderId,
        /// Who asks.
        owner: Owner,
    },
    /// Many orders go.
    MassCancel(MassCancel),
    /// A session begins.
    Session {
        /// Where.
        book: BookId,
        /// Which.
        session: Session,
        /// Why.
        cause: Cause,
    },
    /// A trade is cancelled. What was traded comes back into no book: an order that is
    /// alive asks for as much less in all.
    CancelTrade(TradeCancel),
    /// Time has passed.
    Tick,
}
