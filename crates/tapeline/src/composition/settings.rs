//! What the configuration is to the rooms.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tapeline_admin::AdminConfig;
use tapeline_backbone::{Driver, EngineSettings, HostClock, Key, MAX_PEERS, PortSettings, Role};
use tapeline_channel::{Tls, TlsFiles, random_seed};
use tapeline_edge::{KeySource, LoginConfig};
use tapeline_identity::{Authoriser, Renewal, TokenRules, Tokens};
use tapeline_node::Knee;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::login::StandbyServer;
use tapeline_rssl::{Compression, CompressionThresholds, Origins, Pings};
use tapeline_server::{
    JsonConfig, OutputThresholds, ServerConfig, StandbyImage, StandbyPosts, WarmStandby,
};
use tapeline_time::host_now;

use super::bounds;
use super::credentials::Credentials;
use crate::config::{
    self, CacheOf, Port, PortTransport, Settings, StandbyAnswer, StandbyPost, WarmStandbyKind,
};
use crate::dictionary;
use crate::failure::Failure;

/// The engine's part.
pub(crate) fn engine_settings(settings: &Settings) -> Result<EngineSettings, Failure> {
    let backbone = &settings.backbone;
    let driver = match (backbone.driver, &backbone.dir) {
        (config::Driver::Embedded, directory) => Driver::Embedded { directory: directory.clone() },
        (config::Driver::External, Some(directory)) => {
            Driver::External { directory: directory.clone() }
        }
        (config::Driver::External, None) => {
            let text = "[backbone] driver is external; say in `dir` where it is";
            return Err(Failure::Setting(text.to_owned()));
        }
    };
    // The engine gives a stream up a little before presence does its sender:
    // patience with a peer is patience with its streams.
    let silence = Duration::from_millis(backbone.silence_ms);
    let defaults = EngineSettings::default();
    let engine = EngineSettings {
        driver,
        image_liveness: defaults.image_liveness.max(silence * 4 / 5),
        connection_timeout: defaults.connection_timeout.max(silence),
        mtu_bytes: backbone.mtu_bytes,
        data_term_bytes: backbone.data_term_bytes,
        request_term_bytes: backbone.request_term_bytes,
        receiver_window_bytes: backbone.receiver_window_bytes,
        socket_buffer_bytes: backbone.socket_buffer_bytes,
        send_buffer_bytes: backbone.socket_send_buffer_bytes,
        ttl: backbone.ttl,
        nak_backoff: Duration::from_micros(backbone.nak_backoff_us),
        retransmit_linger: Duration::from_micros(backbone.retransmit_linger_us),
        ..defaults
    };
    engine.check()?;
    Ok(engine)
}

/// The part of a port.
pub(crate) fn port_settings(settings: &Settings, role: Role) -> Result<PortSettings, Failure> {
    let backbone = &settings.backbone;
    let (name, max_peers) = match role {
        Role::Hub => (&settings.hub.name, settings.hub.max_servers),
        Role::Server => (&settings.server.name, MAX_PEERS),
    };
    Ok(PortSettings {
        system: backbone.system.clone(),
        key: backbone.key_file.as_deref().map(key).transpose()?,
        presence_interval: Duration::from_millis(backbone.presence_ms),
        silence: Duration::from_millis(backbone.silence_ms),
        queue_bytes: backbone.queue_bytes,
        flush_interval: Duration::from_millis(backbone.flush_interval_ms.into()),
        max_peers,
        host_clock: HostClock(Some(host_now)),
        ..PortSettings::new(role, name)
    })
}

/// The key in a file, without the end of its line.
fn key(path: &Path) -> Result<Key, Failure> {
    let bytes = fs::read(path).map_err(Failure::read(path))?;
    Key::new(bytes.trim_ascii_end()).map_err(|error| {
        Failure::Setting(format!("[backbone] key-file {}: {error}", path.display()))
    })
}

/// What the machine can do, as it was measured.
pub(crate) fn knee(settings: &Settings) -> Result<Option<Knee>, Failure> {
    let Some(path) = &settings.profile.knee else { return Ok(None) };
    let text = fs::read_to_string(path).map_err(Failure::read(path))?;
    let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let rate = |key: &str| json[key].as_u64().filter(|rate| *rate > 0);
    match (rate("updatesInPerS"), rate("updatesOutPerS")) {
        (Some(updates_in_per_s), Some(updates_out_per_s)) => {
            Ok(Some(Knee { updates_in_per_s, updates_out_per_s }))
        }
        _ => Err(Failure::Setting(format!(
            "[profile] knee: {} has no updatesInPerS and updatesOutPerS; write it by `tapeline \
             bench knee --write FILE`",
            path.display()
        ))),
    }
}

