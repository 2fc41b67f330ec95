//! What changes in books, trades and volumes.

use crate::codes::{BookEntryKind, NumberedSide, OrderAction, OrderSide, Side, UpdateAction};
use crate::error::MdpError;
use crate::field::{MatchEvent, Price9};
use crate::wire::{Block, Body, Dimension, Group, Null, Wide, WideNull, block};

/// What messages of changes begin with.
#[derive(Clone, Copy)]
pub(crate) struct Head {
    pub(crate) transact_time_ns: u64,
    pub(crate) event: MatchEvent,
}

block! {
    /// Of templates 37 and 46 to 67. Its 11 bytes end with two that are reserved.
    IncrementalHead of Head, 11 {
        0 => transact_time_ns: u64,
        8 => event: MatchEvent,
    }
}

impl Head {
    pub(crate) fn read(body: &mut Body<'_>, block: usize) -> Result<Self, MdpError> {
        let bytes = body.block(block, <IncrementalHead as Block<Self>>::LEAST)?;
        Ok(IncrementalHead::read(bytes))
    }
}

/// A level of a book that changes, or a whole book that does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookEntry {
    /// The price of the level; none where the book is reset.
    pub price: Option<Price9>,
    /// How much there is at it.
    pub quantity: Option<i64>,
    /// The instrument.
    pub security: i32,
    /// Counts the entries of the instrument, from 1; what is skipped is missing.
    pub report_sequence: u32,
    /// How many orders there are at it; none at an implied level.
    pub orders: Option<i32>,
    /// The level, from 1.
    pub level: u8,
    /// What happens to it.
    pub action: UpdateAction,
    /// Whose level it is.
    pub kind: BookEntryKind,
}

block! {
    /// From version 10 on there is the size that can be traded at once; CME fills it
    /// for `BrokerTec` alone.
    BookEntry46 of BookEntry, 32 {
        0 => price: Null<Price9>,
        8 => quantity: WideNull<i32>,
        12 => security: i32,
        16 => report_sequence: u32,
        20 => orders: Null<i32>,
        24 => level: u8,
        25 => action: UpdateAction,
        26 => kind: BookEntryKind,
        null 27: i32,
    }
}

block! {
    /// The same with long quantities.
    BookEntry64 of BookEntry, 32 {
        0 => price: Null<Price9>,
        8 => quantity: WideNull<u64>,
        16 => security: i32,
        20 => report_sequence: u32,
        24 => orders: Null<i32>,
        28 => level: u8,
        29 => action: UpdateAction,
        30 => kind: BookEntryKind,
    }
}

/// An order that changes beside the levels of the same message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderEntry {
    /// Its number.
    pub order: u64,
    /// Its turn at its price: lower ones trade first.
    pub priority: Option<u64>,
    /// How much of it is shown.
    pub quantity: Option<i32>,
    /// The entry of the message that has its instrument and price, from 1.
    pub reference: Option<u8>,
    /// What happens to it.
    pub action: OrderAction,
}

block! {
    /// Of templates 46 and 64.
    OrderEntry46 of OrderEntry, 24 {
        0 => order: u64,
        8 => priority: Null<u64>,
        16 => quantity: Null<i32>,
        20 => reference: Null<u8>,
        21 => action: OrderAction,
    }
}

/// 46 and 64: levels of books that change, and the orders behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Book<'a> {
    /// When what happened began to, in nanoseconds since 1 January 1970.
    pub transact_time_ns: u64,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    entries: Group<'a>,
    orders: Group<'a>,
    is_long: bool,
}

impl<'a> Book<'a> {
    pub(crate) fn read(mut body: Body<'a>, block: usize, is_long: bool) -> Result<Self, MdpError> {
        let Head { transact_time_ns, event } = Head::read(&mut body, block)?;
        let entries = body.either::<_, BookEntry46, BookEntry64>(is_long)?;
        let orders = body.group::<_, OrderEntry46>(Dimension::Aligned)?;
        Ok(Self { transact_time_ns, event, entries, orders, is_long })
    }

    /// The levels.
    #[inline]
    pub fn entries(&self) -> impl Iterator<Item = BookEntry> + use<'a> {
        self.entries.either::<_, BookEntry46, BookEntry64>(self.is_long)
    }

    /// The orders.
    #[inline]
    pub fn orders(&self) -> impl Iterator<Item = OrderEntry> + use<'a> {
        self.orders.blocks().map(OrderEntry46::read)
    }
}

/// An order of a book that changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBookEntry {
    /// Its number; none where the book is reset.
    pub order: Option<u64>,
    /// Its turn at its price: lower ones trade first.
    pub priority: Option<u64>,
    /// Its limit.
    pub price: Option<Price9>,
    /// How much of it is shown.
    pub quantity: Option<i32>,
    /// The instrument.
    pub security: i32,
    /// What happens to it.
    pub action: UpdateAction,
    /// Whether it buys; none where the book is reset.
    pub side: Option<Side>,
}

block! {
    /// Six bytes behind it are reserved.
    OrderBookEntry47 of OrderBookEntry, 40 {
        0 => order: Null<u64>,
        8 => priority: Null<u64>,
        16 => price: Null<Price9>,
        24 => quantity: Null<i32>,
        28 => security: i32,
        32 => action: UpdateAction,
        33 => side: OrderSide,
    }
}

