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
//! # What is lost
//!
//! A message that goes from RWF to JSON and back is the same but for this, which
//! a property test holds to be all there is (`tests/it/carried/model.rs`):
//!
//! * messages: item groups; a key's name type is 1 where there was none; an
//!   empty name is one zero byte, as is the name of a cookie or a token; key
//!   attributes that are no elements; a NAK code that says that nothing is
//!   wrong; in a request without updates, that the key is not to be in them;
//! * views and batches: every other element of the payload, the key's name and
//!   the type of a batch's names; a flag without the elements that it is for;
//! * texts in headers and states, and names in batches and views, that are no
//!   UTF-8 are taken for Latin-1 and come back as UTF-8;
//! * lists: the info of field and element lists, fields that the dictionary
//!   lacks, all but the last of a field that comes twice, and which values were
//!   set-defined;
//! * containers: no bytes are a container without entries; the type of what is
//!   in it where nothing is; payloads that are not JSON although they should be,
//!   and blanks around those that are;
//! * values: the hint of a zero, of fractions and of whole multiples of ten;
//!   which "not a number" it was; blank parts of a time, which are zeros; item
//!   lengths of arrays; bytes that are not UTF-8 where they should be; the
//!   encoding, but not the text, of RMTES; which of the enumerated values that
//!   are displayed alike it was, if displays are written.
//!
//! Refused on the way back are dates and times that do not exist, the domain 0,
//! attributes inside attributes, names longer in UTF-8 than a key can hold, view
//! types but 1 and 2, elements, arrays and map keys of a type that has no name,
//! and a JSON payload that is nested too deep for the message around it.

mod error;
mod names;
mod options;
mod packet;
mod read;
mod services;
mod short_name;
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
