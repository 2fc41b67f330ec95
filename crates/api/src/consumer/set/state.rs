//! What a set knows: who is active for what, which items are open.

use std::collections::BTreeMap;
use std::time::Duration;

use tapeline_omm::Text;
use tapeline_omm::directory::{Directory, DirectoryChange};
use tapeline_omm::login::WarmStandbyMode;
use tapeline_time::Time;

use super::super::config::ConsumerConfig;
use super::super::items::Wish;
use super::super::queues::ServiceName;
use super::super::spec::{Handle, ItemInfo, ItemSpec};
use super::super::standby::{StandbyMode, StandbySet};
use super::succession::{Fall, Roles, Succession};
use crate::ConsumerCounters;
use crate::slab::Slab;

/// A role to be told, of everything or of the service with this id.
pub(super) type Role = (Option<u16>, usize, WarmStandbyMode);

/// Who is active for a service.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: Text,
    pub(super) succession: Succession,
    /// Who is, as far as the application knows.
    pub(super) shown: Option<usize>,
}

/// One server, or the list of which one is connected.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// It is left out for good.
    pub(super) is_out: bool,
    /// What it offers was there, or it could not be reached.
    is_settled: bool,
    /// Its services were compared with those of the active one since its login.
    pub(super) is_compared: bool,
}

/// What the application knows of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It was told no state yet.
    Nothing,
    /// It is as it should be.
    Well,
    Suspect,
}

/// An item of the application.
#[derive(Debug)]
pub(in super::super) struct SetItem {
    pub(super) wish: Wish,
    pub(super) service: ServiceName,
    pub(super) is_paused: bool,
    /// Whose messages are passed on.
    pub(super) active: Option<usize>,
    /// An image of a server that has just become active is to come.
    pub(super) is_due: bool,
    pub(super) known: Known,
}

/// What a set knows beside its cores.
#[derive(Debug)]
pub(in super::super) struct SetState {
    pub(super) mode: StandbyMode,
    /// Who is active for the connection as a whole. In a set by service, who is
    /// listened to in what is of no service.
    pub(super) lead: Succession,
    pub(super) shown_lead: Option<usize>,
    /// In a set by service, who is active for each.
    pub(super) services: BTreeMap<u16, Service>,
    ids: BTreeMap<Text, u16>,
    /// Where services begin, by name; elsewhere than at the first place.
    starting: BTreeMap<Text, usize>,
    back_after: Option<Duration>,
    pub(super) places: Vec<Place>,
    /// Servers that stand by may be connected.
    pub(super) is_started: bool,
    /// How many servers the list of the first place has.
    listed: usize,
    pub(in super::super) items: Slab<SetItem>,
    /// The services as the application has them.
    pub(in super::super) directory: Directory,
    pub(super) has_dictionary: bool,
    /// When images that are due are asked for.
    pub(super) images_until: Option<Time>,
    pub(super) last_post_id: u32,
    /// Of these the set counts take-overs and servers that are left out.
    pub(super) counts: ConsumerCounters,
}

impl SetState {
    pub(super) fn new(config: &ConsumerConfig, standby: &StandbySet) -> Self {
        let places = standby.servers.len() + 1;
        let starting = standby.servers.iter().zip(1..).flat_map(|(server, place)| {
            server.services.iter().map(move |name| (Text::from(name.as_str()), place))
        });
        Self {
            mode: standby.mode,
            lead: Succession::new(places, 0, standby.preferred),
            shown_lead: None,
            services: BTreeMap::new(),
            ids: BTreeMap::new(),
            starting: starting.collect(),
            back_after: standby.preferred,
            places: vec![Place::default(); places],
            is_started: false,
            listed: config.servers.len(),
            items: Slab::new(),
            directory: Directory::default(),
            has_dictionary: false,
            images_until: None,
            last_post_id: 0,
            counts: ConsumerCounters::default(),
        }
    }

    /// A server by its place in the configuration; `listed` is the one of the list
    /// that the first place is at.
    pub(super) const fn server(&self, place: usize, listed: usize) -> usize {
        if place == 0 { listed } else { self.listed + place - 1 }
    }

    /// Whether no server but this one is left.
    pub(super) fn is_last(&self, place: usize) -> bool {
        self.places.iter().enumerate().all(|(other, it)| other == place || it.is_out)
    }

    /// Who is active for a service, by its number. Where no server has it, the lead
    /// says so; where servers have it, they may wait for the one that is to begin.
    pub(super) fn active_for_id(&self, id: u16) -> Option<usize> {
        let lead = self.lead.active();
        let Some(service) = self.services.get(&id) else { return lead };
        let waits = service.succession.is_anybody_up();
        service.succession.active().or(lead.filter(|_| !waits))
    }

    /// Who is active for a service.
    pub(super) fn active_for(&self, service: &ServiceName) -> Option<usize> {
        let id = match service {
            ServiceName::Id(id) => Some(*id),
            ServiceName::Name(name) => self.ids.get(name).copied(),
        };
        id.map_or(self.lead.active(), |id| self.active_for_id(id))
    }

    /// Whether an item is to be open at a server: what is wanted once, and what is
    /// between two ends, only at the active one.
    pub(super) fn belongs_at(&self, handle: Handle, place: usize) -> bool {
        self.items.get(handle.0).is_some_and(|item| {
            let is_for_all = item.wish.streaming && !item.wish.private;
            !self.places[place].is_out && (is_for_all || item.active == Some(place))
        })
    }

