//! Two hubs, two servers, two sources and some consumers, each a process on a
//! host of its own or on its side's.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::lan::{Host, Lan};
use crate::party::Party;
use crate::program::Program;
use crate::relay::Relay;

/// How many there are of hubs, of servers and of sources.
pub const EACH: usize = 2;

/// Multicast of hubs to all servers; the interface is that of each host.
const BACKBONE: &str = "aeron:udp?endpoint=239.77.0.1:40456|interface=10.77.0.0/24";
/// The addresses that the backbone uses: of data and of Aeron's control of it,
/// at the ports of hubs and of servers.
const GROUPS: [(u8, u16); 4] = [(1, 40_456), (2, 40_456), (1, 40_457), (2, 40_457)];

const RSSL_PORT: u16 = 14_002;
const WS_PORT: u16 = 15_000;
const SOURCE_PORT: u16 = 14_100;

/// Hosts of the hubs' network: the hubs, one for all sources, the relay.
const SOURCES_HOST: usize = 3;
/// Hosts of the servers' network: the servers, one for all consumers, the relay.
const CONSUMERS_HOST: usize = 3;
const RELAY_HOST: usize = 4;

/// The name of a log on its disk.
const LOG: &str = "log";

/// Small enough to be filled: the memory that each program has for its media
/// driver, and the disk that each has for its log.
const MEMORY_MIB: u32 = 96;
const DISK_MIB: u32 = 1;

/// Terms that fit in that memory.
const CONFIG: &str = "[backbone]\ndata-term-bytes = 1048576\nrequest-term-bytes = 262144\n\
                      [hub]\nreconnect-min-ms = 250\n";

/// What is to be started.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `tapeline`.
    pub tapeline: PathBuf,
    /// This program, which is sources and consumers as well.
    pub parties: PathBuf,
    /// Items that every consumer has.
    pub items: usize,
    /// Updates a second of each source, over all of its items.
    pub updates_per_second: u64,
    /// Decides what becomes of datagrams.
    pub seed: u64,
}

/// All that runs. Gone when dropped.
#[derive(Debug)]
pub struct Site {
    plan: Plan,
    // In the order in which they are to end: who is in a network before it.
    consumers: Vec<Party>,
    sources: [Option<Party>; EACH],
    servers: [Option<Running>; EACH],
    hubs: [Option<Running>; EACH],
    relay: Relay,
    /// None where there is no libfaketime.
    clock: Option<Clock>,
    near_hubs: Lan,
    near_servers: Lan,
    /// Where each program has its disk.
    folder: tempfile::TempDir,
}

impl Site {
    /// Starts everything, and waits until every consumer has every item.
    /// `None`, with a line that says why, where this machine lets nobody make
    /// namespaces.
    pub fn start(plan: Plan) -> Option<Self> {
        let (near_hubs, near_servers) = (Lan::new(4)?, Lan::new(4)?);
        let group = |(last, port)| SocketAddrV4::new(Ipv4Addr::new(239, 77, 0, last), port);
        let groups = GROUPS.map(group);
        let between = [near_hubs.host(RELAY_HOST), near_servers.host(RELAY_HOST)];
        let relay = Relay::start(between, &groups, plan.seed);
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir(folder.path().join("disk")).expect("an empty folder");
        fs::write(folder.path().join("site.toml"), CONFIG).expect("room");
        let mut site = Self {
            plan,
            consumers: Vec::new(),
            sources: [const { None }; EACH],
            servers: [const { None }; EACH],
            hubs: [const { None }; EACH],
            relay,
            clock: Clock::new(),
            near_hubs,
            near_servers,
            folder,
        };
        for number in 0..EACH {
            site.start_source(number);
        }
        for number in 0..EACH {
            site.start_hub(number);
            site.start_server(number);
        }
        for number in 0..4 {
            site.start_consumer(number);
        }
        Some(site)
    }

    /// What is to be started.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The relay between hubs and servers.
    pub fn relay(&self) -> &Relay {
        &self.relay
    }

    /// The clock of all programs, if it can be set.
    pub fn clock(&self) -> Option<&Clock> {
        self.clock.as_ref()
    }

    /// All consumers.
    pub fn consumers(&mut self) -> &mut [Party] {
        &mut self.consumers
    }

    /// A hub that runs.
    pub fn hub(&self, number: usize) -> &Running {
        self.hubs[number].as_ref().expect("a hub that runs")
    }

    /// A server that runs.
    pub fn server(&self, number: usize) -> &Running {
        self.servers[number].as_ref().expect("a server that runs")
    }

    /// A source that runs.
    pub fn source(&mut self, number: usize) -> &mut Party {
        self.sources[number].as_mut().expect("a source that runs")
    }

    /// All sources that run.
    pub fn sources(&mut self) -> impl Iterator<Item = &mut Party> {
        self.sources.iter_mut().flatten()
    }

    /// Hubs and servers that run.
    pub fn programs(&self) -> impl Iterator<Item = &Running> {
        self.hubs.iter().chain(&self.servers).flatten()
    }

    /// The host of a server.
    pub fn server_host(&self, number: usize) -> &Host {
        self.near_servers.host(number + 1)
    }

    /// The host of all consumers.
    pub fn consumers_host(&self) -> &Host {
        self.near_servers.host(CONSUMERS_HOST)
    }

    /// Ends a hub as a power cut does.
    pub fn kill_hub(&mut self, number: usize) {
        self.hubs[number].take().expect("a hub that runs").program.kill();
    }

    /// The same of a server.
    pub fn kill_server(&mut self, number: usize) {
        self.servers[number].take().expect("a server that runs").program.kill();
    }

