//! What a book is now, sent over and over.

use crate::codes::{EntryKind, OpenFlag, OrderSide, Side, TradingStatus};
use crate::error::MdpError;
use crate::field::{MarketDate, Price9, SettlementType};
use crate::wire::{Block, Body, Dimension, Group, Null, WideNull, block};

/// 52 and 69: all that is known of an instrument, but for its orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Snapshot<'a> {
    /// The last packet of changes that is in it.
    pub last_sequence: u32,
    /// Messages in a turn of the loop.
    pub total_reports: u32,
    /// The instrument.
    pub security: i32,
    /// The last entry of the instrument that is in it.
    pub report_sequence: u32,
    /// When something last happened to the instrument, in nanoseconds since 1 January
    /// 1970.
    pub transact_time_ns: u64,
    /// When a definition of the channel last changed, likewise.
    pub last_update_time_ns: u64,
    /// The day of the session.
    pub trade_date: Option<MarketDate>,
    /// Whether the instrument trades.
    pub trading_status: TradingStatus,
    /// The highest price at which it may.
    pub high_limit_price: Option<Price9>,
    /// The lowest.
    pub low_limit_price: Option<Price9>,
    /// How far an order may be from the price that its band is around.
    pub max_price_variation: Option<Price9>,
    entries: Group<'a>,
    is_long: bool,
}

block! {
    /// 69 begins in the same way.
    Snapshot52 of Snapshot<'a>, 59 {
        0 => last_sequence: u32,
        4 => total_reports: u32,
        8 => security: i32,
        12 => report_sequence: u32,
        16 => transact_time_ns: u64,
        24 => last_update_time_ns: u64,
        32 => trade_date: Null<MarketDate>,
        34 => trading_status: TradingStatus,
        35 => high_limit_price: Null<Price9>,
        43 => low_limit_price: Null<Price9>,
        51 => max_price_variation: Null<Price9>,
        else entries: Group::EMPTY,
        else is_long: false,
    }
}

/// A level of a book, a statistic, or the last trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotEntry {
    /// Its price, if it has one.
    pub price: Option<Price9>,
    /// Its quantity, if it has one.
    pub quantity: Option<i64>,
    /// How many orders there are at the level.
    pub orders: Option<i32>,
    /// The level, from 1.
    pub level: Option<i8>,
    /// The day of a statistic.
    pub reference_date: Option<MarketDate>,
    /// Which price of an opening, or which average, it is.
    pub open_flag: Option<OpenFlag>,
    /// What a settlement price is.
    pub settlement: SettlementType,
    /// What it is.
    pub kind: EntryKind,
}

block! {
    SnapshotEntry52 of SnapshotEntry, 22 {
        0 => price: Null<Price9>,
        8 => quantity: WideNull<i32>,
        12 => orders: Null<i32>,
        16 => level: Null<i8>,
        17 => reference_date: Null<MarketDate>,
        19 => open_flag: Null<OpenFlag>,
        20 => settlement: SettlementType,
        21 => kind: EntryKind,
    }
}

block! {
    /// With long quantities there is no word of days.
    SnapshotEntry69 of SnapshotEntry, 23 {
        0 => price: Null<Price9>,
        8 => quantity: WideNull<u64>,
        16 => orders: Null<i32>,
        20 => level: UnsignedLevel,
        21 => open_flag: Null<OpenFlag>,
        22 => kind: EntryKind,
        else reference_date: None,
        else settlement: SettlementType::NULL,
    }
}

/// A level that is a `u8` on the wire, with 255 for none.
pub(crate) struct UnsignedLevel;

impl crate::wire::Wire for UnsignedLevel {
    type Value = Option<i8>;

    const LEN: usize = 1;

    fn get(bytes: &[u8]) -> Option<i8> {
        Null::<u8>::get(bytes).map(|level| i8::try_from(level).unwrap_or(i8::MAX))
    }

    fn put(level: Option<i8>, out: &mut [u8]) {
        Null::<u8>::put(level.map(|level| level.max(0) as u8), out);
    }
}

impl<'a> Snapshot<'a> {
    /// One of an instrument of which nothing is known yet.
    pub const fn new(security: i32) -> Self {
        Self {
            last_sequence: 0,
            total_reports: 0,
            security,
            report_sequence: 0,
            transact_time_ns: 0,
            last_update_time_ns: 0,
            trade_date: None,
            trading_status: TradingStatus::Absent,
            high_limit_price: None,
            low_limit_price: None,
            max_price_variation: None,
            entries: Group::EMPTY,
            is_long: false,
        }
    }

    pub(crate) fn read(mut body: Body<'a>, block: usize, is_long: bool) -> Result<Self, MdpError> {
        let bytes = body.block(block, <Snapshot52 as Block<Self>>::LEAST)?;
        let entries = body.either::<_, SnapshotEntry52, SnapshotEntry69>(is_long)?;
        Ok(Self { entries, is_long, ..Snapshot52::read(bytes) })
    }

    /// Levels and figures.
    pub fn entries(&self) -> impl Iterator<Item = SnapshotEntry> + use<'a> {
        self.entries.either::<_, SnapshotEntry52, SnapshotEntry69>(self.is_long)
    }
}

/// 53: the orders of a book, or a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotOrderBook<'a> {
    /// The last packet of changes that is in it.
    pub last_sequence: u32,
    /// Instruments in a turn of the loop.
    pub total_reports: u32,
    /// The instrument.
    pub security: i32,
    /// How many messages its orders take.
    pub chunk_count: u32,
    /// Which of them this is, from 1.
    pub current_chunk: u32,
    /// When something last happened to the instrument, in nanoseconds since 1 January
    /// 1970.
    pub transact_time_ns: u64,
    entries: Group<'a>,
}

block! {
    SnapshotOrderBook53 of SnapshotOrderBook<'a>, 28 {
        0 => last_sequence: u32,
        4 => total_reports: u32,
        8 => security: i32,
        12 => chunk_count: u32,
        16 => current_chunk: u32,
        20 => transact_time_ns: u64,
        else entries: Group::EMPTY,
    }
}

/// An order of a book.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotOrder {
    /// Its number.
    pub order: u64,
    /// Its turn at its price: lower ones trade first.
    pub priority: Option<u64>,
    /// Its limit.
    pub price: Price9,
    /// How much of it is shown.
    pub quantity: i32,
    /// Whether it buys; none if it is no order, but says that the book is empty.
    pub side: Option<Side>,
}

block! {
    SnapshotOrder53 of SnapshotOrder, 29 {
        0 => order: u64,
        8 => priority: Null<u64>,
        16 => price: Price9,
        24 => quantity: i32,
        28 => side: OrderSide,
    }
}

impl<'a> SnapshotOrderBook<'a> {
    /// One whose orders take one message.
    pub const fn new(security: i32) -> Self {
        Self {
            last_sequence: 0,
            total_reports: 0,
            security,
            chunk_count: 1,
            current_chunk: 1,
            transact_time_ns: 0,
            entries: Group::EMPTY,
        }
    }

    pub(crate) fn read(mut body: Body<'a>, block: usize) -> Result<Self, MdpError> {
        let bytes = body.block(block, <SnapshotOrderBook53 as Block<Self>>::LEAST)?;
        let entries = body.group::<_, SnapshotOrder53>(Dimension::Packed)?;
        Ok(Self { entries, ..SnapshotOrderBook53::read(bytes) })
    }

    /// The orders.
    pub fn entries(&self) -> impl Iterator<Item = SnapshotOrder> + use<'a> {
        self.entries.blocks().map(SnapshotOrder53::read)
    }
}