/// The fields by which images of non-interactive providers ripple.
pub(crate) fn field_rules(settings: &Settings) -> Result<Arc<FieldDictionary>, Failure> {
    let server = &settings.server;
    let fields = dictionary::load(server.dictionary.as_deref(), server.enums.as_deref())?;
    Ok(Arc::new(fields))
}

/// The admin port's part; `None`: there is none.
pub(crate) fn admin_config(
    settings: &Settings,
    credentials: &Credentials,
) -> Result<Option<AdminConfig>, Failure> {
    let admin = &settings.admin;
    let Some(address) = listen("[admin] listen", &admin.listen, admin.port)? else {
        return Ok(None);
    };
    let failed = |error: String| Failure::Setting(format!("[admin] {error}"));
    let origins = Origins::new(&admin.allowed_origins)
        .map_err(|error| failed(format!("allowed-origins: {error}")))?;
    let version = env!("CARGO_PKG_VERSION");
    let token = admin.token_file.as_deref().map(token).transpose()?;
    let tls = tls((&admin.tls_certificate, &admin.tls_key), credentials).map_err(failed)?;
    let config = AdminConfig::at(address);
    let config = AdminConfig { tls, origins, token, top: admin.top, version, ..config };
    config.check().map_err(|error| failed(error.to_string()))?;
    Ok(Some(config))
}

/// The token in a file, without the end of its line.
pub(crate) fn token(path: &Path) -> Result<Arc<str>, Failure> {
    let text = fs::read_to_string(path).map_err(Failure::read(path))?;
    match text.trim() {
        "" => Err(Failure::Setting(format!("[admin] token-file {} is empty", path.display()))),
        token => Ok(token.into()),
    }
}

/// What its JSON mounts get.
fn json_config(server: &config::Server) -> JsonConfig {
    JsonConfig {
        expand_enums: server.json_expand_enums,
        catch_unknown_keys: server.json_catch_unknown_keys,
        catch_unknown_fields: server.json_catch_unknown_fields,
        default_service: server.json_default_service.clone(),
        ping_timeout_s: server.json_ping_timeout_s,
        max_message_bytes: server.json_max_message_bytes,
        max_image_bytes: server.json_max_image_bytes,
        max_faults: server.json_max_faults,
    }
}

