//! Why a system could not be measured.

use tapeline_api::ApiError;
use tapeline_measure::stop::Interrupted;
use thiserror::Error;

use crate::BenchError;

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
    /// Our own source.
    #[error("our source: {0}")]
    Source(String),
    /// What the procedures of the market data system use as well.
    #[error(transparent)]
    Bench(#[from] BenchError),
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

impl From<Interrupted> for PeerError {
    fn from(interrupted: Interrupted) -> Self {
        Self::Bench(interrupted.into())
    }
}

impl From<ApiError> for PeerError {
    fn from(error: ApiError) -> Self {
        Self::Source(error.to_string())
    }
}
