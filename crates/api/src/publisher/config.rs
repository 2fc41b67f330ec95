//! What a publisher offers, and where.

use std::time::Duration;

use tapeline_omm::directory::ServiceEntry;
use tapeline_omm::login::LoginAttributes;

use crate::{Login, ReconnectPolicy, Server};

/// What a publisher offers, and where.
#[derive(Clone, Debug)]
pub struct PublisherConfig {
    /// The hubs, in the order to try them; one at a time is published to.
    pub servers: Vec<Server>,
    /// Who logs in. The role is that of a provider whatever it says.
    pub login: Login,
    /// The services to begin with; [`ServiceSpec`](crate::ServiceSpec) makes
    /// them.
    pub services: Vec<ServiceEntry>,
    /// When to dial again.
    pub reconnect: ReconnectPolicy,
    /// How long the login may be without an answer. Default 45 s.
    pub login_timeout: Duration,
    /// The stream of the directory, 0 (default) or below. Items have the
    /// streams below it.
    pub directory_stream_id: i32,
    /// How many items may be open. Default 1,000,000.
    pub max_items: usize,
}

impl PublisherConfig {
    /// A publisher of these services at these hubs, with the defaults.
    pub fn new(
        servers: impl IntoIterator<Item = Server>,
        mut login: Login,
        services: impl IntoIterator<Item = ServiceEntry>,
    ) -> Self {
        login.attributes.role = Some(LoginAttributes::PROVIDER);
        Self {
            servers: servers.into_iter().collect(),
            login,
            services: services.into_iter().collect(),
            reconnect: ReconnectPolicy::default(),
            login_timeout: Duration::from_secs(45),
            directory_stream_id: 0,
            max_items: 1_000_000,
        }
    }

    /// What bounds the [counts](crate::PublisherCounters) of a publisher, for the
    /// registry that they are entered in.
    pub const fn bounds(&self) -> [(&'static str, u64); 1] {
        [("items", self.max_items as u64)]
    }
}
