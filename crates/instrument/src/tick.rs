//! Ticks: the prices that there are, numbered.

use crate::{InstrumentError, Price};

/// The number of a price in its [`TickTable`]: the lowest price is 0, the next
/// one that there is 1, and so on through all bands. Books are arrays by it.
pub type Tick = u32;

/// The highest number of a price; a table ends there.
pub const MAX_TICK: Tick = (1 << 24) - 3;

/// Which prices there are: in each band the multiples of its tick.
///
/// ```
/// use tapeline_instrument::{Price, TickTable};
///
/// let table = TickTable::mifid(3).expect("one of six columns");
/// let price: Price = "10.25".parse()?;
/// let tick = table.tick(price)?;
/// assert_eq!(table.price(tick), price);
/// assert_eq!(table.price(tick + 1).to_string(), "10.26");
/// # Ok::<(), tapeline_instrument::InstrumentError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TickTable {
    bands: Vec<Band>,
}

/// Prices from one on, up to the next band.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Band {
    from: i64,
    tick: i64,
    /// The number of `from`.
    first: Tick,
    /// How many prices it has.
    count: Tick,
    divisor: ExactDivisor,
}

/// Division of what is a multiple, by a multiplication: with the odd part's
/// inverse modulo 2⁶⁴ a multiple gives its quotient, and anything else a number
/// above every quotient that there can be (Granlund and Montgomery, 1994).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExactDivisor {
    inverse: u64,
    shift: u32,
}

impl ExactDivisor {
    const fn new(divisor: u64) -> Self {
        let shift = divisor.trailing_zeros();
        let odd = divisor >> shift;
        // Newton's iteration doubles the number of right bits: 3, 6, … 96.
        let mut inverse = odd;
        let mut right_bits = 3;
        while right_bits < 64 {
            inverse = inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse)));
            right_bits *= 2;
        }
        Self { inverse, shift }
    }

    /// The quotient of a multiple; of any other number something above every
    /// quotient, which is at most 2⁶⁴ divided by the divisor.
    #[inline]
    const fn quotient(self, number: u64) -> u64 {
        number.wrapping_mul(self.inverse).rotate_right(self.shift)
    }
}

impl TickTable {
    /// One tick for all prices from 0 on.
    pub fn flat(tick: Price) -> Result<Self, InstrumentError> {
        Self::new(&[(Price(0), tick)])
    }

    /// The bands: from each price on, multiples of its tick.
    pub fn bands(&self) -> impl Iterator<Item = (Price, Price)> {
        self.bands.iter().map(|band| (Price(band.from), Price(band.tick)))
    }

    /// Bands: from each price on, multiples of its tick. The first price of a
    /// band is a multiple of the ticks of both bands that meet there.
    ///
    /// # Errors
    /// A band is not above the one before it, its tick is not positive, or its
    /// first price is between two ticks.
    pub fn new(bands: &[(Price, Price)]) -> Result<Self, InstrumentError> {
        let fault = |at: usize, fault| InstrumentError::Band { band: at + 1, fault };
        if bands.is_empty() {
            return Err(fault(0, "is missing: give at least one"));
        }
        let mut made: Vec<Band> = Vec::with_capacity(bands.len());
        for (at, (Price(from), Price(tick))) in bands.iter().copied().enumerate() {
            if tick <= 0 {
                return Err(fault(at, "has no tick above 0"));
            }
            let mut first = 0;
            if let Some(before) = made.last_mut() {
                let width = from.checked_sub(before.from).filter(|width| *width > 0);
                let width =
                    width.ok_or_else(|| fault(at, "does not begin above the one before"))?;
                if width % before.tick != 0 {
                    return Err(fault(at, "begins between two ticks of the one before"));
                }
                let count = (width / before.tick).min(i64::from(before.count));
                before.count = count as Tick;
                first = before.first + before.count;
            }
            if from % tick != 0 {
                return Err(fault(at, "begins at no multiple of its tick"));
            }
            let count = MAX_TICK + 1 - first.min(MAX_TICK + 1);
            let room = ((i64::MAX - from) / tick).min(i64::from(count)) as Tick;
            made.push(Band {
                from,
                tick,
                first,
                count: room,
                divisor: ExactDivisor::new(tick as u64),
            });
        }
        Ok(Self { bands: made })
    }

    /// A column of the tick table of `MiFID` II (RTS 11), by liquidity: 0 for the
    /// least liquid shares to 5 for the most liquid ones. `None` for others.
    pub fn mifid(column: u8) -> Option<Self> {
        const STEPS: [i64; 3] = [1, 2, 5];
        // In units of 10⁻⁴: 0.0001 is step 0, 0.0002 step 1, 0.0005 step 2.
        let step = |at: usize| STEPS[at % 3] * 10_i64.pow(at as u32 / 3) * 10_000;
        let finer = usize::from(column);
        // The bands from 0, 0.1, 0.2, 0.5 up to 50,000.
        let band = |at: usize| {
            let from = if at == 0 { 0 } else { step(at - 1) * 1_000 };
            (Price(from), Price(step((at + 2).saturating_sub(finer))))
        };
        let bands: Vec<_> = (0..19).map(band).collect();
        if column < 6 { Self::new(&bands).ok() } else { None }
    }

    /// The number of a price.
    ///
    /// # Errors
    /// It lies between two ticks, or outside the table.
    #[inline]
    pub fn tick(&self, price: Price) -> Result<Tick, InstrumentError> {
        let band = self.band_of(price);
        let quotient = band.divisor.quotient(price.0.wrapping_sub(band.from) as u64);
        if quotient < u64::from(band.count) {
            return Ok(band.first + quotient as Tick);
        }
        Err(self.refused(price))
    }

