//! The levels of one side of a book that have orders.
//!
//! A level is found by its key. Keys are such that the best price of either side
//! has the lowest one, so nothing below asks which side it works for:
//!
//! ```text
//!  key of a sell order   tick + 1                 market orders  0
//!  key of a buy order    MAX_TICK + 1 - tick      market orders  0
//! ```
//!
//! The bits of a key lead to its level through one table; a bit for each level
//! that has orders, and bits for words of such bits, find the next level in a few
//! steps however far away it is:
//!
//! ```text
//!  24 bits of key   | page, 12 bits | level in the page, 12 bits |
//!                     directory       links of the page
//!                     4,096 × u16     4,096 × 8 bytes
//! ```

use tapeline_instrument::{MAX_TICK, Side, Tick};

use crate::queues::{Node, Queues};

/// Levels that come and go together.
pub(crate) const PAGE_LEVELS: u32 = 1 << PAGE_BITS;

const PAGE_BITS: u32 = 12;

/// The key of orders without a limit: better than every price.
pub(crate) const MARKET: u32 = 0;

/// Worse than every price: the best key of no orders at all.
pub(crate) const NONE: u32 = u32::MAX;

/// The worst key that there is.
pub(crate) const WORST: u32 = MAX_TICK + 1;

/// The key of a tick on a side.
#[inline]
pub(crate) const fn key_of(side: Side, tick: Tick) -> u32 {
    // Which side it is no processor can foresee, so no branch asks for it: with all bits
    // turned, a tick is -1 - tick.
    let turned = all_bits_of_buyers(side);
    (tick ^ turned).wrapping_add(1).wrapping_add(WORST & turned)
}

/// The tick of a key that is not [`MARKET`]'s; of that, none.
#[inline]
pub(crate) const fn tick_of(side: Side, key: u32) -> Tick {
    let turned = all_bits_of_buyers(side);
    (key ^ turned).wrapping_sub(1).wrapping_add((WORST + 2) & turned)
}

/// All bits for buyers, none for sellers.
#[inline]
const fn all_bits_of_buyers(side: Side) -> u32 {
    (side as u32).wrapping_sub(1)
}

/// The worst key of the other side that an order with this key trades with.
#[inline]
pub(crate) const fn reach_of(key: u32) -> u32 {
    // Ticks t of both sides meet: (t + 1) + (WORST - t) is the same for all.
    WORST + 1 - key
}

#[derive(Clone, Debug)]
struct Directory {
    /// The page of each 4,096 keys, from 1; 0 where there is none.
    pages: [u16; 4096],
    /// A bit for each page that there is.
    words: [u64; 64],
    /// A bit for each word that is not 0.
    summary: u64,
}

/// The levels of one side.
#[derive(Clone, Debug)]
pub(crate) struct Ladder {
    best: u32,
    /// Made with the first order.
    directory: Option<Box<Directory>>,
}

impl Ladder {
    pub(crate) const fn new() -> Self {
        Self { best: NONE, directory: None }
    }

    /// The lowest key that has orders, [`NONE`] if none has.
    #[inline]
    pub(crate) const fn best(&self) -> u32 {
        self.best
    }

    /// The link of a key's level; its page is made if there is none.
    #[inline]
    pub(crate) fn level_for(&mut self, queues: &mut Queues, key: u32) -> Node {
        let number = (key >> PAGE_BITS) as usize;
        if let Some(directory) = &self.directory {
            let page = directory.pages[number];
            if page != 0 {
                return queues.level(page, key % PAGE_LEVELS);
            }
        }
        let page = self.add_page(queues, number);
        queues.level(page, key % PAGE_LEVELS)
    }

    #[cold]
    fn add_page(&mut self, queues: &mut Queues, number: usize) -> u16 {
        let directory = self.directory.get_or_insert_with(|| {
            Box::new(Directory { pages: [0; 4096], words: [0; 64], summary: 0 })
        });
        let page = queues.take_page(number as u16);
        directory.pages[number] = page;
        directory.words[number / 64] |= 1 << (number % 64);
        directory.summary |= 1 << (number / 64);
        page
    }

    /// The link of a key's level, if its page is there.
    #[inline]
    pub(crate) fn level_of(&self, queues: &Queues, key: u32) -> Option<Node> {
        let page = *self.directory.as_ref()?.pages.get((key >> PAGE_BITS) as usize)?;
        (page != 0).then(|| queues.level(page, key % PAGE_LEVELS))
    }

    /// The level of a key has its first order.
    #[inline]
    pub(crate) fn filled(&mut self, queues: &mut Queues, level: Node, key: u32) {
        let (page, low) = queues.place(level);
        let page = queues.page_mut(page);
        page.words[low as usize / 64] |= 1 << (low % 64);
        page.summary |= 1 << (low / 64);
        self.best = self.best.min(key);
    }

    /// The last order of a level is gone.
    #[inline]
    pub(crate) fn emptied(&mut self, queues: &mut Queues, level: Node) {
        let (number, low) = queues.place(level);
        let page = queues.page_mut(number);
        let word = &mut page.words[low as usize / 64];
        *word &= !(1 << (low % 64));
        if *word == 0 {
            page.summary &= !(1 << (low / 64));
        }
        let key = u32::from(page.number) * PAGE_LEVELS + low;
        let is_page_empty = page.summary == 0;
        if key == self.best {
            self.best = self.next(queues, key);
        }
        if is_page_empty {
            self.drop_page(queues, number);
        }
    }

