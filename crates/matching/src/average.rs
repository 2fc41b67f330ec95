//! The average price of the last minutes of continuous trading, for a closing price where
//! the closing auction finds none.

use tapeline_instrument::Price;

use crate::event::{Event, Events};

const NS_PER_MINUTE: u64 = 60_000_000_000;

/// So many minutes count, and the one that has begun.
const MINUTES: u64 = 10;

const PLACES: usize = MINUTES as usize + 1;

/// What traded in one minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Minute {
    /// Since 1970 UTC.
    pub(crate) number: u64,
    pub(crate) quantity: u64,
    /// The sum of prices, each as often as it was traded at.
    pub(crate) value: u128,
}

/// What traded in the last minutes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Average {
    minutes: [Minute; PLACES],
}

impl Average {
    /// So much has traded.
    pub(crate) fn add(&mut self, at_ns: u64, quantity: u64, value: u128) {
        let number = at_ns / NS_PER_MINUTE;
        let minute = &mut self.minutes[number as usize % PLACES];
        if minute.number != number {
            *minute = Minute { number, ..Minute::default() };
        }
        minute.quantity += quantity;
        minute.value += value;
    }

    /// The average price of the last ten minutes, weighted by volume; `None` without a
    /// trade.
    pub(crate) fn price(&self, now_ns: u64) -> Option<Price> {
        let first = (now_ns / NS_PER_MINUTE).saturating_sub(MINUTES);
        let (mut quantity, mut value) = (0, 0);
        for minute in self.minutes.iter().filter(|minute| minute.number >= first) {
            quantity += u128::from(minute.quantity);
            value += minute.value;
        }
        let average = value.checked_div(quantity)?;
        Some(Price(i64::try_from(average).unwrap_or(i64::MAX)))
    }

    /// Minutes in which something traded.
    pub(crate) fn minutes(&self) -> impl Iterator<Item = Minute> {
        self.minutes.iter().copied().filter(|minute| minute.quantity > 0)
    }

    /// A minute is there again.
    pub(crate) fn put_back(&mut self, minute: Minute) {
        self.minutes[minute.number as usize % PLACES] = minute;
    }
}

/// Passes events on, and sums up what trades.
pub(crate) struct Summed<'e, E> {
    pub(crate) out: &'e mut E,
    pub(crate) quantity: u64,
    pub(crate) value: u128,
}

impl<E: Events> Events for Summed<'_, E> {
    fn event(&mut self, event: Event) {
        if let Event::Traded { price, quantity, .. } = event {
            self.quantity += u64::from(quantity);
            self.value += u128::from(price.0.unsigned_abs()) * u128::from(quantity);
        }
        self.out.event(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ten_minutes_count_by_their_volume() {
        let mut average = Average::default();
        assert_eq!(average.price(5), None);
        let at = |minute: u64| minute * NS_PER_MINUTE;
        average.add(at(1_000), 100, 100 * 10);
        average.add(at(1_005), 300, 300 * 20);
        assert_eq!(average.price(at(1_010)), Some(Price(17)));
        assert_eq!(average.price(at(1_011)), Some(Price(20)), "the first is too old");
        // A minute takes the place of the one that is too old.
        average.add(at(1_011), 100, 100 * 40);
        assert_eq!(average.price(at(1_011)), Some(Price(25)));
        assert_eq!((average.minutes().count(), average.price(at(2_000))), (2, None));
    }
}
