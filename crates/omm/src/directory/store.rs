//! The directory as a receiver keeps it and a sender serves from it.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_rwf::{FilterAction, MapAction, State, StreamState};

use super::{
    DirectoryFilter, DirectoryRefresh, DirectoryRequest, DirectoryStatus, DirectoryUpdate,
    FilterContent, FilterEntry, Link, LinkEntry, LinkInfo, SequencedMulticast, ServiceData,
    ServiceEntry, ServiceGroupInfo, ServiceInfo, ServiceLinks, ServiceLoad, ServiceState,
};
use crate::state::is_final;
use crate::{GroupId, ServiceGroup, StateBuf, Text};

/// What is known of one service.
///
/// Groups and the status of a state pass through and are not kept: they are
/// for the items that are open when they come.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Service {
    /// What it is and offers.
    pub info: Option<ServiceInfo>,
    /// How it is, without a status.
    pub state: Option<ServiceState>,
    /// How much it can take.
    pub load: Option<ServiceLoad>,
    /// What it broadcasts.
    pub data: Option<ServiceData>,
    /// The ways it gets its data, by name.
    pub links: BTreeMap<Text, LinkInfo>,
    /// Where its sequenced multicast data is.
    pub multicast: Option<SequencedMulticast>,
}

/// One consequence of a directory message, in the order in which to act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryChange {
    /// A service is new.
    Added {
        /// Its number.
        service_id: u16,
    },
    /// A service changed.
    Updated {
        /// Its number.
        service_id: u16,
        /// The filters that changed.
        filters: DirectoryFilter,
    },
    /// A service is gone: its items are lost.
    Deleted {
        /// The number that it had.
        service_id: u16,
        /// What was known of it.
        service: Box<Service>,
    },
    /// A state for every open stream of a service, but not for requests that
    /// still wait for their first response.
    ServiceStatus {
        /// The service.
        service_id: u16,
        /// The state.
        state: StateBuf,
    },
    /// A state for every item of a group.
    GroupStatus {
        /// The group.
        group: ServiceGroup,
        /// The state.
        state: StateBuf,
    },
    /// All items of a group move to another, and the group vanishes.
    GroupMerged {
        /// The group that vanishes.
        group: ServiceGroup,
        /// The group that takes its items, of the same service.
        into: GroupId,
    },
    /// A part of the message was left out.
    Refused {
        /// The service that it is about.
        service_id: u16,
        /// Why.
        reason: DirectoryRefusal,
    },
}

/// Why a part of a directory message was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DirectoryRefusal {
    /// A service keeps its name for as long as it has its id.
    #[error("the name of a service cannot change")]
    NameChanged,
    /// Two services of one connection have different names.
    #[error("another service has this name")]
    NameTaken,
    /// A service has more links than [`Directory::max_links`].
    #[error("the service has too many links")]
    TooManyLinks,
    /// The connection has more services than [`Directory::max_services`].
    #[error("there are too many services")]
    TooManyServices,
}

/// All services of one connection.
///
/// ```
/// use tapeline_omm::directory::{
///     Directory, DirectoryChange, DirectoryFilter, DirectoryRequest, DirectoryUpdate,
///     FilterContent, FilterEntry, ServiceEntry, ServiceInfo, ServiceState,
/// };
/// use tapeline_rwf::{Domain, State};
///
/// let info = ServiceInfo {
///     name: Some("DIRECT_FEED".into()),
///     capabilities: Some(vec![Domain::MARKET_PRICE]),
///     ..ServiceInfo::default()
/// };
/// let service = ServiceEntry::add(
///     1,
///     vec![
///         FilterEntry::set(FilterContent::Info(info)),
///         FilterEntry::set(FilterContent::State(ServiceState::new(true, true))),
///     ],
/// );
/// let mut directory = Directory::default();
/// let changes = directory.apply_update(&DirectoryUpdate::new(2, vec![service]));
/// assert_eq!(changes, [DirectoryChange::Added { service_id: 1 }]);
/// assert_eq!(directory.service_id(b"DIRECT_FEED"), Some(1));
///
/// let request = DirectoryRequest::new(2, DirectoryFilter::USUAL);
/// let refresh = directory.refresh(&request, &State::open_ok(""));
/// assert_eq!(refresh.services.len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct Directory {
    services: BTreeMap<u16, Service>,
    /// The name of each service for as long as it has its id, also while its
    /// info is not known.
    names: BTreeMap<u16, Text>,
    ids: BTreeMap<Text, u16>,
    /// How many services there may be.
    pub max_services: usize,
    /// How many links one service may have.
    pub max_links: usize,
}

