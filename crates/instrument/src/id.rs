//! Ids of orders and trades, as numbers and as they are printed.
//!
//! Both are 64-bit numbers, from the highest bit on (MIT203, chapter 5):
//!
//! ```text
//!         | 20 bits    | 2  | 3         | 2      | 32 bits             |
//!  order  | 5-minute   | id | partition | thread | running             |
//!         | intervals  |    |           |        |                     |
//!         | since 2010 |    |           |        | 24 bits             |
//!  trade  | (20 bits)  | 2  | 3         | 2      | running             |
//! ```
//!
//! The number of an order is what market data calls it; gateways print it in
//! base 62. A trade is printed by FIX in base 36.

use std::fmt;
use std::str::FromStr;

use crate::InstrumentError;

/// An order, for all of its life.
///
/// ```
/// use tapeline_instrument::OrderId;
///
/// let id: OrderId = "01hbIXLE8st".parse()?;
/// assert_eq!((id.0, id.to_string().as_str()), (23_057_063_777_141_547, "001hbIXLE8st"));
/// # Ok::<(), tapeline_instrument::InstrumentError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OrderId(pub u64);

/// A trade: one match of two orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TradeId(pub u64);

const BASE_62: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const BASE_36: &[u8; 36] = b"GHIJKLMNOPQRSTUVWXYZ0123456789ABCDEF";

/// Nanoseconds from 1970 to 2010, UTC.
const NS_TO_2010: u64 = 1_262_304_000_000_000_000;

const NS_PER_INTERVAL: u64 = 300_000_000_000;

fn digits<const N: usize>(alphabet: &[u8], mut number: u64) -> [u8; N] {
    let base = alphabet.len() as u64;
    let mut text = [alphabet[0]; N];
    for digit in text.iter_mut().rev() {
        *digit = alphabet[(number % base) as usize];
        number /= base;
    }
    text
}

fn number(alphabet: &[u8], text: &[u8]) -> Option<u64> {
    let base = alphabet.len() as u64;
    text.iter().try_fold(0_u64, |number, byte| {
        let digit = alphabet.iter().position(|known| known == byte)? as u64;
        number.checked_mul(base)?.checked_add(digit)
    })
}

impl OrderId {
    /// How many characters the printed form has.
    pub const LEN: usize = 12;

    /// The printed form, filled with `0` in front.
    pub fn digits(self) -> [u8; Self::LEN] {
        digits(BASE_62, self.0)
    }

    /// Reads a printed form, also one that is short. `None` for what is none.
    pub fn from_digits(text: &[u8]) -> Option<Self> {
        let is_long = text.is_empty() || text.len() > Self::LEN;
        if is_long { None } else { number(BASE_62, text).map(Self) }
    }

    /// The part that counts up within a partition.
    #[inline]
    pub const fn running(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for OrderId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digits().iter().try_for_each(|digit| write!(f, "{}", char::from(*digit)))
    }
}

impl FromStr for OrderId {
    type Err = InstrumentError;

    fn from_str(text: &str) -> Result<Self, InstrumentError> {
        let error = || InstrumentError::NoId { text: text.to_owned(), base: 62, digits: 12 };
        Self::from_digits(text.as_bytes()).ok_or_else(error)
    }
}

impl TradeId {
    /// How many characters FIX has for it.
    pub const LEN: usize = 10;

    /// The printed form, filled with `G`, which is 0, in front. A number above
    /// 36¹⁰ is cut to its last digits.
    pub fn digits(self) -> [u8; Self::LEN] {
        digits(BASE_36, self.0)
    }

    /// Reads a printed form. `None` for what is none.
    pub fn from_digits(text: &[u8]) -> Option<Self> {
        let is_long = text.is_empty() || text.len() > Self::LEN;
        if is_long { None } else { number(BASE_36, text).map(Self) }
    }
}

impl fmt::Display for TradeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.digits().iter().try_for_each(|digit| write!(f, "{}", char::from(*digit)))
    }
}

impl FromStr for TradeId {
    type Err = InstrumentError;

    fn from_str(text: &str) -> Result<Self, InstrumentError> {
        let error = || InstrumentError::NoId { text: text.to_owned(), base: 36, digits: 10 };
        Self::from_digits(text.as_bytes()).ok_or_else(error)
    }
}

/// What all ids of one thread of a partition have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IdSpace {
    /// 0 to 3.
    pub id: u8,
    /// 0 to 7; what a gateway calls its application id.
    pub partition: u8,
    /// 0 to 3.
    pub thread: u8,
}

impl IdSpace {
    /// The id of an order that came at a time in nanoseconds since 1970 UTC.
    #[inline]
    pub fn order(self, at_ns: u64, running: u32) -> OrderId {
        OrderId((self.head(at_ns) << 32) | u64::from(running))
    }

    /// The id of a trade; of `running`, 24 bits count.
    #[inline]
    pub fn trade(self, at_ns: u64, running: u32) -> TradeId {
        TradeId((self.head(at_ns) << 24) | u64::from(running & 0xff_ffff))
    }

    #[inline]
    fn head(self, at_ns: u64) -> u64 {
        let intervals = (at_ns.saturating_sub(NS_TO_2010) / NS_PER_INTERVAL) & 0xf_ffff;
        let [id, partition, thread] = [self.id & 3, self.partition & 7, self.thread & 3];
        (intervals << 7) | (u64::from(id) << 5) | (u64::from(partition) << 2) | u64::from(thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of MIT203 and MIT202. The documents print the last one
    /// with a digit too many.
    #[test]
    fn published_ids_are_read_and_written() {
        for (text, number) in
            [("01hbIXLE8st", 23_057_063_777_141_547), ("004Xj7Wu76ta", 61_512_470_073_704_470)]
        {
            assert_eq!(text.parse(), Ok(OrderId(number)));
            assert_eq!(OrderId(number).to_string(), format!("{text:0>12}"));
        }
        for (text, number) in [
            ("GGXICR4MS8", 1_338_498_875_692),
            ("GKGMXE9F86", 11_298_586_755_194),
            ("G5DIF33YV0", 73_120_274_710_544),
            ("00ST83OK1P", 2_088_591_731_720_253),
        ] {
            assert_eq!(text.parse(), Ok(TradeId(number)));
            assert_eq!(TradeId(number).to_string(), format!("{text:G>10}"));
        }
    }

    #[test]
    fn ids_say_when_and_where() {
        let space = IdSpace { id: 1, partition: 3, thread: 2 };
        let id = space.order(NS_TO_2010 + 7 * NS_PER_INTERVAL + 5, 99);
        assert_eq!(id.0, (7 << 39) + (1 << 37) + (3 << 34) + (2 << 32) + 99);
        assert_eq!(id.running(), 99);
        let trade = space.trade(NS_TO_2010, 0x0100_0001);
        assert_eq!(trade.0 >> 24, 0b0010_1110);
        assert_eq!(trade.0 & 0xff_ffff, 1);
    }

    #[test]
    fn what_is_no_id_is_refused() {
        for text in ["", "0123456789012", "zzzzzzzzzzzz", "a-b"] {
            let error = text.parse::<OrderId>().expect_err("no id").to_string();
            assert!(error.starts_with(&format!("`{text}` is no id of base 62")), "{error}");
        }
        assert!("a".parse::<TradeId>().is_err());
        assert_eq!(u64::MAX.to_string().len(), 20);
    }
}
