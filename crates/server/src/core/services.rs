//! The services of all hubs as one directory.

use std::collections::BTreeMap;

use tapeline_omm::directory::{
    Directory, DirectoryChange, DirectoryFilter, DirectoryRequest, DirectoryUpdate, FilterContent,
    FilterEntry, Service, ServiceEntry, ServiceInfo, ServiceState,
};
use tapeline_omm::{ItemKeyRef, Text, qos};
use tapeline_rwf::{Domain, State};

use super::hubs::Hubs;
use super::item::HubIndex;

/// The names of the dictionaries that the server has itself, for all services.
pub(super) const FIELD_DICTIONARY: &str = "RWFFld";
pub(super) const ENUM_DICTIONARY: &str = "RWFEnum";

/// The services of all hubs, by the numbers that consumers know them by.
///
/// A service is one by its name, whichever hubs have it. It keeps its number
/// for as long as the server runs. Consumers see it as the best of its hubs
/// describes it; when no hub has it any more, it is down.
#[derive(Debug, Default)]
pub(super) struct Services {
    pub(super) directory: Directory,
    /// What consumers were told, by number.
    told: BTreeMap<u16, Told>,
    /// Numbers that are given to names before there is a service.
    fixed: BTreeMap<Text, u16>,
    ids: BTreeMap<Text, u16>,
    names: BTreeMap<u16, Text>,
}

/// What is known of a service, by the filters' ids.
type Told = BTreeMap<u8, FilterContent>;

/// What consumers know of a service only as long as its hub says it: a window, say.
const WHILE_SAID: DirectoryFilter = DirectoryFilter::LOAD
    .union(DirectoryFilter::DATA)
    .union(DirectoryFilter::LINK)
    .union(DirectoryFilter::SEQUENCED_MULTICAST);

/// What became of the services.
#[derive(Debug, Default)]
pub(super) struct ServiceChanges {
    /// What consumers are told.
    pub(super) entries: Vec<ServiceEntry>,
    /// Services that requests may be sent to again, perhaps.
    pub(super) services: Vec<u16>,
    /// Services that are new at a hub, which has other numbers for them.
    pub(super) numbers: Vec<Number>,
}

/// The numbers of a service.
#[derive(Clone, Copy, Debug)]
pub(super) struct Number {
    /// By which consumers know it,
    pub(super) here: u16,
    /// and that of a hub.
    pub(super) at_hub: u16,
    /// Whether the first is given by the configuration.
    pub(super) is_fixed: bool,
}

impl ServiceChanges {
    /// Services that consumers are told are up, or down.
    pub(super) fn went_up_or_down(&self) -> impl Iterator<Item = (u16, bool)> + '_ {
        self.entries.iter().flat_map(|entry| {
            let state = |filter: &FilterEntry| match filter {
                FilterEntry::Content { content: FilterContent::State(state), .. } => state.is_up,
                _ => None,
            };
            entry.filters.iter().filter_map(state).map(|is_up| (entry.service_id, is_up))
        })
    }

    pub(super) fn update(&self) -> Option<DirectoryUpdate> {
        (!self.entries.is_empty()).then(|| DirectoryUpdate::new(0, self.entries.clone()))
    }
}

impl Services {
    /// No services yet, of which these will have fixed numbers.
    pub(super) fn numbered(fixed: &BTreeMap<String, u16>) -> Self {
        let fixed = fixed.iter().map(|(name, id)| (name.as_str().into(), *id)).collect();
        Self { fixed, ..Self::default() }
    }

    /// Panics where names, numbers and what consumers were told contradict each
    /// other.
    pub(super) fn check(&self) {
        assert_eq!(self.ids.len(), self.names.len(), "names and numbers");
        for (name, id) in &self.ids {
            assert_eq!(self.names.get(id), Some(name), "the name of service {id}");
        }
        for id in self.told.keys() {
            assert!(self.names.contains_key(id), "service {id} was told of and has no name");
        }
        let listed: Vec<_> = self.directory.services().map(|(id, _)| id).collect();
        assert!(self.told.keys().copied().eq(listed.iter().copied()), "told of, and {listed:?}");
    }