/// The server's part.
pub(crate) fn server_config(
    settings: &Settings,
    credentials: &Credentials,
) -> Result<ServerConfig, Failure> {
    let server = &settings.server;
    let listen_key = "[server] listen";
    let Some(address) = listen(listen_key, &server.listen, server.rssl_port)? else {
        let text = "[server] rssl-port is off; a server needs a port for consumers";
        return Err(Failure::Setting(text.to_owned()));
    };
    let addresses =
        |port| Ok::<_, Failure>(listen(listen_key, &server.listen, port)?.into_iter().collect());
    let mut config = ServerConfig {
        host_name: server.host_name.clone(),
        listen: vec![address],
        listen_websocket: addresses(server.ws_port)?,
        listen_tls: addresses(server.rssl_tls_port)?,
        listen_websocket_tls: addresses(server.wss_port)?,
        ports: settings.ports.iter().map(|port| bounds::port_config(port, server)).collect(),
        tls: tls((&server.tls_certificate, &server.tls_key), credentials)
            .map_err(|error| Failure::Setting(format!("[server] {error}")))?,
        pages: server.ws_page.then(|| Arc::new(tapeline_server::pages())),
        origins: Origins::new(&server.allowed_origins)
            .map_err(|error| Failure::Setting(format!("[server] allowed-origins: {error}")))?,
        json: json_config(server),
        dictionary: Arc::new(dictionary::load(
            server.dictionary.as_deref(),
            server.enums.as_deref(),
        )?),
        cache: server.cache,
        conflation: server.conflation,
        announce_conflation: server.announce_conflation,
        accept_posts: server.posts,
        trust_post_user_info: server.trust_post_user_info,
        warm_standby: match server.warm_standby {
            WarmStandbyKind::Both => WarmStandby::Both,
            WarmStandbyKind::Login => WarmStandby::Login,
            WarmStandbyKind::Service => WarmStandby::Service,
            WarmStandbyKind::Off => WarmStandby::Off,
        },
        standby_image: match server.standby_image {
            StandbyAnswer::Empty => StandbyImage::Empty,
            StandbyAnswer::Full => StandbyImage::Full,
        },
        standby_posts: match server.standby_posts {
            StandbyPost::Ack => StandbyPosts::Ack,
            StandbyPost::Forward => StandbyPosts::Forward,
            StandbyPost::Nak => StandbyPosts::Nak,
        },
        standby_hosts: server
            .standby_hosts
            .iter()
            .map(|host| standby_server(host))
            .collect::<Result<_, _>>()?,
        rtt_interval_ms: server.rtt_interval_ms,
        service_ids: settings
            .services
            .iter()
            .filter_map(|service| Some((service.name.clone(), service.id?)))
            .collect(),
        service_items: super::hub::service_items(settings),
        service_cache: super::hub::service_cache(settings, CacheOf::at_server),
        allow_same_item_twice: server.same_item_twice,
        limits: bounds::limits(settings),
        output: OutputThresholds {
            max_bytes: server.output_max_bytes,
            breach_percent: server.output_threshold_breach,
            ok_percent: server.output_threshold_ok,
        },
        min_ping_timeout_s: server.min_ping_timeout_s.min(server.max_ping_timeout_s),
        max_ping_timeout_s: server.max_ping_timeout_s,
        compression: if server.compression { Compression::Zlib } else { Compression::None },
        pings: Pings {
            interval_s: server.ping_interval_s,
            are_sent: server.pings_to_clients,
            are_expected: server.client_to_server_pings,
        },
        compression_level: server.compression_level,
        compression_thresholds: CompressionThresholds {
            zlib_bytes: server.compression_threshold_bytes,
            lz4_bytes: server.compression_threshold_lz4_bytes,
        },
        flush_interval_ms: server.flush_interval_ms,
        fragment_bytes: server.fragment_bytes,
        tcp_no_delay: server.tcp_no_delay,
        reuse_port: server.shards > 1,
        tcp_send_buffer_bytes: server.tcp_send_buffer_bytes,
        seed: random_seed(),
        ..ServerConfig::default()
    };
    for port in &settings.ports {
        let all = match port.transport {
            PortTransport::Rssl => &mut config.listen,
            PortTransport::WebSocket => &mut config.listen_websocket,
            PortTransport::RsslTls => &mut config.listen_tls,
            PortTransport::WebSocketTls => &mut config.listen_websocket_tls,
        };
        if !all.iter().any(|known| known.port() == port.port) {
            all.push(SocketAddr::new(address.ip(), port.port));
        }
    }
    config.check().map_err(|error| Failure::Setting(format!("[server] {error}")))?;
    Ok(config)
}

/// How it is found out who logs in, if somebody is asked.
pub(crate) fn login_config(settings: &Settings) -> Result<Option<LoginConfig>, Failure> {
    let (token, authoriser) = (&settings.token, &settings.authoriser);
    let seconds = |count: u32| Duration::from_secs(count.into());
    let tokens = match &token.jwks {
        None => None,
        Some(source) => {
            let rules = TokenRules::new(&*token.issuer, &*token.audience, &token.algorithms);
            let mut rules =
                rules.map_err(|error| Failure::Setting(format!("[token] algorithms: {error}")))?;
            if token.issuer.is_empty() || token.audience.is_empty() {
                let text = "[token] needs `issuer` and `audience`: whose tokens, and for whom";
                return Err(Failure::Setting(text.to_owned()));
            }
            rules.user_claim.clone_from(&token.user_claim);
            rules.roles_claim.clone_from(&token.roles_claim);
            rules.scope.clone_from(&token.scope);
            rules.leeway_s = token.leeway_s.into();
            let tokens = Tokens {
                rules,
                refresh: seconds(token.jwks_refresh_s),
                renewal: match token.renewal {
                    config::TokenRenewal::BeforeExpiry => Renewal::BeforeExpiry,
                    config::TokenRenewal::AtLogin => Renewal::AtLogin,
                },
                renewal_margin: seconds(token.renewal_margin_s),
                are_needed: token.needed,
            };
            Some((tokens, KeySource::of(source)))
        }
    };
    let asked = authoriser.url.clone().map(|url| {
        let (cache, grace) = (seconds(authoriser.cache_s), seconds(authoriser.grace_s));
        (Authoriser { cache, grace }, url)
    });
    if tokens.is_none() && asked.is_none() {
        return Ok(None);
    }
    Ok(Some(LoginConfig {
        tokens,
        keys_copy: token.jwks_copy.clone(),
        authoriser: asked,
        timeout: Duration::from_millis(authoriser.timeout_ms.into()),
        ca_file: settings.entitle.ca_file.clone(),
    }))
}

