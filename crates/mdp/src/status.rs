//! Messages about channels, groups of instruments and requests.

use tapeline_layout::Text;

use crate::codes::{HaltReason, TradingEvent, TradingStatus};
use crate::error::MdpError;
use crate::field::{MarketDate, MatchEvent};
use crate::incremental::Head;
use crate::wire::{Block, Body, Dimension, Group, Null, block};

/// 4: all books of some channels are empty, and their entries count from 1 again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelReset<'a> {
    /// When what happened began to, in nanoseconds since 1 January 1970.
    pub transact_time_ns: u64,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    channels: Group<'a>,
}

/// A channel that is reset.
#[derive(Clone, Copy)]
pub(crate) struct ResetEntry {
    pub(crate) appl_id: i16,
}

block! {
    ResetEntry4 of ResetEntry, 2 {
        0 => appl_id: i16,
    }
}

impl<'a> ChannelReset<'a> {
    pub(crate) fn read(mut body: Body<'a>, block: usize) -> Result<Self, MdpError> {
        let Head { transact_time_ns, event } = Head::read(&mut body, block)?;
        let channels = body.group::<_, ResetEntry4>(Dimension::Packed)?;
        Ok(Self { transact_time_ns, event, channels })
    }

    /// The channels, by their numbers.
    pub fn channels(&self) -> impl Iterator<Item = i16> + use<'a> {
        self.channels.blocks().map(|bytes| ResetEntry4::read(bytes).appl_id)
    }
}

/// 30: whether an instrument, or a group of them, trades.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecurityStatus {
    /// When what happened began to, in nanoseconds since 1 January 1970.
    pub transact_time_ns: u64,
    /// The group of instruments.
    pub group: Text<6>,
    /// The product of the group that it is about, or all of them.
    pub asset: Text<6>,
    /// The instrument, if it is about one.
    pub security: Option<i32>,
    /// The day of the session.
    pub trade_date: Option<MarketDate>,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    /// Whether it trades.
    pub status: TradingStatus,
    /// Why.
    pub reason: HaltReason,
    /// What comes with it.
    pub trading_event: TradingEvent,
}

block! {
    SecurityStatus30 of SecurityStatus, 30 {
        0 => transact_time_ns: u64,
        8 => group: Text<6>,
        14 => asset: Text<6>,
        20 => security: Null<i32>,
        24 => trade_date: Null<MarketDate>,
        26 => event: MatchEvent,
        27 => status: TradingStatus,
        28 => reason: HaltReason,
        29 => trading_event: TradingEvent,
    }
}

impl SecurityStatus {
    pub(crate) fn read(mut body: Body<'_>, block: usize) -> Result<Self, MdpError> {
        let bytes = body.block(block, <SecurityStatus30 as Block<Self>>::LEAST)?;
        Ok(SecurityStatus30::read(bytes))
    }
}

/// An instrument that somebody wants quotes of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuoteRequestEntry {
    /// Its symbol.
    pub symbol: Text<20>,
    /// The instrument.
    pub security: i32,
    /// How much of it.
    pub quantity: Option<i32>,
    /// 1 if any quote will do.
    pub quote_type: i8,
    /// 1 to buy, 2 to sell, 8 a cross.
    pub side: Option<i8>,
}

block! {
    /// Two bytes behind it are reserved.
    QuoteRequestEntry39 of QuoteRequestEntry, 32 {
        0 => symbol: Text<20>,
        20 => security: i32,
        24 => quantity: Null<i32>,
        28 => quote_type: i8,
        29 => side: Null<i8>,
    }
}

/// 39: somebody wants quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuoteRequest<'a> {
    /// When what happened began to, in nanoseconds since 1 January 1970.
    pub transact_time_ns: u64,
    /// The exchange's name of the request.
    pub request: Text<23>,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    entries: Group<'a>,
}

block! {
    /// Three bytes behind it are reserved.
    QuoteRequest39 of QuoteRequest<'a>, 35 {
        0 => transact_time_ns: u64,
        8 => request: Text<23>,
        31 => event: MatchEvent,
        else entries: Group::EMPTY,
    }
}

impl<'a> QuoteRequest<'a> {
    pub(crate) fn read(mut body: Body<'a>, block: usize) -> Result<Self, MdpError> {
        let bytes = body.block(block, <QuoteRequest39 as Block<Self>>::LEAST)?;
        let entries = body.group::<_, QuoteRequestEntry39>(Dimension::Packed)?;
        Ok(Self { entries, ..QuoteRequest39::read(bytes) })
    }

    /// The instruments.
    pub fn entries(&self) -> impl Iterator<Item = QuoteRequestEntry> + use<'a> {
        self.entries.blocks().map(QuoteRequestEntry39::read)
    }
}