    /// Takes over what changed at one hub.
    pub(super) fn changed(
        &mut self,
        hubs: &Hubs,
        hub: HubIndex,
        changes: &[DirectoryChange],
    ) -> ServiceChanges {
        let mut all = ServiceChanges::default();
        for change in changes {
            let (hub_id, name, is_deleted) = match change {
                DirectoryChange::Added { service_id }
                | DirectoryChange::Updated { service_id, .. } => {
                    let name = hubs.directory(hub).and_then(|known| known.service(*service_id));
                    (*service_id, name.and_then(Service::name).cloned(), false)
                }
                DirectoryChange::Deleted { service_id, service } => {
                    (*service_id, service.name().cloned(), true)
                }
                // Hubs send states of their own for every item.
                _ => continue,
            };
            if let Some(name) = name {
                self.merge(hubs, &name, hub_id, is_deleted, &mut all);
                let is_new = matches!(change, DirectoryChange::Added { .. });
                all.numbers.extend(self.number(&name, hub_id).filter(|_| is_new));
            }
        }
        all
    }

    /// A hub is gone, with these services.
    pub(super) fn hub_lost(&mut self, hubs: &Hubs, lost: &Directory) -> ServiceChanges {
        let mut all = ServiceChanges::default();
        for (hub_id, service) in lost.services() {
            if let Some(name) = service.name() {
                self.merge(hubs, name, hub_id, false, &mut all);
            }
        }
        all
    }

    fn merge(
        &mut self,
        hubs: &Hubs,
        name: &Text,
        hub_id: u16,
        is_deleted: bool,
        all: &mut ServiceChanges,
    ) {
        let Some(id) = self.id_of(name, hub_id) else { return };
        let entry = match hubs.best_for(name) {
            Some((directory, hub_id)) => self.described(id, contents(directory, hub_id), true),
            None if is_deleted => self.told.remove(&id).map(|_| ServiceEntry::delete(id)),
            None => {
                let down = FilterContent::State(ServiceState::new(false, true));
                self.described(id, vec![down], false)
            }
        };
        if let Some(entry) = entry {
            self.directory.apply_update(&DirectoryUpdate::new(0, vec![entry.clone()]));
            all.entries.push(entry);
        }
        all.services.push(id);
    }

    /// What is to be told of a service of which this is said now. `is_all`: what another
    /// hub said before, and this one does not, is so no more.
    fn described(
        &mut self,
        id: u16,
        said: Vec<FilterContent>,
        is_all: bool,
    ) -> Option<ServiceEntry> {
        let Some(told) = self.told.get_mut(&id) else {
            // Consumers take no service whose name they do not know.
            said.iter().any(|content| matches!(content, FilterContent::Info(_))).then_some(())?;
            self.told.insert(id, said.iter().map(|it| (it.id(), it.clone())).collect());
            return Some(ServiceEntry::add(id, said.into_iter().map(FilterEntry::set).collect()));
        };
        let is_said = |id: u8| said.iter().any(|content| content.id() == id);
        let may_go = |id: u8| is_all && WHILE_SAID.contains(DirectoryFilter::of_id(id));
        let gone: Vec<_> = told.keys().copied().filter(|id| may_go(*id) && !is_said(*id)).collect();
        let mut changed = Vec::new();
        for content in said {
            if told.get(&content.id()) != Some(&content) {
                told.insert(content.id(), content.clone());
                changed.push(FilterEntry::set(content));
            }
        }
        for id in gone {
            told.remove(&id);
            changed.push(FilterEntry::Clear { id });
        }
        (!changed.is_empty()).then(|| ServiceEntry::update(id, changed))
    }

    /// A service as consumers are to know it by now.
    pub(super) fn as_told(&self, id: u16) -> ServiceEntry {
        match self.told.get(&id) {
            Some(told) => {
                ServiceEntry::add(id, told.values().cloned().map(FilterEntry::set).collect())
            }
            None => ServiceEntry::delete(id),
        }
    }

