//! Why a system could not be measured.

use thiserror::Error;

/// Why a system could not be measured. The others are all the same.
#[derive(Debug, Error)]
pub(super) enum PeerError {
    /// Something that it needs is not on this machine.
    #[error("{what} is missing; bench/peers/run.sh builds it")]
    Missing { what: String },
    /// A process could not be started.
    #[error("{program} does not start: {error}")]
    Start { program: String, error: std::io::Error },
    /// A process is not ready in time, or ended.
    #[error("{program} {what}")]
    Process { program: String, what: String },
    /// A socket failed.
    #[error("{what}: {error}")]
    Socket { what: &'static str, error: std::io::Error },
    /// A peer says what its protocol does not have.
    #[error("{protocol}: {what}")]
    Protocol { protocol: &'static str, what: String },
    /// Our own API.
    #[error(transparent)]
    Api(#[from] tapeline_api::ApiError),
    /// Our own sockets.
    #[error(transparent)]
    Channel(#[from] tapeline_channel::ChannelError),
    /// Aeron.
    #[error("aeron: {0}")]
    Aeron(String),
}

impl PeerError {
    /// For `map_err`: what was done when a socket failed.
    pub(super) fn socket(what: &'static str) -> impl Fn(std::io::Error) -> Self {
        move |error| Self::Socket { what, error }
    }
}
