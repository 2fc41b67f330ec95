//! What a source says of its services in their directory.

use tapeline_omm::directory::{
    FilterContent, FilterEntry, ServiceGroupInfo, ServiceLoad, ServiceState,
};
use tapeline_omm::{GroupId, StateBuf};
use tapeline_rwf::State;
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

/// What a service takes, if it says anything of that.
pub(crate) fn load_filter((window, limit): (u64, u64)) -> Option<FilterEntry> {
    let load = ServiceLoad {
        open_window: (window > 0).then_some(window),
        open_limit: (limit > 0).then_some(limit),
        ..ServiceLoad::default()
    };
    (load != ServiceLoad::default()).then(|| FilterEntry::set(FilterContent::Load(load)))
}