/// A server that clients are told of: `host:port load type`.
fn standby_server(text: &str) -> Result<StandbyServer, Failure> {
    let fault = |what: &str| {
        let text = format!("[server] standby-hosts: `{text}` {what}");
        Err(Failure::Setting(text))
    };
    let mut words = text.split_whitespace();
    let Some((host, port)) = words.next().and_then(|address| address.rsplit_once(':')) else {
        return fault("is no server; write host:port or host:port load type");
    };
    let Ok(port) = port.parse::<u16>() else {
        return fault("has no port; write host:port or host:port load type");
    };
    let load_factor = match words.next().map(str::parse::<u16>) {
        None => None,
        Some(Ok(load)) => Some(u64::from(load)),
        Some(Err(_)) => return fault("has a load that is no number from 0 to 65535"),
    };
    let server_type = match words.next() {
        None => None,
        Some("active") => Some(0),
        Some("standby") => Some(1),
        Some(_) => return fault("has a type that is neither `active` nor `standby`"),
    };
    match words.next() {
        Some(_) => fault("has more than host:port load type"),
        None => Ok(StandbyServer {
            hostname: Some(host.into()),
            port: Some(u64::from(port)),
            load_factor,
            server_type,
        }),
    }
}

/// What is shown over TLS, if anything is.
pub(super) fn tls(
    (chain, key): (&Option<PathBuf>, &Option<PathBuf>),
    credentials: &Credentials,
) -> Result<Option<Tls>, String> {
    match (chain, key) {
        (Some(chain), Some(key)) => {
            let (chain, key) = (chain.clone(), key.clone());
            let files = TlsFiles { certificates: chain, key, client_ca: None };
            credentials.server(files).map(Some).map_err(|error| error.to_string())
        }
        (None, None) => Ok(None),
        _ => Err("tls-certificate and tls-key go together; give both".to_owned()),
    }
}

