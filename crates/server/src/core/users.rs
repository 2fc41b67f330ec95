//! What each user has, over all mounts.

use tapeline_omm::Text;
use tapeline_time::Time;

use super::map::Map;
use super::mount::Login;
use super::rate::Rate;
use crate::seats::Seats;
use crate::siblings::{SharedCount, Siblings};

/// What a user has asked for at this server since it came, counted by streams of items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Streams that were opened,
    pub(crate) opens: u64,
    /// of these for an image alone,
    pub(crate) snapshots: u64,
    /// with a view,
    pub(crate) views: u64,
    /// and of mounts that leave recovery to the server.
    pub(crate) recoverable: u64,
    /// Items that the policy denied, or took away,
    pub(crate) denied: u64,
    /// and streams that ended,
    pub(crate) closes: u64,
    /// and of these, those of such mounts.
    pub(crate) recoverable_closes: u64,
}

/// The most that a user had at this server and its siblings since it came here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Most {
    pub(crate) mounts: usize,
    pub(crate) items: usize,
}

/// What one user has.
#[derive(Debug)]
struct User {
    name: Text,
    /// What an operator sees in place of the name.
    shown: Text,
    mounts: SharedCount,
    items: SharedCount,
    most: Most,
    asked: Asked,
    /// How fast it asks for snapshots.
    snapshots: Rate,
}

impl User {
    /// It has more than before, perhaps more than ever.
    fn note_most(&mut self) {
        let Most { mounts, items } = self.most;
        self.most =
            Most { mounts: mounts.max(self.mounts.total()), items: items.max(self.items.total()) };
    }
}

/// The users of all mounts, by what they are counted by: a name, or a token
/// where that stands for it.
#[derive(Debug, Default)]
pub(super) struct Users {
    /// Places of those with a mount on this server.
    here: Map<Text, u32>,
    /// What they have, in places that stay, to look through in slices.
    list: Vec<Option<User>>,
    free: Vec<u32>,
    /// The place of who was looked for last: streams of one mount follow each other where
    /// many end or are opened at once, and comparing a name is cheaper than hashing it.
    last: u32,
    siblings: Siblings,
}

impl Users {
    /// Those of a server that has siblings.
    pub(super) fn with(siblings: Siblings) -> Self {
        Self { siblings, ..Self::default() }
    }

    /// Mounts of a user at this server and its siblings.
    pub(super) fn mounts_of(&self, name: &[u8]) -> usize {
        match self.get(name) {
            Some(user) => user.mounts.total(),
            None => self.elsewhere(name).0,
        }
    }

    /// Items of a user at this server and its siblings.
    pub(super) fn items_of(&self, name: &[u8]) -> usize {
        match self.get(name) {
            Some(user) => user.items.total(),
            None => self.elsewhere(name).1,
        }
    }

    fn elsewhere(&self, name: &[u8]) -> (usize, usize) {
        let (mounts, items) = self.siblings.user(name);
        let counts = (mounts.total(), items.total());
        drop((mounts, items));
        self.siblings.forget_user(name);
        counts
    }

    fn get(&self, name: &[u8]) -> Option<&User> {
        let place = *self.here.get(name)?;
        self.list[place as usize].as_ref()
    }

    fn get_mut(&mut self, name: &[u8]) -> Option<&mut User> {
        let last = self.list.get(self.last as usize).and_then(Option::as_ref);
        if last.is_none_or(|user| user.name.as_bytes() != name) {
            self.last = *self.here.get(name)?;
        }
        self.list[self.last as usize].as_mut()
    }

    fn add(&mut self, name: &[u8]) {
        let (mounts, items) = self.siblings.user(name);
        let (name, asked) = (Text::from(name), Asked::default());
        let snapshots = Rate::default();
        let shown = name.clone();
        let (name_of, most) = (name.clone(), Most::default());
        let user = Some(User { shown, name: name_of, mounts, items, most, asked, snapshots });
        let place = match self.free.pop() {
            Some(place) => {
                self.list[place as usize] = user;
                place
            }
            None => {
                self.list.push(user);
                self.list.len() as u32 - 1
            }
        };
        self.here.insert(name, place);
    }

    /// A mount of a user logs in, with so many items. Returns whether it may: a
    /// user has at most `max` mounts.
    pub(super) fn join(&mut self, name: &[u8], items: usize, max: Option<usize>) -> bool {
        if !self.here.contains_key(name) {
            self.add(name);
        }
        let Some(user) = self.get_mut(name) else { return false };
        let is_in = user.mounts.claim(max.unwrap_or(usize::MAX));
        if is_in {
            user.items.add(items);
            user.note_most();
        } else if user.mounts.own() == 0 {
            self.forget(name);
        }
        is_in
    }

    /// A mount of a user is gone, or logs in as another, with so many items.
    pub(super) fn leave(&mut self, name: &[u8], items: usize) {
        let Some(user) = self.get_mut(name) else {
            debug_assert!(false, "a mount of a user that is not known");
            return;
        };
        user.mounts.sub(1);
        user.items.sub(items);
        if user.mounts.own() == 0 {
            self.forget(name);
        }
    }

    fn forget(&mut self, name: &[u8]) {
        if let Some(place) = self.here.remove(name) {
            self.list[place as usize] = None;
            self.free.push(place);
        }
        self.siblings.forget_user(name);
    }

    /// Who was logged in on a mount is not any more.
    pub(super) fn log_out(&mut self, login: &Login, items: usize) {
        if let Some(seat) = login.seat {
            self.seats().lock().rise(&login.identity.user, seat);
        }
        self.leave(login.user(), items);
    }

    /// Where users are logged in.
    pub(super) fn seats(&self) -> &Seats {
        self.siblings.seats()
    }

