//! How an admin port is set up.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_channel::Tls;
use tapeline_rssl::Origins;
use thiserror::Error;

/// The settings of an admin port.
#[derive(Clone, Debug)]
pub struct AdminConfig {
    /// Where it listens.
    pub listen: SocketAddr,
    /// The certificate that it shows; without one, it speaks HTTP without TLS.
    pub tls: Option<Tls>,
    /// Pages of other hosts that may ask.
    pub origins: Origins,
    /// What whoever asks has to show, as a bearer token or as the password of any user;
    /// without one, nothing: whoever is on this host may ask and act.
    pub token: Option<Arc<str>>,
    /// Mounts and users of which `/metrics` has series of their own: those for whom
    /// most waits, and who have most open.
    pub top: usize,
    /// How long a thread may take to answer, and to publish its counts before it
    /// counts as hanging.
    pub patience: Duration,
    /// What the program is called and which version it is.
    pub version: &'static str,
}

impl AdminConfig {
    /// One that listens here, without TLS and without a token.
    pub fn at(listen: SocketAddr) -> Self {
        Self {
            listen,
            tls: None,
            origins: Origins::default(),
            token: None,
            top: 20,
            patience: Duration::from_secs(2),
            version: "",
        }
    }

    /// Whether nobody who should not could ask, or read the token on its way.
    ///
    /// Errors: other hosts could reach it, and it has no TLS or no token.
    pub fn check(&self) -> Result<(), AdminError> {
        let is_safe = self.tls.is_some() && self.token.is_some();
        match self.listen.ip().is_loopback() || is_safe {
            true => Ok(()),
            false => Err(AdminError::Exposed(self.listen)),
        }
    }
}

/// Why there is no admin port.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AdminError {
    /// Others could reach it, who are not asked who they are, or in clear.
    #[error(
        "the admin port at {0} could be reached from other hosts; give tls-certificate, tls-key \
         and token-file, or a loopback address and reach it by `ssh -L`"
    )]
    Exposed(SocketAddr),
    /// The address cannot be listened on.
    #[error("the admin port cannot listen at {at}: {error}")]
    Listen {
        /// The address.
        at: SocketAddr,
        /// What the system says.
        error: std::io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: &str) -> AdminConfig {
        AdminConfig::at(address.parse().expect("good"))
    }

    #[test]
    fn other_hosts_reach_it_with_tls_and_a_token_alone() {
        assert!(at("127.0.0.1:9400").check().is_ok());
        assert!(at("[::1]:9400").check().is_ok());
        let made = rcgen::generate_simple_self_signed(["ops".to_owned()]).expect("made");
        let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
        let tls = Some(Tls::from_pem(chain.as_bytes(), key.as_bytes()).expect("good"));
        let token: Option<Arc<str>> = Some("s3cret".into());
        let without_token = AdminConfig { tls: tls.clone(), ..at("0.0.0.0:9400") };
        let without_tls = AdminConfig { token: token.clone(), ..at("0.0.0.0:9400") };
        for exposed in [at("0.0.0.0:9400"), without_token, without_tls] {
            let error = exposed.check().expect_err("exposed").to_string();
            assert!(error.contains("token-file") && error.contains("ssh -L"), "{error}");
        }
        assert!(AdminConfig { tls, token, ..at("0.0.0.0:9400") }.check().is_ok());
    }
}
