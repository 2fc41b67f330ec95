//! FIX 5.0 SP2 over FIXT 1.1, as tag=value, in the manner of Millennium Exchange
//! (MIT202, issue 21.1): messages, and both ends of a session, as decisions without I/O.

mod acceptor;
mod error;
mod frame;
mod initiator;
mod message;
mod store;
pub mod tag;
mod value;
mod writer;

pub use acceptor::{Acceptor, Admission, Limits, Logon, Outputs, Rejection, Verdict};
pub use error::FixError;
pub use frame::{Frames, MAX_MESSAGE, SOH, frame_len};
pub use initiator::{Credentials, Initiator};
pub use message::{Field, Fields, Group, Message};
pub use store::{CompIds, MAX_COMP_ID, Store};
pub use value::{decimal, number, timestamp_ns};
pub use writer::{Writer, append};
