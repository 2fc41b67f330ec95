//! The edge of a process: what it does beside its duty cycles.
//!
//! Hubs and servers wait for nothing. Whatever has to wait, for a file system that is
//! slow, a socket of somebody who looks, a timer, is a task of one thread of the
//! process, the [`Edge`]:
//!
//! ```text
//!  tick threads                            the edge thread
//!  ┌────────────────┐ ◀─ policies ──────── ┌──────────────┐ ◀── policy.toml, SIGHUP
//!  │ hub, server …  │ ── records ────────▶ │ Policies     │ ──▶ usage-….journal
//!  │                │ ── LoginQuestion ──▶ ├──────────────┤
//!  │                │ ◀─ LoginAnswer ───── │ Logins       │ ◀─▶ keys of tokens, an authoriser
//!  │                │ ◀─ questions ─────── ├──────────────┤
//!  │                │ ── answers, counts ▶ │ admin        │ ◀─▶ HTTP
//!  │                │ ◀─ changes ───────── ├──────────────┤
//!  └────────────────┘ ── whether taken ──▶ │ configuration│ ◀── files, SIGHUP
//!                      bounded queues      └──────────────┘
//! ```
//!
//! A task is registered by the room that it belongs to, with [`Edge::spawn`], and
//! ends when its [`Ending`] says so. The thread has an event loop; its tasks take
//! turns. What is read and written there (a policy, a piece of the journal) holds up
//! the other tasks for as long as the file system takes, and no tick thread.
//!
//! A tick thread never waits for this one: it puts into bounded queues and counts what
//! did not fit. It does not wake it either, which would be a system call: who reads
//! such a queue looks every 20 ms. The answer to a question of an operator wakes it.
//!
//! Web servers that are asked who logs in may be slow: their answers are awaited by
//! workers of the event loop, a bounded number of them, and nobody waits for these at the
//! end. Files of the journal that are closed are compressed by a thread of its own, one
//! after the other.
//!
//! A policy that is faulty, or fails one of its own tests, changes nothing: the
//! one before stays in force, and the log says what is wrong.

mod closed;
mod http;
mod journal;
mod logins;
mod policies;
mod policy_file;
mod thread;

use std::io;
use std::path::PathBuf;

use tapeline_entitle::Fault;
use thiserror::Error;

pub use http::client_tls;
pub use journal::JournalConfig;
pub use logins::{KeySource, LoginConfig, Logins};
pub use policies::{Policies, PolicyConfig};
pub use thread::{Edge, Ending};

/// Why there is no edge, or nothing for it to do.
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
    /// The thread cannot be started, or signals not be caught.
    #[error("the edge thread cannot be started: {0}")]
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
