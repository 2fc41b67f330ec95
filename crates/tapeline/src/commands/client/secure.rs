//! The encryption of a client's connection.

use std::path::PathBuf;

use clap::ValueEnum;
use tapeline_channel::{TlsClient, TlsClientFiles};

use crate::failure::Failure;

/// Where a Debian host has the authorities that it believes.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// TLS, or none. Where it is asked for, nothing goes on without.
#[derive(clap::Args)]
pub(super) struct Secure {
    /// Connect over TLS; the server's certificate has to be for its name, and of an
    /// authority that is believed
    #[arg(long)]
    tls: bool,

    /// The authorities that servers are believed by, as PEM; turns --tls on [default: those
    /// of the host]
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,

    /// The name in the server's certificate, if it is not the host's; turns --tls on
    #[arg(long, value_name = "NAME")]
    tls_name: Option<String>,

    /// The certificate to show, as PEM; turns --tls on
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,

    /// The private key of the certificate, as PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,

    /// How the connection is wrapped: `ssl` is --tls; others are refused
    #[arg(long, value_name = "TYPE", hide = true)]
    tunnel: Option<Tunnel>,
}

/// What the classic tools wrap connections in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tunnel {
    /// Nothing.
    #[value(name = "none", alias = "socket")]
    Open,
    /// TLS.
    #[value(name = "ssl", aliases = ["encrypted", "tls"])]
    Ssl,
}

impl Secure {
    fn is_on(&self) -> bool {
        self.tls
            || self.tls_ca.is_some()
            || self.tls_name.is_some()
            || self.tls_certificate.is_some()
            || self.tunnel == Some(Tunnel::Ssl)
    }

    /// What the connection is made with, if it is to be encrypted.
    pub(super) fn tls(&self) -> Result<Option<TlsClient>, Failure> {
        if !self.is_on() {
            return Ok(None);
        }
        let failed = |error: tapeline_channel::ChannelError| Failure::Setting(error.to_string());
        let ca = self.tls_ca.clone().unwrap_or_else(|| AUTHORITIES.into());
        let identity = self.tls_certificate.clone().zip(self.tls_key.clone());
        let tls = TlsClient::from_files(TlsClientFiles { ca, identity }).map_err(failed)?;
        let tls = match &self.tls_name {
            Some(name) => tls.named(name).map_err(failed)?,
            None => tls,
        };
        Ok(Some(tls))
    }
}
