//! Prices, and the sides that trade at them.

use std::fmt;
use std::str::FromStr;

use crate::InstrumentError;

/// A price with eight decimals: 10.25 is `Price(1_025_000_000)`.
///
/// ```
/// use tapeline_instrument::Price;
///
/// let price: Price = "10.25".parse()?;
/// assert_eq!((price, price.to_string().as_str()), (Price(1_025_000_000), "10.25"));
/// # Ok::<(), tapeline_instrument::InstrumentError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price(pub i64);

impl Price {
    /// How many units of a price are one unit of its currency.
    pub const UNIT: i64 = 100_000_000;

    /// Digits behind the point.
    const DECIMALS: usize = 8;
}

impl fmt::Display for Price {
    /// The fewest decimals that give it exactly, at least two.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let units = self.0.unsigned_abs();
        let (whole, mut part) = (units / Self::UNIT as u64, units % Self::UNIT as u64);
        let mut decimals = Self::DECIMALS;
        while decimals > 2 && part % 10 == 0 {
            part /= 10;
            decimals -= 1;
        }
        write!(f, "{sign}{whole}.{part:0decimals$}")
    }
}

impl FromStr for Price {
    type Err = InstrumentError;

    fn from_str(text: &str) -> Result<Self, InstrumentError> {
        parse(text).ok_or_else(|| InstrumentError::NoPrice(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Price> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_price = !whole.is_empty() && are_digits(whole) && are_digits(part);
    if !is_price || part.len() > Price::DECIMALS {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let part: i64 = format!("{part:0<8}").parse().ok()?;
    let units = whole.checked_mul(Price::UNIT)?.checked_add(part)?;
    Some(Price(if digits.len() < text.len() { -units } else { units }))
}

/// Who wants to have, and who wants to give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Side {
    /// Buyers.
    Buy = 0,
    /// Sellers.
    Sell = 1,
}

impl Side {
    /// Both, buyers first.
    pub const BOTH: [Self; 2] = [Self::Buy, Self::Sell];

    /// The one that it trades with.
    #[inline]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Buy => Self::Sell,
            Self::Sell => Self::Buy,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_written_with_the_decimals_they_need_and_read_again() {
        for (units, text) in [
            (1_025_000_000, "10.25"),
            (-108_765_000, "-1.08765"),
            (1, "0.00000001"),
            (0, "0.00"),
            (i64::MAX, "92233720368.54775807"),
        ] {
            assert_eq!(Price(units).to_string(), text);
            assert_eq!(text.parse(), Ok(Price(units)));
        }
        assert_eq!("10".parse(), Ok(Price(1_000_000_000)));
    }

    #[test]
    fn what_is_no_price_is_refused_by_its_text() {
        for text in ["", "-", ".5", "1.123456789", "1,5", "ten", "92233720369", "1.-5", "+1"] {
            let error = text.parse::<Price>().expect_err("no price");
            assert!(error.to_string().contains(&format!("`{text}`")), "{error}");
        }
    }
}
