//! Hub and servers as processes of their own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use tapeline_channel::Idle;

use super::lan::{self, Lan};
use super::node::{MAX_ITEMS, MAX_MOUNTS};
use super::program::Program;
use crate::BenchError;
use crate::setup::{Setup, Topology};

static SYSTEMS: AtomicU32 = AtomicU32::new(0);

/// Ports of the backbone over loopback: two for each system, so that systems
/// that run at the same time do not hear each other.
const LOOPBACK_PORTS: std::ops::Range<u32> = 20_000..30_000;

/// After how long hub and servers take each other for gone, in ms.
const PATIENCE_MS: u32 = 10_000;

/// A hub and its servers. They end when this is dropped.
pub(crate) struct Processes {
    // In this order: servers say goodbye before their driver goes.
    servers: Vec<Program>,
    hub: Program,
    addresses: Vec<SocketAddr>,
    _folders: Folders,
    lan: Option<Lan>,
}

/// Files of the system, and its shared memory. Gone when dropped.
struct Folders {
    files: PathBuf,
    driver: PathBuf,
}

impl Folders {
    fn make() -> Result<Self, BenchError> {
        let number = SYSTEMS.fetch_add(1, Ordering::Relaxed);
        let name = format!("tapeline-bench-{}-{number}", std::process::id());
        let files = std::env::temp_dir().join(&name);
        fs::create_dir_all(&files)?;
        Ok(Self { files, driver: Path::new("/dev/shm").join(name) })
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.files);
        let _ = fs::remove_dir_all(&self.driver);
    }
}

impl Processes {
    /// Starts the hub, then the servers. With a network, the calling thread is
    /// on the server's host when this returns.
    pub(super) fn start(
        setup: &Setup,
        provider: SocketAddr,
        lan: Option<Lan>,
    ) -> Result<Self, BenchError> {
        let folders = Folders::make()?;
        let program = match &setup.program {
            Some(program) => program.clone(),
            None => super::beside(),
        };
        let config = folders.files.join("bench.toml");
        fs::write(&config, configuration(setup))?;
        let common = [
            "--config".to_owned(),
            config.display().to_string(),
            "--backbone".to_owned(),
            channel(setup.topology),
            "--log".to_owned(),
            "error".to_owned(),
        ];
        let cores = setup.their_cores();
        let driver = folders.driver.display().to_string();
        let mut arguments = vec!["hub".to_owned()];
        arguments.extend(common.clone());
        let own =
            ["--source", &provider.to_string(), "--ni-port", "off", "--backbone-dir", &driver];
        arguments.extend(own.map(str::to_owned));
        let hub = Program::start(&program, &folders.files, "hub", &arguments, cores)?;
        if let Some(lan) = &lan {
            lan.enter_server()?;
        }
        let mut servers = Vec::new();
        for number in 1..=setup.servers.max(1) {
            let mut arguments = vec!["server".to_owned()];
            arguments.extend(common.clone());
            arguments.extend(["--rssl-port", "0"].map(str::to_owned));
            if !is_network(setup.topology) {
                let shared = ["--backbone-driver", "external", "--backbone-dir", &driver];
                arguments.extend(shared.map(str::to_owned));
            }
            let name = match setup.servers {
                0 | 1 => "server".to_owned(),
                _ => format!("server-{number}"),
            };
            servers.push(Program::start(&program, &folders.files, &name, &arguments, cores)?);
        }
        let addresses =
            servers.iter().map(|server| server.address("rssl")).collect::<Result<_, _>>()?;
        Ok(Self { servers, hub, addresses, _folders: folders, lan })
    }

    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    pub(super) fn cpu_seconds(&self) -> BTreeMap<String, f64> {
        std::iter::once(&self.hub)
            .chain(&self.servers)
            .filter_map(|program| Some((program.name().to_owned(), program.seconds()?)))
            .collect()
    }

    /// Datagrams of the backbone that were dropped on purpose so far.
    pub(super) fn dropped(&self) -> Option<u64> {
        self.lan.as_ref()?.dropped()
    }

    /// Of the hub, and of all servers together.
    pub(super) fn memory_bytes(&self) -> Option<(u64, u64)> {
        let servers = self.servers.iter().map(Program::own_memory_bytes).sum::<Option<u64>>()?;
        Some((self.hub.own_memory_bytes()?, servers))
    }
}

const fn is_network(topology: Topology) -> bool {
    matches!(topology, Topology::Multicast | Topology::Namespaces)
}

fn channel(topology: Topology) -> String {
    match topology {
        Topology::Thread | Topology::Ipc => "aeron:ipc".to_owned(),
        Topology::Multicast => {
            let span = LOOPBACK_PORTS.end - LOOPBACK_PORTS.start;
            let number = std::process::id().wrapping_add(SYSTEMS.load(Ordering::Relaxed)) * 2;
            let port = LOOPBACK_PORTS.start + number % span;
            format!("aeron:udp?endpoint=239.78.0.1:{port}|interface=127.0.0.1")
        }
        Topology::Namespaces => lan::CHANNEL.to_owned(),
    }
}

/// The configuration file of hub and servers.
///
/// Who stands still is not taken for gone: it shall be seen as latency, and not
/// end the measurement by a failover.
fn configuration(setup: &Setup) -> String {
    let tuning = setup.tuning;
    let idle = match setup.idle() {
        Idle::Spin => "spin",
        Idle::Yield => "yield",
        Idle::Park { .. } => "park",
    };
    let mut text = format!(
        "[profile]\nname = \"{}\"\nidle = \"{idle}\"\n\n\
         [backbone]\nsilence-ms = {PATIENCE_MS}\n\n\
         [hub]\ncache = {cache}\nmax-items = {MAX_ITEMS}\n\n\
         [server]\nlisten = \"127.0.0.1\"\ncache = {cache}\nmax-mounts = {MAX_MOUNTS}\n\
         max-items = {MAX_ITEMS}\nitem-limit = {MAX_ITEMS}\n\
         flush-interval-ms = {}\ntcp-no-delay = {}\n",
        tuning.profile.name(),
        tuning.flush_interval_ms(),
        tuning.tcp_no_delay(),
        cache = setup.cache,
    );
    if let Some(bytes) = tuning.tcp_send_buffer_bytes {
        let _ = writeln!(text, "tcp-send-buffer-bytes = {bytes}");
    }
    if let Some(bytes) = tuning.fragment_bytes {
        let _ = writeln!(text, "fragment-bytes = {bytes}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::{Profile, Tuning};

    #[test]
    fn every_setting_of_the_profile_is_in_the_file() {
        let tuning = Tuning {
            profile: Profile::Throughput,
            tcp_send_buffer_bytes: Some(65_536),
            fragment_bytes: Some(1_000),
            ..Tuning::default()
        };
        let setup = Setup { tuning, idle: Some(Idle::Yield), ..Setup::default() };
        let text = configuration(&setup);
        for line in [
            "name = \"throughput\"",
            "idle = \"yield\"",
            "flush-interval-ms = 20",
            "tcp-no-delay = false",
            "tcp-send-buffer-bytes = 65536",
            "fragment-bytes = 1000",
            "cache = false",
        ] {
            assert!(text.lines().any(|its| its == line), "{line} in {text}");
        }
    }

    #[test]
    fn systems_at_the_same_time_have_ports_of_their_own() {
        let first = channel(Topology::Multicast);
        assert!(first.starts_with("aeron:udp?endpoint=239.78.0.1:2"), "{first}");
        let number = SYSTEMS.fetch_add(1, Ordering::Relaxed);
        assert_ne!(channel(Topology::Multicast), first, "{number}");
    }
}
