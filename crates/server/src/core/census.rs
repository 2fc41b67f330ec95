//! How many items of a service are well, stale, or not heard of yet.

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
    pub(super) const fn part(&mut self, standing: Option<DataState>) -> &mut usize {
        match standing {
            None => &mut self.pending,
            Some(DataState::OK) => &mut self.active,
            Some(_) => &mut self.stale,
        }
    }
}
