//! Fields that ITCH has and other protocols do not.

use tapeline_layout::BigEndian;

/// Nanoseconds since midnight, in 48 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(u64);

const TIMESTAMP_LEN: usize = 6;

impl Timestamp {
    /// The highest, more than three days.
    pub const MAX: Self = Self((1 << (TIMESTAMP_LEN * 8)) - 1);

    /// From nanoseconds since midnight; [`MAX`](Self::MAX) if there are more.
    pub const fn from_ns(ns: u64) -> Self {
        if ns > Self::MAX.0 { Self::MAX } else { Self(ns) }
    }

    /// Nanoseconds since midnight.
    pub const fn ns(self) -> u64 {
        self.0
    }
}

impl BigEndian for Timestamp {
    const LEN: usize = TIMESTAMP_LEN;

    #[inline]
    fn put(self, out: &mut [u8]) {
        out.copy_from_slice(&self.0.to_be_bytes()[8 - TIMESTAMP_LEN..]);
    }

    #[inline]
    fn get(bytes: &[u8]) -> Self {
        let mut own = [0; 8];
        own[8 - TIMESTAMP_LEN..].copy_from_slice(bytes);
        Self(u64::from_be_bytes(own))
    }
}

macro_rules! price {
    ($(#[$doc:meta])* $name:ident: $units:ty, $decimals:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $units);

        impl $name {
            /// In units of 10⁻⁹; the highest there is if it is higher.
            pub const fn nano(self) -> i64 {
                let nano = self.0 as u128 * 10_u128.pow(9 - $decimals);
                if nano > i64::MAX as u128 { i64::MAX } else { nano as i64 }
            }
        }

        impl BigEndian for $name {
            const LEN: usize = size_of::<$units>();

            #[inline]
            fn put(self, out: &mut [u8]) {
                self.0.put(out);
            }

            #[inline]
            fn get(bytes: &[u8]) -> Self {
                Self(BigEndian::get(bytes))
            }
        }
    };
}

price! {
    /// A price with four decimals: 12.34 is `Price4(123_400)`.
    Price4: u32, 4
}

price! {
    /// A price with eight decimals, which the levels of circuit breakers have.
    Price8: u64, 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_have_48_bits() {
        let mut bytes = [0; 6];
        Timestamp::from_ns(34_200_000_000_001).put(&mut bytes);
        assert_eq!(bytes, [0x1f, 0x1a, 0xce, 0xd9, 0xf0, 0x01]);
        assert_eq!(Timestamp::get(&bytes).ns(), 34_200_000_000_001);
        Timestamp::from_ns(u64::MAX).put(&mut bytes);
        assert_eq!((bytes, Timestamp::get(&bytes)), ([0xff; 6], Timestamp::MAX));
    }

    #[test]
    fn prices_are_exact_in_nanos() {
        assert_eq!(Price4(1_234_567).nano(), 123_456_700_000);
        assert_eq!(Price4(u32::MAX).nano(), 429_496_729_500_000);
        assert_eq!(Price8(412_345_678_901).nano(), 4_123_456_789_010);
        assert_eq!(Price8(u64::MAX).nano(), i64::MAX);
    }
}
