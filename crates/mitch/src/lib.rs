//! Level 2 market data of an exchange as MITCH carries it (MIT303, issue 11.9):
//! every order and trade of a group of instruments, in numbered messages.
//!
//! ```text
//!  publisher ──units──▶ multicast A ─┐
//!      │       the same ▶ multicast B ─┴▶ reader ──messages in order──▶ books
//!      │                                  │ ▲
//!      ├── replay:   the last 65,000 ◀────┤ │  a hole
//!      └── snapshot: the orders there are ◀─┘  a hole that is too old
//! ```
//!
//! Bytes and questions come in, bytes and messages go out; sockets are elsewhere.
//! All numbers are little-endian; prices have eight decimals and, below 0, a sign
//! and a magnitude. Units begin with eight bytes:
//!
//! ```text
//!  | 0 length u16 | 2 count u8 | 3 group u8 | 4 number of the first message u32 | messages
//!  a message: | 0 length u8 | 1 type | 2 nanoseconds u32, where it has them | …
//! ```

mod book;
mod error;
mod frames;
mod message;
mod publisher;
mod reader;
mod requester;
mod service;
mod state;
mod unit;

pub use book::{Books, Quoted};
pub use error::MitchError;
pub use message::{
    AddAttributedOrder, AddOrder, AuctionInfo, AuctionTrade, Executed, ExecutedAtPrice,
    LoginRequest, LoginResponse, LogoutRequest, Message, OrderBookClear, OrderDeleted,
    OrderModified, ReplayRequest, ReplayResponse, SignedPrice, SnapshotComplete, SnapshotRequest,
    SnapshotResponse, Statistics, SymbolDirectory, SymbolStatus, SystemEvent, Time, TopOfBook,
    Trade,
};
pub use publisher::{Publisher, REPLAY_MESSAGES, Refused};
pub use reader::{Outputs, Reader, State};
pub use requester::{Progress, Requester};
pub use service::{Admission, Request, Service, ServiceOutputs};
pub use unit::{HEAD, Unit, UnitHead, append_alone};
