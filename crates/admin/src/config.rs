//! How an admin port is set up.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tapeline_rssl::Origins;
use thiserror::Error;

/// The settings of an admin port.
#[derive(Clone, Debug)]
pub struct AdminConfig {
    /// Where it listens: a loopback address.
    pub listen: SocketAddr,
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
    /// One that listens here.
    ///
    /// Errors: the address is not a loopback one.
    pub fn at(listen: SocketAddr) -> Result<Self, AdminError> {
        if !listen.ip().is_loopback() {
            return Err(AdminError::Exposed(listen));
        }
        Ok(Self {
            listen,
            origins: Origins::default(),
            token: None,
            top: 20,
            patience: Duration::from_secs(2),
            version: "",
        })
    }
}

/// Why there is no admin port.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AdminError {
    /// Others could reach it, who are not asked who they are.
    #[error(
        "the admin port at {0} could be reached from other hosts, and asks nobody who they are; \
         give a loopback address and reach it by `ssh -L` or a proxy that does"
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

    #[test]
    fn only_loopback_addresses_are_listened_on() {
        assert!(AdminConfig::at("127.0.0.1:9400".parse().expect("good")).is_ok());
        assert!(AdminConfig::at("[::1]:9400".parse().expect("good")).is_ok());
        let error = AdminConfig::at("0.0.0.0:9400".parse().expect("good")).expect_err("exposed");
        assert!(error.to_string().contains("ssh -L"), "{error}");
    }
}