pub(super) fn listen(key: &str, address: &str, port: Port) -> Result<Option<SocketAddr>, Failure> {
    let Port::At(port) = port else {
        return Ok(None);
    };
    match address.parse::<IpAddr>() {
        Ok(ip) => Ok(Some(SocketAddr::from((ip, port)))),
        Err(_) => {
            let text = format!("{key} is `{address}`; give an address of this host, as 0.0.0.0");
            Err(Failure::Setting(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use tapeline_hub::HubConfig;

    use super::*;
    use crate::composition::hub::hub_config;

    #[test]
    fn the_defaults_are_those_of_the_rooms() {
        let settings = Settings::default();
        let hub = hub_config(&settings, &Credentials::default()).expect("good");
        let expected = HubConfig {
            ni_listen: Some(SocketAddr::from(([0, 0, 0, 0], 14003))),
            reactor: hub.reactor.clone(),
            ni_rssl: hub.ni_rssl.clone(),
            ..HubConfig::named("hub")
        };
        assert_eq!(hub, expected);
        let server = server_config(&settings, &Credentials::default()).expect("good");
        let expected = ServerConfig::default();
        assert_eq!(server.limits, expected.limits);
        assert_eq!(server.output, expected.output);
        assert_eq!(server.listen, expected.listen);
        assert_eq!(server.listen_websocket, expected.listen_websocket);
        assert_eq!(server.json, expected.json);
    }

    #[test]
    fn patience_with_a_peer_is_patience_with_its_streams() {
        let streams = |silence_ms| {
            let mut settings = Settings::default();
            settings.backbone.silence_ms = silence_ms;
            let engine = engine_settings(&settings).expect("good");
            (engine.image_liveness.as_millis(), engine.connection_timeout.as_millis())
        };
        assert_eq!(streams(500), (400, 500));
        assert_eq!(streams(10_000), (8_000, 10_000));
        // The engine's own heartbeats are 100 ms apart.
        assert_eq!(streams(50), (400, 500));
    }

    #[test]
    fn pages_that_may_connect_are_named_as_browsers_do() {
        let mut settings = Settings::default();
        settings.server.allowed_origins = vec!["https://desk.example.com".to_owned()];
        let config = server_config(&settings, &Credentials::default()).expect("an origin");
        assert_eq!(Ok(config.origins), Origins::new(["https://desk.example.com"]));
        settings.server.allowed_origins = vec!["desk.example.com".to_owned()];
        let failure = server_config(&settings, &Credentials::default()).expect_err("no origin");
        assert_eq!(
            failure.to_string(),
            "[server] allowed-origins: \"desk.example.com\" is no origin; write scheme://host or \
             scheme://host:port, without a path"
        );
    }

    #[test]
    fn standby_servers_are_hosts_with_what_clients_choose_by() {
        let server = standby_server("mds2:14002 40 standby").expect("good");
        assert_eq!(server.hostname.as_ref().map(ToString::to_string).as_deref(), Some("mds2"));
        assert_eq!(
            (server.port, server.load_factor, server.server_type),
            (Some(14002), Some(40), Some(1))
        );
        let bare = standby_server("mds2:14002").expect("good");
        assert_eq!((bare.load_factor, bare.server_type), (None, None));
        for (text, what) in [
            ("mds2", "is no server; write host:port or host:port load type"),
            ("mds2:x", "has no port; write host:port or host:port load type"),
            ("mds2:1 x", "has a load that is no number from 0 to 65535"),
            ("mds2:1 2 main", "has a type that is neither `active` nor `standby`"),
            ("mds2:1 2 active 4", "has more than host:port load type"),
        ] {
            let failure = standby_server(text).expect_err(text);
            assert_eq!(failure.to_string(), format!("[server] standby-hosts: `{text}` {what}"));
        }
    }

    #[test]
    fn what_does_not_fit_together_is_refused() {
        let mut settings = Settings::default();
        settings.server.output_threshold_ok = 40;
        let failure = server_config(&settings, &Credentials::default()).expect_err("not in order");
        assert_eq!(
            failure.to_string(),
            "[server] output thresholds: ok 40% must be below breach 30%, and breach at most 100%"
        );
    }

    /// Another value of a key, as TOML: the first of these that it takes.
    fn another_value(settings: &mut Settings, section: &str, key: &str) -> bool {
        let candidates = [
            "true",
            "false",
            "1",
            "2",
            "7",
            "150",
            "4242",
            "60",
            "70_000",
            "2_000_000",
            "\"off\"",
            "\"10.1.2.3\"",
            "\"not-found\"",
            "\"full\"",
            "\"nak\"",
            "\"warn\"",
            "[\"https://a.example\"]",
            "\"x\"",
        ];
        let section = settings.section(section).expect("it is there");
        let value_of = |section: &dyn config::Section| {
            section.values().into_iter().find(|(name, _)| *name == key).map(|(_, value)| value)
        };
        let before = value_of(section);
        candidates.iter().any(|text| {
            let value = toml::de::DeValue::parse(text).expect("TOML");
            let is_taken = matches!(section.set(key, value.get_ref()), Some(Ok(())));
            is_taken && value_of(section) != before
        })
    }

    #[test]
    fn keys_that_can_change_do_and_others_say_that_they_cannot() {
        let mut count = 0;
        for section in ["server", "hub"] {
            let defaults = Settings::default();
            let of_section = defaults.sections().into_iter().find(|it| it.name() == section);
            for key in of_section.expect("it is there").keys() {
                let mut settings = Settings::default();
                assert!(another_value(&mut settings, section, key.name), "{}", key.name);
                let Some((before, after, adopted)) = configurations(&settings, section) else {
                    // A file that is not there.
                    continue;
                };
                if before == after {
                    // It is another room's: the name of a port on the backbone.
                    assert_eq!(key.class, config::Class::Restart, "{}", key.name);
                    continue;
                }
                let can_change = key.class != config::Class::Restart;
                assert_eq!(adopted == after, can_change, "{}\n{adopted}\n{after}", key.name);
                count += 1;
            }
        }
        assert!(count > 80, "{count} keys");
    }

    /// What a room has before a change, is to have after it, and has then.
    fn configurations(settings: &Settings, section: &str) -> Option<(String, String, String)> {
        let (defaults, credentials) = (Settings::default(), Credentials::default());
        if section == "hub" {
            let before = hub_config(&defaults, &credentials).expect("good");
            let mut after = hub_config(settings, &credentials).ok()?;
            after.reactor.seed = before.reactor.seed;
            let mut adopted = before.clone();
            adopted.adopt(&after);
            // Ports are opened and closed beside it.
            adopted.ni_listen = after.ni_listen;
            adopted.ni_listen_tls = after.ni_listen_tls;
            return Some((format!("{before:?}"), format!("{after:?}"), format!("{adopted:?}")));
        }
        let before = server_config(&defaults, &credentials).expect("good");
        let mut after = server_config(settings, &credentials).ok()?;
        after.seed = before.seed;
        let mut adopted = before.clone();
        adopted.adopt(&after);
        adopted.listen.clone_from(&after.listen);
        adopted.listen_websocket.clone_from(&after.listen_websocket);
        adopted.listen_tls.clone_from(&after.listen_tls);
        adopted.listen_websocket_tls.clone_from(&after.listen_websocket_tls);
        Some((format!("{before:?}"), format!("{after:?}"), format!("{adopted:?}")))
    }
}