    /// An operator sees a user under this name.
    pub(super) fn show_as(&mut self, name: &[u8], shown: Text) {
        if let Some(user) = self.get_mut(name) {
            user.shown = shown;
        }
    }

    /// The place of a user in the list.
    pub(super) fn place(&self, name: &[u8]) -> Option<u32> {
        self.here.get(name).copied()
    }

    /// Places of the list are below this one.
    pub(super) const fn places(&self) -> u32 {
        self.list.len() as u32
    }

    /// The user at a place of the list, as an operator sees it: name, mounts and
    /// items at this server, and what it asked for.
    pub(super) fn at(&self, place: u32) -> Option<(&Text, usize, usize, Asked)> {
        let user = self.list.get(place as usize)?.as_ref()?;
        Some((&user.shown, user.mounts.own(), user.items.own(), user.asked))
    }

    /// The most that the user at a place of the list had.
    pub(super) fn most_at(&self, place: u32) -> Option<Most> {
        Some(self.list.get(place as usize)?.as_ref()?.most)
    }

    /// Takes a snapshot of those that a user may have in a second at all servers, if
    /// there is one now.
    pub(super) fn take_snapshot(&mut self, name: &[u8], now: Time, per_s: u32) -> bool {
        let per_s = self.own_part(per_s);
        self.get_mut(name).is_none_or(|user| user.snapshots.take(now, per_s))
    }

    /// When there is the next one; `None`: now.
    pub(super) fn next_snapshot(&self, name: &[u8], now: Time, per_s: u32) -> Option<Time> {
        self.get(name)?.snapshots.next(now, self.own_part(per_s))
    }

    /// What this server may of what all its siblings may together.
    fn own_part(&self, per_s: u32) -> u32 {
        (per_s / self.siblings.servers() as u32).max(1)
    }

    /// A user has one more item open; `note` says how.
    pub(super) fn open_item(&mut self, name: &[u8], note: impl FnOnce(&mut Asked)) {
        if let Some(user) = self.get_mut(name) {
            user.items.add(1);
            user.note_most();
            note(&mut user.asked);
        }
    }

    /// The policy denies a user an item, or takes one away.
    pub(super) fn deny(&mut self, name: &[u8]) {
        if let Some(user) = self.get_mut(name) {
            user.asked.denied += 1;
        }
    }

    /// A user has so many items open no more; `note` says how.
    pub(super) fn close_items(&mut self, name: &[u8], count: usize, note: impl FnOnce(&mut Asked)) {
        if let Some(user) = self.get_mut(name) {
            user.items.sub(count);
            note(&mut user.asked);
        }
    }

    /// Panics if users have something else here than `expected` says: mounts and
    /// items by name.
    pub(super) fn check(&self, expected: &Map<Text, (usize, usize)>) {
        let here = self.list.iter().flatten();
        let here: Map<Text, (usize, usize)> =
            here.map(|user| (user.name.clone(), (user.mounts.own(), user.items.own()))).collect();
        assert_eq!(here, *expected, "what users have: mounts and items");
        let is_listed =
            |(name, _): (&Text, &u32)| self.get(name).is_some_and(|it| it.name == *name);
        assert!(self.here.iter().all(is_listed), "each user is listed at its place");
        assert_eq!(self.list.len(), self.here.len() + self.free.len(), "the other places are free");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_what_its_mounts_have_at_all_servers() {
        let siblings = Siblings::default();
        let (mut here, mut there) = (Users::with(siblings.clone()), Users::with(siblings));
        assert!(here.join(b"ann", 0, Some(2)));
        here.open_item(b"ann", |asked| asked.opens += 1);
        here.open_item(b"ann", |asked| asked.opens += 1);
        assert_eq!((there.mounts_of(b"ann"), there.items_of(b"ann")), (1, 2));
        assert!(there.join(b"ann", 5, Some(2)));
        assert_eq!((here.mounts_of(b"ann"), here.items_of(b"ann")), (2, 7));
        assert!(!here.join(b"ann", 0, Some(2)) && !there.join(b"ann", 0, Some(2)));
        here.close_items(b"ann", 1, |_| {});
        // As each saw it when the user got more there.
        assert_eq!(here.most_at(0), Some(Most { mounts: 1, items: 2 }));
        assert_eq!(there.most_at(0), Some(Most { mounts: 2, items: 7 }));
        here.leave(b"ann", 1);
        assert_eq!((here.mounts_of(b"ann"), there.items_of(b"ann")), (1, 5));
        assert!(here.join(b"bob", 0, Some(1)) && !there.join(b"bob", 0, Some(1)));
    }

    #[test]
    fn users_are_listed_and_their_places_used_again() {
        let mut users = Users::default();
        assert!(users.join(b"secret", 2, None) && users.join(b"bob", 0, None));
        users.show_as(b"secret", "token-1".into());
        let at = |users: &Users, place| {
            users.at(place).map(|(name, mounts, items, _)| (name.to_string(), mounts, items))
        };
        assert_eq!(at(&users, 0), Some(("token-1".to_owned(), 1, 2)));
        users.leave(b"secret", 2);
        assert_eq!((at(&users, 0), users.places()), (None, 2));
        assert!(users.join(b"cat", 0, None));
        assert_eq!(at(&users, 0), Some(("cat".to_owned(), 1, 0)));
        assert_eq!(users.places(), 2);
    }

    #[test]
    fn a_user_without_a_mount_is_forgotten() {
        let mut users = Users::default();
        assert!(users.join(b"ann", 3, None));
        assert!(!users.join(b"bob", 0, Some(0)));
        users.leave(b"ann", 3);
        users.check(&Map::default());
        assert_eq!((users.mounts_of(b"ann"), users.items_of(b"ann")), (0, 0));
    }
}
