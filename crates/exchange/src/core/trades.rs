//! The last trades, a record for each side, for whoever confirms and clears them.

use tapeline_layout::{Sections, Text, append_section, message};

message! {
    /// One side of a trade.
    Trade: 160, fill 0 {
        /// Of the report that its owner got.
        0 => execution: Text<12>,
        12 => order: Text<12>,
        24 => id: u64,
        /// With 8 decimals.
        32 => price: i64,
        /// Nanoseconds since 1970 UTC.
        40 => at_ns: u64,
        48 => quantity: u32,
        52 => instrument: u32,
        56 => client: u32,
        60 => investment: u32,
        64 => executing: u32,
        68 => user: u16,
        /// The firm that it is of.
        70 => firm: u16,
        /// 1 buy, 2 sell.
        72 => side: u8,
        /// `A` added, `R` removed, `C` in an auction.
        73 => liquidity: u8,
        74 => capacity: u8,
        75 => clearing_account: u8,
        76 => roles: u8,
        80 => name: Text<20>,
        100 => account: Text<10>,
        110 => trader: Text<11>,
    }
}

message! {
    /// How many sides there were.
    Count: 8, fill 0 {
        0 => next: u64,
    }
}

/// A ring of the last sides of trades, which does not grow.
#[derive(Debug)]
pub(super) struct Trades {
    ring: Vec<Trade>,
    /// Those before this one were not seen here.
    first: u64,
    /// The number of the next side.
    next: u64,
}

impl Trades {
    /// Keeps so many.
    pub(super) fn new(room: usize) -> Self {
        Self { ring: vec![Trade::default(); room], first: 0, next: 0 }
    }

    pub(super) fn push(&mut self, trade: Trade) {
        let place = self.place(self.next);
        if let Some(room) = self.ring.get_mut(place) {
            *room = trade;
        }
        self.next += 1;
    }

    fn place(&self, number: u64) -> usize {
        (number % self.ring.len().max(1) as u64) as usize
    }

    /// The number of the next one.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// The oldest that is kept.
    pub(super) fn oldest(&self) -> u64 {
        self.first.max(self.next.saturating_sub(self.ring.len() as u64))
    }

    /// The one of a number, if it is kept.
    pub(super) fn get(&self, number: u64) -> Option<&Trade> {
        let is_kept = (self.oldest()..self.next).contains(&number);
        self.ring.get(self.place(number)).filter(|_| is_kept)
    }

    /// Appends all of it.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        append_section(out, [Count { next: self.next }]);
        let kept = (self.oldest()..self.next).filter_map(|number| self.get(number));
        append_section(out, kept.copied());
    }

    /// Takes it up; if there is less room now, the last of it.
    pub(super) fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let count: Count = sections.record()?;
        let kept: Vec<Trade> = sections.records()?;
        self.first = count.next.checked_sub(kept.len() as u64)?;
        self.next = self.first;
        for trade in kept {
            self.push(trade);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(room: usize, count: u64) -> Trades {
        let mut trades = Trades::new(room);
        (0..count).for_each(|id| trades.push(Trade { id, ..Trade::default() }));
        trades
    }

    fn ids(trades: &Trades) -> Vec<u64> {
        let all = trades.oldest()..trades.next();
        all.filter_map(|number| trades.get(number)).map(|trade| trade.id).collect()
    }

    #[test]
    fn the_last_ones_are_kept_also_behind_a_restart() {
        for (room, count) in [(3, 0), (3, 2), (3, 3), (3, 8), (0, 5), (4, 6), (5, 5)] {
            let trades = filled(room, count);
            let last = count.saturating_sub(room as u64)..count;
            assert_eq!(ids(&trades), last.clone().collect::<Vec<_>>());
            assert!(trades.get(count).is_none());
            let mut saved = Vec::new();
            trades.save(&mut saved);
            let mut restored = Trades::new(room);
            assert_eq!(restored.restore(&mut Sections::new(&saved)), Some(()));
            assert_eq!(ids(&restored), ids(&trades), "{room} {count}");
            restored.push(Trade { id: count, ..Trade::default() });
            let last = (count + 1).saturating_sub(room as u64)..=count;
            assert_eq!(ids(&restored), last.collect::<Vec<_>>(), "{room} {count}");
        }
    }
}