    #[cold]
    fn drop_page(&mut self, queues: &mut Queues, page: u16) {
        let Some(directory) = &mut self.directory else { return };
        let number = usize::from(queues.page(page).number);
        directory.pages[number] = 0;
        directory.words[number / 64] &= !(1 << (number % 64));
        if directory.words[number / 64] == 0 {
            directory.summary &= !(1 << (number / 64));
        }
        queues.give_page(page);
    }

    /// The lowest key above this one that has orders; [`NONE`] if none has.
    #[inline]
    pub(crate) fn next(&self, queues: &Queues, key: u32) -> u32 {
        let Some(directory) = &self.directory else { return NONE };
        let (number, low) = (key >> PAGE_BITS, key % PAGE_LEVELS);
        let page = directory.pages.get(number as usize).copied().unwrap_or(0);
        if page != 0 {
            let page = queues.page(page);
            if let Some(low) = above(&page.words, page.summary, low) {
                return number * PAGE_LEVELS + low;
            }
        }
        next_page(directory, queues, number)
    }
}

/// The lowest key of the pages behind one.
#[cold]
fn next_page(directory: &Directory, queues: &Queues, number: u32) -> u32 {
    let mut number = number;
    // A page whose last order is just gone may still be there, without bits.
    while let Some(next) = above(&directory.words, directory.summary, number) {
        let page = queues.page(directory.pages[next as usize]);
        if let Some(word) = lowest(page.summary) {
            let low = word * 64 + page.words[word as usize].trailing_zeros();
            return next * PAGE_LEVELS + low;
        }
        number = next;
    }
    NONE
}

/// The place of the lowest bit that is set.
#[inline]
const fn lowest(word: u64) -> Option<u32> {
    if word == 0 { None } else { Some(word.trailing_zeros()) }
}

/// The bits above one place in a word.
#[inline]
const fn behind(word: u64, place: u32) -> u64 {
    // Two shifts: one by 64 is not defined.
    word & (u64::MAX << place << 1)
}

/// The lowest bit above a place in 4,096 of them.
#[inline]
fn above(words: &[u64; 64], summary: u64, place: u32) -> Option<u32> {
    let (word, bit) = (place / 64, place % 64);
    if let Some(bit) = lowest(behind(words[word as usize & 63], bit)) {
        return Some(word * 64 + bit);
    }
    let word = lowest(behind(summary, word))?;
    Some(word * 64 + words[word as usize].trailing_zeros())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keys_of_both_sides_meet_where_prices_do() {
        for tick in [0, 1, 70_000, MAX_TICK] {
            for side in Side::BOTH {
                let key = key_of(side, tick);
                assert!(key > MARKET && key <= WORST);
                assert_eq!(tick_of(side, key), tick);
                // At the same price they just trade; one tick away they do not.
                assert_eq!(key_of(side.opposite(), tick), reach_of(key));
            }
        }
        assert!(key_of(Side::Sell, 11) > reach_of(key_of(Side::Buy, 10)));
        assert!(key_of(Side::Sell, 9) < reach_of(key_of(Side::Buy, 10)));
        assert!(reach_of(MARKET) > WORST && reach_of(MARKET) < NONE);
    }

    /// The same as a sorted map of queues.
    fn is_like_a_map(steps: &[(u32, bool)]) {
        let mut queues = Queues::new(steps.len() as u32);
        let mut ladder = Ladder::new();
        let mut model: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut resting: Vec<(u32, u32)> = Vec::new();
        for (node, (key, is_removed)) in (0..).zip(steps) {
            if *is_removed && !resting.is_empty() {
                let (key, node) = resting.swap_remove(*key as usize % resting.len());
                queues.remove(&mut ladder, node);
                let queue = model.get_mut(&key).expect("a level");
                queue.retain(|known| *known != node);
                if queue.is_empty() {
                    model.remove(&key);
                }
            } else {
                queues.push(&mut ladder, *key, node);
                model.entry(*key).or_default().push(node);
                resting.push((*key, node));
            }
            let best = model.keys().next().copied().unwrap_or(NONE);
            assert_eq!(ladder.best(), best);
        }
        let (mut key, mut found) = (ladder.best(), Vec::new());
        while key != NONE {
            found.push((key, queues.at(&ladder, key).collect::<Vec<_>>()));
            key = ladder.next(&queues, key);
        }
        assert_eq!(found, model.into_iter().collect::<Vec<_>>());
    }

    proptest! {
        #[test]
        fn a_ladder_is_a_sorted_map_of_queues(
            steps in prop::collection::vec((0..WORST, any::<bool>()), 1..200),
        ) {
            is_like_a_map(&steps);
        }

        #[test]
        fn close_keys_too(
            base in 0..WORST - 5000,
            steps in prop::collection::vec((0..5000_u32, any::<bool>()), 1..300),
        ) {
            is_like_a_map(&steps.iter().map(|(key, gone)| (base + key, *gone)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn pages_are_used_again() {
        let mut queues = Queues::new(2);
        let mut ladder = Ladder::new();
        for round in 0..1000 {
            queues.push(&mut ladder, round * 9_000, 1);
            queues.remove(&mut ladder, 1);
        }
        assert_eq!((queues.take_page(0), queues.take_page(0)), (1, 2));
    }
}
