//! What a server is to clients for which it stands by.

use tapeline_omm::login::StandbyModes;

/// Which kinds of warm standby a login is offered. A client of the vendor's
/// library drops a server that does not offer the kind it wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum WarmStandby {
    /// Both.
    #[default]
    Both,
    /// By login: the whole server is active or stands by.
    Login,
    /// By service.
    Service,
    /// None.
    Off,
}

impl WarmStandby {
    /// As a login says it.
    pub(crate) const fn modes(self) -> StandbyModes {
        match self {
            Self::Both => StandbyModes::LOGIN_BASED.union(StandbyModes::SERVICE_BASED),
            Self::Login => StandbyModes::LOGIN_BASED,
            Self::Service => StandbyModes::SERVICE_BASED,
            Self::Off => StandbyModes::empty(),
        }
    }
}

/// What a client is sent on request for which the server stands by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StandbyImage {
    /// A refresh without content, as the vendor's servers send.
    #[default]
    Empty,
    /// The whole image.
    Full,
}

/// What becomes of posts of a client for which the server stands by. The
/// vendor's library sends each to all servers that have the service, and keeps
/// the acks of those that stand by from its application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum StandbyPosts {
    /// They are acknowledged, and not passed on: the active server does that.
    #[default]
    Ack,
    /// They are passed on, so that the source gets each as often as the client
    /// has servers.
    Forward,
    /// They are refused.
    Nak,
}
