//! Programs on hosts for a case, what is done to them, and when all is ready for the
//! next time.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tapeline_api::{ConsumerConfig, Login, ReconnectPolicy, StandbySet};

use super::{Case, Doors, Interruption, Watching};
use crate::lan::{Host, Lan};
use crate::market::{Listener, SERVICE, named};
use crate::program::Program;

const BACKBONE: &str = "aeron:udp?endpoint=239.77.0.1:40456|interface=10.77.0.0/24";
/// Two networks that carry the same, by their ports.
const NETWORKS: &str = "aeron:udp?endpoint=239.77.0.1:40456|interface=10.77.0.0/24 \
                        aeron:udp?endpoint=239.77.0.3:40466|interface=10.77.0.0/24";
const NETWORK_PORTS: [(u16, u16); 2] = [(40_456, 40_457), (40_466, 40_467)];

/// Those of a network that carries nothing.
const UNUSED_PORTS: (u16, u16) = (40_476, 40_477);

const RSSL_PORT: u16 = 14_002;
const ADMIN_PORT: u16 = 9_400;
const SOURCE_PORT: u16 = 14_100;

/// Hosts: two for hubs, two for servers, one each for sources and consumers.
const HUB_HOSTS: [usize; 2] = [1, 2];
const SERVER_HOSTS: [usize; 2] = [3, 4];
const SOURCES_HOST: usize = 5;
const CONSUMERS_HOST: usize = 6;

/// A server that a consumer was logged in at for so long counts as one that was there,
/// so that the next is tried at once when it is lost. It is short, since rounds are.
const COUNTS_AS_UP: Duration = Duration::from_millis(50);

/// How long nothing happens.
const UNDISTURBED: Duration = Duration::from_secs(1);

/// How often is looked whether something is so. What is measured comes from consumers,
/// and looking takes their cores away from them.
const LOOK_EACH: Duration = Duration::from_millis(20);

/// How long anything may take until it is well, or ready.
const PATIENCE: Duration = Duration::from_secs(60);

/// What runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `tapeline`.
    pub tapeline: PathBuf,
    /// Items, all of which each consumer has.
    pub items: usize,
    /// Updates a second, over all items.
    pub updates_per_s: u64,
}

/// What runs for a case. Gone when dropped.
#[derive(Debug)]
pub struct Stage {
    case: Case,
    plan: Plan,
    // In the order in which they are to end: who is in a network before it.
    consumers: Vec<Watching>,
    servers: Vec<Option<Program>>,
    hubs: Vec<Option<Program>>,
    doors: Doors,
    sources: Vec<SocketAddr>,
    folder: tempfile::TempDir,
    lan: Lan,
    /// Which of two is to be mended.
    broken: usize,
    cuts: usize,
}

impl Stage {
    /// Starts what a case needs. `None`, with a line that says why, where this machine
    /// lets nobody make namespaces.
    pub fn start(case: Case, plan: &Plan) -> Option<Self> {
        let lan = Lan::new(6)?;
        let doors = if matches!(case, Case::Source | Case::Mirrored) { 2 } else { 1 };
        let at = |door| SocketAddr::from((lan.host(SOURCES_HOST).address, SOURCE_PORT + door));
        let sources: Vec<_> = (0..doors).map(at).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let mirror = if case == Case::Mirrored {
            format!("[[service]]\nname = \"{SERVICE}\"\nmirror = \"image\"\n")
        } else {
            String::new()
        };
        // A source that is back is to be taken soon, so that a hundred rounds end.
        let config = format!("[hub]\ncache = true\nreconnect-max-ms = 250\n{mirror}");
        std::fs::write(folder.path().join("site.toml"), config).expect("room");
        let doors = Doors::start(lan.host(SOURCES_HOST), &sources, plan.items);
        let mut stage = Self {
            case,
            plan: plan.clone(),
            consumers: Vec::new(),
            servers: Vec::new(),
            hubs: Vec::new(),
            doors,
            sources,
            folder,
            lan,
            broken: 0,
            cuts: 0,
        };
        let (hubs, servers) = match case {
            Case::Reconnect | Case::Standby => (1, 2),
            Case::Hub => (2, 2),
            Case::Source | Case::Mirrored | Case::Network | Case::Nothing => (1, 1),
        };
        stage.hubs = (0..hubs).map(|number| Some(stage.hub(number))).collect();
        stage.servers = (0..servers).map(|number| Some(stage.server(number))).collect();
        stage.start_consumers();
        Some(stage)
    }

