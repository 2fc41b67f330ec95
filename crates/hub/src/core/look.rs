//! Rows of the tables, for whoever looks.

use tapeline_channel::SessionId;
use tapeline_omm::directory::{Service, ServiceLoad, SourceMirroringMode};

use super::Core;
use super::source::{Phase, Source, SourceKind};
use crate::rows::{HubServiceRow, SourceRow};

impl Core {
    /// Indexes of sources are below this one.
    pub(crate) fn source_places(&self) -> u32 {
        self.sources.iter().map(|(index, _)| index + 1).max().unwrap_or(0)
    }

    /// A source as far as the core knows it: with the route and the session that
    /// the shell knows more of.
    pub(crate) fn source_row(
        &self,
        index: u32,
    ) -> Option<(SourceRow, Option<usize>, Option<SessionId>)> {
        let source = self.sources.get(index)?;
        let route = match source.kind {
            SourceKind::Route(route) => Some(route),
            SourceKind::Provider => None,
        };
        let row = SourceRow {
            name: String::new(),
            kind: if route.is_some() { "interactive" } else { "non-interactive" },
            channel: source.session.map(|session| session.to_string()),
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
            losses: 0,
            last_loss: None,
            last_loss_seconds: None,
            up_seconds: None,
        };
        Some((row, route, source.session))
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
        })
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
    let mut words: Vec<_> = source
        .offers
        .values()
        .filter_map(|offer| offer.mirrors.mode)
        .map(|mode| match mode {
            SourceMirroringMode::ActiveWithStandby => "active-with-standby",
            SourceMirroringMode::ActiveNoStandby => "active-no-standby",
            _ => "standby",
        })
        .collect();
    words.sort_unstable();
    words.dedup();
    (!words.is_empty()).then(|| words.join(" "))
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
