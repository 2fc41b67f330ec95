//! Rows of the tables, for whoever looks.

use tapeline_backbone::Incarnation;
use tapeline_channel::SessionId;
use tapeline_entitle::{Contract, Policy, ProfileId};
use tapeline_omm::directory::ServiceState;
use tapeline_omm::login::LoginRequest;
use tapeline_omm::{KeyHash, Text, state};
use tapeline_rwf::Qos;

use super::Core;
use super::item::{Item, Upstream};
use super::mount::{Login, Mount, gate};
use super::standings::Standing;
use crate::rows::{ItemRow, MountRow, ServiceRow, UserRow};

/// Columns of items by which they are put in order without making their rows.
const WATCHERS: &str = "watchers";
const MESSAGES: &str = "messages";
const IMAGE_BYTES: &str = "imageBytes";
const MERGED_BYTES: &str = "mergedBytes";

/// Most positions of a user that are shown.
const MAX_POSITIONS: usize = 8;

impl Core {
    /// Numbers that mounts may have are below this one.
    pub(crate) fn mount_places(&self) -> u32 {
        self.mounts.numbers()
    }

    /// Mounts now.
    pub(crate) const fn mount_count(&self) -> usize {
        self.mounts.count
    }

    /// The session of the mount with a number.
    pub(crate) fn mount_at(&self, number: u32) -> Option<SessionId> {
        self.mounts.session_of(number)
    }

    /// The service and the name of the item that a hub has by this number.
    pub(crate) fn item_named(&self, hub: Incarnation, hub_item: u32) -> Option<(&Text, &[u8])> {
        let hub = self.hubs.get(self.hubs.find(hub)?)?;
        let item = self.items.get(hub.slot(hub_item)?)?;
        Some((self.services.name(item.service_id())?, item.key.as_ref().name))
    }

    /// Whether a mount watches the item of a slot.
    pub(crate) fn is_watched_by(&self, slot: u32, mount: SessionId) -> bool {
        let number = self.mounts.get(mount).map(|mount| mount.number);
        let item = self.items.get(slot);
        number.zip(item).is_some_and(|(number, item)| item.watchers.has_mount(number))
    }

    /// How many watch the item that a hub has by this number.
    pub(crate) fn watchers_of(&self, hub: Incarnation, hub_item: u32) -> usize {
        let hub = self.hubs.find(hub).and_then(|index| self.hubs.get(index));
        let item = hub.and_then(|hub| self.items.get(hub.slot(hub_item)?));
        item.map_or(0, |item| item.watchers.len())
    }

    /// Sessions of the mounts of a user.
    pub(crate) fn mounts_of_user(&self, user: &[u8]) -> Vec<SessionId> {
        let is_users = |mount: &&Mount| {
            mount.login.as_ref().is_some_and(|login| login.shown_user().as_bytes() == user)
        };
        self.mounts.iter().filter(is_users).map(|mount| mount.session).collect()
    }

    /// What is known of a mount beside its socket.
    pub(crate) fn mount_row(&self, session: SessionId) -> Option<MountRow> {
        let mount = self.mounts.get(session)?;
        let login = mount.login.as_ref();
        let request = login.map(|login| &login.request);
        let text = |of: fn(&LoginRequest) -> Option<&Text>| Some(of(request?)?.to_string());
        let standing = self.mounts.standings.of_mount(mount.number);
        let slow_since = mount.is_slow.then_some(mount.slow_since);
        let round_trip = mount.round_trip.as_ref().and_then(|known| known.summary());
        Some(MountRow {
            channel: session.to_string(),
            login_name: login.map(|login| login.shown_user().to_string()),
            position: text(|request| request.attributes.position.as_ref()),
            application_key: text(|request| request.attributes.application_id.as_ref()),
            application_name: text(|request| request.attributes.application_name.as_ref()),
            identifier: text(|request| request.attributes.instance_id.as_ref()),
            host_name: mount.peer.to_string(),
            version: None,
            compression: None,
            contract: self.contract_of(login).to_string(),
            mount_seconds: self.now.since(mount.opened_at).as_secs(),
            protocol: "RSSL",
            is_single_open: login.is_some_and(|login| login.policy.single_open),
            items: mount.item_count,
            active: standing.active as usize,
            pending: pending(mount.item_count, standing),
            stale: standing.stale as usize,
            backlog_bytes: 0,
            backlog_bytes_most: 0,
            merged_bytes: mount.owed.merged_bytes(),
            updates_merged: mount.updates_merged,
            updates_merged_per_s: None,
            is_slow: mount.is_slow,
            slow_seconds: slow_since.map(|since| self.now.since(since).as_secs()),
            slow_count: 0,
            standby: mount.roles.words(|id| {
                self.services.name(id).map_or_else(|| id.to_string(), ToString::to_string)
            }),
            is_paused: self.mounts.gate(session) & gate::PAUSED != 0,
            round_trip_us: round_trip.map(|it| it.last.as_micros() as u64),
            round_trip_p50_us: round_trip.map(|it| it.p50.as_micros() as u64),
            round_trip_p99_us: round_trip.map(|it| it.p99.as_micros() as u64),
            messages_sent: 0,
            bytes_sent: 0,
            messages_received: 0,
        })
    }