    fn backbone(&self) -> &'static str {
        if matches!(self.case, Case::Network | Case::Nothing) { NETWORKS } else { BACKBONE }
    }

    fn program(&self, host: &Host, arguments: &[&str]) -> Program {
        let config = self.folder.path().join("site.toml");
        let config = config.to_str().expect("a plain path");
        let common = ["--config", config, "--backbone", self.backbone()];
        let admin = ["--admin-port", &ADMIN_PORT.to_string()];
        let arguments = [arguments, &common, &admin].concat();
        Program::start(host.command(&self.plan.tapeline), &arguments)
    }

    fn hub(&self, number: usize) -> Program {
        let sources: Vec<_> = self.sources.iter().map(SocketAddr::to_string).collect();
        let mut arguments = vec!["hub", "--ni-port", "0"];
        for source in &sources {
            arguments.extend(["--source", source]);
        }
        self.program(self.lan.host(HUB_HOSTS[number]), &arguments)
    }

    fn server(&self, number: usize) -> Program {
        let port = RSSL_PORT.to_string();
        self.program(self.lan.host(SERVER_HOSTS[number]), &["server", "--rssl-port", &port])
    }

    fn server_address(&self, number: usize) -> SocketAddr {
        (self.lan.host(SERVER_HOSTS[number]).address, RSSL_PORT).into()
    }

    /// The first of them is the one whose interruptions count.
    fn start_consumers(&mut self) {
        let items = self.plan.items;
        let servers = [0, 1].map(|number| self.server_address(number));
        let lists: &[&[SocketAddr]] = match self.case {
            Case::Reconnect | Case::Standby => &[&servers],
            Case::Hub => &[&servers[..1], &servers[1..]],
            Case::Source | Case::Mirrored | Case::Network | Case::Nothing => &[&servers[..1]],
        };
        for list in lists {
            let (list, case) = (list.to_vec(), self.case);
            let open = move || Listener::with(consumer(case, &list), SERVICE, items);
            self.consumers.push(Watching::start(self.lan.host(CONSUMERS_HOST), items, open));
        }
        self.doors.set_rate(self.plan.updates_per_s);
    }

    /// Waits until everybody has everything, and whoever is to stand in is there.
    pub fn wait_ready(&self) -> Result<(), String> {
        self.begin();
        self.wait("all to be ready", |stage| {
            let is_well = stage.consumers.iter().all(|consumer| consumer.watch.is_back());
            is_well && stage.has_stand_in()
        })
    }

    fn begin(&self) {
        for consumer in &self.consumers {
            consumer.watch.begin(self.doors.numbers());
        }
    }

    fn has_stand_in(&self) -> bool {
        let items = self.plan.items;
        let each = |is_so: &dyn Fn(usize) -> bool| [0, 1].into_iter().all(is_so);
        match self.case {
            // That it listens was waited for.
            Case::Reconnect | Case::Nothing => true,
            Case::Standby => {
                each(&|server| self.figure(SERVER_HOSTS[server], "mounts", "items") == items as u64)
            }
            Case::Hub => each(&|server| self.figure(SERVER_HOSTS[server], "services", "hubs") == 2),
            Case::Source => self.figure(HUB_HOSTS[0], "hub-services", "sources") == 2,
            Case::Mirrored => each(&|door| self.doors.streams(door) == items),
            // Both ways: else the other one is cut before this one carries again.
            Case::Network => self.say("a network of the backbone is back", self.cuts),
        }
    }

    /// Breaks it for the time with this number, and waits until consumers are well; says
    /// what the first of them saw, and what sources were asked for.
    pub fn strike(&mut self, round: usize) -> Result<(Interruption, u64), String> {
        let requests = self.doors.requests();
        self.broken = match self.case {
            // The one with more of the items: of those that came back none has any.
            Case::Source => usize::from(self.doors.streams(1) > self.doors.streams(0)),
            // They take turns, as it is not switched back to the first.
            _ => round % 2,
        };
        self.begin();
        match self.case {
            Case::Reconnect | Case::Standby => {
                self.servers[self.broken].take().expect("a server that runs").kill();
            }
            Case::Hub => self.hubs[self.broken].take().expect("a hub that runs").kill(),
            Case::Source | Case::Mirrored => self.doors.kill(self.broken),
            Case::Network => {
                self.cut(NETWORK_PORTS[self.broken]);
                self.cuts += 1;
            }
            Case::Nothing => self.cut(UNUSED_PORTS),
        }
        let (cuts, began) = (self.cuts, Instant::now());
        self.wait("consumers to be well again", |stage| {
            let is_over = match stage.case {
                Case::Network => stage.say("a network of the backbone is silent", cuts),
                // As long as it takes to notice that a network is silent.
                Case::Nothing => began.elapsed() >= UNDISTURBED,
                _ => true,
            };
            is_over && stage.consumers.iter().all(|consumer| consumer.watch.is_back())
        })?;
        Ok((self.consumers[0].watch.interruption(), self.doors.requests() - requests))
    }

    /// Mends what is broken.
    pub fn mend(&mut self) {
        let broken = self.broken;
        match self.case {
            Case::Reconnect | Case::Standby => self.servers[broken] = Some(self.server(broken)),
            Case::Hub => self.hubs[broken] = Some(self.hub(broken)),
            Case::Source | Case::Mirrored => self.doors.revive(broken),
            Case::Network | Case::Nothing => self.cut_hosts().for_each(Host::lose_nothing),
        }
    }

    /// Nothing for these ports reaches hub and server any more.
    fn cut(&self, (first, last): (u16, u16)) {
        self.cut_hosts().for_each(|host| host.lose(100, first..=last));
    }

    fn cut_hosts(&self) -> impl Iterator<Item = &Host> {
        [HUB_HOSTS[0], SERVER_HOSTS[0]].into_iter().map(|number| self.lan.host(number))
    }

    /// A figure of the first row of a view of the program on a host.
    fn figure(&self, host: usize, view: &str, column: &str) -> u64 {
        let admin = format!("127.0.0.1:{ADMIN_PORT}");
        let mut get = self.lan.host(host).command(&self.plan.tapeline);
        get.args(["admin", "--admin", &admin, "get", view, "--json"]);
        let said = get.output().expect("it runs").stdout;
        let said: Value = serde_json::from_slice(&said).unwrap_or_default();
        said["rows"][0][column].as_u64().unwrap_or(0)
    }

    /// Whether hub and server have logged something so often.
    fn say(&self, words: &str, times: usize) -> bool {
        let ends = [&self.hubs[0], &self.servers[0]];
        let log =
            |program: &Option<Program>| program.as_ref().map_or_else(String::new, Program::log);
        ends.into_iter().all(|program| log(program).matches(words).count() >= times)
    }

    fn wait(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) -> Result<(), String> {
        let began = Instant::now();
        while !is_so(self) {
            if began.elapsed() > PATIENCE {
                return Err(format!("{}: waited {PATIENCE:?} for {what}", self.case));
            }
            thread::park_timeout(LOOK_EACH);
        }
        Ok(())
    }
}

/// A consumer of these servers: one after the other, or with all but the first standing
/// by.
fn consumer(case: Case, servers: &[SocketAddr]) -> ConsumerConfig {
    let (list, standby) = match case {
        Case::Standby => (&servers[..1], Some(StandbySet::by_login(named(&servers[1..])))),
        _ => (servers, None),
    };
    let reconnect = ReconnectPolicy { first_delay: COUNTS_AS_UP, ..ReconnectPolicy::default() };
    ConsumerConfig { standby, reconnect, ..ConsumerConfig::new(named(list), Login::new("tester")) }
}
