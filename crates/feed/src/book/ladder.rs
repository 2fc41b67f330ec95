//! The price levels of one side.

use super::{Level, Side};

/// So many prices from the best on are looked at one by one: most of what happens is
/// there, and they lie side by side.
const NEAR: usize = 16;

/// The levels of a side, best last, so that little moves. Prices stand apart from the rest:
/// a search reads a line or two of the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ladder {
    side: Side,
    /// In units of 10⁻⁹: ascending for bids, descending for asks.
    prices_nano: Vec<i64>,
    levels: Vec<Level>,
}

impl Ladder {
    pub(super) const fn new(side: Side) -> Self {
        Self { side, prices_nano: Vec::new(), levels: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.prices_nano.clear();
        self.levels.clear();
    }

    /// Where a price is, or would be.
    fn place(&self, price_nano: i64) -> Result<usize, usize> {
        match self.side {
            Side::Bid => find(&self.prices_nano, |known| known < price_nano, price_nano),
            Side::Ask => find(&self.prices_nano, |known| known > price_nano, price_nano),
        }
    }

    fn insert(&mut self, at: usize, price_nano: i64, level: Level) {
        self.prices_nano.insert(at, price_nano);
        self.levels.insert(at, level);
    }

    fn remove(&mut self, at: usize) -> Level {
        self.prices_nano.remove(at);
        self.levels.remove(at)
    }

    pub(super) fn get(&self, price_nano: i64) -> Option<&Level> {
        self.place(price_nano).ok().map(|at| &self.levels[at])
    }

    pub(super) fn best(&self) -> Option<(i64, Level)> {
        self.prices_nano.last().copied().zip(self.levels.last().copied())
    }

    /// The levels, ascending by price.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = (i64, &Level)> {
        let (count, is_bid) = (self.levels.len(), self.side == Side::Bid);
        let at = move |place: usize| if is_bid { place } else { count - 1 - place };
        (0..count).map(move |place| (self.prices_nano[at(place)], &self.levels[at(place)]))
    }

    /// Another level at a price, or none; what was there before.
    pub(super) fn set(&mut self, price_nano: i64, level: Option<Level>) -> Option<Level> {
        match (self.place(price_nano), level) {
            (Ok(at), Some(level)) => Some(std::mem::replace(&mut self.levels[at], level)),
            (Ok(at), None) => Some(self.remove(at)),
            (Err(at), Some(level)) => {
                self.insert(at, price_nano, level);
                None
            }
            (Err(_), None) => None,
        }
    }

    /// One more order at a price; what was there before.
    pub(super) fn join(&mut self, price_nano: i64, size: u32, time_ns: u64) -> Option<Level> {
        match self.place(price_nano) {
            Ok(at) => {
                let level = &mut self.levels[at];
                let before = *level;
                level.size += u64::from(size);
                level.orders += 1;
                level.time_ns = time_ns;
                Some(before)
            }
            Err(at) => {
                self.insert(at, price_nano, Level { size: size.into(), orders: 1, time_ns });
                None
            }
        }
    }

    /// One order less at a price; what was there before.
    pub(super) fn leave(&mut self, price_nano: i64, size: u32, time_ns: u64) -> Option<Level> {
        let at = self.place(price_nano).ok()?;
        let level = &mut self.levels[at];
        let before = *level;
        if before.orders == 1 {
            self.remove(at);
            return Some(before);
        }
        level.size -= u64::from(size);
        level.orders -= 1;
        level.time_ns = time_ns;
        Some(before)
    }

    /// An order at a price has another size; what was there before.
    pub(super) fn resize(
        &mut self,
        price_nano: i64,
        (before, after): (u32, u32),
        time_ns: u64,
    ) -> Option<Level> {
        let at = self.place(price_nano).ok()?;
        let level = &mut self.levels[at];
        let was = *level;
        level.size = level.size - u64::from(before) + u64::from(after);
        level.time_ns = time_ns;
        Some(was)
    }
}

/// The place of a price, or where it belongs; `is_worse` says which ones stand before it.
fn find(
    prices_nano: &[i64],
    is_worse: impl Fn(i64) -> bool,
    price_nano: i64,
) -> Result<usize, usize> {
    let far = prices_nano.len().saturating_sub(NEAR);
    let near = prices_nano[far..].iter().rev().position(|known| is_worse(*known));
    let at = match near {
        Some(back) => prices_nano.len() - back,
        None => prices_nano[..far].partition_point(|known| is_worse(*known)),
    };
    if prices_nano.get(at) == Some(&price_nano) { Ok(at) } else { Err(at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_far_from_the_best_are_found_as_well_as_those_near() {
        for side in [Side::Bid, Side::Ask] {
            let mut ladder = Ladder::new(side);
            // Each second price, in no order.
            let prices = (0..100).map(|n| n * 37 % 100 * 2);
            for price in prices.clone() {
                assert_eq!(ladder.join(price, 1, 0), None);
            }
            let ascending: Vec<i64> = ladder.iter().map(|(price, _)| price).collect();
            assert_eq!(ascending, (0..100).map(|n| n * 2).collect::<Vec<_>>());
            let best = if side == Side::Bid { 198 } else { 0 };
            assert_eq!(ladder.best().map(|(price, _)| price), Some(best));
            for price in prices {
                let level = Level { size: 1, orders: 1, time_ns: 0 };
                assert_eq!((ladder.get(price), ladder.get(price + 1)), (Some(&level), None));
                assert_eq!(ladder.leave(price, 1, 0), Some(level));
                assert_eq!(ladder.leave(price, 1, 0), None);
            }
            assert_eq!(ladder.best(), None);
        }
    }
}
