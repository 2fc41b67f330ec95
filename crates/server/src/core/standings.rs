//! How the items stand that each mount watches, and each user over all of its mounts.

use std::collections::BTreeSet;

use tapeline_rwf::DataState;

/// No user, and no mount.
const NOBODY: u32 = u32::MAX;

/// How many watched items stand so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Standing {
    /// With the data state OK.
    pub(super) active: u32,
    /// With the data state SUSPECT.
    pub(super) stale: u32,
}

impl Standing {
    /// Where an item with this data state counts; `None`: nothing was heard of it.
    const fn part(&mut self, data: Option<DataState>) -> Option<&mut u32> {
        match data {
            None => None,
            Some(DataState::OK) => Some(&mut self.active),
            Some(_) => Some(&mut self.stale),
        }
    }

    fn add(&mut self, data: Option<DataState>) {
        self.part(data).into_iter().for_each(|count| *count += 1);
    }

    fn sub(&mut self, data: Option<DataState>) {
        self.part(data).into_iter().for_each(|count| *count -= 1);
    }
}

/// What the number of a mount stands for.
#[derive(Clone, Copy, Debug)]
struct OfMount {
    standing: Standing,
    /// The place of its user,
    user: u32,
    /// whose other mounts are a list: the one that came before this one,
    before: u32,
    /// and the one that came after it.
    after: u32,
}

/// What the place of a user stands for.
#[derive(Clone, Copy, Debug)]
struct OfUser {
    standing: Standing,
    /// The last of its mounts that came.
    last: u32,
}

/// Those of all mounts, by their numbers, and of all users, by their places. They
/// change when a subscription comes or goes, and when the data state of an item
/// does, never with an update.
#[derive(Debug, Default)]
pub(super) struct Standings {
    of_mounts: Vec<OfMount>,
    of_users: Vec<OfUser>,
}

impl Standings {
    /// That of a mount.
    pub(super) fn of_mount(&self, number: u32) -> Standing {
        self.of_mounts.get(number as usize).map(|it| it.standing).unwrap_or_default()
    }

    /// That of a user.
    pub(super) fn of_user(&self, place: u32) -> Standing {
        self.of_users.get(place as usize).map(|it| it.standing).unwrap_or_default()
    }