    /// Places of users.
    pub(crate) fn user_places(&self) -> u32 {
        self.mounts.users.places()
    }

    /// How many items the user at a place has open.
    pub(crate) fn items_of_user_at(&self, place: u32) -> Option<u64> {
        self.mounts.users.at(place).map(|(_, _, total, _)| total as u64)
    }

    /// The user at a place.
    pub(crate) fn user_row(&self, place: u32) -> Option<UserRow> {
        let (name, channels, total, asked) = self.mounts.users.at(place)?;
        let most = self.mounts.users.most_at(place).unwrap_or_default();
        let limits = self.config.limits.of_user(name);
        let of_all = &self.config.limits;
        let standing = self.mounts.standings.of_user(place);
        let roles = self.profile_at(place);
        let of_roles = roles.and_then(|(policy, profile)| policy.item_limit(profile));
        let item_limit = limits.item_limit.unwrap_or(of_all.item_limit);
        Some(UserRow {
            login_name: name.to_string(),
            channels,
            channels_most: most.mounts,
            total_most: most.items,
            positions: self.positions_of(place),
            total,
            active: standing.active as usize,
            pending: pending(total, standing),
            stale: standing.stale as usize,
            aggregate_item_limit: of_roles.map_or(item_limit, |most| item_limit.min(most as usize)),
            item_limit_per_mount: limits
                .item_limit_per_mount
                .unwrap_or(of_all.item_limit_per_mount),
            max_priority_class: roles
                .and_then(|(policy, profile)| policy.max_priority_class(profile))
                .into_iter()
                .chain(limits.max_priority_class.map(u32::from))
                .min(),
            fields: roles
                .and_then(|(policy, profile)| policy.field_mask(profile).map(ToString::to_string)),
            contract: roles
                .and_then(|(policy, profile)| Some(policy.contract(profile)?.to_string())),
            opens: asked.opens,
            normal_opens: asked.opens - asked.snapshots,
            snapshot_opens: asked.snapshots,
            recoverable_opens: asked.recoverable,
            non_recoverable_opens: asked.opens - asked.recoverable,
            view_requests: asked.views,
            recoverable_closes: asked.recoverable_closes,
            non_recoverable_closes: asked.closes - asked.recoverable_closes,
            denied: asked.denied,
        })
    }

    /// What the role of a login, or the configuration, says of a mount that is slow.
    fn contract_of(&self, login: Option<&Login>) -> Contract {
        let profile = login.and_then(|login| self.entitlements.profile_now(login));
        let roles = self.entitlements.policy().zip(profile);
        let of_role = roles.and_then(|(policy, profile)| policy.contract(profile));
        of_role.unwrap_or(match self.config.conflation {
            true => Contract::LatestWhenSlow,
            false => Contract::Every,
        })
    }

    /// The positions of the mounts of the user at a place, each once.
    fn positions_of(&self, place: u32) -> Option<String> {
        let mut positions: Vec<&Text> = Vec::new();
        for number in self.mounts.standings.mounts_of(place) {
            let mount = self.mounts.session_of(number).and_then(|it| self.mounts.get(it));
            let login = mount.and_then(|mount| mount.login.as_ref());
            let position = login.and_then(|it| it.request.attributes.position.as_ref());
            positions.extend(position.filter(|position| !positions.contains(position)));
            if positions.len() == MAX_POSITIONS {
                break;
            }
        }
        let positions: Vec<_> = positions.iter().map(ToString::to_string).collect();
        (!positions.is_empty()).then(|| positions.join(" "))
    }

    /// How long the mount of a number took the last time to answer, in microseconds; 0 if
    /// that is not known. It is asked of all mounts at each scrape: where no round trips
    /// are measured none of them is touched.
    pub(crate) fn round_trip_us_at(&self, number: u32) -> Option<u64> {
        let session = self.mounts.session_of(number)?;
        if self.config.rtt_interval_ms == 0 {
            return Some(0);
        }
        let round_trip = self.mounts.get(session)?.round_trip.as_ref();
        Some(round_trip.and_then(|known| known.last_us()).map_or(0, u64::from))
    }

    /// The profile of a user, where there is a policy.
    fn profile_at(&self, place: u32) -> Option<(&Policy, ProfileId)> {
        let mount = self.mounts.standings.mounts_of(place).next();
        let login = self.mounts.get(self.mounts.session_of(mount?)?)?.login.as_ref()?;
        self.entitlements.policy().zip(self.entitlements.profile_now(login))
    }

