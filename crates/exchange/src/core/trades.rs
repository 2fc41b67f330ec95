//! The last trades, a record for each side, for whoever confirms and clears them, and
//! for trades that are cancelled.

use tapeline_layout::{Sections, Text, append_section, message};

use super::ledger::Kept;
use super::state::KeptState;

/// Who settles for this side wants the trade cancelled.
pub(super) const ASKED: u8 = 1;

/// The trade is cancelled.
pub(super) const CANCELLED: u8 = 2;

message! {
    /// One side of a trade.
    Trade: 80, fill 0 {
        /// Of the report that its owner got.
        0 => execution: Text<12>,
        /// Of the report that told its owner that it is cancelled.
        12 => cancelled_by: Text<12>,
        24 => id: u64,
        /// With 8 decimals.
        32 => price: i64,
        /// Nanoseconds since 1970 UTC.
        40 => at_ns: u64,
        /// The number of the next side of the same order; 0 for none.
        48 => next: u64,
        56 => quantity: u32,
        60 => instrument: u32,
        /// What the order has traded: in the last of its sides, by now.
        64 => filled: u32,
        /// The firm that it is of.
        68 => firm: u16,
        /// 1 buy, 2 sell.
        70 => side: u8,
        /// `A` added, `R` removed, `C` in an auction.
        71 => liquidity: u8,
        /// The session whose auction it was in, by its character; 0 for none.
        72 => call: u8,
        /// [`ASKED`], [`CANCELLED`].
        73 => flags: u8,
    }
}

/// One side of a trade, and its order as it was then; in the last of an order's sides, as
/// it ended.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TradeSide {
    pub(super) trade: Trade,
    pub(super) order: Kept,
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
    ring: Vec<TradeSide>,
    /// Ids of the trades, by the same places: they are looked through for one.
    ids: Vec<u64>,
    /// Those before this one were not seen here.
    first: u64,
    /// The number of the next side.
    next: u64,
}

impl Trades {
    /// Keeps so many.
    pub(super) fn new(room: usize) -> Self {
        Self { ring: vec![TradeSide::default(); room], ids: vec![0; room], first: 0, next: 0 }
    }