    /// The number of a service: the one that is fixed for it, or its hub's if
    /// that is free, else the next that is.
    fn id_of(&mut self, name: &Text, hub_id: u16) -> Option<u16> {
        if let Some(known) = self.ids.get(name) {
            return Some(*known);
        }
        if self.ids.len() >= self.directory.max_services {
            return None;
        }
        let is_fixed = |id: &u16| self.fixed.values().any(|fixed| fixed == id);
        let is_free = |id: &u16| !self.names.contains_key(id) && !is_fixed(id);
        let mut candidates = (hub_id..=u16::MAX).chain(0..hub_id);
        let id = self.fixed.get(name).copied().or_else(|| candidates.find(is_free))?;
        self.ids.insert(name.clone(), id);
        self.names.insert(id, name.clone());
        Some(id)
    }

    /// The numbers of a service here and at a hub, if that has another one. A server that
    /// met that hub first, or has nothing else by the hub's number, has it by that one.
    fn number(&self, name: &Text, at_hub: u16) -> Option<Number> {
        let here = self.id(name.as_bytes()).filter(|here| *here != at_hub)?;
        Some(Number { here, at_hub, is_fixed: self.fixed.contains_key(name) })
    }

    /// All that are known, by number.
    pub(super) fn names(&self) -> impl ExactSizeIterator<Item = (u16, &Text)> {
        self.names.iter().map(|(id, name)| (*id, name))
    }

    /// The number of a service.
    pub(super) fn id(&self, name: &[u8]) -> Option<u16> {
        self.ids.get(name).copied()
    }

    /// The name of a service.
    pub(super) fn name(&self, id: u16) -> Option<&Text> {
        self.names.get(&id)
    }

    /// The hub at which to ask for an item, and its number for the service.
    pub(super) fn choose(&self, hubs: &Hubs, key: &ItemKeyRef<'_>) -> Option<(HubIndex, u16)> {
        hubs.choose(self.name(key.service_id?)?, key.domain, key.qos)
    }

    /// Whether new requests for a service are worth trying.
    pub(super) fn is_usable(&self, id: u16) -> bool {
        self.directory.service(id).is_some_and(Service::is_usable)
    }
}

/// All that a directory knows of a service, as consumers are to see it.
fn contents(directory: &Directory, hub_id: u16) -> Vec<FilterContent> {
    let everything = DirectoryFilter::from_bits_retain(0x7F);
    let mut request = DirectoryRequest::new(0, everything);
    request.service_id = Some(hub_id);
    let refresh = directory.refresh(&request, &State::open_ok(""));
    let entries = refresh.services.into_iter().next().map_or(Vec::new(), |it| it.filters);
    let contents = entries.into_iter().filter_map(|entry| match entry {
        FilterEntry::Content { content, .. } => Some(content),
        // A refresh has what is there.
        FilterEntry::Clear { .. } => None,
    });
    let mut contents: Vec<_> = contents.collect();
    for content in &mut contents {
        if let FilterContent::Info(info) = content {
            offer_dictionaries(info);
            put_in_order(info);
        }
    }
    contents
}

/// Has lists in an order of their own, so that two servers say the same of a
/// service, in whatever order their sources came: clients of the vendor's
/// library compare them one by one, and drop a server from a warm standby group
/// that differs.
fn put_in_order(info: &mut ServiceInfo) {
    info.capabilities.iter_mut().for_each(|capabilities| capabilities.sort_unstable());
    info.qos.iter_mut().for_each(|all| all.sort_by(qos::compare));
    for names in [&mut info.dictionaries_provided, &mut info.dictionaries_used] {
        // The server's own first, the fields before what their values mean.
        let rank = |name: &Text| (*name != FIELD_DICTIONARY, *name != ENUM_DICTIONARY);
        if let Some(names) = names {
            names.sort_unstable_by(|a, b| (rank(a), a).cmp(&(rank(b), b)));
        }
    }
}

/// The server has the dictionaries, whatever the source of the service says:
/// clients look for them in the info, and send no request for a domain that is
/// not among the capabilities.
fn offer_dictionaries(info: &mut ServiceInfo) {
    for list in [&mut info.dictionaries_provided, &mut info.dictionaries_used] {
        let list = list.get_or_insert_default();
        for name in [FIELD_DICTIONARY, ENUM_DICTIONARY] {
            if !list.iter().any(|known| *known == name) {
                list.push(name.into());
            }
        }
    }
    let capabilities = info.capabilities.get_or_insert_default();
    if !capabilities.contains(&Domain::DICTIONARY) {
        capabilities.insert(0, Domain::DICTIONARY);
    }
}
