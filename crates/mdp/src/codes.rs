//! What a byte can say. Bytes that the schema does not name are kept as they are.

use tapeline_layout::Field;

use crate::wire::{Nullable, Wire};

macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($(#[$code_doc:meta])* $code:literal $variant:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$code_doc])* $variant,)*
            /// A code that the schema does not name.
            Other(u8),
        }

        impl $name {
            /// From the byte on the wire.
            #[inline]
            pub const fn from_code(code: u8) -> Self {
                match code {
                    $($code => Self::$variant,)*
                    code => Self::Other(code),
                }
            }

            /// The byte on the wire.
            #[inline]
            pub const fn code(self) -> u8 {
                match self {
                    $(Self::$variant => $code,)*
                    Self::Other(code) => code,
                }
            }
        }

        impl Field for $name {
            const LEN: usize = 1;

            #[inline]
            fn put(self, out: &mut [u8]) {
                out[0] = self.code();
            }

            #[inline]
            fn get(bytes: &[u8]) -> Self {
                Self::from_code(bytes[0])
            }
        }
    };
}

codes! {
    /// What happens to a level, an order of a book, or a statistic.
    UpdateAction {
        /// It is there from now on; levels below it move down.
        0 New,
        /// It has other values from now on.
        1 Change,
        /// It is gone; levels below it move up.
        2 Delete,
        /// All levels of the side are gone.
        3 DeleteThrough,
        /// The best levels up to this one are gone; levels below it move up.
        4 DeleteFrom,
        /// The level has another price from now on, and no other one moves.
        5 Overlay,
    }
}

codes! {
    /// What happens to an order that stands beside levels.
    OrderAction {
        /// It is there from now on.
        0 New,
        /// It has another quantity or priority from now on.
        1 Update,
        /// It is gone.
        2 Delete,
    }
}

codes! {
    /// What an entry of a book is.
    BookEntryKind {
        /// A level, or an order, that buys.
        b'0' Bid,
        /// One that sells.
        b'1' Offer,
        /// A level that buys, implied by other instruments.
        b'E' ImpliedBid,
        /// One that sells.
        b'F' ImpliedOffer,
        /// The book is empty from now on.
        b'J' BookReset,
        /// The best price of the market that sells.
        b'w' MarketBestOffer,
        /// The best price of the market that buys.
        b'x' MarketBestBid,
    }
}

codes! {
    /// What an entry of a snapshot, or a statistic, is.
    EntryKind {
        /// A level that buys.
        b'0' Bid,
        /// A level that sells.
        b'1' Offer,
        /// The last trade.
        b'2' Trade,
        /// The price of the opening, or what it would be.
        b'4' OpenPrice,
        /// The settlement price.
        b'6' SettlementPrice,
        /// The highest price of a trade in the session.
        b'7' SessionHigh,
        /// The lowest.
        b'8' SessionLow,
        /// The average price of the session's trades, by volume.
        b'9' Vwap,
        /// How much was cleared.
        b'B' ClearedVolume,
        /// The open interest.
        b'C' OpenInterest,
        /// A level that buys, implied by other instruments.
        b'E' ImpliedBid,
        /// One that sells.
        b'F' ImpliedOffer,
        /// The book is empty.
        b'J' BookReset,
        /// The highest bid of the session.
        b'N' SessionHighBid,
        /// The lowest offer of the session.
        b'O' SessionLowOffer,
        /// The fixing.
        b'W' FixingPrice,
        /// How much was traded in the session.
        b'e' ElectronicVolume,
        /// Limits of prices.
        b'g' Limits,
        /// The best price of the market that sells.
        b'w' MarketBestOffer,
        /// The best price of the market that buys.
        b'x' MarketBestBid,
    }
}

