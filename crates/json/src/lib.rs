//! The JSON form of market data messages: RWF to JSON and back.
//!
//! * [`ToJson`] writes RWF messages as JSON, straight into the caller's buffer;
//! * [`FromJson`] reads JSON frames and gives RWF messages, pings and errors;
//! * [`Packet`] packs messages into frames, which are arrays;
//! * [`Vocabulary`] is the field dictionary in the words of JSON, [`Services`]
//!   the names of services, [`Options`] what the vendor's converter can be told.
//!
//! No sockets, no sessions: bytes in, bytes out. The subprotocol is `tr_json2`,
//! which is also called `rssl.json.v2`.
//!
//! What JSON cannot carry is lost on the way from RWF: item groups, the info of
//! field lists, which values were set-defined, item lengths of arrays, the hint
//! of a zero, the difference of empty and blank. On the way to RWF every key
//! with a name gets a name type.

mod error;
mod names;
mod options;
mod packet;
mod read;
mod services;
mod tape;
mod vocabulary;
mod write;

pub use error::{Fault, JsonError, TokenKind, WriteError};
pub use options::{Limits, Options};
pub use packet::{PING, PONG, Packet};
pub use read::{FromJson, Incoming};
pub use services::{NoServices, Services};
pub use vocabulary::Vocabulary;
pub use write::{ToJson, push_prefix};
