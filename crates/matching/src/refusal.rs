//! Why a command is refused.

use thiserror::Error;

/// Why a command is refused. The numbers are the reject codes of the gateways:
/// those that the exchange's documents name, and from 20000 on ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[repr(u16)]
pub enum Refusal {
    /// The quantity is 0.
    #[error("the quantity must be above 0")]
    NoQuantity = 1000,
    /// The order has expired before it came, or stays longer than one may.
    #[error("the time of expiry is over, or more than 90 days away")]
    Expiry = 1501,
    /// There is no such order of this user.
    #[error(
        "no such order of this user is alive: it is filled, expired or cancelled, or another's"
    )]
    UnknownOrder = 20_000,
    /// The session takes no such command.
    #[error("the session of the instrument does not take this")]
    Session = 20_001,
    /// The price is between two ticks.
    #[error("the price is no multiple of the tick")]
    Tick = 20_002,
    /// The quantity is no multiple of the lot, or too small or large.
    #[error("the quantity is no multiple of the lot, or outside the sizes of the instrument")]
    Size = 20_003,
    /// More is shown than there is, or less than an order that is hidden must
    /// have.
    #[error("the displayed quantity is above the quantity, or the order is too small to be hidden")]
    Display = 20_004,
    /// The combination of conditions does not exist.
    #[error("the order type, time in force and conditions do not go together")]
    Conditions = 20_005,
    /// An amendment would change what cannot change.
    #[error("an order does not change between shown, iceberg and hidden, nor its type")]
    Amendment = 20_006,
    /// An amendment asks for no more than what is traded already.
    #[error("the new quantity is not above what is traded already")]
    BelowFilled = 20_007,
    /// The instrument has no book here.
    #[error("the instrument is not traded here")]
    UnknownBook = 20_008,
    /// The session cannot follow the one that is.
    #[error("the session cannot follow the one that is")]
    NextSession = 20_009,
    /// Who answers for the user is away.
    #[error("the sponsor of the user is away, and has stopped it: orders can be cancelled only")]
    Stopped = 20_010,
}

impl Refusal {
    /// All there are, by their codes.
    pub const ALL: [Self; 13] = [
        Self::NoQuantity,
        Self::Expiry,
        Self::UnknownOrder,
        Self::Session,
        Self::Tick,
        Self::Size,
        Self::Display,
        Self::Conditions,
        Self::Amendment,
        Self::BelowFilled,
        Self::UnknownBook,
        Self::NextSession,
        Self::Stopped,
    ];

    /// The reject code.
    pub const fn code(self) -> i32 {
        self as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_there_once() {
        let codes: Vec<i32> = Refusal::ALL.iter().map(|refusal| refusal.code()).collect();
        assert!(codes.is_sorted_by(|a, b| a < b), "{codes:?}");
    }
}
