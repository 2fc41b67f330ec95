//! The seats of an item, in order.

use super::watchers::Seat;

/// Most items have one watcher, or two: these lie in the item itself. For more
/// there is room for an eighth more than there are.
#[derive(Debug, Default)]
pub(super) enum Seats {
    #[default]
    None,
    One([Seat; 1]),
    Two([Seat; 2]),
    Many(Vec<Seat>),
}

/// Room that is kept for seats to come, beside so many.
const fn spare(count: usize) -> usize {
    if count < 8 { 1 } else { count / 8 }
}

impl Seats {
    #[inline]
    pub(super) fn as_slice(&self) -> &[Seat] {
        match self {
            Self::None => &[],
            Self::One(seats) => seats,
            Self::Two(seats) => seats,
            Self::Many(seats) => seats,
        }
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [Seat] {
        match self {
            Self::None => &mut [],
            Self::One(seats) => seats,
            Self::Two(seats) => seats,
            Self::Many(seats) => seats,
        }
    }

    /// Adds a seat at a place up to the end.
    pub(super) fn insert(&mut self, place: usize, seat: Seat) {
        match self {
            Self::None => *self = Self::One([seat]),
            Self::One([other]) if place == 0 => *self = Self::Two([seat, *other]),
            Self::One([other]) => *self = Self::Two([*other, seat]),
            Self::Two(seats) => {
                let mut many = Vec::with_capacity(3);
                many.extend_from_slice(seats);
                many.insert(place.min(2), seat);
                *self = Self::Many(many);
            }
            Self::Many(seats) => {
                if seats.len() == seats.capacity() {
                    seats.reserve_exact(spare(seats.len()));
                }
                seats.insert(place.min(seats.len()), seat);
            }
        }
    }

    /// Takes the seat at a place away, if there is one.
    pub(super) fn remove(&mut self, place: usize) -> Option<Seat> {
        let seat = *self.as_slice().get(place)?;
        match self {
            Self::None => {}
            Self::One(_) => *self = Self::None,
            Self::Two(seats) => *self = Self::One([seats[1 - place]]),
            Self::Many(seats) => {
                seats.remove(place);
                let count = seats.len();
                if let [one, two] = seats[..] {
                    *self = Self::Two([one, two]);
                } else if seats.capacity() > 2 * (count + 8) {
                    seats.shrink_to(count + spare(count));
                }
            }
        }
        Some(seat)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_seats_take_no_more_than_none() {
        assert_eq!(size_of::<Seats>(), 24);
    }

    proptest! {
        #[test]
        fn they_are_a_list(steps in prop::collection::vec((any::<bool>(), 0..8_usize, any::<i32>()), 0..60)) {
            let (mut seats, mut known) = (Seats::default(), Vec::new());
            for (is_insert, place, stream_id) in steps {
                let seat = Seat::new(1, stream_id);
                if is_insert {
                    let place = place.min(known.len());
                    seats.insert(place, seat);
                    known.insert(place, seat);
                } else {
                    let gone = (place < known.len()).then(|| known.remove(place));
                    prop_assert_eq!(seats.remove(place), gone);
                }
                prop_assert_eq!(seats.as_slice(), &known[..]);
                prop_assert_eq!(seats.as_mut_slice(), &mut known[..]);
            }
        }
    }

    #[test]
    fn room_follows_the_number_of_seats() {
        let mut seats = Seats::default();
        let capacity = |seats: &Seats| match seats {
            Seats::Many(seats) => seats.capacity(),
            few => few.as_slice().len(),
        };
        for count in 1..10_000 {
            seats.insert(0, Seat::new(1, 1));
            assert!(capacity(&seats) <= count + count / 8 + 1, "{count}");
        }
        for count in (0..9_999).rev() {
            seats.remove(count / 2);
            assert!(capacity(&seats) <= 2 * (count + 8), "{count}");
        }
        assert!(seats.as_slice().is_empty());
    }
}