    /// The price of a number; beyond the table's end, where it would go on.
    #[inline]
    pub fn price(&self, tick: Tick) -> Price {
        let mut at = self.bands.len() - 1;
        while at > 0 && self.bands[at].first > tick {
            at -= 1;
        }
        let band = &self.bands[at];
        Price(band.from + band.tick * i64::from(tick - band.first))
    }

    /// The tick nearest to a price, the lower one of two that are as near;
    /// the ends of the table for prices beyond them.
    pub fn nearest(&self, price: Price) -> Tick {
        let band = self.band_of(price);
        let above = (price.0 - band.from).max(0);
        let down = (above / band.tick).min(i64::from(MAX_TICK)) as Tick;
        let rest = above % band.tick;
        let up = Tick::from(rest > band.tick - rest);
        (band.first + (down + up).min(band.count)).min(self.highest())
    }

    /// The number of the highest price.
    pub fn highest(&self) -> Tick {
        let last = self.bands[self.bands.len() - 1];
        (last.first + last.count).saturating_sub(1).min(MAX_TICK)
    }

    #[inline]
    fn band_of(&self, price: Price) -> &Band {
        if self.bands.len() == 1 {
            return &self.bands[0];
        }
        let behind = self.bands.partition_point(|band| band.from <= price.0);
        &self.bands[behind.max(1) - 1]
    }

    #[cold]
    fn refused(&self, price: Price) -> InstrumentError {
        let (lowest, highest) = (self.price(0), self.price(self.highest()));
        if price < lowest || price > highest {
            return InstrumentError::OutOfRange { price, lowest, highest };
        }
        InstrumentError::OffTick { price, tick: Price(self.band_of(price).tick) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn price(text: &str) -> Price {
        text.parse().expect("a price")
    }

    #[test]
    fn the_columns_of_rts_11_have_the_ticks_of_the_regulation() {
        // Price, and the tick there in the columns from the least liquid on.
        for (at, ticks) in [
            ("0.05", ["0.0005", "0.0002", "0.0001", "0.0001", "0.0001", "0.0001"]),
            ("0.15", ["0.001", "0.0005", "0.0002", "0.0001", "0.0001", "0.0001"]),
            ("10", ["0.1", "0.05", "0.02", "0.01", "0.005", "0.002"]),
            ("49000", ["200", "100", "50", "20", "10", "5"]),
            ("50000", ["500", "200", "100", "50", "20", "10"]),
        ] {
            for (column, tick) in ticks.iter().enumerate() {
                let table = TickTable::mifid(column as u8).expect("a column");
                let number = table.tick(price(at)).expect("on a tick");
                let next = table.price(number + 1).0 - price(at).0;
                assert_eq!(Price(next), price(tick), "{at} in column {column}");
            }
        }
        assert_eq!(TickTable::mifid(6), None);
    }

    #[test]
    fn a_price_between_ticks_or_outside_says_what_would_be_right() {
        let table = TickTable::mifid(2).expect("a column");
        let error = |text| table.tick(price(text)).expect_err("refused").to_string();
        assert_eq!(error("10.003"), "10.003 is no multiple of the tick 0.02 that holds there");
        assert!(error("-1").starts_with("-1.00 is outside the prices 0.00 to "));
    }

    #[test]
    fn bands_that_do_not_meet_are_refused() {
        for (bands, fault) in [
            (vec![], "band 1 of the table of ticks: is missing: give at least one"),
            (vec![(0, 0)], "band 1 of the table of ticks: has no tick above 0"),
            (
                vec![(0, 2), (0, 5)],
                "band 2 of the table of ticks: does not begin above the one before",
            ),
            (
                vec![(0, 2), (5, 5)],
                "band 2 of the table of ticks: begins between two ticks of the one before",
            ),
            (vec![(1, 2)], "band 1 of the table of ticks: begins at no multiple of its tick"),
        ] {
            let bands: Vec<_> =
                bands.into_iter().map(|(from, tick)| (Price(from), Price(tick))).collect();
            assert_eq!(TickTable::new(&bands).expect_err("refused").to_string(), fault);
        }
    }

    #[test]
    fn the_nearest_tick_is_the_lower_one_of_two() {
        let table = TickTable::flat(price("0.05")).expect("a table");
        for (at, tick) in [("10.02", 200), ("10.025", 200), ("10.026", 201), ("-3", 0)] {
            assert_eq!(table.nearest(price(at)), tick, "{at}");
        }
    }

    proptest! {
        #[test]
        fn a_number_is_a_price_and_back(column in 0_u8..6, tick in 0..200_000_u32) {
            let table = TickTable::mifid(column).expect("a column");
            prop_assert_eq!(table.tick(table.price(tick)), Ok(tick));
            prop_assert!(table.price(tick) < table.price(tick + 1));
            prop_assert_eq!(table.nearest(table.price(tick)), tick);
        }

        #[test]
        fn division_by_multiplication_is_division(divisor in 1..1_000_000_000_u64, number: u32) {
            let number = u64::from(number) * 1000;
            let quotient = ExactDivisor::new(divisor).quotient(number);
            let highest = u64::MAX / divisor;
            prop_assert_eq!(quotient <= highest, number % divisor == 0);
            if number % divisor == 0 {
                prop_assert_eq!(quotient, number / divisor);
            }
        }
    }
}
