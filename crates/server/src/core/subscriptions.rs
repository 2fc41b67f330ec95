//! The subscriptions of an item, in order.
//!
//! An update walks over all subscriptions of its item; a stream that opens or closes
//! has to find one. What serves the walk best is one list without gaps. But
//! each stream that opens or closes in the midst of it moves half the list up
//! or down, on the thread that sends the updates: where 10,000 mounts watch
//! the same 1,000 items, one that leaves would keep all others waiting for 10
//! to 20 ms. So a long list is in rows, and no more than a row or two are
//! touched:
//!
//! ```text
//!   up to 2 subscriptions     | subscription | subscription |                  in the item itself
//!   up to 256         row ──► | subscription | subscription | ...      8 bytes each, no gaps
//!   more              rows ──► | row | row | ...
//! ```
//!
//! The walk takes row by row. A row is two kilobytes, so that what it costs to
//! come to the next one is shared by at least 64 subscriptions, as a rule by 128 to
//! 256; and the subscriptions know nothing of it. The room that is kept for subscriptions to
//! come follows the length of each row, not the longest there may be: half
//! full rows take no more than full ones.
//!
//! To leave empty subscriptions behind, to be swept out when they are many, would make
//! closing cheap as well. But opening in the midst would cost what it did, and
//! the sweep would still keep everybody waiting.

use super::rows::{Cell, ROW, Row, Rows};
use super::subscription::{Order, Subscription};

/// The subscriptions of an item, by their [order](Subscription::order).
#[derive(Debug, Default)]
pub(super) enum Subscriptions {
    #[default]
    None,
    One([Subscription; 1]),
    Two([Subscription; 2]),
    Row(Row),
    Rows(Box<Rows>),
}

impl Subscriptions {
    pub(super) const fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether there are two at most.
    #[inline]
    pub(super) const fn are_few(&self) -> bool {
        !matches!(self, Self::Row(_) | Self::Rows(_))
    }

    pub(super) fn len(&self) -> usize {
        self.rows().map(<[Subscription]>::len).sum()
    }

    /// The first row, and the others.
    #[inline]
    fn parts(&self) -> (&[Subscription], &[Row]) {
        match self {
            Self::None => (&[], &[]),
            Self::One(subscriptions) => (subscriptions, &[]),
            Self::Two(subscriptions) => (subscriptions, &[]),
            Self::Row(row) => (row.as_slice(), &[]),
            Self::Rows(rows) => match rows.as_slice() {
                [first, others @ ..] => (first.as_slice(), others),
                [] => (&[], &[]),
            },
        }
    }

    fn parts_mut(&mut self) -> (&mut [Subscription], &mut [Row]) {
        match self {
            Self::None => (&mut [], &mut []),
            Self::One(subscriptions) => (subscriptions, &mut []),
            Self::Two(subscriptions) => (subscriptions, &mut []),
            Self::Row(row) => (row.as_mut_slice(), &mut []),
            Self::Rows(rows) => match rows.as_mut_slice() {
                [first, others @ ..] => (first.as_mut_slice(), others),
                [] => (&mut [], &mut []),
            },
        }
    }

