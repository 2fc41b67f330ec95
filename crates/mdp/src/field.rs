//! Fields that MDP has and other protocols do not.

use std::fmt;
use std::ops::BitOr;

use tapeline_layout::Field;

use crate::wire::Nullable;

/// A price, or another decimal number, with nine decimals: 12.5 is 12,500,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Price9(i64);

impl Price9 {
    /// In units of 10⁻⁹. The highest there is stands for no price where there may be
    /// none.
    pub const fn from_nano(nano: i64) -> Self {
        Self(nano)
    }

    /// In units of 10⁻⁹.
    pub const fn nano(self) -> i64 {
        self.0
    }
}

impl fmt::Display for Price9 {
    /// Exact, without zeros behind the last decimal that is none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: u64 = 1_000_000_000;
        let nano = self.0.unsigned_abs();
        let (whole, mut part, mut digits) = (nano / UNITS, nano % UNITS, 9);
        if part == 0 {
            return f.pad_integral(self.0 >= 0, "", &whole.to_string());
        }
        while part.is_multiple_of(10) {
            (part, digits) = (part / 10, digits - 1);
        }
        f.pad_integral(self.0 >= 0, "", &format!("{whole}.{part:0digits$}"))
    }
}

impl Nullable for Price9 {
    const NULL: Self = Self(i64::MAX);
}

/// A day, counted from 1 January 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MarketDate {
    /// Days since then.
    pub days: u16,
}

impl Nullable for MarketDate {
    const NULL: Self = Self { days: u16::MAX };
}

/// When an instrument is due: mostly a month, sometimes a day or a week of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MaturityMonthYear {
    /// The year.
    pub year: Option<u16>,
    /// Its month, from 1.
    pub month: Option<u8>,
    /// The month's day, from 1.
    pub day: Option<u8>,
    /// The month's week, from 1.
    pub week: Option<u8>,
}

impl Field for MaturityMonthYear {
    const LEN: usize = 5;

    fn put(self, out: &mut [u8]) {
        out[..2].copy_from_slice(&self.year.unwrap_or(u16::MAX).to_le_bytes());
        for (place, part) in out[2..].iter_mut().zip([self.month, self.day, self.week]) {
            *place = part.unwrap_or(u8::MAX);
        }
    }

    fn get(bytes: &[u8]) -> Self {
        let year = Some(u16::from_le_bytes([bytes[0], bytes[1]])).filter(|year| *year != u16::MAX);
        let part = |at: usize| Some(bytes[at]).filter(|part| *part != u8::MAX);
        Self { year, month: part(2), day: part(3), week: part(4) }
    }
}

macro_rules! as_number {
    ($($name:ident { $field:tt: $number:ty })*) => {$(
        impl Field for $name {
            const LEN: usize = size_of::<$number>();

            #[inline]
            fn put(self, out: &mut [u8]) {
                self.$field.put(out);
            }

            #[inline]
            fn get(bytes: &[u8]) -> Self {
                Self { $field: Field::get(bytes) }
            }
        }
    )*};
}

as_number! {
    Price9 { 0: i64 }
    MarketDate { days: u16 }
    MatchEvent { 0: u8 }
    SettlementType { 0: u8 }
}

macro_rules! flags {
    ($(#[$doc:meta])* $name:ident { $($(#[$bit_doc:meta])* $bit:literal $constant:ident $has:ident,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        pub struct $name(u8);

        impl $name {
            $($(#[$bit_doc])* pub const $constant: Self = Self(1 << $bit);)*

            /// From its eight bits.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Its eight bits.
            pub const fn bits(self) -> u8 {
                self.0
            }

            $($(#[$bit_doc])* pub const fn $has(self) -> bool {
                self.0 & Self::$constant.0 != 0
            })*
        }

        impl BitOr for $name {
            type Output = Self;

            fn bitor(self, other: Self) -> Self {
                Self(self.0 | other.0)
            }
        }
    };
}

flags! {
    /// Which part of what happened at once a message is the last of. Books are good to
    /// look at where nothing of an event is left to come.
    MatchEvent {
        /// The last message of trades.
        0 LAST_TRADE is_last_trade,
        /// The last message of volumes.
        1 LAST_VOLUME is_last_volume,
        /// The last message of books, but for implied ones.
        2 LAST_QUOTE is_last_quote,
        /// The last message of statistics.
        3 LAST_STATISTICS is_last_statistics,
        /// The last message of implied books.
        4 LAST_IMPLIED is_last_implied,
        /// Sent again, as the exchange recovers.
        5 RECOVERY is_recovery,
        /// Reserved.
        6 RESERVED is_reserved,
        /// The last message of the event.
        7 END_OF_EVENT is_end_of_event,
    }
}

flags! {
    /// What a settlement price is.
    SettlementType {
        /// Final for the day, else preliminary.
        0 FINAL is_final,
        /// Actual, else worked out.
        1 ACTUAL is_actual,
        /// Rounded to ticks.
        2 ROUNDED is_rounded,
        /// Of the day that is not over.
        3 INTRADAY is_intraday,
        /// Nothing is said of it.
        7 NULL is_null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_printed_exactly() {
        let print = |nano| Price9::from_nano(nano).to_string();
        assert_eq!(print(66_735_000_000_000), "66735");
        assert_eq!(
            (print(0), print(-1), print(250_000_000)),
            ("0".into(), "-0.000000001".into(), "0.25".into())
        );
        assert_eq!(print(-4_675_500_000_000), "-4675.5");
        assert_eq!(print(i64::MIN), "-9223372036.854775808");
        assert_eq!(
            format!("{:>8}|{:<6}|", Price9::from_nano(1_500_000_000), Price9::from_nano(-7)),
            "     1.5|-0.000000007|"
        );
    }

    #[test]
    fn a_month_leaves_day_and_week_out() {
        let bytes = [0xea, 0x07, 0x07, 0xff, 0xff];
        let month = MaturityMonthYear::get(&bytes);
        assert_eq!(
            (month.year, month.month, month.day, month.week),
            (Some(2026), Some(7), None, None)
        );
        let mut written = [0; 5];
        month.put(&mut written);
        assert_eq!(written, bytes);
    }

    #[test]
    fn an_event_names_its_bits() {
        let event = MatchEvent::from_bits(0x90);
        assert!(event.is_end_of_event() && event.is_last_implied());
        assert!(!event.is_last_quote() && !event.is_recovery());
        assert_eq!(MatchEvent::END_OF_EVENT | MatchEvent::LAST_IMPLIED, event);
    }
}