    /// The mounts of a user, the last one that came first.
    pub(super) fn mounts_of(&self, place: u32) -> impl Iterator<Item = u32> + '_ {
        let last = self.of_users.get(place as usize).map(|user| user.last);
        let there = |number: u32| Some(number).filter(|number| *number != NOBODY);
        core::iter::successors(last.and_then(there), move |number| {
            there(self.of_mounts.get(*number as usize)?.before)
        })
    }

    /// A mount watches one more item with this data state.
    pub(super) fn add(&mut self, number: u32, data: Option<DataState>) {
        self.change(number, |standing| standing.add(data));
    }

    /// It watches one fewer.
    pub(super) fn sub(&mut self, number: u32, data: Option<DataState>) {
        self.change(number, |standing| standing.sub(data));
    }

    fn change(&mut self, number: u32, change: impl Fn(&mut Standing)) {
        let mount = self.entry(number);
        change(&mut mount.standing);
        let user = mount.user as usize;
        if let Some(user) = self.of_users.get_mut(user) {
            change(&mut user.standing);
        }
    }

    /// What a mount watches belongs to the user at a place from now on.
    pub(super) fn enter(&mut self, number: u32, place: u32) {
        self.leave(number);
        if place as usize >= self.of_users.len() {
            let none = OfUser { standing: Standing::default(), last: NOBODY };
            self.of_users.resize(place as usize + 1, none);
        }
        let standing = self.of_mount(number);
        let user = &mut self.of_users[place as usize];
        user.standing.active += standing.active;
        user.standing.stale += standing.stale;
        let before = core::mem::replace(&mut user.last, number);
        let mount = self.entry(number);
        (mount.user, mount.before) = (place, before);
        if let Some(before) = self.of_mounts.get_mut(before as usize) {
            before.after = number;
        }
    }

    /// What a mount watches belongs to nobody from now on. Returns the place of the
    /// user that it belonged to.
    pub(super) fn leave(&mut self, number: u32) -> Option<u32> {
        let mount = self.entry(number);
        let place = core::mem::replace(&mut mount.user, NOBODY);
        let before = core::mem::replace(&mut mount.before, NOBODY);
        let after = core::mem::replace(&mut mount.after, NOBODY);
        let standing = mount.standing;
        if let Some(before) = self.of_mounts.get_mut(before as usize) {
            before.after = after;
        }
        if let Some(after) = self.of_mounts.get_mut(after as usize) {
            after.before = before;
        }
        let user = self.of_users.get_mut(place as usize)?;
        if user.last == number {
            user.last = before;
        }
        user.standing.active -= standing.active;
        user.standing.stale -= standing.stale;
        Some(place)
    }

    fn entry(&mut self, number: u32) -> &mut OfMount {
        let number = number as usize;
        if number >= self.of_mounts.len() {
            let standing = Standing::default();
            let none = OfMount { standing, user: NOBODY, before: NOBODY, after: NOBODY };
            self.of_mounts.resize(number + 1, none);
        }
        &mut self.of_mounts[number]
    }

    /// Panics if they are others than of these subscriptions: the number of the mount
    /// and the data state of the item.
    pub(super) fn check(&self, watched: impl Iterator<Item = (u32, Option<DataState>)>) {
        let mut counted = Self::default();
        watched.for_each(|(number, data)| counted.add(number, data));
        let mut of_users = vec![Standing::default(); self.of_users.len()];
        for number in 0..self.of_mounts.len().max(counted.of_mounts.len()) as u32 {
            let (known, expected) = (self.of_mount(number), counted.of_mount(number));
            assert_eq!(known, expected, "how the items of mount {number} stand");
            let place = self.of_mounts.get(number as usize).map_or(NOBODY, |mount| mount.user);
            if let Some(user) = of_users.get_mut(place as usize) {
                user.active += known.active;
                user.stale += known.stale;
            }
        }
        for (place, (known, expected)) in (0..).zip(self.of_users.iter().zip(of_users)) {
            assert_eq!(known.standing, expected, "how the items of user {place} stand");
            let all: BTreeSet<u32> = self.mounts_of(place).collect();
            let is_its = |number: &u32| self.of_mounts[*number as usize].user == place;
            let its: BTreeSet<u32> = (0..self.of_mounts.len() as u32).filter(is_its).collect();
            assert_eq!(all, its, "the mounts of user {place}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: Option<DataState> = Some(DataState::OK);
    const SUSPECT: Option<DataState> = Some(DataState::SUSPECT);

    fn standing(active: u32, stale: u32) -> Standing {
        Standing { active, stale }
    }

    #[test]
    fn what_the_mounts_of_a_user_watch_is_counted_together() {
        let mut all = Standings::default();
        for number in [0, 2] {
            all.enter(number, 1);
            all.add(number, OK);
        }
        all.add(2, SUSPECT);
        all.add(2, None);
        assert_eq!((all.of_mount(0), all.of_mount(2)), (standing(1, 0), standing(1, 1)));
        assert_eq!(all.of_user(1), standing(2, 1));
        let mounts_of = |all: &Standings, place| all.mounts_of(place).collect::<Vec<_>>();
        assert_eq!(mounts_of(&all, 1), [2, 0]);
        all.leave(2);
        assert_eq!((mounts_of(&all, 1), mounts_of(&all, 0)), (vec![0], vec![]));
        all.enter(2, 1);
        all.check([(0, OK), (2, OK), (2, SUSPECT), (2, None)].into_iter());
    }

    #[test]
    fn each_user_has_a_list_of_its_mounts_whichever_leaves() {
        for leaver in 0..4 {
            let mut all = Standings::default();
            (0..4).for_each(|number| all.enter(number, 0));
            all.enter(leaver, 1);
            let left: Vec<_> = (0..4).rev().filter(|number| *number != leaver).collect();
            assert_eq!(all.mounts_of(0).collect::<Vec<_>>(), left);
            assert_eq!(all.mounts_of(1).collect::<Vec<_>>(), [leaver]);
            all.enter(leaver, 0);
            assert_eq!(all.mounts_of(0).next(), Some(leaver));
            all.check(std::iter::empty());
        }
    }

    #[test]
    fn a_mount_takes_its_items_to_another_user() {
        let mut all = Standings::default();
        all.enter(0, 0);
        all.add(0, OK);
        all.enter(0, 1);
        assert_eq!((all.of_user(0), all.of_user(1)), (standing(0, 0), standing(1, 0)));
        assert_eq!((all.leave(0), all.leave(0)), (Some(1), None));
        assert_eq!((all.of_user(1), all.of_mount(0)), (standing(0, 0), standing(1, 0)));
        all.sub(0, OK);
        all.check(std::iter::empty());
    }
}
