//! Hub and server, wherever they run.

mod lan;
pub(crate) mod node;
mod processes;
mod program;
mod thread;

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::BenchError;
use crate::setup::{Setup, Topology};
use lan::Lan;
use processes::Processes;
pub(crate) use program::{Program, beside};
use thread::NodeThread;

/// Hub and server of one thread, among the parts.
const THREAD_PART: &str = "hub+server";

/// What was written to sockets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) bytes: u64,
    pub(crate) writes: u64,
}

impl Written {
    /// Bytes of a write, in the mean of those since `before`.
    pub(crate) fn mean_bytes_since(self, before: Self) -> Option<u64> {
        let writes = self.writes.checked_sub(before.writes).filter(|writes| *writes > 0)?;
        Some(self.bytes.saturating_sub(before.bytes) / writes)
    }
}

/// What hub and server have done so far; `None` where they do not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Updates that were conflated.
    pub(crate) merged: Option<u64>,
    /// Mounts that were cut off.
    pub(crate) cut: Option<u64>,
    /// Holes in the backbone, and frames that it dropped.
    pub(crate) gaps: Option<u64>,
}

/// Where a system is going to be. The source starts between this and
/// [`Site::start`], since a hub is told where it is.
pub(crate) struct Site {
    lan: Option<Lan>,
}

impl Site {
    /// Makes the network, if it needs one of its own, and takes the calling
    /// thread to the hub's host.
    pub(crate) fn prepare(setup: &Setup) -> Result<Self, BenchError> {
        let lan = match setup.topology {
            Topology::Namespaces => Some(Lan::new(setup.loss_percent)?),
            _ => None,
        };
        if let Some(lan) = &lan {
            lan.enter_hub()?;
        }
        Ok(Self { lan })
    }

    /// Starts hub and servers. The calling thread is then where the clients
    /// are.
    pub(crate) fn start(self, setup: &Setup, provider: SocketAddr) -> Result<Subject, BenchError> {
        let is_process = setup.topology != Topology::Thread || setup.servers > 1;
        Ok(match is_process {
            false => Subject::Thread(NodeThread::start(provider, setup)?),
            true => Subject::Processes(Processes::start(setup, provider, self.lan)?),
        })
    }
}

/// Hub and servers. They end when this is dropped.
pub(crate) enum Subject {
    Thread(NodeThread),
    Processes(Processes),
}

impl Subject {
    /// Where clients connect, an address for each server.
    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        match self {
            Self::Thread(node) => node.addresses(),
            Self::Processes(processes) => processes.addresses(),
        }
    }

    /// What they tell of themselves; processes tell nothing.
    pub(crate) fn counts(&self) -> Counts {
        match self {
            Self::Thread(node) => node.counts(),
            Self::Processes(_) => Counts::default(),
        }
    }

    /// Seconds that each part was on a processor so far, of those of which the
    /// kernel tells.
    pub(crate) fn cpu_seconds(&self) -> BTreeMap<String, f64> {
        match self {
            Self::Thread(node) => node
                .cpu_seconds()
                .map(|seconds| (THREAD_PART.to_owned(), seconds))
                .into_iter()
                .collect(),
            Self::Processes(processes) => processes.cpu_seconds(),
        }
    }

    /// Time that the turns with something to do took so far, by part; nothing of
    /// processes.
    pub(crate) fn busy_seconds(&self) -> BTreeMap<String, f64> {
        match self {
            Self::Thread(node) => {
                BTreeMap::from([(THREAD_PART.to_owned(), node.busy().as_secs_f64())])
            }
            Self::Processes(_) => BTreeMap::new(),
        }
    }

    /// What the servers wrote to clients so far; `None` where it is not told.
    pub(crate) fn written(&self) -> Option<Written> {
        match self {
            Self::Thread(node) => Some(node.written()),
            Self::Processes(_) => None,
        }
    }

    /// Datagrams between them that were dropped on purpose so far; `None` where
    /// none are.
    pub(crate) fn dropped(&self) -> Option<u64> {
        match self {
            Self::Thread(_) => None,
            Self::Processes(processes) => processes.dropped(),
        }
    }

    /// Bytes of memory of hub and server, if they are processes.
    pub(crate) fn memory_bytes(&self) -> Option<(u64, u64)> {
        match self {
            Self::Thread(_) => None,
            Self::Processes(processes) => processes.memory_bytes(),
        }
    }
}