    /// The same of a source.
    pub fn kill_source(&mut self, number: usize) {
        drop(self.sources[number].take().expect("a source that runs"));
    }

    /// Starts a source that does not run.
    pub fn start_source(&mut self, number: usize) {
        let at = self.source_address(number).to_string();
        let host = self.near_hubs.host(SOURCES_HOST);
        let mut command = host.command(&self.plan.parties);
        command.args(["source", "--listen", &at, "--items", &self.plan.items.to_string()]);
        let mut source = Party::start(command, self.plan.items);
        source.wait_listening();
        source.set_rate(self.plan.updates_per_second);
        self.sources[number] = Some(source);
    }

    /// Starts a hub that does not run.
    pub fn start_hub(&mut self, number: usize) {
        let sources = [0, 1].map(|number| self.source_address(number).to_string());
        let mut arguments = vec!["hub", "--backbone", BACKBONE, "--ni-port", "0"];
        for source in &sources {
            arguments.extend(["--source", source]);
        }
        let host = self.near_hubs.host(number + 1);
        self.hubs[number] = Some(self.start_program(host, &arguments));
    }

    /// Starts a server that does not run.
    pub fn start_server(&mut self, number: usize) {
        let [rssl, ws] = [RSSL_PORT, WS_PORT].map(|port| port.to_string());
        let ports = ["--rssl-port", &rssl, "--ws-port", &ws];
        let arguments = [&["server", "--backbone", BACKBONE], &ports[..]].concat();
        let host = self.server_host(number);
        self.servers[number] = Some(self.start_program(host, &arguments));
    }

    /// Consumers take turns: the first server of their list, RSSL or JSON.
    fn start_consumer(&mut self, number: usize) {
        let is_json = number >= EACH;
        let port = if is_json { WS_PORT } else { RSSL_PORT };
        let mut command = self.consumers_host().command(&self.plan.parties);
        command.args(["consumer", "--items", &self.plan.items.to_string()]);
        for turn in 0..EACH {
            let host = self.near_servers.host((number + turn) % EACH + 1);
            let server = SocketAddr::from((host.address, port));
            command.args(["--server", &server.to_string()]);
        }
        if is_json {
            command.arg("--json");
        }
        let consumer = Party::start(command, self.plan.items);
        self.consumers.push(consumer);
    }

    fn source_address(&self, number: usize) -> SocketAddr {
        let host = self.near_hubs.host(SOURCES_HOST);
        (host.address, SOURCE_PORT + number as u16).into()
    }

    /// A program with a `/dev/shm` and a disk of its own, both small, its log on
    /// the disk.
    fn start_program(&self, host: &Host, arguments: &[&str]) -> Running {
        let mount = format!(
            "mount -t tmpfs -o size={MEMORY_MIB}m tmpfs /dev/shm && \
             mount -t tmpfs -o size={DISK_MIB}m tmpfs \"$1\" && exec 2>\"$1/{LOG}\" && shift && \
             exec \"$@\""
        );
        let disk = self.folder.path().join("disk");
        let mut command = host.command("unshare");
        command.args(["--mount", "sh", "-c", &mount, "sh"]).arg(&disk);
        if let Some(clock) = &self.clock {
            let setting = |(name, value): (&str, OsString)| {
                let mut setting = OsString::from(name);
                setting.push("=");
                setting.push(value);
                setting
            };
            command.arg("env").args(clock.environment().map(setting));
        }
        command.arg(&self.plan.tapeline);
        let mut all: Vec<OsString> = arguments.iter().map(Into::into).collect();
        all.extend(["--config".into(), self.folder.path().join("site.toml").into()]);
        let program = Program::start(command, &all);
        let root = PathBuf::from(format!("/proc/{}/root", program.id()));
        let disk = root.join(disk.strip_prefix("/").expect("a path from the root"));
        let log = fs::File::open(disk.join(LOG)).expect("a log on the disk");
        Running { program, log, disk, memory: root.join("dev/shm") }
    }

    /// Waits until something is so, or the time is up; says whether it is.
    pub fn wait(&mut self, most: Duration, mut is_so: impl FnMut(&mut Self) -> bool) -> bool {
        let began = Instant::now();
        loop {
            if is_so(self) {
                return true;
            }
            if began.elapsed() >= most {
                return false;
            }
            thread::park_timeout(Duration::from_millis(2));
        }
    }
}

/// A hub or a server.
#[derive(Debug)]
pub struct Running {
    program: Program,
    /// What it logs; there also when the program and its disk are not.
    log: fs::File,
    /// Its disk, and its memory for a media driver, as seen from here.
    disk: PathBuf,
    memory: PathBuf,
}

/// What of a program can be full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// The disk that its log is on.
    Disk,
    /// `/dev/shm`.
    Memory,
}

impl Running {
    /// Its process.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// What it logged.
    pub fn log(&self) -> String {
        let mut bytes = Vec::new();
        let mut at = 0;
        let mut piece = [0; 1 << 12];
        while let Ok(count @ 1..) = self.log.read_at(&mut piece, at) {
            bytes.extend_from_slice(&piece[..count]);
            at += count as u64;
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Leaves no room.
    pub fn fill(&self, room: Room) {
        let mut file = fs::File::create(self.filler(room)).expect("a folder of the program");
        let zeros = vec![0; 1 << 12];
        while file.write_all(&zeros).is_ok() {}
    }

    /// Gives it back.
    pub fn free(&self, room: Room) {
        // Gone with the program, if that is.
        let _ = fs::remove_file(self.filler(room));
    }

    fn filler(&self, room: Room) -> PathBuf {
        let folder = if room == Room::Disk { &self.disk } else { &self.memory };
        folder.join("filler")
    }
}