impl Default for Directory {
    fn default() -> Self {
        Self {
            services: BTreeMap::new(),
            names: BTreeMap::new(),
            ids: BTreeMap::new(),
            max_services: Self::DEFAULT_MAX_SERVICES,
            max_links: Self::DEFAULT_MAX_LINKS,
        }
    }
}

impl Directory {
    /// Default of [`max_services`](Self::max_services): the vendor's library
    /// makes room for 513 to begin with.
    pub const DEFAULT_MAX_SERVICES: usize = 4096;
    /// Default of [`max_links`](Self::max_links).
    pub const DEFAULT_MAX_LINKS: usize = 1024;
    /// The filters that a refresh can have.
    const PROVIDED: DirectoryFilter = DirectoryFilter::INFO
        .union(DirectoryFilter::STATE)
        .union(DirectoryFilter::LOAD)
        .union(DirectoryFilter::DATA)
        .union(DirectoryFilter::LINK)
        .union(DirectoryFilter::SEQUENCED_MULTICAST);

    /// A service by its number.
    pub fn service(&self, service_id: u16) -> Option<&Service> {
        self.services.get(&service_id)
    }

    /// The number of a service by its name.
    pub fn service_id(&self, name: &[u8]) -> Option<u16> {
        self.ids.get(name).copied()
    }

    /// All services, by ascending number.
    pub fn services(&self) -> impl ExactSizeIterator<Item = (u16, &Service)> {
        self.services.iter().map(|(id, service)| (*id, service))
    }

    /// Applies a refresh. With `CLEAR_CACHE` the services that are not in it
    /// are gone, and those that are in it are described anew: only their names
    /// stay. A service whose entry is refused stays as it was. Without the
    /// flag, it is taken as an update. A refresh that closes the stream ends
    /// all services.
    pub fn apply_refresh(&mut self, refresh: &DirectoryRefresh) -> Vec<DirectoryChange> {
        let stream = refresh.state.stream;
        if is_final(stream) && stream != StreamState::NON_STREAMING {
            return self.clear();
        }
        let mut changes = Vec::new();
        let mut stale = BTreeSet::new();
        if refresh.clear_cache {
            let given: BTreeSet<_> =
                refresh.services.iter().map(|entry| entry.service_id).collect();
            let known = self.services.keys().copied();
            let (kept, gone) = known.partition::<Vec<_>, _>(|id| given.contains(id));
            changes.extend(gone.into_iter().filter_map(|id| self.delete(id)));
            stale.extend(kept);
        }
        for service in &refresh.services {
            self.apply_service(service, &mut stale, &mut changes);
        }
        changes
    }

    /// Applies an update. One for a service that is not known adds it.
    pub fn apply_update(&mut self, update: &DirectoryUpdate) -> Vec<DirectoryChange> {
        let mut changes = Vec::new();
        for service in &update.services {
            self.apply_service(service, &mut BTreeSet::new(), &mut changes);
        }
        changes
    }

    /// Applies a status: all services are gone when it closes the stream or
    /// has `CLEAR_CACHE`.
    pub fn apply_status(&mut self, status: &DirectoryStatus) -> Vec<DirectoryChange> {
        let is_over = status.state.as_ref().is_some_and(|state| is_final(state.stream));
        if is_over || status.clear_cache { self.clear() } else { Vec::new() }
    }

    /// Takes a service over as it is in another directory: has it, has it not, or
    /// has it with other contents. What there is to do about it.
    pub fn adopt(&mut self, service_id: u16, from: &Self) -> Vec<DirectoryChange> {
        let Some(theirs) = from.services.get(&service_id) else {
            return self.delete(service_id).into_iter().collect();
        };
        let mut changes = Vec::new();
        let theirs_name = from.names.get(&service_id);
        if self.services.contains_key(&service_id) && self.names.get(&service_id) != theirs_name {
            changes.extend(self.delete(service_id));
        }
        let before = self.services.insert(service_id, theirs.clone());
        if let Some(name) = theirs_name
            && before.is_none()
        {
            // A name has one number: whoever had it is gone.
            changes.extend(self.ids.get(name).copied().and_then(|id| self.delete(id)));
            self.ids.insert(name.clone(), service_id);
            self.names.insert(service_id, name.clone());
        }
        match before {
            None => changes.push(DirectoryChange::Added { service_id }),
            Some(before) if before != *theirs => {
                let filters = before.held() | theirs.held();
                changes.push(DirectoryChange::Updated { service_id, filters });
            }
            Some(_) => {}
        }
        changes
    }

    /// Forgets all services, as when the connection is lost.
    pub fn clear(&mut self) -> Vec<DirectoryChange> {
        let all: Vec<_> = self.services.keys().copied().collect();
        all.into_iter().filter_map(|id| self.delete(id)).collect()
    }

