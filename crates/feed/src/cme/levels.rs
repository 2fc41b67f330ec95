//! The levels of one side, by their place.

use tapeline_mdp::UpdateAction;

use crate::book::{Action, Level, Side};

/// Which price each level of a side has, best first. MDP tells what happens to the
/// level at a place; who watches wants to know what happens to a price.
#[derive(Debug)]
pub(super) struct Levels {
    side: Side,
    prices_nano: Vec<i64>,
}

impl Levels {
    pub(super) const fn new(side: Side) -> Self {
        Self { side, prices_nano: Vec::new() }
    }

    pub(super) fn clear(&mut self) {
        self.prices_nano.clear();
    }

    /// Something happens to the level at `place`, counted from 1, of so many as are told
    /// of (`depth`); what that does to prices is given to `act`. Whether it is about a
    /// level that is not there: what is new is then the last one, and what is not is
    /// left alone.
    pub(super) fn update(
        &mut self,
        action: UpdateAction,
        (place, depth): (usize, usize),
        (price_nano, level): (i64, Level),
        mut act: impl FnMut(Action),
    ) -> bool {
        let (count, side) = (self.prices_nano.len(), self.side);
        let at = place.saturating_sub(1);
        let prices = &mut self.prices_nano;
        let mut set = |price_nano, level| act(Action::Level { side, price_nano, level });
        let is_there = (1..=count).contains(&place);
        match action {
            UpdateAction::New => {
                prices.insert(at.min(count), price_nano);
                set(price_nano, Some(level));
                // What is below the last level is told of no more.
                while prices.len() > depth {
                    let Some(last_nano) = prices.pop() else { break };
                    retire(prices, last_nano, &mut set);
                }
                return !(1..=count + 1).contains(&place);
            }
            UpdateAction::Change | UpdateAction::Overlay if is_there => {
                let before_nano = std::mem::replace(&mut prices[at], price_nano);
                set(price_nano, Some(level));
                retire(prices, before_nano, &mut set);
            }
            UpdateAction::Delete if is_there => {
                let gone_nano = prices.remove(at);
                retire(prices, gone_nano, &mut set);
            }
            UpdateAction::DeleteFrom if is_there => {
                for _ in 0..place {
                    let gone_nano = prices.remove(0);
                    retire(prices, gone_nano, &mut set);
                }
            }
            UpdateAction::DeleteThrough => {
                while let Some(gone_nano) = prices.pop() {
                    retire(prices, gone_nano, &mut set);
                }
                return false;
            }
            _ => {}
        }
        !is_there
    }
}

/// A level no longer has a price. Where several levels are overlaid, another one may have
/// it meanwhile.
fn retire(prices_nano: &[i64], gone_nano: i64, set: &mut impl FnMut(i64, Option<Level>)) {
    if !prices_nano.contains(&gone_nano) {
        set(gone_nano, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::book::Book;

    fn level(size: u64) -> Level {
        Level { size, orders: 1, time_ns: 0 }
    }

    struct Bids {
        levels: Levels,
        book: Book,
    }

    impl Bids {
        fn with(prices: &[i64]) -> Self {
            let mut bids = Self { levels: Levels::new(Side::Bid), book: Book::new() };
            for (price, place) in prices.iter().zip(1..) {
                assert!(!bids.update(UpdateAction::New, place, *price));
            }
            bids
        }

        /// In a book of three levels; the size is the price's tenfold.
        fn update(&mut self, action: UpdateAction, place: usize, price: i64) -> bool {
            let Self { levels, book } = self;
            let of = (price, level(price as u64 * 10));
            levels.update(action, (place, 3), of, |action| book.apply(&action))
        }

        fn are(&self, expected: &[i64]) {
            assert_eq!(self.levels.prices_nano, expected);
            let book: Vec<_> = self.book.levels(Side::Bid).rev().map(|(price, _)| price).collect();
            assert_eq!(book, expected);
        }
    }

    #[test]
    fn a_new_level_moves_those_below_and_the_last_one_out() {
        let mut bids = Bids::with(&[9, 8, 6]);
        assert!(!bids.update(UpdateAction::New, 3, 7));
        bids.are(&[9, 8, 7]);
        assert!(!bids.update(UpdateAction::New, 1, 10));
        bids.are(&[10, 9, 8]);
    }

    #[test]
    fn levels_change_are_overlaid_and_deleted() {
        let mut bids = Bids::with(&[9, 8, 6]);
        assert!(!bids.update(UpdateAction::Change, 2, 8));
        assert!(!bids.update(UpdateAction::Overlay, 3, 7));
        bids.are(&[9, 8, 7]);
        assert_eq!(bids.book.level(Side::Bid, 7), Some(&level(70)));
        assert!(!bids.update(UpdateAction::Delete, 1, 9));
        bids.are(&[8, 7]);
    }

    #[test]
    fn levels_that_move_by_overlays_have_one_price_for_a_while() {
        let mut bids = Bids::with(&[9, 8, 6]);
        bids.update(UpdateAction::Overlay, 1, 8);
        bids.update(UpdateAction::Overlay, 2, 6);
        bids.update(UpdateAction::Overlay, 3, 5);
        bids.are(&[8, 6, 5]);
    }

    #[test]
    fn several_levels_go_at_once() {
        let mut bids = Bids::with(&[9, 8, 6]);
        assert!(!bids.update(UpdateAction::DeleteFrom, 2, 0));
        bids.are(&[6]);
        assert!(!bids.update(UpdateAction::DeleteThrough, 1, 0));
        bids.are(&[]);
    }

    #[test]
    fn what_is_about_no_level_is_told() {
        let mut bids = Bids::with(&[9]);
        for (action, place) in [
            (UpdateAction::Change, 2),
            (UpdateAction::Delete, 0),
            (UpdateAction::Overlay, 3),
            (UpdateAction::DeleteFrom, 2),
        ] {
            assert!(bids.update(action, place, 5), "{action:?}");
            bids.are(&[9]);
        }
        assert!(bids.update(UpdateAction::New, 3, 5), "there is no second one");
        bids.are(&[9, 5]);
    }
}
