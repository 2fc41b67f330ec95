//! Services as servers see them: those of all sources, merged by name, under
//! ids of the hub's own.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_omm::Text;
use tapeline_omm::directory::{
    Directory, DirectoryFilter, DirectoryRefresh, DirectoryRequest, DirectoryUpdate, FilterContent,
    FilterEntry, Link, LinkEntry, Service, ServiceEntry, ServiceInfo, ServiceLinks, ServiceLoad,
    ServiceState,
};
use tapeline_rwf::{Domain, MapAction, Qos, State};

use super::source::{SourceKind, Sources};
use crate::{HubConfig, Mirroring, Pick, Rebalance, ServiceGroup, ServiceKind};

/// What the sources of a service are to each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Its items are spread over them.
    #[default]
    Spread,
    /// They mirror each other: each has all items.
    Mirrored,
    /// They have services of other names, which are a group.
    Group,
}

/// A service of the hub.
#[derive(Debug, Default)]
pub(crate) struct HubService {
    /// Its name.
    pub(crate) name: Text,
    /// Items that wait for a source.
    pub(crate) waiting: BTreeSet<u32>,
    /// Of those, the one to be tried first when there is room.
    pub(crate) waiting_turn: u32,
    /// An interactive source offers it, or has: it stays theirs while they are
    /// away.
    pub(crate) is_interactive: bool,
    /// What its sources are to each other.
    pub(crate) sharing: Sharing,
    /// Most items that it may have, if it has a bound.
    pub(crate) max_items: Option<usize>,
    /// Whether images of interactive providers are kept, if it has a word of its own.
    pub(crate) is_cached: Option<bool>,
    /// One of its sources leaves.
    pub(crate) is_left: bool,
    /// The one of them that is used, or was.
    pub(crate) active: Option<u32>,
    /// Mirrored: how.
    pub(crate) mirroring: Mirroring,
    /// What their load means for what is asked, and for what is open.
    pub(crate) rebalance: Rebalance,
    /// Where the search for a source begins when all are equal.
    pub(crate) turn: u32,
    /// What each route said last that the service is, by its number and its own name
    /// of the service. What servers are told of it is not to depend on which sources
    /// are up.
    infos: BTreeMap<(usize, Text), ServiceInfo>,
}

impl HubService {
    /// Whether its sources mirror each other.
    pub(crate) fn is_mirrored(&self) -> bool {
        self.sharing == Sharing::Mirrored
    }

    /// The next of the items that wait, round and round.
    pub(crate) fn next_waiting(&mut self) -> Option<u32> {
        let from_turn = self.waiting.range(self.waiting_turn..).next();
        let id = *from_turn.or_else(|| self.waiting.first())?;
        self.waiting.remove(&id);
        self.waiting_turn = id.wrapping_add(1);
        Some(id)
    }
}

/// All services of the hub.
///
/// A service keeps its id, its name and what it is (`INFO`) for as long as the
/// hub runs, also while no source offers it: it is down then.
#[derive(Debug)]
pub(crate) struct Services {
    by_id: BTreeMap<u16, HubService>,
    by_name: BTreeMap<Text, u16>,
    /// Those whose sources mirror each other, by name.
    mirrored: BTreeMap<Text, Mirroring>,
    /// Those that are balanced in another way than others, by name.
    rebalance: BTreeMap<Text, Rebalance>,
    /// Most items of those that have a bound, by name.
    max_items: BTreeMap<Text, usize>,
    /// Whether images are kept of those that have a word of their own, by name.
    is_cached: BTreeMap<Text, bool>,
    /// The providers of those that are for some only, by name.
    kinds: BTreeMap<Text, ServiceKind>,
    /// By the names that sources say.
    members: BTreeMap<Text, Member>,
    /// As servers were told.
    published: Directory,
    /// Counts the changes.
    version: u32,
}

/// What a service of sources is in the group that it is in.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The name that servers and consumers know it by.
    pub(crate) known_as: Text,
    /// Those with a lower one are asked first.
    pub(crate) rank: u16,
}

