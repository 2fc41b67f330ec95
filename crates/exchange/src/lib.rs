//! A market to test against.
//!
//! [`Market`] is one in one thread: commands in, reports and market data out.
//! [`Flow`] and [`Runner`] put the matching engine beside others: the same
//! messages, the same result, and how long they take.

mod core;
mod distribution;
mod error;
mod flow;
mod market;

pub use crate::core::{
    Door, Exchange, ExchangeConfig, ExchangeCounts, Outputs, Plan, ReaderConfig, SessionId,
    UserConfig,
};
pub use distribution::Distribution;
pub use error::ExchangeError;
pub use flow::{Flow, Message, MessageKind, Report, Runner, hash};
pub use market::Market;
