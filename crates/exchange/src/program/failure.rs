//! How a subcommand ends.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use tapeline_exchange::ExchangeError;
use tapeline_inspect::capture::CaptureError;
use thiserror::Error;

const PROGRAM: &str = "tapeline-exchange";

/// A subcommand could not do its work: exit status 2.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A file, an instrument or an address cannot be used.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
    /// The ready file cannot be written.
    #[error("cannot write the ready file {}: {error}", path.display())]
    ReadyFile {
        /// The file.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// There is nothing to replay.
    #[error("no journal is named: give --journal DIR, or `dir` in [journal]")]
    NoJournal,
    /// A capture cannot be played.
    #[error("{}: {error}", path.display())]
    Capture {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: CaptureError,
    },
    /// Signals cannot be caught.
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
    /// There is no room for the counts.
    #[error("{0}")]
    Counters(tapeline_counters::Full),
    /// The thread for the admin port cannot be started.
    #[error("{0}")]
    Edge(#[from] tapeline_edge::EdgeError),
    /// The hub cannot be published to.
    #[error("{0}")]
    Api(#[from] tapeline_api::ApiError),
    /// A thread cannot be started.
    #[error("a thread cannot be started: {0}")]
    Thread(io::Error),
    /// Hub and server cannot go on.
    #[error("{0}")]
    Node(#[from] tapeline_node::NodeError),
    /// The feed handler cannot go on.
    #[error("{0}")]
    Feed(String),
    /// There is no admin port.
    #[error("{0}")]
    Admin(#[from] tapeline_admin::AdminError),
}

impl Failure {
    /// Says on standard error what happened.
    pub(crate) fn report(&self) -> ExitCode {
        let write = if let Self::Write(error) = self { Some(error) } else { None };
        tapeline_ending::report(PROGRAM, &self.to_string(), write)
    }
}
