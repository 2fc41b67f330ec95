//! What is wrong with an instrument, a price or an id.

use thiserror::Error;

use crate::{Price, Session};

/// Why a number is no price of an instrument, a text no id, or a table of ticks
/// or sessions cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InstrumentError {
    /// A price between two ticks.
    #[error("{price} is no multiple of the tick {tick} that holds there")]
    OffTick {
        /// The price.
        price: Price,
        /// The tick of its band.
        tick: Price,
    },
    /// A price that the table of ticks does not reach.
    #[error("{price} is outside the prices {lowest} to {highest} of the table of ticks")]
    OutOfRange {
        /// The price.
        price: Price,
        /// The lowest price of the table.
        lowest: Price,
        /// The highest price of the table.
        highest: Price,
    },
    /// A table of ticks that is none.
    #[error("band {band} of the table of ticks: {fault}")]
    Band {
        /// Its place, from 1.
        band: usize,
        /// What is wrong with it, and what would be right.
        fault: &'static str,
    },
    /// A text that is no price.
    #[error("`{0}` is no price: write digits with at most 8 decimals, as 10.25")]
    NoPrice(String),
    /// A text that is no id.
    #[error("`{text}` is no id of base {base}: at most {digits} digits, the number below 2^64")]
    NoId {
        /// The text.
        text: String,
        /// 62 for orders, 36 for trades.
        base: u8,
        /// The longest that there is.
        digits: u8,
    },
    /// A session cannot follow another.
    #[error("session {to:?} cannot follow {from:?}")]
    Session {
        /// The one that is.
        from: Session,
        /// The one that was asked for.
        to: Session,
    },
    /// A schedule whose times do not rise.
    #[error("turn {0} of the schedule is not behind the one before it")]
    Schedule(usize),
}
