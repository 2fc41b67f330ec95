//! The price of an auction (Xetra's four rules, which London's follow).
//!
//! At a price p, D is what buyers want (market orders and limits ≥ p), S what
//! sellers give (market orders and limits ≤ p), V the smaller of both, which
//! would trade, and I = D − S, the surplus. Of the prices that limits name:
//!
//! 1. the largest V;
//! 2. of these the smallest surplus, whatever its sign;
//! 3. if buyers are left at all of these, the highest; if sellers, the lowest;
//! 4. else the price nearest to the reference that lies between them: there V is
//!    as large, and the surplus as small, although no order names it.

use tapeline_instrument::Tick;

/// All limits at one price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AuctionLevel {
    /// The price.
    pub tick: Tick,
    /// What buyers with this limit want.
    pub buy: u64,
    /// What sellers with this limit give.
    pub sell: u64,
}

/// Orders that are collected, and what is known from before.
#[derive(Clone, Copy, Debug, Default)]
pub struct AuctionBook<'a> {
    /// The limits, by rising price, each price once.
    pub levels: &'a [AuctionLevel],
    /// What buyers want at any price.
    pub market_buy: u64,
    /// What sellers give at any price.
    pub market_sell: u64,
    /// The last price, if there was any.
    pub reference: Option<Tick>,
}

/// What an auction brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncross {
    /// The one price.
    pub tick: Tick,
    /// What trades at it.
    pub volume: u64,
    /// What buyers want beyond it, or below 0 what sellers have left.
    pub surplus: i64,
}

/// The prices that are best so far.
struct Candidates {
    volume: u64,
    surplus: u64,
    lowest: (Tick, i64),
    highest: (Tick, i64),
    /// The highest where buyers are left.
    last_bought: Option<Tick>,
    /// The lowest where sellers are left.
    first_sold: Option<Tick>,
}

impl AuctionBook<'_> {
    /// The price, and what trades; `None` if nothing does.
    pub fn uncross(&self) -> Option<Uncross> {
        let best = self.candidates();
        let Some(best) = best.filter(|best| best.volume > 0) else { return self.market_only() };
        let tick = match (best.last_bought, best.first_sold) {
            (Some(_), None) => best.highest.0,
            (None, Some(_)) => best.lowest.0,
            (last_bought, first_sold) => {
                let from = last_bought.unwrap_or(best.lowest.0);
                let to = first_sold.unwrap_or(best.highest.0);
                self.reference.map_or(from, |reference| reference.clamp(from, to))
            }
        };
        let (bought, sold) = self.at(tick);
        let volume = bought.min(sold);
        debug_assert_eq!(volume, best.volume, "the volume is the largest between candidates, too");
        Some(Uncross { tick, volume, surplus: bought as i64 - sold as i64 })
    }

    /// What buyers want and sellers give at a price.
    pub fn at(&self, tick: Tick) -> (u64, u64) {
        let buys = self.levels.iter().filter(|level| level.tick >= tick).map(|level| level.buy);
        let sells = self.levels.iter().filter(|level| level.tick <= tick).map(|level| level.sell);
        (self.market_buy + buys.sum::<u64>(), self.market_sell + sells.sum::<u64>())
    }

    fn candidates(&self) -> Option<Candidates> {
        let mut bought = self.market_buy + self.levels.iter().map(|level| level.buy).sum::<u64>();
        let mut sold = self.market_sell;
        let mut best: Option<Candidates> = None;
        for level in self.levels {
            sold += level.sell;
            Candidates::look(&mut best, level.tick, bought, sold);
            bought -= level.buy;
        }
        best
    }

    /// Without limits the reference is the only price there is.
    fn market_only(&self) -> Option<Uncross> {
        let volume = self.market_buy.min(self.market_sell);
        let tick = self.reference.filter(|_| volume > 0)?;
        Some(Uncross { tick, volume, surplus: self.market_buy as i64 - self.market_sell as i64 })
    }
}

