//! A market to test against.
//!
//! [`Market`] is one in one thread: commands in, reports and market data out.
//! [`Flow`] and [`Runner`] put the matching engine beside others: the same
//! messages, the same result, and how long they take.

mod distribution;
mod error;
mod flow;
mod market;

pub use distribution::Distribution;
pub use error::ExchangeError;
pub use flow::{Flow, Message, MessageKind, Report, Runner, hash};
pub use market::Market;
