//! What an instrument is.

use crate::{Price, TickTable};

/// The number that gateways and market data know an instrument by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstrumentId(pub u32);

/// Which sizes an order may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lots {
    /// Every size is a multiple of it.
    pub lot: u32,
    /// The smallest size.
    pub min: u32,
    /// The largest size.
    pub max: u32,
    /// The smallest size of an order that is not shown at all.
    pub min_hidden: u32,
}

impl Default for Lots {
    /// Any size that the gateway's protocol can say.
    fn default() -> Self {
        Self { lot: 1, min: 1, max: i32::MAX as u32, min_hidden: 1 }
    }
}

impl Lots {
    /// Whether an order may have this size.
    #[inline]
    pub const fn has(&self, size: u32) -> bool {
        size >= self.min && size <= self.max && (self.lot == 1 || size.is_multiple_of(self.lot))
    }
}

/// How far a price may be from those before it, in hundredths of a per cent; 0 is as
/// far as one likes. Where a match would be farther away, it does not happen, and an
/// auction finds the price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tolerances {
    /// From the last trade.
    pub dynamic_bp: u32,
    /// From the last auction of the day, else from the closing price of the day before.
    pub static_bp: u32,
}

impl Tolerances {
    /// There are some.
    pub const fn are_set(self) -> bool {
        self.dynamic_bp != 0 || self.static_bp != 0
    }
}

/// When an auction does not end with its call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuctionLimits {
    /// How far its price may be from the last one before, in hundredths of a per cent;
    /// 0 is as far as one likes.
    pub tolerance_bp: u32,
    /// A closing auction whose price stays outside takes place if it trades so much.
    pub min_closing_volume: u64,
}

/// What is traded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrument {
    /// Its number.
    pub id: InstrumentId,
    /// Its name in market data, as `VOD.L`.
    pub name: String,
    /// Its international number, 12 characters.
    pub isin: String,
    /// Instruments of a segment have their sessions together; up to 4
    /// characters in the gateway, 6 in market data.
    pub segment: String,
    /// Three letters.
    pub currency: String,
    /// Which prices there are.
    pub ticks: TickTable,
    /// Which sizes there are.
    pub lots: Lots,
    /// The closing price of the day before, which auctions without a trade of
    /// the day refer to.
    pub previous_close: Option<Price>,
    /// When a circuit breaker stops continuous trading.
    pub tolerances: Tolerances,
    /// When the call of an auction is extended.
    pub auctions: AuctionLimits,
}

impl Instrument {
    /// An instrument with any size, and no price of the day before.
    pub fn new(id: u32, name: &str, ticks: TickTable) -> Self {
        Self {
            id: InstrumentId(id),
            name: name.to_owned(),
            isin: String::new(),
            segment: "SETS".to_owned(),
            currency: "GBX".to_owned(),
            ticks,
            lots: Lots::default(),
            previous_close: None,
            tolerances: Tolerances::default(),
            auctions: AuctionLimits::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_multiples_of_the_lot_within_bounds() {
        let lots = Lots { lot: 10, min: 20, max: 100, min_hidden: 50 };
        let fit: Vec<u32> = (0..=110).filter(|size| lots.has(*size)).collect();
        assert_eq!(fit, [20, 30, 40, 50, 60, 70, 80, 90, 100]);
    }
}
