//! Packets, and the messages in them.

use crate::definition::{Definition, DefinitionKind};
use crate::error::MdpError;
use crate::incremental::{Book, OrderBook, TradeSummary, Volume};
use crate::snapshot::{Snapshot, SnapshotOrderBook};
use crate::statistics::{DailyStatistics, LimitsBanding, SessionStatistics};
use crate::status::{ChannelReset, QuoteRequest, SecurityStatus};
use crate::wire::Body;

/// What a packet begins with: number and time.
pub(crate) const PACKET_HEAD_BYTES: usize = 12;
/// What a message begins with: its size and the head of SBE.
pub(crate) const MESSAGE_HEAD_BYTES: usize = 10;
/// The schema of MDP 3.0.
pub(crate) const SCHEMA: u16 = 1;

/// A packet: its number, when it was sent, and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Its number on the line. What is skipped is missing; changes begin with 1 each
    /// week, loops with 1 in each turn.
    pub sequence: u32,
    /// When it was sent, in nanoseconds since 1 January 1970.
    pub sending_time_ns: u64,
    messages: &'a [u8],
}

impl<'a> Packet<'a> {
    /// Reads the head of a packet.
    ///
    /// # Errors
    /// There is no whole one.
    #[inline]
    pub fn read(bytes: &'a [u8]) -> Result<Self, MdpError> {
        let short = MdpError::Short(bytes.len());
        let (sequence, rest) = bytes.split_first_chunk().ok_or(short)?;
        let (time, messages) = rest.split_first_chunk().ok_or(short)?;
        let sequence = u32::from_le_bytes(*sequence);
        Ok(Self { sequence, sending_time_ns: u64::from_le_bytes(*time), messages })
    }

    /// The messages, in order. What is wrong with one does not keep from reading the
    /// next, unless its size is.
    #[inline]
    pub const fn messages(&self) -> Messages<'a> {
        Messages { rest: self.messages }
    }
}

/// The messages of a packet.
#[derive(Clone, Debug)]
pub struct Messages<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Messages<'a> {
    type Item = Result<Message<'a>, MdpError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let left = self.rest.len();
        let size = self.rest.first_chunk().map_or(0, |size| u16::from_le_bytes(*size));
        match self.rest.split_at_checked(size.into()) {
            Some((message, rest)) if message.len() >= MESSAGE_HEAD_BYTES => {
                self.rest = rest;
                Some(Message::read(message))
            }
            _ => {
                self.rest = &[];
                Some(Err(MdpError::Size { size, left }))
            }
        }
    }
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant, reason = "a definition in a box would be allocated")]
pub enum Message<'a> {
    /// All books of some channels are empty.
    ChannelReset(ChannelReset<'a>),
    /// 12: the line is there, and has nothing to say.
    Heartbeat,
    /// 15: a connection for packets that are missing begins.
    Login {
        /// There is a sign of life each so many seconds.
        heartbeat_s: i8,
    },
    /// 16: it ends.
    Logout {
        /// Why.
        text: &'a str,
    },
    /// Whether instruments trade.
    SecurityStatus(SecurityStatus),
    /// How much was traded.
    Volume(Volume<'a>),
    /// Somebody wants quotes.
    QuoteRequest(QuoteRequest<'a>),
    /// Levels of books, and orders beside them.
    Book(Book<'a>),
    /// Orders of books alone.
    OrderBook(OrderBook<'a>),
    /// Trades.
    TradeSummary(TradeSummary<'a>),
    /// Figures of days.
    DailyStatistics(DailyStatistics<'a>),
    /// Limits of prices.
    LimitsBanding(LimitsBanding<'a>),
    /// Figures of sessions.
    SessionStatistics(SessionStatistics<'a>),
    /// All that is known of an instrument, but for its orders.
    Snapshot(Snapshot<'a>),
    /// The orders of an instrument.
    SnapshotOrderBook(SnapshotOrderBook<'a>),
    /// What an instrument is.
    Definition(Definition<'a>),
    /// A template that is not read here.
    Other {
        /// Its number.
        template_id: u16,
    },
}

impl<'a> Message<'a> {
    /// Reads a message of whole size.
    #[inline]
    fn read(bytes: &'a [u8]) -> Result<Self, MdpError> {
        let number = |at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
        let (block, template, schema) = (usize::from(number(2)), number(4), number(6));
        if schema != SCHEMA {
            return Err(MdpError::Schema(schema));
        }
        let body = Body::new(template, &bytes[MESSAGE_HEAD_BYTES..]);
        Ok(match template {
            46 | 64 => Self::Book(Book::read(body, block, template == 64)?),
            47 => Self::OrderBook(OrderBook::read(body, block)?),
            48 | 65 => Self::TradeSummary(TradeSummary::read(body, block, template == 65)?),
            37 | 66 => Self::Volume(Volume::read(body, block, template == 66)?),
            51 | 67 => {
                Self::SessionStatistics(SessionStatistics::read(body, block, template == 67)?)
            }
            49 => Self::DailyStatistics(DailyStatistics::read(body, block)?),
            50 => Self::LimitsBanding(LimitsBanding::read(body, block)?),
            52 | 69 => Self::Snapshot(Snapshot::read(body, block, template == 69)?),
            53 => Self::SnapshotOrderBook(SnapshotOrderBook::read(body, block)?),
            54..=58 | 63 => Self::Definition(Definition::read(body, block, kind(template))?),
            30 => Self::SecurityStatus(SecurityStatus::read(body, block)?),
            39 => Self::QuoteRequest(QuoteRequest::read(body, block)?),
            4 => Self::ChannelReset(ChannelReset::read(body, block)?),
            12 => Self::Heartbeat,
            15 | 16 => Self::session(body, block, template)?,
            template_id => Self::Other { template_id },
        })
    }

    fn session(mut body: Body<'a>, block: usize, template: u16) -> Result<Self, MdpError> {
        if template == 15 {
            let block = body.block(block, 1)?;
            return Ok(Self::Login { heartbeat_s: i8::from_le_bytes([block[0]]) });
        }
        let block = body.block(block, 0)?;
        Ok(Self::Logout { text: crate::definition::text(block, 0, block.len()) })
    }
}

const fn kind(template: u16) -> DefinitionKind {
    match template {
        54 => DefinitionKind::Future,
        55 => DefinitionKind::Option,
        56 => DefinitionKind::Spread,
        57 => DefinitionKind::FixedIncome,
        58 => DefinitionKind::Repo,
        _ => DefinitionKind::Fx,
    }
}
