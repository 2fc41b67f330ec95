//! The seats of an item, in order.
//!
//! An update walks over all seats of its item; a stream that opens or closes
//! has to find one. What serves the walk best is one list without gaps. But
//! each stream that opens or closes in the midst of it moves half the list up
//! or down, on the thread that sends the updates: where 10,000 mounts watch
//! the same 1,000 items, one that leaves would keep all others waiting for 10
//! to 20 ms. So a long list is in rows, and no more than a row or two are
//! touched:
//!
//! ```text
//!   up to 2 seats     | seat | seat |                  in the item itself
//!   up to 256         row ──► | seat | seat | ...      8 bytes each, no gaps
//!   more              rows ──► | row | row | ...
//! ```
//!
//! The walk takes row by row. A row is two kilobytes, so that what it costs to
//! come to the next one is shared by at least 64 seats, as a rule by 128 to
//! 256; and the seats know nothing of it. The room that is kept for seats to
//! come follows the length of each row, not the longest there may be: half
//! full rows take no more than full ones.
//!
//! To leave empty seats behind, to be swept out when they are many, would make
//! closing cheap as well. But opening in the midst would cost what it did, and
//! the sweep would still keep everybody waiting.

use super::rows::{Place, ROW, Row, Rows};
use super::seat::{Order, Seat};

/// The seats of an item, by their [order](Seat::order).
#[derive(Debug, Default)]
pub(super) enum Seats {
    #[default]
    None,
    One([Seat; 1]),
    Two([Seat; 2]),
    Row(Row),
    Rows(Box<Rows>),
}

impl Seats {
    pub(super) const fn is_empty(&self) -> bool {
        matches!(self, Self::None)
    }

    pub(super) fn len(&self) -> usize {
        self.rows().map(<[Seat]>::len).sum()
    }

    /// The first row, and the others.
    #[inline]
    fn parts(&self) -> (&[Seat], &[Row]) {
        match self {
            Self::None => (&[], &[]),
            Self::One(seats) => (seats, &[]),
            Self::Two(seats) => (seats, &[]),
            Self::Row(row) => (row.as_slice(), &[]),
            Self::Rows(rows) => match rows.as_slice() {
                [first, others @ ..] => (first.as_slice(), others),
                [] => (&[], &[]),
            },
        }
    }

    fn parts_mut(&mut self) -> (&mut [Seat], &mut [Row]) {
        match self {
            Self::None => (&mut [], &mut []),
            Self::One(seats) => (seats, &mut []),
            Self::Two(seats) => (seats, &mut []),
            Self::Row(row) => (row.as_mut_slice(), &mut []),
            Self::Rows(rows) => match rows.as_mut_slice() {
                [first, others @ ..] => (first.as_mut_slice(), others),
                [] => (&mut [], &mut []),
            },
        }
    }

    /// Row by row.
    #[inline]
    pub(super) fn rows(&self) -> impl Iterator<Item = &[Seat]> {
        let (first, others) = self.parts();
        core::iter::once(first).chain(others.iter().map(Row::as_slice))
    }

