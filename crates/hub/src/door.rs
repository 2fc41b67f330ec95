//! The ports for non-interactive providers.

use std::net::SocketAddr;

use tapeline_channel::{Admission, ListenConfig, StrangerLimits};

use crate::HubConfig;
use crate::shell::HubError;

/// How non-interactive providers connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Door {
    Clear,
    Tls,
}

impl Door {
    pub(crate) const ALL: [Self; 2] = [Self::Clear, Self::Tls];

    /// Where, by a configuration.
    pub(crate) const fn address(self, config: &HubConfig) -> Option<SocketAddr> {
        match self {
            Self::Clear => config.ni_listen,
            Self::Tls => config.ni_listen_tls,
        }
    }
}

/// How non-interactive providers are taken.
pub(crate) fn listen_config(config: &HubConfig, door: Door) -> Result<ListenConfig, HubError> {
    let tls = match door {
        Door::Clear => None,
        Door::Tls => Some(config.ni_tls.clone().ok_or(HubError::NoCertificate)?),
    };
    let limits = &config.limits;
    let mut rssl = config.ni_rssl.clone();
    rssl.limits.handshake_ms = limits.handshake_timeout_ms;
    rssl.limits.message_bytes = limits.max_message_bytes;
    Ok(ListenConfig {
        tls,
        rssl,
        session: config.sessions,
        max_sessions: limits.max_providers,
        admission: Admission::Program,
        strangers: StrangerLimits {
            max_connections: limits.max_without_login,
            max_per_address: limits.max_without_login_per_address,
            message_bytes: limits.before_login_bytes,
            output_bytes: limits.before_login_bytes,
            ..StrangerLimits::default()
        },
        ..ListenConfig::default()
    })
}
