//! Why a node cannot work.

use std::io;

use tapeline_backbone::BackboneError;
use tapeline_counters::Full;
use tapeline_hub::HubError;
use tapeline_server::ServerError;
use thiserror::Error;

/// A node could not start, or could not go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The backbone cannot be used.
    #[error(transparent)]
    Backbone(#[from] BackboneError),
    /// A hub cannot start.
    #[error(transparent)]
    Hub(#[from] HubError),
    /// More is counted than there is room for.
    #[error(transparent)]
    Counters(#[from] Full),
    /// A server cannot start.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The backbone cannot be reached at the start.
    #[error("no way onto the backbone: {0}")]
    Away(String),
    /// A thread cannot run on a core.
    #[error(
        "a thread cannot run on core {core}: {error}; give one of this host that the process may use"
    )]
    Core {
        /// The core.
        core: usize,
        /// What the system says.
        error: io::Error,
    },
    /// A thread cannot have a priority.
    #[error(
        "a thread cannot have the real-time priority {priority}: {error}; the process needs CAP_SYS_NICE, or a limit as of `ulimit -r`"
    )]
    Priority {
        /// The priority.
        priority: u8,
        /// What the system says.
        error: String,
    },
    /// A thread cannot be started.
    #[error("cannot start a thread: {0}")]
    Thread(io::Error),
    /// A thread ended where it must not.
    #[error("thread {0} panicked; the lines above say where")]
    Panicked(String),
}
