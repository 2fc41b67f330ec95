//! Where users are logged in, over all servers of a process.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A position of a user, by a number that no other ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeatId(u64);

/// Where users are logged in. Mounts of a user from one position have one seat.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    taken: Mutex<Taken>,
    /// Counts seats that were taken away, so that who has none need not lock.
    vacated: AtomicUsize,
}

/// The seats that are taken.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Of each user, the oldest first.
    users: HashMap<Box<str>, Vec<Seat>>,
    /// Taken away, and their mounts are not gone yet.
    vacated: BTreeMap<SeatId, usize>,
    next: u64,
}

#[derive(Debug)]
struct Seat {
    id: SeatId,
    position: Box<str>,
    mounts: usize,
}

impl Seats {
    /// The seats, for as long as a login is decided.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Taken> {
        // Nothing in here panics half-way: what is behind a poisoned lock is whole.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many seats were ever taken away.
    pub(crate) fn vacated(&self) -> usize {
        self.vacated.load(Ordering::Relaxed)
    }

    /// Takes the oldest seat of a user away: its mounts are to end.
    pub(crate) fn vacate_oldest(&self, taken: &mut Taken, user: &str) {
        let Some(seats) = taken.users.get_mut(user).filter(|seats| !seats.is_empty()) else {
            return;
        };
        let Seat { id, mounts, .. } = seats.remove(0);
        taken.vacated.insert(id, mounts);
        self.vacated.fetch_add(1, Ordering::Relaxed);
    }
}

impl Taken {
    /// The positions of a user but for one seat, the oldest first.
    pub(crate) fn others(&self, user: &str, own: Option<SeatId>) -> Vec<&str> {
        let seats = self.users.get(user).into_iter().flatten();
        seats.filter(|seat| Some(seat.id) != own).map(|seat| &*seat.position).collect()
    }

    /// A mount of a user logs in at a position.
    pub(crate) fn sit(&mut self, user: &str, position: &str) -> SeatId {
        let id = SeatId(self.next);
        if !self.users.contains_key(user) {
            self.users.insert(user.into(), Vec::new());
        }
        let Some(seats) = self.users.get_mut(user) else { return id };
        if let Some(seat) = seats.iter_mut().find(|seat| &*seat.position == position) {
            seat.mounts += 1;
            return seat.id;
        }
        self.next += 1;
        seats.push(Seat { id, position: position.into(), mounts: 1 });
        id
    }

    /// A mount of a user is gone.
    pub(crate) fn rise(&mut self, user: &str, id: SeatId) {
        if let Some(mounts) = self.vacated.get_mut(&id) {
            *mounts -= 1;
            if *mounts == 0 {
                self.vacated.remove(&id);
            }
            return;
        }
        let Some(seats) = self.users.get_mut(user) else { return };
        if let Some(at) = seats.iter().position(|seat| seat.id == id) {
            seats[at].mounts -= 1;
            if seats[at].mounts == 0 {
                seats.remove(at);
            }
        }
        if seats.is_empty() {
            self.users.remove(user);
        }
    }

    /// Whether a seat was taken away.
    pub(crate) fn is_vacated(&self, id: SeatId) -> bool {
        self.vacated.contains_key(&id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_from_one_position_have_one_seat() {
        let seats = Seats::default();
        let mut taken = seats.lock();
        let (one, two) = (taken.sit("ann", "a"), taken.sit("ann", "b"));
        assert_eq!((taken.sit("ann", "a"), one == two), (one, false));
        assert_eq!(taken.others("ann", None), ["a", "b"]);
        assert_eq!(taken.others("ann", Some(one)), ["b"]);
        taken.rise("ann", one);
        assert_eq!(taken.others("ann", Some(two)), ["a"], "one mount is left there");
        taken.rise("ann", one);
        taken.rise("ann", two);
        assert!(taken.users.is_empty());
    }

    #[test]
    fn a_seat_that_is_taken_away_does_not_count_while_its_mounts_end() {
        let seats = Seats::default();
        let mut taken = seats.lock();
        let old = taken.sit("ann", "a");
        seats.vacate_oldest(&mut taken, "ann");
        assert!(taken.is_vacated(old) && taken.others("ann", None).is_empty());
        let new = taken.sit("ann", "a");
        assert!(new != old && !taken.is_vacated(new));
        taken.rise("ann", old);
        assert_eq!(taken.others("ann", None), ["a"], "not the seat of the one that left");
        assert!(taken.vacated.is_empty());
        assert_eq!(seats.vacated(), 1);
    }
}