impl Member {
    fn all_of(groups: &[ServiceGroup]) -> BTreeMap<Text, Self> {
        let mut all = BTreeMap::new();
        for group in groups {
            for (at, name) in group.members.iter().enumerate() {
                let rank = if group.pick == Pick::Order { at as u16 } else { 0 };
                let known_as = group.name.as_str().into();
                all.entry(name.as_str().into()).or_insert(Self { known_as, rank });
            }
        }
        all
    }
}

impl Services {
    pub(crate) fn new(config: &HubConfig) -> Self {
        let max_services = config.limits.max_services;
        let mut published = Directory::default();
        published.max_services = max_services;
        Self {
            by_id: BTreeMap::new(),
            by_name: BTreeMap::new(),
            mirrored: by_text(&config.mirrored),
            rebalance: by_text(&config.rebalance),
            max_items: by_text(&config.service_items),
            is_cached: by_text(&config.service_cache),
            kinds: by_text(&config.service_kinds),
            members: Member::all_of(&config.service_groups),
            published,
            version: 0,
        }
    }

    /// As what servers know a service that a source calls like this.
    pub(crate) fn member(&self, name: &Text) -> Member {
        let member = self.members.get(name).cloned();
        member.unwrap_or_else(|| Member { known_as: name.clone(), rank: 0 })
    }

    /// The providers that a service is for, if it is for some only.
    pub(crate) fn kind(&self, name: &Text) -> Option<ServiceKind> {
        self.kinds.get(name).copied()
    }

    pub(crate) fn len(&self) -> usize {
        self.by_id.len()
    }

    /// All services, by id.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u16, &HubService)> {
        self.by_id.iter().map(|(id, service)| (*id, service))
    }

    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    pub(crate) fn get(&self, id: u16) -> Option<&HubService> {
        self.by_id.get(&id)
    }

    pub(crate) fn get_mut(&mut self, id: u16) -> Option<&mut HubService> {
        self.by_id.get_mut(&id)
    }

    /// A service by its name.
    pub(crate) fn named(&self, name: &Text) -> Option<&HubService> {
        self.by_id.get(self.by_name.get(name)?)
    }

    /// A service as servers were told of it.
    pub(crate) fn published(&self, id: u16) -> Option<&Service> {
        self.published.service(id)
    }

    /// The id of the service of this name, which gets one if it has none: the
    /// wanted one if that is free. `None`: there are too many services.
    pub(crate) fn id_of(&mut self, name: &Text, wanted: u16) -> Option<u16> {
        if let Some(id) = self.by_name.get(name) {
            return Some(*id);
        }
        if self.by_id.len() >= self.published.max_services {
            return None;
        }
        let id = (wanted..=u16::MAX).chain(0..wanted).find(|id| !self.by_id.contains_key(id))?;
        self.by_name.insert(name.clone(), id);
        let mirroring = self.mirrored.get(name).copied();
        let sharing = match mirroring {
            Some(_) => Sharing::Mirrored,
            None if self.members.values().any(|member| member.known_as == *name) => Sharing::Group,
            None => Sharing::Spread,
        };
        let mirroring = mirroring.unwrap_or_default();
        let rebalance = self.rebalance.get(name).copied().unwrap_or_default();
        let max_items = self.max_items.get(name).copied();
        let is_cached = self.is_cached.get(name).copied();
        let name = name.clone();
        let service = HubService {
            name,
            sharing,
            max_items,
            is_cached,
            mirroring,
            rebalance,
            ..Default::default()
        };
        self.by_id.insert(id, service);
        Some(id)
    }

    /// Works out anew what a service is, from what its sources say. What
    /// changed, if anything did, is what servers are to be told.
    ///
    /// `takes_none`: whatever they say, no requests are taken.
    pub(crate) fn merge(
        &mut self,
        id: u16,
        sources: &Sources,
        takes_none: bool,
    ) -> Option<DirectoryUpdate> {
        let HubService { name, infos, .. } = self.by_id.get_mut(&id)?;
        let before = self.published.service(id);
        let mut offered: Vec<&Service> = Vec::new();
        let mut published: Vec<&ServiceInfo> = Vec::new();
        for (_, own_id, source) in sources.offering(id) {
            let Some(service) = source.service(own_id) else { continue };
            offered.push(service);
            match (source.kind, &service.info) {
                (SourceKind::Route(route), Some(info)) => {
                    let name = info.name.clone().unwrap_or_default();
                    infos.insert((route, name), info.clone());
                }
                (SourceKind::Provider, Some(info)) => published.push(info),
                (_, None) => {}
            }
        }
        let info = merged_info(infos.values().chain(published));
        let mut after = merged(name, before, info, &offered);
        if takes_none {
            take_no_requests(&mut after);
        }
        let filters = differences(before, &after);
        if filters.is_empty() {
            return None;
        }
        let action = if before.is_some() { MapAction::UPDATE } else { MapAction::ADD };
        let entry = ServiceEntry { action, service_id: id, filters };
        let update = DirectoryUpdate::new(0, vec![entry]);
        let _ = self.published.apply_update(&update);
        self.version += 1;
        Some(update)
    }

    /// What a route said of services is of no account any more. Returns those of which
    /// it said something.
    pub(crate) fn forget_route(&mut self, number: usize) -> Vec<u16> {
        let mut said = Vec::new();
        for (id, known) in &mut self.by_id {
            let before = known.infos.len();
            known.infos.retain(|(route, _), _| *route != number);
            if known.infos.len() < before {
                said.push(*id);
            }
        }
        said
    }

    /// All services, for a server that comes.
    pub(crate) fn refresh(&self) -> DirectoryRefresh {
        let request = DirectoryRequest::new(0, DirectoryFilter::USUAL);
        self.published.refresh(&request, &State::open_ok(""))
    }
}