    /// Row by row.
    #[inline]
    pub(super) fn rows(&self) -> impl Iterator<Item = &[Subscription]> {
        let (first, others) = self.parts();
        core::iter::once(first).chain(others.iter().map(Row::as_slice))
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Subscription> {
        self.rows().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Subscription> {
        let (first, others) = self.parts_mut();
        first.iter_mut().chain(others.iter_mut().flat_map(Row::as_mut_slice))
    }

    fn row(&self, row: usize) -> &[Subscription] {
        let (first, others) = self.parts();
        match row.checked_sub(1) {
            None => first,
            Some(other) => others.get(other).map_or(&[], Row::as_slice),
        }
    }

    pub(super) fn get(&self, cell: Cell) -> Option<Subscription> {
        self.row(cell.row()).get(cell.column()).copied()
    }

    pub(super) fn get_mut(&mut self, cell: Cell) -> Option<&mut Subscription> {
        let (first, others) = self.parts_mut();
        let row = match cell.row().checked_sub(1) {
            None => first,
            Some(other) => others.get_mut(other)?.as_mut_slice(),
        };
        row.get_mut(cell.column())
    }

    /// The first subscription in a cell or behind it.
    pub(super) fn from(&self, cell: Cell) -> Option<(Cell, Subscription)> {
        let at = |cell| Some((cell, self.get(cell)?));
        at(cell).or_else(|| at(Cell::new(cell.row() + 1, 0)))
    }

    /// The row in which a subscription is or would be, and where in it.
    fn search(&self, order: Order) -> (usize, Result<usize, usize>) {
        let row = match self {
            Self::Rows(rows) => rows.row_of(order),
            _ => 0,
        };
        (row, self.row(row).binary_search_by_key(&order, |subscription| subscription.order()))
    }

    /// Where a subscription is.
    pub(super) fn find(&self, order: Order) -> Option<Cell> {
        let (row, column) = self.search(order);
        Some(Cell::new(row, column.ok()?))
    }

    /// The first subscription that is not before this order.
    pub(super) fn first_from(&self, order: Order) -> Option<(Cell, Subscription)> {
        let (row, Ok(column) | Err(column)) = self.search(order);
        self.from(Cell::new(row, column))
    }

    /// Adds a subscription, unless there is one of its order. Where it is then.
    pub(super) fn insert(&mut self, subscription: Subscription) -> Cell {
        let (row, column) = match self.search(subscription.order()) {
            (row, Ok(column)) => return Cell::new(row, column),
            (row, Err(column)) => (row, column),
        };
        match self {
            Self::None => *self = Self::One([subscription]),
            Self::One([other]) if column == 0 => *self = Self::Two([subscription, *other]),
            Self::One([other]) => *self = Self::Two([*other, subscription]),
            Self::Two(subscriptions) => {
                let mut row = Row::of(*subscriptions);
                row.insert(column, subscription);
                *self = Self::Row(row);
            }
            Self::Row(only) if only.len() < ROW => only.insert(column, subscription),
            Self::Row(only) => {
                let mut rows = Rows::of(core::mem::take(only));
                let cell = rows.insert(row, column, subscription);
                *self = Self::Rows(Box::new(rows));
                return cell;
            }
            Self::Rows(rows) => return rows.insert(row, column, subscription),
        }
        Cell::new(row, column)
    }

    /// Takes the subscription in a cell away, if there is one.
    pub(super) fn remove(&mut self, cell: Cell) -> Option<Subscription> {
        let subscription = self.get(cell)?;
        match self {
            Self::None => {}
            Self::One(_) => *self = Self::None,
            Self::Two(subscriptions) => *self = Self::One([subscriptions[1 - cell.column()]]),
            Self::Row(row) => {
                row.remove(cell.column());
                if let [one, two] = *row.as_slice() {
                    *self = Self::Two([one, two]);
                }
            }
            Self::Rows(rows) => {
                rows.remove(cell);
                if let Some(row) = rows.only() {
                    *self = Self::Row(row);
                }
            }
        }
        Some(subscription)
    }

    /// Panics where they are not in order, or rows not as full as they should.
    pub(super) fn check(&self) {
        assert!(self.iter().is_sorted_by(|a, b| a.order() < b.order()), "{self:?}");
        let lens: Vec<_> = self.rows().map(<[Subscription]>::len).collect();
        if lens.len() > 1 {
            assert!(lens.iter().all(|len| (1..=ROW).contains(len)), "{lens:?}");
            assert!(lens.windows(2).all(|pair| pair[0] + pair[1] > ROW / 2), "{lens:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn subscription(number: usize) -> Subscription {
        Subscription::new(number as u32 / 7, number as i32 % 7 - 3, true)
    }

    impl Subscriptions {
        fn capacity(&self) -> usize {
            match self {
                Self::None | Self::One(_) | Self::Two(_) => self.row(0).len(),
                Self::Row(row) => row.capacity(),
                Self::Rows(rows) => rows.as_slice().iter().map(Row::capacity).sum(),
            }
        }

        /// Where the rows lie in memory, with what is in them.
        fn lie(&self) -> BTreeSet<(usize, Vec<Order>)> {
            let orders = |row: &[Subscription]| {
                row.iter().map(|subscription| subscription.order()).collect()
            };
            self.rows().map(|row| (row.as_ptr().addr(), orders(row))).collect()
        }
    }

    #[test]
    fn two_subscriptions_take_no_more_than_none() {
        assert_eq!(size_of::<Subscriptions>(), 24);
    }

    /// What happens to so many subscriptions from a number on, every so many.
    #[derive(Clone, Copy, Debug)]
    struct Step {
        is_insert: bool,
        first: usize,
        count: usize,
        stride: usize,
    }

    fn step() -> impl Strategy<Value = Step> {
        let count = prop_oneof![0..4_usize, 0..700_usize];
        (any::<bool>(), 0..2_000_usize, count, 1..40_usize)
            .prop_map(|(is_insert, first, count, stride)| Step { is_insert, first, count, stride })
    }

    proptest! {
        #[test]
        fn they_are_a_set_in_order(steps in prop::collection::vec(step(), 0..12)) {
            let (mut subscriptions, mut known) = (Subscriptions::default(), BTreeSet::new());
            for Step { is_insert, first, count, stride } in steps {
                // Neither up nor down, all of them once.
                for number in (0..count).map(|at| first + at * stride % 1_999) {
                    let (subscription, order) = (subscription(number), subscription(number).order());
                    prop_assert_eq!(subscriptions.find(order).is_some(), known.contains(&order));
                    let after = known.range(order..).next();
                    let found = subscriptions.first_from(order).map(|(_, subscription)| subscription.order());
                    prop_assert_eq!(found.as_ref(), after);
                    if is_insert {
                        let cell = subscriptions.insert(subscription);
                        known.insert(order);
                        prop_assert_eq!(subscriptions.get(cell), Some(subscription));
                    } else if let Some(cell) = subscriptions.find(order) {
                        prop_assert_eq!(subscriptions.remove(cell), Some(subscription));
                        known.remove(&order);
                    }
                }
                subscriptions.check();
                prop_assert!(subscriptions.iter().map(|it| it.order()).eq(known.iter().copied()));
                let mut next = Cell::FIRST;
                for order in &known {
                    let (cell, subscription) = subscriptions.from(next).unwrap();
                    prop_assert_eq!(subscription.order(), *order);
                    prop_assert_eq!(subscriptions.get_mut(cell).map(|it| it.order()), Some(*order));
                    next = cell.next();
                }
                prop_assert!(subscriptions.from(next).is_none());
                prop_assert!(subscriptions.iter_mut().map(|it| it.order()).eq(known.iter().copied()));
                prop_assert_eq!(subscriptions.is_empty(), known.is_empty());
            }
        }
    }

    #[test]
    fn a_subscription_that_comes_or_goes_touches_two_rows_at_most() {
        const COUNT: usize = 2_000;
        // Every second one, in no order; then as many between them come and go.
        let mixed = |at: usize| at * 7_919 % COUNT;
        let mut subscriptions = Subscriptions::default();
        for at in 0..COUNT {
            subscriptions.insert(subscription(2 * mixed(at)));
        }
        for at in 0..COUNT {
            for is_insert in [true, false, at % 3 == 0] {
                let before = subscriptions.lie();
                let subscription = subscription(2 * mixed(at) + usize::from(at % 2 == 0));
                match subscriptions.find(subscription.order()) {
                    None if is_insert => _ = subscriptions.insert(subscription),
                    Some(cell) if !is_insert => _ = subscriptions.remove(cell),
                    _ => {}
                }
                let after = subscriptions.lie();
                assert!(before.difference(&after).count() <= 2);
                assert!(after.difference(&before).count() <= 2);
            }
            if at % 97 == 0 {
                subscriptions.check();
            }
        }
    }

    #[test]
    fn room_follows_the_number_of_subscriptions() {
        let mut subscriptions = Subscriptions::default();
        let mixed = |count: usize| count * 7_919 % 10_007;
        for count in 1..10_000 {
            subscriptions.insert(subscription(mixed(count)));
            assert!(subscriptions.capacity() <= count + count / 8 + 1, "{count}");
        }
        assert!(subscriptions.rows().count() <= 1 + 4 * 9_999 / ROW);
        for count in (1..10_000).rev() {
            let cell = subscriptions.find(subscription(mixed(count)).order()).unwrap();
            subscriptions.remove(cell);
            let rows = subscriptions.rows().count();
            assert!(subscriptions.capacity() <= 2 * (count - 1 + 8 * rows), "{count}");
            assert!(rows <= 1 + 4 * count / ROW, "{count}");
        }
        assert!(subscriptions.is_empty());
    }

    #[test]
    fn a_row_that_has_lost_its_last_subscription_is_gone() {
        for emptied in 0..3 {
            let mut subscriptions = Subscriptions::default();
            for number in 0..3 * ROW {
                subscriptions.insert(subscription(number));
            }
            for number in emptied * ROW..(emptied + 1) * ROW {
                let cell = subscriptions.find(subscription(number).order()).unwrap();
                subscriptions.remove(cell);
                subscriptions.check();
            }
            assert_eq!(
                subscriptions.rows().map(<[Subscription]>::len).collect::<Vec<_>>(),
                [ROW; 2]
            );
        }
    }

    #[test]
    fn mounts_that_come_one_after_the_other_fill_their_rows() {
        let mut subscriptions = Subscriptions::default();
        (0..10 * ROW).for_each(|number| {
            subscriptions.insert(subscription(number));
        });
        assert!(subscriptions.rows().all(|row| row.len() == ROW));
        assert_eq!((subscriptions.rows().count(), subscriptions.capacity()), (10, 10 * ROW));
    }
}
