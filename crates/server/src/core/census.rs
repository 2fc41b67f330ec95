//! How many items of a service are well, stale, or not heard of yet.

use std::collections::BTreeMap;

use tapeline_rwf::DataState;

/// How the items of a service stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Census {
    /// With the data state OK.
    pub(super) active: usize,
    /// Of which nothing was heard yet.
    pub(super) pending: usize,
    /// With the data state SUSPECT.
    pub(super) stale: usize,
}

impl Census {
    /// All of them.
    pub(super) const fn items(&self) -> usize {
        self.active + self.pending + self.stale
    }

    /// Where an item with this data state counts; `None`: nothing was heard of it.
    const fn part(&mut self, standing: Option<DataState>) -> &mut usize {
        match standing {
            None => &mut self.pending,
            Some(DataState::OK) => &mut self.active,
            Some(_) => &mut self.stale,
        }
    }
}

/// Those of all services.
#[derive(Debug, Default)]
pub(super) struct Censuses(BTreeMap<u16, Census>);

impl Censuses {
    /// A service has one more item with this data state.
    pub(super) fn add(&mut self, service_id: u16, standing: Option<DataState>) {
        *self.0.entry(service_id).or_default().part(standing) += 1;
    }

    /// It has one fewer.
    pub(super) fn sub(&mut self, service_id: u16, standing: Option<DataState>) {
        *self.0.entry(service_id).or_default().part(standing) -= 1;
    }

    /// That of a service.
    pub(super) fn of(&self, service_id: u16) -> Census {
        self.0.get(&service_id).copied().unwrap_or_default()
    }

    /// Panics if it is another one than of these items: service and data state.
    pub(super) fn check(&self, items: impl Iterator<Item = (u16, Option<DataState>)>) {
        let mut counted = Self::default();
        items.for_each(|(service_id, standing)| counted.add(service_id, standing));
        for service_id in self.0.keys().chain(counted.0.keys()) {
            let (known, expected) = (self.of(*service_id), counted.of(*service_id));
            assert_eq!(known, expected, "how the items of service {service_id} stand");
        }
    }
}

/// How many updates came for the items of each service. It is on the way of each
/// update, and so by number and not by name.
#[derive(Debug, Default)]
pub(super) struct UpdateCounts(Vec<u64>);

impl UpdateCounts {
    /// One more.
    #[inline]
    pub(super) fn add(&mut self, service_id: u16) {
        match self.0.get_mut(usize::from(service_id)) {
            Some(count) => *count += 1,
            None => self.begin(service_id),
        }
    }

    #[cold]
    fn begin(&mut self, service_id: u16) {
        self.0.resize(usize::from(service_id) + 1, 0);
        if let Some(count) = self.0.last_mut() {
            *count = 1;
        }
    }

    /// Those of a service.
    pub(super) fn of(&self, service_id: u16) -> u64 {
        self.0.get(usize::from(service_id)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn updates_are_counted_by_service() {
        let mut counts = UpdateCounts::default();
        for service_id in [3, 1, 3] {
            counts.add(service_id);
        }
        assert_eq!([0, 1, 3, 9].map(|service_id| counts.of(service_id)), [0, 1, 2, 0]);
    }
}