    fn delete(&mut self, service_id: u16) -> Option<DirectoryChange> {
        let service = self.services.remove(&service_id)?;
        if let Some(name) = self.names.remove(&service_id) {
            self.ids.remove(&name);
        }
        Some(DirectoryChange::Deleted { service_id, service: Box::new(service) })
    }

    /// Filters first, then what is for the open items: a state that makes them
    /// recover must find the service as it is now. A service that is `stale`
    /// is emptied by the first entry that is taken for it.
    fn apply_service(
        &mut self,
        entry: &ServiceEntry,
        stale: &mut BTreeSet<u16>,
        changes: &mut Vec<DirectoryChange>,
    ) {
        let service_id = entry.service_id;
        if entry.action == MapAction::DELETE {
            changes.extend(self.delete(service_id));
            return;
        }
        if let Err(reason) = self.check(entry) {
            changes.push(DirectoryChange::Refused { service_id, reason });
            return;
        }
        let is_new = !self.services.contains_key(&service_id);
        let service = self.services.entry(service_id).or_default();
        let mut filters = DirectoryFilter::empty();
        if stale.remove(&service_id) {
            filters |= core::mem::take(service).held();
        }
        let mut transient = Vec::new();
        for filter in &entry.filters {
            match filter {
                FilterEntry::Clear { id } => service.clear(*id),
                FilterEntry::Content { action, content } => {
                    match service.apply(*action, content, self.max_links) {
                        Ok(()) => {}
                        Err(reason) => {
                            transient.push(DirectoryChange::Refused { service_id, reason });
                        }
                    }
                    push_transient(service_id, content, &mut transient);
                }
            }
            if filter.filter() != DirectoryFilter::GROUP {
                filters |= filter.filter();
            }
        }
        if let Some(name) = service.name() {
            self.ids.insert(name.clone(), service_id);
            self.names.insert(service_id, name.clone());
        }
        if is_new {
            changes.push(DirectoryChange::Added { service_id });
        } else if !filters.is_empty() {
            changes.push(DirectoryChange::Updated { service_id, filters });
        }
        changes.append(&mut transient);
    }

    fn check(&self, entry: &ServiceEntry) -> Result<(), DirectoryRefusal> {
        let is_new = !self.services.contains_key(&entry.service_id);
        if is_new && self.services.len() >= self.max_services {
            return Err(DirectoryRefusal::TooManyServices);
        }
        self.check_name(entry)
    }

    fn check_name(&self, entry: &ServiceEntry) -> Result<(), DirectoryRefusal> {
        let mut names = entry.filters.iter().filter_map(|filter| match filter {
            FilterEntry::Content { content: FilterContent::Info(info), .. } => info.name.as_ref(),
            _ => None,
        });
        let Some(given) = names.next() else { return Ok(()) };
        let known = self.names.get(&entry.service_id);
        if known.is_some_and(|known| known != given) || names.any(|other| other != given) {
            return Err(DirectoryRefusal::NameChanged);
        }
        match self.ids.get(given) {
            Some(owner) if *owner != entry.service_id => Err(DirectoryRefusal::NameTaken),
            _ => Ok(()),
        }
    }

    /// The refresh that answers a request: the services and filters that it
    /// asks for, to replace what the requester had. Groups are never among
    /// them, so its filter does not name them.
    pub fn refresh(&self, request: &DirectoryRequest, state: &State<'_>) -> DirectoryRefresh {
        let is_wanted = |id: u16| request.service_id.is_none_or(|wanted| wanted == id);
        let services = self
            .services
            .iter()
            .filter(|(id, _)| is_wanted(**id))
            .map(|(id, service)| ServiceEntry::add(*id, service.filters(request.filter)))
            .collect();
        DirectoryRefresh {
            stream_id: request.stream_id,
            solicited: true,
            clear_cache: true,
            state: (*state).into(),
            filter: request.filter & Self::PROVIDED,
            service_id: request.service_id,
            services,
        }
    }
}

/// What of a filter is for the items that are open now.
fn push_transient(service_id: u16, content: &FilterContent, changes: &mut Vec<DirectoryChange>) {
    match content {
        FilterContent::State(ServiceState { status: Some(state), .. }) => {
            changes.push(DirectoryChange::ServiceStatus { service_id, state: state.clone() });
        }
        FilterContent::Group(ServiceGroupInfo { group: Some(group), merged_to_group, status }) => {
            let group = ServiceGroup { service_id, group: group.clone() };
            if let Some(state) = status.clone() {
                changes.push(DirectoryChange::GroupStatus { group: group.clone(), state });
            }
            if let Some(into) = merged_to_group.clone() {
                changes.push(DirectoryChange::GroupMerged { group, into });
            }
        }
        _ => {}
    }
}

