//! Market data of Nasdaq: `TotalView`-ITCH 5.0, every order and trade of all
//! instruments, in the numbered messages of `MoldUDP64`, and snapshots of it by
//! `SoupBinTCP`.
//!
//! ```text
//!  publisher ──packets──▶ multicast A ─┐
//!      │         the same ▶ multicast B ─┴▶ reader ──messages in order──▶ books
//!      │                                    │ ▲
//!      ├── messages again, by datagram ◀────┘ │  a hole
//!      └── all there is, by a connection ◀────┘  what nobody has any more
//! ```
//!
//! Bytes come in, messages come out, and the other way round; sockets and clocks are
//! elsewhere. All numbers are big-endian, prices have four decimals:
//!
//! ```text
//!  a message:  | 0 type | 1 locate u16 | 3 tracking u16 | 5 nanoseconds u48 | 11 …
//! ```
//!
//! ```
//! use tapeline_itch::{Body, Message, OrderCancelled};
//!
//! let message = Message::new(7, 34_200_000_000_001, OrderCancelled { order: 9, shares: 100 });
//! let mut bytes = Vec::new();
//! message.append(&mut bytes);
//! assert_eq!(bytes[..11], *b"X\0\x07\0\0\x1f\x1a\xce\xd9\xf0\x01");
//! assert_eq!(Message::read(&bytes), Ok(message));
//! ```

mod error;
mod field;
mod glimpse;
mod message;
mod mold;
mod reader;
mod soup;

pub use error::{ItchError, MoldError, SoupError};
pub use field::{Price4, Price8, Timestamp};
pub use glimpse::{EndOfSnapshot, Progress, Requester};
pub use message::{
    AddAttributedOrder, AddOrder, Alpha, Body, BrokenTrade, CrossTrade, DirectListing, Executed,
    ExecutedAtPrice, Head, Imbalance, IpoQuoting, LuldCollar, Message, MwcbLevels, MwcbStatus,
    OperationalHalt, OrderCancelled, OrderDeleted, OrderReplaced, ParticipantPosition, RegSho,
    RetailInterest, StockDirectory, SystemEvent, Trade, TradingAction,
};
pub use mold::{END_OF_SESSION, PACKET_BYTES, Packer, Packet, PacketHead, SessionName};
pub use reader::{Limits, Outputs, Reader, ReaderCounts, State};
pub use soup::{Asked, Client, Heard, LoginRequest, Server};
