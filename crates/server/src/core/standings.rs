//! How the items stand that each mount watches, and each user over all of its mounts.

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
    /// The place of its user.
    user: u32,
}

/// What the place of a user stands for.
#[derive(Clone, Copy, Debug)]
struct OfUser {
    standing: Standing,
    /// The last of its mounts that came, unless it has left since.
    mount: u32,
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

    /// One of the mounts of a user.
    pub(super) fn a_mount_of(&self, place: u32) -> Option<u32> {
        let last = self.of_users.get(place as usize).map_or(NOBODY, |user| user.mount);
        let all = || self.of_mounts.iter().position(|mount| mount.user == place);
        if last == NOBODY { all().map(|number| number as u32) } else { Some(last) }
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
        let mount = self.entry(number);
        mount.user = place;
        let standing = mount.standing;
        if place as usize >= self.of_users.len() {
            let none = OfUser { standing: Standing::default(), mount: NOBODY };
            self.of_users.resize(place as usize + 1, none);
        }
        let user = &mut self.of_users[place as usize];
        user.mount = number;
        user.standing.active += standing.active;
        user.standing.stale += standing.stale;
    }

    /// What a mount watches belongs to nobody from now on. Returns the place of the
    /// user that it belonged to.
    pub(super) fn leave(&mut self, number: u32) -> Option<u32> {
        let mount = self.entry(number);
        let place = core::mem::replace(&mut mount.user, NOBODY);
        let standing = mount.standing;
        let user = self.of_users.get_mut(place as usize)?;
        if user.mount == number {
            user.mount = NOBODY;
        }
        user.standing.active -= standing.active;
        user.standing.stale -= standing.stale;
        Some(place)
    }

    fn entry(&mut self, number: u32) -> &mut OfMount {
        let number = number as usize;
        if number >= self.of_mounts.len() {
            let none = OfMount { standing: Standing::default(), user: NOBODY };
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
            let mount = self.of_mounts.get(known.mount as usize);
            assert!(mount.is_none_or(|mount| mount.user == place), "the mount of user {place}");
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
        assert_eq!(all.a_mount_of(1), Some(2));
        all.leave(2);
        assert_eq!((all.a_mount_of(1), all.a_mount_of(0)), (Some(0), None));
        all.enter(2, 1);
        all.check([(0, OK), (2, OK), (2, SUSPECT), (2, None)].into_iter());
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