    /// Keeps one, whose order had this side before it, if any. Returns its number.
    pub(super) fn push(&mut self, side: TradeSide, before: Option<u64>) -> u64 {
        let (number, place) = (self.next, self.place(self.next));
        if let Some(room) = self.ring.get_mut(place) {
            *room = side;
            self.ids[place] = side.trade.id;
        }
        self.next += 1;
        if let Some(before) = before.and_then(|before| self.get_mut(before)) {
            before.trade.next = number;
        }
        number
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

    fn is_kept(&self, number: u64) -> bool {
        (self.oldest()..self.next).contains(&number)
    }

    /// The one of a number, if it is kept.
    pub(super) fn get(&self, number: u64) -> Option<&TradeSide> {
        self.ring.get(self.place(number)).filter(|_| self.is_kept(number))
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, number: u64) -> Option<&mut TradeSide> {
        let (place, is_kept) = (self.place(number), self.is_kept(number));
        self.ring.get_mut(place).filter(|_| is_kept)
    }

    /// The number of a trade's side, 1 for the buyer's and 2 for the seller's.
    pub(super) fn find(&self, id: u64, side: u8) -> Option<u64> {
        let room = self.ids.len() as u64;
        let places = (0..room).zip(&self.ids).filter(|(_, other)| **other == id);
        let numbers = places.filter_map(|(place, _)| {
            // The latest number that has this place.
            let last = self.next.checked_sub(1)?;
            last.checked_sub((last % room + room - place) % room)
        });
        let mut numbers = numbers.filter(|number| self.is_kept(*number));
        numbers.find(|number| self.get(*number).is_some_and(|found| found.trade.side == side))
    }

    /// The last side of the order that a side is of.
    pub(super) fn last_of(&self, mut number: u64) -> u64 {
        while let Some(TradeSide { trade: Trade { next: next @ 1.., .. }, .. }) = self.get(number) {
            number = *next;
        }
        number
    }

    /// An order whose last side this was has ended so.
    pub(super) fn note_end(&mut self, last: u64, order: Kept, filled: u32) {
        if let Some(side) = self.get_mut(last) {
            side.order = order;
            side.trade.filled = filled;
        }
    }

    /// Appends all of it.
    pub(super) fn save(&self, out: &mut Vec<u8>) {
        append_section(out, [Count { next: self.next }]);
        let kept = (self.oldest()..self.next).filter_map(|number| self.get(number));
        append_section(out, kept.clone().map(|side| side.trade));
        append_section(out, kept.map(|side| KeptState::of(0, &side.order)));
    }

    /// Takes it up; if there is less room now, the last of it.
    pub(super) fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let count: Count = sections.record()?;
        let trades: Vec<Trade> = sections.records()?;
        let orders: Vec<KeptState> = sections.records()?;
        if trades.len() != orders.len() {
            return None;
        }
        self.first = count.next.checked_sub(trades.len() as u64)?;
        self.next = self.first;
        for (trade, order) in trades.into_iter().zip(&orders) {
            self.push(TradeSide { trade, order: order.kept()? }, None);
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(id: u64) -> TradeSide {
        let trade = Trade { id: id / 2, side: 1 + (id % 2) as u8, ..Trade::default() };
        TradeSide { trade, order: Kept::default() }
    }

    fn filled(room: usize, count: u64) -> Trades {
        let mut trades = Trades::new(room);
        (0..count).for_each(|id| {
            trades.push(side(id), None);
        });
        trades
    }

    fn numbers(trades: &Trades) -> Vec<u64> {
        let all = trades.oldest()..trades.next();
        let sides = all.filter_map(|number| trades.get(number));
        sides.map(|side| 2 * side.trade.id + u64::from(side.trade.side) - 1).collect()
    }

    #[test]
    fn the_last_ones_are_kept_also_behind_a_restart() {
        for (room, count) in [(3, 0), (3, 2), (3, 3), (3, 8), (0, 5), (4, 6), (5, 5)] {
            let trades = filled(room, count);
            let last = count.saturating_sub(room as u64)..count;
            assert_eq!(numbers(&trades), last.clone().collect::<Vec<_>>());
            assert!(trades.get(count).is_none());
            let mut saved = Vec::new();
            trades.save(&mut saved);
            let mut restored = Trades::new(room);
            assert_eq!(restored.restore(&mut Sections::new(&saved)), Some(()));
            assert_eq!(numbers(&restored), numbers(&trades), "{room} {count}");
            restored.push(side(count), None);
            let last = (count + 1).saturating_sub(room as u64)..=count;
            assert_eq!(numbers(&restored), last.collect::<Vec<_>>(), "{room} {count}");
        }
    }

    #[test]
    fn a_side_is_found_by_its_trade_while_it_is_kept() {
        for (room, count) in [(0, 3), (1, 1), (3, 2), (3, 8), (7, 20), (5, 5)] {
            let trades = filled(room, count);
            for number in 0..count + 3 {
                let is_kept = number < count && number + room as u64 >= count;
                let found = trades.find(number / 2, 1 + (number % 2) as u8);
                assert_eq!(found, is_kept.then_some(number), "{number} of {count} in {room}");
            }
        }
    }

    #[test]
    fn sides_lead_to_the_last_one_of_their_order() {
        let mut trades = Trades::new(3);
        let first = trades.push(side(0), None);
        trades.push(side(1), None);
        let second = trades.push(side(2), Some(first));
        assert_eq!([trades.last_of(first), trades.last_of(1)], [second, 1]);
        // The first one has made room.
        let third = trades.push(side(3), Some(second));
        assert_eq!(trades.last_of(second), third);
        let order = Kept { capacity: 2, ..Kept::default() };
        trades.note_end(first, order, 9);
        trades.note_end(third, order, 9);
        let filled = |number| trades.get(number).map(|side| side.trade.filled);
        assert_eq!([first, second, third].map(filled), [None, Some(0), Some(9)]);
    }
}
