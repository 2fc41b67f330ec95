//! Starts a system: its server, a publisher, and clients with all they want.

use std::path::{Path, PathBuf};

use super::aeron::Bare;
use super::error::PeerError;
use super::options::{Options, Peer};
use super::tally::Tally;
use super::trial::{Plan, Run};
use super::way::Way;
use super::workload::Workload;
use super::{java, nats, ours, zeromq};

/// Of the time in which a virtual machine compiles, updates a second that reach
/// clients.
const COMPILE_RATE: u64 = 200_000;

/// A program below the folder of the peers.
fn built(options: &Options, name: &str) -> Result<PathBuf, PeerError> {
    let path = options.folder.join(name);
    match path.exists() {
        true => Ok(path),
        false => Err(PeerError::Missing { what: path.display().to_string() }),
    }
}

/// A system that is ready. `work` is a folder for its settings and logs.
pub(super) fn start(peer: Peer, options: &Options, work: &Path) -> Result<Run, PeerError> {
    let Options { clients, items, watchers, .. } = *options;
    let workload = match peer {
        // One stream, for as many clients as an update has.
        Peer::Aeron => Workload { clients: watchers, items, watchers },
        _ => Workload { clients, items, watchers },
    };
    let cores = options.affinity.as_ref().map(|affinity| affinity.theirs.as_slice());
    let mut tally = Tally::new(workload);
    let setting = peer.setting();
    let way: Box<dyn Way> = match peer {
        Peer::TapelineParked | Peer::TapelineSpinning | Peer::TapelineThroughput => {
            let program = &options.tapeline;
            Box::new(ours::start(program, work, setting, &mut tally, workload, cores)?)
        }
        Peer::JavaParked | Peer::JavaSpinning | Peer::JavaThroughput => {
            let folder = built(options, "eta")?;
            Box::new(java::start(&folder, work, setting, &mut tally, workload, cores)?)
        }
        Peer::Nats => {
            Box::new(nats::start(&built(options, "nats-server")?, work, workload, cores)?)
        }
        Peer::ZeroMq => Box::new(zeromq::start(&built(options, "zeromq-proxy")?, workload, cores)?),
        Peer::Aeron => Box::new(Bare::start(workload, cores)?),
    };
    let mut run = Run::new(way, tally, workload);
    if matches!(peer, Peer::JavaParked | Peer::JavaSpinning | Peer::JavaThroughput) {
        let plan = Plan { rate_out: COMPILE_RATE, warm_up: options.compile, time: options.warm_up };
        run.trial(&plan)?;
    }
    Ok(run)
}
