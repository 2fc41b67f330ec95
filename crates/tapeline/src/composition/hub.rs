//! What the configuration is to a hub.

use std::collections::BTreeMap;

use tapeline_channel::{ReactorConfig, SessionOptions, Tls, random_seed};
use tapeline_hub::{
    Failback, HubConfig, HubLimits, Mirroring, Pick, PressureConfig, Rebalance, ServiceGroup,
    ServiceKind, StandbyKeeps, Unpublished,
};
use tapeline_rssl::{Compression, ServerConfig as RsslServerConfig};

use super::credentials::Credentials;
use super::settings::{listen, tls};
use super::sources::route;
use crate::config::{self, CacheOf, Mirror, MirrorClose, MirrorSeq, ProviderKind, Settings};
use crate::failure::Failure;

/// The hub's part.
pub(crate) fn hub_config(
    settings: &Settings,
    credentials: &Credentials,
) -> Result<HubConfig, Failure> {
    let hub = &settings.hub;
    let routes = settings.sources.iter().map(|source| route(source, credentials));
    let routes = routes.collect::<Result<_, _>>()?;
    let listen_key = "[hub] listen";
    Ok(HubConfig {
        name: hub.name.clone(),
        routes,
        ni_listen: listen(listen_key, &hub.listen, hub.ni_port)?,
        ni_listen_tls: listen(listen_key, &hub.listen, hub.ni_tls_port)?,
        ni_tls: hub_tls(hub, credentials)?,
        ni_services: Some(hub.ni_services.clone()).filter(|services| !services.is_empty()),
        mirrored: mirrored(settings),
        rebalance: rebalance(settings),
        service_groups: settings
            .services
            .iter()
            .filter(|service| !service.members.is_empty())
            .map(service_group)
            .collect(),
        service_items: service_items(settings),
        service_kinds: service_kinds(settings),
        service_cache: service_cache(settings, CacheOf::at_hub),
        unpublished: match hub.unpublished {
            config::Unpublished::Pending => Unpublished::Pending,
            config::Unpublished::NotFound => Unpublished::NotFound,
        },
        ni_stale_ms: hub.ni_stale_ms,
        cache_interactive: hub.cache,
        pause_upstream: hub.pause_upstream,
        source_timeout_ms: hub.source_timeout_ms,
        request_timeout_ms: hub.request_timeout_ms,
        image_timeout_ms: hub.image_timeout_ms,
        retry_delay_ms: hub.retry_delay_ms,
        post_timeout_ms: hub.post_timeout_ms,
        reconnect_min_ms: hub.reconnect_min_ms,
        reconnect_max_ms: hub.reconnect_max_ms.max(hub.reconnect_min_ms),
        limits: HubLimits {
            max_items: hub.max_items,
            max_services: hub.max_services,
            max_servers: hub.max_servers,
            max_posts: hub.max_posts,
            max_providers: hub.max_providers,
            max_without_login: hub.max_without_login,
            max_without_login_per_address: hub.max_without_login_per_address,
            handshake_timeout_ms: hub.handshake_timeout_ms,
            max_items_per_provider: hub.max_items_per_provider,
            max_image_bytes: hub.max_image_bytes,
            max_message_bytes: hub.max_message_bytes,
            ..HubLimits::default()
        },
        reactor: ReactorConfig { seed: random_seed(), ..ReactorConfig::default() },
        ni_rssl: RsslServerConfig {
            // Anything but none lets the other side choose.
            compression: if hub.compression { Compression::Zlib } else { Compression::None },
            ..RsslServerConfig::default()
        },
        sessions: SessionOptions::default(),
        stamp_every: hub.stamp_every,
        pressure: PressureConfig {
            high_percent: hub.pressure_high,
            low_percent: hub.pressure_low,
            read: hub.read_pressure,
            merged_bytes: hub.pressure_merged_bytes,
        },
    })
}

/// The bounds of services that have one, by name.
pub(super) fn service_items(settings: &Settings) -> BTreeMap<String, usize> {
    let of = |service: &config::Service| (service.name.clone(), service.max_items);
    settings.services.iter().filter(|it| it.max_items > 0).map(of).collect()
}

/// The services that are mirrored, and how, by name.
fn mirrored(settings: &Settings) -> BTreeMap<String, Mirroring> {
    let of = |service: &config::Service| {
        let mirroring = Mirroring {
            keeps: match service.mirror {
                Mirror::Stream => StandbyKeeps::Stream,
                Mirror::Image | Mirror::Off => StandbyKeeps::Image,
            },
            has_shared_numbers: service.mirror_seq == MirrorSeq::Shared,
            failover_after_ms: service.failover_after_ms.into(),
            failback: match service.failback {
                config::Failback::Never => Failback::Never,
                config::Failback::Idle => Failback::Idle,
                config::Failback::AfterS(seconds) => Failback::After(u64::from(seconds) * 1_000),
            },
            outlives_close: service.mirror_close == MirrorClose::Quorum,
        };
        (service.name.clone(), mirroring)
    };
    settings.services.iter().filter(|it| it.mirror != Mirror::Off).map(of).collect()
}

/// The services that are balanced in another way than others, by name.
fn rebalance(settings: &Settings) -> BTreeMap<String, Rebalance> {
    let of = |service: &config::Service| {
        let rebalance = match service.rebalance {
            config::Rebalance::New => return None,
            config::Rebalance::Off => Rebalance::Off,
            config::Rebalance::Slow(per_s) => Rebalance::Slow { per_s },
        };
        Some((service.name.clone(), rebalance))
    };
    settings.services.iter().filter_map(of).collect()
}

/// Whether images are kept of services that have a word of their own, by name.
pub(super) fn service_cache(
    settings: &Settings,
    is_kept: fn(CacheOf) -> Option<bool>,
) -> BTreeMap<String, bool> {
    let of = |service: &config::Service| Some((service.name.clone(), is_kept(service.cache)?));
    settings.services.iter().filter_map(of).collect()
}

/// The providers of services that are for some only, by name.
fn service_kinds(settings: &Settings) -> BTreeMap<String, ServiceKind> {
    let of = |service: &config::Service| {
        let kind = match service.kind {
            ProviderKind::Any => return None,
            ProviderKind::Interactive => ServiceKind::Interactive,
            ProviderKind::NonInteractive => ServiceKind::NonInteractive,
        };
        Some((service.name.clone(), kind))
    };
    settings.services.iter().filter_map(of).collect()
}

fn service_group(service: &config::Service) -> ServiceGroup {
    ServiceGroup {
        name: service.name.clone(),
        members: service.members.clone(),
        pick: match service.pick {
            config::Pick::Order => Pick::Order,
            config::Pick::Items => Pick::Items,
        },
    }
}

/// What non-interactive providers are shown over TLS.
fn hub_tls(hub: &config::Hub, credentials: &Credentials) -> Result<Option<Tls>, Failure> {
    let files = (&hub.tls_certificate, &hub.tls_key);
    tls(files, credentials).map_err(|error| Failure::Setting(format!("[hub] {error}")))
}
