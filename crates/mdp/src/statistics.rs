//! Statistics of days and sessions, and limits of prices.

use crate::codes::{EntryKind, OpenFlag, UpdateAction};
use crate::error::MdpError;
use crate::field::{MarketDate, MatchEvent, Price9, SettlementType};
use crate::incremental::Head;
use crate::wire::{Block, Body, Dimension, Group, Null, WideNull, block};

/// A figure of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyStatistic {
    /// A price, if it is one.
    pub price: Option<Price9>,
    /// A quantity, if it is one.
    pub quantity: Option<i32>,
    /// The instrument.
    pub security: i32,
    /// Counts the entries of the instrument.
    pub report_sequence: u32,
    /// The day.
    pub reference_date: Option<MarketDate>,
    /// What a settlement price is.
    pub settlement: SettlementType,
    /// What happens to it.
    pub action: UpdateAction,
    /// What it is.
    pub kind: EntryKind,
}

block! {
    /// Seven bytes behind it are reserved.
    DailyStatistic49 of DailyStatistic, 32 {
        0 => price: Null<Price9>,
        8 => quantity: Null<i32>,
        12 => security: i32,
        16 => report_sequence: u32,
        20 => reference_date: Null<MarketDate>,
        22 => settlement: SettlementType,
        23 => action: UpdateAction,
        24 => kind: EntryKind,
    }
}

/// 49: settlement prices, cleared volume, open interest, fixings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyStatistics<'a> {
    /// When what happened began to, in nanoseconds since 1 January 1970.
    pub transact_time_ns: u64,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    entries: Group<'a>,
}

impl<'a> DailyStatistics<'a> {
    pub(crate) fn read(mut body: Body<'a>, block: usize) -> Result<Self, MdpError> {
        let Head { transact_time_ns, event } = Head::read(&mut body, block)?;
        let entries = body.group::<_, DailyStatistic49>(Dimension::Packed)?;
        Ok(Self { transact_time_ns, event, entries })
    }

    /// The figures.
    pub fn entries(&self) -> impl Iterator<Item = DailyStatistic> + use<'a> {
        self.entries.blocks().map(DailyStatistic49::read)
    }
}

/// The prices between which an instrument may trade. What is none has no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The highest.
    pub high: Option<Price9>,
    /// The lowest.
    pub low: Option<Price9>,
    /// How far an order may be from the price that its band is around.
    pub max_price_variation: Option<Price9>,
    /// The instrument.
    pub security: i32,
    /// Counts the entries of the instrument.
    pub report_sequence: u32,
}

block! {
    Limits50 of Limits, 32 {
        0 => high: Null<Price9>,
        8 => low: Null<Price9>,
        16 => max_price_variation: Null<Price9>,
        24 => security: i32,
        28 => report_sequence: u32,
    }
}

/// 50: limits of prices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsBanding<'a> {
    /// When what happened began to, in nanoseconds since 1 January 1970.
    pub transact_time_ns: u64,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    entries: Group<'a>,
}

impl<'a> LimitsBanding<'a> {
    pub(crate) fn read(mut body: Body<'a>, block: usize) -> Result<Self, MdpError> {
        let Head { transact_time_ns, event } = Head::read(&mut body, block)?;
        let entries = body.group::<_, Limits50>(Dimension::Packed)?;
        Ok(Self { transact_time_ns, event, entries })
    }

    /// One for each instrument.
    pub fn entries(&self) -> impl Iterator<Item = Limits> + use<'a> {
        self.entries.blocks().map(Limits50::read)
    }
}

/// A figure of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStatistic {
    /// The price.
    pub price: Price9,
    /// How much would trade at the opening.
    pub quantity: Option<i64>,
    /// The instrument.
    pub security: i32,
    /// Counts the entries of the instrument.
    pub report_sequence: u32,
    /// Which price of an opening, or which average, it is.
    pub open_flag: Option<OpenFlag>,
    /// What happens to it.
    pub action: UpdateAction,
    /// What it is.
    pub kind: EntryKind,
}

block! {
    /// One byte behind it is reserved.
    SessionStatistic51 of SessionStatistic, 24 {
        0 => price: Price9,
        8 => security: i32,
        12 => report_sequence: u32,
        16 => open_flag: Null<OpenFlag>,
        17 => action: UpdateAction,
        18 => kind: EntryKind,
        19 => quantity: WideNull<i32>,
    }
}

block! {
    /// The same with long quantities.
    SessionStatistic67 of SessionStatistic, 32 {
        0 => price: Price9,
        8 => quantity: WideNull<u64>,
        16 => security: i32,
        20 => report_sequence: u32,
        24 => open_flag: Null<OpenFlag>,
        25 => action: UpdateAction,
        26 => kind: EntryKind,
    }
}

/// 51 and 67: prices of openings, the highest and the lowest of the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionStatistics<'a> {
    /// When what happened began to, in nanoseconds since 1 January 1970.
    pub transact_time_ns: u64,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    entries: Group<'a>,
    is_long: bool,
}

impl<'a> SessionStatistics<'a> {
    pub(crate) fn read(mut body: Body<'a>, block: usize, is_long: bool) -> Result<Self, MdpError> {
        let Head { transact_time_ns, event } = Head::read(&mut body, block)?;
        let entries = body.either::<_, SessionStatistic51, SessionStatistic67>(is_long)?;
        Ok(Self { transact_time_ns, event, entries, is_long })
    }

    /// The figures.
    pub fn entries(&self) -> impl Iterator<Item = SessionStatistic> + use<'a> {
        self.entries.either::<_, SessionStatistic51, SessionStatistic67>(self.is_long)
    }
}