    /// Numbers that services may have are below this one.
    pub(crate) fn service_places(&self) -> u32 {
        self.services.names().map(|(id, _)| u32::from(id) + 1).max().unwrap_or(0)
    }

    /// The service of a number.
    pub(crate) fn service_row(&self, id: u16) -> Option<ServiceRow> {
        let name = self.services.name(id)?;
        let service = self.services.directory.service(id);
        let state = service.and_then(|service| service.state.as_ref());
        let info = service.and_then(|service| service.info.as_ref());
        let is_up = state.is_some_and(|state| state.is_up == Some(true));
        let census = self.items.census.of(id);
        let bound = self.items.bounds.of(id);
        let joined = |all: Vec<String>| all.join(" ");
        Some(ServiceRow {
            name: name.to_string(),
            service_id: id,
            state: if is_up { "Up" } else { "Down" },
            is_accepting: state.is_some_and(ServiceState::is_usable),
            items: census.items(),
            max_items: bound.map(|(max, _)| max as u64),
            most_items: bound.map(|(_, most)| most as u64),
            active: census.active,
            pending: census.pending,
            stale: census.stale,
            updates: self.items.updates.of(id),
            updates_per_s: None,
            hubs: self.hubs.having(name),
            qos: info.map_or_else(String::new, |info| {
                joined(info.offered_qos().iter().map(qos).collect())
            }),
            capabilities: info.map_or_else(String::new, |info| {
                let offered = info.capabilities.iter().flatten();
                joined(offered.map(ToString::to_string).collect())
            }),
            dictionaries: info.map_or_else(String::new, |info| {
                let used = info.dictionaries_used.iter().flatten();
                joined(used.map(ToString::to_string).collect())
            }),
        })
    }

    /// Slots of items.
    pub(crate) fn item_places(&self) -> u32 {
        self.items.slots().end
    }

    /// What the item of a slot has in a column by which items are put in order.
    pub(crate) fn item_rank(&self, slot: u32, column: &str) -> Option<u64> {
        let item = self.items.get(slot)?;
        Some(match column {
            WATCHERS => item.watchers.len() as u64,
            MESSAGES => u64::from(item.last_seq),
            IMAGE_BYTES => image_bytes(item) as u64,
            MERGED_BYTES => merged_bytes(item) as u64,
            _ => 0,
        })
    }

    /// A number that tells the item of a slot from what was there before it.
    pub(crate) fn item_identity(&self, slot: u32) -> u64 {
        let Some(item) = self.items.get(slot) else { return 0 };
        KeyHash::of(&item.key.as_ref()).to_number()
    }

    /// Updates that came merged to the mount at a place.
    pub fn updates_merged_at(&self, place: u32) -> Option<u64> {
        Some(self.mounts.get(self.mounts.session_of(place)?)?.updates_merged)
    }

    /// The item of a slot.
    pub(crate) fn item_row(&self, slot: u32) -> Option<ItemRow> {
        let item = self.items.get(slot)?;
        let key = item.key.as_ref();
        let state = item.state();
        let (request, hub) = match item.upstream() {
            Upstream::Nowhere => ("nowhere", None),
            Upstream::Queued { hub } => ("queued", Some(hub)),
            Upstream::Asked { hub, .. } => ("asked", Some(hub)),
            Upstream::Accepted { hub, .. } => ("open", Some(hub)),
        };
        Some(ItemRow {
            name: shown(key.name),
            service: self
                .services
                .name(item.service_id())
                .map_or_else(String::new, ToString::to_string),
            domain: key.domain.to_string(),
            state: state::brief(&state),
            text: shown(state.text),
            watchers: item.watchers.len(),
            messages: item.last_seq,
            messages_per_s: None,
            image_bytes: image_bytes(item),
            merged_bytes: merged_bytes(item),
            is_private: item.is_private,
            request,
            hub,
            hub_run: hub.and_then(|hub| self.hubs.get(hub)).map(|hub| hub.incarnation.to_string()),
            lock: hexadecimal(self.entitlements.lock_of(self.items.guard(slot))),
        })
    }
}

/// Those of so many items that are neither well nor stale.
fn pending(items: usize, standing: Standing) -> usize {
    items.saturating_sub((standing.active + standing.stale) as usize)
}

fn image_bytes(item: &Item) -> usize {
    item.image.as_ref().map_or(0, |image| image.content_bytes())
}

fn merged_bytes(item: &Item) -> usize {
    item.merges.as_ref().map_or(0, |merges| merges.bytes())
}

/// Bytes in hexadecimal; `None` for none.
fn hexadecimal(bytes: &[u8]) -> Option<String> {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    (!text.is_empty()).then_some(text)
}

/// Bytes of a peer as words.
fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn qos(qos: &Qos) -> String {
    format!("{}:{}", qos.timeliness, qos.rate)
}