    #[inline]
    pub(super) fn iter(&self) -> impl Iterator<Item = &Seat> {
        self.rows().flatten()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Seat> {
        let (first, others) = self.parts_mut();
        first.iter_mut().chain(others.iter_mut().flat_map(Row::as_mut_slice))
    }

    fn row(&self, row: usize) -> &[Seat] {
        let (first, others) = self.parts();
        match row.checked_sub(1) {
            None => first,
            Some(other) => others.get(other).map_or(&[], Row::as_slice),
        }
    }

    pub(super) fn get(&self, place: Place) -> Option<Seat> {
        self.row(place.row()).get(place.column()).copied()
    }

    pub(super) fn get_mut(&mut self, place: Place) -> Option<&mut Seat> {
        let (first, others) = self.parts_mut();
        let row = match place.row().checked_sub(1) {
            None => first,
            Some(other) => others.get_mut(other)?.as_mut_slice(),
        };
        row.get_mut(place.column())
    }

    /// The first seat at a place or behind it.
    pub(super) fn from(&self, place: Place) -> Option<(Place, Seat)> {
        let at = |place| Some((place, self.get(place)?));
        at(place).or_else(|| at(Place::new(place.row() + 1, 0)))
    }

    /// The row in which a seat is or would be, and where in it.
    fn search(&self, order: Order) -> (usize, Result<usize, usize>) {
        let row = match self {
            Self::Rows(rows) => rows.row_of(order),
            _ => 0,
        };
        (row, self.row(row).binary_search_by_key(&order, |seat| seat.order()))
    }

    /// Where a seat is.
    pub(super) fn find(&self, order: Order) -> Option<Place> {
        let (row, column) = self.search(order);
        Some(Place::new(row, column.ok()?))
    }

    /// The first seat that is not before this order.
    pub(super) fn first_from(&self, order: Order) -> Option<(Place, Seat)> {
        let (row, Ok(column) | Err(column)) = self.search(order);
        self.from(Place::new(row, column))
    }

    /// Adds a seat, unless there is one of its order. Where it is then.
    pub(super) fn insert(&mut self, seat: Seat) -> Place {
        let (row, column) = match self.search(seat.order()) {
            (row, Ok(column)) => return Place::new(row, column),
            (row, Err(column)) => (row, column),
        };
        match self {
            Self::None => *self = Self::One([seat]),
            Self::One([other]) if column == 0 => *self = Self::Two([seat, *other]),
            Self::One([other]) => *self = Self::Two([*other, seat]),
            Self::Two(seats) => {
                let mut row = Row::of(*seats);
                row.insert(column, seat);
                *self = Self::Row(row);
            }
            Self::Row(only) if only.len() < ROW => only.insert(column, seat),
            Self::Row(only) => {
                let mut rows = Rows::of(core::mem::take(only));
                let place = rows.insert(row, column, seat);
                *self = Self::Rows(Box::new(rows));
                return place;
            }
            Self::Rows(rows) => return rows.insert(row, column, seat),
        }
        Place::new(row, column)
    }

    /// Takes the seat at a place away, if there is one.
    pub(super) fn remove(&mut self, place: Place) -> Option<Seat> {
        let seat = self.get(place)?;
        match self {
            Self::None => {}
            Self::One(_) => *self = Self::None,
            Self::Two(seats) => *self = Self::One([seats[1 - place.column()]]),
            Self::Row(row) => {
                row.remove(place.column());
                if let [one, two] = *row.as_slice() {
                    *self = Self::Two([one, two]);
                }
            }
            Self::Rows(rows) => {
                rows.remove(place);
                if let Some(row) = rows.only() {
                    *self = Self::Row(row);
                }
            }
        }
        Some(seat)
    }

    /// Panics where they are not in order, or rows not as full as they should.
    pub(super) fn check(&self) {
        assert!(self.iter().is_sorted_by(|a, b| a.order() < b.order()), "{self:?}");
        let lens: Vec<_> = self.rows().map(<[Seat]>::len).collect();
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

    fn seat(number: usize) -> Seat {
        Seat::new(number as u32 / 7, number as i32 % 7 - 3, true)
    }

    impl Seats {
        fn capacity(&self) -> usize {
            match self {
                Self::None | Self::One(_) | Self::Two(_) => self.row(0).len(),
                Self::Row(row) => row.capacity(),
                Self::Rows(rows) => rows.as_slice().iter().map(Row::capacity).sum(),
            }
        }

        /// Where the rows lie in memory, with what is in them.
        fn lie(&self) -> BTreeSet<(usize, Vec<Order>)> {
            let orders = |row: &[Seat]| row.iter().map(|seat| seat.order()).collect();
            self.rows().map(|row| (row.as_ptr().addr(), orders(row))).collect()
        }
    }

    #[test]
    fn two_seats_take_no_more_than_none() {
        assert_eq!(size_of::<Seats>(), 24);
    }

    /// What happens to so many seats from a number on, every so many.
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
            let (mut seats, mut known) = (Seats::default(), BTreeSet::new());
            for Step { is_insert, first, count, stride } in steps {
                // Neither up nor down, all of them once.
                for number in (0..count).map(|at| first + at * stride % 1_999) {
                    let (seat, order) = (seat(number), seat(number).order());
                    prop_assert_eq!(seats.find(order).is_some(), known.contains(&order));
                    let after = known.range(order..).next();
                    let found = seats.first_from(order).map(|(_, seat)| seat.order());
                    prop_assert_eq!(found.as_ref(), after);
                    if is_insert {
                        let place = seats.insert(seat);
                        known.insert(order);
                        prop_assert_eq!(seats.get(place), Some(seat));
                    } else if let Some(place) = seats.find(order) {
                        prop_assert_eq!(seats.remove(place), Some(seat));
                        known.remove(&order);
                    }
                }
                seats.check();
                prop_assert!(seats.iter().map(|seat| seat.order()).eq(known.iter().copied()));
                let mut next = Place::FIRST;
                for order in &known {
                    let (place, seat) = seats.from(next).unwrap();
                    prop_assert_eq!(seat.order(), *order);
                    prop_assert_eq!(seats.get_mut(place).map(|seat| seat.order()), Some(*order));
                    next = place.next();
                }
                prop_assert!(seats.from(next).is_none());
                prop_assert!(seats.iter_mut().map(|seat| seat.order()).eq(known.iter().copied()));
                prop_assert_eq!(seats.is_empty(), known.is_empty());
            }
        }
    }

