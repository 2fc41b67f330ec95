//! Published items whose provider is gone, until they expire.

use std::collections::BTreeSet;

/// Items that expire unless somebody publishes them again: exactly those whose
/// `stale_at_ms` is set.
#[derive(Debug, Default)]
pub(super) struct Expiries {
    /// When each expires, in milliseconds, and its id.
    order: BTreeSet<(u64, u32)>,
    /// The same by service.
    of_services: BTreeSet<(u16, u64, u32)>,
}

impl Expiries {
    pub(super) fn insert(&mut self, service: u16, at_ms: u64, id: u32) {
        let is_new = self.order.insert((at_ms, id));
        debug_assert!(is_new, "item {id} expires at {at_ms} already");
        self.of_services.insert((service, at_ms, id));
    }

    pub(super) fn remove(&mut self, service: u16, at_ms: u64, id: u32) {
        let was_there = self.order.remove(&(at_ms, id));
        debug_assert!(was_there, "item {id} does not expire at {at_ms}");
        self.of_services.remove(&(service, at_ms, id));
    }

    /// Items, the one that expires first before the others.
    pub(super) fn ids(&self) -> impl Iterator<Item = u32> {
        self.order.iter().map(|(_, id)| *id)
    }

    /// Items of a service, the one that expires first before the others.
    pub(super) fn ids_of(&self, service: u16) -> impl Iterator<Item = u32> {
        let of_service = self.of_services.range((service, 0, 0)..=(service, u64::MAX, u32::MAX));
        of_service.map(|(.., id)| *id)
    }

    /// When the next item of a service expires, and its id: the one behind
    /// `after`, or the first.
    pub(super) fn next_of(&self, service: u16, after: Option<(u64, u32)>) -> Option<(u64, u32)> {
        let first = match after {
            None => (service, 0, 0),
            Some((at_ms, id)) => match id.checked_add(1) {
                Some(id) => (service, at_ms, id),
                None => (service, at_ms + 1, 0),
            },
        };
        let next = self.of_services.range(first..).next();
        next.filter(|(its, ..)| *its == service).map(|(_, at_ms, id)| (*at_ms, *id))
    }

    /// Panics if others expire than `expected`: service, time and id of each.
    pub(super) fn check(&self, expected: &BTreeSet<(u16, u64, u32)>) {
        assert_eq!(&self.of_services, expected, "items that expire");
        let order: BTreeSet<_> = expected.iter().map(|(_, at_ms, id)| (*at_ms, *id)).collect();
        assert_eq!(self.order, order, "items that expire, in their order");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_a_service_are_walked_in_the_order_in_which_they_expire() {
        let mut expiries = Expiries::default();
        for (service, at_ms, id) in [(1, 20, 7), (2, 10, 8), (1, 10, u32::MAX), (1, 11, 0)] {
            expiries.insert(service, at_ms, id);
        }
        assert_eq!(expiries.ids().collect::<Vec<_>>(), [8, u32::MAX, 0, 7]);
        let mut walked = Vec::new();
        let mut after = None;
        while let Some(next) = expiries.next_of(1, after) {
            walked.push(next.1);
            after = Some(next);
        }
        assert_eq!(walked, [u32::MAX, 0, 7]);
        assert_eq!(expiries.next_of(3, None), None);
    }

    #[test]
    fn one_that_is_published_again_does_not_expire() {
        let mut expiries = Expiries::default();
        expiries.insert(1, 10, 7);
        expiries.insert(1, 10, 8);
        expiries.remove(1, 10, 7);
        assert_eq!(expiries.next_of(1, None), Some((10, 8)));
        expiries.check(&BTreeSet::from([(1, 10, 8)]));
    }
}
