//! Other systems at the same work, on the same machine, in turns.
//!
//! ```text
//!  first core                         other cores
//!  ┌───────────┐  TCP                 ┌────────────────────────┐
//!  │ publisher │ ───────────────────▶ │ server                 │
//!  ├───────────┤                      │ tapeline, nats-server, │
//!  │ clients   │ ◀─────────────────── │ a proxy of ZeroMQ      │
//!  └───────────┘  TCP, 100 sockets    └────────────────────────┘
//! ```
//!
//! Publisher and clients are one thread of this program, which spins; the
//! server is a process of its own. The vendor's Java provider is publisher and
//! server in one: it has one hop less. Aeron has no server at all and is there
//! as a floor.
//!
//! | the same for all | |
//! |---|---|
//! | update | 85 bytes: an RWF message with the published 74 bytes of payload, or as many opaque bytes |
//! | who watches what | [`Options::items`] in turn, each watched by [`Options::watchers`] of [`Options::clients`] |
//! | pace | even; an update that is late counts from when it was due |
//! | clients | edge-triggered `epoll`, every message read, its order and its addressee checked, its latency taken |
//! | sockets | `TCP_NODELAY`, buffers as the kernel sizes them |
//! | valid | nothing lost, nothing twice, 99 % published in time, no queue left at the end |
//!
//! Whether a system sleeps when it has nothing to do decides what it costs and
//! how soon it wakes; those that can do both are measured in both settings
//! ([`Peer`]), and what they cost is compared in the sleeping one.

mod aeron;
mod error;
mod java;
mod measure;
mod mounts;
mod nats;
mod options;
mod ours;
mod process;
mod report;
mod search;
mod start;
mod streams;
mod tally;
mod trial;
mod way;
mod workload;
mod zeromq;

pub use options::{Options, Peer};

use std::sync::atomic::{AtomicU32, Ordering};

use crate::record::{Environment, Record};
use crate::{BenchError, Output, Row};
use measure::Measured;
use tapeline_measure::processor::Pinned;
use tapeline_measure::stop;

/// Runs of this process, each with a folder of its own.
static RUNS: AtomicU32 = AtomicU32::new(0);

/// Measures the systems in turns and compares them, in tables too.
///
/// A system that is not there, or cannot be measured, is told of and left out.
///
/// Errors: no temporary folder can be made, a core is not there, or somebody
/// wants the program to end.
pub fn run(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    let environment = Environment::read();
    out.result(&Record::from(environment.clone()).to_value());
    let measured = measured(options, out)?;
    out.result(&Record::from(environment.after()).to_value());
    out.table(&report::table(&measured).to_string());
    let rows = report::rows(&measured);
    out.table(&report::comparison(&rows).to_string());
    Ok(rows)
}

/// The rows alone.
pub(crate) fn rows(options: &Options, out: &mut dyn Output) -> Result<Vec<Row>, BenchError> {
    Ok(report::rows(&measured(options, out)?))
}

/// The names that these rows may have.
pub(crate) fn row_names(options: &Options) -> Vec<String> {
    report::names(&options.peers, &options.rates_out)
}

fn measured(options: &Options, out: &mut dyn Output) -> Result<Vec<Measured>, BenchError> {
    if let Some(affinity) = &options.affinity {
        affinity.check()?;
    }
    let serial = RUNS.fetch_add(1, Ordering::Relaxed);
    let name = format!("tapeline-peers-{}-{serial}", std::process::id());
    let work = std::env::temp_dir().join(name);
    std::fs::create_dir_all(&work)?;
    let measured = {
        let cores = options.affinity.as_ref().map(|affinity| affinity.ours.as_slice());
        let _here = Pinned::to(cores);
        measure::all(options, &work, out)
    };
    let _ = std::fs::remove_dir_all(&work);
    stop::check()?;
    Ok(measured)
}
