//! What is traded on an exchange, and the numbers that name it: prices with
//! eight decimals and the ticks they must be multiples of, ids of orders and
//! trades with their printed forms, the sessions of a trading day.
//!
//! Nothing here knows a protocol, a clock or an order book; the gateway, the
//! matching engine and market data all speak in these terms.

mod definition;
mod error;
mod id;
mod price;
mod session;
mod tick;

pub use definition::{AuctionLimits, Instrument, InstrumentId, Lots, Tolerances};
pub use error::InstrumentError;
pub use id::{IdSpace, OrderId, TradeId};
pub use price::{Price, Side};
pub use session::{Cause, Schedule, Session, Turn};
pub use tick::{MAX_TICK, Tick, TickTable};