codes! {
    /// Whether an instrument, or a group of them, trades.
    TradingStatus {
        /// Halted.
        2 Halt,
        /// Closed.
        4 Close,
        /// A new price is being found.
        15 NewPriceIndication,
        /// It trades.
        17 ReadyToTrade,
        /// Not available.
        18 NotAvailable,
        /// Not known.
        20 Unknown,
        /// Orders are taken, and do not trade yet.
        21 PreOpen,
        /// Before a cross.
        24 PreCross,
        /// A cross.
        25 Cross,
        /// After the close.
        26 PostClose,
        /// As before.
        103 NoChange,
        /// A workup of those who traded.
        201 PrivateWorkup,
        /// A workup of all.
        202 PublicWorkup,
        /// Nothing is said of it.
        255 Absent,
    }
}

codes! {
    /// Why a trading status changes.
    HaltReason {
        /// The schedule says so.
        0 GroupSchedule,
        /// Surveillance does.
        1 Surveillance,
        /// Something in the market.
        2 MarketEvent,
        /// The instrument is activated.
        3 Activation,
        /// The instrument expires.
        4 Expiration,
        /// Not known.
        5 Unknown,
        /// The exchange recovers.
        6 Recovery,
        /// The trade date changes.
        7 TradeDateRoll,
    }
}

codes! {
    /// What comes with a trading status.
    TradingEvent {
        /// Nothing.
        0 None,
        /// Orders cannot be cancelled.
        1 NoCancel,
        /// Statistics begin anew: a new session.
        4 ResetStatistics,
        /// Implied matching is on.
        5 ImpliedMatchingOn,
        /// Implied matching is off.
        6 ImpliedMatchingOff,
        /// A workup is over.
        7 EndOfWorkup,
    }
}

codes! {
    /// Which price of an opening, or which average, a statistic is.
    OpenFlag {
        /// The price of the opening.
        0 DailyOpen,
        /// What it would be.
        5 IndicativeOpen,
        /// The average of the day up to now.
        100 IntradayVwap,
        /// The average of repos at 8:30.
        101 RepoAverage0830,
        /// At 10.
        102 RepoAverage1000,
        /// At 10 in the session before.
        103 PreviousRepoAverage1000,
    }
}

codes! {
    /// What happens to an instrument.
    DefinitionAction {
        /// It is there.
        b'A' Add,
        /// It is gone.
        b'D' Delete,
        /// It is changed.
        b'M' Modify,
    }
}

codes! {
    /// What an option is.
    PutOrCall {
        /// The right to sell.
        0 Put,
        /// The right to buy.
        1 Call,
    }
}

impl Nullable for OpenFlag {
    const NULL: Self = Self::Other(u8::MAX);
}

/// Who buys and who sells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Buys.
    Buy,
    /// Sells.
    Sell,
}

impl BookEntryKind {
    /// Whether it buys or sells; none if it is no level and no order.
    pub const fn side(self) -> Option<Side> {
        match self {
            Self::Bid | Self::ImpliedBid | Self::MarketBestBid => Some(Side::Buy),
            Self::Offer | Self::ImpliedOffer | Self::MarketBestOffer => Some(Side::Sell),
            Self::BookReset | Self::Other(_) => None,
        }
    }
}

/// A side by its number; 0, or null, where there is none.
pub(crate) struct NumberedSide;

impl Wire for NumberedSide {
    type Value = Option<Side>;

    const LEN: usize = 1;

    #[inline]
    fn get(bytes: &[u8]) -> Option<Side> {
        match bytes[0] {
            1 => Some(Side::Buy),
            2 => Some(Side::Sell),
            _ => None,
        }
    }

    #[inline]
    fn put(value: Option<Side>, out: &mut [u8]) {
        out[0] = value.map_or(0, |side| side as u8 + 1);
    }
}

/// The side of an order of a book; none where the book is reset.
pub(crate) struct OrderSide;

impl Wire for OrderSide {
    type Value = Option<Side>;

    const LEN: usize = 1;

    #[inline]
    fn get(bytes: &[u8]) -> Option<Side> {
        BookEntryKind::from_code(bytes[0]).side()
    }

    #[inline]
    fn put(value: Option<Side>, out: &mut [u8]) {
        let kind = match value {
            Some(Side::Buy) => BookEntryKind::Bid,
            Some(Side::Sell) => BookEntryKind::Offer,
            None => BookEntryKind::BookReset,
        };
        out[0] = kind.code();
    }
}
