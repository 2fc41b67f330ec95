//! How a subcommand ends.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thiserror::Error;

/// Says something on standard error. That nobody reads it is no reason to stop.
pub(crate) fn warn(text: &str) {
    let _ = writeln!(io::stderr(), "tapeline-lab: {text}");
}

/// A subcommand did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Exit status 0.
    Good,
    /// An aim is missed, or a run is invalid: exit status 1.
    Bad,
}

impl Verdict {
    /// `Bad` if there is anything bad.
    pub(crate) const fn of(is_bad: bool) -> Self {
        if is_bad { Self::Bad } else { Self::Good }
    }
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Good => Self::SUCCESS,
            Verdict::Bad => Self::FAILURE,
        }
    }
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
        match self {
            Self::Write(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            _ => {
                warn(&self.to_string());
                ExitCode::from(2)
            }
        }
    }
}
