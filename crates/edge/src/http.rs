//! Requests over HTTP that this thread waits for, and that somebody else carries out.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use ureq::Agent;
use ureq::tls::{PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

use crate::EdgeError;

/// An answer that is longer is not taken.
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// Why nothing came.
#[derive(Debug, Error)]
pub(crate) enum FetcherError {
    /// A request failed, or took too long.
    #[error("{url}: {error}")]
    Request {
        /// Where to.
        url: String,
        /// Why.
        error: Box<ureq::Error>,
    },
    /// The answer could not be read.
    #[error("{from}: {error}")]
    Read {
        /// What was read.
        from: String,
        /// Why not.
        error: std::io::Error,
    },
}

/// Fetches documents, and posts questions.
#[derive(Debug)]
pub(crate) struct Fetcher {
    agent: Agent,
}

impl Fetcher {
    /// One for these addresses. What goes over HTTP without TLS stays on this host.
    pub(crate) fn new<'u>(
        urls: impl Iterator<Item = &'u str> + Clone,
        ca_file: &Path,
        timeout: Duration,
    ) -> Result<Self, EdgeError> {
        let mut needs_tls = false;
        for url in urls {
            needs_tls |= url.starts_with("https://");
            if !is_private(url) {
                return Err(EdgeError::InClear { url: url.to_owned() });
            }
        }
        let config = Agent::config_builder()
            .timeout_global(Some(timeout))
            .http_status_as_error(true)
            .max_redirects(0)
            .max_redirects_will_error(true)
            .proxy(None);
        let config = match needs_tls {
            true => config.tls_config(client_tls(ca_file)?),
            false => config,
        };
        Ok(Self { agent: config.build().into() })
    }

    /// Reads a document.
    pub(crate) fn get(&self, url: &str) -> Result<Vec<u8>, FetcherError> {
        let failed = |error| FetcherError::Request { url: url.to_owned(), error: Box::new(error) };
        let answer = self.agent.get(url).header("accept", "application/json").call();
        body(url, answer.map_err(failed)?)
    }

    /// Posts JSON.
    pub(crate) fn post(&self, url: &str, json: &[u8]) -> Result<Vec<u8>, FetcherError> {
        let failed = |error| FetcherError::Request { url: url.to_owned(), error: Box::new(error) };
        let request = self.agent.post(url).header("content-type", "application/json");
        body(url, request.send(json).map_err(failed)?)
    }

    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Vec<u8>, FetcherError> {
        fs::read(path)
            .map_err(|error| FetcherError::Read { from: path.display().to_string(), error })
    }
}

fn body(url: &str, answer: ureq::http::Response<ureq::Body>) -> Result<Vec<u8>, FetcherError> {
    let mut bytes = Vec::new();
    let mut reader = answer.into_body().into_reader().take(MAX_ANSWER_BYTES);
    match reader.read_to_end(&mut bytes) {
        Ok(_) => Ok(bytes),
        Err(error) => Err(FetcherError::Read { from: url.to_owned(), error }),
    }
}

/// Whether nobody on the way can read what goes to an address.
fn is_private(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return url.starts_with("https://") };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    if authority.contains('@') {
        return false;
    }
    let is_loopback = |address: std::net::IpAddr| address.is_loopback();
    host == "localhost" || host.parse().is_ok_and(is_loopback)
}

/// How a client of HTTPS believes servers: those that show a certificate of an authority
/// in this PEM file, for the name by which they were asked.
///
/// Errors: the file cannot be read, or has no certificate.
pub fn client_tls(ca_file: &Path) -> Result<TlsConfig, EdgeError> {
    let pem = fs::read(ca_file).map_err(EdgeError::file(ca_file))?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    if certificates.is_empty() {
        return Err(EdgeError::NoCertificate { path: PathBuf::from(ca_file) });
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .unversioned_rustls_crypto_provider(provider)
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_in_clear_stays_on_this_host() {
        for url in [
            "https://issuer/keys",
            "http://127.0.0.1:8181/v1/data/x",
            "http://localhost/x",
            "http://[::1]:80/x",
        ] {
            assert!(is_private(url), "{url}");
        }
        for url in [
            "http://issuer/keys",
            "http://127.0.0.1.evil.org/x",
            "http://localhost.evil.org/",
            "http://user@issuer/",
            "http://localhost@issuer/",
            "http://127.0.0.1:80@issuer/",
            "ftp://127.0.0.1/",
            "keys.json",
        ] {
            assert!(!is_private(url), "{url}");
        }
    }
}
