//! What a source says of its services in their directory.

use tapeline_omm::directory::{
    FilterContent, FilterEntry, ServiceGroupInfo, ServiceLoad, ServiceState,
};
use tapeline_omm::{GroupId, StateBuf};
use tapeline_rwf::State;

use crate::plan::Shape;

/// What is said of a group: a state, or the one that its items move to.
pub(crate) fn of_group(group: u8, state: Option<State<'_>>, into: Option<u8>) -> FilterEntry {
    let id = |group: u8| GroupId::try_from(&[0, group][..]).ok();
    let status = state.map(StateBuf::from);
    let merged_to_group = into.and_then(id);
    let info = ServiceGroupInfo { group: id(group), merged_to_group, status };
    FilterEntry::set(FilterContent::Group(info))
}

/// A state of all items of a service.
pub(crate) fn of_service(state: State<'_>) -> FilterEntry {
    let status = Some(StateBuf::from(state));
    FilterEntry::set(FilterContent::State(ServiceState { status, ..ServiceState::new(true, true) }))
}

/// What a service takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    /// Requests and items; 0: nothing is said of that.
    pub(crate) window: u64,
    pub(crate) limit: u64,
    /// Of what it can do; 0: the same.
    pub(crate) percent: u64,
}

impl Load {
    /// What sources of such a world say at first.
    pub(crate) const fn of(shape: &Shape) -> Self {
        Self { window: shape.open_window, limit: shape.open_limit, percent: 0 }
    }

    /// As it is said in a directory, if it says anything.
    pub(crate) fn filter(self) -> Option<FilterEntry> {
        let said = |value: u64| (value > 0).then_some(value);
        let load = ServiceLoad {
            open_window: said(self.window),
            open_limit: said(self.limit),
            load_factor: said(self.percent),
        };
        (load != ServiceLoad::default()).then(|| FilterEntry::set(FilterContent::Load(load)))
    }
}