    /// Adds an item.
    pub(super) fn add(&mut self, spec: &ItemSpec<'_>, name: &str) -> Handle {
        let service = ServiceName::from(spec.service);
        let active = self.active_for(&service);
        Handle(self.items.insert(SetItem {
            wish: Wish::of(spec, name),
            service,
            is_paused: spec.paused,
            active,
            is_due: false,
            known: Known::Nothing,
        }))
    }

    /// What is known of an item that is not open at its active server.
    pub(in super::super) fn item_info(&self, handle: Handle) -> Option<ItemInfo<'_>> {
        let item = self.items.get(handle.0)?;
        let service_name = match &item.service {
            ServiceName::Name(name) => Some(name),
            ServiceName::Id(_) => None,
        };
        Some(ItemInfo {
            service_name,
            service_id: None,
            name: &item.wish.name,
            domain: item.wish.domain,
            stream_id: 0,
        })
    }

    /// When time alone changes something.
    pub(super) fn deadline(&self) -> Option<Time> {
        let services = self.services.values().filter_map(|it| it.succession.deadline()).min();
        let lead = self.lead.deadline();
        [services, lead, self.images_until].into_iter().flatten().min()
    }

    /// Whether somebody else is active than the application knows.
    pub(super) fn has_moved(&self) -> bool {
        self.lead.active() != self.shown_lead
            || self.services.values().any(|it| it.succession.active() != it.shown)
    }

    /// The roles of the lead are told in a set by login only.
    fn lead_roles(&self, roles: Roles) -> Vec<Role> {
        let is_told = self.mode == StandbyMode::Login;
        roles.into_iter().filter(|_| is_told).map(|(place, mode)| (None, place, mode)).collect()
    }

    /// A server logged in.
    pub(super) fn logged_in(&mut self, place: usize, now: Time) -> Vec<Role> {
        let roles = self.lead.up(place, now);
        self.lead_roles(roles)
    }

    /// What a server offers is there.
    pub(super) fn settled(&mut self, place: usize) -> Vec<Role> {
        self.is_started |= place == 0;
        self.places[place].is_settled = true;
        self.each_service(|it| match it.starting() == place {
            true => it.settle(),
            false => Roles::new(),
        })
    }

    /// The connection to a server is lost, or there was none.
    pub(super) fn lost(&mut self, place: usize) -> Vec<Role> {
        self.is_started = true;
        self.places[place].is_settled = true;
        self.places[place].is_compared = false;
        let lead = self.lead.down(place, Fall::Gone);
        let mut roles = self.lead_roles(lead);
        roles.extend(self.each_service(|it| it.down(place, Fall::Gone)));
        roles
    }

    /// A server is left out for good.
    pub(super) fn out(&mut self, place: usize) -> Vec<Role> {
        self.is_started = true;
        self.places[place] = Place { is_out: true, is_settled: true, is_compared: false };
        let lead = self.lead.out(place);
        let mut roles = self.lead_roles(lead);
        roles.extend(self.each_service(|it| it.out(place)));
        roles
    }

    /// Time has passed.
    pub(super) fn timeout(&mut self, now: Time) -> Vec<Role> {
        let lead = self.lead.timeout(now);
        let mut roles = self.lead_roles(lead);
        roles.extend(self.each_service(|it| it.timeout(now)));
        roles
    }

    fn each_service(&mut self, mut step: impl FnMut(&mut Succession) -> Roles) -> Vec<Role> {
        let mut all = Vec::new();
        for (id, service) in &mut self.services {
            let roles = step(&mut service.succession);
            all.extend(roles.into_iter().map(|(place, mode)| (Some(*id), place, mode)));
        }
        all
    }

    /// The services of a server changed, to what its directory has.
    pub(super) fn services_changed(
        &mut self,
        place: usize,
        changes: &[DirectoryChange],
        directory: &Directory,
        now: Time,
    ) -> Vec<Role> {
        if self.mode == StandbyMode::Login {
            return Vec::new();
        }
        let mut roles = Vec::new();
        for change in changes {
            let (DirectoryChange::Added { service_id: id }
            | DirectoryChange::Updated { service_id: id, .. }
            | DirectoryChange::Deleted { service_id: id, .. }) = change
            else {
                continue;
            };
            let theirs = directory.service(*id);
            if let Some(name) = theirs.and_then(|service| service.name()) {
                self.note_service(*id, name);
            }
            let Some(service) = self.services.get_mut(id) else { continue };
            let is_up = theirs
                .and_then(|service| service.state.as_ref())
                .is_some_and(|state| state.is_up == Some(true));
            let told = match (theirs, is_up) {
                (Some(_), true) => service.succession.up(place, now),
                (Some(_), false) => service.succession.down(place, Fall::Reachable),
                (None, _) => service.succession.down(place, Fall::Gone),
            };
            roles.extend(told.into_iter().map(|(place, mode)| (Some(*id), place, mode)));
        }
        roles
    }

    fn note_service(&mut self, id: u16, name: &Text) {
        self.ids.insert(name.clone(), id);
        let is_known = self.services.get(&id).is_some_and(|it| it.name == *name);
        if is_known {
            return;
        }
        let starting = self.starting.get(name).copied().unwrap_or(0);
        let mut succession = Succession::new(self.places.len(), starting, self.back_after);
        // Nobody has it yet, so there is nothing to tell.
        for (place, _) in self.places.iter().enumerate().filter(|(_, it)| it.is_out) {
            let _ = succession.out(place);
        }
        if self.places[starting].is_settled {
            let _ = succession.settle();
        }
        self.services.insert(id, Service { name: name.clone(), succession, shown: None });
    }
}