impl Candidates {
    fn look(best: &mut Option<Self>, tick: Tick, bought: u64, sold: u64) {
        let (volume, balance) = (bought.min(sold), bought as i64 - sold as i64);
        let surplus = balance.unsigned_abs();
        let last_bought = (balance > 0).then_some(tick);
        let first_sold = (balance < 0).then_some(tick);
        let rank = |volume, surplus| (volume, std::cmp::Reverse(surplus));
        match best {
            Some(best) if rank(best.volume, best.surplus) > rank(volume, surplus) => {}
            Some(best) if rank(best.volume, best.surplus) == rank(volume, surplus) => {
                best.highest = (tick, balance);
                best.last_bought = last_bought.or(best.last_bought);
                best.first_sold = best.first_sold.or(first_sold);
            }
            _ => {
                let lowest = (tick, balance);
                let highest = lowest;
                *best = Some(Self { volume, surplus, lowest, highest, last_bought, first_sold });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Orders as `(quantity, tick)`; the tick of market orders is `None`.
    type Sides<'a> = [&'a [(u64, Option<Tick>)]; 2];

    fn levels_of(sides: Sides<'_>) -> (Vec<AuctionLevel>, [u64; 2]) {
        let mut levels: Vec<AuctionLevel> = Vec::new();
        let mut market = [0; 2];
        for (side, orders) in sides.into_iter().enumerate() {
            for (quantity, tick) in orders {
                let Some(tick) = *tick else {
                    market[side] += quantity;
                    continue;
                };
                let at = levels.partition_point(|level| level.tick < tick);
                if levels.get(at).is_none_or(|level| level.tick != tick) {
                    levels.insert(at, AuctionLevel { tick, ..AuctionLevel::default() });
                }
                let level = &mut levels[at];
                *(if side == 0 { &mut level.buy } else { &mut level.sell }) += quantity;
            }
        }
        (levels, market)
    }

    fn uncross(sides: Sides<'_>, reference: Option<Tick>) -> Option<(Tick, u64)> {
        let (levels, [market_buy, market_sell]) = levels_of(sides);
        let book = AuctionBook { levels: &levels, market_buy, market_sell, reference };
        book.uncross().map(|found| (found.tick, found.volume))
    }

    /// `300@1003` or `80` without a limit, separated by spaces.
    fn orders(text: &str) -> Vec<(u64, Option<Tick>)> {
        let order = |text: &str| match text.split_once('@') {
            Some((quantity, tick)) => (quantity.parse().unwrap(), Some(tick.parse().unwrap())),
            None => (text.parse().unwrap(), None),
        };
        text.split_whitespace().map(order).collect()
    }

    #[test]
    fn the_published_examples() {
        for (case, buys, sells, reference, found) in [
            ("volume", "200@102 300@101 100@100", "150@99 150@100 250@101", None, (101, 500)),
            ("surplus", "300@1003 100@1002 200@1000", "300@1001 50@1003", None, (1003, 300)),
            ("pressure, buy", "500@1003", "300@1000", Some(1000), (1003, 300)),
            ("surplus before pressure", "500@1003 100@1000", "300@1000", Some(1000), (1003, 300)),
            ("pressure, sell", "300@1003", "500@1000", Some(1005), (1000, 300)),
            ("reference", "300@1003 100@1000", "300@1000 100@1003", Some(1002), (1002, 300)),
            (
                "reference outside",
                "300@1003 100@1000",
                "300@1000 100@1003",
                Some(1007),
                (1003, 300),
            ),
            ("balanced", "300@1003", "300@1000", Some(1001), (1001, 300)),
            ("balanced, no reference", "300@1003", "300@1000", None, (1000, 300)),
            ("market only", "100", "80", Some(1000), (1000, 80)),
            // In quarters of a point: 4800.00 is 0. What is above and below is summed up.
            ("recorded", "30@2 1@1 4@0 13", "31@0 19@1 12@2 1", None, (1, 44)),
        ] {
            let (buys, sells) = (orders(buys), orders(sells));
            assert_eq!(uncross([&buys, &sells], reference), Some(found), "{case}");
        }
    }

    #[test]
    fn without_a_match_or_any_price_there_is_no_auction() {
        for (buys, sells, reference) in
            [("", "", Some(5)), ("100", "80", None), ("10@5", "10@6", Some(5)), ("10@5", "", None)]
        {
            let (buys, sells) = (orders(buys), orders(sells));
            assert_eq!(uncross([&buys, &sells], reference), None, "{buys:?} {sells:?}");
        }
    }

    fn side() -> impl Strategy<Value = Vec<(u64, Option<Tick>)>> {
        prop::collection::vec((1..50_u64, prop::option::weighted(0.85, 20..40_u32)), 0..12)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Every tick, whether orders name it or not, is tried.
        #[test]
        fn no_price_at_all_trades_more_or_leaves_less(
            buys in side(), sells in side(), reference in prop::option::of(15..45_u32),
        ) {
            let (levels, [market_buy, market_sell]) = levels_of([&buys, &sells]);
            let book = AuctionBook { levels: &levels, market_buy, market_sell, reference };
            let volume = |tick| { let (b, s) = book.at(tick); b.min(s) };
            let largest = (0..60).map(volume).max().unwrap_or(0);
            let Some(found) = book.uncross() else {
                prop_assert!(largest == 0 || levels.is_empty() && reference.is_none());
                return Ok(());
            };
            prop_assert_eq!(found.volume, largest);
            prop_assert_eq!(volume(found.tick), largest);
            let surplus = |tick| { let (b, s) = book.at(tick); b.abs_diff(s) };
            let best = |tick: &Tick| volume(*tick) == largest;
            let least = levels.iter().map(|level| level.tick).filter(best).map(surplus).min();
            if let Some(least) = least {
                prop_assert!(surplus(found.tick) <= least);
            }
        }
    }
}
