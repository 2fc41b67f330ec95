//! Several hosts on one machine: network namespaces joined by a bridge.

use std::ffi::OsStr;
use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// A network of hosts that nothing else can reach. Gone when dropped.
#[derive(Debug)]
pub struct Lan {
    prefix: String,
    hosts: Vec<Host>,
}

/// One host: a network namespace with one interface, `eth0`.
#[derive(Clone, Debug)]
pub struct Host {
    /// Name of its namespace.
    pub namespace: String,
    /// Its address in 10.77.0.0/24.
    pub address: Ipv4Addr,
}

static LANS: AtomicU32 = AtomicU32::new(0);

fn ip(arguments: &str) -> Result<(), String> {
    run("ip", arguments)
}

fn run(program: &str, arguments: &str) -> Result<(), String> {
    let output = Command::new(program)
        .args(arguments.split_whitespace())
        .output()
        .map_err(|error| format!("{program}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{program} {arguments}: {}", String::from_utf8_lossy(&output.stderr)))
}

impl Lan {
    /// Hosts 10.77.0.1 and up. `None`, with a line that says why, where this
    /// machine lets the test make no namespaces; with `CI` set that is a
    /// failure.
    pub fn new(count: u8) -> Option<Self> {
        match Self::build(count) {
            Ok(lan) => Some(lan),
            Err(why) if std::env::var_os("CI").is_none() => {
                eprintln!("skipped: several hosts need network namespaces, root and nft: {why}");
                None
            }
            Err(why) => panic!("no network namespaces: {why}"),
        }
    }

    fn build(count: u8) -> Result<Self, String> {
        let number = LANS.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("tl{}x{number}", std::process::id());
        let mut lan = Self { prefix, hosts: Vec::new() };
        run("nft", "--version")?;
        let switch = lan.switch();
        ip(&format!("netns add {switch}"))?;
        // Without snooping, the bridge floods groups to every port, as a plain
        // switch does.
        ip(&format!("-n {switch} link add br0 type bridge mcast_snooping 0"))?;
        ip(&format!("-n {switch} link set br0 up"))?;
        for number in 1..=count {
            lan.add_host(number)?;
        }
        Ok(lan)
    }

    fn switch(&self) -> String {
        format!("{}sw", self.prefix)
    }

    fn add_host(&mut self, number: u8) -> Result<(), String> {
        let switch = self.switch();
        let namespace = format!("{}h{number}", self.prefix);
        let address = Ipv4Addr::new(10, 77, 0, number);
        ip(&format!("netns add {namespace}"))?;
        self.hosts.push(Host { namespace: namespace.clone(), address });
        ip(&format!("-n {switch} link add p{number} type veth peer name eth0 netns {namespace}"))?;
        ip(&format!("-n {switch} link set p{number} master br0"))?;
        ip(&format!("-n {switch} link set p{number} up"))?;
        ip(&format!("-n {namespace} link set lo up"))?;
        ip(&format!("-n {namespace} address add {address}/24 dev eth0"))?;
        ip(&format!("-n {namespace} link set eth0 up"))?;
        ip(&format!("-n {namespace} route add 224.0.0.0/4 dev eth0"))
    }

    /// The host 10.77.0.`number`.
    pub fn host(&self, number: usize) -> &Host {
        &self.hosts[number - 1]
    }

    /// Every host, in the order of its number.
    pub fn hosts(&self) -> &[Host] {
        &self.hosts
    }

    /// Unplugs a host from the bridge.
    pub fn unplug(&self, number: usize) {
        ip(&format!("-n {} link set p{number} down", self.switch())).expect("a port of the bridge");
    }

    /// Plugs it in again.
    pub fn plug(&self, number: usize) {
        ip(&format!("-n {} link set p{number} up", self.switch())).expect("a port of the bridge");
    }
}

impl Drop for Lan {
    fn drop(&mut self) {
        for host in &self.hosts {
            let _ = ip(&format!("netns delete {}", host.namespace));
        }
        let _ = ip(&format!("netns delete {}", self.switch()));
    }
}

impl Host {
    /// Drops this share of the UDP datagrams that arrive for these ports.
    pub fn lose(&self, percent: u8, ports: std::ops::RangeInclusive<u16>) {
        self.drop_arriving(&format!("udp dport {}-{}", ports.start(), ports.end()), percent);
    }

    /// Drops this share of the TCP segments that arrive.
    pub fn lose_segments(&self, percent: u8) {
        self.drop_arriving("meta l4proto tcp", percent);
    }

    /// Drops all datagrams, those that arrive and those that leave.
    pub fn lose_datagrams(&self) {
        self.filter(
            "add table inet loss
             add chain inet loss arriving { type filter hook input priority 0; }
             add chain inet loss leaving { type filter hook output priority 0; }
             add rule inet loss arriving meta l4proto udp drop
             add rule inet loss leaving meta l4proto udp drop",
        );
    }

    /// Drops all multicast, as networks of clouds do.
    pub fn lose_multicast(&self) {
        self.filter(
            "add table inet unicast
             add chain inet unicast arriving { type filter hook input priority 0; }
             add chain inet unicast leaving { type filter hook output priority 0; }
             add rule inet unicast arriving ip daddr 224.0.0.0/4 drop
             add rule inet unicast leaving ip daddr 224.0.0.0/4 drop",
        );
    }

    /// Drops nothing any more.
    pub fn lose_nothing(&self) {
        self.filter("delete table inet loss");
    }

    fn drop_arriving(&self, what: &str, percent: u8) {
        let share = match percent {
            100 => String::new(),
            _ => format!("numgen random mod 100 < {percent}"),
        };
        self.filter(&format!(
            "add table inet loss
             add chain inet loss arriving {{ type filter hook input priority 0; }}
             add rule inet loss arriving {what} {share} drop",
        ));
    }

    fn filter(&self, rules: &str) {
        let output = self.command("nft").arg(rules).output().expect("nft runs");
        assert!(output.status.success(), "nft: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// A command that runs a program on this host.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace]).arg(program);
        command
    }

    /// Runs a function on a thread that is on this host: the sockets it opens
    /// are the host's.
    pub fn spawn<T: Send + 'static>(
        &self,
        function: impl FnOnce() -> T + Send + 'static,
    ) -> thread::JoinHandle<T> {
        let path = format!("/run/netns/{}", self.namespace);
        thread::spawn(move || {
            let namespace = File::open(path).expect("the namespace");
            move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("root");
            function()
        })
    }
}