/// `SET` replaces; `UPDATE` changes the elements that it has.
fn put<T: Clone>(
    place: &mut Option<T>,
    action: FilterAction,
    later: &T,
    merge: impl FnOnce(&mut T, T),
) {
    match place {
        Some(known) if action != FilterAction::SET => merge(known, later.clone()),
        _ => *place = Some(later.clone()),
    }
}

impl Service {
    /// Its name, if it is known.
    pub fn name(&self) -> Option<&Text> {
        self.info.as_ref()?.name.as_ref()
    }

    /// Whether a consumer sends requests to it: it is up and accepts them. A
    /// service whose state is not known is not.
    pub fn is_usable(&self) -> bool {
        self.state.as_ref().is_some_and(ServiceState::is_usable)
    }

    /// The filters of which something is known.
    fn held(&self) -> DirectoryFilter {
        let mut held = DirectoryFilter::empty();
        held.set(DirectoryFilter::INFO, self.info.is_some());
        held.set(DirectoryFilter::STATE, self.state.is_some());
        held.set(DirectoryFilter::LOAD, self.load.is_some());
        held.set(DirectoryFilter::DATA, self.data.is_some());
        held.set(DirectoryFilter::LINK, !self.links.is_empty());
        held.set(DirectoryFilter::SEQUENCED_MULTICAST, self.multicast.is_some());
        held
    }

    fn clear(&mut self, id: u8) {
        match id {
            2 => self.state = None,
            4 => self.load = None,
            5 => self.data = None,
            6 => self.links.clear(),
            7 => self.multicast = None,
            // A service without info has no name: deleting it is what is meant
            // for deleting. Groups are not kept.
            _ => {}
        }
    }

    fn apply(
        &mut self,
        action: FilterAction,
        content: &FilterContent,
        max_links: usize,
    ) -> Result<(), DirectoryRefusal> {
        match content {
            FilterContent::Info(info) => put(&mut self.info, action, info, ServiceInfo::merge),
            FilterContent::State(state) => {
                let state = ServiceState { status: None, ..state.clone() };
                put(&mut self.state, action, &state, ServiceState::merge);
            }
            FilterContent::Group(_) => {}
            FilterContent::Load(load) => put(&mut self.load, action, load, ServiceLoad::merge),
            FilterContent::Data(data) => put(&mut self.data, action, data, ServiceData::merge),
            FilterContent::Links(links) => return self.apply_links(action, links, max_links),
            FilterContent::Multicast(multicast) => {
                put(&mut self.multicast, action, multicast, SequencedMulticast::merge);
            }
        }
        Ok(())
    }

    fn apply_links(
        &mut self,
        action: FilterAction,
        links: &ServiceLinks,
        max_links: usize,
    ) -> Result<(), DirectoryRefusal> {
        if action == FilterAction::SET {
            self.links.clear();
        }
        for LinkEntry { name, change } in &links.0 {
            match change {
                Link::Delete => {
                    self.links.remove(name);
                }
                Link::Set { action, info } => {
                    let is_full = self.links.len() >= max_links;
                    match self.links.get_mut(name) {
                        Some(known) if *action == MapAction::UPDATE => known.merge(info.clone()),
                        Some(known) => *known = info.clone(),
                        None if is_full => return Err(DirectoryRefusal::TooManyLinks),
                        None => {
                            self.links.insert(name.clone(), info.clone());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The filters of a refresh, in the order in which the vendor's library
    /// writes them. Info and state that lack what they must have are left out:
    /// no receiver takes them.
    fn filters(&self, wanted: DirectoryFilter) -> Vec<FilterEntry> {
        let links = || {
            let set = |(name, info): (&Text, &LinkInfo)| LinkEntry {
                name: name.clone(),
                change: Link::Set { action: MapAction::ADD, info: info.clone() },
            };
            let links = ServiceLinks(self.links.iter().map(set).collect());
            (!self.links.is_empty()).then_some(FilterContent::Links(links))
        };
        [
            self.info.clone().and_then(|info| info.checked().ok()).map(FilterContent::Info),
            self.data.clone().map(FilterContent::Data),
            links(),
            self.load.clone().map(FilterContent::Load),
            self.state.clone().and_then(|state| state.checked().ok()).map(FilterContent::State),
            self.multicast.clone().map(FilterContent::Multicast),
        ]
        .into_iter()
        .flatten()
        .map(FilterEntry::set)
        .filter(|entry| wanted.contains(entry.filter()))
        .collect()
    }
}
