//! One instrument's book.

use tapeline_instrument::{Instrument, OrderId, Price, Session, Side, Tick};

use crate::average::Average;
use crate::command::OwnerType;
use crate::event::Shown;
use crate::extend::Extension;
use crate::ladder::{Ladder, MARKET, NONE, key_of, tick_of};
use crate::orders::Resting;

/// The ladders and the state of one instrument.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    pub(crate) instrument: Instrument,
    pub(crate) session: Session,
    /// What is shown, by side.
    pub(crate) shown: [Ladder; 2],
    /// Hidden orders and the hidden parts of icebergs, by side.
    pub(crate) unshown: [Ladder; 2],
    /// Hidden orders that trade with those of retail investors alone, by side.
    pub(crate) provided: [Ladder; 2],
    /// Stop orders that wait, by side and stop price, the next to be elected
    /// first.
    pub(crate) stops: [Ladder; 2],
    /// Pegged orders, by side and time.
    pub(crate) pegged: [Ladder; 2],
    /// The middle at which they are; `None` while they wait for one.
    pub(crate) middle: Option<Price>,
    /// Orders that wait for an auction, by the class of it.
    pub(crate) waiting: Ladder,
    /// The last automated or auction trade of the day.
    pub(crate) last: Option<Tick>,
    pub(crate) opening: Option<Tick>,
    /// The price of the last auction of the day.
    pub(crate) last_auction: Option<Tick>,
    /// What was said last of the auction's outcome, and when.
    pub(crate) indicative: Option<(Tick, u64)>,
    pub(crate) indicated_ns: u64,
    /// Orders came or went since.
    pub(crate) is_dirty: bool,
    /// Prices that are too far away stop continuous trading, or an average is kept.
    pub(crate) is_watched: bool,
    /// What traded last, where the closing auction may not take place.
    pub(crate) average: Average,
    /// Its price when the closing call began.
    pub(crate) average_price: Option<Tick>,
    /// When a call ends that one began, or that goes on.
    pub(crate) call_ends_ns: u64,
    /// How the call that is goes on beyond its end.
    pub(crate) extension: Extension,
    /// The price of the closing auction of the day.
    pub(crate) closing: Option<Tick>,
    /// The closing price of the day was said.
    pub(crate) is_closing_said: bool,
}

impl Book {
    pub(crate) fn new(instrument: Instrument) -> Self {
        let pair = || [Ladder::new(), Ladder::new()];
        let keeps_average = instrument.auctions.min_closing_volume > 0;
        let is_watched = instrument.tolerances.are_set() || keeps_average;
        Self {
            instrument,
            session: Session::Closed,
            shown: pair(),
            unshown: pair(),
            provided: pair(),
            stops: pair(),
            pegged: pair(),
            middle: None,
            waiting: Ladder::new(),
            last: None,
            opening: None,
            last_auction: None,
            indicative: None,
            indicated_ns: 0,
            is_dirty: false,
            is_watched,
            average: Average::default(),
            average_price: None,
            call_ends_ns: 0,
            extension: Extension::default(),
            closing: None,
            is_closing_said: false,
        }
    }

    /// Where what is not shown of an order stands.
    #[inline]
    pub(crate) const fn unshown_of(&mut self, side: Side, owner_type: OwnerType) -> &mut Ladder {
        match owner_type {
            OwnerType::RetailProvider => &mut self.provided[side as usize],
            OwnerType::Any | OwnerType::Retail => &mut self.unshown[side as usize],
        }
    }

    pub(crate) fn has_providers(&self) -> bool {
        self.provided.iter().any(|ladder| ladder.best() != NONE)
    }

    /// The best key of a side, shown or not.
    #[inline]
    pub(crate) fn best(&self, side: Side) -> u32 {
        self.shown[side as usize].best().min(self.unshown[side as usize].best())
    }

    #[inline]
    pub(crate) fn price(&self, side: Side, key: u32) -> Price {
        self.instrument.ticks.price(tick_of(side, key))
    }

    /// An order of the book as others see it, under its id in market data.
    #[inline]
    pub(crate) fn shown_as(&self, id: OrderId, order: &Resting) -> Shown {
        let (side, is_market) = (order.side(), order.key == MARKET);
        Shown {
            id,
            side,
            quantity: order.shown,
            price: if is_market { Price::default() } else { self.price(side, order.key) },
            is_market,
            is_named: order.is_named(),
        }
    }

    /// What auctions refer to: the last price of the day, else that of the day
    /// before.
    pub(crate) fn reference(&self) -> Option<Tick> {
        let before =
            || self.instrument.previous_close.map(|price| self.instrument.ticks.nearest(price));
        self.last.or_else(before)
    }

    /// The key from which on stop orders of a side are elected; [`NONE`] without
    /// a trade.
    pub(crate) fn elected(&self, side: Side) -> Option<u32> {
        self.last.map(|last| stop_key(side, last))
    }

    #[inline]
    pub(crate) fn has_stops(&self) -> bool {
        self.stops.iter().any(|ladder| ladder.best() != NONE)
    }
}

/// Where a stop order waits. Buyers are elected by rising prices, so the lowest
/// stop is the next one: they are sorted as sell orders are, and the other way
/// round.
#[inline]
pub(crate) const fn stop_key(side: Side, tick: Tick) -> u32 {
    key_of(side.opposite(), tick)
}

/// The best price of one side that is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Best {
    /// The price; `None` if orders without a limit stand first.
    pub price: Option<Price>,
    /// What is shown there.
    pub quantity: u64,
}

/// One order that is shown, for books that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depth {
    /// Its price; `None` without a limit.
    pub price: Option<Price>,
    /// What is shown.
    pub quantity: u32,
    /// Its id in market data.
    pub id: OrderId,
    /// It is shown whose it is.
    pub is_named: bool,
}
