//! How a subcommand ends.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thiserror::Error;

pub(crate) use tapeline_ending::Verdict;

const PROGRAM: &str = "tapeline-lab";

/// Says something on standard error.
pub(crate) fn warn(text: &str) {
    tapeline_ending::warn(PROGRAM, text);
}

/// A subcommand could not do its work: exit status 2.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A setting cannot be.
    #[error("{0}")]
    Setting(String),
    /// Nothing can be measured.
    #[error("{0}")]
    Bench(#[from] tapeline_bench::BenchError),
    /// A tool cannot measure.
    #[error("{0}")]
    Gauge(#[from] tapeline_gauge::GaugeError),
    /// A file cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Create { path: PathBuf, error: io::Error },
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
    /// Signals cannot be caught.
    #[error("cannot catch signals: {0}")]
    Signals(io::Error),
}

impl Failure {
    /// An error of writing a file.
    pub(crate) fn creating(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::Create { path, error }
    }

    /// Says on standard error what happened. That nobody reads the output any
    /// more is no failure.
    pub(crate) fn report(&self) -> ExitCode {
        let write = match self {
            Self::Write(error) => Some(error),
            _ => None,
        };
        tapeline_ending::report(PROGRAM, &self.to_string(), write)
    }
}