/// What the configuration says of services, by their names.
fn by_text<T: Copy>(by_name: &BTreeMap<String, T>) -> BTreeMap<Text, T> {
    by_name.iter().map(|(name, value)| (name.as_str().into(), *value)).collect()
}

/// One service out of what several sources say of it. Nobody offering it, it is
/// down and otherwise as it was.
fn merged(
    name: &Text,
    before: Option<&Service>,
    info: Option<ServiceInfo>,
    offered: &[&Service],
) -> Service {
    let mut service = Service { info, ..Service::default() };
    if service.info.is_none() {
        service.info = before.and_then(|before| before.info.clone());
    }
    if let Some(info) = &mut service.info {
        info.name = Some(name.clone());
    }
    service.state = Some(merged_state(offered));
    service.load = merged_load(offered);
    if let Some(first) = offered.iter().find(|one| one.is_usable()).or(offered.first()) {
        service.data.clone_from(&first.data);
        service.links.clone_from(&first.links);
    }
    service
}

/// Has a service take no requests, whatever its sources say. A window that none of
/// them gives is not given either: there would be no value to go back to.
fn take_no_requests(service: &mut Service) {
    if let Some(state) = &mut service.state {
        state.accepting_requests = Some(false);
    }
    if let Some(window) = service.load.as_mut().and_then(|load| load.open_window.as_mut()) {
        *window = 0;
    }
}

/// What a service is: as its first source says, and of domains and qualities
/// all that any source offers.
fn merged_info<'i>(mut infos: impl Iterator<Item = &'i ServiceInfo>) -> Option<ServiceInfo> {
    let mut info = infos.next()?.clone();
    for other in infos {
        union(&mut info.capabilities, other.capabilities.as_ref());
        union(&mut info.qos, other.qos.as_ref());
        union(&mut info.dictionaries_provided, other.dictionaries_provided.as_ref());
        union(&mut info.dictionaries_used, other.dictionaries_used.as_ref());
    }
    Some(info)
}

fn union<T: Clone + PartialEq>(all: &mut Option<Vec<T>>, more: Option<&Vec<T>>) {
    for one in more.into_iter().flatten() {
        let all = all.get_or_insert_default();
        if !all.contains(one) {
            all.push(one.clone());
        }
    }
}

