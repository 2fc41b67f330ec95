//! Why a tool could not measure.

use std::io;

use tapeline_measure::processor::NoSuchCore;
use tapeline_measure::stop::Interrupted;
use thiserror::Error;

/// Why a tool could not measure. That a host is slow is a result.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GaugeError {
    /// An option cannot be.
    #[error("--{name} {value}: {what}")]
    Option {
        /// Its name.
        name: String,
        /// What was given.
        value: String,
        /// What is wrong, and what to give instead.
        what: String,
    },
    /// An option or an argument is not known.
    #[error("{0}")]
    Usage(String),
    /// The cores that were named are not all there.
    #[error("core {} is not there: this process may use {:?}; name others, or any", .0.core, .0.cores)]
    Core(NoSuchCore),
    /// A socket, a pipe or a file failed.
    #[error("{what}: {error}")]
    Io {
        /// What was done.
        what: String,
        /// Why it failed.
        error: io::Error,
    },
    /// The other side did or said something that this one does not take.
    #[error("the other side {0}")]
    Peer(String),
    /// The same, where there are several.
    #[error("{side} {what}")]
    Side {
        /// Which, and where: `side 2 (forward at 10.0.0.2)`.
        side: String,
        /// What it did.
        what: String,
    },
    /// Something is not possible on this host.
    #[error("{0}")]
    Unsupported(String),
    /// Somebody wants the program to end.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

impl GaugeError {
    pub(crate) fn option(name: &str, value: &str, what: &str) -> Self {
        Self::Option { name: name.to_owned(), value: value.to_owned(), what: what.to_owned() }
    }

    /// Names the side that an error is of.
    pub(crate) fn of_side(self, side: &str) -> Self {
        match self {
            Self::Peer(what) => Self::Side { side: side.to_owned(), what },
            other => other,
        }
    }

    /// For `map_err`: what was done when it failed.
    pub(crate) fn io<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        let what = what.into();
        move |error| Self::Io { what, error: error.into() }
    }
}