    #[test]
    fn a_seat_that_comes_or_goes_touches_two_rows_at_most() {
        const COUNT: usize = 2_000;
        // Every second one, in no order; then as many between them come and go.
        let mixed = |at: usize| at * 7_919 % COUNT;
        let mut seats = Seats::default();
        for at in 0..COUNT {
            seats.insert(seat(2 * mixed(at)));
        }
        for at in 0..COUNT {
            for is_insert in [true, false, at % 3 == 0] {
                let before = seats.lie();
                let seat = seat(2 * mixed(at) + usize::from(at % 2 == 0));
                match seats.find(seat.order()) {
                    None if is_insert => _ = seats.insert(seat),
                    Some(place) if !is_insert => _ = seats.remove(place),
                    _ => {}
                }
                let after = seats.lie();
                assert!(before.difference(&after).count() <= 2);
                assert!(after.difference(&before).count() <= 2);
            }
            if at % 97 == 0 {
                seats.check();
            }
        }
    }

    #[test]
    fn room_follows_the_number_of_seats() {
        let mut seats = Seats::default();
        let mixed = |count: usize| count * 7_919 % 10_007;
        for count in 1..10_000 {
            seats.insert(seat(mixed(count)));
            assert!(seats.capacity() <= count + count / 8 + 1, "{count}");
        }
        assert!(seats.rows().count() <= 1 + 4 * 9_999 / ROW);
        for count in (1..10_000).rev() {
            let place = seats.find(seat(mixed(count)).order()).unwrap();
            seats.remove(place);
            let rows = seats.rows().count();
            assert!(seats.capacity() <= 2 * (count - 1 + 8 * rows), "{count}");
            assert!(rows <= 1 + 4 * count / ROW, "{count}");
        }
        assert!(seats.is_empty());
    }

    #[test]
    fn a_row_that_has_lost_its_last_seat_is_gone() {
        for emptied in 0..3 {
            let mut seats = Seats::default();
            for number in 0..3 * ROW {
                seats.insert(seat(number));
            }
            for number in emptied * ROW..(emptied + 1) * ROW {
                let place = seats.find(seat(number).order()).unwrap();
                seats.remove(place);
                seats.check();
            }
            assert_eq!(seats.rows().map(<[Seat]>::len).collect::<Vec<_>>(), [ROW; 2]);
        }
    }

    #[test]
    fn mounts_that_come_one_after_the_other_fill_their_rows() {
        let mut seats = Seats::default();
        (0..10 * ROW).for_each(|number| {
            seats.insert(seat(number));
        });
        assert!(seats.rows().all(|row| row.len() == ROW));
        assert_eq!((seats.rows().count(), seats.capacity()), (10, 10 * ROW));
    }
}
