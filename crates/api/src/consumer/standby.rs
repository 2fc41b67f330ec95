//! How several servers serve one consumer.

use std::time::Duration;

use tapeline_omm::login::StandbyModes;

use crate::Server;

/// Where a consumer begins in the list of its servers. From there on they are
/// tried in turn, also after a loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ServerOrder {
    /// With the first one.
    #[default]
    InOrder,
    /// Each consumer of the process with the next one, the first of them with any:
    /// many consumers of one list are spread evenly.
    RoundRobin,
}

/// Warm standby: servers that have all items open beside the one that the data
/// come from, so that one of them goes on at once when that is lost.
///
/// The active server to begin with is the connection to
/// [`ConsumerConfig::servers`](super::ConsumerConfig::servers). Requests go to all
/// servers; what the application is told of an item comes from the active one. The
/// application sees one set of handles, one directory, one ack for each post.
///
/// All servers have to offer warm standby in their logins, and services of the
/// same names, numbers and contents. One that does not is left out
/// ([`ConsumerEvent::LeftOut`](super::ConsumerEvent::LeftOut)).
///
/// ```
/// use std::time::Duration;
/// use tapeline_api::{ConsumerConfig, Login, StandbySet};
///
/// let mut config = ConsumerConfig::new(["mds1:14002".parse()?], Login::new("user"));
/// let standby = StandbySet::by_login(["mds2:14002".parse()?]);
/// config.standby = Some(standby.preferred(Duration::from_secs(60)));
/// # Ok::<(), tapeline_api::ServerError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandbySet {
    /// Whether a server is active for everything, or service by service.
    pub mode: StandbyMode,
    /// The servers beside the starting one, in the order to take over.
    pub servers: Vec<StandbyServer>,
    /// Whether the server that began is the active one again when it is back,
    /// and for how long it has to be back before. Default: no; it stands by.
    pub preferred: Option<Duration>,
}

/// What a server is active for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StandbyMode {
    /// One server is active for everything.
    #[default]
    Login,
    /// Each service has an active server of its own.
    Service,
}

/// One of the servers of a [`StandbySet`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StandbyServer {
    /// Where it is.
    pub server: Server,
    /// The services that begin at it, by name, if the set is by service; all
    /// others begin at the starting server.
    pub services: Vec<String>,
}

impl From<Server> for StandbyServer {
    fn from(server: Server) -> Self {
        Self { server, services: Vec::new() }
    }
}

impl StandbySet {
    /// These servers stand by for everything.
    pub fn by_login(servers: impl IntoIterator<Item = Server>) -> Self {
        let servers = servers.into_iter().map(StandbyServer::from).collect();
        Self { mode: StandbyMode::Login, servers, preferred: None }
    }

    /// These servers stand by service by service, but for services that begin at
    /// them.
    pub fn by_service(servers: impl IntoIterator<Item = StandbyServer>) -> Self {
        let servers = servers.into_iter().collect();
        Self { mode: StandbyMode::Service, servers, preferred: None }
    }

    /// The server that began is active again when it has been back for so long.
    #[must_use]
    pub fn preferred(self, after: Duration) -> Self {
        Self { preferred: Some(after), ..self }
    }
}

impl StandbyMode {
    /// What a login has to offer.
    pub(super) const fn wanted(self) -> StandbyModes {
        match self {
            Self::Login => StandbyModes::LOGIN_BASED,
            Self::Service => StandbyModes::SERVICE_BASED,
        }
    }
}