/// How a service is: up if any source is, and accepting requests unless every
/// source that is up says no. While none is up, requests wait.
fn merged_state(offered: &[&Service]) -> ServiceState {
    let up: Vec<_> = offered
        .iter()
        .filter_map(|service| service.state.as_ref())
        .filter(|state| state.is_up == Some(true))
        .collect();
    let is_accepting = up.is_empty() || up.iter().any(|state| state.is_usable());
    ServiceState::new(!up.is_empty(), is_accepting)
}

/// What a service can take: the sum of what its sources can, and the load of
/// the least busy one. A source that gives no limit has none.
fn merged_load(offered: &[&Service]) -> Option<ServiceLoad> {
    let loads: Vec<_> = offered.iter().filter_map(|service| service.load.as_ref()).collect();
    if loads.is_empty() {
        return None;
    }
    let sum = |limit: fn(&ServiceLoad) -> Option<u64>| {
        let given: Vec<_> = loads.iter().filter_map(|load| limit(load)).collect();
        let is_limited = given.len() == offered.len();
        is_limited.then(|| given.into_iter().fold(0, u64::saturating_add))
    };
    Some(ServiceLoad {
        open_limit: sum(|load| load.open_limit),
        open_window: sum(|load| load.open_window),
        load_factor: loads.iter().filter_map(|load| load.load_factor).min(),
    })
}

/// The filters that tell somebody who knows `before` of `after`.
fn differences(before: Option<&Service>, after: &Service) -> Vec<FilterEntry> {
    let mut filters = Vec::new();
    let mut clear = |content: FilterContent| filters.push(FilterEntry::Clear { id: content.id() });
    if let (Some(load), None) = (before.and_then(|it| it.load.clone()), &after.load) {
        clear(FilterContent::Load(load));
    }
    if let (Some(data), None) = (before.and_then(|it| it.data.clone()), &after.data) {
        clear(FilterContent::Data(data));
    }
    let mut set = |content| filters.push(FilterEntry::set(content));
    if let Some(info) = after.info.clone()
        && before.and_then(|before| before.info.as_ref()) != Some(&info)
    {
        set(FilterContent::Info(info));
    }
    if let Some(data) = after.data.clone()
        && before.and_then(|before| before.data.as_ref()) != Some(&data)
    {
        set(FilterContent::Data(data));
    }
    let known = before.map(|before| &before.links);
    if known.map_or(!after.links.is_empty(), |known| *known != after.links) {
        set(FilterContent::Links(links(before, after)));
    }
    if let Some(load) = after.load.clone()
        && before.and_then(|before| before.load.as_ref()) != Some(&load)
    {
        set(FilterContent::Load(load));
    }
    if let Some(state) = after.state.clone()
        && before.and_then(|before| before.state.as_ref()) != Some(&state)
    {
        set(FilterContent::State(state));
    }
    filters
}

/// All links of a service, those that are gone as deleted ones.
fn links(before: Option<&Service>, after: &Service) -> ServiceLinks {
    let gone: BTreeSet<_> = before
        .into_iter()
        .flat_map(|before| before.links.keys())
        .filter(|name| !after.links.contains_key(*name))
        .collect();
    let gone = gone.into_iter().map(|name| LinkEntry { name: name.clone(), change: Link::Delete });
    let set = after.links.iter().map(|(name, info)| LinkEntry {
        name: name.clone(),
        change: Link::Set { action: MapAction::ADD, info: info.clone() },
    });
    ServiceLinks(gone.chain(set).collect())
}

/// Whether a service offers a domain; nobody knows before its info has come.
pub(crate) fn offers(service: &Service, domain: Domain) -> bool {
    service.info.as_ref().is_none_or(|info| info.offers(domain) || domain == Domain::DICTIONARY)
}

/// The qualities that a service offers.
pub(crate) fn offered_qos(service: &Service) -> &[Qos] {
    service.info.as_ref().map_or(&[], ServiceInfo::offered_qos)
}
