//! Services that may have so many items open and no more.

use std::collections::BTreeMap;

use crate::siblings::{SharedCount, Siblings};

/// The bounds of services that have one, by number.
#[derive(Debug, Default)]
pub(super) struct ServiceBounds {
    siblings: Siblings,
    of: BTreeMap<u16, ServiceBound>,
}

#[derive(Debug)]
struct ServiceBound {
    max: usize,
    /// Items here, and at siblings.
    count: SharedCount,
    /// The most that there ever were, of what was seen here.
    most: usize,
}

impl ServiceBounds {
    /// Has bounds hold for this server and its siblings together.
    pub(super) fn share(&mut self, siblings: Siblings) {
        self.siblings = siblings;
    }

    /// A service has a bound from now on, before it has an item.
    pub(super) fn insert(&mut self, service_id: u16, name: &[u8], max: usize) {
        let siblings = &self.siblings;
        let count = || siblings.service_items(name);
        let new = || ServiceBound { max, count: count(), most: 0 };
        self.of.entry(service_id).or_insert_with(new);
    }

    pub(super) fn add(&mut self, service_id: u16) {
        if let Some(bound) = self.of.get_mut(&service_id) {
            bound.count.add(1);
            bound.most = bound.most.max(bound.count.total());
        }
    }

    pub(super) fn sub(&mut self, service_id: u16) {
        if let Some(bound) = self.of.get_mut(&service_id) {
            bound.count.sub(1);
        }
    }

    /// Whether a service has all that it may.
    pub(super) fn is_full(&self, service_id: u16) -> bool {
        self.of.get(&service_id).is_some_and(|bound| bound.count.total() >= bound.max)
    }

    /// What a service may have, and the most that it ever had.
    pub(super) fn of(&self, service_id: u16) -> Option<(usize, usize)> {
        self.of.get(&service_id).map(|bound| (bound.max, bound.most))
    }

    /// Panics if another number of items is counted here than there are.
    pub(super) fn check(&self, items: impl Fn(u16) -> usize) {
        for (service_id, bound) in &self.of {
            assert_eq!(bound.count.own(), items(*service_id), "items of service {service_id}");
        }
    }
}
