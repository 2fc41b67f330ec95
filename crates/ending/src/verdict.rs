//! What the exit status says.

use std::io::{self, Write};
use std::process::ExitCode;

/// A subcommand did its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Exit status 0.
    Good,
    /// Something is wrong with what was looked at, and was reported: exit
    /// status 1.
    Bad,
}

impl Verdict {
    /// `Bad` if there is anything bad.
    pub const fn of(is_bad: bool) -> Self {
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

/// Says something on standard error. That nobody reads it is no reason to stop.
pub fn warn(program: &str, text: &str) {
    let _ = writeln!(io::stderr(), "{program}: {text}");
}

/// A subcommand could not do its work, for this reason: exit status 2. `write`
/// is the error of writing its output, if it was that: where nobody reads the
/// output any more, that is no failure.
pub fn report(program: &str, text: &str, write: Option<&io::Error>) -> ExitCode {
    if write.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    warn(program, text);
    ExitCode::from(2)
}
