//! What the servers of one process have together.

mod count;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tapeline_omm::Text;

use crate::seats::Seats;

pub(crate) use count::SharedCount;

/// What is shared between threads in a count.
mod sync {
    pub(super) use std::sync::Arc;
    pub(super) use std::sync::atomic::{AtomicUsize, Ordering};
}

/// What the servers of one process (its shards) have together, so that limits
/// hold for all of them and not for each.
///
/// Counts change without a lock. Who is the last of two that ask in the same
/// instant is decided for mounts, of all and of a user; of items, posts and bytes
/// both may get the last place.
#[derive(Clone, Debug, Default)]
pub struct Siblings(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    servers: AtomicUsize,
    mounts: Arc<AtomicUsize>,
    items: Arc<AtomicUsize>,
    posts: Arc<AtomicUsize>,
    merged_bytes: Arc<AtomicUsize>,
    output_bytes: Arc<AtomicUsize>,
    users: Mutex<HashMap<Text, UserCounts>>,
    /// Items of services that have a bound. They stay: there are few.
    service_items: Mutex<HashMap<Text, Arc<AtomicUsize>>>,
    seats: Seats,
}

/// What a user has at all servers.
#[derive(Clone, Debug, Default)]
struct UserCounts {
    mounts: Arc<AtomicUsize>,
    items: Arc<AtomicUsize>,
}

impl Siblings {
    /// One more server takes part.
    pub(crate) fn enter(&self) {
        self.0.servers.fetch_add(1, Ordering::Relaxed);
    }

    /// Servers that take part, at least one.
    pub(crate) fn servers(&self) -> usize {
        self.0.servers.load(Ordering::Relaxed).max(1)
    }

    pub(crate) fn mounts(&self) -> SharedCount {
        SharedCount::of(&self.0.mounts)
    }

    pub(crate) fn items(&self) -> SharedCount {
        SharedCount::of(&self.0.items)
    }

    /// Items of a service.
    pub(crate) fn service_items(&self, name: &[u8]) -> SharedCount {
        let mut services = self.0.service_items.lock().unwrap_or_else(PoisonError::into_inner);
        SharedCount::of(services.entry(name.into()).or_default())
    }

    pub(crate) fn posts(&self) -> SharedCount {
        SharedCount::of(&self.0.posts)
    }

    pub(crate) fn merged_bytes(&self) -> SharedCount {
        SharedCount::of(&self.0.merged_bytes)
    }

    pub(crate) fn output_bytes(&self) -> SharedCount {
        SharedCount::of(&self.0.output_bytes)
    }

    /// Where users are logged in.
    pub(crate) fn seats(&self) -> &Seats {
        &self.0.seats
    }

    /// The counts of a user: mounts and items.
    pub(crate) fn user(&self, name: &[u8]) -> (SharedCount, SharedCount) {
        // Nothing in here panics half-way: what is behind a poisoned lock is whole.
        let mut users = self.0.users.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = match users.get(name) {
            Some(counts) => counts,
            None => users.entry(name.into()).or_default(),
        };
        (SharedCount::of(&counts.mounts), SharedCount::of(&counts.items))
    }

    /// A server has nothing of a user any more. The name is kept while others
    /// have.
    pub(crate) fn forget_user(&self, name: &[u8]) {
        let mut users = self.0.users.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = |counts: &UserCounts| Arc::strong_count(&counts.mounts) == 1;
        if users.get(name).is_some_and(is_last) {
            users.remove(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_part_of_that_of_all() {
        let siblings = Siblings::default();
        let (mut here, mut there) = (siblings.items(), siblings.items());
        here.add(3);
        there.set(4);
        assert_eq!((here.own(), there.own(), here.total()), (3, 4, 7));
        here.sub(1);
        there.set(1);
        assert_eq!((here.own(), there.own(), there.total()), (2, 1, 3));
        drop(there);
        assert_eq!(here.total(), 2, "a server that is gone has nothing");
        assert_eq!(siblings.posts().total(), 0, "others are counted apart");
    }

    #[test]
    fn the_last_place_is_one_servers() {
        let siblings = Siblings::default();
        let (mut here, mut there) = (siblings.mounts(), siblings.mounts());
        assert!(here.claim(2) && there.claim(2) && !here.claim(2) && !there.claim(2));
        there.sub(1);
        assert!(here.claim(2));
        assert_eq!((here.own(), there.own()), (2, 0));
    }

    #[test]
    fn many_threads_never_have_more_than_all_may_have() {
        let siblings = Siblings::default();
        let claimed: usize = std::thread::scope(|scope| {
            let claim = || {
                let mut count = siblings.mounts();
                (0..1_000).filter(|_| count.claim(1_500)).count();
                // What is dropped is free for others: it is to stay until all had their turn.
                let own = count.own();
                std::mem::forget(count);
                own
            };
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(claim)).collect();
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert_eq!((claimed, siblings.mounts().total()), (1_500, 1_500));
    }

    #[test]
    fn a_user_is_known_while_a_server_has_something_of_it() {
        let siblings = Siblings::default();
        let (mut here, _items) = siblings.user(b"ann");
        here.add(1);
        let (there, items) = siblings.user(b"ann");
        assert_eq!(there.total(), 1);
        drop((there, items));
        siblings.forget_user(b"ann");
        assert_eq!(siblings.user(b"ann").0.total(), 1, "one has a mount yet");
        drop(here);
        siblings.forget_user(b"ann");
        assert!(siblings.0.users.lock().expect("not poisoned").is_empty());
    }
}
