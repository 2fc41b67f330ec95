//! Market data of CME Group: MDP 3.0, the levels, orders and trades of its futures and
//! options, in packets of messages of SBE (Simple Binary Encoding), both ways.
//!
//! ```text
//!  changes      ──packets──▶ multicast A ─┐
//!      │             the same ▶ multicast B ─┴▶ whoever keeps books
//!  snapshots    ──in a loop──▶ multicast A, B ─▶ … and has missed something
//!  definitions  ──in a loop──▶ multicast A, B ─▶ … and does not know the instruments
//! ```
//!
//! Bytes come in, messages come out, and the other way round; sockets, clocks and books
//! are elsewhere. All numbers are little-endian:
//!
//! ```text
//!  a packet:   | 0 sequence u32 | 4 sending time u64 | 12 messages …
//!  a message:  | 0 size u16 | 2 block length u16 | 4 template u16 | 6 schema u16 | 8 version u16
//!              | 10 block: the fields | groups …
//!  a group:    | 0 block length u16 | 2 count u8 | entries, of the block length each …
//!  of orders:  | 0 block length u16 | 2 reserved | 7 count u8 | entries …
//! ```
//!
//! The size is that of the whole message, its own two bytes included. Times are
//! nanoseconds since 1 January 1970, days ([`MarketDate`]) count from there, prices have
//! nine decimals ([`Price9`]). The highest number of a type stands for none; unsigned
//! quantities of 64 bits become signed ones.
//!
//! # Versions
//!
//! Templates of versions 9 to 13 of the schema are read. Of each the block lengths say
//! where the next part begins: fields that an older version does not have are none, what
//! a newer one has behind them is passed over. A block that ends before the fields that
//! version 9 has is an error. Templates that are not read here are
//! [`Message::Other`]: those for connections of `BrokerTec` (59 to 62 and 68), and
//! those before version 9, whose prices have seven decimals. [`VERSION`] is written.
//!
//! # Errors
//!
//! A message that is wrong is an [`MdpError`] in its place, and the next one is read;
//! only a size that is wrong ends the packet. Codes that the schema does not name are
//! no errors, they are kept (`Other`). Nothing is allocated by reading.
//!
//! ```
//! use tapeline_mdp::{
//!     BookEntry, BookEntryKind, MatchEvent, Message, Packer, Packet, Price9, UpdateAction,
//! };
//!
//! let bid = BookEntry {
//!     price: Some(Price9::from_nano(5_612_250_000_000)),
//!     quantity: Some(12),
//!     security: 4711,
//!     report_sequence: 1,
//!     orders: Some(3),
//!     level: 1,
//!     action: UpdateAction::New,
//!     kind: BookEntryKind::Bid,
//! };
//! let event = MatchEvent::LAST_QUOTE | MatchEvent::END_OF_EVENT;
//! let (mut packer, mut bytes) = (Packer::new(1), Vec::new());
//! assert!(packer.book(1_659_367_870_041_633_809, event, &[bid], &[]));
//! packer.send(1_659_367_870_041_719_045, &mut |packet| bytes.extend_from_slice(packet));
//!
//! let packet = Packet::read(&bytes)?;
//! assert_eq!(packet.sequence, 1);
//! let Some(Ok(Message::Book(book))) = packet.messages().next() else { panic!("one book") };
//! assert!(book.event.is_end_of_event());
//! assert_eq!(book.entries().next(), Some(bid));
//! assert_eq!(bid.price.map(|price| price.to_string()), Some("5612.25".into()));
//! # Ok::<(), tapeline_mdp::MdpError>(())
//! ```

mod channel;
mod codes;
mod definition;
mod error;
mod field;
mod incremental;
mod message;
mod packer;
mod places;
mod snapshot;
mod statistics;
mod status;
mod wire;

pub use channel::{Channel, ChannelCounts, ChannelLimits, ChannelOutputs};
pub use codes::{
    BookEntryKind, DefinitionAction, EntryKind, HaltReason, OpenFlag, OrderAction, PutOrCall, Side,
    TradingEvent, TradingStatus, UpdateAction,
};
pub use definition::{
    Definition, DefinitionGroups, DefinitionKind, Feed, Leg, LifeEvent, Underlying,
};
pub use error::MdpError;
pub use field::{MarketDate, MatchEvent, MaturityMonthYear, Price9, SettlementType};
pub use incremental::{
    Book, BookEntry, OrderBook, OrderBookEntry, OrderEntry, TradeEntry, TradeOrder, TradeSummary,
    Volume, VolumeEntry,
};
pub use message::{Message, Messages, Packet};
pub use packer::{PACKET_BYTES, Packer, VERSION};
pub use snapshot::{Snapshot, SnapshotEntry, SnapshotOrder, SnapshotOrderBook};
pub use statistics::{
    DailyStatistic, DailyStatistics, Limits, LimitsBanding, SessionStatistic, SessionStatistics,
};
pub use status::{ChannelReset, QuoteRequest, QuoteRequestEntry, SecurityStatus};
pub use tapeline_layout::Text;
