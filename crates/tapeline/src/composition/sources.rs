//! What `[[hub.source]]` says of sources and of the ways to them.

use std::net::IpAddr;
use std::path::Path;

use tapeline_channel::{TlsClient, TlsClientFiles};
use tapeline_hub::{Endpoint, ItemNames, Route, RouteLogin, RouteSecret};
use tapeline_rssl::Compression;

use super::credentials::Credentials;
use crate::config::{self, CompressionKind};
use crate::failure::Failure;

/// Where a Debian host has the authorities that it believes.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// The way to a source.
pub(super) fn route(source: &config::Source, credentials: &Credentials) -> Result<Route, Failure> {
    let endpoints = source.hosts.iter().map(|host| endpoint(host, source.port));
    let endpoints: Vec<Endpoint> = endpoints.collect::<Result<_, _>>()?;
    let first = endpoints.first().map(|first| format!("{}:{}", first.host, first.port));
    Ok(Route {
        name: source.name.clone().or(first).unwrap_or_default(),
        endpoints,
        services: (!source.services.is_empty()).then(|| source.services.clone()),
        items: (!source.items.is_empty())
            .then(|| ItemNames::of(source.items.iter().cloned()))
            .transpose()
            .map_err(|error| Failure::Setting(format!("[[hub.source]] items: {error}")))?,
        order: source.order,
        weight: source.weight,
        drains: source.drain,
        open_window: source.open_window.map(u64::from),
        open_limit: source.open_limit.map(u64::from),
        max_requests_per_s: source.max_requests_per_s,
        login: RouteLogin {
            user: source.user.clone(),
            application_id: source.application_id.clone(),
            position: source.position.clone(),
            single_open: source.single_open,
            password: secret(source.password_file.as_deref(), credentials)?,
            token: secret(source.token_file.as_deref(), credentials)?,
            ..RouteLogin::default()
        },
        compression: compression(source.compression),
        ping_timeout_s: source.ping_timeout_s,
        tls: tls_to(source, credentials)?,
    })
}

/// What a file holds on its first line.
fn secret(path: Option<&Path>, credentials: &Credentials) -> Result<Option<RouteSecret>, Failure> {
    path.map(|path| credentials.secret(path)).transpose()
}

/// How the connection to a source is encrypted, if it is.
fn tls_to(
    source: &config::Source,
    credentials: &Credentials,
) -> Result<Option<TlsClient>, Failure> {
    let failed = |text: String| Failure::Setting(format!("[[hub.source]] {text}"));
    if !source.tls {
        // Whoever says how to encrypt wants it: what would go on in clear is refused.
        let asked_for = [
            ("tls-ca", source.tls_ca.is_some()),
            ("tls-name", source.tls_name.is_some()),
            ("tls-certificate", source.tls_certificate.is_some()),
            ("tls-key", source.tls_key.is_some()),
        ];
        return match asked_for.iter().find(|(_, is_there)| *is_there) {
            Some((key, _)) => Err(failed(format!("{key} is there, and tls is not true"))),
            None => Ok(None),
        };
    }
    let identity = match (&source.tls_certificate, &source.tls_key) {
        (Some(certificate), Some(key)) => Some((certificate.clone(), key.clone())),
        (None, None) => None,
        _ => return Err(failed("tls-certificate and tls-key go together; give both".to_owned())),
    };
    let ca = source.tls_ca.clone().unwrap_or_else(|| AUTHORITIES.into());
    let files = TlsClientFiles { ca, identity };
    let tls = credentials.client(files).map_err(|error| failed(error.to_string()))?;
    match &source.tls_name {
        Some(name) => tls.named(name).map(Some).map_err(|error| failed(error.to_string())),
        None => Ok(Some(tls)),
    }
}

/// `host` or `host:port`; an IPv6 address with a port is in brackets.
fn endpoint(text: &str, port: u16) -> Result<Endpoint, Failure> {
    let is_bare_address = text.parse::<IpAddr>().is_ok();
    if is_bare_address || !text.contains(':') {
        return Ok(Endpoint { host: text.to_owned(), port });
    }
    match text.parse::<tapeline_api::Server>() {
        Ok(server) => Ok(Endpoint { host: server.host, port: server.port }),
        Err(error) => Err(Failure::Setting(format!("source: {error}"))),
    }
}

fn compression(kind: CompressionKind) -> Compression {
    match kind {
        CompressionKind::Off => Compression::None,
        CompressionKind::Zlib => Compression::Zlib,
        CompressionKind::Lz4 => Compression::Lz4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_hosts_with_or_without_a_port() {
        let cases = [
            ("mds1", ("mds1", 14002)),
            ("mds1:7", ("mds1", 7)),
            ("::1", ("::1", 14002)),
            ("[::1]:7", ("::1", 7)),
        ];
        for (text, (host, port)) in cases {
            let expected = Endpoint { host: host.to_owned(), port };
            assert_eq!(endpoint(text, 14002).ok(), Some(expected), "{text}");
        }
        let failure = endpoint("mds1:x", 14002).expect_err("no port");
        assert_eq!(failure.to_string(), "source: `mds1:x` is no server: write host:port");
    }

    #[test]
    fn a_source_with_anything_of_tls_is_never_reached_in_clear() {
        let credentials = Credentials::default();
        let file = || Some("/none.pem".into());
        for (key, source) in [
            ("tls-ca", config::Source { tls_ca: file(), ..config::Source::default() }),
            (
                "tls-name",
                config::Source { tls_name: Some("feed".to_owned()), ..config::Source::default() },
            ),
            (
                "tls-certificate",
                config::Source { tls_certificate: file(), ..config::Source::default() },
            ),
            ("tls-key", config::Source { tls_key: file(), ..config::Source::default() }),
        ] {
            let failure = tls_to(&source, &credentials).expect_err(key);
            let text = format!("[[hub.source]] {key} is there, and tls is not true");
            assert_eq!(failure.to_string(), text);
        }
        assert_eq!(tls_to(&config::Source::default(), &credentials).ok(), Some(None));
    }
}
