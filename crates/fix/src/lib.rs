//! FIX 5.0 SP2 over FIXT 1.1, as tag=value, in the manner of Millennium Exchange
//! (MIT202, issue 21.1): messages, and both ends of a session, as decisions without I/O.
//!
//! | room | holds |
//! |---|---|
//! | [`Frames`], [`Message`] | messages out of a stream of bytes, read where they lie |
//! | [`Writer`], [`append`] | messages into a buffer that is kept |
//! | [`tag`] | the tags by their names |
//! | [`Store`] | what outlives a connection: numbers, and what was sent |
//! | [`Acceptor`] | the exchange's end: logon, numbers, gaps, heartbeats, throttle, checks of fields |
//! | [`Initiator`] | the client's end |
//!
//! A message is fields behind each other, each ended by a byte 1 (`|` here):
//!
//! ```text
//!  8=FIXT.1.1|9=70|35=8|34=1|49=FGW|52=20261126-12:00:00.000000000|56=CLIENT|1128=9|58=x|10=057|
//!             bytes from here ─▶^                                                to here ─▶^    ^ sum of what is before 10=
//! ```

mod acceptor;
mod dictionary;
mod error;
mod frame;
mod header;
mod index;
mod initiator;
mod kept;
mod limits;
mod link;
mod message;
mod outputs;
mod store;
pub mod tag;
#[cfg(test)]
mod testing;
mod throttle;
mod value;
mod writer;

pub use acceptor::Acceptor;
pub use error::FixError;
pub use frame::{Frames, MAX_MESSAGE, SOH, frame_len};
pub use index::Index;
pub use initiator::{Credentials, Initiator};
pub use limits::Limits;
pub use message::{Field, Fields, Group, Message};
pub use outputs::{Admission, Logon, Outputs, Rejection, Verdict};
pub use store::{CompIds, Held, MAX_BODY, MAX_COMP_ID, Store};
pub use value::{decimal, number, timestamp_ns};
pub use writer::{Writer, append};
