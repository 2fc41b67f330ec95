//! The vendor's Java provider, which feeds the clients directly.
//!
//! ```text
//! we say   run RATE START_NS END_NS FIRST     times of CLOCK_MONOTONIC
//! it says  listening PORT                     once
//!          ran COUNT                          updates that it has published
//! ```

use std::fs::File;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use super::error::PeerError;
use super::mounts::Mounts;
use super::options::Setting;
use super::process::Process;
use super::tally::Tally;
use super::way::{Order, Way};
use super::workload::Workload;
use crate::source::SERVICE;

/// One collector thread and a heap that is there from the start. The compilers'
/// threads stay, so that their time is counted.
const MACHINE: [&str; 6] = [
    "-Xms512m",
    "-Xmx512m",
    "-XX:+UseSerialGC",
    "-XX:+AlwaysPreTouch",
    "-XX:-UseDynamicNumberOfCompilerThreads",
    "-Xshare:auto",
];

/// Provider and clients.
pub(super) struct Java {
    mounts: Mounts,
    process: Process,
}

/// The provider in a setting.
pub(super) fn start(
    folder: &Path,
    work: &Path,
    setting: Setting,
    tally: &mut Tally,
    workload: Workload,
    cores: Option<&[usize]>,
) -> Result<Java, PeerError> {
    let log = File::create(work.join("java.log")).map_err(PeerError::socket("write java.log"))?;
    let word = match setting {
        Setting::Park => "park",
        Setting::Spin => "spin",
        Setting::Throughput => "gather",
    };
    let mut command = Command::new("java");
    command.args(MACHINE).arg("-cp").arg(format!("{0}/eta.jar:{0}/lib/*", folder.display()));
    command.args(["tapeline.peers.Provider", SERVICE, word]);
    command.arg(workload.items.to_string()).stderr(log);
    let process = Process::start("java", &mut command, cores)?;
    let answer = process.answer("listening")?;
    let port = answer.parse().map_err(|_| process.fault(format!("listens on `{answer}`")))?;
    let mounts = Mounts::open(SocketAddr::from(([127, 0, 0, 1], port)), &workload, tally, || {})?;
    Ok(Java { mounts, process })
}

impl Way for Java {
    fn poll(&mut self, tally: &mut Tally) -> Result<usize, PeerError> {
        self.mounts.poll(tally)
    }

    fn server_seconds(&self) -> Option<f64> {
        self.process.seconds()
    }

    fn publish(&mut self, order: &Order) -> Result<bool, PeerError> {
        let Order { rate, start_ns, end_ns, first } = order;
        self.process.tell(&format!("run {rate} {start_ns} {end_ns} {first}"))?;
        Ok(true)
    }

    fn published(&mut self) -> Option<u64> {
        self.process.answered("ran")?.parse().ok()
    }
}
