//! The edge of a process: what it does beside its duty cycles.
//!
//! Hubs and servers wait for nothing. What has to wait, for a file system that is
//! slow above all, is done by one thread of the process, the [`Edge`]:
//!
//! ```text
//!  policy.toml ──▶ ┌──────┐ ── PolicyChange ──▶ hubs, servers    a queue for each
//!  SIGHUP      ──▶ │ Edge │
//!  usage-….journal ◀──────┘ ◀── records ─────── servers          one queue
//! ```
//!
//! Who logs in is asked of web servers by another thread, [`Logins`], which may wait for
//! them:
//!
//! ```text
//!  hubs, servers ── LoginQuestion ──▶ ┌────────┐ ◀──▶ keys of tokens, an authoriser
//!                ◀─ LoginAnswer ───── │ Logins │
//!                                     └────────┘
//! ```
//!
//! A policy that is faulty, or fails one of its own tests, changes nothing: the
//! one before stays in force, and the log says what is wrong.

mod http;
mod journal;
mod logins;
mod policy_file;
mod thread;

use std::io;
use std::path::PathBuf;

use tapeline_entitle::Fault;
use thiserror::Error;

pub use logins::{KeySource, LoginConfig, Logins};
pub use thread::{Edge, EdgeConfig};

/// Why there is no edge.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EdgeError {
    /// A file or folder cannot be used.
    #[error("{}: {error}", path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// An address is not one that secrets may go to.
    #[error(
        "{url}: names and passwords would go there in clear; give https, or a port of this host"
    )]
    InClear {
        /// The address.
        url: String,
    },
    /// A file of authorities has none.
    #[error("{}: no certificate is in it; give a PEM file of the authorities to believe", path.display())]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The policy is faulty, or fails its own tests.
    #[error("the policy is not good:\n{}", lines(.0))]
    Policy(Vec<Fault>),
    /// A thread cannot be started, or signals not be caught.
    #[error("the thread for files cannot be started: {0}")]
    Thread(io::Error),
}

impl EdgeError {
    pub(crate) fn file(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |error| Self::File { path, error }
    }
}

fn lines(faults: &[Fault]) -> String {
    faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}
