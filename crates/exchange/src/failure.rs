//! How a subcommand ends.

use std::io;
use std::process::ExitCode;

use tapeline_exchange::ExchangeError;
use thiserror::Error;

const PROGRAM: &str = "tapeline-exchange";

/// A subcommand could not do its work: exit status 2.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A file or an instrument cannot be used.
    #[error("{0}")]
    Exchange(#[from] ExchangeError),
    /// The output cannot be written.
    #[error("cannot write the output: {0}")]
    Write(#[from] io::Error),
}

impl Failure {
    /// Says on standard error what happened.
    pub(crate) fn report(&self) -> ExitCode {
        let write = match self {
            Self::Write(error) => Some(error),
            Self::Exchange(_) => None,
        };
        tapeline_ending::report(PROGRAM, &self.to_string(), write)
    }
}