/// 47: orders of books that change without a level of 46.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderBook<'a> {
    /// When what happened began to, in nanoseconds since 1 January 1970.
    pub transact_time_ns: u64,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    entries: Group<'a>,
}

impl<'a> OrderBook<'a> {
    pub(crate) fn read(mut body: Body<'a>, block: usize) -> Result<Self, MdpError> {
        let Head { transact_time_ns, event } = Head::read(&mut body, block)?;
        let entries = body.group::<_, OrderBookEntry47>(Dimension::Packed)?;
        Ok(Self { transact_time_ns, event, entries })
    }

    /// The orders.
    #[inline]
    pub fn entries(&self) -> impl Iterator<Item = OrderBookEntry> + use<'a> {
        self.entries.blocks().map(OrderBookEntry47::read)
    }
}

/// A trade, or what is left of one that is corrected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeEntry {
    /// Its price.
    pub price: Price9,
    /// How much.
    pub quantity: i64,
    /// The instrument.
    pub security: i32,
    /// Counts the entries of the instrument.
    pub report_sequence: u32,
    /// How many orders took part.
    pub orders: i32,
    /// Who traded with what was there; none if nobody did.
    pub aggressor: Option<Side>,
    /// [`New`](UpdateAction::New), or that an earlier one is changed or gone.
    pub action: UpdateAction,
    /// Its number.
    pub trade: Option<u32>,
}

block! {
    /// Two bytes behind it are reserved.
    TradeEntry48 of TradeEntry, 32 {
        0 => price: Price9,
        8 => quantity: Wide<i32>,
        12 => security: i32,
        16 => report_sequence: u32,
        20 => orders: i32,
        24 => aggressor: NumberedSide,
        25 => action: UpdateAction,
        26 => trade: Null<u32>,
    }
}

block! {
    /// The same with long quantities.
    TradeEntry65 of TradeEntry, 40 {
        0 => price: Price9,
        8 => quantity: Wide<u64>,
        16 => security: i32,
        20 => report_sequence: u32,
        24 => orders: i32,
        28 => trade: Null<u32>,
        32 => aggressor: NumberedSide,
        33 => action: UpdateAction,
    }
}

/// An order that took part in a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeOrder {
    /// Its number.
    pub order: u64,
    /// How much of it traded.
    pub quantity: i32,
}

block! {
    /// Of templates 48 and 65; four bytes behind it are reserved.
    TradeOrder48 of TradeOrder, 16 {
        0 => order: u64,
        8 => quantity: i32,
    }
}

/// 48 and 65: trades, and the orders that took part: of each trade the aggressor's
/// first, if there is one, then those it traded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TradeSummary<'a> {
    /// When what happened began to, in nanoseconds since 1 January 1970.
    pub transact_time_ns: u64,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    entries: Group<'a>,
    orders: Group<'a>,
    is_long: bool,
}

impl<'a> TradeSummary<'a> {
    pub(crate) fn read(mut body: Body<'a>, block: usize, is_long: bool) -> Result<Self, MdpError> {
        let Head { transact_time_ns, event } = Head::read(&mut body, block)?;
        let entries = body.either::<_, TradeEntry48, TradeEntry65>(is_long)?;
        let orders = body.group::<_, TradeOrder48>(Dimension::Aligned)?;
        Ok(Self { transact_time_ns, event, entries, orders, is_long })
    }

    /// The trades.
    #[inline]
    pub fn entries(&self) -> impl Iterator<Item = TradeEntry> + use<'a> {
        self.entries.either::<_, TradeEntry48, TradeEntry65>(self.is_long)
    }

    /// The orders: as many for each trade as it says.
    #[inline]
    pub fn orders(&self) -> impl Iterator<Item = TradeOrder> + use<'a> {
        self.orders.blocks().map(TradeOrder48::read)
    }
}

/// How much of an instrument was traded in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeEntry {
    /// All of it.
    pub quantity: i64,
    /// The instrument.
    pub security: i32,
    /// Counts the entries of the instrument.
    pub report_sequence: u32,
    /// What happens to it.
    pub action: UpdateAction,
}

block! {
    /// Three bytes behind it are reserved.
    VolumeEntry37 of VolumeEntry, 16 {
        0 => quantity: Wide<i32>,
        4 => security: i32,
        8 => report_sequence: u32,
        12 => action: UpdateAction,
    }
}

block! {
    /// The same with long quantities.
    VolumeEntry66 of VolumeEntry, 24 {
        0 => quantity: Wide<u64>,
        8 => security: i32,
        12 => report_sequence: u32,
        16 => action: UpdateAction,
    }
}

/// 37 and 66: how much was traded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Volume<'a> {
    /// When what happened began to, in nanoseconds since 1 January 1970.
    pub transact_time_ns: u64,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    entries: Group<'a>,
    is_long: bool,
}

impl<'a> Volume<'a> {
    pub(crate) fn read(mut body: Body<'a>, block: usize, is_long: bool) -> Result<Self, MdpError> {
        let Head { transact_time_ns, event } = Head::read(&mut body, block)?;
        let entries = body.either::<_, VolumeEntry37, VolumeEntry66>(is_long)?;
        Ok(Self { transact_time_ns, event, entries, is_long })
    }

    /// One for each instrument.
    #[inline]
    pub fn entries(&self) -> impl Iterator<Item = VolumeEntry> + use<'a> {
        self.entries.either::<_, VolumeEntry37, VolumeEntry66>(self.is_long)
    }
}
