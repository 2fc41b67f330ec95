//! Rows of the tables, for whoever looks.

use tapeline_channel::SessionId;
use tapeline_omm::KeyHash;
use tapeline_omm::directory::{Service, ServiceLoad, SourceMirroringMode};

use super::Core;
use super::source::{Offer, Phase, Source, SourceKind};
use crate::rows::{HubItemRow, HubServiceRow, SourceRow};

impl Core {
    /// Indexes of sources are below this one.
    pub(crate) fn source_places(&self) -> u32 {
        self.sources.iter().map(|(index, _)| index + 1).max().unwrap_or(0)
    }

    /// The route and the session of a source.
    pub(crate) fn source_ends(&self, index: u32) -> Option<(Option<usize>, Option<SessionId>)> {
        let source = self.sources.get(index)?;
        let route = match source.kind {
            SourceKind::Route(route) => Some(route),
            SourceKind::Provider => None,
        };
        Some((route, source.session))
    }

    /// A source as far as the core knows it.
    pub(crate) fn source_row(&self, index: u32) -> Option<SourceRow> {
        let source = self.sources.get(index)?;
        let (route, session) = self.source_ends(index)?;
        let row = SourceRow {
            name: String::new(),
            kind: if route.is_some() { "interactive" } else { "non-interactive" },
            channel: session.map(|session| session.to_string()),
            host: String::new(),
            is_up: source.phase == Phase::Up,
            phase: phase(source),
            services: self.services_of(source),
            preference: source.preference.to_string(),
            items: source.offers.values().map(|offer| offer.open).sum(),
            in_window: source.offers.values().map(|offer| offer.in_window).sum(),
            open_window: loads(source).filter_map(|load| load.open_window).min(),
            load_factor: loads(source).filter_map(|load| load.load_factor).max(),
            mirroring: mirroring(source),
            unsent: source.unsent(),
            claims: source.offers.values().map(|offer| offer.claims.len()).sum(),
            is_slow: source.is_slow && source.phase == Phase::Up,
            round_trip_us: source.round_trip_us,
            retransmits: source.retransmits,
            losses: 0,
            last_loss: None,
            last_loss_seconds: None,
            up_seconds: None,
        };
        Some(row)
    }

    /// Numbers of services are below this one.
    pub(crate) fn service_places(&self) -> u32 {
        self.services.iter().map(|(id, _)| u32::from(id) + 1).max().unwrap_or(0)
    }

    /// The service of a number.
    pub fn service_row(&self, id: u16) -> Option<HubServiceRow> {
        let service = self.services.get(id)?;
        Some(HubServiceRow {
            name: service.name.to_string(),
            service_id: id,
            items: self.items.len_of(id),
            max_items: service.max_items,
            most_items: self.items.most_of(id),
            waiting: service.waiting.len(),
            sources: self.sources.offering(id).count(),
            from: String::new(),
        })
    }

    /// The sources of a service, by index, with what is to be known of each beside its
    /// name: `0 1 standby: 70`.
    pub(crate) fn sources_of(&self, id: u16) -> impl Iterator<Item = (u32, String)> {
        self.sources.offering(id).filter_map(|(index, own_id, source)| {
            let offer = source.offers.get(&own_id)?;
            let part = part(offer).map(|part| format!(" {part}")).unwrap_or_default();
            Some((index, format!("{}{part}: {}", source.preference, offer.open)))
        })
    }

    /// Ids of items are below this one.
    pub(crate) fn item_places(&self) -> u32 {
        self.items.end()
    }

    /// A number that tells an item from what had its id before it.
    pub(crate) fn item_identity(&self, id: u32) -> u64 {
        self.items.get(id).map_or(0, |item| KeyHash::of(&item.key.as_ref()).to_number())
    }

    /// How many messages of an item went to all servers.
    pub(crate) fn messages_of(&self, id: u32) -> Option<u32> {
        self.items.get(id).map(|_| self.items.seq(id))
    }

    /// The item of an id, and the index of its source.
    pub(crate) fn item_row(&self, id: u32) -> Option<(HubItemRow, Option<u32>)> {
        let item = self.items.get(id)?;
        let key = item.key.as_ref();
        let service = self.services.get(item.service);
        let row = HubItemRow {
            name: String::from_utf8_lossy(key.name).into_owned(),
            service: service.map_or_else(String::new, |service| service.name.to_string()),
            domain: key.domain.to_string(),
            state: item.state.brief(),
            source: None,
            stream: item.binding.and_then(|binding| binding.stream_id).map(i64::from),
            requests: item.interests.len(),
            messages: self.items.seq(id),
            messages_per_s: None,
            image_bytes: item.image.as_ref().map_or(0, |image| image.content_bytes()),
            is_private: item.private,
        };
        Some((row, item.binding.map(|binding| binding.source)))
    }

    fn services_of(&self, source: &Source) -> String {
        let names = source.offers.iter().filter_map(|(own_id, offer)| {
            let own = source.service(*own_id).and_then(Service::name);
            let name = &self.services.get(offer.service)?.name;
            Some(match own.filter(|own| *own != name) {
                Some(own) => format!("{name} ({own})"),
                None => name.to_string(),
            })
        });
        names.collect::<Vec<_>>().join(" ")
    }
}

/// What a source says of its load, of each service that is taken from it.
fn loads(source: &Source) -> impl Iterator<Item = &ServiceLoad> {
    let services = source.offers.keys().filter_map(|own_id| source.service(*own_id));
    services.filter_map(|service| service.load.as_ref())
}

/// What a source is told that it is for mirrored services, in words.
fn mirroring(source: &Source) -> Option<String> {
    let mut words: Vec<_> = source.offers.values().filter_map(part).collect();
    words.sort_unstable();
    words.dedup();
    (!words.is_empty()).then(|| words.join(" "))
}

/// What a source is told that it is for a mirrored service.
fn part(offer: &Offer) -> Option<&'static str> {
    Some(match offer.mirrors.mode? {
        SourceMirroringMode::ActiveWithStandby => "active-with-standby",
        SourceMirroringMode::ActiveNoStandby => "active-no-standby",
        _ => "standby",
    })
}

const fn phase(source: &Source) -> &'static str {
    match source.phase {
        _ if source.leaves => "leaves",
        Phase::Down => "down",
        Phase::Connecting => "connecting",
        Phase::Login => "login",
        Phase::Directory => "directory",
        Phase::Up => "up",
    }
}
