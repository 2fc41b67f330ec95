//! What each user has, over all mounts.

use tapeline_omm::Text;

use super::map::Map;
use super::mount::Login;
use crate::seats::Seats;
use crate::siblings::{SharedCount, Siblings};

/// What one user has.
#[derive(Debug)]
struct User {
    mounts: SharedCount,
    items: SharedCount,
}

/// The users of all mounts, by what they are counted by: a name, or a token
/// where that stands for it.
#[derive(Debug, Default)]
pub(super) struct Users {
    /// Those with a mount on this server.
    here: Map<Text, User>,
    siblings: Siblings,
}

impl Users {
    /// Those of a server that has siblings.
    pub(super) fn with(siblings: Siblings) -> Self {
        Self { here: Map::default(), siblings }
    }

    /// Mounts of a user at this server and its siblings.
    pub(super) fn mounts_of(&self, name: &[u8]) -> usize {
        match self.here.get(name) {
            Some(user) => user.mounts.total(),
            None => self.elsewhere(name).0,
        }
    }

    /// Items of a user at this server and its siblings.
    pub(super) fn items_of(&self, name: &[u8]) -> usize {
        match self.here.get(name) {
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

    /// A mount of a user logs in, with so many items. Returns whether it may: a
    /// user has at most `max` mounts.
    pub(super) fn join(&mut self, name: &[u8], items: usize, max: Option<usize>) -> bool {
        let Self { here, siblings } = self;
        if !here.contains_key(name) {
            let (mounts, items) = siblings.user(name);
            here.insert(name.into(), User { mounts, items });
        }
        let Some(user) = here.get_mut(name) else { return false };
        let is_in = user.mounts.claim(max.unwrap_or(usize::MAX));
        if is_in {
            user.items.add(items);
        } else if user.mounts.own() == 0 {
            self.forget(name);
        }
        is_in
    }

    /// A mount of a user is gone, or logs in as another, with so many items.
    pub(super) fn leave(&mut self, name: &[u8], items: usize) {
        let Some(user) = self.here.get_mut(name) else {
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
        self.here.remove(name);
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

    /// A user has one more item open.
    pub(super) fn open_item(&mut self, name: &[u8]) {
        if let Some(user) = self.here.get_mut(name) {
            user.items.add(1);
        }
    }

    /// A user has so many items open no more.
    pub(super) fn close_items(&mut self, name: &[u8], count: usize) {
        if let Some(user) = self.here.get_mut(name) {
            user.items.sub(count);
        }
    }

    /// Panics if users have something else here than `expected` says: mounts and
    /// items by name.
    pub(super) fn check(&self, expected: &Map<Text, (usize, usize)>) {
        let here = self.here.iter();
        let here: Map<Text, (usize, usize)> = here
            .map(|(name, user)| (name.clone(), (user.mounts.own(), user.items.own())))
            .collect();
        assert_eq!(here, *expected, "what users have: mounts and items");
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
        here.open_item(b"ann");
        here.open_item(b"ann");
        assert_eq!((there.mounts_of(b"ann"), there.items_of(b"ann")), (1, 2));
        assert!(there.join(b"ann", 5, Some(2)));
        assert_eq!((here.mounts_of(b"ann"), here.items_of(b"ann")), (2, 7));
        assert!(!here.join(b"ann", 0, Some(2)) && !there.join(b"ann", 0, Some(2)));
        here.close_items(b"ann", 1);
        here.leave(b"ann", 1);
        assert_eq!((here.mounts_of(b"ann"), there.items_of(b"ann")), (1, 5));
        assert!(here.join(b"bob", 0, Some(1)) && !there.join(b"bob", 0, Some(1)));
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
