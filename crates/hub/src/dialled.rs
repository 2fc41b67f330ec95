//! The way to an interactive provider, as a hub dials it.

use tapeline_channel::{ConnectConfig, SessionId};
use tapeline_rssl::{ClientConfig, Limits};

use crate::shell::HubError;
use crate::view::Past;
use crate::{Endpoint, HubConfig, Route};

/// Most bytes of one read from an interactive provider. They are few, and
/// each has much to say.
const READ_BYTES: usize = 64 * 1024;

/// A route and how far its connection is.
pub(crate) struct Dialled {
    pub(crate) name: String,
    pub(crate) past: Past,
    pub(crate) endpoints: Vec<Endpoint>,
    pub(crate) next: usize,
    pub(crate) connect: ConnectConfig,
    pub(crate) session: Option<SessionId>,
    pub(crate) is_open: bool,
}

impl Dialled {
    /// Where it was looked for last.
    pub(crate) fn last_host(&self) -> String {
        let last = (self.next + self.endpoints.len() - 1) % self.endpoints.len().max(1);
        let endpoint = self.endpoints.get(last);
        endpoint.map_or_else(String::new, |Endpoint { host, port }| format!("{host}:{port}"))
    }

    pub(crate) fn new(route: &Route, config: &HubConfig) -> Result<Self, HubError> {
        if route.endpoints.is_empty() {
            return Err(HubError::NoEndpoint { route: route.name.clone() });
        }
        let connect = ConnectConfig {
            rssl: ClientConfig {
                compression: route.compression,
                ping_timeout_s: route.ping_timeout_s,
                limits: Limits {
                    receive_buffer_bytes: READ_BYTES,
                    message_bytes: config.limits.max_message_bytes,
                    ..Limits::default()
                },
                ..ClientConfig::default()
            },
            tls: route.tls.clone(),
            session: config.sessions,
            connect_ms: u32::try_from(config.source_timeout_ms).unwrap_or(u32::MAX),
            ..ConnectConfig::default()
        };
        Ok(Self {
            name: route.name.clone(),
            past: Past::default(),
            endpoints: route.endpoints.clone(),
            next: 0,
            connect,
            session: None,
            is_open: false,
        })
    }
}
